"""The answer of a statistical test as verdicts store it. This module alone knows its shape.

A test that found something has an `analysis`, whose members differ from test to test; one that failed has null there
and a `reason`. An analysis says in `reasons` why a member is null, in `bounds` which p-values lie below what the method
resolves, in `undecided` what no rule may rest on, and in `within` between which values a drawn number may lie.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

from pydantic import JsonValue

from service.domain.rules.truth import Ends, Observed
from service.stats.shared.declaring.certainty import BEYOND, SO_FEW
from service.words import say

JsonObject = dict[str, JsonValue]
"""A stored answer."""
Path = tuple[str, ...]
"""Of a member inside an analysis: `ci.low` is `("ci", "low")`."""


@dataclass(frozen=True, slots=True)
class Observation:
    """What a field turned out to be, and why it is undefined where it is, or open beside some thresholds."""

    value: Observed
    reason: str | None = None
    bound: str | None = None
    """Such as `< 1e-12`, when the value lies below the method's resolution."""

    corners: tuple[Observed, ...] = ()
    """The least and the most that a drawn value may be, in every combination of an interval's ends."""


class StatedInterval(NamedTuple):
    """An interval as an analysis has it; what is absent or null is None."""

    low: float | None
    high: float | None
    level: float | None
    """Two-sided coverage, a proportion."""
    method: str | None

    @property
    def alpha(self) -> float | None:
        """Of each of the two one-sided tests that the interval goes with."""
        # (1 - .9) / 2 is .04999999999999999 in floats: rounded, it is the alpha that was asked for.
        return None if self.level is None else round((1 - self.level) / 2, 12)


@dataclass(frozen=True, slots=True)
class Analysis:
    """What a test found. A member that is absent, null or of another kind reads as None."""

    members: Mapping[str, JsonValue]

    def __contains__(self, name: str) -> bool:
        """True for a member that this test has, null or not."""
        return name in self.members

    def member(self, *path: str) -> JsonValue:
        """Return the member at a path, as it is stored; None where the path leads to nothing."""
        value: JsonValue | Mapping[str, JsonValue] = self.members
        for name in path:
            value = value.get(name) if isinstance(value, Mapping) else None
        return value  # type: ignore[return-value]

    def number(self, *path: str) -> float | None:
        """Return a number; true and false are none."""
        value = self.member(*path)
        return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None

    def count(self, *path: str) -> int | None:
        """Return a member that is a whole number; None where it is something else."""
        value = self.member(*path)
        return value if isinstance(value, int) and not isinstance(value, bool) else None

    def truth(self, *path: str) -> bool | None:
        """Return a member that is true or false; None where it is something else."""
        value = self.member(*path)
        return value if isinstance(value, bool) else None

    def text(self, *path: str) -> str | None:
        """Return a member that is a text; None where it is something else."""
        value = self.member(*path)
        return value if isinstance(value, str) else None

    def interval(self, *path: str) -> StatedInterval | None:
        """Return an interval; None where the test gives none."""
        value = self.member(*path)
        if not isinstance(value, Mapping):
            return None
        part = Analysis(value)
        return StatedInterval(
            part.number("low"), part.number("high"), part.number("level"), part.text("method")
        )

    @property
    def alpha(self) -> float | None:
        """Of each of two one-sided tests, from the level of the interval `ci`."""
        ci = self.interval("ci")
        return None if ci is None else ci.alpha

    def is_bound(self, path: Path) -> bool:
        """Tell whether the number is what the method resolves, and the value lies below it."""
        return ".".join(path) in _texts(self.members.get("bounds"))


