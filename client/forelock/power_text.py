"""Power as a person reads it in a terminal: what it rests on, hypothesis by hypothesis, and what to paste."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from forelock.text import plain
from forelock.words import ENGLISH, Say, width_of

Json = Mapping[str, Any]
METHODS = ("simulated", "exact")
LEADS = ("sesoi", "twice_sesoi", "no_difference", "assumed")
OTHERS = ("not_true", "at_goal")


def power_text(report: Json, say: Say = ENGLISH, translate: Callable[[str], str] = str) -> str:
    """Return the power of every rule, after what the pilot says of it.

    Args:
        say: the words of a language.
        translate: says what the service answered in English in the same language.
    """
    words = _Words(say, translate)
    blocks = ["\n".join(words.pilot(pilot)) for pilot in report.get("pilot") or ()]
    blocks += ["\n".join(words.hypothesis(hypothesis)) for hypothesis in report.get("power") or ()]
    if report.get("assumptions"):
        section = json.dumps({"assumptions": report["assumptions"]}, indent=2, ensure_ascii=False)
        blocks.append("\n".join([say("rule_power_paste"), *map(plain, section.splitlines())]))
    return "\n\n".join(blocks) or say("rule_power_none")


@dataclass(frozen=True, slots=True)
class _Words:
    """The lines of an answer in a language."""

    say: Say
    translate: Callable[[str], str]

    def pilot(self, pilot: Json) -> Iterator[str]:
        """Say what a pilot tells of spread, correlation and missing results."""
        names = self.say("names").join(plain(hypothesis) for hypothesis in pilot["hypotheses"])
        items = self._items(pilot["n"], pilot.get("n_clusters"))
        yield self.say("rule_power_pilot", names=names, items=items, pairs=pilot["n_pairs"])
        for name in ("discordance", "sd", "icc"):
            estimate = pilot.get(name)
            if estimate:
                upper = estimate.get("upper")
                bound = "" if upper is None else self.say("rule_power_upper", value=f"{upper:.3g}")
                value = f"{estimate['estimate']:.3g}"
                yield "  " + self.say(f"rule_power_pilot_{name}", value=value, bound=bound)
        missing = {arm: f"{share:.1%}" for arm, share in pilot["missing"].items()}
        shares = {arm: missing[arm] for arm in ("baseline", "candidate")}
        yield "  " + self.say("rule_power_pilot_missing", **shares)

    def hypothesis(self, power: Json) -> Iterator[str]:
        """Say a hypothesis' power: what its items find, and how many items a wanted power needs."""
        method = power.get("method")
        name = (
            self.say(f"rule_power_{method}")
            if method in METHODS
            else plain(method or self.say("rule_power_no_power"))
        )
        head = self.say("rule_power_of", name=plain(power["hypothesis"]), method=name)
        if power.get("n") is not None:
            head += self.say("comma") + self._items(power["n"], power.get("n_clusters"))
        yield head
        if power.get("reason"):
            yield f"  {self._translated(power['reason'])}"
        yield from self._lead(power.get("lead") or {"effect": None, **power})
        stated, lead = power.get("reference") or {}, (power.get("lead") or {}).get("reference") or {}
        if lead and stated.get("power") is not None and stated["truth"] != lead["truth"]:
            yield "  " + self.say("rule_power_under_plan", figures=self._figures(stated))
        yield from self._table(power)
        for name in ("assumptions", "cut"):
            if power.get(name):
                yield f"  {self._translated(power[name])}"
        yield from self._slices(power.get("slices") or {})

    def _table(self, power: Json) -> Iterator[str]:
        """Say what is found with a wanted power, and how many items that takes at a true difference."""
        for row in power.get("detectable") or ():
            if row.get("effect") is not None:
                effect, target = self._effect(row, row["effect"]), f"{row['target']:.0%}"
                yield "  " + self.say(
                    "rule_power_finds", effect=effect, target=target, scale=self._scale(row)
                )
        for row in power.get("required") or ():
            needed = (
                self._translated(row.get("reason") or "")
                if row.get("n") is None
                else self._items(row["n"], row.get("n_clusters"))
            )
            effect, target = self._effect(row, row["truth"]), f"{row['target']:.0%}"
            scale = self._scale(row)
            yield "  " + self.say(
                "rule_power_needs", effect=effect, target=target, scale=scale, needed=needed
            )

    def _lead(self, lead: Json) -> Iterator[str]:
        """Power at the true difference that counts, its range, and other differences; an older service names none."""
        reference = lead.get("reference")
        if reference and reference.get("power") is not None:
            at = f"rule_power_at_{lead['effect']}" if lead["effect"] in LEADS else "rule_power_at"
            yield "  " + self.say(at, figures=self._figures(reference))
        for name in ("low", "high"):
            if lead.get(name):
                label = self.say(f"rule_power_{name}")
                yield f"  {' ' * max(5 - width_of(label), 0)}{label} {self._figures(lead[name])}"
        if lead.get("asks_observed") is not None:
            yield "  " + self.say(
                "rule_power_asks", least=self._effect(reference or {}, lead["asks_observed"])
            )
        for point in lead.get("curve") or ():
            yield "  " + self.say("rule_power_else", figures=self._figures(point))

    def _slices(self, answer: Json) -> Iterator[str]:
        """Beside the rule's power, which does not ask for them."""
        if answer.get("reason"):
            yield "  " + self.say("rule_power_not_of_slices", reason=self._translated(answer["reason"]))
        for point in answer.get("power") or ():
            yield "  " + self.say(
                "rule_power_of_slices",
                power=f"{point['power']:.3f}",
                effect=self._effect(point, point["truth"]),
                scale=self._scale(point),
                weakest=plain(point["weakest"]),
                weakest_power=f"{point['weakest_power']:.3f}",
            )
        if answer.get("assumptions"):
            yield "  " + self.say(
                "rule_power_assumed_of_slices", words=self._translated(answer["assumptions"])
            )

    def _figures(self, entry: Json) -> str:
        """Say a power, and under which effect, scale, missingness and other hypotheses it was computed."""
        error = "" if entry.get("standard_error") is None else f" ± {entry['standard_error']:.2g}"
        parts = [self._effect(entry, entry["truth"]), self._scale(entry)]
        if entry.get("icc") is not None:
            parts.append(self.say("rule_power_icc", value=f"{entry['icc']:g}"))
        if entry.get("missing") is not None:
            parts.append(self.say("rule_power_missing", share=f"{entry['missing']:.1%}"))
        if entry.get("others") in OTHERS:
            parts.append(self.say(f"rule_power_others_{entry['others']}"))
        more = "".join(
            self.say(f"rule_power_{name}", value=f"{entry[name]:.{digits}f}")
            for name, digits in (("equivalent", 3), ("invalid", 3), ("expected_n", 0))
            if entry.get(name) is not None
        )
        at = self.say("comma").join(parts)
        return self.say("rule_power_figures", power=f"{entry['power']:.3f}{error}", at=at, more=more)

    def _effect(self, entry: Json, value: float) -> str:
        if entry.get("discordance") is not None:
            return self.say("in_points", value=f"{100 * value:+.2f}")
        return f"{value:+.4g}"

    def _scale(self, entry: Json) -> str:
        if entry.get("discordance") is not None:
            return self.say("rule_power_discordant", share=f"{100 * entry['discordance']:.3g}")
        return self.say("rule_power_sd", value=f"{entry['spread']:.4g}")

    def _items(self, n: int, clusters: int | None) -> str:
        items = self.say.count("items", n)
        return self.say("in_clusters", items=items, n=clusters) if clusters else items

    def _translated(self, english: str) -> str:
        return plain(self.translate(plain(english)))
