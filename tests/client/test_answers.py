"""What answers look like in a notebook, and as data frames."""

from __future__ import annotations

import re

import pandas
import polars
import pytest

from forelock import frames
from forelock.answers import Answer, html
from forelock.problem import ForelockError
from service.api.examples import common, deviations, multiverse

KINDS = [("pandas", pandas.DataFrame), ("polars", polars.DataFrame), (None, pandas.DataFrame)]
HOSTILE = "<script>alert(1)</script> & \"quoted\" 'so'"


def test_an_answer_is_the_dictionary_that_it_was(service) -> None:
    service.will_answer(200, {"state": "draft", "plan": {"title": HOSTILE}})
    with service.client() as client:
        record = client.preregistration("p1")
    assert record == {"state": "draft", "plan": {"title": HOSTILE}}
    assert "<script" not in record._repr_html_()
    assert "&lt;script&gt;" in record._repr_html_()


def test_a_verdict_is_shown_by_its_outcomes() -> None:
    shown = Answer({
        "title": HOSTILE,
        "hypotheses": [{"id": "H1", "outcome": "supported", "clauses": [
            {"text": "delta >= 2.0 pp", "observed": 0.12345678, "holds": True},
            {"text": HOSTILE, "observed": {"low": 0.1, "high": 0.2}, "holds": None},
        ]}],
    })._repr_html_()  # fmt: skip
    assert re.findall(r"<td>(.*?)</td>", shown)[:5] == [
        "H1",
        "supported",
        "delta &gt;= 2.0 pp",
        "0.123457",
        "True",
    ]
    assert "<script" not in shown


EXAMPLES = [
    answer
    for module in (common, deviations, multiverse)
    for name, answer in vars(module).items()
    if name.isupper() and isinstance(answer, dict) and answer
]


@pytest.mark.parametrize("answer", EXAMPLES)
def test_every_example_of_an_answer_can_be_shown(answer) -> None:
    assert html(answer).count("<table") == html(answer).count("</table>") > 0


def test_long_lists_are_cut() -> None:
    assert "and 50 more" in html({"many": list(range(100))})


@pytest.mark.parametrize(("library", "kind"), KINDS)
def test_rows_are_a_frame(library, kind) -> None:
    made = frames.frame(
        [{"item_id": "a", "value": 1.0}, {"item_id": "b", "value": None, "status": "error"}], library
    )
    assert isinstance(made, kind)
    assert list(made.columns) == ["item_id", "value", "status"]
    assert made.shape == (2, 3)
    assert list(made["item_id"]) == ["a", "b"]


def test_without_a_library_it_is_named(monkeypatch) -> None:
    monkeypatch.setattr(frames, "find_spec", lambda _name: None)
    with pytest.raises(ForelockError, match="neither pandas nor polars"):
        frames.frame([])
    with pytest.raises(ForelockError, match="pip install polars"):
        frames.frame([], "polars")
