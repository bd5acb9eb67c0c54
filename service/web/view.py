"""What the pages show, made from records: pure, and without a thing that follows from an unread outcome."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime

from service.domain.notes.next_steps import next_step
from service.domain.notes.notes import marks_in_words
from service.domain.outgoing import Link, LinkKind
from service.domain.plans.family import FamilyPlace
from service.domain.plans.plan import Hypothesis, Plan
from service.domain.plans.preregistration import Preregistration, State
from service.domain.results.unblinding import Erasure, Unblinding, erased_sentence, sentences
from service.domain.rules.fields import EFFECT_FIELDS
from service.domain.rules.grammar import parse
from service.domain.rules.rule import Comparison, Excludes, Within, clauses, sentence
from service.domain.verdicts.records import ClauseVerdict, HypothesisVerdict, Span, Verdict
from service.errors import ForelockError
from service.store.preregistrations import Line as Listed

STATES: Mapping[State, str] = {
    "draft": "Draft. The plan can still change, and no result is accepted.",
    "locked": "Locked. The plan can no longer change; no result is in yet.",
    "collecting": "Collecting results. What they say stays sealed until the last one is in.",
    "complete": "Complete. Every planned result is in, and the verdict is being computed.",
    "judged": "Judged by the rules that were locked before the results came in.",
    "withdrawn": "Withdrawn. What was locked stays on record.",
}
STATE_NAMES: Mapping[State, str] = {
    "draft": "Draft",
    "locked": "Locked, nothing in yet",
    "collecting": "Collecting",
    "complete": "Complete, being judged",
    "judged": "Judged",
    "withdrawn": "Withdrawn",
}
FAILED = "Complete. Every planned result is in, but computing the verdict failed; it has to be queued again."
OUTCOMES = {
    "supported": "Supported",
    "not_supported": "Not supported",
    "equivalent": "Equivalent",
    "inconclusive": "Inconclusive",
    "invalid": "Invalid",
}
KINDS: Mapping[LinkKind, str] = {
    "wandb": "Weights & Biases",
    "weave": "Weave",
    "langfuse": "Langfuse",
    "braintrust": "Braintrust",
    "mlflow": "MLflow",
    "other": "",
}
TRUTHS = {True: "holds", False: "fails", None: "unknown"}

UNTITLED = "Without title"


@dataclass(frozen=True, slots=True)
class ClauseView:
    """One clause of a judged rule."""

    text: str
    observed: str
    threshold: str
    truth: str
    reason: str


@dataclass(frozen=True, slots=True)
class AnalysisView:
    """What one statistical test found, in its own sentence."""

    name: str
    sentence: str


@dataclass(frozen=True, slots=True)
class JudgedView:
    """What the verdict says of a hypothesis."""

    outcome: str
    label: str
    sentence: str
    next: str
    reason: str
    n: str
    clauses: tuple[ClauseView, ...]
    analyses: tuple[AnalysisView, ...]


@dataclass(frozen=True, slots=True)
class HypothesisView:
    """A hypothesis as planned, and as judged once it is."""

    id: str
    statement: str
    comparison: str
    rule: str
    judged: JudgedView | None


@dataclass(frozen=True, slots=True)
class WarningView:
    """A lint warning that the lock acknowledged."""

    code: str
    message: str


@dataclass(frozen=True, slots=True)
class Moment:
    """Something that happened, and when."""

    what: str
    iso: str
    text: str


@dataclass(frozen=True, slots=True)
class Happened:
    """Something that somebody did to a locked record, and why."""

    what: Moment
    reason: str


@dataclass(frozen=True, slots=True)
class LinkView:
    """A place outside that belongs to the record."""

    name: str
    kind: str
    url: str
    external_id: str


@dataclass(frozen=True, slots=True)
class Progress:
    """How many results are in; never what they are."""

    received: int
    expected: int


@dataclass(frozen=True, slots=True)
class Page:
    """The page of one preregistration."""

    id: str
    title: str
    state: State
    state_sentence: str
    version: int
    plan_sha256: str
    populations: tuple[str, ...]
    hypotheses: tuple[HypothesisView, ...]
    multiplicity: str
    warnings: tuple[WarningView, ...]
    progress: Progress | None
    timeline: tuple[Moment, ...]
    voided: tuple[tuple[int, str], ...]
    marks: tuple[str, ...]
    overdue: bool
    family: str
    """Which registration on its items it is; empty in a draft."""
    happened: tuple[Happened, ...]
    """How it was amended, closed or withdrawn."""
    links: tuple[LinkView, ...]


@dataclass(frozen=True, slots=True)
class Line:
    """One preregistration in the list."""

    id: str
    title: str
    state: State
    created: Moment
    outcomes: tuple[tuple[str, str, str], ...]
    """Hypothesis, outcome and its label."""
    altered: bool
    overdue: bool


def page_of(
    record: Preregistration,
    verdict: Verdict | None,
    progress: Progress | None,
    *,
    failed: bool = False,
    overdue: bool = False,
    family: FamilyPlace | None = None,
    happened: tuple[Happened, ...] = (),
    unblindings: Sequence[Unblinding] = (),
    erasure: Erasure | None = None,
    links: Sequence[Link] = (),
) -> Page:
    """The page; `verdict` is None until the record is judged, `failed` that its computation failed."""
    plan = record.plan
    judged = {} if verdict is None else {each.id: each for each in verdict.hypotheses}
    return Page(
        id=record.id,
        title=title_of(plan.title),
        state=record.state,
        state_sentence=FAILED if failed else STATES[record.state],
        version=record.version,
        plan_sha256=record.plan_sha256 or "",
        populations=tuple(_populations(plan)),
        hypotheses=tuple(_hypothesis(plan, each, judged.get(each.id)) for each in plan.hypotheses or ()),
        multiplicity="" if verdict is None else verdict.multiplicity,
        warnings=tuple(
            WarningView(finding.code, finding.message)
            for finding in record.lint or ()
            if finding.severity == "warning"
        ),
        progress=progress,
        timeline=tuple(_timeline(record)),
        voided=() if verdict is None else tuple((each.batch, each.reason) for each in verdict.voided_batches),
        overdue=overdue,
        family="" if family is None else f"This is {family.says()}.",
        happened=happened,
        marks=tuple(_marks(verdict, unblindings, erasure)),
        links=tuple(
            LinkView(each.name, KINDS[each.kind], each.url, each.external_id or "") for each in links
        ),
    )


def _marks(
    verdict: Verdict | None, unblindings: Sequence[Unblinding], erasure: Erasure | None
) -> Iterable[str]:
    """Those of the verdict, or before it that results were opened; and that the rows are gone."""
    if verdict is not None:
        yield from (each.en for each in marks_in_words(verdict))
    else:
        yield from (sentences(each)[0] for each in unblindings)
    if erasure is not None:
        yield erased_sentence(erasure)


def line_of(record: Listed, judged: tuple[HypothesisVerdict, ...] | None, today: date | None = None) -> Line:
    """The record's line in the list; `judged` is None when its verdict was altered."""
    return Line(
        id=record.id,
        title=title_of(record.title),
        state=record.state,
        created=moment("Created", record.created_at),
        outcomes=tuple((each.id, each.outcome, OUTCOMES[each.outcome]) for each in judged or ()),
        altered=record.altered or judged is None,
        overdue=today is not None and record.overdue(today),
    )


