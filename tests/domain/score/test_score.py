"""A score without a plan tells what its interval carries, with runs, clusters, slices and missing results."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from service.domain.score.request import ScoreRequest
from service.domain.score.score import score
from service.errors import InvalidData


def ask(values, **more):
    body = {"item_ids": [f"item-{row}" for row in range(len(values))], "values": list(values), **more}
    return score(ScoreRequest.model_validate(body))


def ones(right, wrong):
    return [1] * right + [0] * wrong


@pytest.mark.parametrize(
    ("values", "threshold", "outcome", "begins"),
    [
        (
            ones(45, 5),
            0.75,
            "meets",
            "Meets 75.0%: the system has 90.0% (95% interval 78.2% to 96.7%; 50 items)",
        ),
        (ones(20, 30), 0.75, "falls_short", "Falls short of 75.0%: the system has 40.0%"),
        (ones(40, 10), 0.75, "cannot_tell", "Cannot tell whether it is at least 75.0%: the system has 80.0%"),
        (
            ones(45, 5),
            None,
            "estimate",
            "Score: the system has 90.0% (95% interval 78.2% to 96.7%; 50 items).",
        ),
    ],
)
def test_what_is_told_is_what_the_interval_carries(values, threshold, outcome, begins):
    found = ask(values, threshold=threshold)
    assert (found.outcome, found.sentence[: len(begins)]) == (outcome, begins)
    assert ("more items would show" in found.sentence) == (outcome == "cannot_tell")


def test_lower_is_better_turns_the_sides():
    found = ask(ones(2, 98), threshold=0.1, prefers="lower")
    assert found.outcome == "meets"
    assert found.sentence.startswith("Keeps to at most 10.0%")


def test_runs_of_an_item_are_averaged_and_have_an_error_of_their_own():
    rng = np.random.default_rng(8)
    right = (rng.random((30, 4)) < rng.random(30)[:, None]).astype(int)
    found = score(
        ScoreRequest.model_validate(
            {
                "item_ids": [f"q{row}" for row in range(30) for _ in range(4)],
                "replicates": [1, 2, 3, 4] * 30,
                "values": right.ravel().tolist(),
            }
        )
    )
    assert (found.n, found.n_values, found.points) == (30, 120, True)
    assert found.mean == pytest.approx(right.mean())
    assert found.these_items.se == pytest.approx(np.sqrt((right.var(axis=1, ddof=1) / 4).sum()) / 30)
    assert "For these items alone" in found.sentence


def test_clusters_are_said_with_what_independent_items_would_have_given():
    values = [
        int(group % 3 > 0) if row < 8 else 1 - int(group % 3 > 0) for group in range(12) for row in range(10)
    ]
    found = ask(values, clusters=[f"c{group}" for group in range(12) for _ in range(10)])
    flat = found.clusters.independent
    assert (
        f"It is not {100 * flat.low:.1f}% to {100 * flat.high:.1f}%, as 120 independent items would give"
        in found.sentence
    )
    assert f"(design effect {found.clusters.design_effect:.1f})" in found.sentence
    alike = ask([1, 0] * 60, clusters=[f"c{row // 10}" for row in range(120)])
    assert "no more alike than chance" in alike.sentence


def test_what_no_number_of_right_items_could_show_is_said():
    found = ask([1, 1, 1], threshold=0.9)
    assert "3 items could not show it even if all were right: that takes 36" in found.sentence
    assert "36 items" in found.next or "Plan 36" in found.next


@pytest.mark.parametrize(
    ("lacking", "outcome", "code"), [(0, "meets", False), (2, "meets", True), (4, "cannot_tell", True)]
)
def test_an_answer_stands_only_where_its_worst_case_carries_it(lacking, outcome, code):
    found = ask([1] * 40 + [None] * lacking, threshold=0.88)
    assert found.outcome == outcome
    assert any(each.code == "MISSING_RESULTS" for each in found.warnings) == code
    assert ("outcome" in found.reasons) == (outcome == "cannot_tell")
    if lacking:
        n = 40 + lacking
        assert found.missing.worst.mean == pytest.approx(40 / n)
        assert found.missing.worst.ci.low == pytest.approx(stats.beta.ppf(0.025, 40, lacking + 1))


def test_falling_short_is_judged_by_the_best_case():
    assert ask(ones(8, 32) + [None] * 4, threshold=0.35).outcome == "cannot_tell"
    assert ask(ones(2, 38) + [None] * 4, threshold=0.35).outcome == "falls_short"


def test_missing_results_and_runs_count_as_the_worst_where_that_is_asked():
    found = ask([1, 1, None, 0], missing="fail")
    assert (found.n, found.mean) == (4, 0.5)
    low = ask([0, 0, None, 1], missing="fail", prefers="lower")
    assert low.mean == 0.5
    runs = score(
        ScoreRequest.model_validate(
            {"item_ids": ["a", "a", "b"], "replicates": [1, 2, 1], "values": [1, 1, 1], "missing": "fail"}
        )
    )
    assert runs.mean == 0.75
    with pytest.raises(InvalidData, match="no range says which"):
        ask([7, None], missing="fail")
    assert ask([7, 3, None], missing="fail", range={"low": 1, "high": 10}).mean == pytest.approx(11 / 3)


def test_every_slice_has_its_own_answer():
    values = ones(48, 2) + ones(30, 20) + ones(10, 40)
    names = ["easy"] * 50 + ["middle"] * 50 + ["hard"] * 50
    found = ask(values, slices=names, threshold=0.6)
    assert {each.name: each.outcome for each in found.slices.results} == {
        "easy": "meets", "hard": "falls_short", "middle": "cannot_tell",
    }  # fmt: skip
    hard = next(each for each in found.slices.results if each.name == "hard")
    assert hard.shown_short
    assert hard.p_adjusted == pytest.approx(min(1, 3 * hard.p_falls_short))
    assert found.slices.outcome == "falls_short"
    assert "'hard'" in found.next
    assert ask(values[:50], slices=names[:50], threshold=0.6).slices.outcome == "meets"
    assert ask(values, slices=names).slices.outcome is None


def test_a_slice_in_one_cluster_is_left_out():
    labels = ["c0"] * 10 + ["c1"] * 10 + ["c2"] * 10
    slices = ["alone"] * 10 + ["both"] * 20
    found = ask([1, 0] * 15, clusters=labels, slices=slices)
    assert found.slices.left_out == ("alone",)
    assert [each.name for each in found.slices.results] == ["both"]


def test_scores_without_a_range_are_told_in_their_unit():
    found = ask([3.0, 4.5, 2.0, 5.0], threshold=2.0)
    assert not found.points
    assert "has 3.625 (95% interval" in found.sentence
    assert "Student's t" in found.rule


def test_digits_tell_on_which_side_of_the_threshold_a_bound_lies():
    found = ask(ones(4000, 6000), threshold=0.4097)
    assert found.outcome == "falls_short"
    assert "40.970%" in found.sentence
    assert f"{100 * found.ci.high:.3f}%" in found.sentence


@pytest.mark.parametrize(
    ("body", "path"),
    [
        ({"values": [None]}, "values"),
        ({"values": [1, 0], "clusters": ["a", None]}, "clusters"),
        ({"values": [1, 0], "clusters": ["a", "a"]}, "clusters"),
        ({"values": [1, 0], "threshold": 95}, "threshold"),
        ({"values": [1, 0], "item_ids": ["a", "a"]}, "item_ids"),
        ({"values": [1, 9], "range": {"low": 0, "high": 5}}, "range"),
        ({"values": [1, 1e200]}, "values"),
    ],
)
def test_what_cannot_be_scored_names_the_field(body, path):
    with pytest.raises(InvalidData) as refused:
        ask(**body)
    assert refused.value.faults[0].path == path


def test_a_slice_that_lacks_much_of_its_own_stands_by_its_worst_case():
    """Of the whole a twentieth is missing, of one slice two fifths: 30 of 30, or 30 of 50 at the worst."""
    values = [1] * 350 + [1] * 30 + [None] * 20
    slices = ["easy"] * 350 + ["hard"] * 50
    result = ask(values, slices=slices, threshold=0.6)
    assert (result.outcome, result.missing.share) == ("meets", 0.05)
    assert {row.name: row.outcome for row in result.slices.results} == {
        "easy": "meets",
        "hard": "cannot_tell",
    }
    assert result.slices.outcome == "cannot_tell"
    assert "20 items are without a result" in result.reasons["slices.results.1.outcome"]
    low = ask([0 if value == 1 else value for value in values], slices=slices, threshold=0.3)
    hard = low.slices.results[1]
    assert (hard.outcome, hard.shown_short) == ("cannot_tell", False)  # 20 of 50 at the best
    few = ask([*values[:379], 1, 1, *[None] * 2], slices=slices[:383], threshold=0.6)
    assert few.slices.outcome == "meets"  # 2 of 33 are more, and 31 of 33 meet all the same
    as_worst = ask(values, slices=slices, threshold=0.6, missing="fail")
    assert as_worst.slices.results[1].mean == 0.6
    assert "slices.results.1.outcome" not in as_worst.reasons


def test_a_slice_without_any_result_is_named():
    result = ask([1] * 60 + [None] * 3, slices=["seen"] * 60 + ["unseen"] * 3, threshold=0.6)
    assert result.slices.left_out == ("unseen",)
    assert result.slices.outcome == "cannot_tell"
