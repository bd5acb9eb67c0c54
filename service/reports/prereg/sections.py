"""The sections of a preregistration whose entries may be prose, and how each becomes a part of the plan."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from service.reports.prereg import prose
from service.reports.prereg.blocks import Item
from service.reports.prereg.gaps import READ_FROM_PROSE, Entry, Notes
from service.reports.prereg.text import read, spans
from service.stats.shared.plan_use import Spoken
from service.stats.shared.registry import StatTest


@dataclass
class Draft:
    """A plan in the making."""

    value: Entry
    notes: Notes
    of_hypothesis: dict[str, str] = field(default_factory=dict)
    """Population ids by the hypothesis that a line of the sample size names."""
    prosaic: list[Entry] = field(default_factory=list)
    """Hypotheses that prose speaks of, completed at the end."""

    def begin(self, section: str) -> None:
        """Make the section present, though it may turn out empty."""
        if section == "sesoi":
            self.value.setdefault("sesoi", Entry(self.value.line_of("sesoi")))
        elif section != "rules":
            self.value.setdefault(section, [])

    def nothing(self, section: str) -> None:
        """The section says that there is nothing."""
        if section in ("multiplicity", "stopping", "missing", "import"):
            self.notes.add(
                "UNREAD", section, self.value.line_of(section), "say what applies instead of `none`"
            )
        else:
            self.begin(section)

    def entries(self, section: str) -> list[Entry]:
        """The entries of a section so far."""
        found = self.value.get(section)
        return found if isinstance(found, list) else []

    def ids(self, section: str) -> list[str]:
        """Their ids."""
        return [str(each["id"]) for each in self.entries(section) if "id" in each]

    def assume(
        self,
        section: str,
        entry: Entry,
        name: str,
        value: Any,
        line: int | None = None,
        why: str = READ_FROM_PROSE,
    ) -> None:
        """Set a member that prose suggests, unless it is there, and say so."""
        if name in entry or value is None:
            return
        entry.put(name, value, line or entry.line)
        self.notes.add("ASSUMED", section, line or entry.line, why, entry, name)

    def clustered(self, hypothesis: Mapping[str, Any]) -> bool:
        """True when the hypothesis' population has clusters."""
        return any(
            "clusters" in each
            for each in self.entries("populations")
            if each.get("id") == hypothesis.get("population")
        )

    def test_id(self, family: str, clustered: bool, line: int) -> str | None:
        """The id of the plan's test of that family, added when the plan does not list it."""
        found = _meant(family, clustered)
        if found is None:
            return None
        test, wanted = found[0], found[1].id
        for each in self.entries("tests"):
            if each.get("test") == test.name:
                return str(each["id"])
        entry = Entry(line, id=wanted, test=test.name, version=test.version)
        self.value.setdefault("tests", []).append(entry)
        self.notes.add("ASSUMED", "tests", line, f"`{test.name}` is added, as the text asks for it", entry)
        return wanted


def _meant(family: str, clustered: bool) -> tuple[StatTest[Any, Any], Spoken] | None:
    """The test that a word of prose means, with clusters or without."""
    known = (each for each in prose.spoken_tests() if each[1].family == family)
    return next((each for each in known if clustered in each[1].clustered), None)


def population(draft: Draft, said: str, item: Item, name: str, entry: Entry) -> bool:
    """`H1a: n=500 (LongMemEval-S full)`, or a population's own entry."""
    head, rest = (name, said) if name else prose.headed(said)
    labelled = bool(name) and not said and "dataset" in entry and "n" in entry
    named = not labelled and re.fullmatch(r"H\d+[A-Za-z]?", head or "") is not None
    if not named and head:
        entry.setdefault("id", head)
    if said or not name:
        count, dataset, clusters = prose.planned_n(rest or said), prose.dataset(rest), prose.clusters(rest)
        if count is None and "n" not in entry:
            return False
        draft.assume("populations", entry, "dataset", dataset)
        draft.assume("populations", entry, "id", prose.slug(str(entry.get("dataset", ""))))
        draft.assume("populations", entry, "n", count)
        if clusters is not None and "clusters" not in entry:
            found = {"key": clusters[1], "n": clusters[0]}
            draft.assume("populations", entry, "clusters", found)
    if named:
        draft.of_hypothesis[head] = str(entry.get("id"))
    earlier = [each for each in draft.entries("populations") if each.get("id") == entry.get("id")]
    if earlier and named:
        if earlier[0].get("n") != entry.get("n"):
            draft.notes.add(
                "INVALID", "populations", item.line, "this population has another n above: give one"
            )
        return True
    draft.entries("populations").append(entry)
    return True


