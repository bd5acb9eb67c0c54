"""The leaderboard over a suite: against the test of two arms, the definition, and the board without tasks."""

from __future__ import annotations

import numpy as np
import pytest

from service.errors import InvalidData
from tests.stats import oracle
from tests.stats.boards import NAME, contradictions

TASKS = [*["large"] * 40, *["middle"] * 20, *["small"] * 12]


def analyse(name, **body):
    return oracle.analyse(name, body)


def arms(k=3, seed=1, gaps=0.0):
    rng = np.random.default_rng(seed)
    shared = rng.random(len(TASKS)) < 0.5
    columns = {}
    for arm in range(k):
        own = rng.random(len(TASKS)) < 0.4 + 0.1 * arm
        right = np.where(rng.random(len(TASKS)) < 0.5, shared, own).astype(float)
        columns[f"arm {arm}"] = [None if rng.random() < gaps else x for x in right.tolist()]
    return columns


def pair_of(board, first, second):
    (pair,) = [each for each in board.pairs if {each.first, each.second} == {first, second}]
    return pair, 1 if pair.first == second else -1


def clusters(nested):
    return [f"{task if nested else ''} {place % 7}" for place, task in enumerate(TASKS)]


@pytest.mark.parametrize("weights", ["equal", "items", {"large": 1, "middle": 2, "small": 5}])
def test_a_pair_has_the_difference_and_the_error_that_the_suite_of_two_arms_has(weights):
    columns = arms()
    board = analyse(NAME, arms=columns, tasks=TASKS, weights=weights)
    for first, second in (("arm 0", "arm 1"), ("arm 0", "arm 2"), ("arm 1", "arm 2")):
        two = analyse(
            "suite", baseline=columns[first], candidate=columns[second], tasks=TASKS, weights=weights
        )
        pair, sign = pair_of(board, first, second)
        assert pair.difference == pytest.approx(sign * two.estimate, abs=1e-12)
        assert pair.difference / pair.t == pytest.approx(two.se, rel=1e-9)


def test_with_gaps_a_pair_is_compared_task_by_task_on_the_items_that_both_have():
    columns = arms(gaps=0.3)
    board = analyse(NAME, arms=columns, tasks=TASKS)
    both = [at for at in range(len(TASKS)) if None not in (columns["arm 0"][at], columns["arm 2"][at])]
    two = analyse(
        "suite",
        baseline=[columns["arm 0"][at] for at in both],
        candidate=[columns["arm 2"][at] for at in both],
        tasks=[TASKS[at] for at in both],
    )
    pair, sign = pair_of(board, "arm 0", "arm 2")
    assert pair.difference == pytest.approx(sign * two.estimate, abs=1e-12)
    assert pair.difference / pair.t == pytest.approx(two.se, rel=1e-9)
    assert board.missing is not None
    assert list(contradictions(board)) == []


def test_in_nested_clusters_of_one_size_the_error_is_that_of_the_suite_too():
    columns = {name: column[:60] for name, column in arms().items()}
    tasks = [*["one"] * 30, *["two"] * 30]
    labels = [f"{task} {place % 6}" for place, task in enumerate(tasks)]
    board = analyse(NAME, arms=columns, tasks=tasks, clusters=labels)
    two = analyse(
        "suite", baseline=columns["arm 0"], candidate=columns["arm 1"], tasks=tasks, clusters=labels
    )
    pair, _ = pair_of(board, "arm 0", "arm 1")
    assert abs(pair.difference / pair.t) == pytest.approx(two.se, rel=1e-9)


@pytest.mark.parametrize("grouped", [None, clusters(nested=False)])
@pytest.mark.parametrize("gaps", [0.0, 0.2])
def test_one_task_is_the_board_without_tasks(grouped, gaps):
    columns, more = arms(gaps=gaps), {} if grouped is None else {"clusters": grouped}
    plain = analyse(NAME, arms=columns, **more)
    board = analyse(NAME, arms=columns, tasks=["all"] * len(TASKS), **more)
    for one, other in zip(plain.pairs, board.pairs, strict=True):
        assert (one.first, one.second) == (other.first, other.second)
        assert other.difference == pytest.approx(one.difference, abs=1e-12)
        assert other.t == pytest.approx(one.t, rel=1e-9)
    assert [arm.name for arm in plain.arms] == [arm.name for arm in board.arms]
    assert board.suite.tasks[0].n == len(TASKS)
    assert plain.suite is None
    assert "suite" in plain.reasons


