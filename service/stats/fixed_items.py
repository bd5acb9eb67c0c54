"""Two arms, or one, on these very items: of them runs alone vary, and the error is that of repeats."""

from __future__ import annotations

from functools import cached_property
from typing import ClassVar, Literal, Self

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, model_validator

from service.errors import InvalidData
from service.kernels.repeats.fixed_items import RunSets, cells_of
from service.stats.shared.data.arms import Replicates
from service.stats.shared.data.clustering import LEAST_DF, LOW_DF
from service.stats.shared.data.pairs import floored
from service.stats.shared.data.score_range import UNIT, RangeField, ScoreRange, lies_in_unit
from service.stats.shared.declaring import shows
from service.stats.shared.declaring.columns import is_binary, require_equal_lengths, require_size
from service.stats.shared.declaring.common import Alternative, Analysis, Interval, Request, StatWarning
from service.stats.shared.declaring.fields import Alpha, Clusters, ItemCount, LevelOfAll
from service.stats.shared.declaring.plan_use import PlanUse
from service.stats.shared.declaring.registry import stat_test
from service.stats.shared.declaring.sentences import (
    ci_of,
    decision,
    difference_of,
    level_text,
    sided,
)
from service.stats.shared.declaring.warnings import define
from service.words import Value, message, speak

SEEN_RANGE = define(
    "SEEN_RANGE",
    "caution",
    "Johnson (1978), J Am Stat Assoc 73:536",
)
ALIKE = "no run differs from another of its item, and no range is known that could bound what was not seen"


class FixedItemsRequest(Request):
    """Two arms on the same items, or one arm, with two runs or more of every item."""

    elsewhere: ClassVar = {"threshold": "one-sample-mean", "margin": "equivalence"}

    baseline: Replicates | None = Field(
        None,
        description="Baseline arm: a list per item with the outcomes of its runs; leave it out for one arm.",
    )
    candidate: Replicates | None = Field(
        None, description="Candidate arm: the same, same order of items; numbers of runs may differ."
    )
    values: Replicates | None = Field(
        None, description="One arm: a list per item with the outcomes of its runs."
    )
    clusters: Clusters = None
    range: RangeField = None
    alternative: Alternative = "two-sided"
    alpha: Alpha = 0.05
    level: LevelOfAll = 0.95

    @model_validator(mode="after")
    def _usable(self) -> Self:
        arms = {"values": self.values, "baseline": self.baseline, "candidate": self.candidate}
        sent = {name for name, arm in arms.items() if arm is not None}
        if sent not in ({"values"}, {"baseline", "candidate"}):
            raise InvalidData.field(
                "values",
                "are one arm's, and baseline and candidate two",
                "send `values`, or `baseline` and `candidate`",
            )
        require_equal_lengths({**arms, "clusters": self.clusters})
        for name, arm in arms.items():
            if arm is None:
                continue
            lone = next((item for item, runs in enumerate(arm) if len(runs) < 2), None)
            if lone is not None:
                raise InvalidData.field(
                    f"{name}.{lone}",
                    "is an item with one run, whose spread is not known",
                    "send two runs or more of every item, or speak of items like these: `repeated`",
                )
            require_size(np.array([x for runs in arm for x in runs], dtype=np.float64), name)
        if self.range is not None:
            self.range.require({name: self._flat(name) for name in sorted(sent)})
        return self

    def _flat(self, name: str) -> NDArray[np.float64]:
        return np.array([x for runs in getattr(self, name) or () for x in runs], dtype=np.float64)

    @property
    def arms(self) -> tuple[Replicates, ...]:
        """The one that was sent, or baseline and candidate."""
        if self.values is not None:
            return (self.values,)
        return (self.baseline or [], self.candidate or [])

    @cached_property
    def outcomes(self) -> NDArray[np.float64]:
        """Of all runs of all arms."""
        return np.array([x for arm in self.arms for runs in arm for x in runs], dtype=np.float64)

    @cached_property
    def known(self) -> ScoreRange | None:
        """The range that was declared, or 0 and 1 where every outcome lies between them."""
        if self.range is not None:
            return self.range
        return UNIT if lies_in_unit(self.outcomes, self.outcomes) else None

    @cached_property
    def items(self) -> RunSets:
        """What is computed with: in the range that is known, or in the one that was seen."""
        low, high = float(self.outcomes.min()), float(self.outcomes.max())
        if self.known is not None:
            low, high = self.known.low, self.known.high
        return RunSets(tuple(cells_of([np.array(runs) for runs in arm]) for arm in self.arms), low, high)


