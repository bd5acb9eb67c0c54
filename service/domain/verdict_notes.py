"""What a verdict's sentence needs beside it: both languages, and a warning about estimates of weak studies.

Made when a verdict is read. The stored verdict, whose hash the ledger holds, stays as it is.
"""

from __future__ import annotations

from collections.abc import Mapping

from pydantic import BaseModel, ConfigDict, Field

from service.domain.plan import Plan
from service.domain.reading import read_interval
from service.domain.rule_grammar import parse
from service.domain.rule_power_records import RulePower
from service.domain.verdict_records import HypothesisVerdict, Outcome, Verdict
from service.domain.verdict_words_zh import amount_zh, sentence_zh
from service.stats.common import percent

ONE_DIRECTION = ("superiority", "minimum_effect")


class Record(BaseModel):
    """Closed and immutable."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)


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


def sentences(
    plan: Plan, verdict: Verdict, powers: Mapping[str, RulePower]
) -> tuple[HypothesisSentences, ...]:
    """Every outcome in words, with its notes. `powers` are those of the plan, by hypothesis."""
    return tuple(
        HypothesisSentences(
            hypothesis=found.id,
            outcome=found.outcome,
            sentences=Words(en=found.sentence, zh=_chinese(plan, found)),
            notes=tuple(
                note for note in [winners_curse(plan, found, powers.get(found.id))] if note is not None
            ),
        )
        for found in verdict.hypotheses
    )


def _chinese(plan: Plan, found: HypothesisVerdict) -> str:
    hypothesis = plan.hypothesis(found.id)
    read = None
    if hypothesis is not None:
        read = read_interval(plan, hypothesis, parse(hypothesis.rule), found.analyses)
    return sentence_zh(plan, found, read)


def winners_curse(plan: Plan, found: HypothesisVerdict, power: RulePower | None) -> Note | None:
    """A claim that came out although the study had little power for the SESOI: its estimate tends to be too large.

    None for other outcomes, enough power, or power nobody knows.
    """
    if found.outcome != "supported" or found.claim not in ONE_DIRECTION or found.delta is None:
        return None
    at = None if power is None else power.reference
    if power is None or at is None or at.power is None or at.power >= power.target_power:
        return None
    endpoint = plan.endpoint(found.endpoint)
    binary = endpoint is not None and endpoint.kind == "binary"
    if at.discordance is not None:
        given = (
            f" with {100 * at.discordance:g} % discordant items",
            f"、{100 * at.discordance:g}% 的题目不一致",
        )
    else:
        given = ("" if at.spread is None else f" with an SD of {at.spread:.4g}", "")
    truth, seen = (percent(each) if binary else f"{each:+.4g}" for each in (at.truth, found.delta))
    share = f"{100 * at.power:.0f}"
    return Note(
        code="WINNERS_CURSE",
        says=Words(
            en=f"If the true difference were {truth}{given[0]}, this rule would hold in about {share} % of such "
            f"studies. Among results that pass a rule this seldom, estimates lie above the true difference on average: "
            f"a replication is likely to find less than {seen}. This does not undo the outcome.",
            zh=f"若真实差异为 {amount_zh(at.truth, binary)}{given[1]},同类研究中约有 {share}% 会通过此规则。"
            f"规则越难通过,通过者的估计值平均越高于真实差异:重复研究得到的差异很可能低于 "
            f"{amount_zh(found.delta, binary)}。这并不推翻结论。",
        ),
    )
