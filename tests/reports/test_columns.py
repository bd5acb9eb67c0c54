"""Columns of numbers stand to the right in reports, with their heads; words stand to the left."""

from __future__ import annotations

import pytest

from service.api.examples.made import read_json
from service.reports.verdict.content import Report
from service.reports.verdict.html import print_html
from service.reports.verdict.pdf import pdf_content


@pytest.mark.parametrize("language", ["en", "zh"])
def test_differences_stand_to_the_right_and_names_to_the_left(language):
    made = Report.model_validate(read_json("report"))
    tests = pdf_content(made, language)["hypotheses"][0]["tests"]
    assert (tests["numbers"][0], tests["numbers"][1]) == (False, True)
    assert not tests["numbers"][3]  # how an interval was made
    assert all(len(row) == len(tests["head"]) == len(tests["numbers"]) for row in tests["rows"])
    page = print_html(made, (), language)
    assert page.startswith("<!doctype html>")
    head, row = made.hypotheses[0].arms[0].arm, tests["rows"][0]
    assert f'<th scope="col" class="number">{head}</th>' in page
    assert '<td class="number">' in page
    assert row[0]
    assert f'<td class="number">{row[0]}</td>' not in page
