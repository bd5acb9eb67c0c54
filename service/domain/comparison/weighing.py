"""Which registered tests weigh a comparison, and which of their intervals decides.

Right or wrong and independent: Tango's score interval (1998) and McNemar's exact test. All else: bounds that know of
losses too rare to have been seen (Gaffke 2005), in clusters beside CR2 with Satterthwaite degrees of freedom and sign
flips of the cluster sums.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np

from service.domain.comparison.pairing import Pairs
from service.domain.comparison.records import ScaleTaken, TestRun, Unit
from service.domain.comparison.request import ComparisonRequest, SuiteAsked
from service.domain.comparison.scale import in_points, margin_of, scale_of
from service.domain.comparison.suites import weigh_suite
from service.kernels.numeric.clusters import codes_of
from service.kernels.numeric.moments import paired_differences
from service.stats.shared.data.pairs import tabulate
from service.stats.shared.declaring import registry
from service.stats.shared.declaring.common import Interval, StatWarning
from service.stats.shared.declaring.fields import Unseen
from service.stats.shared.declaring.registry import Service
from service.stats.shared.methods.bounded import Bounded
from service.words import speak

_OF_CLUSTERS = ("FEW_CLUSTERS", "CAUTION", "UNEQUAL_CLUSTERS")
"""Warnings that say nothing where every item stands for itself."""
TIE = 1e-9
"""An interval end this close to a bound, in units of the largest difference there can be, counts as equal to it."""

Rule: TypeAlias = tuple[str, ...]
"""What decides: codes of sentences `comparison.rule_…`."""


@dataclass(frozen=True, slots=True)
class Weighing:
    """With what pairs are weighed: margin, level, range of outcomes, and how tasks make a suite."""

    margin: float | None
    alpha: float
    scale: ScaleTaken | None
    """Between what outcomes lie."""
    unseen: Unseen
    suite: SuiteAsked | None
    """How tasks are put together, where pairs have any."""
    points: bool
    """Differences are of shares, and said in percentage points."""

    @classmethod
    def of(cls, pairs: Pairs, request: ComparisonRequest) -> Weighing:
        """Return the weighing that a comparison asks of these outcomes.

        Raises:
            InvalidData: a margin whose unit does not fit the outcomes, or one of them outside the declared range.
        """
        rescaled = request.suite is not None and bool(request.suite.rescale)
        points = in_points(pairs, request.margin, rescaled=rescaled)
        margin = margin_of(request.margin, pairs, points=points)
        scale = scale_of(pairs, request.range)
        return cls(margin, request.alpha, scale, request.unseen, request.suite, points)

    @property
    def limit(self) -> float | None:
        """The largest difference that an item can have."""
        return None if self.scale is None else self.scale.high - self.scale.low


@dataclass(frozen=True, eq=False)
class Evidence:
    """What the tests of a comparison answered, as far as its outcome is read off it."""

    rule: Rule
    unit: Unit
    ci: Interval
    tests: tuple[TestRun, ...]
    differs: bool
    """The test of no difference rejects, where the interval does not say so itself."""

    loss_excluded: bool
    """The test of a loss of the margin rejects, where the interval does not say so itself."""

    se: float | None
    df: float
    units: int
    n_clusters: int | None = None
    least_p: float | None = None
    reasons: dict[str, str] = field(default_factory=dict)
    warnings: tuple[StatWarning, ...] = ()
    bounded: Bounded | None = None
    """What the interval rests on, where outcomes are no independent right and wrong."""
    suite: Any = None
    """The analysis of a suite, where pairs are of tasks."""

    @property
    def tie(self) -> float:
        """How close an interval end may come to a bound and still be equal to it."""
        return TIE if self.bounded is None else TIE * self.bounded.limit


def weigh(pairs: Pairs, weighing: Weighing) -> Evidence:
    """Run the tests that fit the pairs; two pairs at least, or the interval is without ends."""
    scale = weighing.scale
    if pairs.tasks is not None:
        return _suite(pairs, weighing)
    if pairs.clusters is not None:
        return _clusters(pairs, weighing)
    if pairs.n and scale is not None and scale.source == "binary":
        return _weigh_pairs(pairs, weighing.margin, weighing.alpha)
    return _scores(pairs, weighing)


def _weigh_pairs(pairs: Pairs, margin: float | None, alpha: float) -> Evidence:
    """Return the decision on right and wrong of independent pairs: McNemar's exact test and Tango's interval."""
    table = tabulate(pairs.baseline, pairs.candidate)
    counts = table.model_dump()
    exact, run = run_test("fourfold", {**counts, "alpha": alpha, "level": 1 - alpha}, "exact")
    excluded = False
    warnings = exact.warnings
    if margin is not None:
        bound = {"value": margin, "unit": "proportion"}
        body = {**counts, "alpha": alpha / 2, "margin": bound, "method": "tango"}
        beside, _ = run_test("margin", body, "tango")
        excluded = beside.analysis.noninferior is True
        known = {warning.code for warning in warnings}
        warnings += tuple(warning for warning in beside.warnings if warning.code not in known)
    analysis, m = exact.analysis, table.n_discordant
    share = (m + 1) / (table.n + 2) if m == 0 else m / table.n
    return Evidence(
        rule=("pairs", "both_directions"),
        unit="items",
        ci=analysis.ci,
        tests=(run,),
        differs=analysis.p_value < alpha,
        loss_excluded=excluded,
        se=math.sqrt(max(share - table.delta**2, 0.0) / table.n) or None,
        df=max(table.n - 1, 1),
        units=table.n,
        least_p=analysis.min_attainable_p,
        warnings=warnings,
    )


def _clusters(pairs: Pairs, weighing: Weighing) -> Evidence:
    labels = list(pairs.clusters or ())
    g = len(set(labels))
    rule = ("clusters",) if weighing.unseen == "items" else ("whole_clusters",)
    if g < 2 or weighing.scale is None:
        why = speak("comparison.one_cluster" if g else "comparison.nothing_paired")
        return nothing(rule, "clusters", weighing.alpha, g, why if g < 2 else speak("comparison.alike"))
    return _bound(pairs, labels, rule, weighing, weighing.scale)


def _scores(pairs: Pairs, weighing: Weighing) -> Evidence:
    scale = weighing.scale
    if pairs.n < 2 or scale is None:
        why = speak("comparison.single_item" if pairs.n else "comparison.nothing_paired")
        return nothing(
            ("scores",), "items", weighing.alpha, pairs.n, why if pairs.n < 2 else speak("comparison.alike")
        )
    rule = ("scores",) + (("observed",) if scale.source == "observed" else ())
    return _bound(pairs, list(range(pairs.n)), rule, weighing, scale)


def _bound(pairs: Pairs, labels: list[Any], rule: Rule, weighing: Weighing, scale: ScaleTaken) -> Evidence:
    """By bounds that know of losses too rare to be seen; beside them t and sign flips of independent units."""
    unit: Unit = "items" if pairs.clusters is None else "clusters"
    alpha = weighing.alpha
    level = {"alpha": alpha, "level": 1 - alpha}
    body = {"baseline": pairs.baseline.tolist(), "candidate": pairs.candidate.tolist()}
    whole = {} if unit == "items" else {"clusters": labels, "unseen": weighing.unseen}
    range_ = {"low": scale.low, "high": scale.high}
    answer, bounded_run = run_test(
        "bounded", {**body, **whole, **level, "range": range_}, "gaffke" if unit == "items" else "furthest"
    )
    body = {**body, "clusters": labels}
    robust, t_run = run_test("clustered", {**body, **level, "method": "cr2_t"}, "cr2_t")
    flips, flip_run = run_test("clustered", {**body, **level, "method": "sign_flip"}, "sign_flip")
    units, spread = len(set(labels)), robust.analysis.se
    reasons: dict[str, str] = {}
    ci = answer.analysis.ci
    if unit == "items" and scale.source == "observed":
        ci = furthest(ci, robust.analysis.ci)
    if unit == "clusters" and 2.0**-units >= alpha / 2:
        ci = Interval(low=None, high=None, level=1 - alpha, method=ci.method)
        reasons["ci"] = speak(f"comparison.too_few_{unit}", units=units)
    silent = _OF_CLUSTERS if unit == "items" else ("UNSEEN_CLUSTERS",)
    warnings = {warning.code: warning for warning in (*answer.warnings, *robust.warnings, *flips.warnings)}
    codes = None if pairs.clusters is None else codes_of(labels)
    difference = paired_differences(pairs.baseline, pairs.candidate)
    return Evidence(
        rule=(*rule, "both_directions"),
        unit=unit,
        ci=ci,
        tests=(bounded_run, t_run, flip_run.model_copy(update={"ci": None})),
        differs=True,
        loss_excluded=True,
        se=spread or None,
        df=robust.analysis.ci_df,
        units=units,
        n_clusters=units if unit == "clusters" else None,
        least_p=flips.analysis.min_attainable_p,
        reasons=reasons,
        warnings=tuple(warning for code, warning in warnings.items() if code not in silent),
        bounded=Bounded(difference, codes, scale.high - scale.low, weighing.unseen),
    )


def _suite(pairs: Pairs, weighing: Weighing) -> Evidence:
    """By the mean of the tasks; what it says of each stands in its analysis."""
    suite, tasks = weighing.suite, list(pairs.tasks or ())
    unit: Unit = "items" if pairs.clusters is None else "clusters"
    rule = ("new_tasks",) if suite is not None and suite.estimand == "new_tasks" else ("suite",)
    g = None if pairs.clusters is None else len(set(pairs.clusters))
    if not pairs.n or g == 1:
        why = speak("comparison.one_cluster" if g else "comparison.nothing_paired")
        return nothing(rule, unit, weighing.alpha, g or 0, why)
    scale = weighing.scale
    options: dict[str, Any] = {"alpha": weighing.alpha}
    if scale is not None and scale.source == "declared":
        options["range"] = {"low": scale.low, "high": scale.high}
    if weighing.margin is not None:
        shares = pairs.binary and not (suite is not None and suite.rescale)
        options["margin"] = {"value": weighing.margin, "unit": "proportion" if shares else "score"}
    columns = {"baseline": pairs.baseline.tolist(), "candidate": pairs.candidate.tolist()}
    answer = weigh_suite(columns, tasks, pairs.clusters, suite, options)
    analysis = answer.analysis
    ci = analysis.ci or Interval(low=None, high=None, level=1 - weighing.alpha, method="none")
    run = TestRun(
        test=answer.test,
        version=answer.version,
        method=ci.method,
        p_value=analysis.p_value,
        bound=analysis.bounds.get("p_value"),
        ci=analysis.ci,
    )
    return Evidence(
        rule=(*rule, "both_directions"),
        unit=unit,
        ci=ci,
        tests=(run,),
        differs=True,
        loss_excluded=True,
        se=analysis.se or None,
        df=analysis.df or 1.0,
        units=pairs.n if g is None else g,
        n_clusters=g,
        reasons={"ci": analysis.reasons["ci"]} if analysis.ci is None else {},
        warnings=answer.warnings,
        suite=analysis,
    )


def delta_of(pairs: Pairs, evidence: Evidence) -> float | None:
    """Return candidate minus baseline: of the suite, else of the items; None where nothing is paired."""
    if evidence.suite is not None:
        return float(evidence.suite.estimate)
    return float((pairs.candidate - pairs.baseline).mean()) if pairs.n else None


def furthest(one: Interval, other: Interval) -> Interval:
    """Return each end as the further of two; one without ends has none to add."""
    if one.low is None or one.high is None or other.low is None or other.high is None:
        return one
    ends = {"low": min(one.low, other.low), "high": max(one.high, other.high)}
    return one.model_copy(update={**ends, "method": "furthest"})


def nothing(rule: Rule, unit: Unit, alpha: float, units: int, why: str) -> Evidence:
    """Return the evidence of data that decide nothing, with the reason."""
    ci = Interval(low=None, high=None, level=1 - alpha, method="none")
    clusters = units if unit == "clusters" else None
    return Evidence(
        (*rule, "both_directions"), unit, ci, (), False, False, None, 1.0, units, clusters, None, {"ci": why}
    )


def run_test(service: Service, body: dict[str, Any], method: str) -> tuple[registry.Answer[Any], TestRun]:
    """Return a registered test's answer, and its line in ours."""
    test = registry.serving(service)
    answer = test.answer(test.request.model_validate(body), most_seconds=registry.MOST_SECONDS_BESIDE)
    p = getattr(answer.analysis, "p_value", None)
    line = TestRun(
        test=answer.test,
        version=answer.version,
        method=method,
        p_value=p,
        bound=answer.analysis.bounds.get("p_value"),
        ci=answer.analysis.ci,
    )
    return answer, line


def mean(values: np.ndarray[Any, np.dtype[np.float64]]) -> float | None:
    """Return the mean of a column; None of an empty one."""
    return float(values.mean()) if len(values) else None


def reasons_of_nulls(evidence: Evidence, weighing: Weighing) -> dict[str, str]:
    """Say why fields of a comparison are null, by field: those that pairs and unpaired arms have alike."""
    reasons: dict[str, str] = {}
    if weighing.margin is None:
        reasons["margin"] = reasons["no_worse"] = "no margin was given"
    if weighing.scale is None:
        reasons["scale"] = "nothing tells how far scores can lie apart"
    if evidence.least_p is None:
        reasons["min_attainable_p"] = "no exact test was run"
    if evidence.n_clusters is None:
        reasons["n_clusters"] = "no clusters were given"
    return reasons
