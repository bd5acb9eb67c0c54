"""Runs and judgements of the items of two arms: how they are sent, and what is said of them."""

from __future__ import annotations

from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from service.errors import InvalidData
from service.kernels.repeats.repeated_runs import RepeatedRuns
from service.records import Record
from service.stats.shared.data.replicates import MAX_REPLICATES, Replicates
from service.stats.shared.declaring.columns import LARGEST
from service.stats.shared.declaring.common import MAX_ITEMS, Finite, Request

Judgements = Annotated[list[Finite], Field(min_length=1, max_length=MAX_REPLICATES)]
JudgedRuns = Annotated[
    list[Annotated[list[Judgements], Field(min_length=1, max_length=MAX_REPLICATES)]],
    Field(max_length=MAX_ITEMS, fail_fast=True),
]
RunsOfItems = Annotated[Replicates | JudgedRuns, Field(union_mode="left_to_right")]


class RepeatCosts(Request):
    """What one more costs, in any unit that is the same for all three."""

    item: float = Field(
        1.0,
        ge=0,
        le=1e9,
        allow_inf_nan=False,
        description="A new item, before anything runs on it, e.g. in seconds.",
    )
    run: float = Field(
        1.0, gt=0, le=1e9, allow_inf_nan=False, description="One run of one arm on one item, same unit."
    )
    judge: float = Field(
        1.0, gt=0, le=1e9, allow_inf_nan=False, description="Judging one run once, same unit."
    )


class Component(Record):
    """One source of variance, with its interval."""

    variance: float | None = Field(description="Score units squared.")
    low: float | None = Field(description="Lower end of its interval, score units squared.")
    high: float | None = Field(description="Upper end of its interval, score units squared.")


class Components(Record):
    """Where the variance of one judgement comes from."""

    item: Component = Field(description="Items, the same in both arms; it cancels in the difference.")
    item_by_arm: Component = Field(description="What an item suits one arm better than the other.")
    run: Component = Field(description="Runs of one arm on one item.")
    judge: Component = Field(description="Judgements of one run.")


class Flips(Record):
    """How often runs of one item end differently."""

    rate: float | None = Field(
        description="Share of items with two runs or more whose majority of judgements changes between runs."
    )
    two_runs: float | None = Field(
        description="Chance that two runs of one item end differently, a proportion; more runs do not raise it."
    )
    n_items: int = Field(description="Items with two runs or more, a count.")


class ErrorParts(Record):
    """Variance of the comparison by its source, as the components predict it for these counts."""

    item_by_arm: float = Field(description="From the choice of items, score units squared.")
    run: float | None = Field(description="From runs, score units squared.")
    judge: float | None = Field(description="From judgements, score units squared.")
    se: float = Field(description="Square root of their sum, score units.")


class NextUnit(Record):
    """What one unit of cost takes off the variance of the comparison."""

    items: float = Field(description="Spent on more items, score units squared per unit of cost.")
    runs: float | None = Field(
        description="On more runs of every item, score units squared per unit of cost."
    )
    judgements: float | None = Field(
        description="On judging every run more often, score units squared per unit of cost."
    )
    best: str | None = Field(description="`items`, `runs` or `judgements`: where it takes off most.")


class BestAllocation(Record):
    """The least error that a budget buys, over whole numbers."""

    budget: float = Field(description="In the unit of the costs.")
    items: int = Field(description="Items, a count.")
    runs: int = Field(description="Runs of each item in each arm, a count.")
    judgements: int = Field(description="Judgements of each run, a count.")
    cost: float = Field(description="What that costs, both arms, in the unit of the costs.")
    se: float = Field(description="Standard error of the difference it would give, score units.")


def flatten(baseline: RunsOfItems, candidate: RunsOfItems) -> tuple[RepeatedRuns, float, bool]:
    """Runs of both arms in units of the largest deviation from their mean, that unit, and whether all are 0 or 1.

    Raises:
        InvalidData: values whose squares would overflow.
    """
    arms: tuple[list[Any], list[Any]] = [*baseline], [*candidate]
    cells: list[list[Any]] = [runs for pair in zip(*arms, strict=True) for runs in pair]
    of_runs = np.repeat(np.arange(len(cells)), [len(runs) for runs in cells])
    judged = [run if isinstance(run, list) else [run] for runs in cells for run in runs]
    repeats = np.array([len(run) for run in judged], dtype=np.float64)
    values = np.fromiter((x for run in judged for x in run), dtype=np.float64, count=int(repeats.sum()))
    if np.abs(values).max() > LARGEST:
        raise InvalidData.field(
            "baseline", f"or candidate holds values beyond {LARGEST:g} in size", "send them in a larger unit"
        )
    binary = bool(np.all((values == 0) | (values == 1)))
    size = float(np.abs(values).max()) or 1.0
    values = values / size
    places = np.repeat(np.arange(len(judged)), repeats.astype(np.int64))
    means = np.bincount(places, weights=values) / repeats
    away = values - means[places]
    # Values were divided by the largest: what is left at the 13th digit is rounding, and no judgement differs.
    away[np.abs(away) <= 1e-13] = 0.0
    within = np.bincount(places, weights=away * away).astype(np.float64)
    return RepeatedRuns(means, repeats, within, of_runs, len(baseline)), size, binary


def flips(data: RepeatedRuns, arm: int, *, binary: bool, reasons: dict[str, str], path: str) -> Flips:
    """Say how often runs of an arm's items disagree; a run is right when more than half of its judgements say so."""
    # Cells alternate: 2 i is the baseline's of item i, 2 i + 1 the candidate's.
    mine = data.cells % 2 == arm
    right = (data.means[mine] > 0.5).astype(np.float64)
    items: NDArray[np.int64] = data.cells[mine] // 2
    runs = np.bincount(items, minlength=data.n).astype(np.float64)
    often = runs >= 2
    n_items = int(np.count_nonzero(often))
    if not binary or not n_items:
        why = "the outcomes are not 0 and 1" if not binary else "no item has two runs in this arm"
        reasons[f"{path}.rate"] = reasons[f"{path}.two_runs"] = why
        return Flips(rate=None, two_runs=None, n_items=n_items)
    hits = np.bincount(items, weights=right, minlength=data.n)[often]
    runs = runs[often]
    # Pairs of runs that end differently, h (r - h), of all r (r - 1) / 2: unbiased for two new runs.
    differ = 2 * hits * (runs - hits) / (runs * (runs - 1))
    changed = (hits > 0) & (hits < runs)
    return Flips(rate=float(changed.mean()), two_runs=float(differ.mean()), n_items=n_items)
