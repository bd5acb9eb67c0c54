"""`forelock report`: a record's documents in Markdown, and its verdict as a statistical report in any form."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any, get_args

from forelock import files, text
from forelock.client import Client
from forelock.commands.common import command
from forelock.documents import ReportForm, StandardName
from forelock.printing import show, tell
from forelock.problem import FileFault
from forelock.questions.options import FORMS, add_options
from forelock.questions.pictures.paper import WIDE
from forelock.words import language_of, say_of

DOCUMENTS = ("prereg", "osf", "aspredicted", "deviations", "evidence")


def add(commands: Any) -> None:
    """Add the parser of this command to the command line."""
    report = command(
        commands,
        "report",
        _print_report,
        "A record's document in Markdown, or its verdict as a statistical report.",
    )
    report.add_argument("id", help="the preregistration")
    what = report.add_mutually_exclusive_group()
    what.add_argument(
        "--document",
        choices=DOCUMENTS,
        default="prereg",
        help="the plan (prereg), also as an OSF Preregistration or for AsPredicted, its deviations, or the evidence "
        "card, in Markdown",
    )
    what.add_argument(
        "--form", choices=get_args(ReportForm), help="the statistical report of the verdict, in this form"
    )
    report.add_argument(
        "--standard",
        choices=get_args(StandardName),
        help="in place of the report the checklist of this standard, filled from the record; as Markdown where no "
        "--form says otherwise",
    )
    report.add_argument("--output", type=Path, metavar="FILE", help="where to; default: standard output")

    chart = command(
        commands, "chart", _chart, "A picture of a record: power at any time, the others after the verdict."
    )
    chart.add_argument("id", help="the preregistration")
    chart.add_argument(
        "name",
        nargs="?",
        default="forest",
        help="power, forest (default), cumulative, arms, discordance, pareto or multiverse",
    )
    chart.add_argument("--hypothesis", metavar="ID", help="where a picture is of one; else the first")
    add_options(chart, "pictures")


def _chart(options: argparse.Namespace, client: Client) -> int:
    """Save a picture of a record in each form for which a file is named."""
    paths = {form: path for form in FORMS if (path := getattr(options, form)) is not None}
    if not paths:
        raise FileFault("a picture is no text for a terminal: name its file with --svg, --pdf or --png")
    for form, path in paths.items():
        content = client.chart(
            options.id,
            options.name,
            form,
            hypothesis=options.hypothesis,
            language=language_of(options),
            width=round(options.width or WIDE) if options.width or options.serif or options.mono else None,
            serif=options.serif,
            mono=options.mono,
        )
        _save(Path(path), content, options)
    return 0


def _print_report(options: argparse.Namespace, client: Client) -> int:
    """Print a record's document or report, or write it to a file, in the form that was asked for."""
    if options.standard is not None and options.document != "prereg":
        raise FileFault("--standard is a checklist of its own: leave --document out")
    if options.standard is not None and options.form is None:
        options.form = "json" if options.json else "md"
    if options.form is None:
        document = client.document(options.id, options.document, language=language_of(options))
        if options.output is not None:
            return _save(options.output, document.encode(), options)
        answer = {"id": options.id, "document": options.document, "markdown": document}
        return show(options, answer, _printable(document))
    if options.form == "pdf" and options.output is None and sys.stdout.isatty():
        raise FileFault("a PDF is no text for a terminal: name a file with --output")
    if options.json and options.form != "json":
        raise FileFault("--json prints the report as --form json does; leave out one of them")
    content = client.report(
        options.id, options.form, standard=options.standard, language=language_of(options)
    )
    if options.output is not None:
        return _save(options.output, content, options)
    if options.form == "pdf":
        sys.stdout.buffer.write(content)
        sys.stdout.buffer.flush()
        return 0
    print(_printable(content.decode("utf-8", "replace")))
    return 0


def _printable(document: str) -> str:
    """Return a document for standard output: on a terminal without what would steer it, in a file as it is."""
    document = document.rstrip("\n")
    return "\n".join(map(text.plain, document.split("\n"))) if sys.stdout.isatty() else document


def _save(path: Path, content: bytes, options: argparse.Namespace) -> int:
    files.write_bytes(path, content)
    tell(say_of(options)("is_written", file=path))
    return 0
