"""What holds for whole families that compare no arms: multiplicity, design, replication agreement."""

from __future__ import annotations

import itertools
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from service.kernels.effects.bayes_factors import jzs_t
from tests.stats.oracle import ask
from tests.stats.properties import FEW, assert_same, new_names, randoms

# --- multiplicity ---

ADJUSTED = ("bonferroni", "holm", "hochberg", "hommel", "bh", "by")
p_lists = st.lists(st.floats(1e-9, 1), min_size=1, max_size=8)


def adjusted(p_values, method, **options):
    found = ask("multiple-comparisons", {"p_values": p_values}, method=method, **options).analysis
    return list(found.adjusted), list(found.reject)


@pytest.mark.parametrize("method", ADJUSTED)
@FEW
@given(p_values=p_lists, random=randoms)
def test_adjusted_values_move_with_their_hypotheses_and_with_p(method, p_values, random):
    order = random.sample(range(len(p_values)), len(p_values))
    values, rejected = adjusted(p_values, method)
    assert adjusted([p_values[k] for k in order], method)[0] == pytest.approx([values[k] for k in order])
    for p, value, gone in zip(p_values, values, rejected, strict=True):
        assert p * (1 - 1e-12) <= value <= 1
        assert gone is (value <= 0.05) or abs(value - 0.05) < 1e-12
    smaller = list(p_values)
    smaller[random.randrange(len(p_values))] *= random.random()
    for before, after in zip(values, adjusted(smaller, method)[0], strict=True):
        assert after <= before * (1 + 1e-9)


@FEW
@given(st.lists(st.floats(1e-9, 1), min_size=1, max_size=6))
def test_holm_by_definition_is_the_closed_bonferroni_test(p_values):
    m = range(len(p_values))
    subsets = [s for size in range(1, len(p_values) + 1) for s in itertools.combinations(m, size)]
    expected = [max(min(1.0, len(s) * min(p_values[j] for j in s)) for s in subsets if i in s) for i in m]
    assert adjusted(p_values, "holm")[0] == pytest.approx(expected)


# --- design ---

shares = st.tuples(st.floats(0, 0.5), st.floats(0, 0.5))


def power(**design):
    return [point.power for point in ask("power", design).analysis.points]


@FEW
@given(shares, st.sampled_from(["exact", "midp", "asymptotic", "corrected"]), st.integers(5, 60))
def test_power_mirrors_with_the_arms_and_is_a_probability(both, method, n):
    loses, wins = both
    options = {"test": "mcnemar", "method": method, "n": n}
    one = power(**options, p_only_baseline=loses, p_only_candidate=wins, alternative="greater")
    other = power(**options, p_only_baseline=wins, p_only_candidate=loses, alternative="less")
    assert one == pytest.approx(other, abs=1e-9)
    assert -1e-12 <= one[0] <= 1 + 1e-12


@FEW
@given(shares, st.integers(5, 60), st.floats(0, 1))
def test_power_grows_with_the_wins_and_the_margin(both, n, step):
    loses, wins = both
    options = {"test": "mcnemar", "n": n, "alternative": "greater"}
    less = power(**options, p_only_baseline=loses, p_only_candidate=wins)
    # a share of the losses becomes wins
    more = power(**options, p_only_baseline=loses * (1 - step), p_only_candidate=wins + loses * step)
    assert more[0] >= less[0] - 1e-9
    tango = {"test": "tango", "n": n, "p_only_baseline": loses / 4, "p_only_candidate": wins / 4}
    narrow, wide = (power(**tango, margin={"value": v, "unit": "pp"}) for v in (10, 10 + 20 * step + 0.1))
    assert wide[0] >= narrow[0] - 1e-9


# --- replication agreement ---

effects = st.lists(st.tuples(st.floats(-3, 3), st.floats(-3, 3)), min_size=3, max_size=12)
posteriors = st.lists(st.tuples(st.floats(0, 1), st.floats(0, 1)), min_size=1, max_size=6)


def of_profile(rows, **options):
    human, agent = (list(column) for column in zip(*rows, strict=True))
    return json.loads(ask("ecs", {"human": human, "agent": agent}, **options).analysis.model_dump_json())


@FEW
@given(effects, randoms)
def test_concordance_is_symmetric_bounded_and_blind_to_names(rows, random):
    found, other = of_profile(rows), of_profile([(b, a) for a, b in rows])
    assert_same([other["ecs"], other["pearson"]], [found["ecs"], found["pearson"]])
    if found["ecs"] is not None and found["pearson"] is not None:
        assert abs(found["ecs"]) <= abs(found["pearson"]) + 1e-9 <= 1 + 2e-9
    studies = [f"s{k % 3}" for k in range(len(rows))]
    names = new_names(random)
    renamed = {each: names[int(each[1:])] for each in studies}
    one, two = (of_profile(rows, study=s) for s in (studies, [renamed[each] for each in studies]))
    assert one["ecs"] == two["ecs"]
    assert [g["ecs"] for g in one["studies"]] == [g["ecs"] for g in two["studies"]]


@FEW
@given(posteriors, st.floats(0, 1))
def test_agreement_of_posteriors_is_symmetric_bounded_and_rises_towards_the_other_side(rows, step):
    def pas(pairs):
        tests = [
            {"finding": f"f{k}", "human": {"pi": h}, "agent": {"pi": a}} for k, (h, a) in enumerate(pairs)
        ]
        return ask("pas", {"tests": tests}).analysis.pas

    found = pas(rows)
    assert 0 <= found <= 1
    assert pas([(a, h) for h, a in rows]) == pytest.approx(found, abs=1e-12)
    (h, a), rest = rows[0], rows[1:]
    towards = a + step * ((1.0 if h >= 0.5 else 0.0) - a)
    assert pas([(h, towards), *rest]) >= found - 1e-12


@FEW
@given(st.floats(0, 30), st.integers(3, 500), st.floats(0.1, 3))
def test_a_bayes_factor_knows_no_sign_and_no_order_of_groups(t, n, rscale):
    assert jzs_t(t, n, n - 1, rscale) == jzs_t(-t, n, n - 1, rscale)
    one, other = (
        ask("bayes-factor", {"evidence": {"kind": "t", "t": t, "n1": a, "n2": b, "rscale": rscale}}).analysis
        for a, b in ((n, 7), (7, n))
    )
    assert one.log_bf10 == pytest.approx(other.log_bf10, abs=1e-12)
    assert one.bf10 * one.bf01 == pytest.approx(1)
    assert 0 <= one.posterior <= 1
