"""What a comparison of two arms without a plan answers."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from service.domain.comparison.suite_records import SuiteFacts
from service.records import Record
from service.stats.shared.declaring.common import Interval, Reasons, StatWarning
from service.stats.shared.declaring.fields import ItemCount
from service.stats.shared.methods.slice_records import Reversal, Standing

Outcome = Literal["better", "no_worse", "worse", "cannot_tell"]
Unit = Literal["items", "clusters"]
Claim = Literal["better", "no_worse", "worse"]


class Unpaired(Record):
    """What has no partner: counts, and the first ids."""

    counted: Literal["left_out", "as_0"] = Field(
        description="What became of these items: they did not enter the comparison, or count as 0 (where lower is "
        "better, as the worst there can be) where there is no result. Those of neither arm are always left out."
    )
    only_baseline: int = Field(description="Items that the candidate does not have, a count.")
    only_baseline_ids: tuple[str, ...]
    only_candidate: int = Field(description="Items that the baseline does not have, a count.")
    only_candidate_ids: tuple[str, ...]
    missing: int = Field(description="Items of both arms without a result in one of them, a count.")
    missing_ids: tuple[str, ...]
    neither: int = Field(
        description="Items of which neither arm has a result, a count: left out, since that is no agreement."
    )
    neither_ids: tuple[str, ...]


class TestRun(Record):
    """One registered test that was run."""

    __test__ = False

    test: str = Field(description="Its name; `GET /v1/tests/{name}` describes it.")
    version: int
    method: str
    p_value: float | None = Field(description="Two-sided, of no difference; null: it decides nothing.")
    bound: str | None = Field(None, description="The bound that p is, where it lies below what is resolved.")
    ci: Interval | None = Field(None, description="Its own interval of delta.")


class More(Record):
    """How much it would take, if things went on as they are: never a promise."""

    claim: Claim = Field(description="What could then be told.")
    assuming: Literal["no_difference", "observed_difference"] = Field(description="The true difference.")
    truth: float = Field(description="The same, a proportion or score units.")
    total: int = Field(description="Items or clusters in all.")
    more: int = Field(description="Of them beyond those that are there.")
    power: float = Field(description="Chance to tell it then, a proportion.")


class SliceResult(Record):
    """One slice, by the same rule as the whole."""

    name: str
    outcome: Outcome
    standing: Standing | None = Field(
        description="Against the margin: `pass` as no worse, `fail` as shown to lose more, by Holm over the slices; "
        "null: there is no margin."
    )
    delta: float
    ci: Interval
    n: ItemCount
    n_clusters: int | None
    p_value: float | None
    p_adjusted: float | None = Field(description="Holm's, over the slices.")
    shown_worse: bool = Field(description="Worse, and after Holm's correction still.")


class Slices(Record):
    """Every slice beside the whole."""

    none_worse: bool | None = Field(
        description="Every slice is shown to lose less than the margin (intersection-union: no correction is "
        "needed); null: there is no margin."
    )
    outcome: Standing | None = Field(
        description="`pass`: every slice passes; `fail`: one fails; null: there is no margin."
    )
    results: tuple[SliceResult, ...]
    left_out: tuple[str, ...] = Field(description="Slices with fewer than two items or clusters.")
    reversal: Reversal = Field(
        description="Whether the arms change sides between the slices that are weighed."
    )


class ScaleTaken(Record):
    """Between what scores are taken to lie: no item can lose or gain more than from end to end."""

    low: float
    high: float
    source: Literal["declared", "binary", "unit", "observed"] = Field(
        description="`declared`; `binary`: outcomes are 0 and 1; `unit`: all lie between 0 and 1; `observed`: "
        "the least and the greatest seen. A loss beyond is not covered."
    )


class PairingSaves(Record):
    """What the same items in both arms would have saved."""

    correlation: float = Field(description="Of the arms' outcomes over items.")
    items_needed: float = Field(
        description="Items an arm that would tell as much when paired, as a share of those that unpaired arms take."
    )
    measured_on: int | None = Field(
        description="Items that are in both arms, a count; null: too few are, and .5 stands for a usual correlation."
    )


class UnpairedArms(Record):
    """Arms on items of their own."""

    n_baseline: ItemCount
    n_candidate: ItemCount
    missing_baseline: int = Field(description="Items of the baseline without a result, a count.")
    missing_candidate: int = Field(description="Items of the candidate without a result, a count.")
    covariates: tuple[str, ...] = Field(description="What the difference is adjusted by.")
    unadjusted: float | None = Field(description="Difference of the plain means; null: nothing was adjusted.")
    items_saved: float | None = Field(
        description="Share of the items that the adjustment stands for, a proportion; null: nothing was adjusted."
    )
    pairing: PairingSaves | None = Field(description="Null: outcomes do not vary.")


class Comparison(Record):
    """Two arms: what the interval carries, and no more."""

    outcome: Outcome
    headline: str = Field(description="The outcome in a line: the arms, the difference with its interval.")
    open: str = Field(description="What was not shown; empty: nothing is left to say.")
    sentence: str = Field(description="The outcome in words, with its numbers.")
    rule: str = Field(description="How the tests were chosen and what decides.")
    next: str = Field(description="What to do now.")
    status: str = Field(description="What kind of evidence this is.")
    delta: float | None = Field(description="Candidate minus baseline, a proportion or score units.")
    ci: Interval = Field(description="The interval that decides.")
    margin: float | None = Field(description="A proportion or score units.")
    prefers: Literal["higher", "lower"] = Field(
        description="Which outcomes are the better ones. Where lower are, below is meant by above and above by below."
    )
    better: bool = Field(description="The interval lies above 0 and the test agrees.")
    no_worse: bool | None = Field(description="It lies above -margin; null: there is no margin.")
    worse: bool = Field(description="It lies below 0 and the test agrees.")
    binary: bool = Field(description="Every outcome is 0 or 1.")
    scale: ScaleTaken | None = Field(
        None, description="Between what scores are taken to lie; null: nothing tells."
    )
    points: bool = Field(description="Differences are of proportions, and told in percentage points.")
    baseline_mean: float | None
    candidate_mean: float | None
    n: int = Field(description="Items in both arms, a count.")
    n_clusters: int | None
    unit: Unit = Field(description="What is independent.")
    tests: tuple[TestRun, ...]
    min_attainable_p: float | None = Field(description="The least p that the exact test could give here.")
    more: tuple[More, ...]
    unpaired: Unpaired
    arms: UnpairedArms | None = Field(
        None, description="Of arms on items of their own; null: they are paired by id."
    )
    slices: Slices | None = None
    suite: SuiteFacts | None = Field(
        None,
        description="The tasks, where items have any: `delta` and the means are then those of the suite.",
    )
    reasons: Reasons = Field(
        description="Null fields and why; `outcome`: why a claim that the pairs would carry does not stand."
    )
    warnings: tuple[StatWarning, ...]
