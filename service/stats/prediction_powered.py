"""A mean or a paired difference from few labels by people and many scores by a judge."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, model_validator

from service.errors import InvalidData
from service.kernels.effects.prediction_powered import Powered, estimate_powered, share_ends
from service.kernels.numeric.clusters import codes_of
from service.kernels.numeric.moments import binary_unit, difference_noise, paired_differences
from service.kernels.numeric.t_distribution import t_quantile, t_tail
from service.kernels.planning.labelled_pairs import PoweredSets, powered_interval, powered_p, powered_sets
from service.stats.shared.data.clustering import NO_CLUSTERS
from service.stats.shared.data.pairs import apply_floor
from service.stats.shared.data.score_range import lies_in_unit
from service.stats.shared.declaring import shows
from service.stats.shared.declaring.columns import is_binary, require_equal_lengths, require_size
from service.stats.shared.declaring.common import Analysis, Column, Interval, Labels, Request, StatWarning
from service.stats.shared.declaring.fields import Alpha, LevelOfAll
from service.stats.shared.declaring.one_arm import OneArmSets
from service.stats.shared.declaring.plan_use import PlanUse, Spoken
from service.stats.shared.declaring.registry import stat_test
from service.stats.shared.declaring.sentences import decision, difference_of, level_text
from service.stats.shared.declaring.simulated import FieldRequest, Floats, Simulated, Units
from service.stats.shared.declaring.warnings import define
from service.words import Value, message, speak

FEWEST = 30

FEW_LABELS = define("FEW_LABELS", "caution", "Angelopoulos, Duchi & Zrnic (2023), arXiv:2311.01453")
JUDGE_UNUSED = define("JUDGE_UNUSED", "info", "Angelopoulos, Duchi & Zrnic (2023), arXiv:2311.01453")


class LabelledArm(Request):
    """One arm: labels and scores of the labelled items, scores of the others."""

    people: Column = Field(description="People's labels, one per labelled item, score units.")
    judge: Column = Field(description="The judge's scores of the same items, same order, score units.")
    unlabelled: Column = Field(description="The judge's scores of items that nobody labelled, score units.")


class PredictionPoweredRequest(Request):
    """One arm for its mean, or two on the same items for their difference."""

    candidate: LabelledArm = Field(description="The arm; with `baseline`, the difference from it.")
    baseline: LabelledArm | None = Field(None, description="A second arm on the same items, same order.")
    clusters: Labels | None = Field(None, description="Cluster of each labelled item, same order.")
    clusters_unlabelled: Labels | None = Field(
        None, description="Cluster of each unlabelled item, same order; the same label is the same cluster."
    )
    weight: float | None = Field(
        None,
        ge=0,
        le=1,
        allow_inf_nan=False,
        description="Weight of the judge (lambda), from 0, labels alone, to 1; null: tuned for the least variance.",
    )
    ends: Literal["t", "share"] = Field(
        "t",
        description="How the intervals end. `t`: Student's. `share`: of one arm whose labels are 0 or 1, with what few "
        "labels of the rarer kind leave open, for claims that err on one side.",
    )
    level: LevelOfAll = 0.95
    alpha: Alpha = 0.05

    @model_validator(mode="after")
    def _require_usable(self) -> Self:
        """Refuse columns of other lengths, single items or clusters, and clusters of one kind of items alone."""
        labelled: dict[str, list[float] | Labels] = {}
        others: dict[str, list[float] | Labels] = {}
        for name, arm in (("candidate", self.candidate), ("baseline", self.baseline)):
            if arm is not None:
                labelled |= {f"{name}.people": arm.people, f"{name}.judge": arm.judge}
                others[f"{name}.unlabelled"] = arm.unlabelled
        if (self.clusters is None) != (self.clusters_unlabelled is None):
            raise InvalidData.field(
                "clusters", "belong to labelled and unlabelled items alike", "send both columns or neither"
            )
        if self.clusters is not None and self.clusters_unlabelled is not None:
            labelled["clusters"], others["clusters_unlabelled"] = self.clusters, self.clusters_unlabelled
        for columns in (labelled, others):
            require_equal_lengths(dict(columns))
            first = next(iter(columns))
            if len(columns[first]) < 2:
                raise InvalidData.field(first, "holds a single item", "send two items or more")
        if self.clusters is not None and len(set(self.clusters)) < 2:
            raise InvalidData.field(
                "clusters", "hold a single cluster", "label items of two clusters or more"
            )
        self._require_share()
        return self

    def _require_share(self) -> None:
        """Refuse what no such end is known of."""
        arm = self.candidate
        scores = np.array([*arm.judge, *arm.unlabelled], dtype=np.float64)
        if self.ends == "t" or (
            self.baseline is None
            and self.clusters is None
            and is_binary(np.array(arm.people))
            and lies_in_unit(scores)
        ):
            return
        raise InvalidData.field(
            "ends",
            "are those of a share: labels of 0 and 1 of one arm without clusters, with scores from 0 to 1",
            "leave it out: the intervals are Student's then",
        )

    def columns(self) -> tuple[list[NDArray[np.float64]], float]:
        """Return people's labels (n,), the judge's (n,), and the judge's of the others (N,); differences for two arms.

        And what rounding can make of one.
        """
        columns, noise = [], 0.0
        for name in ("people", "judge", "unlabelled"):
            column = np.array(getattr(self.candidate, name), dtype=np.float64)
            require_size(column, f"candidate.{name}")
            if self.baseline is not None:
                other = np.array(getattr(self.baseline, name), dtype=np.float64)
                require_size(other, f"baseline.{name}")
                noise = max(noise, difference_noise(other, column))
                column = paired_differences(other, column)
            columns.append(column)
        return columns, noise


class PredictionPoweredAnalysis(Analysis):
    """The estimate with the judge's help, and beside it what labels alone and the judge alone say."""

    estimate: float = Field(description="Mean of the candidate, or candidate minus baseline, score units.")
    delta: float | None = Field(description="The same of two arms; null for a mean.")
    ci: Interval = Field(description="Interval of the estimate, score units.")
    se: float = Field(description="Standard error of the estimate, score units.")
    df: float = Field(description="Degrees of freedom of the interval.")
    p_value: float | None = Field(description="Two-sided, of a difference of 0; null for a mean.")
    weight: float = Field(description="Weight of the judge (lambda), 0 to 1.")
    tuned: bool = Field(description="True: the weight was tuned on these data.")
    labels_alone: float = Field(description="The estimate from people's labels alone, score units.")
    labels_ci: Interval = Field(description="Its interval, score units.")
    judge_alone: float = Field(description="What the judge says of all items, score units; biased as it is.")
    judge_bias: float = Field(description="Judge minus people on the labelled items, score units.")
    worth: float | None = Field(
        description="How many labels alone would give this variance, over those there are, a ratio."
    )
    n_labelled: int = Field(description="Items with labels, a count.")
    n_unlabelled: int = Field(description="Items that the judge alone scored, a count.")
    n_clusters: int | None = Field(description="Clusters with labelled items, a count.")


