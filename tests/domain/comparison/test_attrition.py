"""Results that are missing: absent, empty and null are one thing, and no claim stands by what is missing alone."""

from __future__ import annotations

import copy

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from forelock.questions.forms.form import as_text
from forelock.questions.forms.gate_form import exit_code, form_of
from service.errors import InvalidData
from tests.domain.comparison.claims import compared
from tests.domain.comparison.worlds import ARMS, body
from tests.drawing import draws

POINTS = {"value": 2, "unit": "pp"}
COLUMNS = ("item_ids", "values", "replicates", "slices", "clusters")


def without_empty_rows(request):
    """The same rows, those without a value absent."""
    request = copy.deepcopy(request)
    for arm in ARMS:
        kept = [row for row, value in enumerate(request[arm]["values"]) if value is not None]
        for name in COLUMNS:
            if request[arm].get(name) is not None:
                request[arm][name] = [request[arm][name][row] for row in kept]
    return request


def lossy(lost_of=60, arm="candidate", n=240, **more):
    """The candidate gains six of n items; of some items that the baseline has right an arm has no result."""
    rng = np.random.default_rng(5)
    before = (rng.random(n) < 0.7).astype(float).tolist()
    after = list(before)
    before[:6], after[:6] = [0.0] * 6, [1.0] * 6
    rows = {"baseline": before, "candidate": after}
    places = [row for row in range(6, n) if before[row] == 1.0]
    for row in places[:lost_of]:
        rows[arm][row] = None
    return body(before, after, margin=POINTS, **more)


@settings(deadline=None, max_examples=draws(40))
@given(
    st.lists(
        st.tuples(*[st.sampled_from([0.0, 1.0, None])] * 4, st.sampled_from("ab")), min_size=4, max_size=12
    ),
    st.sampled_from(["exclude_pair", "fail"]),
    st.booleans(),
)
def test_absent_and_empty_are_one_thing(rows, policy, runs):
    """Of single runs, and of two runs of every item, both of which some item has. Of no row nothing is known."""
    rows = [(1.0, 1.0, 0.0, 1.0, "a"), *(row for row in rows if row[0] is not None)]
    if runs:
        request = {
            arm: {
                "item_ids": [f"item-{row}" for row in range(len(rows)) for _ in (1, 2)],
                "values": [value for row in rows for value in row[at : at + 2]],
                "replicates": [1, 2] * len(rows),
                "slices": [row[4] for row in rows for _ in (1, 2)],
            }
            for at, arm in ((0, "baseline"), (2, "candidate"))
        }
    else:
        request = body([row[0] for row in rows], [row[1] for row in rows], None, [row[4] for row in rows])
    request |= {"missing": policy}
    empty, absent = compared(request), compared(without_empty_rows(request))
    for name in ("outcome", "delta", "ci", "n", "tests", "slices"):
        assert getattr(empty, name) == getattr(absent, name)
    assert sorted(each.message for each in empty.warnings) == sorted(each.message for each in absent.warnings)


def test_absent_rows_fail_as_empty_ones_do():
    """41 of 240 items absent from the baseline: left out by `fail` before, 0 where they were written as NA."""
    request = lossy(41, "baseline", missing="fail")
    empty, absent = compared(request), compared(without_empty_rows(request))
    assert absent.delta == empty.delta == pytest.approx(47 / 240)
    assert (absent.n, absent.unpaired.counted) == (240, "as_0")
    assert "counted 0   41 only in the candidate" in as_text(form_of(absent.model_dump(mode="json")))
    (warning,) = [each for each in absent.warnings if each.code == "MISSING_RESULTS"]
    assert warning.message.startswith("41 of 240 items without a result (41 in the baseline) count as 0")
    assert f"the difference would be {100 * 6 / 240:+.2f} pp" in warning.message


def test_a_candidate_is_not_better_for_what_the_baseline_lacks():
    """A baseline that broke off after five sixths was all wrong where it had not run, and the candidate shipped."""
    request = lossy(41, "baseline", missing="fail")
    for row in [row for row in range(239, 120, -1) if request["baseline"]["values"][row] == 1.0][:20]:
        request["candidate"]["values"][row] = 0.0  # a loss, where both have run
    for asked in (request, without_empty_rows(request)):
        answer = compared(asked)
        assert answer.ci.low > 0
        assert answer.outcome == "cannot_tell"
        assert "does not carry as much" in answer.sentence
        assert "Ship it" not in answer.next
    # a twentieth is too little to ask for it, and a loss by what the candidate lacks is the policy's own
    assert compared(lossy(12, "baseline", missing="fail")).outcome == "better"
    # six more, whatever is missing
    assert compared(lossy(41, "baseline", missing="fail")).outcome == "better"
    assert compared(lossy(60, missing="fail")).outcome == "worse"


