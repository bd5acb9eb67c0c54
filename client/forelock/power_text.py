"""Power as a person reads it in a terminal: what it rests on, hypothesis by hypothesis, and what to paste."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from forelock.text import plain

Json = Mapping[str, Any]


def power_text(report: Json) -> str:
    """Return the power of every rule, after what the pilot says of it."""
    blocks = ["\n".join(_format_pilot(pilot)) for pilot in report.get("pilot") or ()]
    blocks += ["\n".join(_format_hypothesis(hypothesis)) for hypothesis in report.get("power") or ()]
    if report.get("assumptions"):
        section = json.dumps({"assumptions": report["assumptions"]}, indent=2, ensure_ascii=False)
        blocks.append("to paste into the plan:\n" + "\n".join(plain(line) for line in section.splitlines()))
    return "\n\n".join(blocks) or "no hypotheses"


def _format_pilot(pilot: Json) -> Iterator[str]:
    """Format what a pilot says of spread, correlation and missing results."""
    clusters = f" in {pilot['n_clusters']} clusters" if pilot.get("n_clusters") else ""
    names = ", ".join(plain(hypothesis) for hypothesis in pilot["hypotheses"])
    yield f"pilot for {names}: {pilot['n']} items{clusters}, {pilot['n_pairs']} with both results"
    for name, label in (("discordance", "discordant"), ("sd", "SD of the differences"), ("icc", "ICC")):
        estimate = pilot.get(name)
        if estimate:
            upper = "" if estimate.get("upper") is None else f" (upper 80 % bound {estimate['upper']:.3g})"
            yield f"  {label} {estimate['estimate']:.3g}{upper}"
    missing = pilot["missing"]
    shares = (
        f"{missing['baseline']:.1%} of the baseline's, {missing['candidate']:.1%} of the candidate's results"
    )
    yield f"  missing {shares}"


def _format_hypothesis(power: Json) -> Iterator[str]:
    """Format a hypothesis' power: what its items find, and how many items a wanted power needs."""
    size = "" if power.get("n") is None else f", {power['n']} items"
    clusters = f" in {power['n_clusters']} clusters" if power.get("n_clusters") else ""
    yield f"{plain(power['hypothesis'])}: {power.get('method') or 'no power'}{size}{clusters}"
    if power.get("reason"):
        yield f"  {plain(power['reason'])}"
    yield from _lead(power.get("lead") or {"effect": None, **power})
    stated, lead = power.get("reference") or {}, (power.get("lead") or {}).get("reference") or {}
    if lead and stated.get("power") is not None and stated["truth"] != lead["truth"]:
        yield f"  power under the plan's assumptions {_format_power(stated)}"
    for row in power.get("detectable") or ():
        if row.get("effect") is not None:
            yield f"  finds {_effect(row, row['effect'])} {row['target']:.0%} of the time ({_scale(row)})"
    for row in power.get("required") or ():
        clusters = f" in {row['n_clusters']} clusters" if row.get("n_clusters") else ""
        needed = plain(row.get("reason")) if row.get("n") is None else f"{row['n']} items{clusters}"
        yield f"  needs for {row['target']:.0%} at {_effect(row, row['truth'])} ({_scale(row)}): {needed}"
    for name in ("assumptions", "cut"):
        if power.get(name):
            yield f"  {plain(power[name])}"
    yield from _slices(power.get("slices") or {})


LEADS = {
    "sesoi": " at the SESOI",
    "twice_sesoi": " at 2 x SESOI",
    "no_difference": " at no difference",
    "assumed": " at the assumed difference",
}


def _lead(lead: Json) -> Iterator[str]:
    """Power at the true difference that counts, its range, and other differences; an older service names none."""
    reference = lead.get("reference")
    if reference and reference.get("power") is not None:
        yield f"  power{LEADS.get(lead['effect'], '')}: {_format_power(reference)}"
    for name in ("low", "high"):
        if lead.get(name):
            yield f"  {name:>5} {_format_power(lead[name])}"
    if lead.get("asks_observed") is not None:
        least = _effect(reference or {}, lead["asks_observed"])
        yield f"  asks for an observed {least} or beyond: about half of all studies or more miss that there"
    for point in lead.get("curve") or ():
        yield f"  else {_format_power(point)}"


def _slices(answer: Json) -> Iterator[str]:
    """Beside the rule's power, which does not ask for them."""
    if answer.get("reason"):
        yield f"  slices, which power leaves out: {plain(answer['reason'])}"
    for point in answer.get("power") or ():
        yield (
            f"  all slices pass {point['power']:.3f} at {_effect(point, point['truth'])}, {_scale(point)}; "
            f"'{plain(point['weakest'])}' passes {point['weakest_power']:.3f}"
        )
    if answer.get("assumptions"):
        yield f"  of slices: {plain(answer['assumptions'])}"


def _format_power(entry: Json) -> str:
    """Say a power, and under which effect, scale, missingness and other hypotheses it was computed."""
    error = "" if entry.get("standard_error") is None else f" ± {entry['standard_error']:.2g}"
    parts = [_effect(entry, entry["truth"]), _scale(entry)]
    if entry.get("icc") is not None:
        parts.append(f"ICC {entry['icc']:g}")
    if entry.get("missing") is not None:
        parts.append(f"{entry['missing']:.1%} missing")
    others = {"not_true": "no other hypothesis true", "at_goal": "the others true as well"}
    if entry.get("others") in others:
        parts.append(others[entry["others"]])
    more = "" if entry.get("equivalent") is None else f"; equivalent {entry['equivalent']:.3f}"
    more += "" if entry.get("invalid") is None else f"; invalid {entry['invalid']:.3f}"
    more += (
        "" if entry.get("expected_n") is None else f"; ends after {entry['expected_n']:.0f} items on average"
    )
    return f"{entry['power']:.3f}{error} at {', '.join(parts)}{more}"


def _effect(entry: Json, value: float) -> str:
    return f"{100 * value:+.2f} pp" if entry.get("discordance") is not None else f"{value:+.4g}"


def _scale(entry: Json) -> str:
    if entry.get("discordance") is not None:
        return f"{100 * entry['discordance']:.3g} % discordant"
    return f"SD {entry['spread']:.4g}"
