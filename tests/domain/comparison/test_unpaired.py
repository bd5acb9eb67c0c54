"""Two arms on items of their own, without a plan: what is told, what it says of pairing, and when nothing can be."""

from __future__ import annotations

import numpy as np
import pytest

from service.domain.comparison.compare import compare
from service.domain.comparison.request import ComparisonRequest
from service.errors import InvalidData
from service.stats.shared.declaring import registry

POINTS = {"value": 5, "unit": "pp"}


def arm(values, prefix="a", **more):
    return {"item_ids": [f"{prefix}{row}" for row in range(len(values))], "values": values, **more}


def shares(right1, n1, right0, n0):
    return {
        "baseline": arm([1.0] * right0 + [0.0] * (n0 - right0)),
        "candidate": arm([1.0] * right1 + [0.0] * (n1 - right1), "b"),
    }


def told(body, **more):
    request = {**body, "pairing": "none", **more}
    return compare(ComparisonRequest.model_validate(request))


def test_right_or_wrong_is_decided_by_boschloo_and_the_score_interval():
    answer = told(shares(56, 70, 48, 80), margin=POINTS)
    assert answer.outcome == "better"
    assert answer.sentence.startswith("Unpaired. Better: ")
    assert "70 items against 80 others" in answer.sentence
    assert (answer.ci.low, answer.ci.high) == pytest.approx((0.0528, 0.3382), abs=1e-4)
    assert [(run.test, run.method) for run in answer.tests] == [("proportions", "boschloo")]
    assert told(shares(48, 80, 56, 70), margin=POINTS).outcome == "worse"
    assert "no longer" not in answer.next
    assert (answer.arms.n_baseline, answer.arms.n_candidate, answer.n) == (80, 70, 150)


@pytest.mark.parametrize(("n", "outcome"), [(40, "cannot_tell"), (110, "no_worse")])
def test_no_worse_needs_enough_items_for_losses_too_rare_to_have_been_seen(n, outcome):
    # nothing was lost: a loss of 5 points would have shown up in none of n items .95^n of the time
    assert told(shares(n, n, n, n), margin=POINTS).outcome == outcome


def test_no_worse_of_scores_knows_what_was_not_seen():
    small = {"baseline": arm([0.9] * 40), "candidate": arm([0.9] * 40, "b"), "range": {"low": 0, "high": 1}}
    margin = {"value": 0.05, "unit": "score"}
    assert told(small, margin=margin).outcome == "cannot_tell"
    large = {**small, "baseline": arm([0.9] * 400), "candidate": arm([0.9] * 400, "b")}
    assert told(large, margin=margin).outcome == "no_worse"


def test_what_pairing_would_have_saved_is_measured_where_ids_meet():
    rng = np.random.default_rng(2)
    hard = rng.random(300)
    body = {
        "baseline": arm((hard < 0.6).astype(float).tolist()),
        "candidate": arm((hard + 0.05 * rng.random(300) < 0.6).astype(float).tolist()),
    }
    answer = told(body)
    saves = answer.arms.pairing
    assert (saves.measured_on, saves.correlation > 0.8, saves.items_needed < 0.2) == (300, True, True)
    assert "Outcomes of the 300 items that are in both arms correlate 0.9" in answer.sentence
    apart = told({**body, "candidate": arm(body["candidate"]["values"], "b")})
    assert apart.arms.pairing.measured_on is None
    assert "these share too few to measure it" in apart.sentence


def test_clusters_widen_and_few_of_them_tell_nothing():
    rng = np.random.default_rng(4)
    before, after = ((rng.random(40) < share).repeat(10).astype(float).tolist() for share in (0.9, 0.3))

    def body(per_cluster):
        labels = [[f"{side}{row // per_cluster}" for row in range(400)] for side in "ab"]
        return {"baseline": arm(before, clusters=labels[0]), "candidate": arm(after, "b", clusters=labels[1])}

    alone = told({"baseline": arm(before), "candidate": arm(after, "b")})
    clustered = told(body(10))
    assert clustered.outcome == alone.outcome == "worse"
    assert clustered.ci.high - clustered.ci.low > 2 * (alone.ci.high - alone.ci.low)
    assert (clustered.unit, clustered.n_clusters) == ("clusters", 80)
    few = told(body(134))
    assert (few.outcome, few.ci.low) == ("cannot_tell", None)
    assert "so few clusters" in few.reasons["ci"]


