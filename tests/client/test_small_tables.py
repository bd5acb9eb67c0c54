"""Small tables in a terminal: no line is wider than it, and no number is torn at the end of one."""

from __future__ import annotations

import pytest

from forelock.folding import fold
from forelock.small_tables import lay_out
from forelock.words import width_of

ROWS = [
    ("Goal", "Items needed", "If the true difference is"),
    (
        "the rule holds without its clause that asks to observe +2.00 pp",
        "about 2,300",
        "+2.00 pp (the SESOI)",
    ),
    ("规则成立，但去掉“观测差异达到 +2.00 个百分点”这一条件", "约 2,300", "+2.00 个百分点（SESOI）"),
]


@pytest.mark.parametrize("width", [40, 60, 100, 200])
def test_no_line_of_a_table_is_wider_than_the_terminal_and_no_word_is_lost(width: int) -> None:
    drawn = lay_out(ROWS, width, "    ")
    lines = drawn.split("\n")
    assert max(map(width_of, lines)) <= width
    assert all(line.startswith("    ") for line in lines)
    assert sorted("".join(drawn.split())) == sorted(
        "".join("".join(cell.split()) for row in ROWS for cell in row)
    )


def test_columns_begin_at_one_place_whatever_letters_stand_before_them() -> None:
    lines = lay_out([("目标", "a"), ("goal", "b"), ("g", "c")], 80, "  ").split("\n")
    assert [width_of(line[:-1]) for line in lines] == [8, 8, 8]


@pytest.mark.parametrize(
    "whole", ["2 × 0.0392", "−0.66 pp", "-0.66 pp", "95% CI", "p = 0.03", "alpha = 0.025", "±2.00 pp"]
)
def test_no_line_ends_within_a_number(whole: str) -> None:
    for width in range(12, 40):
        lines = fold(f"some words stand here before {whole} and some behind it", width, "", "").split("\n")
        assert any(whole in line for line in lines), (width, lines)
        assert "\ue000" not in "".join(lines)