SHOWS: shows.Shows = {
    "ci": shows.Covers(shows.by_level, around=False),
    "labels_ci": shows.Covers(shows.by_level, around=False),
    "p_value": shows.PValue(shows.either_side, fixes=lambda _: False, lean=("estimate",)),
    **shows.no_meaning(
        "estimate",
        "delta",
        "se",
        "df",
        "weight",
        "tuned",
        "labels_alone",
        "judge_alone",
        "judge_bias",
        "worth",
    ),
}
"""All of it is about what people would say of all items: what the judge says of them may have the other sign."""


def _simulate(units: Units, request: FieldRequest, path: shows.Path) -> Floats | tuple[Floats, Floats] | None:
    """Return a field on simulated independent items, from the moments of their labels and scores."""
    if units.labelled is None or units.clustered:
        return None
    sets = powered_sets(units.labelled, request.parameter("weight"))
    if path in (("estimate",), ("delta",)):
        return sets.estimate
    if path == ("ci",):
        return powered_interval(sets, request.level)
    if path == ("labels_ci",):
        return powered_interval(powered_sets(units.labelled, 0.0), request.level)
    return powered_p(sets) if path == ("p_value",) else None


def _of_sets(sets: OneArmSets, parameter: shows.Parameter, path: shows.Path, _limit: float) -> Floats | None:
    """Return a field on one arm's independent items, right or wrong, from the moments of their labels and scores."""
    labelled = sets.labelled
    if labelled is None:
        return None
    alone = path[0] == "labels_ci"
    used = 0.0 if alone else parameter("weight")
    made: PoweredSets = sets.once(("prediction-powered", used), lambda: powered_sets(labelled, used))
    match path:
        case ("estimate",):
            return made.estimate
        case ("ci" | "labels_ci", ("low" | "high") as end):
            right = np.round(labelled.people * labelled.n)
            tail = shows.by_level(parameter)
            return share_ends(made.estimate, made.se, made.df, made.weight, right, labelled.n, tail)[
                end == "high"
            ]
        case _:
            return None


def _of_reference(_value: float, _good: shows.Side, _binary: bool) -> dict[str, Any]:
    return {"ends": "share"}  # a claim errs on one side


def _estimate_cost(request: PredictionPoweredRequest) -> float:
    return 0.001 + 1e-6 * (len(request.candidate.people) + len(request.candidate.unlabelled))


