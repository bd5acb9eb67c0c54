"""Whether it is safe to ship: what a verdict can say of it, and plainly that it says nothing where nobody asked."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any

import pytest

from service import words
from service.domain.rules.settings import resolve
from service.domain.verdicts.words.headline import headline
from service.words import text_of
from tests.domain.sample import VALUE, binary, outcomes, plan, verdict_of

EQUIVALENCE = {
    "tests.1": {"id": "eq", "test": "equivalence", "version": 1, "parameters": {"method": "tango"}},
    "hypotheses.0.equivalence": "eq",
}
BY_RULE = {"hypotheses.0.claim": "equivalence", "hypotheses.0.rule": "m.ci within (-2 pp, 2 pp)"}
NO_WORSE = {"hypotheses.0.claim": "non_inferiority", "hypotheses.0.rule": "m.ci.low > -2 pp"}
ALSO_NO_WORSE = {
    "hypotheses.1": {
        **VALUE["hypotheses"][0], "id": "H2", "claim": "non_inferiority", "rule": "m.ci.low > -2 pp",
    },
}  # fmt: skip

TWO_WITH_EQUIVALENCE = {
    **EQUIVALENCE,
    "hypotheses.1": {**VALUE["hypotheses"][0], "id": "H2"},
    "multiplicity.family": ["H1", "H2"],
}
UNCORRECTED = {**ALSO_NO_WORSE, **NO_WORSE, "multiplicity.family": ["H1", "H2"]}


def ships(changes: dict[str, Any], counts: tuple[int, int, int, int], language: Any = "en") -> str:
    changes = {"populations.0.n": counts[0], **changes}
    verdict = verdict_of(changes, outcomes(*binary(*counts))).hypotheses[0]
    return text_of(headline(resolve(plan(changes)).require(verdict.id), verdict).ship, language)


@pytest.mark.parametrize(
    ("changes", "counts", "says"),
    [
        ({}, (500, 300, 40, 10), "Yes, as far as the endpoint accuracy goes: C2 is shown to be better."),
        (
            {},
            (500, 200, 30, 20),
            "Not known: the 95% CI reaches 0.80 pp worse, and no hypothesis or equivalence test of the plan asks "
            "whether it is no worse than C1 in the endpoint accuracy.",
        ),
        ({}, (500, 200, 10, 40), "The interval speaks against it: -8.94 to -3.37 pp, all on the worse side."),
        (
            EQUIVALENCE,
            (4000, 2000, 20, 20),
            "Yes, as far as the endpoint accuracy goes: the plan's equivalence test excludes worse "
            "than C1 by 2.00 pp or more (90% CI reaches -0.27 pp).",
        ),
        (
            EQUIVALENCE,
            (500, 200, 30, 20),
            "Not shown: the equivalence test beside the rule does not tell.",
        ),
        (
            NO_WORSE,
            (4000, 2000, 20, 20),
            "Yes, as far as the endpoint accuracy goes: worse than C1 by 2.00 pp or more is ruled out (95% CI "
            "reaches -0.32 pp).",
        ),
        (
            NO_WORSE,
            (2000, 800, 190, 190),
            "Only just, as far as the endpoint accuracy goes: worse than C1 by 2.00 pp or more is ruled out (95% CI "
            "reaches -1.92 pp).",
        ),
        (
            UNCORRECTED,
            (2000, 800, 190, 190),
            "Not settled, as far as the endpoint accuracy goes: worse than C1 by 2.00 pp or more is ruled out "
            "(95% CI reaches -1.92 pp, uncorrected for 2 hypotheses).",
        ),
        (
            UNCORRECTED,
            (4000, 2000, 20, 20),
            "Yes, as far as the endpoint accuracy goes: worse than C1 by 2.00 pp or more is ruled "
            "out (95% CI reaches -0.32 pp, uncorrected for 2 hypotheses).",
        ),
        (
            TWO_WITH_EQUIVALENCE,
            (1000, 400, 60, 60),
            "Not settled, as far as the endpoint accuracy goes: the plan's equivalence test excludes worse "
            "than C1 by 2.00 pp or "
            "more (90% CI reaches -1.82 pp, and the rule's 95% CI -2.17 pp). But corrected for 2 hypotheses "
            "it would not pass (its p-value of 0.0354 times 2 is not below 0.05; the plan asks for no correction).",
        ),
        (
            TWO_WITH_EQUIVALENCE,
            (1050, 450, 56, 56),
            "Not settled, as far as the endpoint accuracy goes: the plan's equivalence test excludes worse "
            "than C1 by 2.00 pp or "
            "more (90% CI reaches -1.67 pp, and the rule's 95% CI -2.002 pp). But corrected for 2 hypotheses "
            "it would not pass (its p-value of 0.0251 times 2 is not below 0.05; the plan asks for no correction).",
        ),
        (
            EQUIVALENCE,
            (1000, 400, 60, 60),
            "Only just, as far as the endpoint accuracy goes: the plan's equivalence test excludes worse than "
            "C1 by 2.00 pp or more "
            "(90% CI reaches -1.82 pp, and the rule's 95% CI -2.17 pp).",
        ),
        (NO_WORSE, (500, 200, 10, 20), "Not shown: worse than C1 by 2.00 pp or more is not ruled out."),
        (BY_RULE, (500, 200, 10, 20), "Not shown: worse than C1 by 2.00 pp or more is not ruled out."),
        (ALSO_NO_WORSE, (500, 200, 30, 20), "That is what H2 asks."),
    ],
)
def test_a_verdict_says_what_it_can_of_shipping(
    changes: dict[str, Any], counts: tuple[int, int, int, int], says: str
) -> None:
    assert ships(changes, counts) == f"Safe to ship? {says}"
    assert ships(changes, counts, "zh").startswith("能否放心上线？")


def test_a_claim_about_other_items_does_not_answer_for_these() -> None:
    elsewhere = {**ALSO_NO_WORSE, "hypotheses.1": {**ALSO_NO_WORSE["hypotheses.1"], "candidate": "C3"}}
    verdict = verdict_of({"populations.0.n": 500}, outcomes(*binary(500, 200, 30, 20))).hypotheses[0]
    setting = resolve(plan({"populations.0.n": 500, **elsewhere})).require(verdict.id)
    assert ", and no hypothesis or equivalence test" in text_of(headline(setting, verdict).ship, "en")


def test_in_chinese_what_it_is_about_stands_before_what_is_said_of_it() -> None:
    """Its Chinese ends with a comma, and was put before a full stop: `或更多按每一个任务，。`."""
    path = Path(words.__file__).parent / "zh" / "headlines.toml"
    said = tomllib.loads(path.read_text(encoding="utf-8"))
    about = [text for text in said.values() if "{about}" in text]
    assert len(about) > 20
    assert [text for text in about if re.search(r"\{about\}(\{worst\})?([，。]|$)", text)] == []
