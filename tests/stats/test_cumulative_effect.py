"""The cumulative effect against independent software, single intervals, symmetries and hostile data."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from service.errors import InvalidData
from service.kernels.pairs import tango
from tests.drawing import draws
from tests.simulation.reads import coverage
from tests.simulation.rows import Batch
from tests.simulation.worlds import WORLDS
from tests.stats.bodies import MARGIN, bodies_of_pairs, clustered, scores
from tests.stats.cases import Cases
from tests.stats.oracle import analyse, ask, cases, codes
from tests.stats.oracle import columns as oracle_columns
from tests.stats.sequences import random_pairs
from tests.stats.shapes import columns
from tests.stats.soundness import sound

FEW = 400
pairs = st.lists(st.tuples(st.integers(0, 1), st.integers(0, 1)), min_size=1, max_size=60)


def run(body, **options):
    return sound(ask("cumulative-effect", body, **options))


@pytest.mark.slow
@pytest.mark.parametrize("case", cases("cumulative_effect"))
def test_against_exact_bootstrap_distributions(case):
    body = oracle_columns(case["input"], clusters=False)
    expected = case["expected"]["points"]
    exact = run(body, band="percentile", max_points=10_000).analysis.points
    tango = run(body).analysis.points
    # the published code redraws every n: its first points are enough
    start = {name: values[:FEW] for name, values in body.items()}
    published = run(start, convention="seed").analysis.points
    for point in expected:
        n = point["n"]
        k = exact.n.index(n)
        assert 100 * exact.delta[k] == pytest.approx(point["delta_pp"], abs=1e-9)
        assert (exact.only_baseline[k], exact.only_candidate[k]) == (point["n10"], point["n01"])
        ends = (100 * exact.band_low[k], 100 * exact.band_high[k])
        assert ends == pytest.approx(point["paired_ci95_pp"], abs=1e-9)
        assert tango.delta[k] == exact.delta[k]
        if n > FEW:
            continue
        wrong = (100 * published.band_low[k], 100 * published.band_high[k])
        width = point["unpaired_ci95_pp_as_in_seed1_code"]
        # 500 draws: an end has a standard error near a tenth of the width
        assert wrong == pytest.approx(width, abs=0.12 * (width[1] - width[0]) + 200 / n)


@settings(deadline=None, max_examples=draws(25))
@given(pairs)
def test_every_point_is_the_interval_of_its_prefix(rows):
    found = run(columns(rows), first=1).analysis
    assert found.points.n == list(range(1, len(rows) + 1))
    for k, n in enumerate(found.points.n):
        b = sum(y > x for x, y in rows[:n])
        c = sum(y < x for x, y in rows[:n])
        assert (found.points.only_candidate[k], found.points.only_baseline[k]) == (b, c)
        assert found.points.delta[k] == pytest.approx((b - c) / n, abs=1e-15)
        ends = (found.points.band_low[k], found.points.band_high[k])
        assert ends == pytest.approx(tango.interval(b, c, n, 1.959963984540054), abs=1e-10)
    assert (found.ci.low, found.ci.high) == ends
    assert found.delta == found.points.delta[-1]


@settings(deadline=None, max_examples=draws(25))
@given(pairs, st.sampled_from(["tango", "percentile", "t"]))
def test_swapping_the_arms_mirrors(rows, band):
    one = run(columns(rows), band=band, order_seed=2).analysis.points
    other = run(columns([(b, a) for a, b in rows]), band=band, order_seed=2).analysis.points
    assert one.delta == pytest.approx([-x for x in other.delta])
    for low, high in (("band_low", "band_high"), ("sequence_low", "sequence_high")):
        for mine, theirs in zip(getattr(one, low), getattr(other, high), strict=True):
            assert (mine is None) == (theirs is None)
            # an exact quantile sits on either side of a tie
            assert mine is None or mine == pytest.approx(
                -theirs, abs=1e-8 if band != "percentile" else 1 / one.n[0]
            )


def test_order_seed_permutes_and_says_so():
    body = random_pairs(80)
    plain, one, other = run(body, order="locked_seed"), run(body, order_seed=1), run(body, order_seed=2)
    assert one.analysis.delta == pytest.approx(plain.analysis.delta)
    assert one.analysis.points.delta[:-1] != plain.analysis.points.delta[:-1]
    assert one.analysis.points.delta != other.analysis.points.delta
    assert (plain.analysis.order_used, one.analysis.order_used) == ("locked_seed", "permuted_by_seed")
    assert one.analysis.order_seed == 1
    for found in (plain, one):
        assert "an order chosen after the data proves nothing" in found.analysis.sentence
        assert "not valid under peeking" in found.analysis.sentence


def test_bands_are_labelled_and_lines_are_fields():
    found = run(random_pairs(60), margin={"value": 2, "unit": "pp"}, planned_n=500).analysis
    assert not found.band.valid_under_peeking
    assert "not valid under peeking" in found.band.label
    assert found.sequence.valid_under_peeking
    assert (found.lines.zero, found.lines.margin, found.lines.planned_n) == (0, 0.02, 500)
    widths = np.subtract(found.points.sequence_high, found.points.sequence_low)
    assert np.all(np.diff(widths) <= 1e-12)
    assert np.all(np.array(found.points.sequence_low) <= np.array(found.points.band_low) + 1e-9)


def test_sequence_agrees_with_sequential():
    body = random_pairs(200)
    points = run(body, order="locked_seed").analysis.points
    ci = analyse("sequential", body, method="confidence_sequence", order="locked_seed").ci
    assert (points.sequence_low[-1], points.sequence_high[-1]) == pytest.approx((ci.low, ci.high), abs=1e-11)


def test_one_point_per_completed_cluster():
    body = random_pairs(40)
    labels = ["a"] * 3 + ["b", "a"] + ["b"] * 5 + ["c"] * 10 + ["d"] * 20
    found = run(body, clusters=labels, size_cap=20)
    points = found.analysis.points
    assert points.n == [10, 20, 40]
    assert points.n_clusters == [2, 3, 4]
    assert found.analysis.band.method == "cr2_t"
    for k, n in enumerate(points.n):
        part = {name: body[name][:n] for name in body}
        cr2 = analyse("clustered-mcnemar", {**part, "clusters": labels[:n]}, method="cr2_t")
        assert points.delta[k] == pytest.approx(cr2.delta)
        if cr2.ci.low is not None:
            assert (points.band_low[k], points.band_high[k]) == pytest.approx((cr2.ci.low, cr2.ci.high))
    assert found.analysis.sequence is not None
    assert run(body, clusters=labels).analysis.sequence is None


@pytest.mark.parametrize("band", [None, "t"])
def test_scores(band):
    rng = np.random.default_rng(3)
    before, after = rng.random(120), rng.random(120)
    body = {"baseline": before.tolist(), "candidate": after.tolist()}
    found = run(body, bound=1.0, **({"band": band} if band else {})).analysis
    assert found.points.only_baseline is None
    assert found.points.band_low[-1] < np.mean(after - before) < found.points.band_high[-1]
    assert found.points.sequence_low[-1] <= found.points.band_low[-1]
    assert (found.band.error > 0) is (band is None)
    assert run(body).analysis.sequence is None
    shifted = {**body, "candidate": (after + 1000).tolist()}
    assert run(shifted).analysis.ci.low == pytest.approx(run(body).analysis.ci.low + 1000)


def test_thinning_keeps_the_ends():
    body = random_pairs(500)
    full, thin = run(body).analysis, run(body, max_points=20).analysis
    assert not full.thinned
    assert thin.thinned
    assert len(thin.points.n) == 20
    assert (thin.points.n[0], thin.points.n[-1]) == (10, 500)
    for k, n in enumerate(thin.points.n):
        at = full.points.n.index(n)
        for name in ("delta", "band_low", "band_high", "sequence_low", "sequence_high", "only_candidate"):
            assert getattr(thin.points, name)[k] == pytest.approx(getattr(full.points, name)[at], abs=1e-11)


def test_seed1_resamples_the_arms_apart_and_its_band_is_too_wide():
    """Arms that agree on most items: resampled apart they look independent."""
    body = random_pairs(120, 0.03, 0.05)
    body = {name: [value if k % 2 else 0 for k, value in enumerate(body[name])] for name in body}
    wrong, right = run(body, convention="seed"), run(body)
    assert codes(wrong) - codes(right) == {"INDEPENDENT_ARMS"}
    assert not wrong.provenance.exact
    assert (wrong.provenance.seed, wrong.provenance.n_resamples) == (42, 500)
    assert right.provenance.exact
    assert wrong.analysis.points.n[0] == 10
    assert wrong.analysis.points.delta == right.analysis.points.delta
    width = [found.analysis.ci.high - found.analysis.ci.low for found in (wrong, right)]
    assert width[0] > 1.5 * width[1]


def test_warnings_of_order_and_clusters_fire_and_do_not():
    blocks = columns([(0, 1)] * 40 + [(1, 0)] * 40)
    fired = codes(run(blocks))
    assert {"ORDER_NOT_RANDOM", "ORDER_NOT_LOCKED"} <= fired
    assert codes(run(random_pairs(80), order="locked_seed")) == set()
    assert "SEQUENCE_EMPTY" in codes(run(columns([(0, 1)] * 150 + [(1, 0)] * 150)))
    few = codes(run(random_pairs(80), order_seed=1, clusters=[k // 20 for k in range(80)]))
    assert {"FEW_CLUSTERS", "LOW_DF"} <= few
    assert codes(run(random_pairs(80), order_seed=1, clusters=[k // 2 for k in range(80)])) == set()


def test_an_empty_sequence_is_null_from_there_on():
    points = run(columns([(0, 1)] * 150 + [(1, 0)] * 150)).analysis.points
    nulls = [x is None for x in points.sequence_low]
    assert nulls[-1]
    assert not nulls[0]
    assert nulls == sorted(nulls)


@pytest.mark.parametrize(
    "rows", [[(1, 1)], [(0, 1)], [(0, 0)] * 30, [(0, 1)] * 30, [(0.5, 0.7)], [(0.1, 0.2), (0.2, 0.3)] * 9,
             [(0.0, 1e99), (1e99, 0.0), (3.0, 1e99)] * 5]
)  # fmt: skip
@pytest.mark.parametrize("clusters", [None, "one", "pairs"])
def test_degenerate_data_are_sound(rows, clusters):
    labels = {None: None, "one": [0] * len(rows), "pairs": [k // 2 for k in range(len(rows))]}[clusters]
    for band in ("percentile", "t") if labels is None else ("cr2_t",):
        run({**columns(rows), **({} if labels is None else {"clusters": labels})}, band=band, bound=1e100)


@pytest.mark.parametrize(
    ("field", "options"),
    [
        ("band", {"band": "cr2_t"}),
        ("band", {"band": "tango", "clusters": [0, 1] * 6}),
        ("band", {"band": "tango", "baseline": [0.5] * 12}),
        ("candidate", {"candidate": [1]}),
        ("clusters", {"clusters": [1]}),
        ("clusters", {"clusters": [0, 1] * 6, "convention": "seed"}),
        ("band", {"band": "t", "convention": "seed"}),
        ("level", {"level": 0.9, "convention": "seed"}),
        ("convention", {"baseline": [1], "candidate": [0], "convention": "seed"}),
        ("convention", {"baseline": [1] * 2001, "candidate": [0] * 2001, "convention": "seed"}),
        ("bound", {"baseline": [2.5] * 12, "bound": 1}),
        ("size_cap", {"clusters": [0, 1] * 6, "size_cap": 5}),
        ("margin", {"margin": {"value": 1, "unit": "score"}}),
        ("strata", {"baseline": [0, 1] * 20, "candidate": [1] * 40, "strata": [0] * 20 + [1] * 20}),
    ],
)
def test_refusals_name_the_field(field, options):
    with pytest.raises(InvalidData) as refused:
        ask("cumulative-effect", {"baseline": [0, 1] * 6, "candidate": [1, 1, 0] * 4, **options})
    assert refused.value.faults[0].path == field


def test_a_long_column_is_thinned():
    found = run(random_pairs(100_000), order_seed=1).analysis
    assert found.thinned
    assert len(found.points.n) == 2000
    assert (found.points.n[0], found.points.n[-1]) == (10, 100_000)
    assert found.points.sequence_low[-1] < 0.1 < found.points.sequence_high[-1]


def simulated() -> Iterator[Batch]:
    """What is drawn where the truth is known."""
    last = coverage(label="at the last n")
    yield Batch("peeking", "cumulative-effect", (last,), {}, WORLDS["peeking"].effect, simulations=1_000)


CASES = Cases(
    degenerate=lambda: [
        *bodies_of_pairs(),
        *bodies_of_pairs(bound=1e100, size_cap=99, margin=MARGIN, first=1),
    ],
    growing=[lambda k: scores(2000 * k), lambda k: clustered(400 * k)],
    mirrored={"order": [{"first": 1}, {"first": 1, "band": "percentile"}, {"first": 1, "band": "t"}]},
    simulated=simulated,
)


def test_the_sentence_says_that_nothing_was_tested():
    told = analyse("cumulative-effect", {"baseline": [0, 1, 0, 1], "candidate": [1, 1, 0, 1]}).sentence
    assert "nothing was tested" in told
