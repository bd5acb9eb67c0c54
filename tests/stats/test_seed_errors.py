"""What the seed documents get wrong about pairs, clusters, equivalence and replication, one test for each.

The seeds are the write-ups, with formulas and code, that the service began from: seed1 is about pairs and clusters,
seed2 the bootstrap, seed3 replication, seed4 and seed5 runs and their number. Errors about runs and design stand
beside the tests of those families, as `test_seed4_...` and `test_seed5_...`.
"""

from __future__ import annotations

import json
from fractions import Fraction

import numpy as np
import pytest

from service.domain.rules.grammar import parse
from service.errors import InvalidData
from service.stats.shared.declaring import registry
from tests.domain.rules.evaluated import evaluate
from tests.stats.oracle import analyse, ask, codes
from tests.stats.shapes import columns, table_of


def test_seed1_names_the_discordant_cells_one_way_in_its_table_and_another_in_its_code():
    table, code = {"n10": 12, "n01": 4}, {"n01": 12, "n10": 4}
    for letters in (table, code):
        with pytest.raises(ValueError, match="Extra inputs are not permitted"):
            ask("mcnemar", {"n11": 50, "n00": 34, **letters})
    better = analyse("mcnemar", table_of(50, 4, 12, 34))
    assert better.delta == pytest.approx(0.08)
    assert better.odds_ratio.estimate == 3
    assert analyse("mcnemar", columns([(0, 1)])).counts.only_candidate == 1


def test_seed1_float_thresholds_fail_an_exact_two_points_in_a_quarter_of_baselines():
    n, rule = 500, parse("delta >= 2.0 pp")
    starts = range(n - 9)
    as_floats = [((a + 10) / n - a / n) * 100 >= 2.0 for a in starts]
    assert 1 - np.mean(as_floats) == pytest.approx(0.285, abs=0.001)
    assert all(evaluate(rule, {"delta": Fraction(a + 10, n) - Fraction(a, n)}) for a in starts)
    assert not evaluate(rule, {"delta": Fraction(9, n)})


def test_seed1_pools_replicates_that_are_no_independent_items():
    runs = {"baseline": [[1, 0, 1], [0, 0, 1]], "candidate": [[1, 1, 1], [0, 1, 1]]}
    with pytest.raises(InvalidData, match="several values per item"):
        ask("mcnemar", runs)
    assert analyse("paired-bootstrap", runs).n == 2


def test_seed1_calls_no_discordance_equivalent():
    found = ask("mcnemar", table_of(8, 8, 8, 8))
    assert found.analysis.p_value == 1
    assert "does not show equality" in found.analysis.sentence
    none = ask("mcnemar", table_of(10, 0, 0, 10))
    assert "NO_DISCORDANT" in codes(none)
    assert not analyse("equivalence", table_of(10, 0, 0, 10), margin={"value": 2, "unit": "pp"}).equivalent


@pytest.mark.parametrize("method", ["tango", "t", "bootstrap_ci"])
@pytest.mark.parametrize("table", [(400, 12, 12, 76), (400, 40, 40, 20), (400, 10, 60, 30)])
def test_seed1_accepts_a_null_hypothesis_of_equivalence(method, table):
    """Its text says `accept equivalence H0` and `cannot reject equivalence`: equivalence is what is shown."""
    found = analyse("equivalence", table_of(*table), margin={"value": 2, "unit": "pp"}, method=method)
    words = found.sentence.lower()
    assert ("are rejected" in words) == found.equivalent
    assert ("accept" in words, "cannot reject" in words, "equivalence h0" in words) == (False,) * 3
    assert found.ci.level == pytest.approx(0.9)


def test_seed1_demands_a_clustered_mcnemar_and_never_defines_it():
    rng = np.random.default_rng(5)
    body = {
        "baseline": (rng.random(240) < 0.5).astype(float).tolist(),
        "candidate": (rng.random(240) < 0.62).astype(float).tolist(),
        "clusters": [int(k) for k in np.repeat(np.arange(12), np.arange(9, 33, 2))][:240],
    }
    methods = ("sign_flip", "obuchowski", "durkalski", "yang", "eliasziw_donner", "cr1_t", "cr2_t", "cv3_t")
    found = {method: analyse("clustered-mcnemar", body, method=method) for method in methods}
    assert len({round(each.p_value, 6) for each in found.values()}) == len(methods)
    assert all(each.method == name and name in each.sentence for name, each in found.items())
    assert found["durkalski"].estimand != found["yang"].estimand


