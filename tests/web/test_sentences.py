"""Details of problems as pages say them: with a capital and a stop, and names as they are."""

from __future__ import annotations

import pytest

from service.web.html.rendering import as_sentence


@pytest.mark.parametrize(
    ("detail", "says"),
    [
        ("there is no preregistration p1 in this project", "There is no preregistration p1 in this project."),
        ("本项目中没有 p1 这条预注册", "本项目中没有 p1 这条预注册。"),
        ("words.csv: takes two arms", "words.csv: takes two arms."),
        ("`m.ci` names no test (see above)", "`m.ci` names no test (see above)."),
        ("Is it whole?", "Is it whole?"),
        ("", ""),
    ],
)
def test_a_detail_is_a_sentence(detail: str, says: str) -> None:
    assert as_sentence(detail) == says
