"""The report of a verdict as PDF, set by Typst. Slow: run it in a calculator.

The template is fixed, and all words reach it as data, so that no text of others is ever read as markup.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from service.reports.charts.draw import FONTS
from service.reports.charts.narrow import make_narrow
from service.reports.charts.style import Spec
from service.reports.figures import set_numbers
from service.reports.quoting import pieces
from service.reports.verdict.columns import Table, numbers_in
from service.reports.verdict.content import HypothesisReport, Report
from service.reports.verdict.words import (
    check_line,
    clause_rows,
    effect_lines,
    embargo_line,
    evidence_lines,
    interval_rows,
    kind_word,
    leaves_line,
    outcome_of,
    reason_text,
    rows_of_tests,
    say,
    sizes_table,
    slices_line,
    slices_table,
    standing_line,
    statistics_table,
    tasks_table,
    value,
    warning_lines,
)
from service.words import Language
from service.words.punctuation import colon, pause, sentences

TEMPLATE = Path(__file__).parent / "report.typ"
CURVE_HEIGHT = 135
"""Pixels of the plotting area of a curve in a column, where letters are as large as those around it."""


def set_pdf(content: dict[str, Any], pictures: dict[str, str], template: Path = TEMPLATE) -> bytes:
    """Set the PDF of `pdf_content`, with pictures as SVG by name (`forest`, `cumulative`)."""
    import typst

    inputs = {"report": json.dumps(content, ensure_ascii=False), **pictures}
    engine: Any = typst
    compiler = engine.Compiler(
        template.read_bytes(),
        root=str(template.parent),  # else it is the working directory, which may be gone
        font_paths=[str(FONTS)],
        ignore_system_fonts=True,
        sys_inputs=inputs,
    )
    page: bytes = compiler.compile(format="pdf")
    return page


def fit_pictures(specs: Mapping[str, Spec]) -> dict[str, Spec]:
    """Return the pictures as the pages have room for them: the curve beside its hypothesis, in a column."""
    fitted = dict(specs)
    curve = fitted.get("cumulative")
    if curve is not None:
        narrow = make_narrow(curve)
        fitted["cumulative"] = {**narrow, "height": CURVE_HEIGHT} if "layer" in narrow else narrow
    return fitted


def pdf_content(report: Report, language: Language = "en") -> dict[str, Any]:
    """Return what the template shows, as texts."""
    return {
        "language": language,
        "title": report.title or "–",
        "about": f"{say('report', language)} · {say('judged', language)} {report.judged_at:%Y-%m-%d %H:%M %Z}",
        "authors": [
            *(author.text() for author in report.authors),
            *([embargo_line(report.embargo_until, language)] if report.embargo_until is not None else []),
        ],
        "arrival": in_pieces(report.arrival.of(language)),
        "lead": [
            {
                "line": in_pieces(f"{hypothesis.id}{colon(language)}{hypothesis.headline.of(language)}"),
                "open": in_pieces(hypothesis.open.of(language)),
                "after": [
                    in_pieces(words.of(language))
                    for words in (
                        hypothesis.ship,
                        hypothesis.next if hypothesis.next_sizes is None else hypothesis.next_sizes.lead,
                    )
                    if words.en
                ],
                "sizes": _sizes(hypothesis, language),
                "known": in_pieces(hypothesis.known.of(language)),
            }
            for hypothesis in report.hypotheses
        ],
        "rule": f"{say('rule', language)}{colon(language)}",
        "since_lock": in_pieces(report.since_lock.of(language)),
        "check": in_pieces(
            f"{say('check_title', language)}{colon(language)}{check_line(report, language)}"
        ),
        "marks": [in_pieces(f"! {mark.of(language)}") for mark in report.marks],
        "hypotheses": [_make_hypothesis(hypothesis, language) for hypothesis in report.hypotheses],
        "parts": [
            *([{
                "heading": say("arms", language),
                "lines": [in_pieces(f"{arm.id}{colon(language)}{arm.says}") for arm in report.arms],
            }] if report.arms else []),
            *([{
                "heading": say("acknowledged", language),
                "lines": [*map(in_pieces, warning_lines(report, language))],
            }] if report.warnings else []),
            {
                "heading": say("deviations", language),
                "lines": [*map(in_pieces, [
                    f"{deviation.number}. {deviation.title}{colon(language)}{standing_line(deviation, language)}"
                    for deviation in report.deviations
                ] + effect_lines(report, language) or [say("no_deviation", language)])],
            },
            {
                "heading": f"{say('evidence', language)}{colon(language)}"
                f"{report.evidence_score} / {report.evidence_most}",
                "lines": [*map(in_pieces, evidence_lines(report, language))],
            },
            {
                "heading": say("timeline", language),
                "lines": [
                    in_pieces(f"{entry.at:%Y-%m-%d %H:%M:%S} {kind_word(entry.kind, language)}{pause(language)}"
                    f"{say('leaf', language)} {entry.sequence} {entry.leaf_sha256}")
                    for entry in report.ledger
                ] + [in_pieces(line) for line in [leaves_line(report, language)] if line],
            },
        ],
        "foot": f"{say('plan', language)} {report.preregistration_id}{pause(language)}"
        + f"{say('version', language)} {report.version}{pause(language)}SHA-256 {report.plan_sha256}",
    }  # fmt: skip


def _make_hypothesis(hypothesis: HypothesisReport, language: Language) -> dict[str, Any]:
    """Make what the PDF's template is filled with for one hypothesis: its tables, rule and sentences."""
    head, rows = statistics_table(hypothesis, language) if hypothesis.arms else ((), [])
    ends = {what: (span, how) for what, span, how in interval_rows(hypothesis, language)}
    arms = [
        (arm.arm, value(arm.mean, binary=hypothesis.binary), *ends[arm.arm], "")
        for arm in hypothesis.arms
        if arm.arm in ends
    ]
    judged = say("judged_on", language, n=str(hypothesis.n), planned=str(hypothesis.n_planned))
    sliced, tasks = slices_table(hypothesis, language), tasks_table(hypothesis, language)
    return {
        "heading": f"{hypothesis.id}{colon(language)}{outcome_of(hypothesis, language)}",
        "statement": hypothesis.statement,
        "statistics": _table("statistics", head, rows),
        "tests": {
            **_table(
                "tests",
                (say("test", language), say("difference", language), say("interval", language),
                 say("method", language), "p"),
                [*arms, *rows_of_tests(hypothesis, language)],
            ),
            "said": [in_pieces(f"`{test.id}` {test.says.of(language)}") for test in hypothesis.tests],
        },
        "rule": hypothesis.rule,
        "decided": in_pieces(hypothesis.decided.of(language)),
        "clauses": _table(
            "clauses",
            [say(name, language) for name in ("clause", "observed", "threshold", "truth")],
            clause_rows(hypothesis, language),
        ),
        "tasks": {"heading": say("tasks", language), **_table("tasks", *tasks)},
        "slices": {"heading": say("slices", language), **_table("slices", *sliced),
                   "line": in_pieces(slices_line(hypothesis, language))},
        "sentence": in_pieces(hypothesis.sentences.of(language)),
        "note": in_pieces(sentences((judged, reason_text(hypothesis, language)), language)),
    }  # fmt: skip


def _sizes(hypothesis: HypothesisReport, language: Language) -> dict[str, Any]:
    """The table of a next study, and what stands below it; no rows where there is none."""
    sizes = hypothesis.next_sizes
    if sizes is None:
        return {"rows": [], "notes": []}
    head, rows = sizes_table(sizes, language)
    return {
        "head": [in_pieces(cell) for cell in head],
        "rows": [[in_pieces(cell) for cell in row] for row in rows],
        "notes": [in_pieces(note.of(language)) for note in sizes.notes],
    }


def _table(table: Table, head: Sequence[str], rows: Sequence[Sequence[str]]) -> dict[str, Any]:
    """A table with what each of its columns holds."""
    rows = [[cell if at == 0 else set_numbers(cell) for at, cell in enumerate(row)] for row in rows]
    return {"head": head, "rows": rows, "numbers": numbers_in(table, len(head)) if head else []}


def in_pieces(text: str) -> list[dict[str, Any]]:
    """Return a sentence of ours in pieces, so that the template sets as code what stands between backticks."""
    return [
        {"text": part if is_code else set_numbers(part), "code": is_code} for part, is_code in pieces(text)
    ]