def endpoint(draft: Draft, said: str, _item: Item, name: str, entry: Entry) -> bool:
    """`**paired binary accuracy** (per-question 0/1)`, `secondary: token-F1`, or an endpoint's own entry."""
    if name and not said:
        if "kind" not in entry or "role" not in entry:
            said = name
        else:
            entry.setdefault("id", name)
    if said:
        head, rest = prose.headed(said)
        role = {"secondary": "secondary", "次要": "secondary", "次要端点": "secondary"}.get(
            head.casefold(), "primary"
        )
        whole = f"{name} {rest}" if name else rest
        entry_id = prose.endpoint_id(name or rest)
        if entry_id is None:
            return False
        draft.assume("endpoints", entry, "id", entry_id)
        draft.assume("endpoints", entry, "kind", prose.endpoint_kind(whole))
        draft.assume("endpoints", entry, "role", role)
        known = {
            str(each.get("dataset")): str(each["id"]) for each in draft.entries("populations") if "id" in each
        }
        where = [known[each] for each in prose.mentioned(rest, list(known))]
        if where and len(where) < len(known):
            why = "the line names these populations; check it, or write `Populations`"
            draft.assume("endpoints", entry, "populations", where, why=why)
    draft.entries("endpoints").append(entry)
    return True


def sesoi(draft: Draft, said: str, item: Item, name: str, _entry: Entry) -> bool:
    """`±2 pp on binary accuracy`, or `**accuracy**: ±2 pp`."""
    found = prose.margin(said)
    if found is None:
        return False
    margin = {"value": found[0], "unit": found[1]}
    if name:
        draft.value["sesoi"].put(name, margin, item.line)
        return True
    of = list(prose.mentioned(said, draft.ids("endpoints")))
    primary = [
        str(each["id"])
        for each in draft.entries("endpoints")
        if each.get("role") == "primary" and "id" in each
    ]
    for each in (of or primary)[:1]:
        draft.value["sesoi"].put(each, margin, item.line)
        draft.notes.add("ASSUMED", f"sesoi.{each}", item.line, f"the margin: {READ_FROM_PROSE}")
    return bool(of or primary)


def test(draft: Draft, said: str, item: Item, name: str, entry: Entry) -> bool:
    """`McNemar (scipy.stats.binomtest …)`, or a test's own entry."""
    if "test" in entry:
        entry.setdefault("id", name or prose.rule_name(str(entry["test"])))
        draft.entries("tests").append(entry)
        return not said.strip() or not name
    whole = f"{name} {said}"
    family = prose.family_of(whole)
    if family is None or entry:
        return False
    plain, clustered = _meant(family, False), _meant(family, True)
    meant = [] if plain is None else [plain]
    if clustered is not None and clustered[1].beside and re.search(r"cluster|聚类", whole, re.IGNORECASE):
        meant.append(clustered)
    for found, spoken in meant:
        parameters = spoken.parameters(prose.fold(whole))
        made = Entry(item.line, id=spoken.id, test=found.name, version=found.version, parameters=parameters)
        draft.entries("tests").append(made)
        more = (
            "; the number of resamples is left out, since intervals are exact where they can be"
            if "resample" in whole or "重采样" in whole
            else ""
        )
        draft.notes.add("ASSUMED", "tests", item.line, f"`{found.name}`: {READ_FROM_PROSE}{more}", made)
    return bool(meant)


def threshold(draft: Draft, said: str, item: Item, name: str, entry: Entry) -> bool:
    """`LoCoMo: τ = 0.47 (max_score p30 on dev split)`, or a threshold's own entry."""
    if "value" in entry and "chosen_by" in entry and name:
        entry.put("name", name, item.line)
        draft.entries("thresholds").append(entry)
        return not said.strip()
    head, rest = (name, said) if name else prose.headed(said)
    found = prose.chosen(rest)
    if found is None:
        return False
    value, how, split = found
    symbol = re.match(r"\s*([^\s=:]{1,40})\s*[=:]", rest)
    known = {
        str(each.get("dataset")): str(each["id"]) for each in draft.entries("populations") if "id" in each
    }
    where = [known[each] for each in prose.mentioned(head, list(known))]
    draft.assume("thresholds", entry, "name", symbol[1] if symbol else head or "threshold")
    if where:
        draft.assume("thresholds", entry, "population", where[0])
    draft.assume("thresholds", entry, "value", value)
    draft.assume("thresholds", entry, "chosen_by", how)
    draft.assume("thresholds", entry, "split", split)
    draft.entries("thresholds").append(entry)
    return True


def setting(section: str, name: str, reader: Callable[[str], str | None]) -> Callable[..., bool]:
    """A section of one word, said in a sentence."""

    def take(draft: Draft, said: str, item: Item, _name: str = "", _entry: Entry | None = None) -> bool:
        found = None if section in draft.value else reader(read(said))
        if found is None:
            return False
        if section == name:
            draft.value.put(section, found, item.line)
            draft.notes.add("ASSUMED", section, item.line, f"`{found}`: {READ_FROM_PROSE}")
            return True
        made = Entry(item.line, **{name: found})
        if section == "multiplicity":
            made["assumed"] = True
        draft.value.put(section, made, item.line)
        draft.notes.add("ASSUMED", section, item.line, f"`{found}`: {READ_FROM_PROSE}", made, name)
        return True

    return take


def import_format(said: str) -> str | None:
    """The format in a code span."""
    inside = spans(said)
    return inside[0] if inside else None
