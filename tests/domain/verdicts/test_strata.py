"""Effect by category in a verdict."""

from __future__ import annotations

import numpy as np
import pytest

from service.domain.plans.manifest import Manifest
from service.domain.verdicts.strata import MOST
from service.stats.shared.declaring import registry
from tests.domain import sample
from tests.stats.shapes import columns

NAMES = ("easy", "hard", "odd")


def found(baseline, candidate, strata, clusters=None, **changes):
    n = len(baseline)
    items = {"one": Manifest.create([f"i{k}" for k in range(n)], clusters, strata)}
    if clusters is not None:
        changes |= {
            "populations.0.clusters": {"key": "c", "n": len(set(clusters))},
            "populations.0.independence": None,
            "tests.0": {"id": "m", "test": "clustered-mcnemar", "version": 1, "parameters": {}},
        }
    verdict = sample.verdict_of(changes, sample.outcomes(baseline, candidate), manifests=items)
    return verdict.hypotheses[0]


def analysis(name, baseline, candidate, **more):
    test = registry.find(name)
    return test.compute(
        test.request.model_validate({**columns(zip(baseline, candidate, strict=True)), **more})
    )


def arms(seed, n=120):
    rng = np.random.default_rng(seed)
    return rng.integers(0, 2, n).astype(float), rng.integers(0, 2, n).astype(float)


def test_every_stratum_has_its_own_difference_and_interval():
    baseline, candidate = arms(1)
    strata = [NAMES[k % 3] for k in range(120)]
    read = found(baseline, candidate, strata, **{"populations.0.strata": "difficulty"}).strata
    assert (read.of, read.method, read.level) == ("difficulty", "tango", 0.95)
    assert [each.stratum for each in read.effects] == list(NAMES)
    for k, each in enumerate(read.effects):
        expected = analysis("paired-difference", baseline[k::3].tolist(), candidate[k::3].tolist())
        assert (each.n, each.n_clusters) == (40, None)
        assert each.delta == pytest.approx(expected.delta, abs=1e-12)
        assert (each.ci.low, each.ci.high) == pytest.approx((expected.ci.low, expected.ci.high), abs=1e-9)
    assert read.mean_of_strata == pytest.approx(np.mean(candidate - baseline), abs=1e-12)


def test_strata_that_speak_against_the_pooled_difference_are_named():
    """Easy +8 of 80, hard -4 of 20: together +4 of 100, and by strata alike -5 pp."""
    baseline, candidate = np.zeros(100), np.zeros(100)
    candidate[:8] = 1
    baseline[80:84] = 1
    read = found(baseline, candidate, ["easy"] * 80 + ["hard"] * 20).strata
    assert read.opposed == ("hard",)
    assert [each.opposed for each in read.effects] == [False, True]
    assert read.mean_of_strata == pytest.approx((0.1 - 0.2) / 2)
    assert read.sign_depends_on_weights
    agreeing = found(baseline, candidate, ["easy"] * 40 + ["hard"] * 60).strata
    assert agreeing.opposed == ("hard",)
    assert not agreeing.sign_depends_on_weights


def test_clustered_strata_have_cluster_robust_intervals():
    baseline, candidate = arms(2)
    clusters = [f"c{k // 5}" for k in range(120)]
    strata = ["easy" if k < 60 else "hard" for k in range(120)]
    read = found(baseline, candidate, strata, clusters).strata
    assert read.method == "cr2_t"
    expected = analysis(
        "clustered-mcnemar",
        baseline[:60].tolist(),
        candidate[:60].tolist(),
        clusters=clusters[:60],
        method="cr2_t",
    )
    first = read.effects[0]
    assert (first.n, first.n_clusters) == (60, 12)
    assert (first.ci.low, first.ci.high) == pytest.approx((expected.ci.low, expected.ci.high), abs=1e-9)


def test_scores_have_the_interval_of_a_paired_t():
    rng = np.random.default_rng(3)
    baseline, candidate = rng.normal(size=(2, 60)).round(3)
    changes = {
        "endpoints.0.kind": "continuous",
        "sesoi": {"accuracy": {"value": 1, "unit": "score"}},
        "hypotheses.0.rule": "delta > 0",
    }
    read = found(baseline, candidate, ["easy"] * 30 + ["hard"] * 30, **changes).strata
    d = (candidate - baseline)[:30]
    half = 2.045229642132703 * d.std(ddof=1) / np.sqrt(30)  # t(.975, 29)
    assert (read.effects[0].ci.low, read.effects[0].ci.high) == pytest.approx(
        (d.mean() - half, d.mean() + half), abs=1e-9
    )


def test_what_has_no_interval_says_why():
    baseline, candidate = np.zeros(6), np.zeros(6)
    candidate[5] = np.nan
    changes = {
        "endpoints.0.kind": "continuous",
        "sesoi": {"accuracy": {"value": 1, "unit": "score"}},
        "hypotheses.0.rule": "delta > 0",
    }
    read = found(baseline, candidate, ["a", "a", "a", "b", "b", "c"], **changes).strata
    same, _, empty = read.effects
    assert (same.ci, same.reason) == (None, "the differences do not vary, so their spread measures nothing")
    assert (empty.n, empty.delta, empty.reason) == (0, None, "no item is left")
    assert read.opposed == ()


def test_without_strata_or_with_a_stratum_per_item_there_is_nothing_to_show():
    baseline, candidate = arms(4, MOST + 1)
    assert found(baseline, candidate, None).strata is None
    read = found(baseline, candidate, [f"s{k}" for k in range(MOST + 1)]).strata
    assert read.effects == ()
    assert "too many" in read.reason


def test_results_that_break_the_plan_have_no_strata():
    baseline, candidate = np.zeros(4), np.array([0, 0.5, 0, 0])
    results = sample.outcomes(baseline, candidate)
    items = {"one": Manifest.create(list("abcd"), None, list("xxyy"))}
    assert sample.verdict_of({}, results, manifests=items).hypotheses[0].strata is None
