"""A judge's errors, corrected by the items that people labelled."""

from __future__ import annotations

import numpy as np
import pytest

from service.domain.verdicts.judge_noise import judge_noise
from service.domain.verdicts.outcomes import Outcomes
from tests.domain import sample

ENDPOINTS = [
    {"id": "accuracy", "kind": "binary", "role": "primary", "judge": {"model": "a model"}},
    {"id": "accuracy.audit", "kind": "binary", "role": "secondary"},
]


def plan_of(n, endpoints=ENDPOINTS, **changes):
    return sample.plan({"populations.0.n": n, "endpoints": endpoints, **changes})


def results(judged, labelled):
    return Outcomes(
        {
            ("one", arm, endpoint): sample.cell(values)
            for endpoint, arms in (("accuracy", judged), ("accuracy.audit", labelled))
            for arm, values in zip(("C1", "C2"), arms, strict=True)
        }
    )


def correct(judged, labelled, **changes):
    plan = plan_of(len(judged[0]), **changes)
    manifest = sample.manifests(plan)["one"]
    return judge_noise(plan, plan.hypotheses[0], manifest, results(judged, labelled))


def world(rng, n, audited, rates=(0.5, 0.6), sensitivity=0.85, specificity=0.8, clusters=None):
    """Judged and labelled arms of n items, of which the first `audited` are labelled; item effects are shared."""
    shared = rng.random(n) if clusters is None else np.repeat(rng.random(clusters), n // clusters)
    own = rng.random((2, n))
    uniform = np.where(rng.random(n) < 0.5, shared, own)
    truth = (uniform < np.array(rates)[:, None]).astype(float)
    called = np.where(truth == 1, rng.random((2, n)) < sensitivity, rng.random((2, n)) > specificity).astype(
        float
    )
    labels = truth.copy()
    labels[:, audited:] = np.nan
    return called, labels


def test_the_corrected_rate_is_rogan_and_gladens():
    """100 items, 60 called right; of 20 right ones the judge finds 18, of 20 wrong ones 16: (.6 + .8 - 1) / .7."""
    called = np.zeros(100)
    called[:18] = 1
    called[36:40] = 1  # judge says right, people wrong: 4 of items 20 to 39
    called[40:78] = 1
    labels = np.full(100, np.nan)
    labels[:20], labels[20:40] = 1, 0
    found = correct((called, called), (labels, labels))
    arm = found.arms[0]
    assert (arm.audited, arm.positives, arm.sensitivity, arm.specificity, arm.rate) == (40, 20, 0.9, 0.8, 0.6)
    assert arm.corrected_rate == pytest.approx(0.4 / 0.7)
    assert (found.delta, found.corrected_delta) == (0, 0)
    assert found.advice is None


def test_an_error_alike_in_both_arms_is_undone_on_average():
    rng = np.random.default_rng(7)
    found = [correct(*world(rng, 2000, 1000)) for _ in range(40)]
    assert np.mean([each.delta for each in found]) == pytest.approx(0.65 * 0.1, abs=0.006)
    assert np.mean([each.corrected_delta for each in found]) == pytest.approx(0.1, abs=0.012)


@pytest.mark.slow
@pytest.mark.parametrize(("audited", "clusters"), [(300, 60), (80, None), (300, None)])
def test_the_interval_covers_as_often_as_it_says(audited, clusters):
    """95 % less what the approximation may lose; 600 runs have a standard error of .9 points."""
    rng = np.random.default_rng(audited)
    changes = {}
    if clusters is not None:
        changes = {
            "populations.0.clusters": {"key": "c", "n": clusters},
            "populations.0.independence": None,
        }
    inside = 0
    runs = 600
    for _ in range(runs):
        called, labels = world(rng, 600, audited, clusters=clusters)
        if clusters is not None:  # the sample's manifest deals items to clusters in turn
            deal = np.argsort(
                np.arange(600) // (600 // clusters) + np.arange(600) % (600 // clusters) * clusters
            )
            called, labels = called[:, deal], labels[:, deal]
        found = correct((called[0], called[1]), (labels[0], labels[1]), **changes)
        inside += found.ci.low <= 0.1 <= found.ci.high
    assert 0.925 <= inside / runs <= 0.985


def test_a_perfect_judge_keeps_the_difference_and_still_has_doubt():
    rng = np.random.default_rng(3)
    called, labels = world(rng, 400, 60, sensitivity=1.0, specificity=1.0)
    found = correct(called, labels)
    assert found.corrected_delta == pytest.approx(found.delta)
    difference = called[1] - called[0]
    naive = 1.96 * difference.std() / np.sqrt(400)
    assert found.ci.high - found.corrected_delta > naive


def test_few_labels_or_a_judge_like_a_coin_correct_nothing():
    rng = np.random.default_rng(4)
    few = correct(*world(rng, 200, 15))
    assert few.corrected_delta is few.ci is few.arms[0].corrected_rate is None
    assert "needs 10 of each" in few.reason
    assert few.delta is not None
    coin = correct(*world(rng, 400, 200, sensitivity=0.5, specificity=0.5))
    assert coin.corrected_delta is None
    assert "from a coin" in coin.reason


def test_items_without_a_result_of_the_judge_are_no_part_of_it():
    rng = np.random.default_rng(5)
    called, labels = world(rng, 300, 100)
    called[0, :10] = np.nan
    found = correct(called, labels)
    assert found.arms[0].audited == found.arms[1].audited == 90
    again = correct(called[:, 10:], labels[:, 10:])
    assert again.corrected_delta == found.corrected_delta


def test_a_judge_without_an_audit_is_advice_in_the_verdict_and_no_finding_of_lint():
    plan = plan_of(10, ENDPOINTS[:1])
    found = judge_noise(plan, plan.hypotheses[0], sample.manifest(10), sample.outcomes([0] * 10, [1] * 10))
    assert found.audit is None
    assert found.advice.startswith("JUDGE_NOT_AUDITED")
    assert sample.codes({"endpoints": ENDPOINTS[:1]}) == []
    nobody = sample.plan({"populations.0.n": 10})
    args = (sample.manifest(10), sample.outcomes([0] * 10, [1] * 10))
    assert judge_noise(nobody, nobody.hypotheses[0], *args) is None
    verdict = sample.verdict_of({"endpoints": ENDPOINTS[:1]}, sample.outcomes([0] * 10, [1] * 10))
    assert verdict.hypotheses[0].judge == found


@pytest.mark.parametrize(
    ("changes", "refused"),
    [
        ({}, False),
        ({"endpoints.1.role": "primary", "sesoi.accuracy.audit": None}, True),
        ({"endpoints.1.kind": "continuous"}, True),
        ({"endpoints.1.replicates": 2}, True),
        ({"endpoints.0.replicates": 2}, True),
    ],
)
def test_lint_wants_labels_that_go_with_what_they_audit(changes, refused):
    changes = {name: value for name, value in changes.items() if value is not None}
    codes = sample.codes({"endpoints": ENDPOINTS, **changes})
    assert (("AUDIT", "endpoints[1]") in codes) is refused


def test_two_items_are_compared_and_one_is_not():
    called = (np.array([1.0, 0.0]), np.array([1.0, 1.0]))
    assert correct(called, called).delta == 0.5
    alone = correct((called[0], np.array([1.0, np.nan])), called)
    assert (alone.delta, alone.reason) == (None, "fewer than two items have a result in both arms")


@pytest.mark.parametrize(("agreeing", "told"), [(14, True), (12, False)])
def test_a_judge_two_standard_errors_from_a_coin_is_corrected(agreeing, told):
    """Of 20 right and 20 wrong labels so many: 2.8 and 1.3 standard errors of smoothed shares from J = 0."""
    called, labels = np.zeros(60), np.full(60, np.nan)
    labels[:20], labels[20:40] = 1, 0
    called[:agreeing] = 1
    called[20 + agreeing : 40] = 1
    arm = correct((called, called), (labels, labels)).arms[0]
    smooth = (agreeing + 1) / 22
    error = np.sqrt(2 * smooth * (1 - smooth) / 22)
    assert (2 * agreeing / 20 - 1 > 2 * error) == told
    assert (arm.corrected_rate is not None) is told
