"""A judge's errors: the difference corrected by the items that people labelled as well.

A judge of sensitivity se and specificity sp calls q = se p + (1 - sp)(1 - p) of the items right where
p are. So p = (q + sp - 1) / (se + sp - 1) (Rogan & Gladen 1978), each arm with the se and sp that its
own labelled items show. An error that is alike in both arms shrinks their difference by se + sp - 1,
and so makes them look equivalent. The labelled items are taken to be a random part of all.

The interval is the delta method's: what every item adds to q, se and sp of both arms is summed item by
item (or cluster by cluster), which keeps the pairing. The errors of se and sp are taken around
estimates with one right and one wrong label added (Lang & Reiczigel 2014), so that an audit without a
single error is not taken for a perfect judge.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from service.domain.plans.manifest import Manifest
from service.domain.plans.plan import Plan
from service.domain.plans.sections.endpoint import Endpoint
from service.domain.plans.sections.hypothesis import Hypothesis
from service.domain.plans.sections.labels import SUFFIX
from service.domain.verdicts.outcomes import OK, Outcomes
from service.domain.verdicts.parts import AuditedArm, JudgeNoise, Span
from service.kernels.numeric.clusters import codes_of
from service.kernels.numeric.t_distribution import t_quantile
from service.words import say

LEVEL = 0.95
FEWEST = 10
"""Right items, and wrong ones, that people must have labelled in each arm."""

NOT_AUDITED = (
    "JUDGE_NOT_AUDITED: a model scores '{endpoint}', and no items were labelled by people. Its errors shrink "
    "the difference by sensitivity + specificity - 1, which can pass for equivalence: add a secondary endpoint "
    "'{endpoint}.audit' with people's labels on a random subset"
)


def audit_of(plan: Plan, endpoint: Endpoint) -> Endpoint | None:
    """Return the endpoint with people's labels for a judged one: the one named `<endpoint>.audit`."""
    return plan.endpoint(endpoint.id + SUFFIX)


def judge_noise(
    plan: Plan, hypothesis: Hypothesis, manifest: Manifest, outcomes: Outcomes
) -> JudgeNoise | None:
    """Return the corrected difference of a hypothesis; None where nobody judges or audits its endpoint."""
    endpoint = plan.endpoint(hypothesis.endpoint)
    if endpoint is None:
        return None
    audit = audit_of(plan, endpoint)
    arms = hypothesis.arms
    if audit is None or not plan.measures(audit, hypothesis.population):
        if endpoint.judge is None:
            return None
        return _without(None, NOT_AUDITED.format(endpoint=endpoint.id), None)
    if endpoint.kind != "binary" or audit.kind != "binary" or endpoint.replicates + audit.replicates != 2:
        return _without(audit.id, None, "the correction is for right and wrong, one result per item")
    if plan.suite(hypothesis.population) is not None:
        return _without(audit.id, None, say("reasons.judge_of_suite"))
    if len(arms) < 2:
        return _without(audit.id, None, say("reasons.judge_of_one_arm"))
    cells = [
        outcomes.cells.get((hypothesis.population, arm, measured.id))
        for measured in (endpoint, audit)
        for arm in arms
    ]
    known = [cell for cell in cells if cell is not None]
    if len(known) < len(cells):
        return _without(audit.id, None, "there are no results of the labels")
    judged, labelled = known[:2], known[2:]
    usable = np.all([cell.statuses[:, 0] == OK for cell in judged], axis=0)
    usable &= outcomes.counting(hypothesis.population, manifest.n)
    n = int(np.count_nonzero(usable))
    if n < 2:
        return _without(audit.id, None, "fewer than two items have a result in both arms")
    both = [
        _Arm(
            name,
            cell.values[usable, 0],
            np.where(label.statuses[usable, 0] == OK, label.values[usable, 0], np.nan),
        )
        for name, cell, label in zip(arms, judged, labelled, strict=True)
    ]
    raw = both[1].rate - both[0].rate
    reason = next((why for arm in both if (why := arm.refusal)), None)
    corrected, ci = None, None
    if reason is None:
        clusters = None
        if (population := plan.population(hypothesis.population)) and population.clusters is not None:
            clusters = manifest.clusters
        codes = np.arange(n) if clusters is None else codes_of([clusters[i] for i in np.flatnonzero(usable)])
        corrected = both[1].corrected - both[0].corrected
        ci, reason = _interval(both, corrected, codes)
    return JudgeNoise(
        audit=audit.id,
        arms=tuple(arm.record for arm in both),
        delta=raw,
        corrected_delta=corrected,
        ci=ci,
        level=LEVEL,
        reason=reason,
    )


