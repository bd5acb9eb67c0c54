"""What lint knew at the lock stands beside the outcome, of those whom it concerns."""

from __future__ import annotations

from typing import Any

import pytest

from service.domain.notes.known_at_lock import known_at_lock
from service.domain.plans.findings import Finding, error, warning
from service.words import message, text_of
from tests.domain.sample import binary, outcomes, plan, verdict_of

UNEVEN = message(
    "findings.uneven_clusters", n=134, variation="1.52", some=30, uneven=0.5
).text("en")  # fmt: skip
LOW = (
    "with a true difference of 2 pp (the SESOI) the rule would hold with a chance from 0.066 ± 0.01 (30% of items "
    "discordant) to 0.2 (5% of items discordant), below 0.8: state `assumptions` to narrow this; plan more items, or "
    "accept that the rule will often miss it"
)


def known(*findings: Finding, language: Any = "en") -> str:
    judged = verdict_of({}, outcomes(*binary(500, 200, 30, 20))).hypotheses[0]
    return text_of(known_at_lock(plan(), judged, findings), language)


def test_little_power_and_short_intervals_are_told_beside_the_outcome() -> None:
    findings = (
        warning("LOW_POWER", "hypotheses[0].rule", LOW),
        warning("CAUTION", "populations[0].clusters", UNEVEN),
    )
    assert known(*findings) == (
        "Foreseen at the lock: with a true difference of 2 pp (the SESOI, smallest effect of interest) the rule was "
        "to hold in about 7 to 20 of 100 studies, depending on how results vary; "
        "intervals over 134 clusters as uneven as these tend to be too short."
    )
    assert known(*findings, language="zh").startswith(
        "锁定时预计：若真实差异为 2 个百分点（SESOI，即最小关注效应量），规则预计在 100 次研究中约有 7 至 20 次成立"
    )


def test_little_power_of_one_arm_is_told_as_well() -> None:
    low = (
        "the rule would hold 0.15 of the time with a true mean of 75%. Below 0.8 a study that finds nothing says "
        "little: 0.21 with 76%, 0.75 with 82%"
    )
    assert known(warning("LOW_POWER", "hypotheses[0].rule", low)) == (
        "Foreseen at the lock: with a true mean of 75% the rule was to hold in about 15 of 100 studies."
    )


@pytest.mark.parametrize("small", ["1.8e-09", "1.8e-09 ± 1e-09", "<0.000001"])
def test_a_chance_that_nobody_can_imagine_is_one_in_so_many(small: str) -> None:
    low = LOW.replace("0.066 ± 0.01", small)
    assert known(warning("LOW_POWER", "hypotheses[0].rule", low)) == (
        "Foreseen at the lock: with a true difference of 2 pp (the SESOI, smallest effect of interest) the rule was "
        "to hold in fewer than 1 of 1,000,000 studies to about 20 of 100 studies, depending on how results vary."
    )
    assert "1,000,000 次研究中不到 1 次至 100 次研究中约有 20 次" in known(
        warning("LOW_POWER", "hypotheses[0].rule", low), language="zh"
    )


@pytest.mark.parametrize(
    ("low", "high", "studies"),
    [
        ("0.004", "0.2", "fewer than 1 of 100 studies to about 20 of 100 studies"),
        ("0.004", "0.0071", "fewer than 1 of 100 studies"),
        ("0.151", "0.149 ± 0.01", "about 15 of 100 studies"),
    ],
)
def test_chances_are_told_in_studies(low: str, high: str, studies: str) -> None:
    text = LOW.replace("0.066 ± 0.01", low).replace("to 0.2 (", f"to {high} (")
    said = known(warning("LOW_POWER", "hypotheses[0].rule", text))
    assert f"the rule was to hold in {studies}, depending on how" in said


def test_of_other_warnings_that_the_lock_asked_about_the_code_is_told() -> None:
    assert known(warning("LEVEL_EXCEEDED", "hypotheses[0].rule", "of another release")) == (
        "Foreseen at the lock: lint had asked about LEVEL_EXCEEDED."
    )


def test_what_concerns_others_or_is_advice_is_not_repeated() -> None:
    assert known() == ""
    assert known(warning("LEVEL_EXCEEDED", "hypotheses[7].rule", "elsewhere")) == ""
    assert known(warning("SIZE_NOT_TESTED", "hypotheses[0].rule", "advice")) == ""
    assert known(error("LEVEL_EXCEEDED", "hypotheses[0].rule", "no warning")) == ""
