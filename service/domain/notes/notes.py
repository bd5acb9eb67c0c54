"""What a verdict's sentence needs beside it: both languages, what to do next, and estimates of weak studies.

Made when a verdict is read. The stored verdict, whose hash the ledger holds, stays as it is.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pydantic import Field

from service.domain.notes.known_at_lock import known_at_lock
from service.domain.notes.next_size import TARGET
from service.domain.notes.next_steps import describe_next
from service.domain.notes.next_table import NextSizes
from service.domain.notes.said import (
    NO_WORDS,
    AnswerWords,
    ClauseWords,
    Words,
    answers_in_words,
    in_words,
    open_clauses,
    words_by,
)
from service.domain.notes.winners_curse import Exaggeration, exaggeration
from service.domain.plans.findings import Finding
from service.domain.plans.plan import Plan
from service.domain.power.answers.records import RulePower
from service.domain.rules.settings import Setting, resolve
from service.domain.verdicts.parts import absent
from service.domain.verdicts.records import HypothesisVerdict, Outcome, Verdict
from service.domain.verdicts.validity import Mark
from service.domain.verdicts.words.headline import Qualified, headline
from service.domain.verdicts.words.numbers import difference, points
from service.domain.verdicts.words.reasons import reason_message, reason_of
from service.domain.verdicts.words.sentences import sentence
from service.records import Record
from service.words import Value, list_values, message

ONE_DIRECTION = ("superiority", "minimum_effect")

QUALIFIED = Field(
    None,
    exclude_if=absent,
    description="How the headline qualifies an equivalence; not present where it does not.",
)
SHIP = Field(
    NO_WORDS,
    description="Whether it is safe to ship, as far as this can say; empty of a claim about one arm.",
)
KNOWN = Field(
    NO_WORDS, description="What lint knew of it at the lock that a reader of the first lines needs."
)
DECIDED = Field(
    NO_WORDS,
    description="What made the outcome, where that is a test beside a rule that does not hold; else empty.",
)
"""Fields that the hypothesis of a report has as well."""


class Note(Record):
    """Something to know beside an outcome."""

    code: str = Field(description="Stable, UPPER_SNAKE.")
    says: Words


class HypothesisSentences(Record):
    """An outcome in words."""

    hypothesis: str
    outcome: Outcome
    qualified: Qualified | None = QUALIFIED
    headline: Words = Field(
        description="The outcome as a person would say it: the arms, the estimate with its interval, and the rule."
    )
    open: Words = Field(description="What was not shown; empty where nothing is to be said.")
    ship: Words = SHIP
    known: Words = KNOWN
    decided: Words = DECIDED
    sentences: Words = Field(description="The English one is that of the verdict.")
    notes: tuple[Note, ...]
    next: Words = Field(description="What can be done, with how many items where the observed spread tells.")
    next_sizes: NextSizes | None = Field(
        None,
        exclude_if=absent,
        description="The same as a table, goal by goal, to be shown in its place; not present where no size is known.",
    )
    tests: tuple[AnswerWords, ...] = Field((), description="What every test said.")
    open_clauses: tuple[ClauseWords, ...] = Field(
        (), description="Why clauses cannot be decided, of those that say why."
    )
    reason: Words | None = Field(None, description="Why the outcome is not what the rule alone says.")


def sentences(
    plan: Plan, verdict: Verdict, powers: Mapping[str, RulePower], findings: Sequence[Finding] = ()
) -> tuple[HypothesisSentences, ...]:
    """Say every outcome in words, with its notes. `powers`: the plan's, by hypothesis; `findings`: its lock's."""
    resolved = resolve(plan)
    return tuple(
        _make_sentences(
            resolved.require(hypothesis.id), hypothesis, verdict.marks, powers.get(hypothesis.id), findings
        )
        for hypothesis in verdict.hypotheses
    )


def _make_sentences(
    setting: Setting,
    verdict: HypothesisVerdict,
    marks: Sequence[Mark],
    power: RulePower | None,
    findings: Sequence[Finding],
) -> HypothesisSentences:
    """Make every sentence on a hypothesis in all languages, from its headline to what to do next."""
    plan = setting.plan
    note, first = winners_curse(plan, verdict, power), headline(setting, verdict)
    following = describe_next(plan, verdict)
    return HypothesisSentences(
        hypothesis=verdict.id,
        outcome=verdict.outcome,
        qualified=first.qualified,
        headline=in_words(first.line),
        open=in_words(first.open),
        ship=in_words(first.ship),
        known=in_words(known_at_lock(plan, verdict, findings)),
        decided=in_words(first.decided),
        sentences=words_by(
            lambda language: (
                verdict.sentence if language == "en" else sentence(setting, verdict, marks, language)
            )
        ),
        notes=() if note is None else (note,),
        next=in_words(following.says),
        next_sizes=following.sizes,
        tests=answers_in_words(verdict),
        open_clauses=open_clauses(verdict),
        reason=None if verdict.reason is None else in_words(reason_of(verdict)),
    )


def marks_in_words(verdict: Verdict) -> tuple[Words, ...]:
    """Say what stands against a verdict, what each mark does, and to which hypotheses where not to all of them."""
    return tuple(
        in_words(
            message(
                f"notes.marks_{mark.effect}",
                mark=reason_message(mark.says),
                hypotheses=""
                if mark.hypotheses is None
                else message("notes.of_hypotheses", hypotheses=list_values(mark.hypotheses, "lists.comma")),
            )
        )
        for mark in verdict.marks
    )


def winners_curse(plan: Plan, verdict: HypothesisVerdict, power: RulePower | None) -> Note | None:
    """Note a claim that came out with little power for the SESOI: its estimate tends to be too large.

    None for other outcomes, enough power, or power nobody knows.
    """
    if verdict.outcome != "supported" or verdict.claim not in ONE_DIRECTION or verdict.delta is None:
        return None
    known = exaggeration(plan, verdict)
    if known is not None:
        return None if known.power >= TARGET else _describe_exaggeration(verdict, known)
    at = None if power is None or power.lead is None else power.lead.reference
    if power is None or at is None or at.power is None or at.power >= power.target_power:
        return None
    endpoint = plan.endpoint(verdict.endpoint)
    binary = endpoint is not None and endpoint.kind == "binary"
    given: Value = ""
    if at.discordance is not None:
        given = message("notes.given_discordant", share=f"{100 * at.discordance:g}")
    elif at.spread is not None:
        given = message("notes.given_sd", sd=f"{at.spread:.4g}")
    truth, share = difference(at.truth, binary=binary), f"{100 * at.power:.0f}%"
    return Note(
        code="WINNERS_CURSE",
        says=in_words(message("notes.weak_study", truth=truth, given=given, share=share)),
    )


def _describe_exaggeration(verdict: HypothesisVerdict, known: Exaggeration) -> Note:
    """Describe how far a supported result tends to exceed a true effect of SESOI size."""
    corrected = verdict.family is not None and verdict.family.policy != "none"
    return Note(
        code="WINNERS_CURSE",
        says=in_words(
            message(
                "notes.exaggerated",
                truth=points(known.truth),
                discordant=f"{100 * known.discordance:.3g}%",
                corrected=message("notes.before_correction") if corrected else "",
                share=_share(known.power),
                mean=points(known.mean),
                factor=f"{known.factor:.2g}",
                smaller=_share(known.smaller),
                seen=points(verdict.delta or 0.0),
            )
        ),
    )


def _share(chance: float) -> Value:
    """Return a chance as a share that is never rounded to none or all."""
    if chance < 0.01:
        return message("notes.less_than_1")
    return message("notes.more_than_99") if chance > 0.99 else f"{100 * chance:.0f}%"