def title_of(title: str | None) -> str:
    """A plan's title; a draft may lack one."""
    return title or "Without title"


def moment(what: str, when: datetime) -> Moment:
    """A time for machines and for people."""
    return Moment(what, when.isoformat(), f"{when:%Y-%m-%d %H:%M:%S %Z}")


def _timeline(record: Preregistration) -> Iterable[Moment]:
    for what, when in (
        ("Created", record.created_at),
        ("Locked", record.locked_at),
        ("Last planned result in", record.complete_at),
        ("Judged", record.judged_at),
    ):
        if when is not None:
            yield moment(what, when)


def _populations(plan: Plan) -> Iterable[str]:
    for each in plan.populations or ():
        if each.clusters is not None:
            grouped = f"{each.n} items in {each.clusters.n} clusters by {each.clusters.key}"
        else:
            grouped = f"{each.n} items" + (f", independent: {each.independence}" if each.independence else "")
        yield f"{each.id}: {each.dataset} ({grouped})"


def _hypothesis(plan: Plan, planned: Hypothesis, judged: HypothesisVerdict | None) -> HypothesisView:
    return HypothesisView(
        id=planned.id,
        statement=planned.statement,
        comparison=(
            f"{planned.claim.replace('_', '-')}: {planned.candidate} against {planned.baseline}, "
            f"{planned.endpoint} on {planned.population}"
        ),
        rule=judged.rule if judged else _canonical(planned.rule),
        judged=None if judged is None else _judged(plan, judged),
    )


