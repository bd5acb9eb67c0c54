"""Numbers with exponents as a page says them."""

from __future__ import annotations

import pytest

from forelock.numerals import raise_powers
from service.reports.figures import mark_up_with_numbers, say_points, set_numbers


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("p = 2.4e-05", "p = 2.4 × 10⁻⁵"),
        ("p < 2.05e-07, so", "p < 2.05 × 10⁻⁷, so"),
        ("3.078e-05 (2.236e-05 unadjusted)", "3.078 × 10⁻⁵ (2.236 × 10⁻⁵ unadjusted)"),
        ("相差 -1.5e+10。", "相差 -1.5 × 10¹⁰。"),
        ("p 值8.4e-34；", "p 值8.4 × 10⁻³⁴；"),
        ("p = 0.008", "p = 0.008"),
    ],
)  # fmt: skip
def test_exponents_are_powers_of_ten_and_names_stay(text: str, said: str) -> None:
    assert raise_powers(text).replace("\u00a0", " ") == said


@pytest.mark.parametrize(
    "name", ["model-1e-05", "v1.2e-05", "lr1e-05", "3e-05x", "00e1-4e-05", "07a92777e8134a90"]
)
def test_names_and_ids_hold_no_power(name: str) -> None:
    assert raise_powers(f"of {name} alone") == f"of {name} alone"


def test_what_a_sentence_quotes_stays_as_it_is_written() -> None:
    told = str(mark_up_with_numbers("`p < 1e-05` holds: p is 2e-06 & small"))
    assert told.replace("\u00a0", " ") == "<code>p &lt; 1e-05</code> holds: p is 2 × 10⁻⁶ &amp; small"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("or above .5, so", "or above 0.5, so"),
        ("-.66 pp (95% CI -2.32 to +1.05 pp)", "−0.66~pp (95%~CI −2.32 to +1.05~pp)"),
        ("a chance of 0.06 ± 0.01 (n = 21, p < .05)", "a chance of 0.06~±~0.01 (n~=~21, p~<~0.05)"),
        ("by obrien fleming spending", "by O’Brien-Fleming spending"),
        ("相差 -5 个百分点", "相差 −5~个百分点"),
    ],
)
def test_numbers_are_set_as_people_set_them_and_stay_whole(text: str, said: str) -> None:
    assert set_numbers(text).replace("\u00a0", "~") == said


@pytest.mark.parametrize(
    "text", ["gpt-4 and v1.5-2 on 2026-11-29", "of 2-3 runs", "--margin=-2pp", "a.5 in x.csv", "[1, 2], 3.5"]
)
def test_hyphens_and_points_of_names_dates_and_ranges_stay(text: str) -> None:
    assert set_numbers(text) == text


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("95% 区间 -2.27 pp 至 +0.96 pp", "95% 区间 -2.27 个百分点 至 +0.96 个百分点"),
        ("gpt-2 pp 3", "gpt-2 pp 3"),
    ],
)
def test_points_of_a_table_are_said_in_the_language_of_its_page(text: str, said: str) -> None:
    assert say_points(text, "zh") == said
    assert say_points(text, "en") == text
