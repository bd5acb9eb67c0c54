"""How the locked interval reads against no difference and the smallest effect of interest."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

from service.domain.rules.answers import Answer, JsonObject
from service.domain.rules.claims.clauses import meaning_of
from service.domain.rules.rule import Clause
from service.domain.rules.settings import Setting
from service.domain.rules.truth import Ends
from service.stats.shared.declaring.shows import TIE, Covers

Reading = Literal["positive", "negative", "equivalent", "inconclusive"]

INTERVALS = ("ci", "intervals", "every")
"""Where analyses keep intervals of the difference itself, or of every task's."""


@dataclass(frozen=True, slots=True)
class IntervalRead:
    """An interval and what it says."""

    reading: Reading
    of: str
    ends: Ends
    within_sesoi: bool | None
    """True when it lies strictly inside the SESOI on both sides; None without a SESOI."""
    level: float | None = None
    """Two-sided coverage, a proportion; None where the test does not tell."""
    method: str | None = None
    sesoi: float | None = None
    reference: float | None = None
    """Of one arm: the number that its interval is read against, in the place of 0."""


def read_interval(
    setting: Setting, answers: Mapping[str, JsonObject], *, filled: bool = False
) -> IntervalRead | None:
    """Return the first interval the rule names, else the first `ci` of its tests; None without one.

    Where results were `filled` in against a claim of a difference, it is not read against the SESOI: that it
    lies within would be their doing.
    """
    one_way = filled and setting.hypothesis.claim != "equivalence"
    sesoi = None if one_way else setting.sesoi
    bound = None if sesoi is None else float(sesoi.exact())
    reference = None if setting.reference is None else float(setting.reference)
    bound = bound if reference is None else None
    for test, path in _candidates(setting):
        answer = Answer.of(answers, test)
        seen = answer.observe(*path)
        ends = seen.value
        if isinstance(ends, Ends) and (ends.low is not None or ends.high is not None):
            # drawn ends are read wherever they may lie
            every = [ends, *(corner for corner in seen.corners if isinstance(corner, Ends))]
            within = None if bound is None else all(_inside(one, bound) for one in every)
            readings = {_read(_count_from(one, reference), within) for one in every}
            reading = readings.pop() if len(readings) == 1 else "inconclusive"
            stated = answer.analysis.interval(*path)
            level, method = (None, None) if stated is None else (stated.level, stated.method)
            of = ".".join((test, *path))
            return IntervalRead(reading, of, ends, within, level, method, bound, reference)
    return None


def _candidates(setting: Setting) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Yield the intervals that may be read, by test and path: those that the rule names, then each test's `ci`."""
    # the interval of another endpoint is of something else
    endpoint = setting.hypothesis.endpoint
    own = [test for test in setting.tests if setting.plan.reads(test, endpoint) == endpoint]
    for clause in setting.clauses:
        test, path = clause.field.test, clause.field.path
        if test in own and (path[0] in INTERVALS or _covers(setting, clause)):
            yield test, path[:-1] if path[-1] in ("low", "high") else path
    for test in own:
        yield test, ("ci",)


def _covers(setting: Setting, clause: Clause) -> bool:
    """True for an interval that speaks of one arm, wherever its test keeps it."""
    use = setting.use_of(clause)
    return (
        setting.reference is not None
        and use is not None
        and isinstance(meaning_of(use, clause.field.path)[0], Covers)
    )


def _count_from(ends: Ends, reference: float | None) -> Ends:
    if reference is None:
        return ends
    return Ends(*(None if end is None else end - reference for end in (ends.low, ends.high)))


def _read(ends: Ends, within_sesoi: bool | None) -> Reading:
    """An interval beyond 0 is positive or negative even when it also lies inside the SESOI."""
    if ends.low is not None and ends.low > TIE:
        return "positive"
    if ends.high is not None and ends.high < -TIE:
        return "negative"
    return "equivalent" if within_sesoi else "inconclusive"


def _inside(ends: Ends, bound: float) -> bool:
    """Strictly between -bound and bound; an end that ties with a bound is not."""
    if ends.low is None or ends.high is None:
        return False
    return ends.low > -bound + TIE and ends.high < bound - TIE
