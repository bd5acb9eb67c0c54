"""What the pages show, made from records: pure, and without a thing that follows from an unread outcome."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import date, datetime

from service.domain.notes.next_steps import next_step
from service.domain.notes.notes import marks_in_words
from service.domain.outgoing import Link, LinkKind
from service.domain.plans.family import FamilyPlace
from service.domain.plans.hypothesis import Claim, Hypothesis
from service.domain.plans.plan import Plan
from service.domain.plans.preregistration import Preregistration, State
from service.domain.results.unblinding import Erasure, Unblinding, opened_message
from service.domain.rules.answers import Answer
from service.domain.rules.fields import EFFECT_FIELDS
from service.domain.rules.grammar import parse
from service.domain.rules.rule import Comparison, Excludes, Within, clauses
from service.domain.rules.rule import sentence as rule_text
from service.domain.verdicts.parts import Span
from service.domain.verdicts.records import ClauseVerdict, HypothesisVerdict, Verdict
from service.domain.verdicts.validity import Mark
from service.domain.verdicts.words.facts import interval_of
from service.domain.verdicts.words.headline import headline
from service.domain.verdicts.words.reasons import multiplicity_message, reason_message, reason_of
from service.domain.verdicts.words.sentences import sentence
from service.errors import ForelockError
from service.store.plans.preregistrations import Line as Listed
from service.web.html.speech import ENGLISH, Say
from service.web.preregistrations.strips import strip_of
from service.web.preregistrations.views import (
    AnalysisView,
    ClauseView,
    Happened,
    HypothesisView,
    JudgedView,
    Line,
    LinkView,
    Moment,
    Page,
    Progress,
    WarningView,
)
from service.words import text_of

STATES: Mapping[State, str] = {
    "draft": "pages.draft_the_plan_can_still",
    "locked": "pages.locked_the_plan_can_no",
    "collecting": "pages.collecting_results_what_they_say",
    "complete": "pages.complete_every_planned_result_is_in",
    "judged": "pages.judged_by_the_rules_that",
    "withdrawn": "pages.withdrawn_what_was_locked_stays",
}
STATE_NAMES: Mapping[State, str] = {
    "draft": "pages.draft",
    "locked": "pages.locked_nothing_in_yet",
    "collecting": "pages.collecting",
    "complete": "pages.complete_being_judged",
    "judged": "pages.judged",
    "withdrawn": "pages.withdrawn",
}
STATE_WORDS: Mapping[State, str] = {
    "draft": "pages.state_draft",
    "locked": "pages.state_locked",
    "collecting": "pages.state_collecting",
    "complete": "pages.state_complete",
    "judged": "pages.state_judged",
    "withdrawn": "pages.state_withdrawn",
}
FAILED = "pages.complete_every_planned_result_is"
AMENDED, CLOSED, WITHDRAWN = "pages.amended", "pages.closed_early", "pages.withdrawn"
OUTCOMES = {
    "supported": "pages.outcome_supported",
    "not_supported": "pages.outcome_not_supported",
    "equivalent": "pages.outcome_equivalent",
    "inconclusive": "pages.outcome_inconclusive",
    "invalid": "pages.outcome_invalid",
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
CLAIMS: Mapping[Claim, str] = {
    "superiority": "pages.superiority",
    "non_inferiority": "pages.non_inferiority",
    "minimum_effect": "pages.minimum_effect",
    "equivalence": "pages.equivalence",
    "at_least": "pages.at_least",
}
FAMILY = "pages.this_is_registration_number_of"
ERASED = "pages.the_rows_were_erased_on"
UNTITLED = "pages.without_title"


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
    say: Say = ENGLISH,
) -> Page:
    """The page; `verdict` is None until the record is judged, `failed` that its computation failed."""
    plan = record.plan
    judged = {} if verdict is None else {hypothesis.id: hypothesis for hypothesis in verdict.hypotheses}
    marks = () if verdict is None else verdict.marks
    return Page(
        id=record.id,
        title=title_of(plan.title, say),
        state=record.state,
        state_sentence=say(FAILED if failed else STATES[record.state]),
        version=record.version,
        plan_sha256=record.plan_sha256 or "",
        populations=tuple(_populations(plan, say)),
        arms=tuple((card.id, card.text()) for card in plan.arm_cards or () if card.text()),
        hypotheses=tuple(
            _hypothesis(plan, hypothesis, judged.get(hypothesis.id), marks, say)
            for hypothesis in plan.hypotheses or ()
        ),
        multiplicity="" if verdict is None else multiplicity_message(verdict.multiplicity).text(say.language),
        warnings=tuple(
            WarningView(finding.code, finding.message)
            for finding in record.lint or ()
            if finding.severity == "warning"
        ),
        progress=progress,
        timeline=tuple(_timeline(record, say)),
        voided=()
        if verdict is None
        else tuple((batch.batch, batch.reason) for batch in verdict.voided_batches),
        overdue=overdue,
        family="" if family is None else say(FAMILY, number=family.registration, of=family.of),
        happened=happened,
        marks=tuple(_marks(verdict, unblindings, erasure, say)),
        links=tuple(
            LinkView(link.name, KINDS[link.kind], link.url, link.external_id or "") for link in links
        ),
    )


def _marks(
    verdict: Verdict | None, unblindings: Sequence[Unblinding], erasure: Erasure | None, say: Say
) -> Iterable[str]:
    """Those of the verdict, or before it that results were opened; and that the rows are gone."""
    if verdict is not None:
        yield from (getattr(mark, say.language) for mark in marks_in_words(verdict))
    else:
        yield from (opened_message(unblinding).text(say.language) for unblinding in unblindings)
    if erasure is not None:
        at = f"{erasure.at:%Y-%m-%d %H:%M} UTC"
        yield say(ERASED, at=at, reason=erasure.reason)


def line_of(
    record: Listed,
    judged: tuple[HypothesisVerdict, ...] | None,
    today: date | None = None,
    say: Say = ENGLISH,
) -> Line:
    """The record's line in the list; `judged` is None when its verdict was altered."""
    return Line(
        id=record.id,
        title=title_of(record.title, say),
        state=say(STATE_WORDS[record.state]),
        created=moment("", record.created_at),
        outcomes=tuple(
            (hypothesis.id, hypothesis.outcome, say(OUTCOMES[hypothesis.outcome]))
            for hypothesis in judged or ()
        ),
        altered=record.altered or judged is None,
        overdue=today is not None and record.overdue(today),
    )


