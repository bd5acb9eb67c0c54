"""Power under a pilot: the caller's columns, what they say of spread, correlation and missing results, and no more.

Nothing of a pilot is kept. Its difference is not taken for the true one: that of a small study is too noisy,
and of one that led to a larger study too large.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray
from pydantic import Field
from scipy import special

from service.domain.faults import Faults
from service.domain.plans.plan import Plan
from service.domain.plans.sections.assumptions import Assumed, Assumptions, MissingByArm
from service.domain.plans.sections.endpoint import MAX_LIST, Endpoint
from service.domain.plans.sections.hypothesis import Hypothesis
from service.domain.plans.strings import Name, Token
from service.errors import InvalidData
from service.kernels.numeric.clusters import codes_of
from service.records import Record, StrictRecord
from service.stats.shared.declaring.common import MAX_ITEMS, Finite

LEVEL = 0.8
"""Of the one-sided bounds that stand in for estimates of spread: small pilots underestimate it."""

LEAST_PAIRS, LEAST_FOR_SHAPE = 5, 50
"""Pairs of a pilot, and of one whose differences show their shape: fewer often hold none of what is rare."""

Values = Annotated[tuple[Finite | None, ...], Field(min_length=1, max_length=MAX_ITEMS)]
Floats = NDArray[np.float64]


class PowerPilot(StrictRecord):
    """Two arms on the same pilot items, which are not the plan's. It serves every hypothesis that it fits."""

    hypothesis: Name | None = Field(None, description="The one hypothesis it is for; null: all that fit.")
    population: Token | None = Field(None, description="Only hypotheses on this population.")
    endpoint: Token | None = Field(None, description="Only hypotheses on this endpoint.")
    baseline: Values = Field(description="One value per item; null: missing.")
    candidate: Values = Field(description="The same items in the same order.")
    clusters: tuple[Annotated[str, Field(min_length=1, max_length=512)], ...] | None = Field(
        None, max_length=MAX_ITEMS, description="Each item's cluster."
    )


class LintRequest(StrictRecord):
    """Nothing, or pilot data that power is to rest on."""

    pilot: tuple[PowerPilot, ...] | None = Field(
        None, min_length=1, max_length=MAX_LIST, description="Used for this answer and not stored."
    )


class Estimate(Record):
    """An estimate, and the upper end of its one-sided 80 % interval."""

    estimate: float
    upper: float | None = Field(None, description="Null where it cannot be told.")


class PilotEstimates(Record):
    """What a pilot says."""

    hypotheses: tuple[str, ...] = Field(description="Whose power rests on it.")
    n: int = Field(description="Items.")
    n_pairs: int = Field(description="Items with both results.")
    n_clusters: int | None = None
    delta: float = Field(description="Candidate minus baseline; not taken for the true difference.")
    discordance: Estimate | None = Field(
        None, description="Share of items on which the arms differ (binary)."
    )
    sd: Estimate = Field(description="Of the item differences, outcome units.")
    icc: Estimate | None = Field(None, description="Of the item differences, by one-way ANOVA; at least 0.")
    missing: MissingByArm
    baseline_mean: float
    source: str


def with_pilot(plan: Plan, pilots: Sequence[PowerPilot]) -> tuple[Plan, tuple[PilotEstimates, ...]]:
    """Return the plan with what the pilots say in its assumptions, and what that is.

    Raises:
        InvalidData: naming what of the pilot cannot be used.
    """
    faults = Faults()
    served = _match_hypotheses(plan, pilots, faults)
    for index, (pilot, hypotheses) in enumerate(zip(pilots, served, strict=True)):
        _check_pilot(plan, pilot, hypotheses, f"pilot[{index}]", faults)
    faults.raise_if_any()
    estimates = tuple(
        _estimate_pilot(plan, pilot, hypotheses) for pilot, hypotheses in zip(pilots, served, strict=True)
    )
    stated = plan.assumptions or Assumptions()
    names = {hypothesis.id for hypothesis in plan.hypotheses or ()}
    if len(estimates) == 1 and set(estimates[0].hypotheses) == names:
        update: dict[str, Any] = _assume(estimates[0], plan)
        own = {name: _without(assumed, update) for name, assumed in (stated.hypotheses or {}).items()}
        assumptions = {name: assumed for name, assumed in own.items() if assumed != Assumed()}
        return _with(plan, stated.model_copy(update={**update, "hypotheses": assumptions or None})), estimates
    by_hypothesis = dict(stated.hypotheses or {})
    for one in estimates:
        for name in one.hypotheses:
            by_hypothesis[name] = by_hypothesis.get(name, Assumed()).model_copy(update=_assume(one, plan))
    return _with(plan, stated.model_copy(update={"hypotheses": by_hypothesis})), estimates


