"""The reference pages say what the code says."""

from __future__ import annotations

import re
from pathlib import Path

from service.api.routes.plans.populations import Items
from service.api.routes.results.results import ResultColumns, ResultRow
from service.domain.plans.plan import Plan
from service.ingest import manifests, results
from tools.pages.reference import PLAN, plan_page

FILES = (PLAN.parent / "files.md").read_text("utf-8")


def rows_of(heading: str) -> list[tuple[str, str, str]]:
    section = FILES.split(f"## {heading}\n")[1].split("\n## ")[0]
    return re.findall(r"^\| `(\w+)` \| `(\w+)` \| ([^|]+) \|", section, re.MULTILINE)


def test_the_page_of_the_plan_is_the_schema_s():
    assert PLAN.read_text("utf-8") == plan_page(), "run python -m tools.pages.reference"


def test_every_field_of_a_plan_says_what_it_is():
    schema = Plan.model_json_schema()
    for name, part in {"Plan": schema, **schema["$defs"]}.items():
        for field, described in part.get("properties", {}).items():
            assert described.get("description"), f"{name}.{field}"


def test_every_column_of_a_file_is_described():
    for heading, layout in (("The item manifest", manifests.LAYOUT), ("The results", results.LAYOUT)):
        found = rows_of(heading)
        assert [row for row, _, _ in found] == list(layout.fields)
        assert {row: column for row, column, _ in found} == {
            **{name: name for name in layout.scalars},
            **layout.columns,
        }
        assert {row for row, _, needed in found if needed == "yes"} == layout.required


def test_the_columns_are_those_of_the_openapi_document():
    assert {column for _, column, _ in rows_of("The results")} == set(ResultColumns.model_fields)
    assert {row for row, _, _ in rows_of("The results")} == set(ResultRow.model_fields)
    assert {column for _, column, _ in rows_of("The item manifest")} == set(Items.model_fields)


def test_pages_link_to_pages_that_exist():
    for page in (PLAN, PLAN.parent / "files.md", PLAN.parents[1] / "operations.md"):
        for link in re.findall(r"\]\(([^)#:]+\.md)", page.read_text("utf-8")):
            assert (Path(page).parent / link).resolve().is_file(), f"{page.name}: {link}"