class FixedItemsAnalysis(Analysis):
    """What these items show: the mean over endless runs of them, or by how much two arms differ there."""

    delta: float | None = Field(description="Candidate minus baseline, mean over items; null of one arm.")
    mean: float | None = Field(description="Of one arm its mean over items; null of two.")
    ci: Interval = Field(description="Interval of it for these items over endless runs.")
    p_value: float | None = Field(description="Of no difference; null of one arm.")
    se: float = Field(description="Standard error that comes from runs alone, in the unit of the outcomes.")
    df: float | None = Field(
        description="Degrees of freedom; null where no run differs from another of its item."
    )
    step: float = Field(description="By how much a single run can move delta, or the mean, at most.")
    alternative: Alternative
    n: ItemCount
    n_runs: int = Field(description="Runs of all items and arms, a count.")
    n_varying: int = Field(description="Items of an arm whose runs are not all alike, a count over arms.")


SHOWS: shows.Shows = {
    "delta": shows.Estimate(),
    "mean": shows.Estimate(),
    "ci": shows.Covers(shows.by_level),
    "p_value": shows.PValue(shows.against_zero),
    **shows.no_meaning("se", "df", "step", "n_runs", "n_varying"),
}


def _of_fixed(
    items: RunSets, parameter: shows.Parameter, path: shows.Path
) -> NDArray[np.float64] | tuple[NDArray[np.float64], NDArray[np.float64]] | None:
    match path:
        case (("delta" | "mean") as name,) if (name == "delta") == (len(items.arms) == 2):
            return items.estimate
        case ("ci",):
            return items.ends((1 - float(parameter("level"))) / 2)
        case ("p_value",):
            return _p(items, parameter("alternative"))
        case _:
            return None


def _p(items: RunSets, alternative: Alternative) -> NDArray[np.float64]:
    """The p of no difference; one-sided ones above a half are not told apart."""
    above, below = items.p_above(0.0), items.p_below(0.0)
    if alternative == "two-sided":
        return np.asarray(np.minimum(2 * np.minimum(above, below), 1.0))
    return above if alternative == "greater" else below


def _cost(request: FixedItemsRequest) -> float:
    runs = sum(len(runs) * (len(arm) / len(arm[:200])) for arm in request.arms for runs in arm[:200])
    return 0.002 + 1e-6 * runs