def title_of(title: str | None, say: Say) -> str:
    """A plan's title; a draft may lack one."""
    return title or say(UNTITLED)


def moment(what: str, when: datetime) -> Moment:
    """A time for machines and for people."""
    return Moment(what, when.isoformat(), f"{when:%Y-%m-%d %H:%M:%S %Z}")


def _timeline(record: Preregistration, say: Say) -> Iterable[Moment]:
    for what, when in (
        (say("pages.created"), record.created_at),
        (say("pages.locked"), record.locked_at),
        (say("pages.last_planned_result_in"), record.complete_at),
        (say("pages.judged"), record.judged_at),
    ):
        if when is not None:
            yield moment(what, when)


def _populations(plan: Plan, say: Say) -> Iterable[str]:
    for population in plan.populations or ():
        if population.clusters is not None:
            n_clusters, key = population.clusters.n, population.clusters.key
            grouped = say("pages.n_items_in_n_clusters", n=population.n, n_clusters=n_clusters, key=key)
        elif population.independence:
            grouped = say("pages.n_items_independent_why", n=population.n, why=population.independence)
        else:
            grouped = say("pages.n_items", n=population.n)
        yield f"{population.id}{say('lists.colon')}{population.dataset}{say('lists.note', note=grouped)}"


def _hypothesis(
    plan: Plan, planned: Hypothesis, judged: HypothesisVerdict | None, marks: Sequence[Mark], say: Say
) -> HypothesisView:
    return HypothesisView(
        id=planned.id,
        statement=planned.statement,
        comparison=_comparison(planned, say),
        rule=judged.rule if judged else canonical(planned.rule),
        judged=None if judged is None else _judged(plan, judged, marks, say),
    )


