"""Verdicts on real evaluations whose answers were computed elsewhere, through HTTP with locked plans."""

from __future__ import annotations

import io
from typing import Any

import pytest

from forelock.bundles.verifying import verify
from service.offline.recomputing import recompute
from tests.stats.oracle import family, table

from .conftest import Service
from .plans import locked, post, small_plan

pytestmark = pytest.mark.any_database

FROM_FILES = [case for case in family("prereg_verdict") if "file" in case["input"]]
ON_BOTH = FROM_FILES[:2]
"""Judged on Postgres too; what is computed asks no database."""
QUICK = [next(case for case in FROM_FILES if "swe" in case["id"])]
"""One with every run, the others with the slow tests."""
METHODS = {"obuchowski": "obuchowski", "yang": "yang", "cluster_sign_flip_exact": "sign_flip"}


def rows(case: dict[str, Any]) -> tuple[list[str], list[str], list[int], list[int]]:
    """Item ids, clusters and the two arms of a case."""
    given = case["input"]
    found = table(given["file"])
    return (
        [f"item {position}" for position in range(len(found))],
        [row[given["cluster"]] for row in found],
        [row[given["A"]] for row in found],
        [row[given["B"]] for row in found],
    )


def plan_for(n: int, n_clusters: int) -> dict[str, Any]:
    """Seed 1's H1a on independent items, its H1b by each clustered test, and equivalence at 2 and 5 pp."""
    plan = small_plan(n)
    independent = plan["populations"][0]
    clustered = {k: v for k, v in independent.items() if k != "independence"} | {
        "id": "c",
        "clusters": {"key": "cluster", "n": n_clusters},
    }
    tests = [
        {"id": "mcnemar", "test": "mcnemar", "version": 1},
        {"id": "bootstrap", "test": "paired-bootstrap", "version": 1},
        {"id": "cluster_bootstrap", "test": "cluster-bootstrap", "version": 1},
        *(
            {"id": f"c_{method}", "test": "clustered-mcnemar", "version": 1, "parameters": {"method": method}}
            for method in (*METHODS.values(), "cr2_t")
        ),
        *(
            {
                "id": f"{method}_{margin}",
                "test": "equivalence",
                "version": 1,
                "parameters": {"method": method, "margin": {"value": margin, "unit": "pp"}},
                **({} if margin == 2 else {"margin_reason": "the published analysis has both"}),
            }
            for method in ("t", "bootstrap_ci")
            for margin in (2, 5)
        ),
    ]
    shared = {"claim": "superiority", "statement": "B beats A by 2 pp", "baseline": "A", "candidate": "B"}
    delta = "delta >= 2.0 pp"
    hypotheses = [
        shared
        | {
            "id": "H1a",
            "population": "p",
            "rule": f"{delta} and mcnemar.p_value < 0.05 and bootstrap.ci excludes 0",
        },
        *(
            shared
            | {
                "id": f"H1b_{method}",
                "population": "c",
                "rule": f"{delta} and c_{method}.p_value < 0.05 and cluster_bootstrap.ci excludes 0",
            }
            for method in (*METHODS.values(), "cr2_t")
        ),
        *(
            shared
            | {"id": f"E_{population}_{test}", "population": population, "rule": f"{test}.equivalent == 1"}
            for population in "pc"
            for test in ("t_2", "t_5", "bootstrap_ci_2", "bootstrap_ci_5")
        ),
    ]
    equivalences = [h for h in hypotheses if h["id"].startswith("E_")]
    for hypothesis in equivalences:
        test = hypothesis["rule"].split(".")[0]
        margin = test.rsplit("_", 1)[1]
        hypothesis |= {
            "claim": "equivalence",
            "rule": f"{test}.ci.low > -{margin} pp and {test}.ci.high < {margin} pp",
            "equivalence": test,
        }
    return plan | {
        "populations": [independent, clustered],
        "tests": tests,
        "hypotheses": [h | {"endpoint": "accuracy"} for h in hypotheses],
        "multiplicity": {"policy": "none", "family": ["H1a"]},
    }


def judged(service: Service, case: dict[str, Any]) -> str:
    """A record of the case, with its verdict."""
    ids, clusters, baseline, candidate = rows(case)
    plan = plan_for(len(ids), len(set(clusters)))
    prereg_id = locked(
        service.client, plan, {"p": {"item_ids": ids}, "c": {"item_ids": ids, "clusters": clusters}}
    )
    for population in "pc":
        for arm, values in (("A", baseline), ("B", candidate)):
            assert post(service.client, prereg_id, arm, ids, values, population=population).status_code == 201
    service.run_jobs()
    return prereg_id


