"""What may be true of a hypothesis' data: as the plan assumes, or over a range of plausible values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from service.domain.plans.plan import Plan
from service.domain.plans.sections.assumptions import missing_rates
from service.domain.plans.sections.hypothesis import Claim
from service.domain.power.answers.records import LeadEffect
from service.domain.power.procedure.data import World
from service.domain.power.procedure.labelled_sets import AGREEMENTS, label_budget
from service.domain.power.procedure.procedure import sign_of
from service.domain.rules.settings import Setting
from service.errors import InvalidData

Corner = Literal["low", "reference", "high"]

LEADS: Mapping[Claim, tuple[LeadEffect, int]] = {
    "superiority": ("sesoi", 1),
    "minimum_effect": ("twice_sesoi", 2),
    "equivalence": ("no_difference", 0),
    "non_inferiority": ("no_difference", 0),
}
"""The true difference at which a claim should come out, in SESOIs: a minimum effect is false at the SESOI itself."""

DISCORDANCES = (0.05, 0.1, 0.2, 0.3)
"""Shares of items on which two arms plausibly differ."""

MORE_DISCORDANCES = (0.4, 0.5, 0.6, 0.8, 1.0)
"""Shares that are added where the SESOI asks for more discordant items."""

SPREADS = (2.0, 5.0, 10.0, 25.0)
"""SDs of the item differences in units of the SESOI, where the scale has no bounds."""

SHARES_OF_SCALE = (0.1, 0.2, 0.4)
"""SDs of the item differences in units of the scale's length; of scores that are mostly all or nothing .4 and more."""

ICCS = {"low": 0.2, "reference": 0.05, "high": 0.01}
"""Correlations of two items of one cluster, in what tells the arms apart."""

MISSING = 0.02
"""Share of results that are not ok where the plan fills them in and power is to be cautious."""

KNOWN = 1e-9
"""Values this close are equal: sums of decimals."""
LEAST_GAP = 1e-12
"""Of two true differences."""


def list_discordances(sesoi: float | None) -> tuple[float, ...]:
    """Plausible shares of discordant items, for a SESOI as a proportion.

    They go on up to one at which twice the SESOI leaves the better arm 3 of 4 discordant items: 2 s = d (3/4 - 1/4),
    so d = 4 s.
    """
    listed: tuple[float, ...] = DISCORDANCES
    for more in MORE_DISCORDANCES:
        if sesoi is not None and listed[-1] < 4 * sesoi - KNOWN:
            listed = (*listed, more)
    return listed


@dataclass(frozen=True, slots=True)
class Worlds:
    """One hypothesis. A corner is a choice of all that is not stated: for the least power, the most, or between."""

    binary: bool
    clustered: bool
    sesoi: float
    sign: int
    goal: float
    """The true difference at which the claim should come out, as the plan assumes or by the claim."""
    lead: tuple[LeadEffect, float]
    """The true difference at which power is told first, and what it is."""
    effect_stated: bool
    not_true: float
    """A true difference at which it should not."""
    scales: tuple[float, ...]
    scale_stated: bool
    reference: float
    icc: float | None
    missing: tuple[float, float] | None
    fills: bool
    baseline_mean: float | None
    labels: int | None = None
    """Items that people label; None where no test takes labels."""
    agreement: float | None = None
    """Of the judge with people, as the plan assumes; None: over a range."""

    @property
    def stated(self) -> bool:
        """True when nothing that power rests on is left open."""
        judge = self.labels is None or self.agreement is not None
        return (
            self.scale_stated
            and judge
            and (self.icc is not None or not self.clustered)
            and not self._may_fill
        )

    @property
    def listed(self) -> tuple[float, ...]:
        """True differences that power is told at: none, one and two SESOIs, and that of the goal."""
        listed = [times * self.sesoi * self.sign for times in (0, 1, 2)]
        if all(abs(self.goal - truth) > LEAST_GAP for truth in listed):
            listed.append(self.goal)
        return tuple(listed)

    @property
    def _may_fill(self) -> bool:
        return self.fills and self.missing is None

    def at(self, corner: Corner, truth: float | None = None, scale: float | None = None) -> World:
        """Return the world of a corner; `truth` and `scale` where they are given."""
        truth = self.goal if truth is None else truth
        icc = 0.0
        if self.clustered:
            icc = ICCS[corner] if self.icc is None else self.icc
        missing = self.missing or (0.0, 0.0)
        if self._may_fill and corner == "low":
            missing = (MISSING, MISSING)
        agreement = None
        if self.labels is not None:
            agreement = AGREEMENTS[corner] if self.agreement is None else self.agreement
        scale = self._scale(corner, truth) if scale is None else scale
        return World(truth, scale, icc, missing, self.baseline_mean, agreement=agreement)

    def _scale(self, corner: Corner, truth: float) -> float:
        if corner == "reference":
            return self.reference
        possible = [scale for scale in self.scales if not self.binary or scale >= abs(truth) - KNOWN]
        if not possible:
            return self.scales[-1]
        return possible[-1] if corner == "low" else possible[0]


def worlds_of(plan: Plan, setting: Setting) -> Worlds | None:
    """Return what may be true of a hypothesis; None without a SESOI or an endpoint that goes with it."""
    endpoint, claim = setting.endpoint, setting.hypothesis.claim
    margin = (plan.sesoi or {}).get(setting.hypothesis.endpoint)
    if margin is None or endpoint is None or setting.population is None:
        return None
    sesoi, sign = float(margin.exact()), sign_of(setting)
    binary = endpoint.collapsed_kind == "binary"
    assumed = None if plan.assumptions is None else plan.assumptions.of(setting.hypothesis.id)
    effect = None
    if assumed is not None and assumed.effect is not None:
        try:
            effect = assumed.effect.for_endpoint(binary=endpoint.kind == "binary")
        except InvalidData:
            return None
    stated = None if assumed is None else assumed.discordance if binary else assumed.sd
    scales: tuple[float, ...]
    if stated is not None:
        scales, reference = (stated,), stated
    elif binary:
        scales = list_discordances(sesoi)
        enough = [scale for scale in scales if scale >= max(0.1, 4 * sesoi) - KNOWN]
        reference = enough[0] if enough else scales[-1]
    elif endpoint.bounds is not None:
        scales = tuple(share * (endpoint.bounds.high - endpoint.bounds.low) for share in SHARES_OF_SCALE)
        reference = scales[1]
    else:
        scales = tuple(spread * sesoi for spread in SPREADS)
        reference = scales[2]
    null = {"equivalence": sesoi, "non_inferiority": -sesoi * sign}.get(claim, 0.0)
    lead: tuple[LeadEffect, float] = LEADS[claim][0], LEADS[claim][1] * sesoi * sign
    goal = lead[1] if effect is None else effect
    if effect is not None and lead[0] != "sesoi":
        lead = "assumed", effect
    return Worlds(
        binary=binary,
        clustered=setting.population.clusters is not None,
        sesoi=sesoi,
        sign=sign,
        goal=goal,
        lead=lead,
        effect_stated=effect is not None,
        not_true=null if effect is None else effect,
        scales=scales,
        scale_stated=stated is not None,
        reference=reference,
        icc=None if assumed is None else assumed.icc,
        missing=None if assumed is None else missing_rates(assumed),
        fills=plan.missing == "worst_case",
        baseline_mean=None if assumed is None else assumed.baseline_mean,
        labels=label_budget(plan, setting),
        agreement=None if assumed is None else assumed.agreement,
    )
