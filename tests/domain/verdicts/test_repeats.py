"""Plans that fix repeats: runs, judgements of each run, and pass@k and pass^k of attempts."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest

from service.domain.power.rule_power import power_at_reference
from service.domain.results.batches import expected_cells
from service.domain.rules.settings import resolve
from service.domain.verdicts.mean_difference import collapse
from service.reports.prereg.markdown import parse_plan
from service.reports.prereg.print import print_plan
from service.stats.shared.declaring import registry
from tests.domain.sample import cell, codes, findings, outcomes, plan, verdict_of

JUDGED = {
    "hypotheses.0.rule": "delta >= 2 pp and r.p_value < 0.05 and r.ci excludes 0",
    "endpoints.0": {"id": "accuracy", "kind": "binary", "role": "primary", "replicates": 6, "judgements": 2},
    "tests.0": {"id": "r", "test": "repeated", "version": 1},
}
ATTEMPTS = {
    "hypotheses.0.rule": "delta >= 2 pp and t.p_value < 0.05 and t.ci excludes 0",
    "endpoints.0": {
        "id": "accuracy", "kind": "binary", "role": "primary", "replicates": 6, "collapse": "any_of_k", "k": 3,
    },
    "tests.0": {"id": "t", "test": "t-test", "version": 1, "parameters": {"method": "paired"}},
}  # fmt: skip
EVERY_RUN = {
    "endpoints.0": {
        "id": "accuracy", "kind": "binary", "role": "primary", "replicates": 6, "collapse": "all_of_k", "k": 6,
    }
}  # fmt: skip
N = 60


def arms(seed=1):
    rng = np.random.default_rng(seed)
    chance = rng.random((N, 1))
    return tuple((rng.random((N, 6)) < each * chance).astype(float) for each in (0.6, 1.0))


def test_a_plan_demands_every_run_and_judgement():
    (first, _) = expected_cells(plan(JUDGED))
    assert (first.replicates, plan(JUDGED).endpoints[0].runs) == (6, 3)
    assert not [each for each in findings(JUDGED) if each.severity == "error"]
    incomplete = [each.copy() for each in arms()]
    incomplete[0][3, 5] = np.nan
    found = verdict_of({**JUDGED, "missing": "fail"}, outcomes(*map(cell, incomplete))).hypotheses[0]
    assert found.outcome == "invalid"


def test_runs_reach_the_test_with_their_judgements():
    before, after = arms()
    found = verdict_of(JUDGED, outcomes(cell(before), cell(after))).hypotheses[0]
    test = registry.find("repeated")
    nested = {
        name: rows.reshape(N, 3, 2).tolist() for name, rows in (("baseline", before), ("candidate", after))
    }
    expected = test.compute(test.request.model_validate(nested))
    analysis = found.analyses["r"]["analysis"]
    assert analysis["p_value"] == pytest.approx(expected.p_value)
    assert analysis["components"]["judge"]["variance"] == pytest.approx(expected.components.judge.variance)
    assert (analysis["n_runs"], analysis["n_judgements"]) == (2 * N * 3, 2 * N * 6)
    assert found.delta == pytest.approx(expected.delta)


def test_items_without_every_run_leave_both_arms():
    before, after = arms()
    before[7, 2] = np.nan
    found = verdict_of(JUDGED, outcomes(cell(before), cell(after))).hypotheses[0]
    assert (found.n, found.analyses["r"]["analysis"]["n"]) == (N - 1, N - 1)


def test_pass_at_k_is_the_share_of_picks_with_a_right_attempt():
    before, after = arms(2)
    endpoint = plan(ATTEMPTS).endpoints[0]
    literal = [np.mean([max(row[list(each)]) for each in combinations(range(6), 3)]) for row in after]
    assert collapse(after, endpoint) == pytest.approx(literal)
    found = verdict_of(ATTEMPTS, outcomes(cell(before), cell(after))).hypotheses[0]

    def total(rows):
        return sum(1 - Fraction(math.comb(6 - int(right), 3), math.comb(6, 3)) for right in rows.sum(axis=1))

    assert Fraction(found.delta_exact) == (total(after) - total(before)) / N
    assert found.analyses["t"]["analysis"]["delta"] == pytest.approx(found.delta)


def test_pass_hat_k_is_the_share_of_picks_that_are_all_right():
    before, after = arms(3)
    changes = {**ATTEMPTS, "endpoints.0": {**ATTEMPTS["endpoints.0"], "collapse": "all_of_k", "k": 2}}
    literal = [np.mean([min(row[list(each)]) for each in combinations(range(6), 2)]) for row in after]
    assert collapse(after, plan(changes).endpoints[0]) == pytest.approx(literal)
    found = verdict_of(changes, outcomes(cell(before), cell(after))).hypotheses[0]

    def total(rows):
        return sum(Fraction(math.comb(int(right), 2), math.comb(6, 2)) for right in rows.sum(axis=1))

    assert Fraction(found.delta_exact) == (total(after) - total(before)) / N
    assert found.analyses["t"]["analysis"]["delta"] == pytest.approx(found.delta)


def test_all_of_all_runs_is_right_or_wrong():
    before, after = arms(4)
    assert not [each for each in findings(EVERY_RUN) if each.severity == "error"]
    found = verdict_of(EVERY_RUN, outcomes(cell(before), cell(after))).hypotheses[0]
    right = [rows.all(axis=1) for rows in (before, after)]
    analysis = found.analyses["m"]["analysis"]
    assert analysis["counts"]["only_candidate"] == np.count_nonzero(~right[0] & right[1])
    assert Fraction(found.delta_exact) == Fraction(int(right[1].sum()) - int(right[0].sum()), N)
    assert power_at_reference(plan(EVERY_RUN), {}, resolve(plan(EVERY_RUN)).settings[0]).reference.power > 0


@pytest.mark.parametrize(
    ("base", "changes", "code", "path"),
    [
        (JUDGED, {"endpoints.0.judgements": 4}, "REPLICATES", "endpoints[0].judgements"),
        (JUDGED, {"endpoints.0.collapse": "majority"}, "REPLICATES", "hypotheses[0].rule"),
        (
            JUDGED,
            {"endpoints.0.replicates": 1, "endpoints.0.judgements": None},
            "REPLICATES",
            "hypotheses[0].rule",
        ),
        (ATTEMPTS, {"endpoints.0.k": 7}, "COLLAPSE", "endpoints[0].k"),
        (ATTEMPTS, {"endpoints.0.k": None}, "COLLAPSE", "endpoints[0].k"),
        (ATTEMPTS, {"endpoints.0.judgements": 2}, "COLLAPSE", "endpoints[0].k"),
        (ATTEMPTS, {"endpoints.0.collapse": None}, "COLLAPSE", "endpoints[0].k"),
        (EVERY_RUN, {"endpoints.0.k": 7}, "COLLAPSE", "endpoints[0].k"),
        (EVERY_RUN, {"endpoints.0.k": 5}, "REPLICATES", "hypotheses[0].rule"),
    ],
)
def test_lint_of_repeats(base, changes, code, path):
    assert (code, path) in codes({**base, **changes})


def test_power_of_judged_scores_is_that_of_their_means():
    scores = {
        **JUDGED, "endpoints.0.kind": "continuous", "sesoi": {"accuracy": {"value": 0.1, "unit": "score"}},
        "populations.0.n": 60, "hypotheses.0.rule": "r.p_value < 0.05 and r.ci.low > 0",
    }  # fmt: skip
    paired = {
        **scores,
        "tests.0": {"id": "r", "test": "t-test", "version": 1, "parameters": {"method": "paired"}},
    }
    powers = [
        power_at_reference(plan(each), {}, resolve(plan(each)).settings[0]).reference.power
        for each in (scores, paired)
    ]
    assert powers[0] == powers[1]
    assert (
        "mean of replicates"
        in power_at_reference(plan(ATTEMPTS), {}, resolve(plan(ATTEMPTS)).settings[0]).reason
    )


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize(
    "changes", [JUDGED, ATTEMPTS, EVERY_RUN, {"endpoints.0.positive": True, "tests.0.endpoint": "accuracy"}]
)
def test_markdown_gives_the_same_plan_back(changes, language):
    changed = plan(changes)
    assert parse_plan(print_plan(changed, language))[0] == changed