@stat_test(
    name="fixed-items",
    version=1,
    title="These items alone (runs vary, items do not)",
    asked="runs",
    example={
        "baseline": [[1, 1, 1], [0, 0, 0], [1, 0, 1], [0, 0, 0], [1, 1, 1], [0, 1, 0]],
        "candidate": [[1, 1, 1], [1, 1, 1], [1, 1, 1], [0, 0, 1], [1, 1, 1], [1, 1, 0]],
    },
    cost=_cost,
    closed_form=True,
    plan=PlanUse(
        endpoints=frozenset({"binary", "continuous"}),
        clusters="when_planned",
        shows=SHOWS,
        takes="runs",
        arms="either",
        of_two_arms=frozenset({"p_value", "delta"}),
        takes_range=lambda _parameter: True,
        of_fixed=_of_fixed,
        clause="ci.low > 0",
    ),
)
def fixed_items(request: FixedItemsRequest) -> FixedItemsAnalysis:
    """Estimate a difference, or one arm's mean, on these very items, of which runs alone vary.

    Runs of an item and arm are independent and alike; items are what they are, and may differ as they like. H0 of
    `p_value`: over endless runs the arms have the same mean on these items. Nothing is said of other items.

    Returns:
        delta, mean: mean over items of the candidate's runs less the baseline's; of one arm its mean.
        se: sqrt(sum of s_i^2 / r_i over items and arms) / n.
        df: Satterthwaite's, and at most twice the (effective) number of items and arms whose runs differ.
        ci: delta +- (t se + (2 t^2 + 1) step / 6): the second term is what the greatest skewness that runs in this
            range can have asks of t; cut at the ends that the estimate can reach.
        p_value: the same interval turned around.

    Raises:
        InvalidData: an item with one run, arms of different length, one arm and two at once, outcomes outside the
            range.

    Edge cases:
        No run differs from another of its item: each arm by Clopper and Pearson's limits of the sum of its runs (two
            arms at half of the error each), df null; without a known range interval and p are null.
        Fewer than 4 degrees of freedom: LOW_DF. No range known: what was seen, SEEN_RANGE.
        Clusters have no say: they tell how items were drawn, which these were not.

    Sources:
        Satterthwaite (1946), Biometrics Bull 2:110. Johnson (1978), J Am Stat Assoc 73:536. Hall (1992), JRSS B 54:221.
        Hoeffding (1956), Ann Math Statist 27:713. NIST AI 800-3 (2026).

    Example:
        Six items, three runs: the candidate is right in 15 of 18 runs and the baseline in 9. Four of twelve triples
        vary, each with s^2 = 1/3, so se = sqrt(4/9)/6 = .111 on 8 df; t alone gives .333 +- .256.
    """
    items = request.items
    reasons: dict[str, str] = {}
    bounds: dict[str, str] = {}
    estimate, se = float(items.estimate[0]), float(items.se[0])
    two, varies = len(request.arms) == 2, se > 0
    low, high, p = None, None, None
    if varies or request.known is not None:
        low, high = (float(end[0]) for end in items.ends((1 - request.level) / 2))
        if two:
            p = floored(float(_p(items, request.alternative)[0]), "p_value", bounds)
    else:
        reasons |= dict.fromkeys(("ci.low", "ci.high", *(("p_value",) if two else ())), ALIKE)
    if not two:
        reasons |= dict.fromkeys(("p_value", "delta"), "one arm has no difference to test: send a baseline")
    else:
        reasons["mean"] = "two arms are compared: send one alone"
    if not varies:
        reasons["df"] = "no run differs from another of its item"
    method: Literal["t_skewed", "clopper-pearson"] = "t_skewed" if varies else "clopper-pearson"
    ci = Interval(low=low, high=high, level=request.level, method=method)
    return FixedItemsAnalysis(
        delta=estimate if two else None,
        mean=None if two else estimate,
        ci=ci,
        p_value=p,
        se=se,
        df=float(items.df[0]) if varies else None,
        step=items.step,
        alternative=request.alternative,
        n=len(request.arms[0]),
        n_runs=len(request.outcomes),
        n_varying=sum(int(np.count_nonzero(cells.variances)) for cells in items.arms),
        reasons=reasons,
        bounds=bounds,
        warnings=tuple(_warnings(request)),
        sentence=_sentence(request, estimate, ci, p, bounds),
    )


def _warnings(request: FixedItemsRequest) -> list[StatWarning]:
    warnings: list[StatWarning] = []
    if request.known is None:
        warnings.append(SEEN_RANGE())
    if request.items.se[0] > 0 and request.items.df[0] < LEAST_DF:
        warnings.append(LOW_DF(df=float(request.items.df[0])))
    return warnings


def _sentence(
    request: FixedItemsRequest, estimate: float, ci: Interval, p: float | None, bounds: dict[str, str]
) -> str:
    binary = is_binary(request.outcomes)
    interval: Value = message("analyses.no_interval_nothing")
    size = message("analyses.of_these_items", n=len(request.arms[0]), runs=len(request.outcomes))
    if len(request.arms) == 1:
        if ci.low is not None and ci.high is not None:
            low, high = (f"{end:.4g}" for end in (ci.low, ci.high))
            interval = message("analyses.ci", level=level_text(ci.level), low=low, high=high)
        return speak("analyses.mean_alone", mean=f"{estimate:.4g}", interval=interval, size=size)
    if p is None:
        return speak("analyses.fixed_alone", delta=difference_of(estimate, binary=binary), size=size)
    interval = ci_of(ci, binary=binary)
    return speak(
        "analyses.fixed_difference",
        delta=difference_of(estimate, binary=binary),
        interval=interval,
        size=size,
        alternative=sided(request.alternative),
        decision=decision(p, request.alpha, "analyses.zero_mean_difference", bound=bounds.get("p_value")),
    )