def _canonical(rule: str) -> str:
    """The canonical sentence; a draft's rule that does not parse is shown as written."""
    try:
        return sentence(parse(rule))
    except ForelockError:
        return rule


def _judged(plan: Plan, judged: HypothesisVerdict) -> JudgedView:
    endpoint = plan.endpoint(judged.endpoint)
    binary = endpoint is not None and endpoint.collapsed_kind == "binary"
    effects = {
        str(clause)
        for clause in clauses(parse(judged.rule))
        if clause.field.path[0] in EFFECT_FIELDS
        and plan.reads(clause.field.test or "", judged.endpoint) == judged.endpoint
    }
    left_out = judged.n_planned - judged.n
    filled = judged.excluded.filled
    return JudgedView(
        outcome=judged.outcome,
        label=OUTCOMES[judged.outcome],
        sentence=judged.sentence,
        next=next_step(plan, judged)[0],
        reason=judged.reason or "",
        n=f"{judged.n} of {judged.n_planned} planned items"
        + (f", {left_out} left out" if left_out else "")
        + (f", {filled} of them filled in" if filled else ""),
        clauses=tuple(_clause(each, points=binary and each.text in effects) for each in judged.clauses),
        analyses=tuple(_analyses(judged)),
    )


def _clause(clause: ClauseVerdict, *, points: bool) -> ClauseView:
    return ClauseView(
        text=clause.text,
        observed=_observed(clause.observed, points=points)
        + ("" if clause.unadjusted is None else f" ({_number(clause.unadjusted, points=False)} unadjusted)"),
        threshold=_threshold(clause),
        truth=TRUTHS[clause.holds],
        reason=clause.reason or "",
    )


def _threshold(clause: ClauseVerdict) -> str:
    """As the rule writes it."""
    planned = parse(clause.text)
    match planned:
        case Within():
            return f"{planned.low} to {planned.high}"
        case Comparison() | Excludes():
            return str(planned.value)
        case _:
            return _observed(clause.threshold, points=False)


def _observed(value: float | Span | bool | None, *, points: bool) -> str:
    if value is None:
        return "undefined"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, Span):
        ends = (_end(value.low, points=points), _end(value.high, points=points))
        return f"{ends[0]} to {ends[1]}"
    return _number(value, points=points)


def _end(value: float | None, *, points: bool) -> str:
    return "unbounded" if value is None else _number(value, points=points)


def _number(value: float, *, points: bool) -> str:
    return f"{100 * value:+.2f} pp" if points else f"{value:.4g}"


def _analyses(judged: HypothesisVerdict) -> Iterable[AnalysisView]:
    for name, answer in judged.analyses.items():
        analysis = answer.get("analysis")
        said = analysis.get("sentence") if isinstance(analysis, dict) else answer.get("reason")
        yield AnalysisView(name, str(said or "no analysis"))
