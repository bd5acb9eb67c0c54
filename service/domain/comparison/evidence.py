"""Which registered tests weigh a comparison, and which of their intervals decides.

Right or wrong and independent: Tango's score interval (1998) and McNemar's exact test. Items in clusters: CR2 with
Satterthwaite degrees of freedom and sign flips of the cluster sums. Scores: the exact bootstrap, and sign flips or t.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from service.domain.comparison.pairing import Pairs
from service.domain.comparison.records import TestRun, Unit
from service.errors import InvalidData
from service.kernels.clusters import cluster_sums, codes_of
from service.kernels.flip_interval import flip_interval
from service.stats.shared import registry
from service.stats.shared.common import Interval, StatWarning
from service.stats.shared.pairs import tabulate
from service.stats.shared.registry import Service

FEW = 30
"""Clusters, or scores, below which sign flips have a say in the interval."""
MOST_SECONDS = 60.0
"""Longest computation of one test, by its estimate."""
_OF_CLUSTERS = ("FEW_CLUSTERS", "CAUTION", "UNEQUAL_CLUSTERS")
"""Warnings that say nothing where every item stands for itself."""
TIE = 1e-9
"""An interval end this close to a bound counts as equal to it."""

PAIRS_RULE = (
    "Outcomes are 0 or 1 and items are taken as independent: Tango's score interval and McNemar's exact test. Better "
    "or worse takes an interval clear of 0 and an exact p below alpha; no worse takes a low end above minus the "
    "margin, and with fewer than 10 discordant items an exact test too."
)
CLUSTERS_RULE = (
    "Items come in clusters: the CR2 interval with Satterthwaite degrees of freedom and sign flips of the cluster "
    "sums. Below 30 clusters the wider of the two intervals decides, from 30 on CR2."
)
SCORES_RULE = (
    "Outcomes are scores and items are taken as independent: the exact bootstrap beside sign flips of the differences "
    "(below 30 items) or the t interval; the wider of the two decides."
)
BOTH_DIRECTIONS = (
    " Both directions are tested, each at half of alpha; no worse is tested before better, so neither needs a "
    "correction (closed testing: Morikawa & Yoshida 1995)."
)


@dataclass(frozen=True, eq=False)
class Evidence:
    """What the tests found."""

    rule: str
    unit: Unit
    ci: Interval
    tests: tuple[TestRun, ...]
    differs: bool
    """The test of no difference rejects, where the interval does not say so itself."""

    loss_excluded: bool
    """The same of a loss of the margin."""

    se: float | None
    df: float
    units: int
    n_clusters: int | None = None
    least_p: float | None = None
    reasons: dict[str, str] = field(default_factory=dict)
    warnings: tuple[StatWarning, ...] = ()


def weigh(pairs: Pairs, margin: float | None, alpha: float) -> Evidence:
    """Run the tests that fit the pairs; two pairs at least, or the interval is without ends."""
    if pairs.clusters is not None:
        return _clusters(pairs, alpha)
    if pairs.n and pairs.binary:
        return _pairs(pairs, margin, alpha)
    return _scores(pairs, alpha)


def _pairs(pairs: Pairs, margin: float | None, alpha: float) -> Evidence:
    table = tabulate(pairs.baseline, pairs.candidate)
    counts = table.model_dump()
    exact, run = _run("fourfold", {**counts, "alpha": alpha, "level": 1 - alpha}, "exact")
    excluded = False
    warnings = exact.warnings
    if margin is not None:
        bound = {"value": margin, "unit": "proportion"}
        body = {**counts, "alpha": alpha / 2, "margin": bound, "method": "tango"}
        beside, _ = _run("margin", body, "tango")
        excluded = beside.analysis.noninferior is True
        known = {each.code for each in warnings}
        warnings += tuple(each for each in beside.warnings if each.code not in known)
    found, m = exact.analysis, table.n_discordant
    share = (m + 1) / (table.n + 2) if m == 0 else m / table.n
    return Evidence(
        rule=PAIRS_RULE + BOTH_DIRECTIONS,
        unit="items",
        ci=found.ci,
        tests=(run,),
        differs=found.p_value < alpha,
        loss_excluded=excluded,
        se=math.sqrt(max(share - table.delta**2, 0.0) / table.n) or None,
        df=max(table.n - 1, 1),
        units=table.n,
        least_p=found.min_attainable_p,
        warnings=warnings,
    )


def _clusters(pairs: Pairs, alpha: float) -> Evidence:
    labels = list(pairs.clusters or ())
    g = len(set(labels))
    if g < 2:
        why = (
            "all items are in one cluster, which says nothing about other clusters"
            if g
            else "nothing is paired"
        )
        return _nothing(CLUSTERS_RULE, "clusters", alpha, g, why)
    body = {"baseline": pairs.baseline.tolist(), "candidate": pairs.candidate.tolist(), "clusters": labels}
    return _flipped(pairs, body, labels, alpha, CLUSTERS_RULE, "clusters")


def _scores(pairs: Pairs, alpha: float) -> Evidence:
    if pairs.n < 2:
        why = "a single item is paired" if pairs.n else "nothing is paired"
        return _nothing(SCORES_RULE, "items", alpha, pairs.n, why)
    body = {"baseline": pairs.baseline.tolist(), "candidate": pairs.candidate.tolist()}
    labels = list(range(pairs.n))
    return _flipped(pairs, {**body, "clusters": labels}, labels, alpha, SCORES_RULE, "items")


def _flipped(
    pairs: Pairs, body: dict[str, Any], labels: list[Any], alpha: float, rule: str, unit: Unit
) -> Evidence:
    """By units that are independent: the clusters, or the items themselves."""
    level = {"alpha": alpha, "level": 1 - alpha}
    robust, t_run = _run("clustered", {**body, **level, "method": "cr2_t"}, "cr2_t")
    flips, flip_run = _run("clustered", {**body, **level, "method": "sign_flip"}, "sign_flip")
    groups = cluster_sums(pairs.candidate - pairs.baseline, codes_of(labels))
    units, spread = groups.n_clusters, robust.analysis.se
    rivals = [_named(robust.analysis.ci, "cr2_t" if unit == "clusters" else "t")]
    runs = [t_run, flip_run.model_copy(update={"ci": None})]
    if units < FEW:
        low, high = flip_interval(groups.sums, groups.sizes, alpha / 2)
        rivals.append(Interval(low=low, high=high, level=1 - alpha, method="sign_flip"))
        runs[1] = flip_run.model_copy(update={"ci": rivals[1]})
    if unit == "items":
        columns = {key: body[key] for key in ("baseline", "candidate")}
        resampled, run = _run("resampled", {**columns, **level, "alternative": "two-sided"}, "percentile")
        rivals = [_named(resampled.analysis.ci, "bootstrap"), rivals[-1]]
        runs.append(run)
    elif units >= FEW:
        rivals = rivals[:1]
    reasons: dict[str, str] = {}
    ci = max(rivals, key=_width)
    if spread == 0:
        ci = Interval(low=None, high=None, level=1 - alpha, method=ci.method)
        reasons["ci"] = f"the differences of the {unit} do not vary, so their spread measures nothing"
    elif ci.low is None:
        reasons["ci"] = f"{units} {unit} are too few for sign flips to reject any difference at this level"
    silent = _OF_CLUSTERS if unit == "items" else ()
    warnings = {each.code: each for each in (*robust.warnings, *flips.warnings)}
    return Evidence(
        rule=rule + BOTH_DIRECTIONS,
        unit=unit,
        ci=ci,
        tests=tuple(runs),
        differs=True,
        loss_excluded=True,
        se=spread or None,
        df=robust.analysis.ci_df,
        units=units,
        n_clusters=units if unit == "clusters" else None,
        least_p=flips.analysis.min_attainable_p,
        reasons=reasons,
        warnings=tuple(each for code, each in warnings.items() if code not in silent),
    )


def _nothing(rule: str, unit: Unit, alpha: float, units: int, why: str) -> Evidence:
    """Where nothing can be weighed."""
    ci = Interval(low=None, high=None, level=1 - alpha, method="none")
    clusters = units if unit == "clusters" else None
    return Evidence(
        rule + BOTH_DIRECTIONS, unit, ci, (), False, False, None, 1.0, units, clusters, None, {"ci": why}
    )


def _run(service: Service, body: dict[str, Any], method: str) -> tuple[registry.Answer[Any], TestRun]:
    """A registered test's answer, and its line in ours."""
    test = registry.serving(service)
    request = test.request.model_validate(body)
    if test.cost(request) > MOST_SECONDS:
        raise InvalidData(
            f"{test.name} would compute for more than {MOST_SECONDS:g} seconds on these rows; send it as a test of its "
            "own, which becomes a job",
            code="too_long",
        )
    found = test.answer(request)
    p = getattr(found.analysis, "p_value", None)
    line = TestRun(
        test=found.test,
        version=found.version,
        method=method,
        p_value=p,
        bound=found.analysis.bounds.get("p_value"),
        ci=found.analysis.ci,
    )
    return found, line


def _named(ci: Interval, method: str) -> Interval:
    return ci.model_copy(update={"method": method})


def _width(ci: Interval) -> float:
    return math.inf if ci.low is None or ci.high is None else ci.high - ci.low


def mean(values: np.ndarray[Any, np.dtype[np.float64]]) -> float | None:
    """Of a column; None of an empty one."""
    return float(values.mean()) if len(values) else None
