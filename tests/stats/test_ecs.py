"""Consistency of effect sizes: concordance by definition, weights, and the legacy scores."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Iterator

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pydantic import ValidationError
from scipy import stats

from service.errors import InvalidData
from service.stats.ecs.ecs import ECSRequest, ecs
from tests.simulation.reads import coverage
from tests.simulation.rows import Batch
from tests.simulation.worlds import WORLDS
from tests.stats.cases import Cases
from tests.stats.oracle import analyse, ask, codes, named, table
from tests.stats.soundness import sound

PATIENT = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
X = [0.2, 0.5, 0.9, 1.4, -0.3, 0.7]
Y = [0.1, 0.8, 0.7, 1.9, -0.6, 0.2]


def compare(human=None, agent=None, **columns):
    body = {**columns, **({"human": human, "agent": agent} if human is not None else {})}
    return ecs(ECSRequest.model_validate_json(json.dumps(body)))


def test_against_epir_eight_points():
    for case in named("ecs_ccc", "ccc-eight-points"):
        sent, expected = case["input"], case["expected"]
        found = compare(sent["x"], sent["y"], weights=sent["w"])
        assert found.ecs == pytest.approx(expected["ccc_weights_normalised_1_over_n"], abs=1e-9)
        assert found.pearson == pytest.approx(expected["weighted_pearson"], abs=1e-9)
        printed = compare(sent["x"], sent["y"], weights=sent["w"], variant="printed_sums")
        assert printed.ecs == pytest.approx(expected["ccc_hsb_code_unnormalised_sums"], abs=1e-9)


def test_against_real_effects_with_fair_weights():
    for case in named("ecs_ccc", "ccc-hsb"):
        study = case["input"]["filter"]["study"]
        rows = [row for row in table(case["input"]["file"]) if row["study"] == study]
        found = compare(
            [float(row["human_d"]) for row in rows],
            [float(row["agent_d"]) for row in rows],
            study=[row["study"] for row in rows],
            finding=[row["finding"] for row in rows],
        )
        assert found.ecs == pytest.approx(case["expected"]["ccc_weights_normalised_1_over_n"], abs=1e-9)
        assert found.pearson == pytest.approx(case["expected"]["weighted_pearson"], abs=1e-9)


def test_against_strict_cases():
    for case in named("effect_sizes", "z-diff"):
        sent, expected = case["input"], case["expected"]
        found = compare(
            [sent["d_human"]], [sent["d_agent"]], human_se=[sent["se_human"]], agent_se=[sent["se_agent"]]
        )
        assert found.strict.z_diff[0] == pytest.approx(expected["z_diff"], abs=1e-9)
        assert found.strict.ecs_test[0] == pytest.approx(expected["ecs_strict"], abs=1e-9)
    for case in named("effect_sizes", "ecs-strict"):
        (finding,) = compare(z_diff=case["input"]["z_diff"]).strict.findings
        expected = case["expected"]
        assert finding.normal == pytest.approx(expected["document_2_times_1_minus_Phi_rms"], abs=1e-9)
        assert finding.chi_square == pytest.approx(expected["hsb_code_chi2_K"], abs=1e-9)


@pytest.mark.parametrize(
    ("human", "agent", "expected"),
    [
        ([1, 2, 3], [1, 2, 3], 1.0),
        ([1, 2, 3], [2, 3, 4], 4 / 7),
        ([-1, 0, 1], [1, 0, -1], -1.0),
        ([2, 2, 2], [2, 2, 2], None),
        ([0.1, 0.1, 0.1], [0.1, 0.1, 0.1], None),
        ([2, 2, 2], [3, 3, 3], 0.0),
        ([1, 2, 3], [2, 2, 2], 0.0),
        ([1, 2], [1, 2], None),
        ([], [], 0.0),
    ],
)
def test_edges_of_concordance(human, agent, expected):
    if expected == "refused":
        with pytest.raises(InvalidData):
            compare(human, agent)
        return
    found = compare(human, agent)
    assert found.ecs == (expected if expected is None else pytest.approx(expected, abs=1e-14))
    assert ("ecs" in found.reasons) == (expected is None)


def reference(x, y, w):
    x, y, w = np.asarray(x, float), np.asarray(y, float), np.asarray(w, float)
    mx, my = np.average(x, weights=w), np.average(y, weights=w)
    cov = np.average((x - mx) * (y - my), weights=w)
    return (
        2
        * cov
        / (np.average((x - mx) ** 2, weights=w) + np.average((y - my) ** 2, weights=w) + (mx - my) ** 2)
    )


EFFECTS = st.floats(-5, 5).map(lambda value: round(value, 3))
TRIPLES = st.lists(st.tuples(EFFECTS, EFFECTS, st.floats(0.01, 10)), min_size=3, max_size=12)


@PATIENT
@given(TRIPLES)
def test_concordance_by_definition(rows):
    x, y, w = (list(column) for column in zip(*rows, strict=True))
    found = compare(x, y, weights=w)
    if np.ptp(x) > 0 or np.ptp(y) > 0:
        assert found.ecs == pytest.approx(reference(x, y, w), abs=1e-9)
        assert abs(found.ecs) <= 1


@PATIENT
@given(TRIPLES, st.floats(1e-6, 1e6), st.floats(0.01, 100), st.randoms())
def test_concordance_ignores_weight_scale_units_order_and_side(rows, factor, unit, random):
    x, y, w = (list(column) for column in zip(*rows, strict=True))
    found = compare(x, y, weights=w).ecs
    if found is None:
        return
    assert compare(x, y, weights=[factor * value for value in w]).ecs == pytest.approx(found, abs=1e-9)
    assert compare([unit * v for v in x], [unit * v for v in y], weights=w).ecs == pytest.approx(
        found, abs=1e-9
    )
    assert compare(y, x, weights=w).ecs == pytest.approx(found, abs=1e-12)
    random.shuffle(rows)
    x, y, w = (list(column) for column in zip(*rows, strict=True))
    assert compare(x, y, weights=w).ecs == pytest.approx(found, abs=1e-12)


def test_seed3_printed_formula_changes_with_the_weight_scale():
    one = compare(X, Y, weights=[1.0] * 6, variant="printed_sums")
    ten = compare(X, Y, weights=[10.0] * 6, variant="printed_sums")
    assert abs(one.ecs - ten.ecs) > 1e-4
    assert "WEIGHT_SCALE" in codes(one)
    assert "WEIGHT_SCALE" not in codes(compare(X, Y))


def test_every_study_counts_once():
    study = ["A"] * 4 + ["B"] * 2
    finding = ["f1", "f1", "f1", "f2", "f1", "f2"]
    tests, findings = Counter(zip(study, finding, strict=True)), {"A": 2, "B": 2}
    w = [1 / (findings[s] * tests[s, f]) for s, f in zip(study, finding, strict=True)]
    assert sum(w[:4]) == pytest.approx(sum(w[4:]))
    found = compare(X, Y, study=study, finding=finding)
    assert found.ecs == pytest.approx(reference(X, Y, w), abs=1e-14)
    a, b = found.studies
    assert a.ecs == pytest.approx(reference(X[:4], Y[:4], [1] * 4), abs=1e-14)
    assert (b.ecs, b.n) == (None, 2)
    assert found.reasons["studies.1.ecs"] == "fewer than 3 tests"


def test_domains_use_the_fair_weights():
    study = ["A", "A", "A", "B", "B", "B"]
    finding = ["f1", "f1", "f2", "f1", "f2", "f3"]
    found = compare(X, Y, study=study, finding=finding, domain=["d"] * 3 + ["e"] * 3)
    assert [group.name for group in found.domains] == ["d", "e"]
    assert found.domains[0].ecs == pytest.approx(reference(X[:3], Y[:3], [0.25, 0.25, 0.5]), abs=1e-14)
    assert compare(X, Y).domains == ()


def test_tests_without_an_effect_are_left_out_and_counted():
    found = compare([*X, None, 1.0], [*Y, 1.0, None], weights=[1.0] * 8)
    assert found.ecs == pytest.approx(compare(X, Y).ecs, abs=1e-15)
    assert (found.n, found.n_skipped) == (6, 2)
    assert "PAIRS_SKIPPED" in codes(found)
    assert "PAIRS_SKIPPED" not in codes(compare(X, Y))


def test_the_interval_covers_lins_example_shape():
    # for a bivariate normal sample the interval covers the true concordance about as often as it says
    rng = np.random.default_rng(11)
    rho, shift, scale, covered = 0.8, 0.3, 1.2, 0
    true = 2 * rho * scale / (1 + scale**2 + shift**2)
    for _ in range(400):
        x, noise = rng.normal(size=(2, 60))
        y = shift + scale * (rho * x + math.sqrt(1 - rho**2) * noise)
        ci = compare(x.tolist(), y.tolist()).ci
        covered += ci.low <= true <= ci.high
    assert stats.binomtest(covered, 400, 0.95).pvalue > 1e-4


def test_the_interval_needs_equal_weights():
    assert compare(X, Y).ci.method == "lin_fisher_z"
    weighed = compare(X, Y, weights=[1.0, 2.0, 1.0, 1.0, 1.0, 1.0])
    assert (weighed.ci, weighed.reasons["ci"]) == (None, "known for equal weights only")
    assert compare(X, X).reasons["ci"] == "undefined at this concordance"


def test_the_caricature_is_weighted_least_squares():
    w = [1.0, 2.0, 1.0, 0.5, 3.0, 1.0]
    found = compare(X, Y, weights=w).caricature
    slope, intercept = np.polyfit(X, Y, 1, w=np.sqrt(w))
    assert (found.slope, found.intercept) == (pytest.approx(slope), pytest.approx(intercept))
    assert found.r_squared == pytest.approx(compare(X, Y, weights=w).pearson ** 2)
    assert compare([1, 1, 1], [1, 2, 3]).caricature is None


def test_strict_pooling_by_hand():
    z = [1.0, -2.0, 0.5, 3.0, None]
    study, finding = ["A"] * 4 + ["B"], ["f1", "f1", "f1", "f2", "f1"]
    found = compare(z_diff=z, study=study, finding=finding)
    first, second = found.strict.findings
    assert first.z == pytest.approx(math.sqrt(5.25 / 3))
    assert first.chi_square == pytest.approx(stats.chi2.sf(5.25, 3))
    assert [second.normal, second.chi_square] == pytest.approx([2 * stats.norm.sf(3)] * 2)
    (only,) = found.strict.studies
    assert only.normal == pytest.approx((first.normal + second.normal) / 2)
    assert found.strict.ecs_test[1] == pytest.approx(2 * stats.norm.sf(2))
    assert found.reasons["strict.z_diff.4"]
    assert {"LEGACY_SCORES", "RMS_REFERENCE"} <= codes(found)
    assert codes(compare(z_diff=[1.0])) == {"LEGACY_SCORES"}
    assert (found.ecs, found.n) == (None, 0)


def test_strict_tails_keep_their_digits_and_name_their_bound():
    found = compare(z_diff=[25.0, 25.0])
    assert found.strict.ecs_test[0] == pytest.approx(2 * stats.norm.sf(25), rel=1e-9)
    assert found.strict.findings[0].chi_square == pytest.approx(stats.chi2.sf(1250, 2), rel=1e-9)
    assert found.bounds == {}
    beyond = compare(z_diff=[40.0, -1e100])
    assert beyond.strict.ecs_test == (1e-300, 1e-300)
    assert set(beyond.bounds) == {
        "strict.ecs_test.0",
        "strict.ecs_test.1",
        "strict.findings.0.normal",
        "strict.findings.0.chi_square",
    }


def test_two_exact_effects_have_no_z():
    found = compare([1.0], [2.0], human_se=[0.0], agent_se=[0.0])
    assert found.strict.z_diff == (None,)
    assert "0" in found.reasons["strict.z_diff.0"]


@pytest.mark.parametrize(
    "columns",
    [
        {"human": [1, 2, 3]},
        {"human": [1, 2, 3], "agent": [1, 2]},
        {"human": [1, 2, 3], "agent": [1, 2, 3], "study": ["a"]},
        {"human": [1, 2, 3], "agent": [1, 2, 3], "weights": [0, 0, 0]},
        {"human": [1, 2, 3], "agent": [1, 2, 3], "weights": [1, 1, -1]},
        {"human": [1, 2, 3], "agent": [1, 2, 3], "human_se": [1, 1, 1]},
        {"human": [1, 2, 3], "agent": [1, 2, 3], "human_se": [1] * 3, "agent_se": [1] * 3, "z_diff": [1] * 3},
        {"human": [1, None, 3], "agent": [1, 2, 3], "weights": [0, 1, 0]},
        {"human": [1, 2, 3], "agent": [1, 2, 3], "weights": [1, 1, 1e-320]},
        {"human": [1, True, 3], "agent": [1, 2, 3]},
        {},
    ],
)
def test_unusable_columns_are_refused(columns):
    with pytest.raises((InvalidData, ValidationError)):
        ecs(ECSRequest.model_validate_json(json.dumps(columns)))


BIG = st.one_of(st.floats(-1e100, 1e100), st.sampled_from([0.0, 1e-300, -1e100, 5e-324]), st.none())


@PATIENT
@given(
    st.lists(st.tuples(BIG, BIG, st.floats(1e-100, 1e100) | st.just(0.0)), min_size=1, max_size=6),
    st.sampled_from(["lin", "printed_sums"]),
)
def test_answers_hold_no_nan(rows, variant):
    x, y, w = (list(column) for column in zip(*rows, strict=True))
    usable = [weight for a, b, weight in rows if a is not None and b is not None]
    weights = w if any(usable) or (not usable and any(w)) else [1.0] * len(w)
    errors = [abs(value) if value is not None else None for value in x]
    found = compare(x, y, weights=weights, human_se=errors, agent_se=errors, variant=variant)
    json.loads(found.model_dump_json(), parse_constant=lambda name: pytest.fail(name))
    for value in (found.ecs, found.pearson):
        assert value is None or -1 <= value <= 1


def test_an_interval_of_tiny_effects_does_not_underflow():
    effects = {"human": [1.0, 2.0, 4.0, 3.0], "agent": [2.0, 1.0, 0.0, 5.0]}
    tiny = {name: [value * 1e-200 for value in column] for name, column in effects.items()}
    one, other = (ask("ecs", body).analysis for body in (effects, tiny))
    assert (other.ecs, other.ci.low, other.ci.high) == pytest.approx((one.ecs, one.ci.low, one.ci.high))


def test_no_findings_have_the_fallback_of_the_definition():
    found = sound(ask("ecs", {"human": [], "agent": [], "study": []})).analysis
    assert (found.ecs, found.fallback_used, found.n) == (0.0, True, 0)
    assert "fallback" in found.sentence
    assert not analyse("ecs", {"human": [1.0, 2.0], "agent": [1.0, 2.0]}).fallback_used


@pytest.mark.parametrize("tiny", [1e-159, 1e-200, 1e-290])
def test_a_column_far_smaller_than_the_other_keeps_its_correlation(tiny):
    human, agent = [0.3, 1.1, 0.7, 0.2], [1.0, 3.0, 2.0, 1.5]
    plain = analyse("ecs", {"human": human, "agent": agent})
    small = sound(ask("ecs", {"human": human, "agent": [tiny * x for x in agent]})).analysis
    assert small.pearson == pytest.approx(plain.pearson, rel=1e-12)
    assert small.caricature.slope == pytest.approx(plain.caricature.slope * tiny, rel=1e-12)
    assert abs(small.ecs) < 1e-150
    both = analyse("ecs", {"human": [tiny * x for x in human], "agent": [tiny * x for x in agent]})
    assert (both.ecs, both.ci.low) == pytest.approx((plain.ecs, plain.ci.low), rel=1e-10)


def profiles():
    """Effect profiles of nothing, of constants, and beyond."""
    for human, agent in (
        ([], []), ([1.0], [1.0]), ([1.0, 2.0], [1.0, 2.0]), ([0.3] * 5, [0.3] * 5), ([0.3] * 5, [0.4] * 5),
        ([0.3] * 5, [0.1, 0.2, 0.3, 0.4, 0.5]), ([0.0] * 4, [0.0] * 4), ([None] * 4, [1.0] * 4),
        ([1e100, -1e100, 0.0], [-1e100, 1e100, 0.0]), ([1e-300, 2e-300, 4e-300], [2e-300, 1e-300, 0.0]),
    ):  # fmt: skip
        body = {"human": human, "agent": agent}
        yield body
        zeros, ones = [0.0] * len(human), [1.0] * len(human)
        yield body | {"human_se": zeros, "agent_se": zeros}
        yield body | {"human_se": ones, "agent_se": zeros, "weights": ones}
        yield body | {"study": [f"s{k}" for k in range(len(human))]}
    yield {"z_diff": [0.0, 1e100, -40.0, None]}


def simulated() -> Iterator[Batch]:
    """What is drawn where the truth is known."""
    yield Batch("profiles", "ecs", (coverage(),), {}, WORLDS["profiles"].effect)


CASES = Cases(
    degenerate=profiles,
    growing=[lambda k: {"human": [0.1, 0.4] * (20 * k), "agent": [0.2, 0.3] * (20 * k)}],
    simulated=simulated,
)
