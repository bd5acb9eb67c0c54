"""Runs and seeds, design and multiplicity against R, scipy, statsmodels, pingouin and published examples."""

from __future__ import annotations

import math

import pytest

from tests.stats.oracle import analyse, cases, close, columns, table, tolerance
from tests.stats.shapes import ends


def runs(data, name):
    return [float(row[data[name]]) for row in table(data["file"])] if "file" in data else data[name]


@pytest.mark.parametrize("case", cases("two_sample"))
def test_two_samples_against_r_effectsize_and_scipy(case):
    data, expected = case["input"], case["expected"]
    body = {"baseline": runs(data, "y"), "candidate": runs(data, "x")}
    for method in ("welch", "student"):
        found = analyse("t-test", body, method=method)
        wanted = expected[method]
        assert close([found.t, found.df, found.p_value], [wanted["t"], wanted["df"], wanted["p"]])
        assert close(ends(found.ci), wanted["ci95_diff"])
        assert found.delta == pytest.approx(expected["mean_diff"], rel=1e-12)
    sizes = analyse("effect-size", body)
    for field, value in (
        ("cohens_d", sizes.cohens_d),
        ("hedges_g_exact_gamma", sizes.hedges_g),
        ("glass_delta_sd_of_y", sizes.glass_delta),
        ("cohens_d_se_hedges_olkin", sizes.cohens_d_se),
        ("cohens_d_ci95_noncentral_t", ends(sizes.cohens_d_ci)),
        ("hedges_g_ci95", ends(sizes.hedges_g_ci)),
    ):
        assert close(value, expected[field], **tolerance(case, field)), field
    ranked = analyse("mann-whitney", body)
    assert close(ranked.p_value, expected["mann_whitney_p"])
    assert ranked.u == expected["mann_whitney_U_x"]
    # the reference's sign follows the other U
    assert close(ranked.rank_biserial, -expected["rank_biserial_1_minus_2U_over_n1n2_with_U_of_x"])


@pytest.mark.parametrize("case", cases("describe_outliers"))
def test_description_and_outliers_against_numpy_and_r(case):
    expected, body = case["expected"], {"values": runs(case["input"], "x")}
    found = analyse("describe", body)
    for field, value in (
        ("n", found.n),
        ("mean", found.mean),
        ("sd_sample", found.sd),
        ("sd_population", found.sd_population),
        ("sem", found.se),
        ("median", found.median),
        ("min", found.min),
        ("max", found.max),
        ("q1_type7", found.q1),
        ("q3_type7", found.q3),
        ("ci95_t", ends(found.ci)),
        ("mad_scaled", found.mad_scaled),
    ):
        if field in expected:
            assert close(value, expected[field]), field
    iqr = analyse("outliers", body)
    assert close([iqr.low_fence, iqr.high_fence], expected["iqr_fences"])
    assert list(iqr.positions) == expected["iqr_outlier_indices0"]
    z = analyse("outliers", body, method="zscore")
    assert list(z.positions) == expected["z_gt3_indices0_population_sd"]
    assert close(z.max_score, expected["max_abs_z_population"])
    if "max_possible_abs_z_population" in expected:
        assert close(z.max_possible_score, expected["max_possible_abs_z_population"])


@pytest.mark.parametrize("case", cases("paired_means"))
def test_paired_means_against_r_and_scipy(case):
    expected, body = case["expected"], columns(case["input"], clusters=False)
    for level, field in ((0.95, "ci95"), (0.90, "ci90")):
        found = analyse("t-test", body, method="paired", level=level)
        assert close(ends(found.ci), expected[field])
    assert close(
        [found.t, found.df, found.p_value, found.cohens_dz, found.delta],
        [expected[name] for name in ("t", "df", "p", "cohens_dz", "mean_diff")],
    )
    assert close([found.baseline.mean, found.candidate.mean], [expected["mean_A"], expected["mean_B"]])
    assert found.n == expected["n"]
    assert close(analyse("wilcoxon", body).p_value, expected["wilcoxon_p_normal_no_cc"])


