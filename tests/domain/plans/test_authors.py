"""Authors of a plan: iDs whose last character fits, both ways through Markdown, and plans without them as before."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from service.domain.plans.plan import Plan
from service.domain.plans.sections.authors import Author, orcid_checksum
from service.reports.prereg.markdown import parse_plan
from service.reports.prereg.print import print_plan
from tests.journeys.plans import small_plan

LOVELACE = {
    "name": "Ada Lovelace",
    "orcid": "0000-0002-1825-0097",
    "affiliation": "University, of (Somewhere)",
}


def test_a_plan_without_authors_has_the_bytes_it_had() -> None:
    assert '"authors"' not in Plan.from_dict(small_plan(6)).canonical_text()


@pytest.mark.parametrize(
    "orcid",
    ["0000-0002-1825-0097", "0000-0001-5109-3700", "0000-0002-1694-233X", "0000-0002-9079-593X"],
)
def test_ids_that_orcid_shows_are_taken(orcid: str) -> None:
    assert orcid_checksum(orcid.replace("-", "")[:-1]) == orcid[-1]
    assert Author.model_validate({"name": "A", "orcid": orcid}).orcid == orcid


def test_every_change_of_one_digit_is_noticed() -> None:
    right = LOVELACE["orcid"]
    for at, digit in enumerate(right):
        for other in "0123456789" if digit != "-" else "":
            if other != digit:
                with pytest.raises(ValidationError, match="does not fit"):
                    Author.model_validate({"name": "A", "orcid": right[:at] + other + right[at + 1 :]})


@pytest.mark.parametrize(
    "orcid", ["0000000218250097", "https://orcid.org/0000-0002-1825-0097", "0000-0002-1694-233x", ""]
)
def test_what_has_another_shape_is_refused(orcid: str) -> None:
    with pytest.raises(ValidationError, match="four groups"):
        Author.model_validate({"name": "A", "orcid": orcid})


def test_nobody_is_no_list_of_authors() -> None:
    with pytest.raises(ValidationError):
        Plan.from_dict({"authors": []})


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize(
    "authors",
    [
        [LOVELACE],
        [{"name": "None"}],
        [LOVELACE, {"name": "X *Y* `z`", "affiliation": "无"}, {"name": "张三, 李四"}],
    ],
)
def test_authors_go_through_markdown(language: Any, authors: list[dict[str, str]]) -> None:
    plan = Plan.from_dict(small_plan(6) | {"authors": authors})
    read, gaps = parse_plan(print_plan(plan, language))
    assert read == plan
    assert [gap for gap in gaps if gap.path.startswith("authors")] == []


def test_prose_names_authors_and_says_what_it_assumed() -> None:
    text = "# T\n\n## Authors\n\n- Ada Lovelace (Somewhere), https://orcid.org/0000-0002-1825-0097\n- 张三\n"
    read, gaps = parse_plan(text)
    assert read.authors == (
        Author(name="Ada Lovelace", orcid="0000-0002-1825-0097", affiliation="Somewhere"),
        Author(name="张三"),
    )
    assert {gap.code for gap in gaps if gap.path.startswith("authors")} == {"ASSUMED"}


def test_an_id_that_does_not_fit_is_left_out_and_told() -> None:
    read, gaps = parse_plan("# T\n\n## Authors\n\n- **Ada**\n  - ORCID: `0000-0002-1825-0098`\n")
    assert read.authors == (Author(name="Ada"),)
    assert [gap.code for gap in gaps if gap.path.startswith("authors")] == ["INVALID"]


def test_a_section_that_names_nobody_is_no_gap() -> None:
    read, gaps = parse_plan("# T\n\n## Authors\n\nNone.\n")
    assert read.authors is None
    assert [gap for gap in gaps if "authors" in gap.path] == []
