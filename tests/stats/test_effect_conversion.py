"""Effects on one scale: the document's formulas, their inverses, and what is undefined."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pydantic import ValidationError
from scipy import stats

from service.errors import InvalidData
from service.stats.effect_conversion import EffectConversionRequest, effect_conversion
from tests.simulation.reads import coverage
from tests.simulation.rows import Batch
from tests.simulation.worlds import WORLDS
from tests.stats.cases import Cases
from tests.stats.oracle import codes, named

PATIENT = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])


def convert(**effect):
    return effect_conversion(EffectConversionRequest.model_validate_json(json.dumps({"effect": effect})))


def oracle(*prefixes):
    return named("effect_sizes", *prefixes)


def test_against_hedges_and_olkin():
    for case in oracle("se-d-"):
        assert convert(kind="t_test", **case["input"]).se == pytest.approx(case["expected"]["se"], rel=1e-9)


def test_against_fisher():
    for case in oracle("fisher-z-"):
        found = convert(kind="correlation", **case["input"])
        assert found.effect == pytest.approx(case["expected"]["z"], rel=1e-9)
        assert found.se == pytest.approx(case["expected"]["se"], rel=1e-9)


def test_against_statsmodels_tables():
    for case in oracle("log-or-"):
        found, expected = convert(kind="chi_square", **case["input"]), case["expected"]
        assert found.effect == pytest.approx(expected["log_or"], rel=1e-9)
        assert found.se == pytest.approx(expected["se"], rel=1e-9)
        assert found.d_equivalent == pytest.approx(expected["d_equiv"], rel=1e-9)
        assert found.haldane_applied == expected["haldane_applied"]
        assert [found.ci.low, found.ci.high] == pytest.approx(expected["ci95"], rel=1e-9)


def test_against_rank_and_binomial_cases():
    for case in oracle("rank-biserial-"):
        sent, expected = case["input"], case["expected"]
        found = convert(kind="mann_whitney", u=sent["U"], n1=sent["n1"], n2=sent["n2"])
        assert found.effect == pytest.approx(expected["r_rb"], abs=1e-9)
        assert found.se == pytest.approx(expected["se_seed3_document"], abs=1e-9)
        assert found.alternatives["se_reference_code"] == pytest.approx(expected["se_hsb_code"], abs=1e-9)
        assert found.d_equivalent == pytest.approx(expected["d_equiv"], abs=1e-9)
    for case in oracle("binomial-d-"):
        found, expected = convert(kind="binomial", n=50, **case["input"]), case["expected"]
        assert found.d_equivalent == pytest.approx(expected["d_seed3"], abs=1e-9)
        assert found.alternatives["cohens_h"] == pytest.approx(expected["cohens_h"], abs=1e-9)
        assert found.se == pytest.approx(expected["se_p_n50"], abs=1e-9)


def test_against_d_equivalents_of_stored_effects():
    forms = {
        "correlation": lambda value: {"kind": "correlation", "z": value},
        "chi-square": lambda value: {"kind": "chi_square", "log_or": value},
        "t-test": lambda value: {"kind": "t_test", "d": value, "n1": 10},
    }
    for case in oracle("d-equiv-"):
        found = convert(**forms[case["input"]["type"]](case["input"]["stored_effect"]))
        assert found.d_equivalent == pytest.approx(case["expected"]["d"], abs=1e-9)


def test_against_effective_sizes():
    for case in oracle("n-eff-"):
        sent = case["input"]
        effect = {"kind": "other"}
        if sent["statistical_test_type"] == "t-test":
            effect = {"kind": "t_test", "d": 0.1, "n1": sent["n_agent"], "n2": sent.get("n2_agent")}
        assert convert(**effect).n_eff == case["expected"]["n_eff"]


@pytest.mark.parametrize(
    ("effect", "n_eff"),
    [
        ({"kind": "anova", "d": 0.5, "n1": 20, "n2": 30}, 50),
        ({"kind": "f_test", "d": 0.5, "n1": 20}, 20),
        ({"kind": "correlation", "r": 0.5, "n": 33}, 33),
        ({"kind": "correlation", "r": 0.5}, 1),
        ({"kind": "chi_square", "table": [[1, 2], [3, 4]]}, 10),
        ({"kind": "chi_square", "log_or": 1.0, "n": 77}, 77),
        ({"kind": "mann_whitney", "u": 3, "n1": 4, "n2": 5}, 9),
        ({"kind": "binomial", "k": 3, "n": 8}, 8),
        ({"kind": "other"}, 1),
    ],
)
def test_effective_sizes_follow_the_document(effect, n_eff):
    found = convert(**effect)
    assert found.n_eff == n_eff
    assert ("NO_N_EFF" in codes(found)) == (n_eff == 1)


@PATIENT
@given(st.floats(-0.999, 0.999))
def test_correlation_and_its_fisher_z_have_one_d(r):
    by_r, by_z = convert(kind="correlation", r=r), convert(kind="correlation", z=math.atanh(r))
    assert by_r.d_equivalent == pytest.approx(2 * r / math.sqrt(1 - r * r), rel=1e-9, abs=1e-12)
    assert by_z.d_equivalent == pytest.approx(by_r.d_equivalent, rel=1e-9, abs=1e-12)
    assert by_z.alternatives["r"] == pytest.approx(r, abs=1e-12)


@PATIENT
@given(st.lists(st.integers(0, 1000), min_size=4, max_size=4).filter(any))
def test_swapping_rows_flips_the_log_odds_ratio(cells):
    a, b, c, d = cells
    one, other = (
        convert(kind="chi_square", table=[[a, b], [c, d]]),
        convert(kind="chi_square", table=[[c, d], [a, b]]),
    )
    assert one.effect == pytest.approx(-other.effect, abs=1e-12)
    assert one.se == pytest.approx(other.se)
    assert one.haldane_applied == (0 in cells)
    assert ("HALDANE_ANSCOMBE" in codes(one)) == (0 in cells)


@PATIENT
@given(st.integers(1, 50), st.integers(1, 50), st.data())
def test_the_other_u_flips_the_rank_biserial(n1, n2, data):
    u = data.draw(st.integers(0, n1 * n2))
    one = convert(kind="mann_whitney", u=u, n1=n1, n2=n2)
    other = convert(kind="mann_whitney", u=n1 * n2 - u, n1=n1, n2=n2)
    assert one.effect == pytest.approx(-other.effect, abs=1e-12)
    assert "RANK_BISERIAL_SE" in codes(one)


def test_d_of_a_t_statistic_agrees_with_scipy():
    x, y = [1.0, 2.5, 3.0, 4.2], [2.0, 4.0, 5.0]
    t = stats.ttest_ind(x, y).statistic
    pooled = math.sqrt((3 * stats.tvar(x) + 2 * stats.tvar(y)) / 5)
    expected = (sum(x) / 4 - sum(y) / 3) / pooled
    assert convert(kind="t_test", t=t, n1=4, n2=3).d_equivalent == pytest.approx(expected)
    one = stats.ttest_1samp(x, 0).statistic
    assert convert(kind="t_test", t=one, n1=4).d_equivalent == pytest.approx(
        sum(x) / 4 / math.sqrt(stats.tvar(x))
    )


@pytest.mark.parametrize("r", [-1, 1])
def test_perfect_correlations_are_infinite(r):
    found = convert(kind="correlation", r=r, n=20)
    assert (found.effect, found.d_equivalent, found.ci) == (None, None, None)
    assert found.reasons["d_equivalent"] == "infinite"
    ranks = convert(kind="mann_whitney", r_rb=r, n1=5, n2=5)
    assert (ranks.effect, ranks.d_equivalent) == (r, None)


@pytest.mark.parametrize(
    ("effect", "reason"),
    [
        ({"kind": "correlation", "r": 0.5, "n": 3}, "needs more than 3 pairs"),
        ({"kind": "correlation", "r": 0.5}, "needs the sample size"),
        ({"kind": "chi_square", "log_or": 1.0, "n": 20}, "needs the table"),
        ({"kind": "binomial", "p": 0.4}, "needs the sample size"),
        ({"kind": "other"}, "no effect"),
    ],
)
def test_a_missing_error_has_its_reason(effect, reason):
    found = convert(**effect)
    assert (found.se, found.reasons["se"]) == (None, reason)


def test_all_successes_have_an_error_of_zero_that_is_warned_about():
    found = convert(kind="binomial", k=9, n=9)
    assert found.se == 0
    assert "ZERO_STANDARD_ERROR" in codes(found)
    assert codes(convert(kind="binomial", k=8, n=9)) == {"PROPORTION_D"}


@pytest.mark.parametrize(
    "effect",
    [
        {"kind": "t_test", "n1": 5},
        {"kind": "t_test", "d": 1, "t": 2, "n1": 5},
        {"kind": "correlation", "r": 1.2},
        {"kind": "correlation"},
        {"kind": "chi_square", "table": [[0, 0], [0, 0]]},
        {"kind": "chi_square", "table": [[1, 2, 3], [1, 2, 3]]},
        {"kind": "chi_square", "table": [[1, 2], [3, 4]], "n": 10},
        {"kind": "chi_square", "table": [[1, 2], [3, -4]]},
        {"kind": "mann_whitney", "u": 21, "n1": 4, "n2": 5},
        {"kind": "binomial", "k": 3},
        {"kind": "binomial", "k": 3, "n": 2},
        {"kind": "binomial", "p": 0.3, "p0": 1},
        {"kind": "sign", "k": 3},
    ],
)
def test_unusable_effects_are_refused(effect):
    with pytest.raises((InvalidData, ValidationError)):
        convert(**effect)


SIZE = st.integers(1, 10**9)


@PATIENT
@given(
    st.one_of(
        st.fixed_dictionaries(
            {"kind": st.just("t_test"), "d": st.floats(-1e100, 1e100), "n1": SIZE, "n2": st.none() | SIZE}
        ),
        st.fixed_dictionaries(
            {"kind": st.just("t_test"), "t": st.floats(-1e100, 1e100), "n1": SIZE, "n2": st.none() | SIZE}
        ),
        st.fixed_dictionaries({"kind": st.just("correlation"), "r": st.floats(-1, 1), "n": st.none() | SIZE}),
        st.fixed_dictionaries(
            {"kind": st.just("correlation"), "z": st.floats(-300, 300), "n": st.none() | SIZE}
        ),
        st.fixed_dictionaries(
            {"kind": st.just("mann_whitney"), "r_rb": st.floats(-1, 1), "n1": SIZE, "n2": SIZE}
        ),
        st.fixed_dictionaries(
            {"kind": st.just("binomial"), "p": st.floats(0, 1), "n": SIZE, "p0": st.floats(1e-9, 1 - 1e-9)}
        ),
        st.fixed_dictionaries({"kind": st.just("chi_square"), "log_or": st.floats(-1e100, 1e100)}),
    )
)
def test_answers_hold_no_nan(effect):
    found = convert(**effect)
    json.loads(found.model_dump_json(), parse_constant=lambda name: pytest.fail(name))
    nulls = {name for name in ("effect", "se", "ci", "d_equivalent") if getattr(found, name) is None}
    assert nulls == set(found.reasons)


def effects():
    """Effects at their ends."""
    for d in (0.0, 1e-300, -1e100):
        yield {"kind": "t_test", "d": d, "n1": 2}
        yield {"kind": "t_test", "t": d, "n1": 10**9, "n2": 2}
    for r in (0.0, 1.0, -1.0):
        yield {"kind": "correlation", "r": r, "n": 2}
        yield {"kind": "correlation", "r": r, "n": 10**9}
    for table in ([[0, 0], [0, 0]], [[1, 0], [0, 0]], [[0, 5], [5, 0]], [[10**9] * 2] * 2):
        yield {"kind": "chi_square", "table": table}
    for u in (0.0, 1.0, 1e18):
        yield {"kind": "mann_whitney", "u": u, "n1": 2, "n2": 2}
    for k, n in ((0, 2), (2, 2), (3, 2), (10**9, 10**9)):
        yield {"kind": "binomial", "k": k, "n": n}


def simulated() -> Iterator[Batch]:
    """What is drawn where the truth is known."""
    yield Batch("tables", "effect-conversion", (coverage(),), {}, WORLDS["tables"].effect)


CASES = Cases(
    degenerate=lambda: ({"effect": each} for each in effects()),
    growing="a number: what its example costs is what it costs",
    simulated=simulated,
)
