"""Numbers of a terminal as people write them, and as machines do where its letters are too few."""

from __future__ import annotations

import pytest

from forelock.numerals import prints_powers, raise_powers, set_minus
from forelock.questions.forms.form import Form, as_markdown, as_text
from forelock.questions.pictures.drawing import Bar, Bound, Picture

FORM = Form(
    question="gate",
    headline="b.csv is better: p = 3.2e-06",
    mark="✅",
    answer={"p_value": 3.2e-06},
    numbers=[("test", "mcnemar: p = 3.2e-06")],
    done=["`p < 1e-05` decides"],
    cautions=[{"code": "CAUTION", "message": "below 2e-07"}],
)


def test_a_terminal_has_powers_of_ten_and_leaves_code_as_it_is() -> None:
    text = as_text(FORM).replace("\u00a0", " ")
    assert text.count("3.2 × 10⁻⁶") == 2
    assert "below 2 × 10⁻⁷" in text
    assert "`p < 1e-05` decides" in text
    assert "e-06" not in text


@pytest.mark.parametrize("encoding", ["ascii", "latin-1", None])
def test_a_terminal_without_such_letters_has_what_a_machine_writes(encoding: str | None) -> None:
    assert not prints_powers(encoding)
    assert as_text(FORM, encoding=encoding).count("3.2e-06") == 2


def test_a_comment_has_powers_of_ten() -> None:
    assert as_markdown(FORM).replace("\u00a0", " ").count("3.2 × 10⁻⁶") == 2


def test_a_minus_is_no_hyphen() -> None:
    assert set_minus("-2.00 pp of gpt-4 on 2026-11-29") == "−2.00 pp of gpt-4 on 2026-11-29"
    picture = Picture([Bar(-0.03, -0.01, 0.01)], [Bound(-0.02, "-2.00 pp")])
    assert ">−2.00 pp</text>" in picture.svg("x")
    assert "-2.00 pp" in picture.draw("ascii")


def test_options_keep_their_numbers() -> None:
    assert raise_powers("forelock gate --tolerance=1e-05") == "forelock gate --tolerance=1e-05"