@dataclass(frozen=True, slots=True)
class _Arm:
    """Values (n,) by the judge and labels (n,) by people, NaN where nobody looked."""

    name: str
    values: NDArray[np.float64]
    labels: NDArray[np.float64]

    @property
    def rate(self) -> float:
        return float(self.values.mean())

    def agreed(self, label: int) -> tuple[int, int]:
        """Return how many items with that label the judge gives it too, and how many there are."""
        with_it = self.labels == label
        return int(np.count_nonzero(self.values[with_it] == label)), int(np.count_nonzero(with_it))

    def share(self, label: int) -> float | None:
        """Sensitivity (1) or specificity (0)."""
        hits, n = self.agreed(label)
        return hits / n if n else None

    @property
    def youden(self) -> float:
        """Sensitivity + specificity - 1."""
        return (self.share(1) or 0.0) + (self.share(0) or 0.0) - 1

    @property
    def corrected(self) -> float:
        # Rogan & Gladen (1978): p = (q + sp - 1) / (se + sp - 1).
        return (self.rate + (self.share(0) or 0.0) - 1) / self.youden

    @property
    def refusal(self) -> str | None:
        """Why the arm's rate cannot be corrected."""
        (_, right), (_, wrong) = self.agreed(1), self.agreed(0)
        if min(right, wrong) < FEWEST:
            return (
                f"people found {right} right and {wrong} wrong items among those labelled of '{self.name}', and "
                f"the correction needs {FEWEST} of each"
            )
        error = math.sqrt(sum(_smooth(*self.agreed(label))[1] for label in (0, 1)))
        # J within two standard errors of 0 is a coin's: dividing by it says nothing.
        if self.youden <= 2 * error:
            return f"the labels do not tell the judge of '{self.name}' from a coin"
        return None

    def influence(self) -> NDArray[np.float64]:
        """Return what every item adds to the error of the corrected rate, times n. Shape (n,)."""
        n, p = len(self.values), self.corrected
        added = self.values - self.rate
        # dp/dq = 1 / J, dp/dse = -p / J, dp/dsp = (1 - p) / J with J = se + sp - 1.
        for label, weight in ((1, -p), (0, 1 - p)):
            with_it = self.labels == label
            share = _smooth(*self.agreed(label))[0]
            hit = (self.values == label).astype(np.float64)
            added = added + np.where(with_it, weight * (hit - share) * n / with_it.sum(), 0.0)
        return np.asarray(added / self.youden)

    @property
    def record(self) -> AuditedArm:
        refused = self.refusal is not None
        (_, right), (_, wrong) = self.agreed(1), self.agreed(0)
        return AuditedArm(
            arm=self.name,
            audited=right + wrong,
            positives=right,
            sensitivity=self.share(1),
            specificity=self.share(0),
            rate=self.rate,
            corrected_rate=None if refused else min(max(self.corrected, 0.0), 1.0),
        )


def _interval(arms: list[_Arm], corrected: float, codes: NDArray[np.int64]) -> tuple[Span | None, str | None]:
    """Return the t interval of the corrected difference, by clusters (codes, (n,)), or why there is none."""
    sums = np.bincount(codes, weights=arms[1].influence() - arms[0].influence())
    g, n = len(sums), len(codes)
    if g < 2:
        return None, "an interval needs two clusters"
    # one label seldom decides a share: as many degrees of freedom as the rarest kind of label has
    fewest = min(arm.agreed(label)[1] for arm in arms for label in (0, 1))
    # Influences are times n; g / (g - 1) as in CR1, one item being its own cluster where there are none.
    half = t_quantile(0.5 + LEVEL / 2, min(g, fewest) - 1) * math.sqrt(g / (g - 1) * float(sums @ sums)) / n
    return Span(low=max(corrected - half, -1.0), high=min(corrected + half, 1.0)), None


def _smooth(hits: int, n: int) -> tuple[float, float]:
    """Return a share with one hit and one miss added, and the variance of that share."""
    share = (hits + 1) / (n + 2)
    return share, share * (1 - share) / (n + 2)


def _without(audit: str | None, advice: str | None, reason: str | None) -> JudgeNoise:
    """Return the reading of a judge whose errors are not corrected, with the reason."""
    return JudgeNoise(
        audit=audit,
        arms=(),
        delta=None,
        corrected_delta=None,
        ci=None,
        level=LEVEL,
        reason=reason or "no items were labelled by people",
        advice=advice,
    )
