"""The cluster bootstrap against every resample of clusters, the literal recipe and plain bootstraps."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from service.errors import InvalidData
from service.stats.shared.declaring import registry
from tests.drawing import draws
from tests.simulation import shortcuts
from tests.simulation.reads import CLUSTERED, coverage, errors
from tests.simulation.rows import Batch
from tests.simulation.worlds import WORLDS
from tests.stats.bodies import bodies_of_pairs, by_cluster, clustered, clustered_rows
from tests.stats.cases import Cases
from tests.stats.oracle import analyse, ask, codes
from tests.stats.soundness import sound

NAME = "cluster-bootstrap"
rows = clustered_rows(5, min_size=3, max_size=30)


def of_sums(sums, sizes):
    return by_cluster(
        [
            (int(d < 0 and k < -d), int(d > 0 and k < d), label)
            for label, (d, n) in enumerate(zip(sums, sizes, strict=True))
            for k in range(n)
        ]
    )


@settings(deadline=None, max_examples=draws(40))
@given(rows, st.sampled_from(["item_weighted", "cluster_weighted"]))
def test_by_definition(table, estimand):
    labels = sorted({row[2] for row in table})
    d = np.array([sum(b - a for a, b, g in table if g == k) for k in labels], dtype=float)
    n = np.array([sum(g == k for _, _, g in table) for k in labels], dtype=float)
    if estimand == "cluster_weighted":
        d, n = d / n, np.ones(len(n))
    picks = np.array(list(itertools.product(range(len(d)), repeat=len(d))))
    ratios = d[picks].sum(axis=1) / n[picks].sum(axis=1)
    delta = d.sum() / n.sum()
    found = analyse(NAME, by_cluster(table), estimand=estimand)
    assert found.delta == pytest.approx(delta, abs=1e-12)
    tie = 1e-11
    expected = np.mean(ratios >= 2 * delta - tie)
    if expected == 0:
        assert found.p_value == float(len(d)) ** -len(d)
        assert "p_value" in found.bounds
    else:
        assert found.p_value == pytest.approx(expected, abs=1e-12)
    assert found.fraction_le_0 == pytest.approx(np.mean(ratios <= tie), abs=1e-12)
    assert found.fraction_lt_0 == pytest.approx(np.mean(ratios < -tie), abs=1e-12)
    mean_sd = (ratios.mean(), ratios.std())
    assert (found.bootstrap_mean, found.bootstrap_se) == pytest.approx(mean_sd, abs=1e-9)
    assert np.mean(ratios <= found.ci.low + tie) >= 0.025 - 1e-9
    assert np.mean(ratios < found.ci.low - tie) < 0.025
    assert np.mean(ratios <= found.ci.high + tie) >= 0.975 - 1e-9
    assert np.mean(ratios < found.ci.high - tie) < 0.975


@settings(deadline=None, max_examples=draws(30))
@given(rows, st.randoms(use_true_random=False))
def test_order_and_names_of_clusters_do_not_matter(table, random):
    shuffled = [(a, b, 10 - g) for a, b, g in random.sample(table, len(table))]
    one, other = analyse(NAME, by_cluster(table)), analyse(NAME, by_cluster(shuffled))
    for field in ("delta", "p_value", "bootstrap_mean", "bootstrap_se", "fraction_le_0"):
        assert getattr(one, field) == pytest.approx(getattr(other, field), rel=1e-9, abs=1e-12)
    assert (one.ci.low, one.ci.high) == pytest.approx((other.ci.low, other.ci.high), abs=1e-12)


@settings(deadline=None, max_examples=draws(30))
@given(rows)
def test_swapping_the_arms_mirrors(table):
    one = analyse(NAME, by_cluster(table))
    other = analyse(NAME, by_cluster([(b, a, g) for a, b, g in table]), alternative="less")
    assert other.p_value == pytest.approx(one.p_value, abs=1e-12)
    assert other.bootstrap_mean == pytest.approx(-one.bootstrap_mean, abs=1e-12)


@pytest.mark.parametrize("n", [9, 30])
def test_singletons_are_the_paired_bootstrap(n):
    rng = np.random.default_rng(n)
    table = [(int(a), int(b), k) for k, (a, b) in enumerate(rng.integers(0, 2, (n, 2)))]
    body = by_cluster(table)
    clustered = analyse(NAME, body)
    plain = analyse("paired-bootstrap", {name: body[name] for name in ("baseline", "candidate")})
    assert clustered.p_value == pytest.approx(plain.p_value, abs=1e-12)
    assert (clustered.ci.low, clustered.ci.high) == pytest.approx((plain.ci.low, plain.ci.high), abs=1e-12)


def test_three_clusters_by_hand():
    found = analyse(NAME, of_sums([2, -1, 3], [4, 6, 10]))
    assert found.delta == pytest.approx(0.2)
    assert (found.ci.low, found.ci.high) == pytest.approx((-1 / 6, 1 / 2))
    assert found.fraction_le_0 == pytest.approx(4 / 27)
    assert found.p_value == pytest.approx(1 / 27)


def test_seed1_returns_the_bootstrap_mean_where_the_estimate_is_the_observed_difference():
    found = analyse(NAME, of_sums([2, -1, 3], [4, 6, 10]))
    assert found.delta != pytest.approx(found.bootstrap_mean, abs=1e-4)


@pytest.mark.parametrize("g", [13, 25])
def test_more_clusters_agree_with_drawing(g):
    rng = np.random.default_rng(g)
    sizes = rng.integers(2, 40, g)
    sums = np.array([int(rng.integers(-n // 3, n // 2 + 1)) for n in sizes])
    answer = sound(ask(NAME, of_sums(sums.tolist(), sizes.tolist())))
    found = answer.analysis
    drawn = rng.multinomial(g, np.full(g, 1 / g), 100_000)
    ratios = drawn @ sums / (drawn @ sizes)
    assert (found.ci.low, found.ci.high) == pytest.approx(
        np.quantile(ratios, [0.025, 0.975]), abs=0.03 * ratios.std()
    )
    assert found.fraction_le_0 == pytest.approx(np.mean(ratios <= 0), abs=0.008)
    assert found.bootstrap_se == pytest.approx(ratios.std(), rel=0.02)
    assert answer.provenance.exact
    assert answer.provenance.error_bound < 0.005


def test_a_dominant_cluster_among_many_is_drawn():
    sums = [0, *[1, -1] * 7]
    answer = sound(ask(NAME, of_sums(sums, [10_000, *range(1, 15)])))
    assert answer.analysis.route == "monte_carlo"
    assert not answer.provenance.exact
    # of few kinds, they are listed
    assert ask(NAME, of_sums(sums, [10_000] + [1] * 14)).analysis.route == "enumeration"


def test_an_interval_that_touches_zero_is_not_drawn_past_it():
    body = of_sums([0] * 6 + [1] * 2 + [-1] * 2 + [2] * 4, [1] * 6 + [2] * 2 + [3] * 6)
    answer = sound(ask(NAME, body))
    assert answer.provenance.exact
    # every one of the 14^14 resamples is weighed; 10,000 draws with the usual seed give .0303
    assert answer.analysis.ci.low == 0.0


def test_seed_convention_reproduces_the_published_code():
    per_cluster = [[1, 0, 0, -1], [0, 1, 1, 0, 0, 1], [-1, 0, 1]]
    rng = np.random.default_rng(42)
    boots = [
        np.concatenate([per_cluster[c] for c in rng.choice(3, 3, replace=True)]).mean() * 100
        for _ in range(2000)
    ]
    table = [(int(d < 0), int(d > 0), label) for label, ds in enumerate(per_cluster) for d in ds]
    found = analyse(NAME, by_cluster(table), convention="seed")
    low, high = np.percentile(boots, [(1 - 0.95) / 2 * 100, (1 - (1 - 0.95) / 2) * 100])
    assert (found.ci.low * 100, found.ci.high * 100) == pytest.approx((low, high), abs=1e-12)
    assert found.bootstrap_mean * 100 == pytest.approx(np.mean(boots), abs=1e-12)


@pytest.mark.parametrize(("sums", "sizes"), [
    ([1, 1], [2, 2]), ([0, 0], [1, 1]), ([1, -1], [1, 1]), ([3, 3, 3], [3, 3, 3]), ([5] * 20, [9] * 20),
    ([1] + [0] * 15, [50] + [1] * 15), ([0] * 14, [3] * 14), ([1, 0], [1, 500]), ([2, 4, 6] * 5, [4, 8, 12] * 5),
])  # fmt: skip
@pytest.mark.parametrize("options", [{}, {"estimand": "cluster_weighted"}, {"alternative": "two-sided"}])
def test_hostile_clusters_stay_sound(sums, sizes, options):
    found = sound(ask(NAME, of_sums(sums, sizes), **options)).analysis
    assert found.ci.low <= found.ci.high
    assert found.bootstrap_se >= 0


def test_scores_in_clusters():
    rng = np.random.default_rng(1)
    body = {
        "baseline": rng.normal(size=60).tolist(),
        "candidate": rng.normal(0.2, 1, size=60).tolist(),
        "clusters": [f"doc {k % 15}" for k in range(60)],
    }
    found = sound(ask(NAME, body)).analysis
    assert found.n_clusters == 15
    assert found.ci.low < found.delta < found.ci.high


def test_one_cluster_is_refused():
    with pytest.raises(InvalidData, match="single cluster"):
        ask(NAME, of_sums([3], [10]))


@pytest.mark.parametrize(("g", "expected"), [(9, {"FEW_CLUSTERS"}), (10, {"CAUTION"}), (30, set())])
def test_warnings_follow_the_number_of_clusters(g, expected):
    body = of_sums([(k % 4) - 1 for k in range(g)], [12] * g)
    assert codes(ask(NAME, body)) == expected


def test_cost_grows_with_clusters():
    test = registry.find(NAME)

    def cost(g):
        return test.cost(test.request.model_validate_json(json.dumps(of_sums([1] * g, [3] * g))))

    assert cost(3) < 0.002 < cost(12) < 1.5
    assert cost(5) < cost(8) < cost(11)


@pytest.mark.slow
@pytest.mark.parametrize(("g", "low", "high"), [(5, 0.12, 0.21), (10, 0.06, 0.12)])
def test_percentile_interval_is_too_liberal_with_few_clusters(g, low, high):
    rng = np.random.default_rng(3)
    missed = 0
    for _ in range(500):
        shift = rng.normal(0, 0.2, g)
        sums = np.rint(rng.normal(0, 1.5, g) + 10 * shift).astype(int).clip(-20, 20).tolist()
        ci = analyse(NAME, of_sums(sums, [20] * g)).ci
        missed += ci.low > 0 or ci.high < 0
    assert low < missed / 500 < high


def test_a_tail_below_what_the_inversion_tells_is_a_bound():
    rng = np.random.default_rng(40)
    sizes = rng.integers(3, 20, 40)
    labels = np.repeat(np.arange(40), sizes)
    baseline = rng.normal(0.5, 0.2, len(labels))
    candidate = baseline + 0.09 + rng.normal(0, 0.05, 40)[labels]
    body = {"baseline": baseline.tolist(), "candidate": candidate.tolist(), "clusters": labels.tolist()}
    found = analyse("cluster-bootstrap", body)
    assert found.route == "inversion"
    assert found.bounds["p_value"] == f"< {found.p_value:.3g}"
    assert 1e-7 < found.p_value < 1e-4


def simulated() -> Iterator[Batch]:
    """What is drawn where the truth is known."""
    both = tuple(coverage(f"intervals.{method}", method) for method in ("percentile", "basic"))
    for world in CLUSTERED:
        drawn = shortcuts.cluster_bootstrap if world == "unequal-clusters" else None
        yield Batch(world, "cluster-bootstrap", (errors(),), compute=drawn)
        yield Batch(world, "cluster-bootstrap", both, {}, WORLDS[world].effect, compute=drawn)


CASES = Cases(
    degenerate=lambda: bodies_of_pairs(),
    growing=[
        lambda k: clustered(400 * k),
        lambda k: {**clustered(400), "method": "studentized", "n_resamples": 1000 * k},
        lambda k: {**clustered(400), "convention": "seed", "n_resamples": 1000 * k},
    ],
    mirrored={
        "clusters": [
            {"alternative": "two-sided"},
            {"alternative": "two-sided", "estimand": "cluster_weighted"},
        ]
    },
    simulated=simulated,
    varied={"comparison": [">=", "strict"], "n_resamples": [200], "method": ["percentile", "bca"]},
    shown={"comparison": [">=", "strict"], "method": ["percentile", "basic", "bca", "studentized"]},
)
