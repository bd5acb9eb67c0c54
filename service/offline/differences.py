"""Where a verdict that was judged again differs from the recorded one, and whether anything but altering explains it.

Outcomes, the truth of clauses, counts, n, and differences of means are the same on every machine, under every library
and release. What may differ is named number by number, each within a bound: under another Python, numpy, scipy or
processor a millionth; of numbers drawn from a seed six of their Monte-Carlo errors; under another release, whose faults
were mended since, more of p-values and intervals, and anything of what decides nothing.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, TypeGuard

from typing_extensions import override

TOLERANCE = 1e-9
"""Of numbers that are the same, absolutely or relatively."""
OF_LIBRARIES = 1e-6
"""Of numbers that iterate or sum, under other libraries; relatively."""
ERRORS = 6
"""Monte-Carlo errors by which a drawn number may be off: a normal one is off by more twice in a billion times."""
OF_RELEASES = 2.0
"""Factor by which a p-value may differ from that of a release with a fault."""
LEAST_P = 1e-4
WORDS = frozenset(
    {"sentence", "reason", "multiplicity", "text", "message", "warnings", "reading_of", "reference"}
    | {"bounds", "reasons", "undecided"}  # of numbers that are compared themselves, and of clauses' truth
)
"""Members that hold words: another version may say the same otherwise."""
UNCOMPARED = frozenset({"versions", "provenance", "title", "statement", "voided_batches"})
ALWAYS = frozenset({"outcome", "rule_holds", "clauses", "delta", "n", "analyses"})
"""What a verdict of any version says of a hypothesis: left out, nothing would be compared."""
KEYED = ("analyses", "primary_outcomes")
"""Members whose names are ids and outcomes, and not fields that a later version may add."""
PROBABILITIES = frozenset({"p_value", "p_better", "adjusted", "holm", "unadjusted"})
ENDS = frozenset({"low", "high"})
INTERVALS = frozenset({"ci", "intervals"})
ESTIMATES = ("delta", "mean", "estimate", "difference", "ratio")
"""How the names of what was observed begin, or of what holds it: no release may say otherwise."""
OF_HYPOTHESIS = PROBABILITIES | ENDS | {"observed"}
"""Numbers beside the analyses that may differ at all: what stands there else is decided, or counted."""


@dataclass(frozen=True, slots=True)
class Excuse:
    """Why numbers may differ without anybody having altered them, as far as versions tell."""

    libraries: bool = False
    """Python, numpy, scipy or the processor was another one."""
    release: bool = False
    """The server's version was another one."""


@dataclass(frozen=True, slots=True)
class Difference:
    """A place where two verdicts differ."""

    place: str
    recorded: Any
    here: Any
    bound: str | None
    """Within what it may be off, and why; None where nothing explains it."""

    @override
    def __str__(self) -> str:
        text = f"{self.place}: recorded {_brief(self.recorded)}, here {_brief(self.here)}"
        return text if self.bound is None else f"{text} ({self.bound})"


@dataclass(frozen=True, slots=True)
class _Where:
    """The place of a value in a document, by the names that lead to it."""

    excuse: Excuse
    place: str = ""
    name: str = ""
    analysed: bool = False
    """Within the answer of a statistical test."""
    draws: int | None = None
    """Resamples that the number rests on; None: it was not drawn."""
    width: float | None = None
    """Of the interval around it."""
    scale: float = 1.0
    """By how much a family's correction multiplied a p-value."""

    def at(self, name: str, place: str) -> _Where:
        return replace(self, name=name, place=place)


def compare(recorded: Mapping[str, Any], here: Mapping[str, Any], excuse: Excuse) -> list[Difference]:
    """Every difference between a recorded verdict and the one that its rows give here, in the order of the text."""
    start = _Where(excuse, draws=_least_draws(here.get("hypotheses")))
    differences = list(_differences(recorded.get("hypotheses"), here.get("hypotheses"), start))
    for name in ("primary_outcomes", "stopped", "plan_sha256", "preregistration_id"):
        differences += _differences(recorded.get(name), here.get(name), start.at(name, name))
    return differences


