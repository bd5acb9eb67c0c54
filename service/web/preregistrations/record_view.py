"""What the pages show, made from records: pure, and without a thing that follows from an unread outcome."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import date, datetime

from service.actions.verdicts.overviews import Judged
from service.actions.verdicts.overviews import Progress as Counted
from service.domain.notes.notes import marks_in_words
from service.domain.notes.since_lock import SinceLock
from service.domain.outgoing import Link, LinkKind
from service.domain.plans.family import FamilyPlace
from service.domain.plans.plan import Plan
from service.domain.plans.preregistration import Preregistration, State
from service.domain.plans.sections.arms import ArmCard
from service.domain.results.unblinding import Erasure, Unblinding, opened_message
from service.domain.verdicts.records import Verdict
from service.domain.verdicts.words.headline import qualified
from service.domain.verdicts.words.reasons import multiplicity_message
from service.store.plans.record_lists import RecordLine
from service.web.html.speech import ENGLISH, Say
from service.web.html.times import TimeView, time_view
from service.web.preregistrations.findings_view import merge_findings
from service.web.preregistrations.hypothesis_view import hypotheses_view, label_of
from service.web.preregistrations.views import Happened, Line, LinkView, OutcomeView, Page, Progress
from service.words import Listed, Message, list_values, message

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
NAMED = "pages.arm_named"
PUBLISHED, EMBARGO_OVER, EMBARGO = "pages.published", "pages.embargo_over", "pages.under_embargo"
KINDS: Mapping[LinkKind, str] = {
    "wandb": "Weights & Biases",
    "weave": "Weave",
    "langfuse": "Langfuse",
    "braintrust": "Braintrust",
    "mlflow": "MLflow",
    "other": "",
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
    under_embargo: bool = False,
    overdue: bool = False,
    family: FamilyPlace | None = None,
    happened: tuple[Happened, ...] = (),
    unblindings: Sequence[Unblinding] = (),
    erasure: Erasure | None = None,
    links: Sequence[Link] = (),
    arms: Sequence[ArmCard] = (),
    first_result: datetime | None = None,
    since_lock: SinceLock | None = None,
    proven: Sequence[Message] = (),
    say: Say = ENGLISH,
) -> Page:
    """Return the page; `verdict` is None until the record is judged, `failed` that its computation failed.

    `arms` are the plan's cards with what was named of them; without any they are the plan's.
    """
    plan = record.plan
    judged = {} if verdict is None else {hypothesis.id: hypothesis for hypothesis in verdict.hypotheses}
    marks = () if verdict is None else verdict.marks
    stated = [message(FAILED if failed else STATES[record.state])]
    if since_lock is not None:
        stated.append(since_lock.timing)  # a reader meets "locked before" and by how much at once
    return Page(
        id=record.id,
        title=title_of(plan.title, say),
        authors=tuple(author.text() for author in plan.authors or ()),
        state=record.state,
        state_sentence=list_values(stated, "lists.sentences").text(say.language),
        version=record.version,
        plan_sha256=record.plan_sha256 or "",
        populations=tuple(_say_populations(plan, say)),
        arms=tuple((card.id, card.line()) for card in arms or plan.arm_cards or () if card.line()),
        hypotheses=hypotheses_view(plan, judged, marks, say, record.lint or ()),
        multiplicity="" if verdict is None else multiplicity_message(verdict.multiplicity).text(say.language),
        warnings=merge_findings(
            plan, (finding for finding in record.lint or () if finding.severity == "warning")
        ),
        progress=progress,
        timeline=(
            *_view_times(record, first_result, say),
            *(event.what for event in happened if event.what.what == say(WITHDRAWN)),
        ),
        since_lock="" if since_lock is None else _since(since_lock).text(say.language),
        proven=tuple((say(f"{part.code}_lead"), part.text(say.language)) for part in proven),
        voided=()
        if verdict is None
        else tuple((batch.batch, batch.reason) for batch in verdict.voided_batches),
        overdue=overdue,
        embargo=say(EMBARGO, day=str(plan.embargo_until)) if under_embargo else "",
        family="" if family is None else say(FAMILY, number=family.registration, of=family.of),
        happened=happened,
        marks=tuple(_marks(verdict, unblindings, erasure, say)),
        links=tuple(
            LinkView(link.name, KINDS[link.kind], link.url, link.external_id or "") for link in links
        ),
    )


def _since(since_lock: SinceLock) -> Listed | Message:
    """What happened since the lock; where results came soon after it, that again: it takes away much of the rest."""
    return since_lock.sentence if since_lock.soon else since_lock.happened


def _marks(
    verdict: Verdict | None, unblindings: Sequence[Unblinding], erasure: Erasure | None, say: Say
) -> Iterable[str]:
    """Yield those of the verdict, or before it that results were opened; and that the rows are gone."""
    if verdict is not None:
        yield from (getattr(mark, say.language) for mark in marks_in_words(verdict))
    else:
        yield from (opened_message(unblinding).text(say.language) for unblinding in unblindings)
    if erasure is not None:
        at = f"{erasure.at:%Y-%m-%d %H:%M} UTC"
        yield say(ERASED, at=at, reason=erasure.reason)


def line_of(
    record: RecordLine,
    judged: Sequence[Judged] | None,
    progress: Counted | None = None,
    today: date | None = None,
    say: Say = ENGLISH,
) -> Line:
    """Return the record's line in the list; `judged` is None when its verdict was altered."""
    return Line(
        id=record.id,
        title=title_of(record.title, say),
        state=say(STATE_WORDS[record.state]),
        created=time_view("", record.created_at),
        outcomes=tuple(_view_outcome(each, say) for each in judged or ()),
        where=record.state,
        progress=None if progress is None else Progress(progress.received, progress.expected),
        altered=record.altered or judged is None,
        overdue=today is not None and record.overdue(today),
    )