def test_one_sided_loss_is_a_caution_with_its_worst_case():
    """A quarter of the items without a result of the candidate: its failures, of which pairs know nothing."""
    for request in (lossy(), without_empty_rows(lossy())):
        answer = compared(request)
        assert answer.n == 180
        assert answer.outcome == "cannot_tell"
        assert answer.ci.low > -0.02
        assert "60 of 240 items without a result (60 in the candidate)" in answer.sentence
        assert not answer.more
        assert "Run what has no result" in answer.next
        assert exit_code(answer.model_dump(mode="json")) == 12
        (warning,) = [each for each in answer.warnings if each.code == "MISSING_RESULTS"]
        assert warning.severity == "serious"
        # every missing outcome against the candidate: it wrong, and the baseline as it is
        assert f"the difference would be {100 * (6 - 60) / 240:+.2f} pp" in warning.message


def test_what_is_missing_is_filled_for_the_other_side_of_a_loss():
    rng = np.random.default_rng(2)
    before = (rng.random(200) < 0.8).astype(float).tolist()
    after = [value if row % 4 else 0.0 for row, value in enumerate(before)]
    whole = compared(body(before, after, margin=POINTS))
    assert whole.outcome == "worse"
    lost = [None if row % 10 == 1 else value for row, value in enumerate(after)]
    answer = compared(body(before, lost, margin=POINTS))
    assert answer.outcome == "worse"
    (warning,) = [each for each in answer.warnings if each.code == "MISSING_RESULTS"]
    assert warning.severity == "caution"
    assert "worst there could be for the baseline" in warning.message
    assert warning.message.endswith("still 'worse'.")
    lost = [None if before[row] == after[row] == 0.0 else value for row, value in enumerate(after)]
    assert compared(body(before, lost, margin=POINTS)).outcome in ("worse", "cannot_tell")


def test_few_missing_results_leave_the_answer_and_are_said_where_they_could_change_it():
    few = lossy(4)
    answer = compared(few)
    assert answer.outcome in ("better", "no_worse")
    changed = [each for each in answer.warnings if each.code == "MISSING_RESULTS"]
    many = compared(lossy(2, n=2000))
    assert not [each for each in many.warnings if each.code == "MISSING_RESULTS"] or changed
    rows = lossy(1)
    rows["candidate"]["values"] = [0.0 if value is None else value for value in rows["candidate"]["values"]]
    assert not [each for each in compared(rows).warnings if each.code == "MISSING_RESULTS"]


def test_a_slice_claims_nothing_by_what_it_lacks():
    request = lossy()
    slices = ["lost" if value is None or row % 3 == 0 else "kept" for row, value in
              enumerate(request["candidate"]["values"])]  # fmt: skip
    for arm in ARMS:
        request[arm]["slices"] = slices
    full = lossy(0)
    for arm in ARMS:
        full[arm]["slices"] = slices
    kept, lost = compared(request | {"margin": {"value": 8, "unit": "pp"}}).slices.results
    assert (kept.standing, lost.standing) == ("pass", "cannot_tell")
    assert lost.outcome == "cannot_tell"
    assert [each.standing for each in
            compared(full | {"margin": {"value": 8, "unit": "pp"}}).slices.results] == ["pass", "pass"]  # fmt: skip


def test_scores_are_filled_with_the_outcomes_there_are():
    before, after = [1.0, 3.0, 2.0, 5.0, 2.0] * 8, [2.0, 4.0, 2.5, None, 2.0] * 8
    (warning,) = [each for each in compared(body(before, after)).warnings if each.code == "MISSING_RESULTS"]
    # 8 of 40: the candidate's at the least outcome there is, 1, where the baseline has 5
    assert f"would be {(1 + 1 + 0.5 - 4 + 0) / 5:+.4g}" in warning.message


