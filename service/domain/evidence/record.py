"""The five pieces of evidence of a preregistration, from the record alone."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import Any

from pydantic import AwareDatetime, Field

from service.domain.checks.claim import asserts_claim
from service.domain.decision.members import P_FIELDS
from service.domain.deviations.classification import STRICTNESS, Classification
from service.domain.evidence.card import Check, Piece, piece, total, yes
from service.domain.notes.notes import HypothesisSentences, Note, marks_in_words
from service.domain.notes.said import Words, in_words, words_by
from service.domain.notes.since_lock import came_soon, describe_delay
from service.domain.plans.items.suite_items import find_population
from service.domain.plans.plan import Plan
from service.domain.plans.preregistration import Preregistration, State
from service.domain.power.answers.lead import half_at_most, name_of
from service.domain.power.answers.records import LeadPower, PowerAt, RulePower
from service.domain.results.unblinding import Unblinding, opened_message
from service.domain.rules.answers import Analysis, Answer
from service.domain.rules.claims.claim import WANTED
from service.domain.rules.feeding import parameter, takes_one_arm
from service.domain.rules.settings import Setting, Use, resolve
from service.domain.verdicts.records import Outcome, Verdict
from service.records import Record
from service.words import Message, list_values, message
from service.words.punctuation import sentences as sentences_in_line


@dataclass(frozen=True, slots=True)
class Known:
    """What the service knows of a record. Before the verdict none of it follows from outcomes."""

    record: Preregistration
    received: int
    expected: int
    lock_sequence: int | None
    """In the ledger."""
    first_batch_sequence: int | None
    first_result_at: datetime | None
    unblindings: Sequence[Unblinding]
    standing: Sequence[Classification]
    """Of every deviation."""
    powers: Mapping[str, RulePower]
    verdict: Verdict | None
    sentences: tuple[HypothesisSentences, ...]


class HypothesisCard(Record):
    """One hypothesis at a glance."""

    hypothesis: str
    about: Words = Field(
        description="What the claim is about: the means, a median or another quantile, or ranks."
    )
    n_planned: int | None
    power: float | None = Field(
        description="Of the whole rule at the true difference that `power_at` names; null where it is not known."
    )
    power_at: Words | None = Field(
        None,
        description="The SESOI for superiority, no difference for equivalence and non-inferiority, with the size.",
    )
    power_low: float | None = Field(
        None, description="The least power over what the plan leaves open; null where it leaves nothing open."
    )
    power_high: float | None = Field(None, description="The greatest.")
    power_limit: Words | None = Field(
        None, description="That the rule misses this difference half the time whatever the number of items."
    )
    power_curve: tuple[PowerAt, ...] = Field((), description="At other true differences.")
    power_reason: str | None = Field(None, description="Why power is null.")
    outcome: Outcome | None = Field(description="Null before the verdict.")
    sentences: Words | None = Field(description="The outcome in words; null before the verdict.")
    notes: tuple[Note, ...] = ()


class EvidenceCard(Record):
    """The five pieces of evidence of a record."""

    preregistration_id: str
    title: str | None
    state: State
    score: int
    most: int
    pieces: tuple[Piece, ...]
    locked_at: AwareDatetime | None
    first_result_at: AwareDatetime | None
    judged_at: AwareDatetime | None
    results_received: int
    results_expected: int
    deviations: dict[str, int] = Field(description="How many stand at each classification.")
    hypotheses: tuple[HypothesisCard, ...]
    marks: tuple[Words, ...] = Field((), description="What stands against the verdict, for good.")
    limits: Words = Field(description="What no record can prove.")


PROVEN = tuple(
    message(f"evidence.{what}") for what in ("shown_by_log", "shown_against_operator", "not_shown")
)
"""What a record shows, what it shows whoever runs the service, and what no record can."""


def limits_of(proven: Sequence[Message]) -> Words:
    """Return the sentences on what a record shows in one paragraph."""
    return words_by(lambda language: sentences_in_line([part.text(language) for part in proven], language))


def of_record(known: Known) -> EvidenceCard:
    """Score a record by what it proves."""
    record = known.record
    every = resolve(record.plan).settings
    primary = [setting for setting in every if _is_primary(setting)] or list(every)
    pieces = (
        _check_preregistration(known),
        _check_pairing(known, primary),
        _check_equivalence(known, primary),
        _check_clusters(known, primary),
        _check_stopping(known),
    )
    score, most = total(pieces)
    return EvidenceCard(
        preregistration_id=record.id,
        title=record.plan.title,
        state=record.state,
        score=score,
        most=most,
        pieces=pieces,
        locked_at=record.locked_at,
        first_result_at=known.first_result_at,
        judged_at=record.judged_at,
        results_received=known.received,
        results_expected=known.expected,
        deviations=dict(Counter(known.standing)),
        hypotheses=tuple(_list_cards(known)),
        marks=marks_of(known.verdict, known.unblindings),
        limits=limits_of(PROVEN),
    )


def marks_of(verdict: Verdict | None, unblindings: Sequence[Unblinding]) -> tuple[Words, ...]:
    """Return the marks of the verdict; before it, that results were opened."""
    if verdict is not None:
        return marks_in_words(verdict)
    return tuple(in_words(opened_message(unblinding)) for unblinding in unblindings)


def _is_primary(setting: Setting) -> bool:
    return setting.endpoint is not None and setting.endpoint.role == "primary"


def _check_lock(known: Known) -> Check:
    return yes(known.record.state != "draft", message("evidence.locked"))


def _blind(known: Known) -> Check:
    return yes(not known.unblindings, message("evidence.blind"))


def _check_preregistration(known: Known) -> Piece:
    """Check that the plan was locked before the first batch came in and names a primary endpoint.

    The log has when results were posted and not when runs were made. What came within an hour of the lock was most
    likely run before it, so such a record scores 1.
    """
    first, lock = known.first_batch_sequence, known.lock_sequence
    before = None if lock is None else first is None or lock < first
    ledger = (
        message("evidence.lock_first")
        if lock is None
        else message("evidence.lock_first_alone", lock=lock)
        if first is None
        else message("evidence.lock_first_known", lock=lock, first=first)
    )
    primary = any(endpoint.role == "primary" for endpoint in known.record.plan.endpoints or ())
    return piece(
        "preregistration",
        [
            _check_lock(known),
            yes(before, ledger),
            yes(primary, message("evidence.primary_named")),
            _blind(known),
            *_check_arrival(known),
        ],
        least=1,
    )


def _check_arrival(known: Known) -> Iterator[Check]:
    """Check that results did not all come so soon that the runs were older than the lock; nothing while one is due."""
    delay = known.record.last_result_after()
    if delay is not None:
        soon = came_soon(delay)
        key = "results_soon" if soon else "results_later"
        yield yes(not soon, message(f"evidence.{key}", delay=describe_delay(delay)))


def _check_pairing(known: Known, primary: Sequence[Setting]) -> Piece:
    """Check that every primary hypothesis rests on a paired test, named at lock and computed."""
    paired = {setting.hypothesis.id: any(map(_is_paired, _p_tests(setting))) for setting in primary}
    borne_out = {setting.hypothesis.id: asserts_claim(setting) for setting in primary}
    return piece(
        "paired_test",
        [
            _check_lock(known),
            _every("paired_p", paired),
            _every("claim_borne_out", borne_out),
            _check_computed(
                known,
                [
                    (setting, _find_tested_field(setting), {use.use.id for use in _p_tests(setting)})
                    for setting in primary
                ],
            ),
        ],
        least=2,
    )


def _p_tests(setting: Setting) -> list[Use]:
    """Tests that the rule asks for a p-value; of one arm a bound against its reference is that test turned around."""
    if setting.reference is not None:
        return [use for use in setting.uses.values() if takes_one_arm(use.test)]
    names = {clause.field.test for clause in setting.clauses if clause.field.path[-1] in P_FIELDS}
    return [use for name, use in setting.uses.items() if name in names]


def _find_tested_field(setting: Setting) -> str:
    """Return the field that shows a test to be computed."""
    return "p_value" if setting.reference is None else "sentence"


def _is_paired(use: Use) -> bool:
    plan = use.test.plan
    return plan is None or plan.pairs(partial(parameter, use.use))


def _is_equivalence(use: Use) -> bool:
    return use.test.plan is not None and use.test.plan.purpose == "equivalence"


def _check_equivalence(known: Known, primary: Sequence[Setting]) -> Piece:
    """Check that an equivalence claim has a margin locked with it, a test that can show it, and an answer."""
    sesoi = known.record.plan.sesoi or {}
    margins = {
        setting.hypothesis.id: setting.hypothesis.endpoint in sesoi or setting.reference is not None
        for setting in primary
    }
    # an interval of one arm shows both that it reaches its reference and that it falls short of it
    tests = {
        setting.index: {id for id, use in setting.uses.items() if _is_equivalence(use)}
        if setting.reference is None
        else {use.use.id for use in _p_tests(setting)}
        for setting in primary
    }
    return piece(
        "equivalence",
        [
            _check_lock(known),
            _every("margin_locked", margins),
            _every(
                "equivalence_named",
                {setting.hypothesis.id: bool(tests[setting.index]) for setting in primary},
            ),
            _every(
                "margin_shown",
                {
                    setting.hypothesis.id: asserts_claim(setting)
                    for setting in primary
                    if WANTED[setting.hypothesis.claim]
                },
                none=True,
            ),
            _check_computed(
                known, [(setting, _find_tested_field(setting), tests[setting.index]) for setting in primary]
            ),
        ],
        least=3,
    )


def _check_clusters(known: Known, primary: Sequence[Setting]) -> Piece:
    """Check that every primary hypothesis has an interval that respects its clusters, named at lock and computed."""
    suited = {
        setting.index: {use.use.id for use in setting.uses.values() if _respects(setting, use)}
        for setting in primary
    }
    grouped = [
        setting
        for setting in primary
        if setting.population is not None and setting.population.clusters is not None
    ]
    stated = bool(primary) and all(
        setting.population is not None
        and (setting.population.clusters is not None or setting.population.independence is not None)
        for setting in primary
    )
    # The record shows which items share a cluster; why the others are independent is the author's word.
    declared = (
        yes(stated, message("evidence.clusters_locked"))
        if len(grouped) == len(primary)
        else yes(stated, message("evidence.independence_stated"), by="author")
    )
    return piece(
        "clustered_interval",
        [
            _check_lock(known),
            declared,
            _every(
                "interval_named", {setting.hypothesis.id: bool(suited[setting.index]) for setting in primary}
            ),
            _check_computed(
                known,
                [
                    (
                        setting,
                        "ci" if setting.reference is None else _find_tested_field(setting),
                        suited[setting.index],
                    )
                    for setting in primary
                ],
            ),
        ],
        least=3,
    )


def _respects(setting: Setting, use: Use) -> bool:
    """An interval for clusters where there are clusters; any interval of a paired test where there are none."""
    intervals = "ci" in use.test.analysis.model_fields or takes_one_arm(use.test)
    if not intervals or setting.population is None or not _is_paired(use):
        return False
    takes = use.test.plan is not None and use.test.plan.clusters != "never"
    return takes or setting.population.clusters is None


def _check_stopping(known: Known) -> Piece:
    """Check that the collection ended as it was locked, and that no deviation undid it."""
    complete = known.received >= known.expected > 0
    worst = max(known.standing, key=STRICTNESS.index, default="accept")
    checks = [
        _check_lock(known),
        yes(known.record.plan.stopping is not None, message("evidence.stopping_locked")),
        _blind(known),
        yes(
            STRICTNESS.index(worst) < STRICTNESS.index("new_registration"), message("evidence.none_rejected")
        ),
        yes(
            complete if known.record.state != "draft" else None,
            message("evidence.results_in", received=known.received, expected=known.expected),
        ),
        yes(worst == "accept", message("evidence.all_accepted")),
        yes(known.verdict is not None or None, message("evidence.judged")),
    ]
    return piece("no_optional_stopping", checks, least=4)


def _every(key: str, holds: Mapping[str, bool], *, none: bool = False) -> Check:
    """Whether something holds of every hypothesis, and of which it does not. `none`: what is said of no hypothesis."""
    without = [name for name, held in holds.items() if not held]
    says = message(f"evidence.{key}")
    if without:
        says = message(
            "evidence.not_so", says=says, hypotheses=list_values(without, "lists.comma"), n=len(without)
        )
    return yes(not without if holds else none, says)


def _check_computed(known: Known, wanted: Sequence[tuple[Setting, str, set[str]]]) -> Check:
    """Tell whether the verdict holds these fields of one of the tests; null before the verdict.

    Where no test is named nothing can be in the verdict: that is said by the check of the names.
    """
    if known.verdict is None:
        return yes(None, message("evidence.computed_later"))
    judged = {hypothesis.id: hypothesis for hypothesis in known.verdict.hypotheses}
    if not any(tests for _setting, _name, tests in wanted):
        return yes(None, message("evidence.computed"))
    held = all(
        any(_has(Answer.of(judged[setting.hypothesis.id].analyses, test).analysis, name) for test in tests)
        for setting, name, tests in wanted
        if tests
    )
    return yes(held, message("evidence.computed"))


def _has(analysis: Analysis, name: str) -> bool:
    interval = analysis.interval(name)
    if interval is not None:
        return interval.low is not None or interval.high is not None
    return analysis.member(name) is not None or analysis.is_bound((name,))


def _list_cards(known: Known) -> Iterator[HypothesisCard]:
    """List a card for every hypothesis: its planned power, and after the verdict its outcome in words."""
    plan: Plan = known.record.plan
    sentences = {sentence.hypothesis: sentence for sentence in known.sentences}
    for hypothesis in plan.hypotheses or ():
        power, words = known.powers.get(hypothesis.id), sentences.get(hypothesis.id)
        lead = None if power is None or power.lead is None else power.lead
        at = None if lead is None else lead.reference
        population = find_population(plan, hypothesis.population)
        yield HypothesisCard(
            hypothesis=hypothesis.id,
            about=in_words(message(f"verdicts.about_{hypothesis.about or 'mean'}")),
            n_planned=None if population is None else population.n,
            power=None if at is None else at.power,
            **_power_in_words(lead),
            power_reason=None if at is not None and at.power is not None else _why(power),
            outcome=None if words is None else words.outcome,
            sentences=None if words is None else words.sentences,
            notes=() if words is None else words.notes,
        )


def _power_in_words(lead: LeadPower | None) -> dict[str, Any]:
    """Say where the power is told, its range, and the curve beside it."""
    if lead is None or lead.reference.power is None:
        return {}
    half = half_at_most(lead)
    return {
        "power_at": in_words(name_of(lead)),
        "power_low": None if lead.low is None else lead.low.power,
        "power_high": None if lead.high is None else lead.high.power,
        "power_limit": None if half is None else in_words(half),
        "power_curve": lead.curve,
    }


def _why(power: RulePower | None) -> str:
    if power is None:
        return "not worked out"
    return (power.lead.reference.reason if power.lead else None) or power.reason or "not worked out"