def _view_outcome(judged: Judged, say: Say) -> OutcomeView:
    """Return the outcome of a hypothesis in the list: without a headline where its plan is not what was judged."""
    line = judged.line
    how = None if line is None else qualified(line)
    return OutcomeView(
        judged.hypothesis,
        judged.outcome,
        label=say(label_of(judged.outcome, how)),
        unsettled=how is not None,
        headline="" if line is None else line.text(say.language),
    )


def title_of(title: str | None, say: Say) -> str:
    """Return a plan's title; a draft may lack one."""
    return title or say(UNTITLED)


def _view_times(record: Preregistration, first_result: datetime | None, say: Say) -> Iterable[TimeView]:
    """Yield the moments of a record that have come, in their order."""
    for what, when in (
        (say("pages.created"), record.created_at),
        (say("pages.locked"), record.locked_at),
        (say("pages.first_result_in"), first_result),
        (say("pages.last_result_in"), record.complete_at),
        (say("pages.judged"), record.judged_at),
    ):
        if when is not None:
            yield time_view(what, when)


def _say_populations(plan: Plan, say: Say) -> Iterable[str]:
    """Yield each population in words, with its items and clusters, then each suite with its tasks and weights."""
    for population in plan.populations or ():
        if population.clusters is not None:
            n_clusters, key = population.clusters.n, population.clusters.key
            grouped = say("pages.n_items_in_n_clusters", n=population.n, n_clusters=n_clusters, key=key)
        elif population.independence:
            grouped = say("pages.n_items_independent_why", n=population.n, why=population.independence)
        else:
            grouped = say("pages.n_items", n=population.n)
        yield f"{population.id}{say('lists.colon')}{population.dataset}{say('lists.note', note=grouped)}"
    for suite in plan.suites or ():
        weights = suite.weights if isinstance(suite.weights, str) else "named"
        tasks = say("lists.comma").join(suite.populations)
        yield say("pages.suite", name=suite.id, tasks=tasks, weights=say(f"verdicts.suite_{weights}"))