@stat_test(
    name="prediction-powered",
    version=1,
    title="Prediction-powered mean or difference (people's labels and a judge)",
    asked="judges",
    example={
        "candidate": {
            "people": [1, 1, 0, 1, 0, 1, 1, 0],
            "judge": [1, 1, 0, 1, 1, 1, 1, 0],
            "unlabelled": [1, 0, 1, 1, 1, 0, 1, 1, 1, 0, 1, 0, 1, 1, 1, 0],
        }
    },
    cost=_estimate_cost,
    closed_form=True,
    plan=PlanUse(
        endpoints=frozenset({"binary", "continuous"}),
        clusters="when_planned",
        shows=SHOWS,
        effect=lambda _parameter: shows.Effect("labelled_means"),
        labels=True,
        arms="either",
        of_two_arms=frozenset({"p_value", "delta"}),
        of_reference=_of_reference,
        of_sets=_of_sets,
        fills=frozenset({"clusters_unlabelled", "ends"}),
        simulated=Simulated(_simulate),
        spoken=Spoken(
            "prediction-powered",
            r"prediction[- ]powered|ppi\+\+|预测增强|预测驱动",
            "ppi",
            frozenset({False, True}),
            rank=9,
        ),
        clause="ci.low > 0",
    ),
)
def prediction_powered(request: PredictionPoweredRequest) -> PredictionPoweredAnalysis:
    """Estimate what people would say of all items from labels on some of them and a judge's scores on all.

    The labelled items are a random part of all. estimate = mean(people) + lambda (mean of the judge's scores of the
    unlabelled - mean of its scores of the labelled): unbiased for every lambda, however wrong the judge is. H0, for two
    arms: the difference is 0. Lambda is tuned to the least variance and kept within 0 and 1.

    Returns:
        estimate, delta, ci: t interval, variance var(people - lambda judge)/n + lambda^2 var(judge)/N with Welch's
            degrees of freedom; with clusters the sum of what each cluster adds (CR1, clusters with labels less one).
        labels_alone: lambda 0, the classical interval.
        worth: variance of the labels alone over that of the estimate.

    Raises:
        InvalidData: fewer than two labelled or unlabelled items, columns of different length, clusters for one part.

    Edge cases:
        A judge that does not vary, or goes against the labels: lambda 0, warning JUDGE_UNUSED.
        Nothing varies, but for rounding: interval, p and worth null. Labels that do not vary: `labels_ci` null.
        Fewer than 30 labelled items or clusters: FEW_LABELS.
        `ends` share: each half is longer by (2 t^2 + 1)/6 (1 + lambda)/n, with degrees of freedom of twice the rarer
            labels at most; labels that are all alike leave Clopper and Pearson's limits of the labels.

    Sources:
        Johnson (1978), J Am Stat Assoc 73:536; Hall (1992), J R Stat Soc B 54:221 (`ends` share).
        Angelopoulos, Bates, Fannjiang, Jordan & Zrnic (2023), Science 382:669.
        Angelopoulos, Duchi & Zrnic (2023), arXiv:2311.01453 (PPI++).

    Example:
        Eight labels with mean .625, of which the judge differs on one: it says .75 there and .688 of 16
        others, so lambda .543 takes the estimate to .591.
    """
    columns, noise = request.columns()
    # Computed in units of a power of two near the data: exact, and no square overflows or vanishes.
    size = max(binary_unit(column) for column in columns)
    people, judge, others = (column / size for column in columns)
    clusters = _number_clusters(request)
    estimate = estimate_powered(people, judge, others, request.weight, clusters, noise=noise / size)
    # lambda 0 is the classical mean of the labels.
    plain = estimate_powered(people, judge, others, 0.0, clusters, noise=noise / size)
    reasons: dict[str, str] = {}
    bounds: dict[str, str] = {}
    p, se = None, math.sqrt(estimate.variance)
    if request.baseline is None:
        reasons["p_value"] = "a mean has no difference to test: send a baseline"
        reasons["delta"] = "a mean is no difference: send a baseline"
    elif se == 0:
        reasons["p_value"] = "nothing varies"
    else:
        p = apply_floor(t_tail(estimate.estimate / se, estimate.df), "p_value", bounds)
    if se == 0:
        reasons["worth"] = "nothing varies"
    n_clusters = None if clusters is None else len(np.unique(clusters[0]))
    if n_clusters is None:
        reasons["n_clusters"] = NO_CLUSTERS
    arms = (request.candidate,) if request.baseline is None else (request.candidate, request.baseline)
    binary = all(
        is_binary(np.asarray(column)) for arm in arms for column in (arm.people, arm.judge, arm.unlabelled)
    )
    if request.ends == "share":
        ci, labels_ci = (
            _of_share(powered_, columns[0], size, request.level) for powered_ in (estimate, plain)
        )
    else:
        ci = _interval(estimate, request.level, size, "ci", reasons)
        labels_ci = _interval(plain, request.level, size, "labels_ci", reasons)
    n, many = len(people), len(others)
    return PredictionPoweredAnalysis(
        estimate=estimate.estimate * size,
        delta=None if request.baseline is None else estimate.estimate * size,
        ci=ci,
        se=se * size,
        df=estimate.df,
        p_value=p,
        weight=estimate.weight,
        tuned=request.weight is None,
        labels_alone=plain.estimate * size,
        labels_ci=labels_ci,
        judge_alone=float((judge.mean() * n + others.mean() * many) / (n + many)) * size,
        judge_bias=float(judge.mean() - people.mean()) * size,
        worth=None if se == 0 else plain.variance / estimate.variance,
        n_labelled=n,
        n_unlabelled=many,
        n_clusters=n_clusters,
        reasons=reasons,
        bounds=bounds,
        warnings=tuple(_list_warnings(request, estimate, n, n_clusters)),
        sentence=_describe(request, estimate, plain, size, ci, p, bounds, binary=binary, n=n, many=many),
    )


