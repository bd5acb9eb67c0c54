"""A hypothesis on the page of a record: what was planned, and how the verdict says it was judged."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Literal

from service.domain.notes.known_at_lock import known_at_lock
from service.domain.notes.next_steps import describe_next
from service.domain.notes.next_table import NextSizes
from service.domain.notes.said import answers_in_words
from service.domain.plans.findings import Finding
from service.domain.plans.plan import Plan
from service.domain.plans.sections.hypothesis import Claim, Hypothesis
from service.domain.rules.answers import Answer
from service.domain.rules.fields import EFFECT_FIELDS
from service.domain.rules.grammar import parse
from service.domain.rules.rule import Comparison, Excludes, Within, clauses
from service.domain.rules.rule import sentence as rule_text
from service.domain.rules.settings import Setting, resolve
from service.domain.verdicts.parts import Span
from service.domain.verdicts.records import ClauseVerdict, HypothesisVerdict
from service.domain.verdicts.validity import Mark
from service.domain.verdicts.words.headline import Figure, Headline, Qualified, headline
from service.domain.verdicts.words.levels import differing_levels, level_behind
from service.domain.verdicts.words.reasons import reason_message, reason_of
from service.domain.verdicts.words.sentences import sentence
from service.errors import ForelockError
from service.reports.verdict.words import quantity_text, sizes_table
from service.web.html.speech import Say
from service.web.preregistrations.strips import Strip, strips_of, strips_of_record
from service.web.preregistrations.views import (
    AnalysisView,
    ClauseView,
    HypothesisView,
    JudgedView,
    SizesView,
)
from service.words import Language, Value, text_of

OUTCOMES = {
    "supported": "pages.outcome_supported",
    "not_supported": "pages.outcome_not_supported",
    "equivalent": "pages.outcome_equivalent",
    "inconclusive": "pages.outcome_inconclusive",
    "invalid": "pages.outcome_invalid",
}
QUALIFIED: Mapping[Qualified, str] = {
    "uncorrected": "pages.outcome_equivalent_uncorrected",
    "narrowly": "pages.outcome_equivalent_narrowly",
}
"""Labels of an equivalence that its headline qualifies."""


def label_of(outcome: str, how: Qualified | None) -> str:
    """The code of an outcome's label, which qualifies an equivalence as its headline does."""
    return OUTCOMES[outcome] if how is None else QUALIFIED[how]


TRUTHS = {True: "holds", False: "fails", None: "unknown"}
CLAIMS: Mapping[Claim, str] = {
    "superiority": "pages.superiority",
    "non_inferiority": "pages.non_inferiority",
    "minimum_effect": "pages.minimum_effect",
    "equivalence": "pages.equivalence",
    "at_least": "pages.at_least",
}


Unit = Literal["pp", "%", ""]
"""What an effect of a right or wrong endpoint is shown in: points of two arms, per cent of one."""


def hypotheses_view(
    plan: Plan,
    judged: Mapping[str, HypothesisVerdict],
    marks: Sequence[Mark],
    say: Say,
    findings: Sequence[Finding] = (),
) -> tuple[HypothesisView, ...]:
    """Every hypothesis of a plan; the intervals of those that are judged lie on one scale where they can."""
    resolved, hypotheses = resolve(plan), plan.hypotheses or ()
    settings = {id: resolved.require(id) for id in judged}
    firsts = {id: headline(settings[id], verdict) for id, verdict in judged.items()}
    figures = [firsts[planned.id].figure if planned.id in judged else None for planned in hypotheses]
    return tuple(
        HypothesisView(
            id=planned.id,
            statement=planned.statement,
            comparison=_say_comparison(planned, say),
            rule=judged[planned.id].rule if planned.id in judged else canonical(planned.rule),
            judged=_view_judged(
                settings[planned.id],
                judged[planned.id],
                firsts[planned.id],
                strip,
                marks,
                say,
                known_at_lock(plan, judged[planned.id], findings),
            )
            if planned.id in judged
            else None,
        )
        for planned, strip in zip(hypotheses, strips_of_record(figures), strict=True)
    )


def _say_comparison(planned: Hypothesis, say: Say) -> str:
    """Say what is claimed of the candidate, and against which baseline or reference."""
    parts = {
        "claim": say(CLAIMS[planned.claim]),
        "candidate": planned.candidate,
        "endpoint": planned.endpoint,
        "population": planned.population,
    }
    reference = planned.reference
    if reference is not None:
        unit = "%" if reference.unit == "%" else ""
        parts["reference"] = f"{reference.value:.10g}{unit}"
        return say("pages.claim_candidate_at_reference", **parts)
    return say("pages.claim_candidate_against_baseline_endpoint", baseline=str(planned.baseline), **parts)


def canonical(rule: str) -> str:
    """The canonical sentence; a draft's rule that does not parse is shown as written."""
    try:
        return rule_text(parse(rule))
    except ForelockError:
        return rule


