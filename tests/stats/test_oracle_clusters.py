"""Clustered tests against R's clust.bin.pair, clubSandwich, scipy and full enumerations."""

from __future__ import annotations

import pytest

from tests.drawing import mostly_slow
from tests.stats.oracle import analyse, ask, cases, close, codes, columns

CELLS = {"n11": (1, 1), "n10": (1, 0), "n01": (0, 1), "n00": (0, 0)}


def from_cells(names, rows):
    body = {"baseline": [], "candidate": [], "clusters": []}
    for label, row in enumerate(rows):
        for name, count in zip(names, row, strict=True):
            baseline, candidate = CELLS[name]
            body["baseline"] += [baseline] * count
            body["candidate"] += [candidate] * count
            body["clusters"] += [label] * count
    return body


def of_twelve(case):
    """Of SWE-bench's 12 repositories: 1,352,078 multisets, listed several times. One such case is always tried."""
    return "swe" in case["id"] and "gpt-5" not in case["id"]


@pytest.mark.parametrize("case", cases("clustered_mcnemar"))
def test_clustered_mcnemar_against_clust_bin_pair_and_clubsandwich(case):
    expected, data = case["expected"], case["input"]
    if "chi2" in expected:
        body = from_cells(data["columns"], data["per_cluster_counts"])
        names = {"eliasziw": "eliasziw_donner"}
        printed = expected["printed_in_papers_rounded"]
        for name, chi2 in expected["chi2"].items():
            if name != "mcnemar":
                found = analyse("clustered-mcnemar", body, method=names.get(name, name))
                assert close(found.statistic, chi2), name
                assert round(found.statistic, 3 if name == "durkalski" else 2) == printed[name]
        assert analyse("clustered-mcnemar", body).p_value == pytest.approx(0.006436, abs=5e-7)
        plain = analyse("mcnemar", {k: body[k] for k in ("baseline", "candidate")}, method="asymptotic")
        assert close(plain.statistic, expected["chi2"]["mcnemar"])
        return
    body = columns(data)
    for method in ("durkalski", "obuchowski", "yang", "eliasziw_donner"):
        found, says = analyse("clustered-mcnemar", body, method=method), expected[method]
        if isinstance(says, str):
            assert found.p_value is None
            assert "p_value" in found.reasons
        else:
            assert close([found.statistic, found.p_value], [says["chi2"], says["p"]]), method
    flip = expected["cluster_sign_flip_exact"]
    found = analyse("clustered-mcnemar", body)
    assert found.p_value == flip["p_two_sided_abs_sum"]
    better = analyse("clustered-mcnemar", body, alternative="greater")
    assert better.p_value == flip["p_one_sided_B_better"]
    assert close(found.delta, expected["diff"])
    assert (found.n, found.n_clusters) == (expected["n"], expected["n_clusters"])
    assert close(found.standard_errors.cr1, expected["cluster_robust_se"]["CR1"])
    assert close(found.standard_errors.cr2, expected["cluster_robust_se"]["CR2"])
    # CR3 of the reference lacks the factor (G - 1) / G of the jackknife variance
    g = found.n_clusters
    assert close(found.standard_errors.cv3, expected["cluster_robust_se"]["CR3"] * ((g - 1) / g) ** 0.5)
    cr1, says = analyse("clustered-mcnemar", body, method="cr1_t"), expected["CR1_t_Kminus1"]
    assert close([cr1.statistic, cr1.df, cr1.p_value], [says["t"], says["df"], says["p"]])
    assert close([cr1.ci.low, cr1.ci.high], says["ci95"])
    cr2, says = analyse("clustered-mcnemar", body, method="cr2_t"), expected["CR2_satterthwaite"]
    assert close([cr2.se, cr2.df, cr2.p_value], [says["se"], says["df"], says["p"]])
    assert close([cr2.ci.low, cr2.ci.high], says["ci95"])
    means, says = analyse("clustered-mcnemar", body, method="durkalski"), expected["cluster_means_t_test"]
    assert close([means.delta, means.ci.low, means.ci.high], [says["mean"], *says["ci"]])


@pytest.mark.parametrize("case", mostly_slow(cases("cluster_bootstrap", of_twelve), 2))
def test_cluster_bootstrap_against_full_enumeration(case):
    expected, data = case["expected"], case["input"]
    if "file" in data:
        body = columns(data)
    else:
        rows = data["per_cluster"]
        body = from_cells(
            ("n10", "n01", "n00"),
            [
                (max(-d, 0), max(d, 0), n - abs(d))
                for n, d in zip(rows["n"], rows["sum_diff_B_minus_A"], strict=True)
            ],
        )
    answer = ask("cluster-bootstrap", body)
    found = answer.analysis
    assert answer.provenance.exact
    assert found.route == "enumeration"
    assert close(found.delta, expected["estimate_pooled"], rel=1e-12)
    assert close(found.bootstrap_mean, expected["bootstrap_mean"], rel=1e-9)
    assert close(found.bootstrap_se, expected["bootstrap_se"], rel=1e-9)
    assert close([found.ci.low, found.ci.high], expected["ci95_percentile"], rel=1e-12)
    ninety = analyse("cluster-bootstrap", body, level=0.9).ci
    assert close([ninety.low, ninety.high], expected["ci90_percentile"], rel=1e-12)
    basic = found.intervals["basic"]
    assert close([basic.low, basic.high], expected["ci95_basic"], rel=1e-9)
    # the reference takes its tails from the better arm's side
    le_0 = found.fraction_le_0 if found.delta >= 0 else found.fraction_ge_0
    assert close(le_0, expected["p_fraction_le_0"], rel=1e-9)
    assert close(found.p_better, expected["p_ge_2delta"], rel=1e-9, abs=1e-9)
    means, says = (
        analyse("cluster-bootstrap", body, estimand="cluster_weighted"),
        expected["mean_of_cluster_means"],
    )
    assert close([means.delta, means.ci.low, means.ci.high], [says["estimate"], *says["ci95_percentile"]])
    assert codes(answer) & {"FEW_CLUSTERS", "CAUTION"}


@pytest.mark.parametrize("case", cases("prereg_verdict", of_twelve))
def test_clauses_of_the_verdict_cases(case):
    data, expected = case["input"], case["expected"]
    if "file" not in data:
        return
    body = columns(data)
    paired = {name: body[name] for name in ("baseline", "candidate")}
    for pp in ("2", "5"):
        margin = {"value": float(pp), "unit": "pp"}
        says = expected[f"equivalence_{pp}pp"]
        by_t = analyse("equivalence", paired, method="t", margin=margin)
        by_items = analyse("equivalence", paired, method="bootstrap_ci", margin=margin)
        by_clusters = analyse("equivalence", body, method="bootstrap_ci", margin=margin)
        assert by_t.equivalent is says["by_t_tost"]
        assert by_items.equivalent is says["by_item_bootstrap_ci90"]
        assert by_clusters.equivalent is says["by_cluster_bootstrap_ci90"]
