"""A plan says whether claims speak of these items or of items like these; rules, runs and sentences keep to it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from service.domain.lint.estimand import estimand_findings, items_findings
from service.domain.rules.settings import resolve
from service.domain.verdicts.outcomes import Outcomes
from service.domain.verdicts.words.headline import headline
from service.domain.verdicts.words.sentences import sentence
from service.words import Message
from tests.domain import sample

RUNS = {"id": "accuracy", "kind": "binary", "role": "primary", "replicates": 5}


def one_arm(
    estimand: str | None, rule: str = "score.ci.low >= 70%", test: str = "one-sample-mean", **more: Any
) -> Any:
    """Changes of the sample: one arm on 20 items of 5 runs that is to reach 70 %."""
    hypothesis = {
        "id": "H1", "claim": "at_least", "statement": "C2 reaches 70 %", "population": "one", "candidate": "C2",
        "reference": {"value": 70, "unit": "%"}, "endpoint": "accuracy", "rule": rule, **more.pop("hypothesis", {}),
    }  # fmt: skip
    endpoint = RUNS | ({} if estimand is None else {"estimand": estimand}) | more.pop("endpoint", {})
    tests = [{"id": "score", "test": test, "version": 1, "parameters": more.pop("parameters", {})}]
    return {"populations.0.n": 20, "endpoints.0": endpoint, "hypotheses.0": hypothesis, "tests": tests}


def two_arms(rule: str, test: str = "fixed-items", estimand: str = "these_items", **more: Any) -> Any:
    """Changes of the sample: two arms on its items, each with five runs."""
    endpoint = RUNS | {"estimand": estimand} | more.pop("endpoint", {})
    name = "fixed" if "fixed." in rule else test
    hypothesis = {"rule": rule} | more
    return {
        "endpoints.0": endpoint,
        **{f"hypotheses.0.{field}": value for field, value in hypothesis.items()},
        "tests": [{"id": name, "test": test, "version": 1}],
    }


def codes(changes: Any) -> list[str]:
    plan = sample.plan(changes)
    findings = [
        *items_findings(plan),
        *(x for setting in resolve(plan).settings for x in estimand_findings(setting)),
    ]
    assert {finding.code for finding in findings} <= {"ESTIMAND"}
    return [finding.message for finding in findings]


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        (one_arm("these_items", endpoint={"replicates": 1}), "has one run of each"),
        (one_arm("these_items", endpoint={"collapse": "majority"}), "collapses runs otherwise"),
        (
            one_arm("these_items", endpoint={"replicates": 6, "judgements": 2}),
            "ask `fixed-items`",
        ),
        (one_arm("these_items", parameters={"method": "wilson"}), "`clopper-pearson` alone"),
        (
            one_arm(
                "these_items",
                "score.pass_hat_k.ci.low >= 70%",
                "reliability",
                hypothesis={"about": "pass_hat_k"},
            ),
            "pass^k speaks of items like these",
        ),
        (
            one_arm(
                "items_like_these",
                "score.least_low >= 70%",
                "reliability",
                hypothesis={"about": "every_item"},
            ),
            "write `these_items`",
        ),
        (two_arms("mcnemar.p_value < 0.05", "mcnemar"), "ask `fixed-items`"),
        (
            two_arms("fixed.ci.low > 0", estimand="items_like_these"),
            "give the endpoint `estimand: these_items`",
        ),
        (two_arms("fixed.ci.low > 0", equivalence="fixed"), "leave `equivalence` out"),
        (two_arms("fixed.ci.low > 0", about="median"), "compared by their means alone"),
        (two_arms("fixed.ci.low > 0", endpoint={"collapse": "majority"}), "collapses runs otherwise"),
        (one_arm("these_items", endpoint={"kind": "continuous"}), "ask `fixed-items`"),
    ],
)
def test_what_contradicts_the_estimand_is_said_before_the_lock(changes: Any, said: str) -> None:
    (message,) = codes(changes)
    assert said in message


@pytest.mark.parametrize(
    "changes",
    [
        one_arm("these_items"),
        one_arm("items_like_these"),
        one_arm(None),
        one_arm("these_items", "score.least_low >= 70%", "reliability", hypothesis={"about": "every_item"}),
        {"endpoints.0": RUNS | {"estimand": "items_like_these"}},
        two_arms("fixed.ci.low > 0"),
        two_arms("delta >= 2 pp and fixed.p_value < 0.05", endpoint={"replicates": 6, "judgements": 2}),
        one_arm("these_items", "score.ci.low >= 70%", "fixed-items"),
        one_arm("these_items", "score.ci.low >= 0.7", "fixed-items", endpoint={"kind": "continuous"}),
    ],
)
def test_what_goes_with_it_is_not(changes: Any) -> None:
    assert codes(changes) == []


def judged(estimand: str | None) -> tuple[Any, Any]:
    """On 20 items of which 17 are always right and 3 never."""
    values = np.repeat(np.array([1.0] * 17 + [0.0] * 3)[:, None], 5, axis=1)
    changes = one_arm(estimand)
    held = Outcomes({("one", "C2", "accuracy"): sample.cell(values)})
    return sample.plan(changes), sample.verdict_of(changes, held, 20).hypotheses[0]


def test_these_items_are_known_better_than_items_like_these() -> None:
    plan, these = judged("these_items")
    _, like_these = judged("items_like_these")
    _, unsaid = judged(None)
    assert (these.outcome, like_these.outcome, unsaid.outcome) == (
        "supported",
        "not_supported",
        "not_supported",
    )
    assert like_these.analyses == unsaid.analyses
    assert "It speaks of these 20 items alone, of which only runs vary" in these.sentence
    assert "It speaks of items like these, of which these 20 are taken as a sample." in like_these.sentence
    assert "items like these" not in unsaid.sentence
    not_shown = headline(resolve(plan).require(these.id), these).open
    assert isinstance(not_shown, Message)
    assert not_shown.text("en") == "Of other items nothing is shown."
    assert not_shown.text("zh") == "对其他题目不表明任何结论。"
    assert "结论只针对这 20 个题目" in sentence(resolve(plan).require(these.id), these, language="zh")


def test_a_plan_that_does_not_say_it_keeps_its_bytes() -> None:
    assert "estimand" not in sample.plan(one_arm(None)).canonical_text()