def _differences(recorded: Any, here: Any, where: _Where) -> Iterator[Difference]:
    """Yield what differs at a place of the recorded verdict; lists of one length are compared entry by entry."""
    if isinstance(recorded, dict) and isinstance(here, dict):
        yield from _of_objects(recorded, here, where)
    elif isinstance(recorded, list) and isinstance(here, list) and len(recorded) == len(here):
        for position, (one, other) in enumerate(zip(recorded, here, strict=True)):
            entry_id = one.get("id") if isinstance(one, dict) else None
            place = f"{where.place}[{entry_id or position}]".lstrip(".")
            yield from _differences(one, other, replace(where, place=place))
    elif not _same(recorded, here):
        yield Difference(where.place, recorded, here, _bound(recorded, here, where))


def _of_objects(recorded: dict[str, Any], here: dict[str, Any], where: _Where) -> Iterator[Difference]:
    """Yield what differs between two objects; words and what only a later version has are not compared."""
    where = _within(here, where)
    of_ids, of_hypothesis = where.name in KEYED, "outcome" in here and "analyses" in here
    # Other members that only a later version has are not compared.
    for name in sorted(here.keys() - recorded.keys()):
        if of_ids or (of_hypothesis and name in ALWAYS):
            yield Difference(f"{where.place}.{name}", None, here[name], None)
    for name, value in recorded.items():
        held_against = name == "reference" and of_hypothesis  # a number there, and words elsewhere
        if (name in WORDS and not held_against) or name in UNCOMPARED:
            continue
        inner = where.at(name, f"{where.place}.{name}" if where.place else name)
        if name == "clauses" and of_hypothesis:
            yield from _of_clauses(value, here.get(name), inner, here)
        else:
            yield from _differences(value, here.get(name), inner)


def _of_clauses(
    recorded: Any, here: Any, where: _Where, hypothesis: Mapping[str, Any]
) -> Iterator[Difference]:
    """Clauses: what one observed is known by the field that it names."""
    if not isinstance(recorded, list) or not isinstance(here, list) or len(recorded) != len(here):
        yield Difference(where.place, recorded, here, None)
        return
    for position, (one, other) in enumerate(zip(recorded, here, strict=True)):
        place = f"{where.place}[{position}]"
        if not isinstance(one, dict) or not isinstance(other, dict):
            yield Difference(place, one, other, None)
            continue
        field = str(other.get("text")).split(" ", 1)[0].split(".")
        unadjusted, adjusted = other.get("unadjusted"), other.get("observed")
        scale = 1.0
        if _is_number(unadjusted) and _is_number(adjusted) and unadjusted > 0:
            scale = max(1.0, adjusted / unadjusted)
        observed = replace(
            where.at(field[-1], f"{place}.observed"), scale=scale, width=_width(hypothesis, field)
        )
        yield from _differences(one.get("observed"), adjusted, observed)
        for name in one.keys() - WORDS - {"observed"}:
            yield from _differences(one[name], other.get(name), where.at(name, f"{place}.{name}"))


def _within(here: Mapping[str, Any], where: _Where) -> _Where:
    """Return what an object says of the values in it."""
    provenance = here.get("provenance")
    if isinstance(provenance, dict) and "analysis" in here:
        return replace(where, analysed=True, draws=_draws(provenance))
    low, high = here.get("low"), here.get("high")
    return replace(where, width=abs(high - low)) if _is_number(low) and _is_number(high) else where