def _comparison(planned: Hypothesis, say: Say) -> str:
    said = {
        "claim": say(CLAIMS[planned.claim]),
        "candidate": planned.candidate,
        "endpoint": planned.endpoint,
        "population": planned.population,
    }
    reference = planned.reference
    if reference is not None:
        unit = "%" if reference.unit == "%" else ""
        said["reference"] = f"{reference.value:.10g}{unit}"
        return say("pages.claim_candidate_at_reference", **said)
    return say("pages.claim_candidate_against_baseline_endpoint", baseline=str(planned.baseline), **said)


def canonical(rule: str) -> str:
    """The canonical sentence; a draft's rule that does not parse is shown as written."""
    try:
        return rule_text(parse(rule))
    except ForelockError:
        return rule


def _judged(plan: Plan, judged: HypothesisVerdict, marks: Sequence[Mark], say: Say) -> JudgedView:
    said = judged.sentence
    if say.language == "zh":
        said = sentence(plan, judged, interval_of(plan, judged), marks, "zh")
    endpoint = plan.endpoint(judged.endpoint)
    binary = endpoint is not None and endpoint.collapsed_kind == "binary" and judged.reference is None
    effects = {
        str(clause)
        for clause in clauses(parse(judged.rule))
        if clause.field.path[0] in EFFECT_FIELDS
        and plan.reads(clause.field.test or "", judged.endpoint) == judged.endpoint
    }
    left_out = judged.n_planned - judged.n
    filled = judged.excluded.filled
    first = headline(plan, judged)
    return JudgedView(
        outcome=judged.outcome,
        label=say(OUTCOMES[judged.outcome]),
        headline=first.line.text(say.language),
        open=text_of(first.open, say.language),
        strip=strip_of(first.figure),
        sentence=said,
        next=next_step(plan, judged).text(say.language),
        reason="" if judged.reason is None else reason_of(judged).text(say.language),
        n=say("pages.n_of_planned_planned_items", n=judged.n, planned=judged.n_planned)
        + (say("pages.n_left_out", n=left_out) if left_out else "")
        + (say("pages.n_of_them_filled_in", n=filled) if filled else ""),
        clauses=tuple(
            _clause(clause, say, points=binary and clause.text in effects) for clause in judged.clauses
        ),
        analyses=tuple(_analyses(judged, say)),
    )


def _clause(clause: ClauseVerdict, say: Say, *, points: bool) -> ClauseView:
    before = None if clause.unadjusted is None else _number(clause.unadjusted, points=False)
    return ClauseView(
        text=clause.text,
        observed=_observed(clause.observed, say, points=points)
        + ("" if before is None else say("pages.number_unadjusted", number=before)),
        threshold=_threshold(clause, say),
        truth=TRUTHS[clause.holds],
        reason="" if clause.reason is None else reason_message(clause.reason).text(say.language),
    )


def _threshold(clause: ClauseVerdict, say: Say) -> str:
    """As the rule writes it."""
    planned = parse(clause.text)
    match planned:
        case Within():
            return say("pages.low_to_high", low=planned.low, high=planned.high)
        case Comparison() | Excludes():
            return str(planned.value)
        case _:
            return _observed(clause.threshold, say, points=False)


def _observed(value: float | Span | bool | None, say: Say, *, points: bool) -> str:
    if value is None or (isinstance(value, Span) and value.low is None and value.high is None):
        return say("pages.undefined")
    if isinstance(value, bool):
        return say("pages.true") if value else say("pages.false")
    if isinstance(value, Span):
        low, high = (_end(end, say, points=points) for end in (value.low, value.high))
        return say("pages.low_to_high", low=low, high=high)
    return _number(value, points=points)


def _end(value: float | None, say: Say, *, points: bool) -> str:
    return say("pages.unbounded") if value is None else _number(value, points=points)


def _number(value: float, *, points: bool) -> str:
    return f"{100 * value:+.2f} pp" if points else f"{value:.4g}"


def _analyses(judged: HypothesisVerdict, say: Say) -> Iterable[AnalysisView]:
    for name, stored in judged.analyses.items():
        answer = Answer(stored)
        sentence = answer.analysis.member("sentence") if answer.has_analysis else stored.get("reason")
        yield AnalysisView(name, str(sentence or say("pages.no_analysis")))