def _number_clusters(request: PredictionPoweredRequest) -> tuple[NDArray[np.int64], NDArray[np.int64]] | None:
    """Return the clusters of the labelled and of the unlabelled items, numbered alike; None without any."""
    if request.clusters is None or request.clusters_unlabelled is None:
        return None
    # One numbering for both parts, so that a cluster with labelled and unlabelled items is one cluster.
    both = codes_of([str(cluster) for cluster in (*request.clusters, *request.clusters_unlabelled)])
    return both[: len(request.clusters)], both[len(request.clusters) :]


def _list_warnings(
    request: PredictionPoweredRequest, estimate: Powered, n: int, n_clusters: int | None
) -> Iterator[StatWarning]:
    """Warn of few of the `n` labelled items, or of their clusters, and of a judge whose weight came out as 0."""
    units = n if n_clusters is None else n_clusters
    if units < FEWEST:
        yield FEW_LABELS(n=units, unit="items" if n_clusters is None else "clusters")
    if request.weight is None and estimate.weight == 0:
        yield JUDGE_UNUSED()


def _interval(estimate: Powered, level: float, size: float, path: str, reasons: dict[str, str]) -> Interval:
    if estimate.variance == 0:
        reasons[f"{path}.low"] = reasons[f"{path}.high"] = "nothing varies, which is no certainty"
        return Interval(low=None, high=None, level=level, method="t")
    half = t_quantile(0.5 + level / 2, estimate.df) * math.sqrt(estimate.variance)
    ends = ((estimate.estimate + side * half) * size for side in (-1, 1))
    return Interval(low=next(ends), high=next(ends), level=level, method="t")


def _of_share(estimate: Powered, people: NDArray[np.float64], size: float, level: float) -> Interval:
    right, n = float(people.sum()), len(people)
    mean, se = estimate.estimate * size, math.sqrt(estimate.variance) * size
    numbers = np.array([[mean], [se], [estimate.df], [estimate.weight], [right]])
    low, high = share_ends(numbers[0], numbers[1], numbers[2], numbers[3], numbers[4], n, (1 - level) / 2)
    method = "clopper-pearson" if right in (0, n) or estimate.variance == 0 else "t_skewed"
    return Interval(low=float(low[0]), high=float(high[0]), level=level, method=method)


def _describe(
    request: PredictionPoweredRequest,
    estimate: Powered,
    plain: Powered,
    size: float,
    ci: Interval,
    p: float | None,
    bounds: dict[str, str],
    *,
    binary: bool,
    n: int,
    many: int,
) -> str:
    """Describe in one sentence the mean or the difference, its interval, its test, and how much the judge helped."""
    difference = request.baseline is not None

    def show(number: float) -> Value:
        return difference_of(number, binary=binary) if difference else f"{number:.4g}"

    interval = message("analyses.no_interval_nothing")
    if ci.low is not None and ci.high is not None:
        level = level_text(request.level)
        interval = message("analyses.ci", level=level, low=show(ci.low), high=show(ci.high))
    test = message("lists.stop")
    if p is not None:
        decided = decision(p, request.alpha, "analyses.no_difference", bound=bounds.get("p_value"))
        test = message("analyses.tested", decision=decided)
    return speak(
        "analyses.predicted" if difference else "analyses.predicted_mean",
        value=show(estimate.estimate * size),
        interval=interval,
        n=n,
        many=many,
        weight=float(estimate.weight),
        helped=message("analyses.helped", times=float(plain.variance / estimate.variance))
        if estimate.variance > 0
        else "",
        test=test,
    )
