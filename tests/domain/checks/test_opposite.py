"""No plan that lints is supported, or found equivalent, by data that show the opposite of what it says."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from service.stats.shared.declaring import registry
from tests.domain import sample
from tests.domain.checks import one_arm_worlds, suite_worlds, told_beside
from tests.domain.checks.opposite_worlds import (
    KINDS,
    REASON,
    VARIED,
    claimed_delta,
    draw,
    judge,
    lintable,
    opposite,
    worlds,
)

CHEAP = {name for name in VARIED if "n_resamples" not in registry.find(name).request.model_fields} | {
    "equivalence"
}


def search(
    seed: int, plans: int, most: int, *, drawn_tests: bool = True, every_test: bool = False
) -> dict[str, set[str]]:
    """Look at so many plans that lint, in so many worlds; what took part, and which outcomes there were.

    `every_test`: go on until every test took part, of which some are drawn once in a hundred plans.
    """
    rng, beside = np.random.default_rng(seed), np.random.default_rng(seed + 1)
    seen: dict[str, set[str]] = {"kinds": set(), "tests": set(), "outcomes": set(), "claims": set()}
    looked = verdicts = claimed = 0
    while looked < plans or (every_test and seen["tests"] != set(VARIED)):
        drawn = lintable(draw(rng))
        if drawn is None or not (drawn_tests or {each["test"] for each in drawn.changes["tests"]} <= CHEAP):
            continue
        looked += 1
        drawn = replace(drawn, changes=drawn.changes | told_beside.draw(beside))
        seen["kinds"].add(drawn.kind)
        seen["claims"].add(drawn.claim)
        seen["tests"] |= {each["test"] for each in drawn.changes["tests"]}
        every = list(worlds(rng, drawn))
        for at in rng.permutation(len(every))[:most]:
            baseline, candidate = every[at]
            verdict = judge(drawn, baseline, candidate, rng)
            verdicts += 1
            seen["outcomes"].add(verdict.outcome)
            more = told_beside.too_good(drawn.changes, verdict, better=drawn.better)
            assert more is None, (more, drawn.changes, verdict.sentence)
            if verdict.outcome not in ("supported", "equivalent"):
                continue
            claimed += 1
            delta = claimed_delta(drawn, verdict)
            if (
                "weighs clusters alike" in verdict.sentence
            ):  # the effect that the plan's test names, and the sentence
                delta = next(
                    float(answer["analysis"]["estimates"]["cluster_weighted"])  # type: ignore[index, call-overload, arg-type]
                    for answer in verdict.analyses.values()
                    if "estimates" in (answer.get("analysis") or {})  # type: ignore[operator]
                )
            why = opposite(drawn, verdict, delta)
            assert why is None, (why, drawn.changes, verdict.sentence)
            if any("margin_reason" in each and each["id"] in verdict.rule for each in drawn.changes["tests"]):
                assert REASON in verdict.sentence or "The margin of" not in verdict.sentence
    print(f"{looked} plans that lint, {verdicts} verdicts, {claimed} of them supported or equivalent")
    return seen


def test_no_plan_that_lints_is_supported_by_data_that_show_the_opposite():
    assert "supported" in search(26, 16, 6, drawn_tests=False)["outcomes"]


def search_one_arm(seed: int, plans: int, most: int) -> dict[str, int]:
    """The same of claims about one arm; how many verdicts there were by outcome."""
    rng, beside = np.random.default_rng(seed), np.random.default_rng(seed + 1)
    seen: dict[str, int] = {}
    looked = 0
    while looked < plans:
        changes = one_arm_worlds.draw(rng)
        if not one_arm_worlds.lints(sample.plan(changes)):
            continue
        looked += 1
        changes |= told_beside.draw(beside)
        better = -1 if changes["endpoints.0"]["better"] == "lower" else 1
        every = list(one_arm_worlds.worlds(rng, changes["endpoints.0"].get("replicates", 1)))
        for at in rng.permutation(len(every))[:most]:
            verdict = one_arm_worlds.judge(changes, every[at], rng)
            seen[verdict.outcome] = seen.get(verdict.outcome, 0) + 1
            if "endpoints.1" in changes and verdict.outcome == "supported":
                seen["by labels"] = seen.get("by labels", 0) + 1
            more = told_beside.too_good(changes, verdict, better=better)
            assert more is None, (more, changes, verdict.sentence)
            if verdict.outcome == "supported":
                why = one_arm_worlds.opposite(changes, verdict, every[at])
                assert why is None, (why, changes, verdict.sentence)
    return seen


def test_no_plan_about_one_arm_that_lints_is_supported_by_data_that_show_the_opposite():
    seen = search_one_arm(29, 8, 6)
    assert seen["supported"], seen
    assert seen["not_supported"], seen


def search_suites(seed: int, plans: int, most: int) -> dict[str, set[str]]:
    """The same of claims about suites: their mean, and every one of their tasks."""
    rng, beside = np.random.default_rng(seed), np.random.default_rng(seed + 1)
    seen: dict[str, set[str]] = {"supported": set(), "claims": set(), "outcomes": set()}
    looked = 0
    while looked < plans:
        changes = suite_worlds.draw(rng)
        if not suite_worlds.lints(suite_worlds.plan_of(changes)):
            continue
        looked += 1
        changes |= told_beside.draw(beside, own="small 1.0")
        better = -1 if changes["endpoints.0.better"] == "lower" else 1
        claim = f"{changes['hypotheses.0']['claim']} {changes['hypotheses.0'].get('about')}"
        seen["claims"].add(claim)
        every = list(suite_worlds.worlds(rng))
        for at in rng.permutation(len(every))[:most]:
            verdict = suite_worlds.judge(changes, every[at])
            seen["outcomes"].add(verdict.outcome)
            more = told_beside.too_good(changes, verdict, better=better)
            assert more is None, (more, changes, verdict.sentence)
            if verdict.outcome in ("supported", "equivalent"):
                seen["supported"].add(claim)
                why = suite_worlds.opposite(changes, every[at])
                assert why is None, (why, changes, verdict.sentence)
    return seen


def test_no_plan_about_a_suite_that_lints_is_supported_by_data_that_show_the_opposite():
    seen = search_suites(31, 8, 5)
    assert {"supported", "not_supported"} <= seen["outcomes"], seen


@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_none_of_hundreds_about_a_suite_is():
    seen = search_suites(2031, 300, 14)
    assert len(seen["claims"]) == 10, seen
    assert len(seen["supported"]) >= 8, seen


@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_none_of_hundreds_about_one_arm_is():
    seen = search_one_arm(2029, 400, 14)
    assert seen["supported"] > 100, seen
    assert seen["by labels"] > 20, seen


@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_none_of_hundreds_is():
    seen = search(2027, 240, 20, every_test=True)
    assert seen["kinds"] == set(KINDS)
    assert seen["claims"] == {"superiority", "minimum_effect", "non_inferiority", "equivalence"}
    assert seen["outcomes"] >= {"supported", "equivalent", "not_supported", "inconclusive"}
