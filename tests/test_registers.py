"""What is declared once stands everywhere: a list that lacks a harness or an event says which, and what to do."""

from __future__ import annotations

import re
from pathlib import Path
from typing import get_args

from forelock import documents
from service.api.http.answers.drawing import ChartForm
from service.api.http.answers.reporting import REPORTS, ReportForm
from service.domain.outgoing import Event
from service.domain.plans.importing.imports import FORMATS
from service.ingest import harnesses
from service.ingest.harnesses.registry import MODULES, every
from service.reports.forms.standards import StandardName
from service.web import html
from tools.pages import registers

DECLARES = re.compile(r"^HARNESS = Harness\(", re.MULTILINE)


def test_what_is_made_from_the_declarations_is_up_to_date():
    stale = [path.name for path, text in registers.made().items() if path.read_text("utf-8") != text]
    assert not stale, f"{', '.join(stale)}: run `./do pages`"


def test_every_harness_is_in_the_register():
    folder = Path(harnesses.__file__).parent
    files = {path.stem for path in folder.rglob("*.py") if DECLARES.search(path.read_text("utf-8"))}
    listed = {harness.open.__module__.rpartition(".")[2] for harness in every()}
    assert files == listed, (
        f"add {sorted(files ^ listed)} to `MODULES` in service/ingest/harnesses/registry.py"
    )


def test_every_format_has_a_mapping_and_a_reader():
    read = [form for harness in every() for form in harness.formats]
    missing = sorted(set(FORMATS) ^ set(read))
    assert read == list(FORMATS) == list(MODULES), (
        f"{missing or 'the order'}: a format has its mapping in `FORMATS` of "
        "service/domain/plans/importing/imports.py, and is one of the `formats` of a `HARNESS` in "
        "service/ingest/harnesses and in `MODULES` of its register, in the same order"
    )


def test_a_harness_decides_about_lines_that_its_mapping_has():
    for harness in every():
        for event in harness.undecided:
            assert event in FORMATS[harness.formats[0]].model_fields, (
                f"{harness.formats[0]}: no line '{event}'"
            )


def test_every_line_about_an_event_has_its_words():
    """What a plan may say of an event is what it is told to say where it says nothing."""
    about = {
        "error", "limit", "edited", "invalidated", "no_response", "grader_failed", "rounded", "several", "source",
        "incomplete", "empty_patch", "infra_failure", "ambiguous_failure",
    }  # fmt: skip
    for harness in every():
        mapping = FORMATS[harness.formats[0]]
        by_default = {event for event in about & set(mapping.model_fields) if event in mapping.DEFAULTS}
        needed = about & set(mapping.model_fields) - by_default
        assert needed <= set(harness.undecided), f"{harness.formats[0]}: `undecided` lacks {needed}"


def test_marks_tell_one_harness():
    marks = [mark for harness in every() for mark in harness.marks]
    assert len(marks) == len(set(marks))


def test_no_event_before_the_verdict_repeats_what_people_wrote_or_what_follows_from_outcomes():
    for event in Event:
        if event is not Event.JUDGED:
            assert not {"reason", "verdict_sha256", "outcome"} & set(event.value.repeats), event.value.name


def test_the_client_asks_for_every_form_of_a_report_a_picture_and_a_checklist():
    """It is a distribution of its own: its names of forms are written there once more."""
    assert get_args(documents.ReportForm) == get_args(ReportForm) == tuple(REPORTS), (
        "name the form in client/forelock/documents.py and in `REPORTS` of service/api/http/answers/reporting.py"
    )
    assert set(get_args(documents.ChartForm)) == set(get_args(ChartForm)), "see client/forelock/documents.py"
    assert set(get_args(documents.StandardName)) == set(get_args(StandardName)), (
        "see client/forelock/documents.py"
    )


def test_the_page_of_a_record_links_every_form_of_its_report():
    template = Path(html.__file__).parents[1] / "templates" / "preregistration.html"
    (linked,) = re.findall(r'say\("pages\.report"\).*? in \(([^)]*)\)', template.read_text("utf-8"))
    assert set(re.findall(r'"(\w+)"', linked)) == set(REPORTS), f"see the links of {template.name}"
