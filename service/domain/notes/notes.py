"""What a verdict's sentence needs beside it: both languages, what to do next, and estimates of weak studies.

Made when a verdict is read. The stored verdict, whose hash the ledger holds, stays as it is.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pydantic import Field

from service.domain.notes.next_steps import TARGET, next_step
from service.domain.notes.winners_curse import Exaggeration, exaggeration
from service.domain.plans.plan import Plan
from service.domain.power.records import RulePower
from service.domain.verdicts.records import HypothesisVerdict, Outcome, Verdict
from service.domain.verdicts.validity import Mark
from service.domain.verdicts.words.chinese import amount_zh, sentence_zh
from service.domain.verdicts.words.chinese_reasons import reason_zh
from service.domain.verdicts.words.facts import interval_of
from service.domain.verdicts.words.numbers import points, score
from service.records import Record

ONE_DIRECTION = ("superiority", "minimum_effect")


class Words(Record):
    """The same said in two languages."""

    en: str
    zh: str


class Note(Record):
    """Something to know beside an outcome."""

    code: str = Field(description="Stable, UPPER_SNAKE.")
    says: Words


class HypothesisSentences(Record):
    """An outcome in words."""

    hypothesis: str
    outcome: Outcome
    sentences: Words = Field(description="The English one is that of the verdict.")
    notes: tuple[Note, ...]
    next: Words = Field(description="What can be done, with how many items where the observed spread tells.")


def sentences(
    plan: Plan, verdict: Verdict, powers: Mapping[str, RulePower]
) -> tuple[HypothesisSentences, ...]:
    """Every outcome in words, with its notes. `powers` are those of the plan, by hypothesis."""
    return tuple(
        HypothesisSentences(
            hypothesis=found.id,
            outcome=found.outcome,
            sentences=Words(en=found.sentence, zh=_chinese(plan, found, verdict.marks)),
            notes=tuple(
                note for note in [winners_curse(plan, found, powers.get(found.id))] if note is not None
            ),
            next=_next(plan, found),
        )
        for found in verdict.hypotheses
    )


def _next(plan: Plan, found: HypothesisVerdict) -> Words:
    en, zh = next_step(plan, found)
    return Words(en=en, zh=zh)


def _chinese(plan: Plan, found: HypothesisVerdict, marks: Sequence[Mark]) -> str:
    return sentence_zh(plan, found, interval_of(plan, found), marks)


def marks_in_words(verdict: Verdict) -> tuple[Words, ...]:
    """What stands against a verdict, each with what it does."""
    effects = {
        "invalid": ("Outcomes are invalid", "结论无效"),
        "flag": ("Outcomes stand, marked", "结论保留,但带有标记"),
    }
    return tuple(
        Words(
            en=f"{effects[each.effect][0]}: {each.says}{_of(each, ' (', ', ', ')')}.",
            zh=f"{effects[each.effect][1]}:{reason_zh(each.says)}{_of(each, '(', '、', ')')}。",
        )
        for each in verdict.marks
    )


def _of(mark: Mark, begin: str, between: str, end: str) -> str:
    """The hypotheses that a mark concerns, where it is not all of them."""
    return "" if mark.hypotheses is None else begin + between.join(mark.hypotheses) + end


def winners_curse(plan: Plan, found: HypothesisVerdict, power: RulePower | None) -> Note | None:
    """A claim that came out although the study had little power for the SESOI: its estimate tends to be too large.

    None for other outcomes, enough power, or power nobody knows.
    """
    if found.outcome != "supported" or found.claim not in ONE_DIRECTION or found.delta is None:
        return None
    known = exaggeration(plan, found)
    if known is not None:
        return None if known.power >= TARGET else _weighed(found, known)
    at = None if power is None or power.lead is None else power.lead.reference
    if power is None or at is None or at.power is None or at.power >= power.target_power:
        return None
    endpoint = plan.endpoint(found.endpoint)
    binary = endpoint is not None and endpoint.kind == "binary"
    if at.discordance is not None:
        given = (
            f" with {100 * at.discordance:g}% discordant items",
            f"、{100 * at.discordance:g}% 的题目不一致",
        )
    else:
        given = (
            ("", "")
            if at.spread is None
            else (f" with an SD of {at.spread:.4g}", f"、标准差为 {at.spread:.4g}")
        )
    truth = f"{points(at.truth)} pp" if binary else score(at.truth)
    share = f"{100 * at.power:.0f}%"
    return Note(
        code="WINNERS_CURSE",
        says=Words(
            en=f"If the true difference were {truth}{given[0]}, this rule would hold in about {share} of such "
            "studies. Among results that pass a rule this seldom, estimates exceed the true difference on average; by "
            "how much is worked out for independent right and wrong answers alone. This does not undo the outcome.",
            zh=f"若真实差异为 {amount_zh(at.truth, binary)}{given[1]},同类研究中约有 {share} 会通过此规则。"
            "规则越难通过,通过者的估计值平均越高于真实差异;高出多少仅对相互独立的对错结果计算。这并不推翻结论。",
        ),
    )


def _weighed(found: HypothesisVerdict, known: Exaggeration) -> Note:
    truth, mean, seen = (f"{points(each)}" for each in (known.truth, known.mean, found.delta or 0.0))
    (share, share_zh), (smaller, smaller_zh) = (_share(each) for each in (known.power, known.smaller))
    discordant = f"{100 * known.discordance:.3g}%"
    corrected = found.family is not None and found.family.policy != "none"
    before = (
        (", before the correction for several hypotheses,", "(未计多重比较校正)") if corrected else ("", "")
    )
    return Note(
        code="WINNERS_CURSE",
        says=Words(
            en=f"If the true difference were the smallest of interest, {truth} pp, with {discordant} of items "
            f"discordant, this rule{before[0]} would hold in {share} of such studies, and their estimates would "
            f"average {mean} pp, {known.factor:.2g} times the true one. Of all such studies {smaller} would find less "
            f"than {seen} pp. This does not undo the outcome.",
            zh=f"若真实差异恰为最小关注效应量 {truth} 个百分点、{discordant} 的题目不一致,同类研究中有 {share_zh} "
            f"会通过此规则{before[1]},其估计值平均为 {mean} 个百分点,是真实差异的 {known.factor:.2g} 倍。"
            f"全部此类研究中有 {smaller_zh} 的估计值低于 {seen} 个百分点。这并不推翻结论。",
        ),
    )


def _share(chance: float) -> tuple[str, str]:
    """A chance as a share that is never rounded to none or all."""
    if chance < 0.01:
        return "less than 1%", "不到 1%"
    return ("more than 99%", "超过 99%") if chance > 0.99 else (f"{100 * chance:.0f}%",) * 2
