"""A refusal on a Chinese page says in Chinese what it means, and its English detail is marked as English."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from service.web.html.speech import meaning_of
from service.words import catalogue

ERRORS = Path(__file__).parents[2] / "docs" / "errors.md"


def test_what_was_not_found_is_told_in_chinese_and_its_detail_marked(reader: TestClient) -> None:
    page = reader.get("/preregistrations/nosuchrecord", params={"lang": "zh"})
    assert page.status_code == 404
    assert "<h1>本项目中没有这条记录，或没有这个地址</h1>" in page.text
    assert re.search(r'<p lang="en">[^<]*nosuchrecord', page.text)
    english = reader.get("/preregistrations/nosuchrecord", params={"lang": "en"})
    assert "本项目" not in english.text


@pytest.mark.parametrize("code", sorted(catalogue.templates("zh", "problems")))
def test_what_is_told_of_a_code_is_a_code_of_the_api(code: str) -> None:
    assert f"| `{code}` |" in ERRORS.read_text(encoding="utf-8")
    assert meaning_of(code, "zh").endswith("。")
    assert meaning_of(code, "en") == ""


def test_of_another_code_nothing_is_told() -> None:
    assert meaning_of("no_such_code", "zh") == ""
