"""What the report of a verdict says, in whatever form it is printed: numbers as they were recorded."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from datetime import date, timedelta
from functools import partial

from pydantic import AwareDatetime, Field

from service.domain.deviations.classification import Classification, RuleApplied
from service.domain.deviations.consequences import Consequences
from service.domain.deviations.deviation import Decision, Deviation, standing
from service.domain.evidence.record import PROVEN, EvidenceCard, limits_of
from service.domain.ledger import Kind, Receipt
from service.domain.notes.next_table import NextSizes
from service.domain.notes.notes import DECIDED, KNOWN, QUALIFIED, SHIP, HypothesisSentences
from service.domain.notes.said import NO_WORDS, Words, answers_in_words, in_words, words_by
from service.domain.notes.since_lock import since_lock
from service.domain.plans.findings import Finding, name_at
from service.domain.plans.plan import Plan
from service.domain.plans.sections.arms import ArmCard, one_line
from service.domain.plans.sections.authors import Author
from service.domain.rules.answers import Analysis, Answer
from service.domain.verdicts.arm_summaries import ArmSummary
from service.domain.verdicts.parts import HeldAgainst, absent
from service.domain.verdicts.records import ClauseVerdict, HypothesisVerdict, Outcome, Role, Verdict
from service.domain.verdicts.slices import SlicesFound
from service.domain.verdicts.words.headline import Qualified
from service.records import Record
from service.reports.findings import meaning_of, translate
from service.reports.verdict.tasks import TaskLine, tasks_of
from service.words import Language, Message

STATISTICS = ("statistic", "t", "z", "u", "w_plus", "df")
EFFECTS = ("cohens_d", "hedges_g", "cohens_dz", "cohens_g", "rank_biserial", "odds_ratio")


class Interval(Record):
    """An interval of a difference, in the unit of its endpoint."""

    low: float | None
    high: float | None
    level: float
    method: str


class Estimate(Record):
    """An estimate beside the difference, with an interval of its own, such as a ratio of means."""

    name: str = Field(description="Such as `ratio` or `odds_ratio`.")
    value: float
    ci: Interval


class TestFound(Record):
    """What one statistical test of the plan found."""

    __test__ = False

    id: str = Field(description="What the rule calls it.")
    test: str
    endpoint: str | None = Field(
        None,
        exclude_if=absent,
        description="The endpoint that it reads, where that is not the hypothesis': its difference is in the unit of "
        "that one. Not present otherwise.",
    )
    binary: bool | None = Field(
        None,
        exclude_if=absent,
        description="Beside `endpoint`: its differences are proportions. Not present otherwise.",
    )
    delta: float | None
    ci: Interval | None
    p_value: float | None
    sides: str | None = Field(
        None,
        description="What p is of: `two-sided`, `greater`, `less`, or `both` of two one-sided tests; null: not said.",
    )
    p_bound: str | None = Field(description="Where p lies below what can be computed, such as `< 1e-300`.")
    statistics: dict[str, float] = Field(description="Such as `t` and `df`.")
    effects: dict[str, float] = Field(description="Such as `cohens_d`.")
    estimates: tuple[Estimate, ...] = Field(
        (), description="What it estimates beside the difference, with intervals."
    )
    sentence: str
    says: Words = Field(description="The sentence in two languages.")


class HypothesisReport(Record):
    """One hypothesis: the outcome, the clauses and what they rest on."""

    id: str
    statement: str
    population: str
    baseline: str | None = Field(None, exclude_if=absent, description="Not present of a claim about one arm.")
    candidate: str
    reference: HeldAgainst | None = Field(
        None, exclude_if=absent, description="What one arm is held against; else not present."
    )
    endpoint: str
    role: Role
    binary: bool = Field(description="Differences are proportions: 0.02 is 2 pp.")
    sesoi: float | None
    outcome: Outcome
    qualified: Qualified | None = QUALIFIED
    headline: Words = Field(description="The outcome as a person would say it.")
    open: Words = Field(description="What was not shown; empty where nothing is to be said.")
    ship: Words = SHIP
    known: Words = KNOWN
    decided: Words = DECIDED
    sentences: Words
    next: Words
    next_sizes: NextSizes | None = Field(
        None, exclude_if=absent, description="The same as a table; not present where no size is known."
    )
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
    tasks: tuple[TaskLine, ...] | None = Field(
        None, exclude_if=absent, description="Of a suite; not present of one population."
    )


class Acknowledged(Record):
    """A warning of lint that the lock acknowledged."""

    code: str
    path: str = Field(description="Where in the plan; empty for the whole of it.")
    of: str = Field("", description="The id of what is there, such as a hypothesis; empty where it has none.")
    says: Words
    meaning: Words = Field(NO_WORDS, description="What its code says of any plan, without the way out.")


class DeviationLine(Record):
    """A deviation, and what stands about it."""

    number: int
    title: str
    reason: str
    standing: Classification = Field(description="What counts: the latest decision, else the rule's.")
    rule: RuleApplied | None = Field(None, description="The rule that classified it.")
    classification: Classification | None = Field(None, description="What that rule decided.")
    decided_by: str | None = Field(None, description="Who decided about it after that; null: nobody.")


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
    lacks: tuple[Words, ...] = Field((), description="What was looked at and does not hold.")
    declared: tuple[Words, ...] = Field(
        (), description="What holds by the author's word alone: such a piece scores 1 at most."
    )


class ArmLine(Record):
    """What the plan says of the system behind an arm."""

    id: str
    says: str = Field(description="The fields of its card, in one line.")


class Report(Record):
    """A verdict as a report."""

    preregistration_id: str
    title: str
    authors: tuple[Author, ...] = Field((), description="Who wrote the plan; none where it does not say.")
    embargo_until: date | None = Field(
        None,
        description="Before it nobody outside the project reads the record; null: the plan names no embargo.",
    )
    version: int
    plan_sha256: str
    locked_at: AwareDatetime | None
    judged_at: AwareDatetime
    multiplicity: str
    marks: tuple[Words, ...] = Field(description="What stands against it, for good.")
    arrival: Words = Field(
        NO_WORDS,
        description="How soon after the lock all results were in, and what that says of the runs; empty where unknown.",
    )
    since_lock: Words = Field(
        NO_WORDS, description="What happened to the record since its lock, in a sentence."
    )
    hypotheses: tuple[HypothesisReport, ...]
    arms: tuple[ArmLine, ...] = Field(
        (), description="What stands behind the arms, as the plan describes it."
    )
    warnings: tuple[Acknowledged, ...] = Field((), description="Warnings that the lock acknowledged.")
    deviations: tuple[DeviationLine, ...]
    effects: tuple[Effect, ...]
    evidence: tuple[EvidenceLine, ...]
    evidence_score: int
    evidence_most: int
    ledger: tuple[LedgerLine, ...]
    limits: Words = Field(description="What the record shows to whom, and what no record can prove.")
    versions: dict[str, str]


def report_of(
    plan: Plan,
    verdict: Verdict,
    *,
    arms: Sequence[ArmCard] = (),
    version: int,
    locked_at: AwareDatetime | None,
    sentences: Sequence[HypothesisSentences],
    card: EvidenceCard,
    summaries: Mapping[str, Sequence[ArmSummary]],
    deviations: Sequence[tuple[Deviation, tuple[Decision, ...]]],
    findings: Sequence[Finding] = (),
    consequences: Consequences | None,
    happened: Sequence[tuple[Receipt, AwareDatetime]],
    last_result_after: timedelta | None = None,
    proven: Sequence[Message] = PROVEN,
) -> Report:
    """Return the report of a judged record, from what is known of it. `summaries` is empty where its rows are gone."""
    words = {reading.hypothesis: reading for reading in sentences}
    counts = Counter(receipt.kind for receipt, _at in happened)
    since = since_lock(counts, len(verdict.voided_batches), last_result_after)
    return Report(
        preregistration_id=verdict.preregistration_id,
        title=verdict.title or "",
        authors=plan.authors or (),
        embargo_until=plan.embargo_until,
        version=version,
        plan_sha256=verdict.plan_sha256,
        locked_at=locked_at,
        judged_at=verdict.judged_at,
        multiplicity=verdict.multiplicity,
        marks=card.marks,
        arrival=in_words(since.arrival),
        since_lock=in_words(since.sentence),
        hypotheses=tuple(
            _make_hypothesis(plan, hypothesis, words.get(hypothesis.id), summaries.get(hypothesis.id, ()))
            for hypothesis in verdict.hypotheses
        ),
        arms=tuple(ArmLine(id=arm.id, says=one_line(arm.line())) for arm in arms if arm.line()),
        warnings=list_acknowledged(plan, findings),
        deviations=tuple(deviation_line(*filed) for filed in deviations),
        effects=tuple(_list_effects(consequences)) if consequences is not None else (),
        evidence=tuple(
            EvidenceLine(
                title=piece.title,
                score=piece.score,
                lacks=tuple(check.says for check in piece.checks if check.holds is False),
                declared=tuple(check.says for check in piece.checks if check.holds and check.by == "author"),
            )
            for piece in card.pieces
        ),
        evidence_score=card.score,
        evidence_most=card.most,
        ledger=tuple(
            LedgerLine(at=at, kind=receipt.kind, sequence=receipt.sequence, leaf_sha256=receipt.leaf_sha256)
            for receipt, at in happened
        ),
        limits=limits_of(proven),
        versions=verdict.versions,
    )


def deviation_line(deviation: Deviation, decisions: tuple[Decision, ...]) -> DeviationLine:
    """Return a deviation as it stands after what was decided about it."""
    return DeviationLine(
        number=deviation.number,
        title=deviation.filing.title,
        reason=deviation.filing.reason,
        standing=standing(deviation, decisions),
        rule=deviation.rule,
        classification=deviation.classification,
        decided_by=decisions[-1].reviewer if decisions else None,
    )


def list_acknowledged(plan: Plan, findings: Sequence[Finding]) -> tuple[Acknowledged, ...]:
    """Return the warnings among what lint said at the lock."""
    return tuple(_make_acknowledged(plan, finding) for finding in findings if finding.severity == "warning")


def _make_acknowledged(plan: Plan, finding: Finding) -> Acknowledged:
    """Make the report's entry of a warning that was acknowledged before the lock, in both languages."""

    def say(language: Language) -> str:
        known = translate(finding.code, finding.message, language)
        return " ".join(filter(None, (known.text, known.english)))

    of = name_at(plan, finding.path)
    return Acknowledged(
        code=finding.code,
        path=finding.path,
        of=of,
        says=words_by(say),
        meaning=words_by(partial(meaning_of, finding.code)),
    )


