"""Which clauses say the level of their interval: those beside an interval of another level."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from service.domain.verdicts.parts import Span
from service.domain.verdicts.records import ClauseVerdict
from service.stats.shared.declaring.sentences import level_text
from service.words import Language, say


def differing_levels(levels: Iterable[tuple[str, float | None]]) -> dict[str, float]:
    """By field (`test.ci`) the level of each test's interval; empty where all are of one level.

    Args:
        levels: ids of a hypothesis' tests with the levels of their intervals; None where a level is not known.

    Example:
        `differing_levels([("a", 0.95), ("b", 0.9)])` is `{"a.ci": 0.95, "b.ci": 0.9}`.
    """
    known = {f"{test}.ci": level for test, level in levels if level is not None}
    return known if len(set(known.values())) > 1 else {}


def level_behind(clause: ClauseVerdict, levels: Mapping[str, float], language: Language) -> str:
    """`, 90%` behind the interval that a clause is about, by `differing_levels`; empty of any other clause."""
    level = levels.get(clause.text.split(" ", 1)[0]) if isinstance(clause.observed, Span) else None
    return "" if level is None else say("lists.pause", language) + level_text(level)
