"""What a verdict is made of: the records that are stored, hashed and returned."""

from __future__ import annotations

from typing import Literal

from pydantic import AwareDatetime, Field

from service.domain.canonical import canonical, sha256_hex
from service.domain.plans.sections.hypothesis import Claim
from service.domain.rules.answers import JsonObject
from service.domain.verdicts.pairs import Excluded
from service.domain.verdicts.parts import (
    EquivalenceFallback,
    FamilyP,
    HeldAgainst,
    JudgeNoise,
    Selection,
    Span,
    Stopped,
    Strata,
    absent,
)
from service.domain.verdicts.reading import Reading
from service.domain.verdicts.slices import SlicesFound
from service.domain.verdicts.validity import Mark, no_marks
from service.domain.verdicts.worst_case import Way
from service.records import Record

Outcome = Literal["supported", "not_supported", "equivalent", "inconclusive", "invalid"]
WORST_FIRST: tuple[Outcome, ...] = ("invalid", "inconclusive", "not_supported", "equivalent", "supported")
"""Which outcome stands for several: as the exit status of `forelock verdict`."""
Role = Literal["primary", "secondary"]


class ClauseVerdict(Record):
    """One clause of the rule. Differences of binary endpoints are proportions: 2 pp is 0.02."""

    text: str
    observed: float | Span | bool | None
    threshold: float | Span | bool
    holds: bool | None = Field(description="Null: unknown, for the reason given.")
    reason: str | None = None
    unadjusted: float | None = Field(
        None, description="The p-value before the multiplicity policy, where `observed` is the adjusted one."
    )


class OtherEndpoint(Record):
    """Another endpoint that the rule speaks of, on the same arms."""

    endpoint: str
    delta: float | None = Field(description="Candidate minus baseline.")
    n: int = Field(description="Items judged on.")
    excluded: Excluded


class HypothesisVerdict(Record):
    """The outcome of one hypothesis and everything it rests on."""

    id: str
    claim: Claim
    statement: str
    population: str
    baseline: str | None = Field(
        None, exclude_if=absent, description="Not present of a claim about one arm, which has a `reference`."
    )
    candidate: str
    reference: HeldAgainst | None = Field(
        None, exclude_if=absent, description="What one arm is held against; else not present."
    )
    endpoint: str
    role: Role = Field(
        "primary", description="Of its endpoint. Secondary outcomes are never counted as primary."
    )
    outcome: Outcome
    reason: str | None = Field(
        None, description="Why it is invalid or inconclusive, or not supported though the rule holds."
    )
    sentence: str = Field(description="The outcome in plain English.")
    rule: str = Field(description="The canonical sentence.")
    rule_holds: bool | None = Field(description="Null: it cannot be decided.")
    clauses: tuple[ClauseVerdict, ...]
    mean: float | None = Field(
        None,
        exclude_if=absent,
        description="Of the candidate, where it is held against a reference; else not present.",
    )
    delta: float | None = Field(description="Candidate minus baseline, or minus the reference.")
    delta_exact: str | None = Field(description="The same as an exact fraction.")
    n: int = Field(description="Items judged on.")
    n_planned: int = Field(description="Items planned.")
    excluded: Excluded
    reading: Reading | None = Field(description="Of the locked interval against 0 and the SESOI.")
    reading_of: str | None = Field(description="The interval that was read.")
    family: FamilyP | None = Field(None, description="Its place in the family; null outside it.")
    strata: Strata | None = Field(None, description="Effect by category; null without strata.")
    slices: SlicesFound | None = Field(
        None,
        exclude_if=absent,
        description="What the plan asks of every slice; not present where it asks nothing.",
    )
    judge: JudgeNoise | None = Field(
        None, description="The difference corrected for the judge's errors; null where nobody judges."
    )
    analyses: dict[str, JsonObject] = Field(description="Whole answers of the tests, by test id.")
    filled: Way | None = Field(
        None,
        exclude_if=absent,
        description="How `worst_case` took what is not ok here; for a claim of equivalence, whose rule must hold both "
        "ways, the way that is harder for it. Not present where nothing was filled in.",
    )
    fallback: EquivalenceFallback | None = Field(
        None, exclude_if=absent, description="The equivalence test named beside the rule; else not present."
    )
    selection: Selection | None = Field(
        None,
        exclude_if=absent,
        description="That the candidate was chosen on these items, and what that leaves of its estimate; not present "
        "where the plan tells of no such choice.",
    )
    others: tuple[OtherEndpoint, ...] | None = Field(
        None,
        exclude_if=absent,
        description="Other endpoints that the rule speaks of; not present without any.",
    )


class VoidedBatch(Record):
    """A batch that does not count, and why."""

    batch: int = Field(description="Its number.")
    reason: str


class Verdict(Record):
    """What the locked rules say of the results."""

    preregistration_id: str
    title: str | None
    plan_sha256: str
    judged_at: AwareDatetime
    multiplicity: str = Field(description="What was done about several hypotheses.")
    hypotheses: tuple[HypothesisVerdict, ...]
    primary_outcomes: dict[Outcome, int] = Field(
        default_factory=dict, description="How many hypotheses on primary endpoints have each outcome."
    )
    stopped: Stopped | None = Field(
        None, description="How a sequential stopping rule ended it; null where there is one look, at n."
    )
    voided_batches: tuple[VoidedBatch, ...] = Field(description="Batches that were struck before completion.")
    marks: tuple[Mark, ...] = Field(
        (),
        exclude_if=no_marks,
        description="What stands against it, for good; not present where nothing does.",
    )
    versions: dict[str, str] = Field(description="Of the libraries the numbers depend on.")

    @property
    def worst_outcome(self) -> Outcome:
        """The first of `WORST_FIRST` that a hypothesis has: for badges, tags and messages, which have room for one."""
        outcomes = {hypothesis.outcome for hypothesis in self.hypotheses}
        return next(outcome for outcome in WORST_FIRST if outcome in outcomes)

    def sha256(self) -> str:
        """SHA-256 of the verdict's canonical text."""
        return sha256_hex(canonical(self.model_dump(mode="json")))