def _make_hypothesis(
    plan: Plan, judged: HypothesisVerdict, sentences: HypothesisSentences | None, arms: Sequence[ArmSummary]
) -> HypothesisReport:
    """Make a hypothesis' part of a report from its plan, what was judged, and the sentences on it."""
    endpoint, margin = plan.endpoint(judged.endpoint), (plan.sesoi or {}).get(judged.endpoint)
    if sentences is None:  # nothing words it anew: the sentence that is stored stands for every language
        stored, nothing = in_words(judged.sentence), NO_WORDS
        sentences = HypothesisSentences(
            hypothesis=judged.id, outcome=judged.outcome, headline=stored, open=nothing, sentences=stored, notes=(),
            next=nothing,
        )  # fmt: skip
    return HypothesisReport(
        **{
            name: getattr(judged, name)
            for name in (
                "id", "statement", "population", "baseline", "candidate", "endpoint", "role", "outcome", "reason",
                "rule", "clauses", "n", "n_planned", "delta", "slices", "reference",
            )
        },
        binary=endpoint is not None and endpoint.kind == "binary",
        sesoi=None if margin is None else float(margin.exact()),
        **{
            name: getattr(sentences, name)
            for name in ("qualified", "headline", "open", "ship", "known", "decided", "sentences", "next", "next_sizes")
        },
        arms=tuple(arms),
        tests=tuple(_list_tests(plan, judged)),
        tasks=tasks_of(plan, judged),
    )  # fmt: skip


