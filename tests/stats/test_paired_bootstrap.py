"""The paired bootstrap against every resample, the literal recipe, and its own symmetries."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from service.errors import InvalidData
from service.stats.shared.declaring import registry
from tests.drawing import draws
from tests.simulation.reads import BINARY, MEMOISED, SCORES, coverage, errors
from tests.simulation.rows import Batch
from tests.simulation.worlds import WORLDS
from tests.stats import bodies
from tests.stats.bodies import STATISTICS, bodies_of_pairs, bodies_of_tables, counted, scores
from tests.stats.cases import Cases
from tests.stats.oracle import analyse, ask, codes
from tests.stats.shapes import columns
from tests.stats.soundness import sound

NAME = "paired-bootstrap"
pairs = st.lists(st.tuples(st.integers(0, 1), st.integers(0, 1)), min_size=1, max_size=40)


def counts(b, c, rest):
    return {"both_correct": rest, "only_baseline": c, "only_candidate": b, "both_wrong": 0}


@settings(deadline=None, max_examples=draws(40))
@given(
    st.lists(st.tuples(st.integers(0, 1), st.integers(0, 1)), min_size=1, max_size=6),
    st.sampled_from([0.5, 0.9, 0.95]),
)
def test_by_definition(rows, level):
    n = len(rows)
    d = np.array([b - a for a, b in rows])
    sums = d[np.array(list(itertools.product(range(n), repeat=n)))].sum(axis=1)
    s = d.sum()
    found = analyse(NAME, columns(rows), level=level)

    def told(share):
        """Never 0: what no resample reaches is below the rarest one, n items drawn the same."""
        return pytest.approx(share or float(n) ** -n, abs=1e-12)

    strict = analyse(NAME, columns(rows), comparison="strict")
    assert found.p_value == told(np.mean(sums >= 2 * s))
    assert strict.p_value == (told(np.mean(sums > 2 * s)) if d.any() else 1)
    less = analyse(NAME, columns(rows), alternative="less").p_value
    both = analyse(NAME, columns(rows), alternative="two-sided").p_value
    assert less == told(np.mean(sums <= 2 * s))
    assert both == told(np.mean(abs(sums - s) >= abs(s)))
    for field, share in (
        ("fraction_le_0", np.mean(sums <= 0)), ("fraction_lt_0", np.mean(sums < 0)),
        ("fraction_ge_0", np.mean(sums >= 0)), ("fraction_gt_0", np.mean(sums > 0)),
    ):  # fmt: skip
        assert getattr(found, field) == pytest.approx(share, abs=1e-12)
    tail = (1 - level) / 2
    ends = [np.quantile(sums, q, method="inverted_cdf") / n for q in (tail, 1 - tail)]
    assert (found.ci.low, found.ci.high) == pytest.approx(ends, abs=1e-12)
    assert (found.bootstrap_mean, found.bootstrap_se) == pytest.approx((s / n, sums.std() / n), abs=1e-9)


@given(pairs)
def test_swapping_the_arms_mirrors(rows):
    one, other = analyse(NAME, columns(rows)), analyse(NAME, columns([(b, a) for a, b in rows]))
    assert other.delta == -one.delta
    assert other.p_better == pytest.approx(one.p_better, rel=1e-9)
    assert other.fraction_le_0 == pytest.approx(one.fraction_ge_0, abs=1e-12)
    assert {one.better, other.better} in ({"baseline", "candidate"}, {None})


@given(pairs, st.randoms(use_true_random=False))
def test_order_does_not_matter(rows, random):
    assert analyse(NAME, columns(rows)) == analyse(NAME, columns(random.sample(rows, len(rows))))


@given(pairs)
def test_columns_and_counts_agree(rows):
    cells = [sum(row == cell for row in rows) for cell in ((1, 1), (1, 0), (0, 1), (0, 0))]
    names = ("both_correct", "only_baseline", "only_candidate", "both_wrong")
    assert analyse(NAME, columns(rows)) == analyse(NAME, dict(zip(names, cells, strict=True)))


@given(pairs)
def test_p_is_large_unless_the_candidate_is_better(rows):
    found = analyse(NAME, columns(rows))
    if found.delta <= 0:
        assert found.p_value >= 0.5 - 0.2 / math.sqrt(len(rows))
    assert found.intervals["basic"].low == pytest.approx(2 * found.delta - found.ci.high, abs=1e-12)


def test_seed2_text_counts_the_atom_that_its_figure_skips():
    body = columns([(1, 1)] * 3 + [(1, 0)] * 4 + [(0, 1)] * 2 + [(0, 0)])
    assert analyse(NAME, body).p_better == pytest.approx(0.2684, abs=5e-5)
    assert analyse(NAME, body, comparison="strict").p_better == pytest.approx(0.1457, abs=5e-5)
    assert analyse(NAME, body).better == "baseline"


@pytest.mark.parametrize("clusters", [None, [0, 1, 2, 0]])
@settings(deadline=None, max_examples=draws(30))
@given(rows=st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5)), min_size=4, max_size=4))
def test_ties_of_resamples_are_ties_in_scores_of_four_decimals(rows, clusters):
    """98.7603 - 98.7602 is not 98.7604 - 98.7603: p came out as .043 where whole numbers have .074."""
    whole = {arm: [v + 2.0 for v in values] for arm, values in columns(rows).items()}
    scores = {arm: [round(98.76 + v / 1e4, 4) for v in values] for arm, values in columns(rows).items()}
    names = ("p_value", "p_better", "fraction_lt_0", "fraction_le_0")
    told, found = (
        analyse(NAME, body if clusters is None else {**body, "clusters": clusters})
        for body in (whole, scores)
    )
    assert [getattr(found, name) for name in names] == pytest.approx([getattr(told, name) for name in names])


def test_a_difference_that_is_zero_but_for_rounding_is_a_tie_of_the_arms():
    found = analyse(NAME, {"baseline": [3.5, 1.4, 1.4], "candidate": [2.1, 2.1, 2.1]})
    assert (found.delta, found.better) == (0, None)


SAME = {"tp": [0, 1, 0], "fp": [1, 1, 0], "fn": [1, 0, 0]}


@pytest.mark.parametrize("alternative", ["greater", "less", "two-sided"])
@pytest.mark.parametrize(
    "body",
    [
        columns([(1, 1)] * 2 + [(0, 0)]),
        {**columns([(0.5, 0.5), (0.25, 0.25), (0.75, 0.75)]), "clusters": [1, 1, 2]},
        {"baseline": SAME, "candidate": SAME, "metric": "f1"},
    ],
)
def test_equal_arms_are_not_rejected_by_the_strict_comparison(body, alternative):
    found = analyse(NAME, body, comparison="strict", alternative=alternative)
    assert (found.p_value, found.p_better) == (1, 1)
    assert "p_value" not in found.bounds
    assert "is not rejected" in found.sentence


def test_agrees_with_scipy_bootstrap_on_scores():
    rng = np.random.default_rng(6)
    baseline, candidate = rng.beta(2, 3, 80), rng.beta(2.3, 3, 80)
    answer = ask(NAME, {"baseline": baseline.tolist(), "candidate": candidate.tolist()})
    found = answer.analysis
    for method in ("percentile", "basic"):
        theirs = stats.bootstrap(
            (candidate - baseline,), np.mean, n_resamples=40_000, method=method, rng=np.random.default_rng(1)
        ).confidence_interval
        ours = found.intervals[method]
        assert (ours.low, ours.high) == pytest.approx(
            (theirs.low, theirs.high), abs=0.04 * found.bootstrap_se
        )
    assert found.route == "inversion"
    assert answer.provenance.exact
    assert 0 < answer.provenance.error_bound < 0.005


def test_scores_on_a_grid_by_definition():
    body = {"baseline": [0.1, 0.2, 0.3, 0.4, 0.5], "candidate": [0.2, 0.2, 0.6, 0.3, 0.7]}
    d = np.array([1, 0, 3, -1, 2])
    sums = d[np.array(list(itertools.product(range(5), repeat=5)))].sum(axis=1)
    found = analyse(NAME, body)
    assert found.p_value == pytest.approx(np.mean(sums >= 10), abs=1e-12)
    assert found.fraction_le_0 == pytest.approx(np.mean(sums <= 0), abs=1e-12)
    assert found.ci.low == pytest.approx(np.quantile(sums, 0.025, method="inverted_cdf") / 50, abs=1e-12)


@pytest.mark.slow
def test_scores_too_many_for_inversion_are_drawn_and_repeat():
    rng = np.random.default_rng(9)
    baseline = rng.lognormal(0, 2.5, 60_000)
    body = {
        "baseline": baseline.tolist(),
        "candidate": (baseline + rng.lognormal(0, 2.5, 60_000) * (rng.random(60_000) < 0.4) - 9.1).tolist(),
    }
    answer = ask(NAME, body, n_resamples=300, seed=5)
    assert answer.analysis.route == "monte_carlo"
    assert (answer.provenance.exact, answer.provenance.n_resamples, answer.provenance.seed) == (False, 300, 5)
    assert answer.analysis.min_attainable_p == pytest.approx(1 / 301)
    assert answer.analysis.p_mc_se > 0
    again = ask(NAME, body, n_resamples=300, seed=5)
    assert again.model_dump_json() == answer.model_dump_json()
    assert ask(NAME, body, n_resamples=300, seed=6).analysis.ci != answer.analysis.ci


def test_seed_convention_reproduces_the_published_code():
    rng = np.random.default_rng(0)
    a, b = rng.integers(0, 2, 60).tolist(), rng.integers(0, 2, 60).tolist()
    arr = np.array([(y - x) * 100 for x, y in zip(a, b, strict=True)])
    draws = np.random.default_rng(42)
    boots = np.array([arr[draws.choice(60, 60, replace=True)].mean() for _ in range(2000)])
    answer = ask(NAME, {"baseline": a, "candidate": b}, convention="seed", level=0.9)
    low, high = np.percentile(boots, [(1 - 0.9) / 2 * 100, (1 - (1 - 0.9) / 2) * 100])
    assert (answer.analysis.ci.low * 100, answer.analysis.ci.high * 100) == pytest.approx(
        (low, high), abs=1e-12
    )
    assert answer.analysis.p_value == np.mean(boots >= 2 * arr.mean() - 1e-9)
    assert (answer.provenance.seed, answer.provenance.n_resamples) == (42, 2000)
    assert answer.provenance.bit_generator == "PCG64"
    assert answer.provenance.versions["numpy"] == np.__version__


def test_seed_convention_needs_the_order_of_items():
    with pytest.raises(InvalidData, match="order"):
        ask(NAME, counts(3, 4, 5), convention="seed")


@pytest.mark.parametrize("n", [1_000_000, 1_000_000_000])
def test_many_items_are_close_to_normal(n):
    b, c = n // 10, n // 10 - round(0.8 * math.sqrt(n / 5))
    found = sound(ask(NAME, counts(b, c, n - b - c))).analysis
    z = stats.norm.ppf(0.975)
    assert found.ci.low == pytest.approx(found.delta - z * found.bootstrap_se, abs=0.01 * found.bootstrap_se)
    assert found.p_value == pytest.approx(stats.norm.sf(found.delta / found.bootstrap_se), abs=1e-3)


def test_far_tails_are_numbers_not_zero():
    found = analyse(NAME, counts(400, 100, 500))
    assert 1e-60 < found.p_value < 1e-30
    assert found.bounds == {}


@pytest.mark.parametrize("body", [
    counts(0, 0, 5), counts(5, 0, 0), counts(0, 5, 0), counts(1, 0, 0), counts(3, 3, 0), counts(0, 0, 1),
    counts(1, 0, 10**9 - 1),
])  # fmt: skip
@pytest.mark.parametrize(
    "options", [{}, {"method": "basic"}, {"comparison": "strict"}, {"alternative": "less"}]
)
def test_hostile_tables_stay_sound(body, options):
    sound(ask(NAME, body, **options))


@pytest.mark.parametrize("values", [
    ([0.5], [0.7]), ([0.5, 0.5], [0.5, 0.5]), ([0.1, 0.3], [0.2, 0.4]), ([1e-300, 0.0], [0.0, 1e-300]),
    ([0.0] * 20, [1e6] + [0.0] * 19), ([0.0] * 30, [math.pi] * 29 + [1e9]), ([0.0] * 13, [2.5] * 13),
])  # fmt: skip
def test_hostile_scores_stay_sound(values):
    baseline, candidate = values
    found = sound(ask(NAME, {"baseline": baseline, "candidate": candidate})).analysis
    assert found.ci.low <= found.ci.high


def test_few_discordant_items_warn():
    assert codes(ask(NAME, counts(10, 9, 50))) == {"FEW_DISCORDANT"}
    assert codes(ask(NAME, counts(10, 10, 50))) == set()
    assert codes(ask(NAME, counts(0, 0, 50))) == {"NO_DISCORDANT"}


def test_cost_tells_quick_from_slow():
    test = registry.find(NAME)

    def cost(**body):
        return test.cost(test.request.model_validate(body))

    quick = cost(baseline=[1.0, 0.0] * 250, candidate=[0.0, 1.0] * 250)
    assert quick < 0.002 < cost(baseline=[0.5] * 500, candidate=[0.25] * 500)
    assert cost(baseline=[1.0] * 150_000, candidate=[0.0] * 150_000, convention="seed") > 1


def test_interval_excludes_zero_strictly_at_an_attained_bound():
    found = analyse(NAME, counts(6, 1, 20), level=0.95)
    assert (found.ci.low > 0) == (found.fraction_le_0 < 0.025 - 1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("discordant", [0.4, 0.8])
def test_type_one_error_of_both_comparisons_at_ten_items(discordant):
    rng = np.random.default_rng(12)
    cells = rng.multinomial(10, [discordant / 2, discordant / 2, 1 - discordant], 4000)
    rejected = {
        comparison: np.mean(
            [
                analyse(NAME, counts(int(b), int(c), int(r)), comparison=comparison).p_value < 0.05
                for b, c, r in cells
            ]
        )
        for comparison in (">=", "strict")
    }
    assert rejected[">="] < 0.085
    assert 0.09 < rejected["strict"] < 0.19


def simulated() -> Iterator[Batch]:
    """What is drawn where the truth is known."""
    for world in BINARY:
        for options in (
            {"alternative": "greater"}, {"alternative": "two-sided"}, {"comparison": "strict"},
        ):  # fmt: skip
            yield Batch(world, "paired-bootstrap", (errors(),), options, simulations=MEMOISED)
        for method in ("percentile", "basic"):
            options = {"method": method}
            yield Batch(world, "paired-bootstrap", (coverage(),), options, WORLDS[world].effect, MEMOISED)
    both = tuple(coverage(f"intervals.{method}", method) for method in ("percentile", "basic"))
    for world in SCORES:
        yield Batch(world, "paired-bootstrap", (errors(), *both))


CASES = Cases(
    degenerate=lambda: [
        *bodies_of_tables(),
        *bodies_of_pairs(),
        *STATISTICS,
        *({**body, "n_resamples": 100, "seed": 1} for body in bodies_of_pairs()),
    ],
    growing=[
        lambda k: scores(2000 * k),
        lambda k: bodies.pairs(2000 * k),
        lambda k: counted(100 * k),
        lambda k: {**counted(100), "n_resamples": 1000 * k},
        lambda k: {**scores(100), "method": "studentized", "n_resamples": 1000 * k},
        lambda k: {**scores(100), "convention": "seed", "n_resamples": 1000 * k},
    ],
    mirrored={
        "binary": [
            {"method": "percentile", "alternative": "two-sided"},
            {"method": "basic", "alternative": "two-sided"},
        ],
        "paired scores": [{"alternative": "two-sided"}],
    },
    simulated=simulated,
    varied={"comparison": [">=", "strict"], "n_resamples": [200], "method": ["percentile", "bca"]},
    shown={"comparison": [">=", "strict"], "method": ["percentile", "basic", "bca", "studentized"]},
)
