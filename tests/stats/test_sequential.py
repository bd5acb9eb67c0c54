"""Sequential designs against published boundaries, their definitions, symmetries and hostile data."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import special, stats

from service.errors import InvalidData
from tests.drawing import draws
from tests.simulation.reads import coverage, errors
from tests.simulation.rows import Batch
from tests.simulation.worlds import WORLDS
from tests.stats import bodies
from tests.stats.bodies import bodies_of_pairs
from tests.stats.cases import Cases
from tests.stats.oracle import analyse, ask, codes
from tests.stats.sequences import LOOKS, pairs, random_pairs, run
from tests.stats.shapes import columns

DATA_METHODS = ("group_sequential", "e_process", "confidence_sequence")


@pytest.mark.parametrize(
    ("boundary", "expected"),
    [
        ("obrien_fleming_spending", [4.3326, 2.9631, 2.3590, 2.0141]),
        ("pocock_spending", [2.3683, 2.3675, 2.3582, 2.3500]),
    ],
)
@pytest.mark.parametrize("side", [{"alpha": 0.05}, {"alpha": 0.025, "alternative": "greater"}])
def test_boundaries_of_four_equal_looks(boundary, expected, side):
    found = run({}, "boundaries", looks=[1, 2, 3, 4], boundary=boundary, **side).analysis
    assert [round(look.upper, 4) for look in found.looks] == pytest.approx(expected, abs=1.01e-4)
    assert sum(look.exit_under_h0 for look in found.looks) == pytest.approx(side["alpha"], rel=1e-8)
    assert found.looks[-1].spent == pytest.approx(0.025)
    assert found.decision is None


def test_boundaries_depend_on_ratios_only_and_mirror():
    one = run({}, "boundaries", looks=[1, 2, 3, 4]).analysis
    other = run({}, "boundaries", looks=[100, 200, 300, 400], alternative="less", alpha=0.025).analysis
    assert [look.lower for look in other.looks] == pytest.approx([-x.upper for x in one.looks], abs=1e-4)
    assert all(look.upper is None for look in other.looks)


def test_first_look_of_binary_pairs_by_hand():
    body = columns([(0, 1)] * 16 + [(1, 0)] * 4 + [(1, 1)] * 30)
    found = run(body, "group_sequential", looks=[50, 100], order_seed=1).analysis
    z = 12 / math.sqrt(20)
    first = run({}, "boundaries", looks=[50, 100]).analysis.looks[0].upper
    assert found.looks[0].z == pytest.approx(z)
    assert (found.decision, found.p_value) == ("continue", None)
    found = run(body, "group_sequential", looks=[50, 100], order_seed=1, boundary="pocock_spending").analysis
    assert z < first
    assert (found.decision, found.stopped_at) == ("reject", 50)
    # stopping at the first look is the fixed-n normal test
    assert found.p_value == pytest.approx(2 * special.ndtr(-z), rel=1e-9)
    se, quantile = math.sqrt(20) / 50, special.ndtri(0.975)
    assert (found.ci.low, found.ci.high) == pytest.approx(
        (0.24 - quantile * se, 0.24 + quantile * se), abs=1e-8
    )
    assert found.delta_median_unbiased == pytest.approx(0.24, abs=1e-8)


@settings(deadline=None, max_examples=draws(25))
@given(pairs, st.sampled_from(DATA_METHODS))
def test_swapping_the_arms_mirrors(rows, method):
    one = run(columns(rows), method, order_seed=3)
    other = run(columns([(b, a) for a, b in rows]), method, order_seed=3)
    mine, theirs = one.analysis, other.analysis
    for field in ("decision", "stopped_at", "n", "n_discordant"):
        assert getattr(mine, field) == getattr(theirs, field), field
    for field in ("delta", "delta_median_unbiased"):
        if getattr(mine, field) is not None:
            assert getattr(mine, field) == pytest.approx(-getattr(theirs, field), abs=1e-7)
    if mine.p_value is not None:
        assert mine.p_value == pytest.approx(theirs.p_value, rel=1e-6)
    if mine.ci is not None:
        assert (mine.ci.low, mine.ci.high) == pytest.approx((-theirs.ci.high, -theirs.ci.low), abs=1e-7)
    assert codes(one) == codes(other)


@settings(deadline=None, max_examples=draws(25))
@given(
    st.lists(st.sampled_from([(0, 1), (1, 0), (1, 1)]), min_size=100, max_size=100),
    st.sampled_from(["obrien_fleming_spending", "pocock"]),
    st.sampled_from(["two-sided", "greater", "less"]),
)
def test_p_interval_and_boundary_agree(rows, boundary, alternative):
    found = run(columns(rows), "group_sequential", boundary=boundary, alternative=alternative).analysis
    assert found.decision in ("reject", "do_not_reject")
    rejected = found.decision == "reject"
    assert (found.p_value <= 0.05 + 1e-9) is rejected or abs(found.p_value - 0.05) < 1e-9
    if found.ci is not None:
        outside = {
            "two-sided": found.ci.low > -1e-9 or found.ci.high < 1e-9,
            "greater": found.ci.low > -1e-9,
            "less": found.ci.high < 1e-9,
        }[alternative]
        assert outside is rejected
        assert found.ci.low <= found.delta_median_unbiased <= found.ci.high


def test_clusters_use_cr2_carried_to_z():
    rng = np.random.default_rng(2)
    body = random_pairs(120, 0.1, 0.3, seed=4)
    labels = (np.arange(120) // 4).tolist()
    found = run(body, "group_sequential", clusters=labels, looks=[15, 30], order="locked_seed").analysis
    for look, n in zip(found.looks, (60, 120), strict=True):
        part = {name: body[name][:n] for name in ("baseline", "candidate")}
        cr2 = analyse(
            "clustered-mcnemar", {**part, "clusters": labels[:n]}, method="cr2_t", alternative="greater"
        )
        assert special.ndtr(-look.z) == pytest.approx(cr2.p_value, rel=1e-9)
        assert look.delta == pytest.approx(cr2.delta)
        if look.crossed:
            break
    assert found.n_clusters == 30
    # scores without clusters: the paired t
    before, after = rng.normal(size=40), rng.normal(0.2, 1, size=40)
    scores = {"baseline": before.tolist(), "candidate": after.tolist()}
    found = run(scores, "group_sequential", looks=[20, 40]).analysis
    expected = stats.ttest_rel(after[:20], before[:20], alternative="greater").pvalue
    assert special.ndtr(-found.looks[0].z) == pytest.approx(expected, rel=1e-9)


def test_e_process_by_hand():
    body = columns([(0, 1)] * 3 + [(1, 1)])
    found = run(body, "e_process", order="locked_seed").analysis
    # integral of x^3 over the arcsine law is 5/16
    assert found.e_process.e_value == pytest.approx(8 * 5 / 16)
    assert found.p_value == pytest.approx(16 / 40)
    assert (found.e_process.n_wins, found.e_process.n_losses) == (3, 0)
    assert found.decision == "continue"


def test_e_process_keeps_its_first_crossing():
    rows = [(0, 1)] * 12 + [(1, 0)] * 12
    found = run(columns(rows), "e_process", order="locked_seed")
    assert found.analysis.decision == "reject"
    assert found.analysis.stopped_at < 12
    assert found.analysis.e_process.e_value < 1
    assert found.analysis.p_value == pytest.approx(math.exp(-found.analysis.e_process.log_e_max))
    assert run(columns(rows), "e_process", alternative="less").analysis.decision == "continue"


def test_an_enormous_e_value_is_a_bound():
    found = run(columns([(0, 1)] * 1200), "e_process").analysis
    assert found.bounds == {"e_process.e_value": "> 1e+300", "p_value": "< 1e-300"}
    assert found.e_process.log_e > 700


@pytest.mark.parametrize("method", ["e_process", "confidence_sequence"])
def test_clusters_move_whole_and_scaled_by_the_cap(method):
    body = random_pairs(200, 0.05, 0.45)
    labels = (np.arange(200) // 5).tolist()
    loose = run(body, method, clusters=labels, size_cap=50, order_seed=1)
    tight = run(body, method, clusters=labels, size_cap=5, order_seed=1)
    assert tight.analysis.n_clusters == 40
    assert tight.analysis.decision == "reject"
    assert tight.analysis.stopped_at <= 40
    assert loose.analysis.stopped_at is None or loose.analysis.stopped_at >= tight.analysis.stopped_at
    if method == "e_process":
        assert tight.analysis.e_process.kind == "betting"


def test_scores_scale_with_their_bound():
    rng = np.random.default_rng(6)
    before, after = rng.random(300), np.clip(rng.random(300) + 0.2, 0, 1)
    one = run({"baseline": before.tolist(), "candidate": after.tolist()}, "confidence_sequence", bound=1.0)
    ten = run(
        {"baseline": (10 * before).tolist(), "candidate": (10 * after).tolist()},
        "confidence_sequence",
        bound=10.0,
    )
    assert ten.analysis.ci.low == pytest.approx(10 * one.analysis.ci.low, abs=1e-9)
    assert one.analysis.ci.low < np.mean(after - before) < one.analysis.ci.high


def test_equivalence_is_strict():
    body = random_pairs(2000, 0.02, 0.02)
    found = run(body, "confidence_sequence", margin={"value": 10, "unit": "pp"}, order_seed=0).analysis
    assert found.equivalent is True
    edge = max(abs(found.ci.low), abs(found.ci.high))
    margin = {"value": edge, "unit": "proportion"}
    assert run(body, "confidence_sequence", margin=margin, order_seed=0).analysis.equivalent is False
    assert "inside the margin of ±10.00 pp" in found.sentence


@settings(deadline=None, max_examples=draws(15))
@given(pairs, st.integers(0, 5))
def test_a_seeded_order_is_a_permutation(rows, seed):
    labels = [k // 3 for k in range(len(rows))]
    body = columns(rows)
    found = run(body, "e_process", order_seed=seed).analysis
    assert found.order_used == "permuted_by_seed"
    assert found.delta == pytest.approx(np.mean(np.subtract(body["candidate"], body["baseline"])), abs=1e-12)
    clustered = run(body, "confidence_sequence", clusters=labels, size_cap=3, order_seed=seed).analysis
    assert clustered.delta == pytest.approx(found.delta, abs=1e-12)


def test_another_seed_is_another_order():
    body = random_pairs(300, 0.1, 0.2)
    stops = {run(body, "e_process", order_seed=seed).analysis.e_process.log_e_max for seed in range(4)}
    assert len(stops) > 1


# warnings: each fires, and does not


def test_order_not_random_fires_on_blocks_only():
    blocks = columns([(0, 1)] * 30 + [(1, 0)] * 30)
    shuffled = random_pairs(60, 0.5, 0.5)
    assert "ORDER_NOT_RANDOM" in codes(run(blocks, "e_process", order="locked_seed"))
    assert not codes(run(shuffled, "e_process", order="locked_seed"))
    assert not codes(run(blocks, "e_process", order_seed=1))
    easy_then_hard = columns([(1, 1)] * 40 + [(0, 0)] * 40)
    assert "ORDER_NOT_RANDOM" in codes(run(easy_then_hard, "e_process", order="locked_seed"))
    labels = (np.arange(60) // 2).tolist()
    assert "ORDER_NOT_RANDOM" in codes(run(blocks, "e_process", clusters=labels, size_cap=2, order="arrival"))


def test_sorted_strata_are_refused():
    body = random_pairs(60, 0.3, 0.3)
    with pytest.raises(InvalidData, match="ORDER_NOT_RANDOM"):
        run(body, "e_process", strata=["a"] * 30 + ["b"] * 30)
    mixed = np.random.default_rng(0).permutation(["a"] * 30 + ["b"] * 30).tolist()
    run(body, "e_process", strata=mixed)
    run(body, "e_process", strata=["a"] * 30 + ["b"] * 30, order_seed=4)
    run(body, "e_process", strata=["a"] * 60)


@pytest.mark.parametrize("order", ["unknown", "arrival", "locked_seed"])
def test_order_not_locked(order):
    found = codes(run(random_pairs(60, 0.3, 0.3), "confidence_sequence", order=order))
    assert ("ORDER_NOT_LOCKED" in found) is (order != "locked_seed")


def test_early_stop_and_overrun():
    strong, fair = random_pairs(100, 0.02, 0.5), random_pairs(100, 0.2, 0.2)
    stopped = run(strong, "group_sequential", order="locked_seed")
    assert codes(stopped) == {"EARLY_STOP_BIAS", "OVERRUN"}
    n = stopped.analysis.stopped_at
    exactly = {name: values[:n] for name, values in strong.items()}
    again = run(exactly, "group_sequential", order="locked_seed")
    assert codes(again) == {"EARLY_STOP_BIAS"}
    assert (again.analysis.p_value, again.analysis.ci) == (stopped.analysis.p_value, stopped.analysis.ci)
    assert codes(run(fair, "group_sequential", order="locked_seed")) == set()


def test_few_clusters_and_low_df():
    body = random_pairs(60, 0.2, 0.3)
    few = codes(run(body, "group_sequential", clusters=[k // 15 for k in range(60)], looks=[2, 4]))
    assert {"FEW_CLUSTERS", "LOW_DF"} <= few
    many = codes(run(body, "group_sequential", clusters=[k // 2 for k in range(60)], looks=[15, 30]))
    assert not {"FEW_CLUSTERS", "LOW_DF", "CAUTION"} & many


def test_empty_sequence_says_so():
    drifting = columns([(0, 1)] * 150 + [(1, 0)] * 150)
    found = run(drifting, "confidence_sequence", margin={"value": 5, "unit": "pp"})
    assert {"SEQUENCE_EMPTY", "ORDER_NOT_RANDOM"} <= codes(found)
    assert found.analysis.ci is None
    assert found.analysis.equivalent is None
    assert "SEQUENCE_EMPTY" not in codes(run(random_pairs(300, 0.5, 0.5), "confidence_sequence"))


# hostile data and requests


@pytest.mark.parametrize("method", DATA_METHODS)
@pytest.mark.parametrize(
    "rows", [[(1, 1)], [(0, 1)], [(0, 0)] * 100, [(0, 1)] * 100, [(1, 0)] * 99, [(1, 0), (0, 1)] * 50]
)
def test_degenerate_pairs_are_sound(method, rows):
    found = run(columns(rows), method).analysis
    if all(a == b for a, b in rows):
        assert found.decision in ("continue", "do_not_reject")
        assert found.delta in (0, None)
        if method == "group_sequential" and len(rows) == 100:
            assert found.p_value == pytest.approx(1, abs=0.06)
            assert found.ci is None


@pytest.mark.parametrize(
    "values", [([0.1] * 20, [0.3] * 20), ([1e99] * 20, [-1e99] * 20), ([0.0] * 20, [1e-300] * 20)]
)
@pytest.mark.parametrize("clusters", [None, [0] * 20, [k // 2 for k in range(20)]])
def test_constant_scores_are_sound(values, clusters):
    body = {"baseline": values[0], "candidate": values[1]} | (
        {} if clusters is None else {"clusters": clusters}
    )
    looks = [10, 20] if clusters is None else [1]
    looks = [5, 10] if clusters and len(set(clusters)) == 10 else looks
    found = run(body, "group_sequential", looks=looks).analysis
    apart = found.delta != 0
    assert found.decision == (None if apart else "do_not_reject")
    assert found.p_value == (None if apart else pytest.approx(1))
    assert found.ci is None
    bounded = {"bound": 1e100} | ({} if clusters is None else {"size_cap": 20})
    run(body, "confidence_sequence", **bounded)
    run(body, "e_process", **bounded)


def test_nearly_constant_scores_do_not_vary():
    body = {"baseline": [0.1, 0.2, 0.3] * 4, "candidate": [0.2, 0.3, 0.4] * 4}
    answer = run(body, "group_sequential", looks=[6, 12])
    found = answer.analysis
    assert (found.decision, found.p_value, found.ci) == (None, None, None)
    assert [look.z for look in found.looks] == [None, None]
    assert "DEGENERATE" in codes(answer)
    body["candidate"][0] += 0.01
    assert "DEGENERATE" not in codes(run(body, "group_sequential", looks=[6, 12]))


def test_interval_of_proportions_stays_within_one():
    body = columns([(0, 1)] * 40)
    for clusters in ({}, {"clusters": [k // 2 for k in range(40)], "looks": [10, 20]}):
        found = run(body, "group_sequential", **({"looks": [20, 40]} | clusters)).analysis
        if found.ci is not None:
            assert -1 <= found.ci.low < found.ci.high <= 1
            assert found.ci.high == 1


def test_no_look_reached_yet():
    found = run(random_pairs(10, 0.2, 0.3), "group_sequential").analysis
    assert (found.decision, found.delta) == ("continue", None)
    assert all(look.z is None for look in found.looks)


@pytest.mark.parametrize(
    ("field", "body"),
    [
        ("looks", {"method": "boundaries"}),
        ("looks", {"method": "boundaries", "looks": [10, 10]}),
        ("looks", {"method": "boundaries", "looks": [20, 10]}),
        ("looks", {"method": "boundaries", "looks": [1000, 1001]}),
        ("baseline", {"method": "boundaries", "looks": [1, 2], "baseline": [1], "candidate": [0]}),
        ("baseline", {"method": "e_process"}),
        ("candidate", {"method": "e_process", "baseline": [1]}),
        ("candidate", {"method": "e_process", "baseline": [1, 0], "candidate": [1]}),
        ("looks", {"method": "e_process", "baseline": [1], "candidate": [1], "looks": [1]}),
        ("margin", {"method": "e_process", "baseline": [1], "candidate": [1],
                    "margin": {"value": 2, "unit": "pp"}}),
        ("margin", {"method": "confidence_sequence", "baseline": [1], "candidate": [1],
                    "margin": {"value": 2, "unit": "score"}}),
        ("baseline", {"method": "group_sequential", "looks": [1], "baseline": [1, 1], "candidate": [1, 0]}),
        ("bound", {"method": "e_process", "baseline": [0.5], "candidate": [1]}),
        ("bound", {"method": "e_process", "baseline": [0.5], "candidate": [3], "bound": 1}),
        ("size_cap", {"method": "e_process", "baseline": [0, 1], "candidate": [1, 1], "clusters": ["a", "a"]}),
        ("size_cap", {"method": "e_process", "baseline": [0, 1], "candidate": [1, 1], "clusters": ["a", "a"],
                      "size_cap": 1}),
        ("clusters", {"method": "e_process", "baseline": [0, 1], "candidate": [1, 1], "clusters": ["a"]}),
        ("strata", {"method": "e_process", "baseline": [0, 1], "candidate": [1, 1], "strata": ["a"]}),
        ("baseline", {"method": "e_process", "baseline": [1e200], "candidate": [1], "bound": 1}),
    ],
)  # fmt: skip
def test_refusals_name_the_field(field, body):
    with pytest.raises(InvalidData) as refused:
        ask("sequential", body)
    assert refused.value.faults[0].path == field


@pytest.mark.slow
def test_type_one_error_and_coverage_of_looks_simulated():
    rng, runs, rejected, covered = np.random.default_rng(5), 500, 0, 0
    for _ in range(runs):
        draws = rng.random(100)
        body = columns([(1, 0) if x < 0.2 else (0, 1) if x < 0.4 else (1, 1) for x in draws])
        found = analyse("sequential", body, method="group_sequential", looks=LOOKS, order="locked_seed")
        rejected += found.decision == "reject"
        covered += found.ci is not None and found.ci.low <= 0 <= found.ci.high
    # z of 10 to 40 discordant items is a lattice: a little around .05
    assert rejected / runs == pytest.approx(0.05, abs=0.03)
    assert covered == runs - rejected


@pytest.mark.slow
def test_type_one_error_of_clusters_under_peeking():
    rng, runs, rejected = np.random.default_rng(9), 600, 0
    for _ in range(runs):
        lean = np.repeat(rng.choice([-0.4, 0.4], 40), 8)
        draws = rng.random(320)
        rows = [(0, 1) if x < 0.5 + shift / 2 else (1, 0) for x, shift in zip(draws, lean, strict=True)]
        labels = np.repeat(np.arange(40), 8).tolist()
        body = {**columns(rows), "clusters": labels}
        found = analyse("sequential", body, method="e_process", size_cap=8, order="locked_seed")
        rejected += found.decision == "reject"
    assert rejected / runs <= 0.05


def sequences():
    """Every method of the sequential test on every pair of columns."""
    yield {"method": "boundaries", "looks": [1]}
    yield {"method": "boundaries", "looks": [1, 10**9]}
    yield {"method": "boundaries", "looks": [1, 2, 3, 5, 10], "alpha": 1e-6}
    for body in bodies_of_pairs():
        n = len(body["baseline"])
        for method in ("e_process", "confidence_sequence"):
            yield body | {"method": method}
            yield body | {
                "method": method,
                "bound": 1e100,
                **({"size_cap": 99} if "clusters" in body else {}),
            }
        for looks in ([max(n, 1)], [2, 30]):
            yield body | {"method": "group_sequential", "looks": looks}


def simulated() -> Iterator[Batch]:
    """Planned looks err at most alpha; an anytime-valid one much less."""
    looks, effect = [50, 100, 150, 200], WORLDS["peeking"].effect
    for boundary in ("obrien_fleming_spending", "pocock_spending"):
        design: dict[str, object] = {"method": "group_sequential", "looks": looks, "boundary": boundary}
        yield Batch("peeking", "sequential", (errors(), coverage()), design)
        yield Batch("peeking", "sequential", (coverage(label="with an effect"),), design, effect)
    yield Batch("peeking", "sequential", (errors(),), {"method": "e_process"})
    for truth, label in ((0.0, "at all n at once"), (effect, "at all n at once, with an effect")):
        sequence = {"method": "confidence_sequence"}
        yield Batch("peeking", "sequential", (coverage(label=label),), sequence, truth)


CASES = Cases(
    degenerate=sequences,
    growing=[lambda k: {"method": "e_process", **bodies.pairs(2000 * k)}],
    mirrored={
        "order": [
            {"method": "group_sequential", "looks": [5, 40], "boundary": "pocock"},
            {"method": "e_process"},
            {"method": "confidence_sequence", "margin": {"value": 10, "unit": "pp"}},
        ]
    },
    simulated=simulated,
    varied={"method": ["group_sequential", "e_process", "confidence_sequence"]},
)
