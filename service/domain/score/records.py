"""What the score of one arm without a plan answers."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from service.domain.comparison.suite_records import SuiteFacts
from service.records import Record
from service.stats.shared.declaring.common import Interval, Reasons, StatWarning
from service.stats.shared.declaring.fields import ItemCount
from service.stats.shared.methods.fixed_items import TheseItems
from service.stats.shared.methods.scored import ScoredClusters
from service.stats.shared.methods.thresholds import AgainstThreshold

Outcome = Literal["meets", "falls_short", "cannot_tell", "estimate"]


class Filled(Record):
    """The mean if every missing outcome were one and the same."""

    value: float = Field(description="What takes the place of each missing outcome.")
    mean: float
    ci: Interval | None


class MissingResults(Record):
    """Items without a result, and what they could change."""

    n: int = Field(description="Items without any result, a count.")
    item_ids: tuple[str, ...] = Field(description="The first of them.")
    counted: Literal["left_out", "as_worst"]
    share: float = Field(description="Of all items, a proportion.")
    worst: Filled | None = Field(description="Null: no range is known, so nothing bounds them.")
    best: Filled | None


class SliceScore(Record):
    """One slice, by the same rule as the whole."""

    name: str
    outcome: Outcome
    mean: float
    ci: Interval | None
    n: ItemCount
    n_clusters: int | None
    p_falls_short: float | None
    p_adjusted: float | None = Field(description="Holm's, over the slices.")
    shown_short: bool = Field(description="Falls short, and after Holm's correction still.")


class SliceScores(Record):
    """Every slice beside the whole."""

    outcome: Literal["meets", "falls_short", "cannot_tell"] | None = Field(
        description="`meets`: every slice does (intersection-union: no correction is needed); `falls_short`: one is "
        "shown to, after Holm's correction; null: there is no threshold."
    )
    results: tuple[SliceScore, ...]
    left_out: tuple[str, ...] = Field(
        description="Slices that cannot be weighed, such as those in a single cluster."
    )


class Score(Record):
    """One arm: its mean with the interval that decides, and whether it is enough."""

    outcome: Outcome = Field(description="Against the threshold; `estimate` where there is none.")
    headline: str = Field(description="The outcome in a line: the mean with its interval.")
    open: str = Field(description="What was not shown; empty: nothing is left to say.")
    sentence: str = Field(description="The outcome in words, with its numbers.")
    rule: str = Field(description="How the interval was chosen and what decides.")
    next: str = Field(description="What to do now.")
    status: str = Field(description="What kind of evidence this is.")
    mean: float | None = Field(
        description="Over items, a proportion or score units; null: no item has a result."
    )
    ci: Interval | None = Field(description="The interval that decides: of the mean over items like these.")
    se: float | None = Field(description="Standard error of the mean over items like these.")
    df: float | None
    intervals: dict[str, Interval] = Field(description="Every interval that was computed, by its method.")
    these_items: TheseItems | None = Field(
        description="The same of these very items, of which runs alone vary."
    )
    clusters: ScoredClusters | None
    against: AgainstThreshold | None = Field(description="The mean against the threshold.")
    points: bool = Field(description="The mean is a share, and told in percent.")
    prefers: Literal["higher", "lower"] = Field(description="As asked.")
    n: int = Field(description="Items that are scored, a count.")
    n_values: int = Field(description="Their runs together, a count.")
    missing: MissingResults | None
    slices: SliceScores | None = None
    suite: SuiteFacts | None = Field(
        None,
        description="The tasks, where items have any: the mean is then the suite's; null: items have no task.",
    )
    test: str = Field(description="The registered test; `GET /v1/tests/{name}` describes it.")
    version: int
    reasons: Reasons = Field(
        description="Null fields and why; `outcome`: why an answer that the items would carry does not stand."
    )
    warnings: tuple[StatWarning, ...]
