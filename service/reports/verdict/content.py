"""What the report of a verdict says, in whatever form it is printed: numbers as they were recorded."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from pydantic import AwareDatetime, Field

from service.domain.deviations.consequences import Consequences
from service.domain.deviations.deviation import Deviation
from service.domain.deviations.rules import Classification
from service.domain.evidence.record import EvidenceCard
from service.domain.ledger import Kind, Receipt
from service.domain.notes.notes import HypothesisSentences, Words
from service.domain.plans.plan import Plan
from service.domain.verdicts.arm_summaries import ArmSummary
from service.domain.verdicts.parts import absent
from service.domain.verdicts.records import ClauseVerdict, HypothesisVerdict, Outcome, Role, Verdict
from service.domain.verdicts.slices import SlicesFound
from service.records import Record

STATISTICS = ("statistic", "t", "z", "u", "w_plus", "df")
EFFECTS = ("cohens_d", "hedges_g", "cohens_dz", "cohens_g", "rank_biserial", "odds_ratio")


class Interval(Record):
    """An interval of a difference, in the unit of its endpoint."""

    low: float | None
    high: float | None
    level: float
    method: str


class TestFound(Record):
    """What one statistical test of the plan found."""

    __test__ = False

    id: str = Field(description="What the rule calls it.")
    test: str
    endpoint: str | None = Field(
        None,
        exclude_if=absent,
        description="The endpoint that it reads, where that is not the hypothesis': its numbers are in the sentence "
        "alone. Not present otherwise.",
    )
    delta: float | None
    ci: Interval | None
    p_value: float | None
    p_bound: str | None = Field(description="Where p lies below what can be computed, such as `< 1e-300`.")
    statistics: dict[str, float] = Field(description="Such as `t` and `df`.")
    effects: dict[str, float] = Field(description="Such as `cohens_d`.")
    sentence: str


class HypothesisReport(Record):
    """One hypothesis: the outcome, the clauses and what they rest on."""

    id: str
    statement: str
    population: str
    baseline: str
    candidate: str
    endpoint: str
    role: Role
    binary: bool = Field(description="Differences are proportions: 0.02 is 2 pp.")
    sesoi: float | None
    outcome: Outcome
    sentences: Words
    next: Words
    reason: str | None
    rule: str
    clauses: tuple[ClauseVerdict, ...]
    n: int
    n_planned: int
    delta: float | None
    arms: tuple[ArmSummary, ...] = Field(
        description="Both on the items of the verdict; none without open rows."
    )
    tests: tuple[TestFound, ...]
    slices: SlicesFound | None = Field(
        None, exclude_if=absent, description="Not present where the plan asks nothing of its slices."
    )


class DeviationLine(Record):
    """A deviation, and what stands about it."""

    number: int
    title: str
    reason: str
    standing: Classification


class Effect(Record):
    """What deviations do to a hypothesis; the verdict stays as it is."""

    hypothesis: str
    outcome_planned: Outcome | None
    outcome_as_run: Outcome | None = Field(description="Null where nothing can be applied.")
    tipping_items: int | None = Field(
        description="Fewest doubtful items that change the outcome; null: none, or open."
    )
    outcome_then: Outcome | None
    robust: bool | None = Field(
        description="No filling of doubtful items changes it; null: there are none, or open."
    )


class LedgerLine(Record):
    """Something that happened, and where the ledger has it."""

    at: AwareDatetime
    kind: Kind
    sequence: int
    leaf_sha256: str


class EvidenceLine(Record):
    """One of the five pieces of evidence."""

    title: Words
    score: int | None


class Report(Record):
    """A verdict as a report."""

    preregistration_id: str
    title: str
    version: int
    plan_sha256: str
    locked_at: AwareDatetime | None
    judged_at: AwareDatetime
    multiplicity: str
    marks: tuple[Words, ...] = Field(description="What stands against it, for good.")
    hypotheses: tuple[HypothesisReport, ...]
    deviations: tuple[DeviationLine, ...]
    effects: tuple[Effect, ...]
    evidence: tuple[EvidenceLine, ...]
    evidence_score: int
    evidence_most: int
    ledger: tuple[LedgerLine, ...]
    limits: Words = Field(description="What no record can prove.")
    versions: dict[str, str]


def report_of(
    plan: Plan,
    verdict: Verdict,
    *,
    version: int,
    locked_at: AwareDatetime | None,
    said: Sequence[HypothesisSentences],
    card: EvidenceCard,
    summaries: Mapping[str, Sequence[ArmSummary]],
    deviations: Sequence[tuple[Deviation, Classification]],
    consequences: Consequences | None,
    happened: Sequence[tuple[Receipt, AwareDatetime]],
) -> Report:
    """The report of a judged record, from what is known of it. `summaries` is empty where its rows are gone."""
    words = {each.hypothesis: each for each in said}
    return Report(
        preregistration_id=verdict.preregistration_id,
        title=verdict.title or "",
        version=version,
        plan_sha256=verdict.plan_sha256,
        locked_at=locked_at,
        judged_at=verdict.judged_at,
        multiplicity=verdict.multiplicity,
        marks=card.marks,
        hypotheses=tuple(
            _hypothesis(plan, each, words.get(each.id), summaries.get(each.id, ()))
            for each in verdict.hypotheses
        ),
        deviations=tuple(
            DeviationLine(
                number=each.number, title=each.filing.title, reason=each.filing.reason, standing=standing
            )
            for each, standing in deviations
        ),
        effects=tuple(_effects(consequences)) if consequences is not None else (),
        evidence=tuple(EvidenceLine(title=each.title, score=each.score) for each in card.pieces),
        evidence_score=card.score,
        evidence_most=card.most,
        ledger=tuple(
            LedgerLine(at=at, kind=receipt.kind, sequence=receipt.sequence, leaf_sha256=receipt.leaf_sha256)
            for receipt, at in happened
        ),
        limits=card.limits,
        versions=verdict.versions,
    )


def _hypothesis(
    plan: Plan, judged: HypothesisVerdict, said: HypothesisSentences | None, arms: Sequence[ArmSummary]
) -> HypothesisReport:
    endpoint, margin = plan.endpoint(judged.endpoint), (plan.sesoi or {}).get(judged.endpoint)
    only = Words(en=judged.sentence, zh=judged.sentence)
    return HypothesisReport(
        **{
            name: getattr(judged, name)
            for name in (
                "id", "statement", "population", "baseline", "candidate", "endpoint", "role", "outcome", "reason",
                "rule", "clauses", "n", "n_planned", "delta", "slices",
            )
        },
        binary=endpoint is not None and endpoint.kind == "binary",
        sesoi=None if margin is None else float(margin.exact()),
        sentences=only if said is None else said.sentences,
        next=Words(en="", zh="") if said is None else said.next,
        arms=tuple(arms),
        tests=tuple(_tests(plan, judged)),
    )  # fmt: skip


def _tests(plan: Plan, judged: HypothesisVerdict) -> Iterator[TestFound]:
    for name, answer in judged.analyses.items():
        if plan.reads(name, judged.endpoint) != judged.endpoint:  # another unit: its sentence says it
            test, analysis = str(answer.get("test", "")), answer.get("analysis")
            said = analysis.get("sentence") if isinstance(analysis, Mapping) else answer.get("reason")
            yield TestFound(
                id=name,
                test=test,
                endpoint=plan.reads(name, judged.endpoint),
                delta=None,
                ci=None,
                p_value=None,
                p_bound=None,
                statistics={},
                effects={},
                sentence=str(said or ""),
            )
            continue
        analysis = answer.get("analysis")
        found: Mapping[str, Any] = analysis if isinstance(analysis, Mapping) else {}
        ci, bounds = found.get("ci"), found.get("bounds")
        yield TestFound(
            id=name,
            test=str(answer.get("test", "")),
            delta=_number(found.get("delta")),
            ci=Interval(low=ci.get("low"), high=ci.get("high"), level=ci["level"], method=str(ci["method"]))
            if isinstance(ci, Mapping) and "level" in ci and "method" in ci
            else None,
            p_value=_number(found.get("p_value")),
            p_bound=bounds.get("p_value") if isinstance(bounds, Mapping) else None,
            statistics=_numbers(found, STATISTICS),
            effects=_numbers(found, EFFECTS),
            sentence=str(found.get("sentence") or answer.get("reason") or ""),
        )


def _numbers(found: Mapping[str, Any], names: Sequence[str]) -> dict[str, float]:
    seen = {name: _number(found.get(name)) for name in names}
    return {name: each for name, each in seen.items() if each is not None}


def _number(value: Any) -> float | None:
    """A number; of a ratio that is an estimate with its interval, the estimate."""
    if isinstance(value, Mapping):
        value = value.get("estimate")
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None


def _effects(found: Consequences) -> Iterator[Effect]:
    as_run = {} if found.as_run is None else {each.hypothesis: each for each in found.as_run.hypotheses}
    tipping = {each.hypothesis: each for each in found.tipping_points}
    for name in dict.fromkeys((*as_run, *tipping)):
        run, point = as_run.get(name), tipping.get(name)
        yield Effect(
            hypothesis=name,
            outcome_planned=None if run is None else run.outcome_planned,
            outcome_as_run=None if run is None else run.outcome,
            tipping_items=None if point is None else point.items,
            outcome_then=None if point is None else point.outcome_then,
            robust=None if point is None else point.robust,
        )