@pytest.mark.parametrize("case", cases("bootstrap_ci"))
def test_bootstrap_intervals_of_a_mean_against_scipy_boot_and_arch(case):
    data, expected = case["input"], case["expected"]
    if " minus " in data["x"]:
        first, second = data["x"].split(" minus ")
        values = [float(row[first]) - float(row[second]) for row in table(data["file"])]
    else:
        values = runs(data, "x")
    for method in ("percentile", "basic", "bca"):
        found = analyse("describe", {"values": values}, method=method, n_resamples=20_000)
        assert close(found.mean, expected["estimate"])
        assert close(ends(found.ci), expected[f"ci95_{method}"], **tolerance(case, f"ci95_{method}"))
        assert close(found.bootstrap_se, expected["bootstrap_se"], **tolerance(case, "bootstrap_se"))


@pytest.mark.parametrize("case", cases("power"))
def test_power_against_statsmodels_pwr_and_colas(case):
    data, expected = case["input"], case["expected"]
    if "sd1" in data:
        body = {
            "test": "welch",
            "delta": float(data["effect"]),
            "sd_baseline": float(data["sd1"]),
            "sd_candidate": float(data["sd2"]),
        }
        for point in analyse("power", body, n=data["N"]).points:
            wanted = expected[f"N={point.n}"]
            assert point.beta_colas == pytest.approx(
                wanted["beta_colas_formula_one_tailed_central_t"], abs=1e-9
            )
            assert point.beta_noncentral_t == pytest.approx(wanted["beta_noncentral_t_two_tailed"], abs=1e-6)
            assert point.beta == pytest.approx(wanted["beta_monte_carlo_two_tailed"], abs=0.004)
            assert point.beta_one_tailed == pytest.approx(wanted["beta_monte_carlo_one_tailed"], abs=0.004)
        size, wanted = analyse("sample-size", body), expected["required_N_per_group_beta_lt_0.20"]
        assert size.n == wanted["noncentral_t_two_tailed"]
        assert size.n_one_tailed == wanted["noncentral_t_one_tailed"]
        assert size.n_colas == wanted["colas_one_tailed"]
    elif "mcnemar" in case["id"]:
        for n, p10, p01 in data["grid"]:
            body = {"test": "mcnemar", "p_only_baseline": p10, "p_only_candidate": p01}
            found = analyse("power", body, n=n).power
            assert found == pytest.approx(expected[f"n={n},p10={p10},p01={p01}"], abs=1e-6)
    else:
        for name in data["grid"]:
            d, wanted = float(name.split()[0]), expected[name]
            body = {"test": "student", "delta": d, "sd_baseline": 1.0, "sd_candidate": 1.0}
            points = analyse("power", body, n=[5, 10, 20]).points
            for point in points:
                assert point.power == pytest.approx(wanted[f"power_n{point.n}"], abs=1e-5)
            size = analyse("sample-size", body)
            assert size.n == wanted["n_ceil"]
            assert size.n_continuous == pytest.approx(wanted["n_per_group_80"], abs=0.01)


@pytest.mark.slow
@pytest.mark.parametrize("case", cases("empirical_type1"))
def test_type_one_error_against_complete_enumeration(case):
    expected, values = case["expected"], runs(case["input"], "x")
    for n in (2, 10):
        wanted = expected[f"welch_N={n}"]["rate_exact"]
        point = analyse("type-one-error", {"test": "welch", "values": values, "sizes": [n]}).points[0]
        assert point.enumerated
        assert point.rate == pytest.approx(wanted, abs=1e-12)
    drawn = analyse("type-one-error", {"test": "welch", "values": values, "sizes": [5]})
    wanted = expected["welch_N=5"]["rate_mc"]
    assert abs(drawn.rate - wanted) < 5 * math.sqrt(wanted * (1 - wanted) / 10_000) + 0.002
    for n in (3, 5, 10):
        for test, field in (("percentile", "percentile_rate"), ("basic", "basic_pivotal_rate")):
            body = {"test": f"bootstrap-{test}", "values": values, "sizes": [n], "n_splits": 4_000}
            assert abs(analyse("type-one-error", body).rate - expected[f"bootstrap_N={n}"][field]) < 0.02


@pytest.mark.parametrize("case", cases("multiplicity"))
def test_adjusted_p_values_against_r_and_statsmodels(case):
    expected, p_values = case["expected"], case["input"]["p"]
    for field in ("bonferroni", "holm", "hochberg", "hommel", "BH", "BY"):
        found = analyse("multiple-comparisons", {"p_values": p_values}, method=field.lower())
        assert close(list(found.adjusted), expected[field], rel=0, abs=1e-12), field
        if "n_rejected_05" in expected:
            assert found.n_rejected == expected["n_rejected_05"][field]