def _bound(recorded: Any, here: Any, where: _Where) -> str | None:
    """Within what two values may differ, in words; None where they may not, or differ by more."""
    if where.name == "delta" or not (where.analysed or where.name in OF_HYPOTHESIS):
        return None
    if not (_is_number(recorded) and _is_number(here)):
        decides = (
            where.name in PROBABILITIES | ENDS | INTERVALS
            or isinstance(recorded, bool)
            or isinstance(here, bool)
        )
        free = where.excuse.release and where.analysed and not decides
        return "another release; it decides nothing" if free else None
    if float(recorded).is_integer() and float(here).is_integer():
        return None  # a count
    off, size = abs(recorded - here), max(abs(recorded), abs(here))
    if where.draws is not None and off <= (most := _drawn_bound(here, where)):
        return f"drawn {where.draws} times: within {most:.2g}"
    if (where.excuse.libraries or where.excuse.release) and off <= OF_LIBRARIES * size:
        return f"other libraries: within {OF_LIBRARIES:g} of it"
    return _release_bound(recorded, here, off, where) if where.excuse.release else None


def _drawn_bound(here: float, where: _Where) -> float:
    """Six Monte-Carlo errors of a share of draws (binomial), or of an interval's end or another number.

    The end at a share q of B draws has the error sqrt(q (1 - q) / B) / density: of a normal shape, at the levels in use
    (.9 to .99), less than the interval's width / sqrt(B).
    """
    draws = where.draws or 1
    if where.name in PROBABILITIES:
        share = min(max(here / where.scale, 0.0), 1.0)
        return where.scale * ERRORS * (math.sqrt(share * (1 - share) / draws) + 1 / draws)
    if where.name in ENDS and where.width is not None:
        return ERRORS * where.width / math.sqrt(draws)
    return ERRORS * abs(here) / math.sqrt(draws)


def _release_bound(recorded: float, here: float, off: float, where: _Where) -> str | None:
    if where.name in PROBABILITIES:
        close = max(recorded, here) <= OF_RELEASES * max(min(recorded, here), 0.0) or off <= LEAST_P
        return f"another release: within a factor of {OF_RELEASES:g}, or {LEAST_P:g}" if close else None
    if where.name in ENDS:
        near = where.width is not None and off <= where.width / 2
        return "another release: within half of the interval" if near else None
    observed = any(part.startswith(ESTIMATES) for part in where.place.split(".")[-2:])
    return None if observed else "another release; it decides nothing"


def _width(hypothesis: Mapping[str, Any], field: list[str]) -> float | None:
    """Return the width of the interval that a clause names an end of."""
    value: Any = hypothesis.get("analyses")
    for place, name in enumerate(field[:-1]):
        value = value.get(name) if isinstance(value, dict) else None
        if place == 0 and isinstance(value, dict):
            value = value.get("analysis")
    low, high = (value.get("low"), value.get("high")) if isinstance(value, dict) else (None, None)
    return abs(high - low) if _is_number(low) and _is_number(high) else None


def _draws(provenance: Mapping[str, Any]) -> int | None:
    """Resamples of an answer that was drawn from a seed, as it was computed here."""
    draws = provenance.get("n_resamples")
    return draws if provenance.get("seed") is not None and type(draws) is int and draws > 0 else None


def _least_draws(hypotheses: Any) -> int | None:
    """Return the fewest draws of any answer of a verdict: a family's correction mixes them."""
    answers = [
        answer
        for hypothesis in hypotheses or ()
        for answer in (hypothesis.get("analyses") or {}).values()
        if isinstance(answer, dict)
    ]
    drawn = [draws for answer in answers if (draws := _draws(answer.get("provenance") or {})) is not None]
    return min(drawn, default=None)


def _is_number(value: Any) -> TypeGuard[float]:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _same(recorded: Any, here: Any) -> bool:
    if _is_number(recorded) and _is_number(here):
        return math.isclose(recorded, here, rel_tol=TOLERANCE, abs_tol=TOLERANCE)
    return type(recorded) is type(here) and recorded == here


def _brief(value: Any) -> str:
    if isinstance(value, str) or (_is_number(value) and not isinstance(value, int)):
        return f"{value:.10g}" if not isinstance(value, str) else value[:60]
    return str(value) if not isinstance(value, dict | list) else f"{len(value)} members"
