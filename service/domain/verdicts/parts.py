"""What stands beside a hypothesis' outcome in a verdict: its family, strata, audited judge, selection, stopping."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from service.domain.plans.plan import MultiplicityPolicy
from service.domain.rules.answers import JsonObject
from service.domain.rules.settings import Setting
from service.domain.verdicts.joint import SharedSigns
from service.domain.verdicts.worst_case import Way
from service.kernels.numeric.binomial import clopper_pearson
from service.records import Record
from service.words import say

LEVEL = 0.95
"""Of the interval of a published share."""


def absent(value: object) -> bool:
    """True for a later field that is null: it stays out, so that a stored verdict keeps its bytes and its hash."""
    return value is None


class Span(Record):
    """Two ends; null is unbounded or undefined."""

    low: float | None
    high: float | None


class HeldAgainst(Record):
    """The number that one arm is held against."""

    value: float = Field(description="A proportion, or score units.")
    source: str | None = Field(None, description="Who published it; null: it is required.")
    n: int | None = Field(None, description="Items it was measured on, as the plan says; null: not told.")
    ci: Span | None = Field(
        None,
        description="What so many items would show of a share that was published, if they were independent: 95 % by "
        "Clopper and Pearson. No test of the plan knows of it.",
    )

    @classmethod
    def of(cls, setting: Setting) -> HeldAgainst | None:
        """The reference of a hypothesis, and how sure a published share is by itself; None where two are compared."""
        planned, value, endpoint = setting.hypothesis.reference, setting.reference, setting.endpoint
        if planned is None or value is None:
            return None
        published = planned.published
        if published is None:
            return cls(value=float(value))
        ci = None
        if published.n is not None and endpoint is not None and endpoint.kind == "binary":
            low, high = clopper_pearson(float(value * published.n), published.n, LEVEL)
            ci = Span(low=low, high=high)
        return cls(value=float(value), source=published.source, n=published.n, ci=ci)


class FamilyP(Record):
    """A hypothesis' p-value, and what it is among all hypotheses of its family."""

    policy: MultiplicityPolicy = Field(description="Of the plan.")
    size: int = Field(description="Hypotheses in the family.")
    p_value: float | None = Field(
        description="The largest p of the rule's p-value clauses; null: it has none, or one is undefined."
    )
    adjusted: float | None = Field(description="By the policy; under `none` the same number.")
    holm: float | None = Field(description="By Holm's method, whatever the policy.")
    reason: str | None = Field(None, description="Why the p-value is null; it entered the family as 1.")
    intervals: Literal["marginal"] = Field(
        "marginal", description="Intervals keep their level one by one; no policy widens them."
    )
    joint: SharedSigns | None = Field(
        None, exclude_if=absent, description="How `max_t` adjusted; not present under other policies."
    )


WIDER = say("reasons.wider")
"""Why a fallback does not count whose margin is wider than the SESOI, without a reason for it."""


class EquivalenceFallback(Record):
    """The equivalence test that a hypothesis names for when its rule is false."""

    test: str = Field(description="Test id.")
    equivalent: bool | None = Field(
        description="What it finds; where results were filled in, whichever way they are taken. Null: undefined."
    )
    counts: bool = Field(description="It decides the outcome where the rule is false.")
    reason: str | None = Field(None, description="Why it does not count, or finds nothing.")
    margin: float | None = Field(None, description="A proportion, or score units.")
    alpha: float | None = Field(None, description="Level of each of its two one-sided tests.")
    ci: Span | None = Field(None, description="Its interval, at level 1 - 2 alpha.")
    p_value: float | None = Field(None, description="The larger one-sided p; of both ways, the larger.")
    adjusted: float | None = Field(
        None, description="The same by the family's policy; null: it is not corrected."
    )
    way: Way | None = Field(
        None, description="How what is not ok was taken for these numbers: the way that is harder for it."
    )
    answers: dict[Way, JsonObject] = Field(
        default_factory=dict, description="Its whole answers, where results were filled in."
    )

    @property
    def decides(self) -> bool:
        """True when it counts, and finds equivalence even after the correction."""
        if not self.counts or self.equivalent is not True:
            return False
        if self.adjusted is None:
            return True
        return self.alpha is not None and self.adjusted < self.alpha


