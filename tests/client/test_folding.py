from __future__ import annotations

import pytest

from forelock.folding import fold
from forelock.text import hanging
from forelock.words import width_of

CHINESE = (
    "检验未表明两组的优劣随切片反转（Gail-Simon 检验：p = 0.2741），因此不作主张；区间 -2.10 至 +2.90 个百分点包含 0，"
    "提高与损失都未被排除。请计划约 4,812 个题目并只判定一次，或锁定允许多次查看的计划。"
)


@pytest.mark.parametrize("width", [12, 30, 60, 100])
def test_chinese_lines_fit_their_columns_and_lose_nothing(width):
    lines = fold(CHINESE, width, "  ", "    ").split("\n")
    assert all(
        width_of(line) <= width or len(fold(line.strip(), 1, "", "").split("\n")) == 1 for line in lines
    )
    assert "".join(line.strip() for line in lines).replace(" ", "") == CHINESE.replace(" ", "")
    assert not any(line.strip()[0] in "，。；：、）" for line in lines)
    assert not any(line.rstrip()[-1] == "（" for line in lines)


def test_lines_of_hanging_are_full_and_no_wider_than_a_terminal():
    lines = hanging(CHINESE, "next: ").split("\n")
    assert max(width_of(line) for line in lines) <= 100
    assert all(width_of(line) > 80 for line in lines[:-1])
    assert lines[1].startswith("      ")


def test_a_word_longer_than_a_line_stays_whole():
    assert fold("中 " + "a" * 20 + " 文", 10, "", "") == "中\n" + "a" * 20 + "\n文"


def test_english_is_folded_as_it_was():
    words = "one two-three " * 12
    assert fold(words, 30, "* ", "  ").split("\n")[0] == "* one two-three one two-three"