def test_order_and_means_are_the_suites_and_not_the_items():
    rows = [*[(1.0, 0.0)] * 4, *[(0.0, 1.0)] * 2, *[(1.0, 1.0), (0.0, 0.0)] * 30]
    tasks = [*["large"] * 4, *["small"] * 2, *["large", "large"] * 28, *["small", "small"] * 2]
    board = analyse(NAME, arms={"a": [r[0] for r in rows], "b": [r[1] for r in rows]}, tasks=tasks)
    assert board.arms[0].name == "b"
    assert board.arms[0].mean == pytest.approx((28 / 60 + 4 / 6) / 2)
    assert board.winner.mean == board.arms[0].mean
    assert board.suite.tasks[1].means == pytest.approx((4 / 6, 2 / 6))


def test_lower_is_better_turns_the_suite_round():
    columns = arms()
    up = analyse(NAME, arms=columns, tasks=TASKS)
    down = analyse(NAME, arms=columns, tasks=TASKS, better="lower")
    assert [arm.name for arm in down.arms] == [arm.name for arm in up.arms][::-1]
    assert down.arms[0].mean == pytest.approx(up.arms[-1].mean)
    assert down.winner.bound >= down.winner.mean


def test_scales_of_tasks_are_undone_before_they_are_weighed():
    columns = arms()
    stretched = {
        name: [x * (10.0 if task == "small" else 1.0) for x, task in zip(column, TASKS, strict=True)]
        for name, column in columns.items()
    }
    plain = analyse(NAME, arms=columns, tasks=TASKS)
    board = analyse(NAME, arms=stretched, tasks=TASKS, rescale={"small": {"floor": 0, "ceiling": 10}})
    for one, other in zip(plain.pairs, board.pairs, strict=True):
        assert other.difference == pytest.approx(one.difference, abs=1e-12)


def test_a_pair_without_two_items_of_a_task_in_common_is_not_compared():
    columns = arms(gaps=0.0)
    small = [at for at, task in enumerate(TASKS) if task == "small"]
    columns["arm 0"] = [None if at in small[:6] else x for at, x in enumerate(columns["arm 0"])]
    columns["arm 1"] = [
        None if at in small[5:] and at != small[5] else x for at, x in enumerate(columns["arm 1"])
    ]
    board = analyse(NAME, arms=columns, tasks=TASKS)
    pair, _ = pair_of(board, "arm 0", "arm 1")
    assert (pair.p_value, pair.apart) == (None, False)
    assert any("some task" in reason for reason in board.reasons.values())


@pytest.mark.parametrize(
    ("more", "path"),
    [
        ({"weights": {"large": 1}, "tasks": TASKS}, "weights"),
        ({"weights": {"large": 1, "middle": 1, "small": 1, "none": 1}, "tasks": TASKS}, "weights.none"),
        ({"weights": "items"}, "weights"),
        ({"rescale": {"large": {"floor": 0, "ceiling": 1}}}, "rescale"),
        ({"tasks": TASKS[:-1]}, "tasks"),
    ],
)
def test_what_makes_no_suite_is_refused_with_its_field(more, path):
    with pytest.raises(InvalidData) as refused:
        analyse(NAME, arms=arms(), **more)
    assert any(fault.path.endswith(path) for fault in refused.value.faults)


def test_an_arm_that_lacks_a_task_is_refused_by_name():
    columns = arms()
    columns["arm 1"] = [
        None if task == "small" else x for x, task in zip(columns["arm 1"], TASKS, strict=True)
    ]
    with pytest.raises(InvalidData, match="no outcome in task 'small'"):
        analyse(NAME, arms=columns, tasks=TASKS)