def _list_tests(plan: Plan, judged: HypothesisVerdict) -> Iterator[TestFound]:
    """List what a hypothesis' tests answered, in the order of its analyses."""
    words = {answer.id: answer.says for answer in answers_in_words(judged)}
    for name, stored in judged.analyses.items():
        answer = Answer(stored)
        analysis = answer.analysis
        read = plan.reads(name, judged.endpoint)
        other = None if read == judged.endpoint else read
        endpoint = None if other is None else plan.endpoint(other)
        yield TestFound(
            id=name,
            test=answer.test or "",
            endpoint=other,
            binary=None if other is None else endpoint is not None and endpoint.kind == "binary",
            delta=analysis.number("estimate" if "tasks" in analysis else "delta"),
            ci=_interval(analysis.member("ci")),
            p_value=analysis.number("p_value"),
            sides="both" if "p_lower" in analysis else analysis.text("alternative"),
            p_bound=analysis.text("bounds", "p_value"),
            statistics=_numbers(analysis, STATISTICS),
            effects=_numbers(analysis, EFFECTS),
            estimates=tuple(_estimates(analysis)),
            sentence=words[name].en,
            says=words[name],
        )


def _interval(ci: object) -> Interval | None:
    """Return an interval that is one: without any end nothing is said of where the value lies."""
    if not (isinstance(ci, Mapping) and "level" in ci and "method" in ci):
        return None
    if ci.get("low") is None and ci.get("high") is None:
        return None
    return Interval(low=ci.get("low"), high=ci.get("high"), level=ci["level"], method=str(ci["method"]))


def _estimates(analysis: Analysis) -> Iterator[Estimate]:
    """Members that are a value with an interval of its own; of one arm its mean."""
    mean, of_mean = analysis.number("mean"), _interval(analysis.member("ci"))
    if mean is None and "tasks" not in analysis:
        mean = analysis.number("estimate")
    if analysis.number("delta") is None and mean is not None and of_mean is not None:
        yield Estimate(name="mean", value=mean, ci=of_mean)
    for name, member in analysis.members.items():
        if not isinstance(member, Mapping):
            continue
        value, ci = member.get("value", member.get("estimate")), _interval(member.get("ci"))
        if ci is not None and isinstance(value, int | float) and not isinstance(value, bool):
            yield Estimate(name=name, value=float(value), ci=ci)


def _numbers(analysis: Analysis, names: Sequence[str]) -> dict[str, float]:
    return {name: value for name in names if (value := analysis.number(name)) is not None}


def _list_effects(consequences: Consequences) -> Iterator[Effect]:
    """List for every hypothesis what deviations did to it: the outcome as run, and how many items tip it."""
    as_run = (
        {}
        if consequences.as_run is None
        else {hypothesis.hypothesis: hypothesis for hypothesis in consequences.as_run.hypotheses}
    )
    tipping = {tipping_point.hypothesis: tipping_point for tipping_point in consequences.tipping_points}
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