def differences_of(
    pilots: Sequence[PowerPilot], estimates: Sequence[PilotEstimates]
) -> dict[str, tuple[float, ...]]:
    """Return the differences of scores by hypothesis, in whose shape levels are told, of pilots large enough."""
    shapes: dict[str, tuple[float, ...]] = {}
    for pilot, estimate in zip(pilots, estimates, strict=True):
        if estimate.discordance is None and estimate.n_pairs >= LEAST_FOR_SHAPE:
            pairs = zip(pilot.baseline, pilot.candidate, strict=True)
            differences = tuple(
                after - before for before, after in pairs if before is not None and after is not None
            )
            shapes |= dict.fromkeys(estimate.hypotheses, differences)
    return shapes


def _with(plan: Plan, assumptions: Assumptions) -> Plan:
    return plan.model_copy(update={"assumptions": assumptions})


def _without(assumed: Assumed, update: dict[str, Any]) -> Assumed:
    """What is assumed of one hypothesis less what a pilot says of all, which would otherwise stay hidden by it."""
    return assumed.model_copy(update=dict.fromkeys(update))


def _match_hypotheses(plan: Plan, pilots: Sequence[PowerPilot], faults: Faults) -> list[list[Hypothesis]]:
    """Return the hypotheses that every pilot is for; a pilot for none, and a hypothesis of two pilots, are faults."""
    taken: dict[str, int] = {}
    served = []
    for index, pilot in enumerate(pilots):
        fits = [
            hypothesis
            for hypothesis in plan.hypotheses or ()
            if pilot.hypothesis in (None, hypothesis.id)
            and pilot.population in (None, hypothesis.population)
            and pilot.endpoint in (None, hypothesis.endpoint)
        ]
        if not fits:
            faults.add(f"pilot[{index}]", "fits no hypothesis of the plan", "name one that it has")
        for fit in fits:
            if taken.setdefault(fit.id, index) != index:
                fix = "say which hypothesis, population or endpoint each pilot is for"
                faults.add(f"pilot[{index}]", f"is for {fit.id}, as pilot[{taken[fit.id]}] is", fix)
        served.append(fits)
    return served


def _check_pilot(
    plan: Plan, pilot: PowerPilot, hypotheses: Sequence[Hypothesis], path: str, faults: Faults
) -> None:
    """Add the faults of a pilot: columns of other lengths, too few pairs, no clusters, values off the scale."""
    for name, column in (("candidate", pilot.candidate), ("clusters", pilot.clusters)):
        if column is not None and len(column) != len(pilot.baseline):
            faults.add(f"{path}.{name}", "has another length than baseline", "send one value per item")
            return
    pairs = sum(b is not None and c is not None for b, c in zip(pilot.baseline, pilot.candidate, strict=True))
    if pairs < LEAST_PAIRS:
        message = f"has {pairs} items with both results"
        faults.add(f"{path}.baseline", message, f"send at least {LEAST_PAIRS}")
    clustered = any(
        population.clusters is not None
        for hypothesis in hypotheses
        if (population := plan.population(hypothesis.population)) is not None
    )
    if clustered and (pilot.clusters is None or len(set(pilot.clusters)) < 2):
        faults.add(f"{path}.clusters", "must name two clusters or more", "the plan's population has clusters")
    for name in dict.fromkeys(hypothesis.endpoint for hypothesis in hypotheses):
        endpoint = plan.endpoint(name)
        if endpoint is None or endpoint.kind == "counts":
            faults.add(f"{path}.endpoint", "is not a binary or continuous endpoint", "mend the plan first")
            continue
        for column_name, values in (("baseline", pilot.baseline), ("candidate", pilot.candidate)):
            faults.rows(
                f"{path}.{column_name}",
                _find_off_scale(endpoint, values),
                "is not on the endpoint's scale",
                "send values that the plan's endpoint may have, or null",
            )


def _find_off_scale(endpoint: Endpoint, values: Sequence[float | None]) -> list[int]:
    """Return rows, from 0, whose value the endpoint cannot have."""
    if endpoint.collapsed_kind == "binary":
        return [row for row, value in enumerate(values) if value not in (None, 0.0, 1.0)]
    ends = endpoint.bounds
    low, high = (0.0, 1.0) if endpoint.kind == "binary" else (ends.low, ends.high) if ends else (None, None)
    if low is None or high is None:
        return []
    return [row for row, value in enumerate(values) if value is not None and not low <= value <= high]


def _estimate_pilot(plan: Plan, pilot: PowerPilot, hypotheses: Sequence[Hypothesis]) -> PilotEstimates:
    """Discordance, spread, correlation and missing rates of a pilot, with their intervals."""
    before, after = (
        np.array([np.nan if value is None else value for value in column])
        for column in (pilot.baseline, pilot.candidate)
    )
    there = ~(np.isnan(before) | np.isnan(after))
    d = (after - before)[there]
    endpoint = plan.endpoint(hypotheses[0].endpoint)
    binary = endpoint is not None and endpoint.collapsed_kind == "binary"
    codes = None
    if pilot.clusters is not None:
        codes = codes_of(
            tuple(label for label, present in zip(pilot.clusters, there, strict=True) if present)
        )
    icc = None if codes is None or int(codes.max()) < 1 else anova_icc(d, codes)
    effective = len(d) / _inflation(codes, icc)
    return PilotEstimates(
        hypotheses=tuple(hypothesis.id for hypothesis in hypotheses),
        n=len(before),
        n_pairs=len(d),
        n_clusters=None if codes is None else int(codes.max()) + 1,
        delta=float(d.mean()),
        discordance=_share(float((d != 0).mean()), effective) if binary else None,
        sd=_sd(float(d.std(ddof=1)), effective - 1),
        icc=icc,
        missing=MissingByArm(
            baseline=min(float(np.isnan(before).mean()), 0.999), candidate=min(float(np.isnan(after).mean()), 0.999)
        ),
        baseline_mean=float(before[~np.isnan(before)].mean()),
        source=f"pilot of {len(before)} items",
    )  # fmt: skip