def _view_judged(
    setting: Setting,
    judged: HypothesisVerdict,
    first: Headline,
    strip: Strip | None,
    marks: Sequence[Mark],
    say: Say,
    known: Value,
) -> JudgedView:
    """Make the view of what the verdict says of a hypothesis, in the page's language.

    The English sentence is the stored one.
    """
    plan, text = setting.plan, judged.sentence
    if say.language != "en":  # the English one is stored with the verdict
        text = sentence(setting, judged, marks, say.language)
    endpoint = plan.endpoint(judged.endpoint)
    binary = endpoint is not None and endpoint.collapsed_kind == "binary"
    unit: Unit = "" if not binary else "pp" if judged.reference is None else "%"
    effects = {
        str(clause)
        for clause in clauses(parse(judged.rule))
        if clause.field.path[0] in EFFECT_FIELDS
        and plan.reads(clause.field.test or "", judged.endpoint) == judged.endpoint
    }
    intervals = ((test, Answer.of(judged.analyses, test).analysis.interval("ci")) for test in judged.analyses)
    levels = differing_levels((test, interval.level) for test, interval in intervals if interval is not None)
    looks = plan.stopping is not None and plan.stopping.kind != "fixed_n"
    # What a plan with looks did not come to was not left out of what it judged.
    left_out = judged.excluded.pairs if looks else judged.n_planned - judged.n
    filled = judged.excluded.filled
    following = describe_next(plan, judged)
    return JudgedView(
        outcome=judged.outcome,
        label=say(label_of(judged.outcome, first.qualified)),
        unsettled=first.qualified is not None,
        headline=first.line.text(say.language),
        open=text_of(first.open, say.language),
        ship=text_of(first.ship, say.language),
        known=text_of(known, say.language),
        decided=text_of(first.decided, say.language),
        strip=strip,
        slice_strips=slice_strips(judged),
        sentence=text,
        next=following.says.text(say.language),
        next_sizes=view_sizes(following.sizes, say.language),
        reason="" if judged.reason is None else reason_of(judged).text(say.language),
        n=say("pages.n_of_planned_planned_items", n=judged.n, planned=judged.n_planned)
        + (say("pages.n_left_out", n=left_out) if left_out else "")
        + (say("pages.n_of_them_filled_in", n=filled) if filled else ""),
        clauses=tuple(
            _view_clause(clause, say, unit if clause.text in effects else "", levels)
            for clause in judged.clauses
        ),
        analyses=tuple(_analyses(judged, say)),
    )


def view_sizes(sizes: NextSizes | None, language: Language) -> SizesView | None:
    """Return the table of a next study in the page's language; None where there is none."""
    if sizes is None:
        return None
    head, rows = sizes_table(sizes, language)
    return SizesView(sizes.lead.of(language), head, rows, [note.of(language) for note in sizes.notes])


def slice_strips(judged: HypothesisVerdict) -> tuple[Strip | None, ...]:
    """The intervals of the slices in their order, on one scale; None for each that has none."""
    return tuple(strips_of([*_slice_figures(judged)]))


def _slice_figures(judged: HypothesisVerdict) -> Iterable[Figure | None]:
    """The numbers of every slice, against no difference and the margin."""
    if judged.slices is None:
        return
    for slice_ in judged.slices.slices:
        if slice_.delta is None or slice_.ci is None:
            yield None
        else:
            yield Figure(slice_.delta, slice_.ci.low, slice_.ci.high, 0.0, judged.slices.no_worse_than)


def _view_clause(clause: ClauseVerdict, say: Say, unit: Unit, levels: Mapping[str, float]) -> ClauseView:
    """Make the view of a clause: what was observed, in this unit, its threshold, and whether it holds."""
    before = None if clause.unadjusted is None else _number(clause.unadjusted, say, "")
    return ClauseView(
        text=clause.text,
        observed=_observed(clause.observed, say, unit)
        + level_behind(clause, levels, say.language)
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
            low, high = (quantity_text(end, say.language) for end in (planned.low, planned.high))
            return say("pages.low_to_high", low=low, high=high)
        case Comparison() | Excludes():
            return quantity_text(planned.value, say.language)
        case _:
            return _observed(clause.threshold, say, "")


def _observed(value: float | Span | bool | None, say: Say, unit: Unit) -> str:
    if value is None or (isinstance(value, Span) and value.low is None and value.high is None):
        return say("pages.undefined")
    if isinstance(value, bool):
        return say("pages.true") if value else say("pages.false")
    if isinstance(value, Span):
        low, high = (_end(end, say, unit) for end in (value.low, value.high))
        return say("pages.low_to_high", low=low, high=high)
    return _number(value, say, unit)


def _end(value: float | None, say: Say, unit: Unit) -> str:
    return say("pages.unbounded") if value is None else _number(value, say, unit)


def _number(value: float, say: Say, unit: Unit) -> str:
    if unit == "%":
        return f"{100 * value:.2f}%"
    return say("units.points", value=f"{100 * value:+.2f}") if unit else f"{value:.4g}"


def _analyses(judged: HypothesisVerdict, say: Say) -> Iterable[AnalysisView]:
    for answer in answers_in_words(judged):
        text = answer.says.of(say.language)
        english = say.language != "en" and bool(text) and text.startswith(answer.says.en)
        yield AnalysisView(answer.id, text or say("pages.no_analysis"), english)
