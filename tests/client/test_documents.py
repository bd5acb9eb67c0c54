"""Plans in Markdown and reports of verdicts on the command line."""

from __future__ import annotations

import json

import httpx
import pytest

RECORD = {"id": "p1", "state": "draft", "version": 1, "plan": {"title": "A plan"}, "plan_sha256": None}
MARKDOWN = "# A plan\n\n## Hypotheses\n\n- **H1**: better\n"
GAPS = [
    {"code": "UNREAD", "path": "hypotheses", "line": 5, "message": "no part of a plan holds “\x1b”"},
    {"code": "MISSING_SECTION", "path": "missing", "line": None, "message": "the plan has no missing"},
]


@pytest.mark.parametrize("name", ["EXPERIMENTS_PREREG.md", "plan.markdown", "plan.txt", "prereg"])
def test_a_plan_in_markdown_becomes_a_draft_and_its_gaps_are_printed(service, command, tmp_path, name):
    (tmp_path / name).write_text(MARKDOWN, "utf-8")
    service.will_answer(201, RECORD | {"gaps": GAPS})
    status, output, errors = command("plan", "create", str(tmp_path / name))
    assert (status, output) == (0, "p1\n")
    assert service.header("Content-Type") == ["text/markdown"]
    assert service.requests[0].content.decode() == MARKDOWN
    assert "line 5    UNREAD at hypotheses: no part of a plan holds “?”\n" in errors
    assert "no line   MISSING_SECTION at missing: the plan has no missing\n" in errors


def test_gaps_of_a_plan_in_markdown_stay_in_the_answer_when_items_are_put(service, command, tmp_path):
    (tmp_path / "p.md").write_text(MARKDOWN)
    (tmp_path / "items.csv").write_text("item_id\na\n")
    service.will_answer(201, RECORD | {"gaps": GAPS})
    service.will_answer(200, {"n": 1, "items_sha256": "0" * 64})
    service.will_answer(200, RECORD)
    _, output, _ = command(
        "plan", "create", str(tmp_path / "p.md"), "--items", f"q={tmp_path / 'items.csv'}", "--json"
    )
    assert json.loads(output)["gaps"] == GAPS


def test_power_takes_a_plan_in_markdown_and_keeps_no_draft(service, command, tmp_path):
    (tmp_path / "p.md").write_text(MARKDOWN)
    service.will_answer(201, RECORD, ETag='"1"')
    service.will_answer(200, {"findings": [], "power": []})
    service.will_answer(200, RECORD, ETag='"1"')
    service.will_answer(204)
    assert command("plan", "power", str(tmp_path / "p.md"))[0] == 0
    assert service.header("Content-Type")[0] == "text/markdown"
    assert service.requests[-1].method == "DELETE"


def test_a_plan_in_json_is_one_whatever_its_file_is_called(service, command, tmp_path):
    (tmp_path / "plan.md").write_text('\n{"title": "a plan"}\n')
    service.will_answer(201, RECORD, ETag='"1"')
    assert command("plan", "create", str(tmp_path / "plan.md"))[0] == 0
    assert service.header("Content-Type") == ["application/json"]


@pytest.mark.parametrize("name", ["plan.txt", "plan"])
def test_what_is_neither_json_nor_markdown_is_no_plan(service, command, tmp_path, name):
    (tmp_path / name).write_text("title: a plan\n")
    status, _, errors = command("plan", "create", str(tmp_path / name))
    assert (status, service.requests) == (2, [])
    assert "is neither a JSON object nor Markdown with headings" in errors


@pytest.mark.parametrize("form", ["md", "html", "tex", "json"])
def test_the_report_of_a_verdict_is_printed_in_a_form(service, command, form):
    service.answers.append(httpx.Response(200, text="A report\n"))
    assert command("report", "p1", "--form", form, "--lang", "zh")[:2] == (0, "A report\n")
    url = service.requests[0].url
    assert (url.path, url.params["lang"]) == (f"/v1/preregistrations/p1/report.{form}", "zh")


@pytest.mark.parametrize(
    ("options", "form"), [((), "md"), (("--form", "html"), "html"), (("--json",), "json")]
)
def test_the_checklist_of_a_standard_is_printed_in_a_form(service, command, options, form):
    service.answers.append(httpx.Response(200, text="A checklist\n"))
    assert command("report", "p1", "--standard", "nist", *options)[:2] == (0, "A checklist\n")
    url = service.requests[0].url
    assert (url.path, url.params["form"]) == (f"/v1/preregistrations/p1/report.{form}", "nist")


def test_a_checklist_is_no_other_document(service, command):
    status, _, errors = command("report", "p1", "--standard", "nist", "--document", "evidence")
    assert (status, service.requests) == (2, [])
    assert "leave --document out" in errors


def test_a_report_goes_into_a_file_byte_for_byte(service, command, tmp_path):
    service.answers.append(httpx.Response(200, content=b"%PDF-1.7\xff\x00"))
    status, output, errors = command("report", "p1", "--form", "pdf", "--output", str(tmp_path / "r.pdf"))
    assert (status, output) == (0, "")
    assert errors == f"{tmp_path / 'r.pdf'} is written\n"
    assert (tmp_path / "r.pdf").read_bytes() == b"%PDF-1.7\xff\x00"
    service.answers.append(httpx.Response(200, text="# Plan\n"))
    assert command("report", "p1", "--lang", "zh", "--output", str(tmp_path / "p.md"))[0] == 0
    assert (tmp_path / "p.md").read_text() == "# Plan\n"
    assert service.requests[-1].url.params["lang"] == "zh"


def test_a_pdf_is_not_poured_onto_a_terminal(service, command, monkeypatch):
    monkeypatch.setattr("sys.stdout.isatty", lambda: True, raising=False)
    status, output, errors = command("report", "p1", "--form", "pdf")
    assert (status, output, service.requests) == (2, "", [])
    assert "name a file with --output" in errors


def test_a_picture_of_a_record_is_saved_in_every_form_that_is_named(service, command, tmp_path):
    for content in (b"<svg/>", b"%PDF"):
        service.answers.append(httpx.Response(200, content=content))
    svg, pdf = tmp_path / "f.svg", tmp_path / "f.pdf"
    status, _, errors = command(
        *("chart", "p1", "cumulative", "--svg", str(svg), "--pdf", str(pdf)),
        *("--width", "85", "--serif", "--hypothesis", "H2"),
    )
    assert (status, svg.read_bytes(), pdf.read_bytes()) == (0, b"<svg/>", b"%PDF")
    assert f"{pdf} is written" in errors
    for request, form in zip(service.requests, ("svg", "pdf"), strict=True):
        assert request.url.path.endswith(f"/p1/charts/cumulative.{form}")
        asked = dict(request.url.params)
        assert asked == {"lang": "en", "hypothesis": "H2", "width": "85", "serif": "true"}


def test_a_picture_without_a_file_is_refused_before_anything_is_asked(service, command):
    status, _, errors = command("chart", "p1")
    assert (status, service.requests) == (2, [])
    assert "name its file with --svg, --pdf or --png" in errors