@pytest.mark.parametrize(
    ("better", "declared", "why"),
    [
        (-6.0, None, "better than the worst score: scores begin at -7"),
        (0.5, {"low": -1, "high": 1}, "better than the worst score: scores begin at -1"),
        (5.0, {"low": 1, "high": 5}, "no score there can be: scores begin at 1"),
    ],
)
def test_what_is_missing_counts_as_0_only_where_nothing_is_worse(better, declared, why):
    """A candidate without 8 of 20 log likelihoods was "better", by zeros above every score there was."""
    before = [-5.0, -6.0, -7.0, -5.0] * 5 if declared is None else [declared["high"] * 0.5 + 0.5] * 20
    request = body(before, [better] * 12 + [None] * 8, **({} if declared is None else {"range": declared}))
    with pytest.raises(InvalidData, match=why):
        compared(request | {"missing": "fail"})
    left_out = compared(request | {"missing": "exclude_pair"})
    assert "--missing fail" not in left_out.next
    complete = body(before, [better] * 20, **({} if declared is None else {"range": declared}))
    assert compared(complete | {"missing": "fail"}).n == 20


def test_scores_too_far_apart_are_called_so():
    """Said "is not above low" of a range that was taken from the scores."""
    with pytest.raises(InvalidData, match=r"is more than 1e\+150 above low"):
        compared(body([-9e149, 0.0, 9e149], [0.0, 9e149, -9e149]))


def lost_in_both(lost_of, n=240, **more):
    """The arms agree but for six items that the candidate gains; of the last items neither has a result."""
    before = [0.0] * 6 + [1.0] * (n - 6)
    after = [1.0] * n
    for row in range(n - lost_of, n):
        before[row] = after[row] = None
    return body(before, after, margin=POINTS, **more)


@pytest.mark.parametrize("policy", ["exclude_pair", "fail"])
def test_what_both_arms_lack_is_no_agreement(policy):
    """Under `fail` it counted as 0 and 0, and 60 of 240 items that nobody had run made "no worse" certain."""
    answer = compared(lost_in_both(60, missing=policy))
    assert (answer.n, answer.delta) == (180, pytest.approx(6 / 180))
    assert (answer.unpaired.neither, answer.unpaired.missing) == (60, 0)
    assert answer.outcome == "cannot_tell"
    assert "60 of 240 items without a result (60 in both arms)" in answer.sentence
    assert "--missing fail" not in answer.next
    (warning,) = [each for each in answer.warnings if each.code == "MISSING_RESULTS"]
    assert "(60 in both arms) are left out" in warning.message
    assert f"the difference would be {100 * (6 - 60) / 240:+.2f} pp" in warning.message
    assert "left out    60 without a result in both arms" in as_text(form_of(answer.model_dump(mode="json")))


@pytest.mark.parametrize("policy", ["exclude_pair", "fail"])
def test_few_items_that_both_arms_lack_are_left_out(policy):
    whole, few = compared(lost_in_both(0, n=1000)), compared(lost_in_both(20, n=1020, missing=policy))
    assert few.outcome == whole.outcome
    assert (few.n, few.ci) == (whole.n, whole.ci)


def test_what_one_arm_lacks_counts_beside_what_both_lack():
    request = lost_in_both(4, missing="fail")
    for row in range(100, 130):
        request["baseline"]["values"][row] = None
    answer = compared(request)
    assert (answer.n, answer.delta) == (236, pytest.approx(36 / 236))
    assert (answer.unpaired.missing, answer.unpaired.neither) == (30, 4)
    (warning,) = [each for each in answer.warnings if each.code == "MISSING_RESULTS"]
    assert "(30 in the baseline, 4 in both arms) count as 0 there; those without one in both arms are" in (
        warning.message
    )


def test_a_way_out_fits_the_items_that_lack_a_result():
    """A score below 0, of an item that is not paired, makes 0 no failure."""
    before, after = [1.0, 2.0, 3.0, 2.0, 1.0] * 8, [1.0, 2.0, 3.0, 2.0, 1.0] * 8
    after[:10] = [None] * 10
    margin = {"value": 0.4, "unit": "score"}
    answer = compared(body(before, after, margin=margin))
    assert "outcome" in answer.reasons
    assert "--missing fail counts what is missing as 0" in answer.next
    before[0] = -4.0
    answer = compared(body(before, after, margin=margin))
    assert "outcome" in answer.reasons
    assert "--missing fail" not in answer.next
