"""The forest plot of the terminal: what stands where, in box characters and in ASCII."""

from __future__ import annotations

import io

import pytest

from forelock.pictures import Row, boxes_fit, forest, of_verdict

ROW = Row("H1a mcnemar", 0.014, -0.018, 0.047)
VERDICT = {
    "hypotheses": [
        {
            "id": "H1",
            "endpoint": "accuracy",
            "analyses": {
                "a": {"analysis": {"delta": 0.02, "ci": {"low": 0.01, "high": None}}},
                "b": {"analysis": None, "reason": "no item"},
                "c": {"analysis": {"p_value": 0.2}},
            },
        }
    ]
}
PLAN = {
    "endpoints": [{"id": "accuracy", "kind": "binary"}],
    "sesoi": {"accuracy": {"value": 2, "unit": "pp"}},
}


def test_by_definition_points_lie_where_their_values_are() -> None:
    line = forest([Row("a", 1.0, -1.0, 3.0)], width=80).splitlines()[0]
    low, point, high = (line.index(mark) for mark in "├●┤")
    assert point - low == pytest.approx(high - point, abs=1)
    assert line.count("┼") == 1  # 0, half way between -1 and 1
    assert line.index("┼") == pytest.approx((low + point) / 2, abs=1)


def test_lines_at_zero_and_at_the_sesoi_show_on_every_row() -> None:
    drawn = forest([Row("a", 3.0, 2.5, 4.0), Row("b", 0.2, -0.5, 1.5)], sesoi=1.0, width=90)
    first, second, axis = drawn.splitlines()
    lower, upper = first.index("┊"), first.rindex("┊")
    assert lower < upper
    assert axis[first.index("│")] == "0"
    assert "±1 SESOI" in axis
    assert second[lower] == "┊"
    assert second[upper] == second[first.index("│")] == "┼"


def test_numbers_are_points_for_binary_endpoints() -> None:
    assert forest([ROW], points=True).splitlines()[0].endswith("+1.40 [-1.80, +4.70] pp")
    assert forest([ROW]).splitlines()[0].endswith("+0.014 [-0.018, +0.047]")


def test_open_ends_run_to_the_edge() -> None:
    line = forest([Row("a", 0.0, None, 1.0), Row("b", 0.0, -1.0, None)]).splitlines()
    assert "◄" in line[0]
    assert "►" in line[1]
    assert line[1].endswith("∞]")


def test_ascii_is_ascii() -> None:
    drawn = forest([Row("假设", 0.5, None, 1.0), ROW], sesoi=0.2, ascii=True)
    assert drawn.isascii()
    assert "o" in drawn


@pytest.mark.parametrize("width", [0, 60, 80, 200])
def test_it_fits_the_terminal(width: int) -> None:
    rows = [Row("一" * 40, 0.1, -0.2, 0.3), Row("x" * 80, 1.0, 0.5, 2.0)]
    assert max(map(len, forest(rows, sesoi=0.1, width=width).splitlines())) <= max(width, 90)


def test_nothing_of_others_moves_the_cursor_and_nothing_infinite_is_drawn() -> None:
    assert "\x1b" not in forest([Row("\x1b[2J\u202e", 0.1, 0.0, 0.2)])
    assert forest([Row("a", float("nan"), 0.0, 1.0)]) == ""
    assert forest([]) == ""
    assert forest([Row("a", 0.0, 0.0, 0.0)])


def test_a_verdict_is_drawn_from_its_own_numbers() -> None:
    drawn = of_verdict(VERDICT, PLAN)
    assert "H1 a" in drawn
    assert "+2.00 [+1.00, ∞] pp" in drawn
    assert "SESOI" in drawn
    assert len(drawn.splitlines()) == 2
    assert of_verdict({"hypotheses": []}) == ""


def test_a_stream_tells_whether_it_has_boxes() -> None:
    assert boxes_fit(io.TextIOWrapper(io.BytesIO(), "utf-8"))
    assert not boxes_fit(io.TextIOWrapper(io.BytesIO(), "ascii"))


def test_an_interval_says_its_level_beside_others_of_another() -> None:
    rows = [Row("a", 0.0, -0.01, 0.01, 0.95), Row("b", 0.0, -0.01, 0.01, 0.9), Row("c", 0.0, -0.01, 0.01)]
    assert [line.rpartition("]")[2] for line in forest(rows).splitlines()[:3]] == [", 95%", ", 90%", ""]
    assert "95%" not in forest(rows[:1])
