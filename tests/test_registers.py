"""What is declared once stands everywhere: a list that lacks a harness or an event says which, and what to do."""

from __future__ import annotations

import re
from pathlib import Path
from typing import get_args

from forelock import cli, documents
from forelock import words as client_words
from service.api.http.answers.drawing import ChartForm
from service.api.http.answers.reporting import REPORTS, ReportForm
from service.config import Settings
from service.domain.outgoing import Event
from service.domain.plans.importing.imports import FORMATS, ImportMapping
from service.domain.plans.importing.table_import import TableImport
from service.ingest import harnesses
from service.ingest.harnesses.registry import MODULES, every
from service.reports.forms.standards import StandardName
from service.web import html
from service.words.catalogue import HOME, LANGUAGES, templates
from tests.ingest.bases import BASES
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


def test_a_plan_takes_the_section_of_every_format():
    """Its records are members of a union, which a checker of types reads as it is written."""
    members = [get_args(member) for member in get_args(get_args(ImportMapping)[0])]
    tags = {tag.tag: record for record, tag in members}
    taken = {form: tags.get("table" if record is TableImport else form) for form, record in FORMATS.items()}
    missing = [form for form, record in FORMATS.items() if taken[form] is not record]
    assert not missing, (
        f"{', '.join(missing)}: name the record with its tag in `ImportMapping` "
        "of service/domain/plans/importing/imports.py, or in `TrackerImport` beside it"
    )


def test_every_format_has_a_smallest_file():
    """Readers are tried with files in which one value is another one, and with nothing that such a file needs."""
    missing = sorted(set(FORMATS) - {str(base.mapping["format"]) for base in BASES.values()})
    assert not missing, f"{', '.join(missing)}: write the smallest file of it into tests/ingest/bases.py"


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


def test_every_event_is_announced_and_has_the_line_of_a_chat():
    actions = Path(harnesses.__file__).parents[2] / "actions"
    text = "".join(path.read_text("utf-8") for path in actions.rglob("*.py"))
    for event in Event:
        assert f"Event.{event.name}" in text, (
            f"{event.value.name}: nothing in service/actions announces it "
            "(service/actions/delivery/announcements.py: `announce`)"
        )
        room, _, code = event.value.line.partition(".")
        assert room == "chats", f"{event.value.name}: its line stands in the room `chats`"
        assert code in templates("en", room), f"write `{code}` into service/words/*/{room}.toml"


def test_every_setting_is_read():
    service = HOME.parent
    text = "".join(path.read_text("utf-8") for path in service.rglob("*.py"))
    for name in Settings.model_fields:
        assert re.search(rf"\.{name}\b", text), f"service/config.py: nothing reads `{name}`"


def test_every_module_of_commands_is_asked_for_its_commands():
    folder = Path(cli.__file__).parent / "commands"
    adding = {path.stem for path in folder.glob("*.py") if "\ndef add(" in path.read_text("utf-8")}
    missing = sorted(adding ^ set(cli.NOUNS))
    assert not missing, f"{', '.join(missing)}: `NOUNS` in client/forelock/cli.py has the modules of commands"


def test_the_client_speaks_every_language_of_the_service():
    """It is a distribution of its own: it has words of its own."""
    home = Path(client_words.__file__).parent
    for language in LANGUAGES:
        assert language in client_words.LANGUAGES, f"write {language}.toml beside {home.name}/en.toml"
        helped = language == "en" or (home / "help" / f"{language}.toml").exists()
        assert helped, f"write {language}.toml beside {home.name}/help/zh.toml"
    assert set(client_words.LANGUAGES) == set(LANGUAGES), "service/words lacks a language of the client"


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
