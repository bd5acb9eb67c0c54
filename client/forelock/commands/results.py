"""`forelock submit`, `progress`, `batches` and `void`: results on their way in, never out."""

from __future__ import annotations

import argparse
import sys
from typing import Any

from forelock import text
from forelock.arguments import positive
from forelock.client import BATCH_SIZE, Client
from forelock.commands.common import command
from forelock.commands.reporting import add_reports, report_verdict, require_wait
from forelock.printing import show, tell
from forelock.result_files import read_parts
from forelock.rows import SCALARS
from forelock.submitting import Submission


def add(commands: Any) -> None:
    """Add the parsers of these commands to the command line."""
    parser = command(
        commands, "submit", _submit, "Post results. Everything is checked first; repeating is safe."
    )
    parser.add_argument("id", help="the preregistration")
    parser.add_argument("files", nargs="+", metavar="FILE", help="CSV, NDJSON or JSON, told by the suffix")
    for name in SCALARS:
        parser.add_argument(f"--{name}", help=f"the {name} of all results, where the files do not say it")
    parser.add_argument("--column", metavar="NAME", help="the field that holds the value (default: value)")
    parser.add_argument(
        "--batch-size", type=positive, default=BATCH_SIZE, metavar="N", help="results per request"
    )
    add_reports(parser, wait="then wait for the verdict, and end as it says")

    parser = command(commands, "progress", _progress, "How many results are in. Never what they are.")
    parser.add_argument("id", help="the preregistration")

    parser = command(commands, "batches", _batches, "List the batches that were posted, newest first.")
    parser.add_argument("id", help="the preregistration")

    parser = command(commands, "void", _void, "Strike a batch that was wrong; the verdict prints the reason.")
    parser.add_argument("id", help="the preregistration")
    parser.add_argument("batch", type=positive, help="its number; `forelock batches` lists them")
    parser.add_argument("--reason", required=True, help="why, in a sentence")


def _submit(options: argparse.Namespace, client: Client) -> int:
    """Post the results of files in batches, and show what was stored."""
    require_wait(options)
    given = {name: getattr(options, name) for name in SCALARS}
    parts = [part for path in options.files for part in read_parts(path, given, column=options.column)]
    for path, unused in {part.path: part.unused for part in parts if part.unused}.items():
        tell(f"{text.plain(path)}: not used: {text.plain(', '.join(unused))}")
    submission = Submission.of(parts, options.batch_size)
    submission.check(client, options.id)
    bar = text.Bar("submitting", submission.n, sys.stderr)
    answers = []
    try:
        for piece, answer in zip(submission.pieces, submission.post(client, options.id), strict=True):
            answers.append(answer)
            bar.advance(len(piece.batch))
    finally:
        bar.close()
    if not (options.wait and options.json):
        show(options, answers, _describe_post(answers))
    return report_verdict(options, client, wait=True) if options.wait else 0


def _describe_post(answers: list[Any]) -> str:
    posted = sum(answer["n"] for answer in answers)
    skipped = sum(answer.get("skipped", 0) for answer in answers)
    stored = sum(answer.get("batch") is not None for answer in answers)
    sentence = f"{posted} results posted in {stored} batches"
    return f"{sentence}; {skipped} were in already and stay as they are" if skipped else sentence


def _progress(options: argparse.Namespace, client: Client) -> int:
    answer = client.progress(options.id)
    return show(options, answer, text.progress_text(answer))


def _batches(options: argparse.Namespace, client: Client) -> int:
    batches = list(client.batches(options.id))
    lines = [
        f"{batch['batch']:>6}  {text.plain(batch['received_at'])}  {text.plain(batch['population'])} / "
        f"{text.plain(batch['arm'])} / {text.plain(batch['endpoint'])}: {batch['n']} results"
        + (f", struck: {text.plain(batch['void_reason'])}" if batch.get("void_reason") else "")
        for batch in batches
    ]
    return show(options, batches, "\n".join(lines) or "no batches")


def _void(options: argparse.Namespace, client: Client) -> int:
    receipt = client.void_batch(options.id, options.batch, options.reason)
    return show(options, receipt, f"batch {options.batch} is struck; its results can be posted again")