def _inflation(codes: NDArray[np.int64] | None, icc: Estimate | None) -> float:
    """The design effect of clusters of these sizes: how many times fewer items, if independent, would tell as much."""
    if codes is None or icc is None:
        return 1.0
    # 1 + (m - 1) icc, where m is the size of the cluster that an item is in on average: sum of squares over N.
    sizes = np.bincount(codes)
    return float(1 + max((sizes**2).sum() / sizes.sum() - 1, 0.0) * icc.estimate)


def _share(share: float, n: float) -> Estimate:
    """Clopper-Pearson's upper end, at the number of items that would tell as much without clusters."""
    upper = 1.0 if share >= 1 else float(special.betaincinv(share * n + 1, n - share * n, LEVEL))
    return Estimate(estimate=share, upper=upper)


def _sd(sd: float, df: float) -> Estimate:
    """Return the upper end for normal values: s sqrt(df / chi-square quantile)."""
    if df < 1:
        return Estimate(estimate=sd)
    return Estimate(estimate=sd, upper=sd * float(np.sqrt(df / (2 * special.gammaincinv(df / 2, 1 - LEVEL)))))


def anova_icc(d: Floats, codes: NDArray[np.int64]) -> Estimate | None:
    """Return the intraclass correlation of values (n,) in clusters by one-way ANOVA, and its upper end by F.

    Source: Searle, Casella & McCulloch (1992), Variance Components, 3.6; Donner (1986), Int Stat Rev 54:67. The
    size of unequal clusters is n0 = (N - sum of squares / N) / (G - 1). None where no cluster has two items.
    """
    sizes = np.bincount(codes).astype(np.float64)
    n, g = sizes.sum(), len(sizes)
    if n <= g:
        return None
    means = np.bincount(codes, weights=d) / sizes
    between = float((sizes * (means - d.mean()) ** 2).sum() / (g - 1))
    within = float(((d - means[codes]) ** 2).sum() / (n - g))
    n0 = float((n - (sizes**2).sum() / n) / (g - 1))
    if within == 0 and between == 0:
        return Estimate(estimate=0.0)
    # ratio / (1 + n0 icc / (1 - icc)) is F on G - 1 and n - G of equal clusters; solved for icc at its lower point
    ratio = between / within if within > 0 else np.inf
    bound = ratio / float(special.fdtri(g - 1, n - g, 1 - LEVEL))

    def icc(f: float) -> float:
        return 0.999 if np.isinf(f) else min(max((f - 1) / (f + n0 - 1), 0.0), 0.999)

    return Estimate(estimate=icc(ratio), upper=icc(bound))


def _assume(estimates: PilotEstimates, plan: Plan) -> dict[str, Any]:
    """The fields of the section, rounded to what a pilot can tell: upper ends for spread, the estimate for the ICC."""
    hypothesis = plan.hypothesis(estimates.hypotheses[0])
    population = None if hypothesis is None else plan.population(hypothesis.population)
    assumed: dict[str, Any] = {"source": estimates.source, "baseline_mean": _round(estimates.baseline_mean)}
    if estimates.discordance is not None:
        assumed["discordance"] = min(
            _round(estimates.discordance.upper or estimates.discordance.estimate), 1.0
        )
    elif (sd := estimates.sd.upper or estimates.sd.estimate) > 0:
        assumed["sd"] = _round(sd)
    if estimates.icc is not None and population is not None and population.clusters is not None:
        assumed["icc"] = _round(estimates.icc.estimate)
    rates = estimates.missing
    assumed["missing"] = MissingByArm(baseline=_round(rates.baseline), candidate=_round(rates.candidate))
    return assumed


def _round(value: float) -> float:
    return float(f"{value:.4g}")


def pasteable(plan: Plan) -> dict[str, Any] | None:
    """Return the `assumptions` of a plan as they are written in it."""
    return None if plan.assumptions is None else plan.as_dict().get("assumptions")


def require_few(pilots: Sequence[PowerPilot]) -> None:
    """Refuse more items than a request may carry in all."""
    if sum(len(pilot.baseline) for pilot in pilots) > MAX_ITEMS:
        raise InvalidData.field("pilot", f"has more than {MAX_ITEMS} items", "send fewer items")
