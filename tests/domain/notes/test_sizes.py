"""How many items a next study needs: for the smallest effect of interest, with about the power that is said."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

from service.domain.power.enumerated.enumerated_rule import EnumeratedRule
from service.domain.rules.settings import resolve
from tests.domain.sample import binary, outcomes, plan
from tests.domain.told import EQUIVALENCE, said


def size_in(text: str) -> int:
    return int(re.findall(r"a new plan of about ([\d,]+) ", text, re.IGNORECASE)[0].replace(",", ""))


def test_the_size_for_the_sesoi_has_about_the_power_it_says() -> None:
    """Small plans by the exact power, whole rule; larger ones by the normal approximation, checked against it."""
    for counts, rule, sesoi in (
        ((21, 1, 7, 1), "delta > 0 and m.p_value < 0.05", 25),
        ((300, 150, 30, 15), "delta > 0 and m.p_value < 0.05", 6),
        ((800, 500, 60, 50), "delta > 0 and m.p_value < 0.05 and m.ci excludes 0", 2),
    ):
        changes = {"hypotheses.0.rule": rule, "sesoi": {"accuracy": {"value": sesoi, "unit": "pp"}}}
        judged_plan, _, found = said(changes, outcomes(*binary(*counts)))
        n, size = counts[0], size_in(found.next.en)
        assert f"if the true difference is +{sesoi}.00 pp (the SESOI)" in found.next.en
        assert "observed +" not in found.next.en
        share, delta = (counts[2] + counts[3]) / n, sesoi / 100
        enumerated = EnumeratedRule(resolve(judged_plan).settings[0], judged_plan.sesoi["accuracy"])  # type: ignore[index]
        power = enumerated.around(size, share).chance((share + delta) / 2, (share - delta) / 2)[0]
        assert 0.77 <= power <= 0.9, (counts, size, power)
        if size > n:
            assert f"({size - n:,} more than here, if there are as many)" in found.next.en


def test_equivalence_is_said_to_need_the_size_that_shows_it_without_a_difference() -> None:
    judged_plan, verdict, found = said(EQUIVALENCE, outcomes(*binary(500, 200, 30, 20)))
    size = int(
        re.findall(
            r"a new plan of about ([\d,]+) items[^:]* shows the arms equivalent within ±2\.00 pp at alpha = 0\.05",
            found.next.en,
            re.IGNORECASE,
        )[0].replace(",", "")
    )
    share = 50 / 500
    claim = plan(
        {
            **EQUIVALENCE,
            "populations.0.n": size,
            "hypotheses.0.claim": "equivalence",
            "hypotheses.0.rule": "eq.equivalent is true",
        }
    )
    enumerated = EnumeratedRule(resolve(claim).settings[0], claim.sesoi["accuracy"])  # type: ignore[index]
    assert 0.77 <= enumerated.around(size, share).chance(share / 2, share / 2)[0] <= 0.87
    assert judged_plan.hypotheses
    assert verdict.hypotheses[0].outcome == "not_supported"


def test_no_number_is_given_where_none_would_do() -> None:
    _, _, found = said({}, outcomes(*binary(500, 200, 10, 40)))  # the candidate is worse
    assert (
        "true difference of +2.00 pp (the SESOI) lies beyond the interval already (95% interval)"
        in found.next.en
    )
    assert "new plan of" not in found.next.en
    assert found.next.en.endswith("for another claim, or one in which smaller differences matter.")


def test_without_a_smallest_effect_the_size_is_for_what_was_seen_and_says_so() -> None:
    changes = {"hypotheses.0.rule": "delta > 0 and m.p_value < 0.05", "sesoi": None}
    _, _, found = said(changes, outcomes(*binary(500, 200, 30, 20)))
    assert "if the true difference is the observed +2.00 pp (the plan locks no SESOI) and" in found.next.en


def test_a_rule_that_asks_to_see_the_sesoi_is_told_to_ask_for_less_and_how_many_items_that_takes() -> None:
    """Half of all studies see less than what is true: the size is for the clauses that more items help."""
    results = outcomes(*binary(500, 200, 30, 24))
    rule = "m.p_value < 0.05 and m.ci excludes 0"
    _, _, found = said({"hypotheses.0.rule": f"delta >= 2 pp and {rule}"}, results)
    _, _, alone = said({"hypotheses.0.rule": rule}, results)
    assert "without the clause that asks to observe +2.00 pp: the other clauses then hold" in found.next.en
    assert size_in(found.next.en) == size_in(alone.next.en)
    assert "about half of all studies fail, whatever their size" in found.next.en
    assert "half of them at most" not in alone.next.en


def test_clusters_are_counted_in_clusters() -> None:
    rng = np.random.default_rng(3)
    n, groups = 400, 20
    shift = rng.normal(0.06, 0.12, groups)[np.arange(n) % groups]
    baseline = (rng.random(n) < 0.5).astype(float)
    candidate = np.where(rng.random(n) < np.abs(shift), (shift > 0).astype(float), baseline)
    changes = {
        "populations.0.clusters": {"key": "conversation", "n": groups},
        "populations.0.independence": None,
        "tests.0": {"id": "m", "test": "clustered-mcnemar", "version": 1, "parameters": {"method": "cr2_t"}},
        "hypotheses.0.rule": "delta > 0 and m.p_value < 0.05",
    }
    _, verdict, found = said(changes, outcomes(baseline, candidate))
    (hypothesis,) = verdict.hypotheses
    analysis: Any = hypothesis.analyses["m"]["analysis"]
    sizes = re.findall(r"about ([\d,]+) clusters by conversation, about ([\d,]+) items", found.next.en)
    ((clusters, items),) = [[int(each.replace(",", "")) for each in pair] for pair in sizes]
    needed = groups * ((1.959964 + 0.841621) * analysis["se"] / 0.02) ** 2  # the SESOI
    assert clusters == pytest.approx(needed, rel=0.06, abs=1.1)
    assert items == pytest.approx(20 * clusters, rel=0.06)
    assert f"{clusters} 个 conversation 聚类" in found.next.zh.replace(",", "")


def test_filled_in_values_are_not_called_observed() -> None:
    baseline, candidate = binary(1000, 500, 60, 10)
    candidate[-20:] = np.nan
    _, _, found = said(
        {"missing": "worst_case", "hypotheses.0.rule": "delta >= 6 pp and m.p_value < 0.05", "sesoi": None},
        outcomes(baseline, candidate),
    )
    assert "as with the 20 filled in" in found.next.en
    assert "the observed" not in found.next.en
    assert "find out why 20 items lack a result" in found.next.en.lower()


@pytest.mark.parametrize("locked", [True, False])
def test_where_equivalence_rejects_the_sesoi_no_study_is_sized_for_the_win(locked: bool) -> None:
    sesoi = {"accuracy": {"value": 2, "unit": "pp"}} if locked else None
    margin = {"method": "tango", "margin": {"value": 2, "unit": "pp"}}
    changes = {"sesoi": sesoi, **EQUIVALENCE, "tests.1": {**EQUIVALENCE["tests.1"], "parameters": margin}}
    _, verdict, found = said(changes, outcomes(*binary(2000, 1200, 40, 42)))
    assert verdict.hypotheses[0].outcome == "equivalent"
    words = "Next: more items would hardly show +2.00 pp (the SESOI): the equivalence test rejects"
    assert found.next.en.startswith(words) == locked
    assert "equivalent within half the margin" in found.next.en