def test_seed1_ordinary_interval_of_clustered_items_is_too_short():
    body = {
        "baseline": [0.0] * 200,
        "candidate": [float(k // 20 in (1, 4, 5, 8)) for k in range(200)],
        "clusters": [k // 20 for k in range(200)],
    }
    plain = analyse("paired-bootstrap", {name: body[name] for name in ("baseline", "candidate")}).ci
    whole = analyse("cluster-bootstrap", body).ci
    assert whole.high - whole.low > 3 * (plain.high - plain.low)


def test_seed2_first_formula_lacks_the_factor_two():
    """P(delta* >= delta) is about one half whatever the data; the p-value is P(delta* >= 2 delta)."""
    body = columns([(1, 1)] * 40 + [(0, 1)] * 30 + [(1, 0)] * 10 + [(0, 0)] * 20)
    found = analyse("paired-bootstrap", body)
    difference = np.array(body["candidate"]) - np.array(body["baseline"])
    drawn = difference[np.random.default_rng(1).integers(0, 100, (20_000, 100))].mean(axis=1)
    assert np.mean(drawn >= found.delta - 1e-9) == pytest.approx(0.5, abs=0.05)
    assert found.p_value == pytest.approx(np.mean(drawn >= 2 * found.delta - 1e-9), abs=0.002)
    assert found.p_value < 0.001


def agreement(tests, variant):
    return analyse("pas", {"tests": tests, "variant": variant})


def posteriors(human, agent, **fields):
    return {"finding": "F", "human": {"pi": human}, "agent": {"pi": agent}, **fields}


def test_seed3_code_pools_without_the_weights_of_its_text():
    tests = [posteriors(0.95, 0.95, n_eff=1.0), posteriors(0.95, 0.3, n_eff=99.0)]
    text, code = agreement(tests, "document"), agreement(tests, "reference_code")
    assert text.pas < code.pas - 0.1
    for test in tests:
        test["n_eff"] = 7.0
    assert agreement(tests, "document").pas == pytest.approx(agreement(tests, "reference_code").pas, abs=1e-6)


def test_seed3_code_averages_z_across_findings_where_its_text_takes_the_mean():
    tests = [posteriors(0.99, 0.99), {**posteriors(0.9, 0.2), "finding": "G"}]
    each = [0.99**2 + 0.01**2, 0.9 * 0.2 + 0.1 * 0.8]
    assert agreement(tests, "document").pas == pytest.approx(sum(each) / 2)
    z = [np.arctanh(2 * value - 1) for value in each]
    assert agreement(tests, "reference_code").pas == pytest.approx((np.tanh(np.mean(z)) + 1) / 2, abs=1e-6)


def test_seed3_code_has_three_states_where_its_text_has_two():
    sides = {"human": {"pi": 0.9, "direction": 1}, "agent": {"pi": 0.9, "direction": -1}}
    found = {
        variant: agreement([{"finding": "F", **sides}], variant).pas
        for variant in ("document", "three_state")
    }
    assert found["document"] == pytest.approx(0.82)
    assert found["three_state"] < 0.02


def test_seed3_rounds_the_cauchy_scale():
    """Its prior scale is exactly .707, not the root of one half."""
    evidence = {"kind": "t", "t": 2.5, "n1": 20, "n2": 20}
    stated, rounded, root = (
        analyse("bayes-factor", {"evidence": {**evidence, **scale}}).bf10
        for scale in ({}, {"rscale": 0.707}, {"rscale": 0.5**0.5})
    )
    assert stated == rounded != root


def test_no_sentence_claims_what_seeds_claim():
    """`marginally significant`, `no effect` and `confirms` stand in no answer to a registered example."""
    for name, test in registry.latest().items():
        said = json.dumps(ask(name, test.example).analysis.model_dump(mode="json")["sentence"]).lower()
        assert not any(words in said for words in ("marginally", "no effect", "confirm")), name
