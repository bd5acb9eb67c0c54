"""McNemar, paired bootstrap and equivalence against R, scipy, statsmodels and published tables."""

from __future__ import annotations

import pytest

from tests.stats.oracle import analyse, cases, close, columns, fourfold, table, tolerance


def body_of(case):
    data = case["input"]
    if "file" in data:
        return columns(data, clusters=False)
    return {"baseline": data["A"], "candidate": data["B"]} if "A" in data else fourfold(data)


@pytest.mark.parametrize("case", cases("mcnemar"))
def test_mcnemar_against_r_scipy_and_statsmodels(case):
    expected, body = case["expected"], body_of(case)
    p_of = {
        "p_exact_two_sided": {"method": "exact"},
        "p_exact_one_sided_B_better": {"method": "exact", "alternative": "greater"},
        "p_mid_two_sided": {"method": "midp"},
        "p_asymptotic": {"method": "asymptotic"},
        "p_continuity_corrected": {"method": "corrected"},
    }
    for field, options in p_of.items():
        if field in expected:
            found = analyse("mcnemar", body, **options)
            assert close(found.p_value, expected[field], **tolerance(case, field)), field
    for field, method in (("chi2_uncorrected", "asymptotic"), ("chi2_continuity_corrected", "corrected")):
        if field in expected:
            assert close(analyse("mcnemar", body, method=method).statistic, expected[field])
    for level in (0.95, 0.90):
        found = analyse("mcnemar", body, level=level)
        for method, field in (("wald", "wald"), ("tango", "tango_score")):
            name = f"ci{round(100 * level)}_{field}"
            interval = found.intervals[method]
            assert close([interval.low, interval.high], expected[name], **tolerance(case, name)), name
    assert found.delta == pytest.approx(expected["diff_B_minus_A"], abs=1e-15)
    assert found.n == expected["n"]
    assert found.n_discordant == expected["discordant"]
    if "odds_ratio_n01_over_n10" in expected:
        odds = analyse("mcnemar", body).odds_ratio
        assert close(odds.estimate, expected["odds_ratio_n01_over_n10"])
        assert close([odds.ci.low, odds.ci.high], expected["odds_ratio_ci95_exact"])


@pytest.mark.parametrize("case", cases("paired_bootstrap_binary"))
def test_paired_bootstrap_against_exact_multinomial_distribution(case):
    expected, body = case["expected"], body_of(case)
    found = analyse("paired-bootstrap", body)
    strict = analyse("paired-bootstrap", body, comparison="strict")
    better = {"A": "baseline", "B": "candidate"}[expected["better"]]
    assert found.better == better
    # the reference's own tails lose digits below 1e-15, ours do not
    tails = {"rel": 1e-7, "abs": 1e-15}
    assert close(found.p_better, expected["p_bootstrap_ge_2delta_exact"], **tails)
    assert close(strict.p_better, expected["p_bootstrap_gt_2delta_exact"], **tails)
    le, lt = (
        ("fraction_le_0", "fraction_lt_0") if better == "candidate" else ("fraction_ge_0", "fraction_gt_0")
    )
    assert close(getattr(found, le), expected["fraction_resamples_le_0_exact"], **tails)
    assert close(getattr(found, lt), expected["fraction_resamples_lt_0_exact"], **tails)
    assert close(found.bootstrap_se, expected["bootstrap_se_exact"], rel=1e-9)
    basic = analyse("paired-bootstrap", body, method="basic").ci
    ninety = analyse("paired-bootstrap", body, level=0.9).ci
    assert close([found.ci.low, found.ci.high], expected["ci95_percentile_exact_B_minus_A"], abs=1e-12)
    assert close([ninety.low, ninety.high], expected["ci90_percentile_exact_B_minus_A"], abs=1e-12)
    assert close([basic.low, basic.high], expected["ci95_basic_exact_B_minus_A"], abs=1e-12)
    for margin, says in expected["tost_bootstrap"].items():
        bound = {"value": float(margin), "unit": "proportion"}
        tost = analyse("equivalence", body, method="bootstrap_ci", margin=bound)
        assert tost.equivalent is says["equivalent_by_ci90_inside"]
        assert close(tost.p_lower, says["tail_below_minus"], rel=1e-6, abs=1e-14)
        assert close(tost.p_upper, says["tail_above_plus"], rel=1e-6, abs=1e-14)


@pytest.mark.parametrize("case", cases("tost"))
def test_t_equivalence_against_statsmodels_and_r(case):
    expected, data = case["expected"], case["input"]
    if "student" in expected:
        runs = [float(row["data1"]) for row in table(data["file"])]
        body = {"baseline": runs[10:20], "candidate": runs[:10], "design": "independent"}
        asked = [
            ({"variance": variance, "margin": {"value": data["bound"], "unit": "score"}}, expected[variance])
            for variance in ("student", "welch")
        ]
    else:
        body = columns(data, clusters=False)
        asked = [
            ({"margin": {"value": bound, "unit": "proportion"}}, expected[str(bound)])
            for bound in data["bounds"]
        ]
    for options, says in asked:
        found = analyse("equivalence", body, method="t", **options)
        for name in ("t_lower", "t_upper", "p_lower", "p_upper"):
            assert close(getattr(found, name), says[name], abs=1e-9), name
        assert close(found.p_value, says["p_tost"], abs=1e-12)
        assert found.equivalent is says["equivalent_at_05"]
        if "noninferior_B_margin" in says:
            assert found.noninferior is says["noninferior_B_margin"]["noninferior"]
        ci = says.get("ci90", expected.get("ci90_t"))
        assert close([found.ci.low, found.ci.high], ci)
        assert found.ci.level == pytest.approx(0.9)
        if "df" in says:
            assert close(found.df, says["df"])


@pytest.mark.parametrize("case", cases("paired_means"))
def test_equivalence_of_scores_against_toster_and_clubsandwich(case):
    expected, data = case["expected"], case["input"]
    body = columns(data)
    paired = {name: body[name] for name in ("baseline", "candidate")}
    for margin, says in expected["tost"].items():
        bound = {"value": float(margin), "unit": "score"}
        found = analyse("equivalence", paired, method="t", margin=bound)
        assert close([found.t_lower, found.t_upper], [says["t_lower"], says["t_upper"]])
        assert close([found.p_lower, found.p_upper], [says["p_lower"], says["p_upper"]])
        assert found.equivalent is says["equivalent_at_05"]
    clustered = analyse("equivalence", body, method="t", margin={"value": 0.05, "unit": "score"})
    assert close(clustered.se, expected["cluster_robust"]["CR2"]["se"])
    assert close(clustered.df, expected["cluster_robust"]["CR2"]["df"])