@pytest.mark.slow
@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
@pytest.mark.parametrize("case", FROM_FILES, ids=[case["id"] for case in FROM_FILES])
def test_bundles_of_real_evaluations_hold_and_are_judged_again(
    service: Service, case: dict[str, Any]
) -> None:
    prereg_id = judged(service, case)
    bundle = service.client.get(f"/v1/preregistrations/{prereg_id}/bundle").content
    report = verify(io.BytesIO(bundle), recompute=recompute)
    assert [each.sentence for each in report.checks if each.state != "pass"] == []
    verdict = service.client.get(f"/v1/preregistrations/{prereg_id}/verdict").json()
    assert report.verdict == verdict


@pytest.mark.parametrize(
    ("database_url", "case"),
    [
        pytest.param(kind, case, marks=() if case in QUICK else pytest.mark.slow)
        for case in FROM_FILES
        for kind in ("sqlite", "postgres")
        if kind == "sqlite" or case in ON_BOTH
    ],
    ids=lambda value: value if isinstance(value, str) else value["id"],
    indirect=["database_url"],
)
def test_real_evaluations_are_judged_as_computed_elsewhere(service: Service, case: dict[str, Any]) -> None:
    prereg_id = judged(service, case)
    verdict = service.client.get(f"/v1/preregistrations/{prereg_id}/verdict").json()
    found = {hypothesis["id"]: hypothesis for hypothesis in verdict["hypotheses"]}
    expected = case["expected"]

    iid = found["H1a"]
    delta, p_value, ci = iid["clauses"]
    assert delta["observed"] * 100 == pytest.approx(expected["delta_pp"], rel=1e-12)
    assert delta["holds"] is expected["delta_ge_2pp"]
    assert p_value["observed"] == pytest.approx(expected["mcnemar_exact_p"], rel=1e-6)
    assert p_value["holds"] is expected["mcnemar_p_lt_05"]
    low, high = expected["ci95_item_bootstrap"]
    assert (ci["observed"]["low"], ci["observed"]["high"]) == (
        pytest.approx(low, abs=1e-9),
        pytest.approx(high, abs=1e-9),
    )
    assert ci["holds"] is expected["item_ci_excludes_0"]
    assert (iid["outcome"] == "supported") is (expected["H1a_iid_verdict"] == "PASS")

    for name, method in METHODS.items():
        clustered = found[f"H1b_{method}"]
        assert clustered["clauses"][1]["observed"] == pytest.approx(expected["clustered_p"][name], rel=1e-6)
        if clustered["clauses"][2]["observed"]["low"] != 0:  # a bound of exactly 0 is not tested
            assert clustered["clauses"][2]["holds"] is expected["cluster_ci_excludes_0"]
            assert (clustered["outcome"] == "supported") is (
                expected["H1b_clustered_verdict"][name] == "PASS"
            )
    low, high = expected["ci95_cluster_bootstrap"]
    tolerance = 0.05 * (high - low) / 3.92
    span = found["H1b_sign_flip"]["clauses"][2]["observed"]
    assert (span["low"], span["high"]) == (
        pytest.approx(low, abs=tolerance),
        pytest.approx(high, abs=tolerance),
    )
    cr2 = found["H1b_cr2_t"]["clauses"][1]["observed"]
    assert cr2 == pytest.approx(expected["clustered_p"]["CR2_satterthwaite"], rel=1e-6)

    for margin in (2, 5):
        told = expected[f"equivalence_{margin}pp"]
        for hypothesis, name in (
            (found[f"E_p_t_{margin}"], "by_t_tost"),
            (found[f"E_p_bootstrap_ci_{margin}"], "by_item_bootstrap_ci90"),
            (found[f"E_c_bootstrap_ci_{margin}"], "by_cluster_bootstrap_ci90"),
        ):
            assert (hypothesis["outcome"] == "equivalent") is told[name], name


def test_an_exact_difference_of_two_points_counts_as_two_points(service: Service) -> None:
    (case,) = [case for case in family("prereg_verdict") if "n10" in case["input"]]
    n, only_baseline, only_candidate = (case["input"][name] for name in ("n", "n10", "n01"))
    both = 200
    baseline = [1] * both + [1] * only_baseline + [0] * (n - both - only_baseline)
    candidate = [1] * both + [0] * only_baseline + [1] * only_candidate
    candidate += [0] * (n - len(candidate))
    prereg_id = locked(service.client, small_plan(n))
    ids = [f"q{i}" for i in range(n)]
    for arm, values in (("A", baseline), ("B", candidate)):
        manifest = service.client.get(f"/v1/preregistrations/{prereg_id}/populations/p/items").json()[
            "item_ids"
        ]
        assert len(manifest) == len(ids)
        post(service.client, prereg_id, arm, manifest, values)
    service.run_jobs()
    (hypothesis,) = service.client.get(f"/v1/preregistrations/{prereg_id}/verdict").json()["hypotheses"]
    delta, p_value = hypothesis["clauses"]
    assert delta["holds"] is case["expected"]["delta_ge_2pp"] is True
    assert p_value["observed"] == pytest.approx(case["expected"]["p_exact"], rel=1e-9)
    assert hypothesis["outcome"] == "not_supported"