class StratumEffect(Record):
    """The difference within one stratum; descriptive."""

    stratum: str
    n: int = Field(description="Items judged on.")
    n_clusters: int | None = Field(description="Clusters with items here; null without clusters.")
    delta: float | None = Field(description="Candidate minus baseline; null: no item is left.")
    ci: Span | None = Field(description="Of this stratum alone, not corrected for their number.")
    reason: str | None = Field(None, description="Why there is no interval.")
    opposed: bool = Field(description="The difference has the other sign than the pooled one.")


class Strata(Record):
    """Effect by category of the locked manifest, beside the pooled one. No claim rests on it."""

    of: str | None = Field(description="What the strata are, as the plan says.")
    effects: tuple[StratumEffect, ...] = Field(description="By stratum, in the manifest's order.")
    level: float = Field(description="Of the intervals.")
    method: Literal["tango", "cr2_t"] = Field(description="Of the intervals.")
    opposed: tuple[str, ...] = Field(
        description="Strata whose difference has the other sign than the pooled one."
    )
    mean_of_strata: float | None = Field(description="Every stratum weighted alike.")
    sign_depends_on_weights: bool = Field(
        description="True: weighting items alike and weighting strata alike give opposite signs."
    )
    reason: str | None = Field(None, description="Why there are no effects.")


class AuditedArm(Record):
    """One arm's judge beside people, on the items that people labelled."""

    arm: str
    audited: int = Field(description="Items with a label by people and a value by the judge.")
    positives: int = Field(description="Of these, right by the label.")
    sensitivity: float | None = Field(description="Share of right items that the judge calls right.")
    specificity: float | None = Field(description="Share of wrong items that the judge calls wrong.")
    rate: float | None = Field(description="Share of all items that the judge calls right.")
    corrected_rate: float | None = Field(description="Rogan and Gladen's estimate, kept within 0 and 1.")


class JudgeNoise(Record):
    """What the judge's errors do to the difference, where people labelled a subset."""

    audit: str | None = Field(description="The endpoint with people's labels; null: the plan has none.")
    arms: tuple[AuditedArm, ...] = Field(description="Baseline, then candidate; empty without an audit.")
    delta: float | None = Field(description="Candidate minus baseline, as the judge has it.")
    corrected_delta: float | None = Field(description="The same from the corrected rates.")
    ci: Span | None = Field(description="Of the corrected difference, by the delta method.")
    level: float = Field(description="Of the interval.")
    reason: str | None = Field(None, description="Why there is no corrected difference.")
    advice: str | None = Field(None, description="What would make the judged difference more trustworthy.")


class Selection(Record):
    """A candidate that is the best of several which were tried on these items."""

    tried: int = Field(description="Variants that were tried, the candidate among them, as the plan says.")
    on: str = Field(description="The data, as the plan says.")
    bound: float | None = Field(
        description="What the estimate is at least (with smaller values better: at most), whichever variant was "
        "chosen: in the unit of `delta`, or of one arm that of `mean`. Null for the reason given."
    )
    confidence: float | None = Field(description="Of the bound, on its one side, a proportion.")
    of: str | None = Field(description="The interval whose bound it is, at its one-sided error over `tried`.")
    reason: str | None = Field(None, description="Why there is no bound.")


class Stopped(Record):
    """How a plan with a sequential stopping rule ended."""

    kind: Literal["group_sequential", "anytime_valid"]
    early: bool = Field(description="Before the planned n, by the rule.")
    look: int | None = Field(description="The planned look that ended it; null without planned looks.")
    looks: int | None = Field(description="How many were planned.")
    units: dict[str, int] = Field(
        description="By population: items, or clusters, along the locked order that were judged."
    )