@dataclass(frozen=True, slots=True)
class Answer:
    """One test of a hypothesis: what it found, or why it found nothing."""

    stored: Mapping[str, JsonValue]

    @classmethod
    def of(cls, answers: Mapping[str, JsonObject], test: str | None) -> Answer:
        """Return the answer of a test by its id; of one that was not computed, an answer that holds nothing."""
        return cls(answers.get(test or "", {}))

    @property
    def test(self) -> str | None:
        """The name of the statistical test."""
        name = self.stored.get("test")
        return name if isinstance(name, str) else None

    @property
    def has_analysis(self) -> bool:
        """False for a test that failed."""
        return isinstance(self.stored.get("analysis"), Mapping)

    @property
    def analysis(self) -> Analysis:
        """What was found; of a test that failed, nothing."""
        analysis = self.stored.get("analysis")
        return Analysis(analysis if isinstance(analysis, Mapping) else {})

    @property
    def reason(self) -> str:
        """Why there is no analysis."""
        return str(self.stored.get("reason") or say("reasons.no_analysis"))

    def observe(self, *path: str) -> Observation:
        """Read a member as a rule does. An interval's null end counts as unbounded where its reason is `infinite`."""
        if not self.has_analysis:
            return Observation(None, self.reason)
        analysis = self.analysis
        value, members, dotted = analysis.member(*path), analysis.members, ".".join(path)
        reasons, bounds = _texts(members.get("reasons")), _texts(members.get("bounds"))
        undecided, within = _texts(members.get("undecided")), _ranges(members.get("within"))
        why = _why_undecided(undecided, path)
        if why is not None:
            return Observation(None, why)
        if isinstance(value, Mapping):
            ends = {
                name: None if f"{dotted}.{name}" in undecided else value.get(name) for name in ("low", "high")
            }
            return _observe_ends(ends, dotted, {**reasons, **undecided}, within)
        if isinstance(value, (bool, int, float)):
            why_open = None if self.beyond_resamples(*path) is None else self._why_no_smaller()
            return Observation(value, why_open, bounds.get(dotted), within.get(dotted, ()))
        if value is None and reasons.get(dotted) == "infinite":
            return Observation(-math.inf if path[-1] == "low" else math.inf)
        return Observation(None, reasons.get(dotted) or say("reasons.undefined_here", field=dotted))

    def beyond_resamples(self, *path: str) -> float | None:
        """Return the chance of such signs, where p lies beyond every resample, or below what so few signs allow.

        More draws would not tell it.
        """
        analysis, dotted = self.analysis, ".".join(path)
        side = {"candidate": "greater", "baseline": "less"}.get(str(analysis.member("better")))
        at_end = {"p_better": True, "p_value": analysis.member("alternative") in ("two-sided", side)}.get(
            dotted
        )
        range_ = _ranges(analysis.members.get("within")).get(dotted)
        return range_[1] if at_end and range_ is not None and self._why_no_smaller() is not None else None

    @property
    def warning_codes(self) -> frozenset[str]:
        """Codes of what the test warned of."""
        warnings = self.stored.get("warnings")
        rows = [row for row in warnings if isinstance(row, Mapping)] if isinstance(warnings, list) else []
        return frozenset(str(row.get("code")) for row in rows)

    def _why_no_smaller(self) -> str | None:
        """Say why a rule takes p for no smaller than chance alone makes signs: none reaches it, or so few differ."""
        codes = self.warning_codes
        return BEYOND if "BEYOND_RESAMPLES" in codes else SO_FEW if "FEW_SIGNS" in codes else None


def _why_undecided(undecided: Mapping[str, str], path: tuple[str, ...]) -> str | None:
    """Say why no rule may rest on a field, or on what it is part of."""
    parts = (".".join(path[:end]) for end in range(1, len(path) + 1))
    return next((undecided[part] for part in parts if part in undecided), None)


def _observe_ends(
    interval: Mapping[str, JsonValue],
    dotted: str,
    reasons: Mapping[str, str],
    within: Mapping[str, tuple[float, float]],
) -> Observation:
    """Observe the ends of an interval: infinite ends as such, and corners where the ends are known to lie in ranges."""
    ends: dict[str, float | None] = {}
    why = reasons.get(dotted)
    for name, unbounded in (("low", -math.inf), ("high", math.inf)):
        end, reason = interval.get(name), reasons.get(f"{dotted}.{name}")
        if isinstance(end, (int, float)) and not isinstance(end, bool):
            ends[name] = float(end)
        else:
            ends[name] = unbounded if reason == "infinite" else None
            why = why or reason
    if None in ends.values():
        return Observation(Ends(**ends), why or say("reasons.end_undefined", field=dotted))
    ranges = [within.get(f"{dotted}.{name}") for name in ("low", "high")]
    if ranges == [None, None]:
        return Observation(Ends(**ends))
    lows, highs = (range_ or (end,) for range_, end in zip(ranges, ends.values(), strict=True))
    return Observation(Ends(**ends), corners=tuple(Ends(low, high) for low in lows for high in highs))


def _ranges(value: JsonValue) -> dict[str, tuple[float, float]]:
    items = value.items() if isinstance(value, dict) else ()
    return {name: (ends[0], ends[1]) for name, ends in items if isinstance(ends, (list, tuple))}  # type: ignore[misc]


def _texts(value: JsonValue) -> Mapping[str, str]:
    return {name: str(text) for name, text in value.items()} if isinstance(value, dict) else {}