def test_covariates_adjust_and_say_what_they_saved():
    rng = np.random.default_rng(5)
    known = [rng.random(150).tolist() for _ in range(2)]
    values = [
        [0.8 * x + 0.1 * float(rng.random()) + shift for x in side]
        for side, shift in zip(known, (0, 0.04), strict=True)
    ]
    body = {
        "baseline": arm(values[0], covariates={"before": known[0]}),
        "candidate": arm(values[1], "b", covariates={"before": known[1]}),
    }
    answer = told(body)
    plain = told({side: {k: v for k, v in each.items() if k != "covariates"} for side, each in body.items()})
    assert answer.outcome == "better"
    assert plain.outcome == "cannot_tell"
    assert answer.arms.items_saved > 0.9
    assert answer.arms.unadjusted == pytest.approx(plain.delta)
    assert "adjusted by 'before'" in answer.sentence
    assert "COVARIATE_KNOWN_BEFORE" in {warning.code for warning in answer.warnings}


def test_lower_is_better_turns_everything_round():
    body = {"baseline": arm([0.2, 0.3] * 40), "candidate": arm([0.6, 0.7] * 40, "b")}
    answer = told(body, prefers="lower")
    assert answer.outcome == "worse"
    assert answer.delta == pytest.approx(0.4)
    assert answer.ci.low > 0


def test_more_than_a_twentieth_without_a_result_has_to_hold_in_the_worst_case():
    body = shares(80, 100, 60, 100)
    body["candidate"]["values"][80:90] = [None] * 10  # of the wrong ones
    answer = told(body)
    assert "MISSING_RESULTS" in {warning.code for warning in answer.warnings}
    assert answer.outcome == "better"
    body["candidate"]["values"][70:80] = [None] * 10
    assert told(shares(70, 80, 60, 100)).outcome == "better"
    assert told(body).outcome == "cannot_tell"
    counted = told(body, missing="fail")
    assert (counted.arms.n_candidate, counted.candidate_mean) == (100, pytest.approx(0.7))


def test_the_worst_case_of_what_is_missing_keeps_its_clusters():
    # 20 conversations of 10 an arm, right or wrong as a whole, and four more of the candidate's without results
    def side(right, prefix, missing=0):
        values = [1.0] * (10 * right) + [0.0] * (200 - 10 * right) + [None] * (10 * missing)
        return arm(values, prefix, clusters=[f"{prefix}{row // 10}" for row in range(len(values))])

    body = {"baseline": side(6, "a"), "candidate": side(15, "b", missing=4)}
    assert told({"baseline": side(6, "a"), "candidate": side(15, "b")}).outcome == "better"
    answer = told(body)
    assert answer.outcome == "cannot_tell"  # as items alone the answer would stand
    (warning,) = [each for each in answer.warnings if each.code == "MISSING_RESULTS"]
    assert warning.severity == "serious"
    alone = {name: {k: v for k, v in each.items() if k != "clusters"} for name, each in body.items()}
    assert told(alone).outcome == "better"


@pytest.mark.parametrize(
    ("body", "more", "match"),
    [
        (shares(3, 4, 2, 5), {"unseen": "clusters"}, "unseen: clusters is of paired arms"),
        (
            {"baseline": arm([1.0], slices=["x"]), "candidate": arm([0.0], "b")},
            {},
            "compared on pairs alone",
        ),
        (
            {"baseline": arm([1.0, 0.0], clusters=["x", None]), "candidate": arm([0.0], "b")},
            {},
            "1 of 2 items have no cluster",
        ),
        (
            {"baseline": arm([1.0], covariates={"x": [1.0]}), "candidate": arm([0.0], "b")},
            {},
            "others than the baseline's",
        ),
        (
            {
                "baseline": arm([1.0], covariates={"x": [1.0]}),
                "candidate": arm([0.0], covariates={"x": [1.0]}),
            },
            {"pairing": "by_id"},
            "belong to unpaired arms",
        ),
    ],
)
def test_refusals_name_the_field(body, more, match):
    with pytest.raises(InvalidData, match=match):
        told(body, **more)


@pytest.mark.parametrize("n", [0, 1, 2])
def test_next_to_nothing_tells_nothing(n):
    body = {"baseline": arm([1.0] * n + [None]), "candidate": arm([1.0] * n + [None], "b")}
    answer = told(body, margin=POINTS)
    assert answer.outcome == "cannot_tell"
    assert answer.sentence.startswith("Unpaired. Cannot tell")


def test_the_service_has_a_test_for_each():
    assert registry.serving("unpaired_shares").name == "proportions"
    assert registry.serving("unpaired_means").name == "unpaired-difference"
