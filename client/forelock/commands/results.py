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
from forelock.words import Say, say_of


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
        tell(say_of(options)("not_used", file=text.plain(path), names=text.plain(", ".join(unused))))
    submission = Submission.of(parts, options.batch_size)
    submission.check(client, options.id)
    bar = text.Bar(say_of(options)("submitting"), submission.n, sys.stderr)
    answers = []
    try:
        for piece, answer in zip(submission.pieces, submission.post(client, options.id), strict=True):
            answers.append(answer)
            bar.advance(len(piece.batch))
    finally:
        bar.close()
    if not (options.wait and options.json):
        show(options, answers, _describe_post(answers, say_of(options)))
    return report_verdict(options, client, wait=True) if options.wait else 0


def _describe_post(answers: list[Any], say: Say) -> str:
    posted = sum(answer["n"] for answer in answers)
    skipped = sum(answer.get("skipped", 0) for answer in answers)
    stored = sum(answer.get("batch") is not None for answer in answers)
    sentence = say("posted", n=posted, batches=stored)
    return sentence + say("in_already", n=skipped) if skipped else sentence


def _progress(options: argparse.Namespace, client: Client) -> int:
    answer = client.progress(options.id)
    return show(options, answer, text.progress_text(answer, say_of(options)))


def _batches(options: argparse.Namespace, client: Client) -> int:
    batches = list(client.batches(options.id))
    say = say_of(options)
    lines = [
        f"{batch['batch']:>6}  {text.plain(batch['received_at'])}  "
        + say(
            "batch",
            cell=" / ".join(text.plain(batch[part]) for part in ("population", "arm", "endpoint")),
            n=batch["n"],
        )
        + (say("batch_struck", reason=text.plain(batch["void_reason"])) if batch.get("void_reason") else "")
        for batch in batches
    ]
    return show(options, batches, "\n".join(lines) or say("no_batches"))


def _void(options: argparse.Namespace, client: Client) -> int:
    receipt = client.void_batch(options.id, options.batch, options.reason)
    return show(options, receipt, say_of(options)("batch_is_struck", n=options.batch))
