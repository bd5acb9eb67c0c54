"""The equivalence test asked where a rule is false: filled against itself, and a member of its family."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import ndtr

from service.domain.decision.family import Family
from service.domain.deviations.as_run import verdicts_of
from service.domain.deviations.doubtful_items import Doubts
from service.domain.deviations.tipping_point import tipping_point
from service.domain.rules.settings import resolve
from service.domain.verdicts.outcomes import Outcomes, Rows
from service.domain.verdicts.records import HypothesisVerdict
from tests.domain import sample
from tests.drawing import draws

NAN = np.nan
TANGO = {"id": "eq", "test": "equivalence", "version": 1, "parameters": {"method": "tango"}}
WORST = {
    "missing": "worst_case",
    "tests.1": TANGO,
    "hypotheses.0.rule": "delta >= 2.0 pp and m.p_value < 0.05",
    "hypotheses.0.equivalence": "eq",
}
CLAIM = {
    "missing": "worst_case",
    "hypotheses.0.claim": "equivalence",
    "hypotheses.0.rule": "eq.equivalent is true",
    "tests.0": TANGO,
}


def with_missing(n: int, ahead: int, behind: int, missing: int) -> Outcomes:
    """`missing` items without a result in either arm; among the others so many are ahead and behind."""
    baseline, candidate = sample.binary(n, n // 2, ahead, behind)
    baseline[n - missing :] = candidate[n - missing :] = NAN
    return sample.outcomes(baseline, candidate)


def test_filling_against_superiority_does_not_manufacture_equivalence() -> None:
    """+3.09 pp among 970 items; with 30 losses it is 0, with 30 wins +6.0 pp."""
    (found,) = sample.verdict_of(WORST, with_missing(1000, 40, 10, 30)).hypotheses
    assert found.delta == pytest.approx(0.0)
    assert (found.outcome, found.excluded.filled, found.filled) == ("not_supported", 30, "down")
    assert found.fallback is not None
    assert (found.fallback.equivalent, found.fallback.way, found.fallback.counts) == (False, "up", True)
    assert set(found.fallback.answers) == {"up", "down"}
    assert found.fallback.answers["up"]["analysis"]["delta"] == pytest.approx(0.06)  # type: ignore[index, call-overload]
    assert found.analyses["eq"]["analysis"]["delta"] == pytest.approx(0.0)  # type: ignore[index, call-overload]


def test_what_is_equivalent_both_ways_is_equivalent() -> None:
    (found,) = sample.verdict_of(WORST, with_missing(4000, 20, 18, 6)).hypotheses
    assert (found.outcome, found.excluded.filled) == ("equivalent", 6)
    assert found.fallback is not None
    assert found.fallback.equivalent


def test_an_equivalence_test_has_its_own_place_beside_the_p_of_its_rule() -> None:
    """Holm over both statements of one claim of a minimum effect: the rule's p is smaller, and is the one doubled.

    In the place of the rule's p the equivalence test's would stand twice, and be .087.
    """
    claim = {"hypotheses.0.claim": "minimum_effect", "multiplicity": {"policy": "holm", "family": ["H1"]}}
    (result,) = sample.verdict_of(WORST | claim, with_missing(2000, 58, 35, 0)).hypotheses
    assert result.fallback is not None
    rule_p, beside = result.analyses["m"]["analysis"]["p_value"], result.fallback.p_value  # type: ignore[index, call-overload]
    assert rule_p < beside < 0.05  # type: ignore[operator]
    assert result.fallback.adjusted == pytest.approx(max(2 * rule_p, beside))  # type: ignore[operator, type-var]
    assert result.outcome == "equivalent"


def test_without_missing_results_nothing_is_filled() -> None:
    (found,) = sample.verdict_of(WORST, with_missing(4000, 20, 18, 0)).hypotheses
    assert (found.outcome, found.filled) == ("equivalent", None)
    assert found.fallback is not None
    assert (found.fallback.answers, found.fallback.way) == ({}, None)


@settings(max_examples=draws(25), deadline=None)
@given(st.integers(5, 20), st.integers(5, 20), st.integers(1, 12))
def test_a_claim_of_equivalence_holds_just_when_it_holds_both_ways(
    ahead: int, behind: int, lost: int
) -> None:
    n = 700
    (found,) = sample.verdict_of(CLAIM, with_missing(n, ahead, behind, lost)).hypotheses
    full: list[HypothesisVerdict] = []
    for up, down in ((lost, 0), (0, lost)):
        arms = sample.binary(n, n // 2, ahead + up, behind + down)
        full += sample.verdict_of(CLAIM, sample.outcomes(*arms)).hypotheses
    assert (found.outcome == "equivalent") == all(each.outcome == "equivalent" for each in full)
    assert found.delta in [each.delta for each in full]
    if found.outcome != "equivalent":  # what is shown is a way in which the rule fails
        assert found.delta in [each.delta for each in full if each.outcome != "equivalent"]


@settings(max_examples=draws(12), deadline=None)
@given(st.data())
def test_no_mixed_filling_is_harder_than_both_ways(data: st.DataObject) -> None:
    """Of all fillings of four missing items, where both extremes are equivalent none is not."""
    n = data.draw(st.sampled_from([450, 600, 750]))
    ahead, behind = data.draw(st.integers(5, 14)), data.draw(st.integers(5, 14))
    (found,) = sample.verdict_of(CLAIM, with_missing(n, ahead, behind, 4)).hypotheses
    for up in range(5):
        for down in range(5 - up):
            arms = sample.binary(n, n // 2, ahead + up, behind + down)
            (full,) = sample.verdict_of(CLAIM, sample.outcomes(*arms)).hypotheses
            assert full.outcome == "equivalent" or found.outcome != "equivalent"


def false_equivalents(runs: int, truth: float, share: float, n: int = 1000) -> float:
    """How often a plan under `worst_case` says equivalent at ±2 pp though the truth lies beyond."""
    rng = np.random.default_rng(20270101)
    count = 0
    for _ in range(runs):
        ahead, behind, _ = rng.multinomial(n, [0.05 + truth / 2, 0.05 - truth / 2, 0.9])
        baseline, candidate = sample.binary(n, n // 2, int(ahead), int(behind))
        gone = rng.random(n) < share
        baseline[gone] = candidate[gone] = NAN
        (found,) = sample.verdict_of(WORST, sample.outcomes(baseline, candidate)).hypotheses
        count += found.outcome == "equivalent"
    return count / runs


def test_equivalence_is_seldom_claimed_falsely_under_worst_case() -> None:
    assert false_equivalents(60, 0.03, 0.03) <= 0.05


@pytest.mark.slow
@pytest.mark.parametrize(("truth", "share"), [(0.03, 0.03), (0.04, 0.05), (0.02, 0.03), (0.02, 0.0)])
def test_the_rate_of_false_equivalents_is_at_most_alpha(truth: float, share: float) -> None:
    assert false_equivalents(1500, truth, share) <= 0.05 + 3 * (0.05 * 0.95 / 1500) ** 0.5


def rows_of(baseline: Any, candidate: Any, changes: dict[str, Any]) -> Rows:
    plan = sample.plan({"populations.0.n": len(baseline), **changes})
    return Rows(resolve(plan), sample.manifests(plan), sample.outcomes(baseline, candidate))


LOOSE = {
    "sesoi": {"accuracy": {"value": 30, "unit": "pp"}},
    "tests.1": TANGO | {"parameters": {"method": "t"}},
}


@settings(max_examples=draws(10), deadline=None)
@given(st.data())
@pytest.mark.parametrize("claim", ["superiority", "equivalence"])
def test_the_tipping_point_begins_where_the_verdict_is(claim: str, data: st.DataObject) -> None:
    """Fewest missing items that change the outcome, the others filled as by the verdict: against trying all."""
    ahead, behind = data.draw(st.integers(2, 9)), data.draw(st.integers(1, 3))
    baseline, candidate = sample.binary(24, 24 - ahead - behind - 3, ahead, behind)
    positions = sample.some_missing(data, baseline, candidate)
    changes = {**WORST, **LOOSE, "hypotheses.0.rule": "delta > 0 and m.p_value < 0.05"}
    if claim == "equivalence":
        changes |= {
            "hypotheses.0.claim": claim,
            "hypotheses.0.rule": "eq.equivalent is true",
        }
        changes.pop("hypotheses.0.equivalence")
    made = rows_of(baseline, candidate, changes)
    none = np.zeros(24, dtype=bool)
    found = tipping_point(made, made.plan.hypotheses[0], Doubts(none, none), budget=1e9)  # type: ignore[index]
    assert found is not None
    start = verdicts_of(made)["H1"].outcome

    def changed(filling: dict[int, tuple[float, float]]) -> bool:
        before, after = baseline.copy(), candidate.copy()
        for position, pair in filling.items():
            before[position], after[position] = pair
        return verdicts_of(rows_of(before, after, changes))["H1"].outcome != start

    def pairs(position: int) -> list[tuple[float, float] | None]:
        arms = ([0.0, 1.0] if np.isnan(arm[position]) else [arm[position]] for arm in (baseline, candidate))
        return [None, *itertools.product(*arms)]  # type: ignore[list-item]

    least = min(
        (
            sum(each is not None for each in chosen)
            for chosen in itertools.product(*(pairs(p) for p in positions))
            if changed({p: each for p, each in zip(positions, chosen, strict=True) if each is not None})
        ),
        default=None,
    )
    assert (found.outcome, found.items) == (start, least)


# --- the family ---

P = st.floats(1e-6, 1.0)


def closed(rule: list[float], other: list[float | None], asked: int, p: float) -> float:
    """By definition: the largest Bonferroni p of all intersections with the asked statement in them."""
    worst = 0.0
    rest = [index for index in range(len(rule)) if index != asked]
    for size in range(len(rest) + 1):
        for among in itertools.combinations(rest, size):
            options = [[q for q in (rule[each], other[each]) if q is not None] for each in among]
            for chosen in itertools.product(*options):
                worst = max(worst, (size + 1) * min([p, *chosen]))
    return min(worst, 1.0)


@settings(max_examples=draws(200))
@given(st.lists(st.tuples(P, st.none() | P), min_size=1, max_size=4), st.data())
def test_holm_over_both_statements_is_the_closed_test(
    family: list[tuple[float, float | None]], data: st.DataObject
) -> None:
    rule, other = [each for each, _ in family], [each for _, each in family]
    names = tuple(f"H{index}" for index in range(len(family)))
    made = Family(
        "holm",
        names,
        np.array([[rule]]),
        {name: np.array([[each]]) for name, each in zip(names, other, strict=True) if each is not None},
    )
    asked = data.draw(st.integers(0, len(family) - 1))
    own = made.adjust(names[asked], np.array([[rule[asked]]]))
    assert own.item() == pytest.approx(closed(rule, other, asked, rule[asked]))
    beside = other[asked]
    if beside is not None:
        adjusted = made.adjust(names[asked], np.array([[beside]]), equivalence=True)
        assert adjusted.item() == pytest.approx(closed(rule, other, asked, beside))


def false_statements(policy: str, truths: tuple[float, ...], runs: int, correlation: float) -> float:
    """How often at least one statement is false: margin 3.5 standard errors, all tests at .05."""
    rng = np.random.default_rng(7)
    margin, k = 3.5, len(truths)
    noise = correlation**0.5 * rng.standard_normal((runs, 1)) + (
        1 - correlation
    ) ** 0.5 * rng.standard_normal((runs, k))
    z = np.array(truths) * margin + noise
    rule_p = 2 * ndtr(-np.abs(z))
    tost = np.maximum(ndtr(-(z + margin)), ndtr(z - margin))
    names = tuple(f"H{index}" for index in range(k))
    other = {name: tost[None, :, at] for at, name in enumerate(names)}
    family = Family(policy, names, rule_p[None], other)  # type: ignore[arg-type]
    wrong = np.zeros(runs, dtype=bool)
    for at, (name, truth) in enumerate(zip(names, truths, strict=True)):
        better = (family.adjust(name, rule_p[None, :, at])[0] < 0.05) & (z[:, at] > 0)
        same = family.adjust(name, other[name], equivalence=True)[0] < 0.05
        wrong |= (better & (truth <= 0)) | (same & ~better & (abs(truth) >= 1))
    return float(wrong.mean())


def test_three_at_the_margin_are_seldom_called_equivalent() -> None:
    runs = 1200
    noise = 3 * (0.05 * 0.95 / runs) ** 0.5
    assert false_statements("none", (-1, -1, -1), runs, 0.0) > 0.05 + noise  # the size that is to be mended
    assert false_statements("holm", (-1, -1, -1), runs, 0.0) <= 0.05 + noise


@pytest.mark.slow
@pytest.mark.parametrize("policy", ["holm", "bonferroni"])
@pytest.mark.parametrize("correlation", [0.0, 0.5])
@pytest.mark.parametrize("truths", list(itertools.combinations_with_replacement((-1, 0, 0.5, 1), 3)))
def test_any_false_statement_is_as_rare_as_it_should(
    policy: str, correlation: float, truths: tuple[float, ...]
) -> None:
    runs = 8000
    assert false_statements(policy, truths, runs, correlation) <= 0.05 + 3 * (0.05 * 0.95 / runs) ** 0.5


def three(
    policy: str, counts: dict[str, tuple[int, int]], n: int = 2000, **changes: Any
) -> list[HypothesisVerdict]:
    """Three arms beside C1, each with so many items ahead and behind."""
    hypotheses = [
        sample.VALUE["hypotheses"][0]
        | {
            "id": f"H{arm[1]}",
            "candidate": arm,
            "rule": "delta > 0 and m.p_value < 0.05",
            "equivalence": "eq",
        }
        for arm in counts
    ]
    plan = sample.plan(
        {
            "populations.0.n": n,
            "hypotheses": hypotheses,
            "tests.1": TANGO,
            "multiplicity": {"policy": policy, "family": [each["id"] for each in hypotheses]},
            **changes,
        }
    )
    cells = {("one", "C1", "accuracy"): sample.cell(sample.binary(n, n // 2, 0, 0)[0])}
    for arm, (ahead, behind) in counts.items():
        values = np.zeros(n)
        values[: n // 2 + ahead] = 1
        values[:behind] = 0
        cells["one", arm, "accuracy"] = sample.cell(values)
    return list(sample.judged(plan, sample.manifests(plan), Outcomes(cells)).hypotheses)


NEAR = {"C2": (24, 4), "C3": (30, 30), "C4": (31, 30)}
"""Of 2,000 items: C2 +1.0 pp, p .0002 and TOST .003; the others are close to 0."""


def test_holm_multiplies_the_p_of_two_one_sided_tests() -> None:
    _, third, _ = three("holm", {"C2": (60, 4), "C3": (34, 14), "C4": (35, 13)})
    (alone,) = three("holm", {"C3": (34, 14)})
    assert third.fallback is not None
    assert alone.fallback is not None
    assert third.fallback.p_value is not None
    assert third.fallback.adjusted == pytest.approx(min(1.0, 3 * third.fallback.p_value))
    assert alone.fallback.adjusted is None  # one hypothesis, whose two nulls are never both at stake
    assert alone.fallback.counts


@pytest.mark.parametrize(
    ("policy", "outcome"),
    [("none", "equivalent"), ("holm", "not_supported"), ("bonferroni", "not_supported")],
)
def test_the_correction_decides_the_outcome(policy: str, outcome: str) -> None:
    """Every rule is false, and every TOST p about .022: below .05, and above it three times."""
    for each in three(policy, {"C2": (64, 45), "C3": (65, 46), "C4": (66, 47)}):
        assert each.rule_holds is False
        assert each.fallback is not None
        assert each.fallback.p_value is not None
        assert (each.fallback.equivalent, each.fallback.counts) == (True, True)
        assert 0.05 / 3 < each.fallback.p_value < 0.05
        assert each.outcome == outcome
        if policy == "none":
            assert each.fallback.adjusted is None
        else:
            assert each.fallback.adjusted is not None
            assert each.fallback.adjusted == pytest.approx(3 * each.fallback.p_value, rel=0.1)
            assert each.fallback.adjusted >= 0.05


def test_each_is_corrected_by_itself() -> None:
    """Of three with a false rule the one whose TOST p is small enough three times over is equivalent."""
    found = three("bonferroni", {"C2": (64, 45), "C3": (40, 24), "C4": (66, 47)})
    assert [each.rule_holds for each in found] == [False, False, False]
    assert [each.outcome for each in found] == ["not_supported", "equivalent", "not_supported"]


@pytest.mark.parametrize("policy", ["hochberg", "hommel", "bh", "by", "fixed_sequence"])
def test_other_policies_make_no_outcome_of_it(policy: str) -> None:
    found = three(policy, NEAR)
    assert any(each.fallback and each.fallback.equivalent for each in found)
    for each in found:
        assert each.outcome != "equivalent"
        assert each.fallback is not None
        assert (each.fallback.counts, each.fallback.adjusted) == (False, None)
        assert f"the policy `{policy}` does not correct it" in (each.fallback.reason or "")


def test_a_rule_is_adjusted_with_what_else_may_be_said() -> None:
    """C2 is better beyond doubt, and not equivalent: Holm's second step still counts it, since it could be."""
    counts = {"C2": (100, 4), "C3": (45, 20), "C4": (30, 30)}
    second = three("holm", counts)[1]
    without = three("holm", counts, **{"hypotheses.0.equivalence": None})[1]
    p = second.clauses[1].unadjusted
    assert p is not None
    assert second.clauses[1].observed == pytest.approx(3 * p)
    assert without.clauses[1].observed == pytest.approx(2 * p)


def test_minimum_effect_takes_two_places() -> None:
    """At the margin itself both "more than the margin" and "less" are false."""
    changes = {f"hypotheses.{each}.claim": "minimum_effect" for each in range(3)}
    found = three("bonferroni", NEAR, **changes)[1]
    assert found.fallback is not None
    assert found.fallback.adjusted == pytest.approx(min(1.0, 6 * (found.fallback.p_value or 0)))
