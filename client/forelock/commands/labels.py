"""`forelock labels`: what people are asked to label, as a file to fill in, and their labels on the way in."""

from __future__ import annotations

import argparse
import csv
import io
from typing import Any

from forelock.client import BATCH_SIZE, Client
from forelock.commands.common import command
from forelock.printing import put_out, show, tell
from forelock.problem import FileFault
from forelock.result_files import read_parts
from forelock.submitting import Submission
from forelock.text import json_text, plain
from forelock.words import say_of

COLUMNS = ("population", "arm", "endpoint", "item_id")


def add(commands: Any) -> None:
    """Add the parser of this command to the command line."""
    parser = command(
        commands,
        "labels",
        _show_labels,
        "List what people label, as CSV to fill in; or post their labels. Nobody reads them before the verdict.",
    )
    parser.add_argument("id", help="the preregistration")
    parser.add_argument("--arm", help="of this arm alone")
    parser.add_argument("--all", action="store_true", help="those that are in as well")
    parser.add_argument(
        "--post",
        action="append",
        metavar="FILE",
        help="post labels of the list, filled in; rows without a value are left out, and repeating is safe",
    )


def _show_labels(options: argparse.Namespace, client: Client) -> int:
    """Print the items that people are to label as CSV or JSON, or post the labels of a file."""
    items = list(client.labels(options.id, arm=options.arm))
    if options.post:
        return _post_labels(options, client, {label["endpoint"] for label in items})
    listed = [label for label in items if options.all or not label["received"]]
    if options.json:
        return put_out(json_text(listed).encode() + b"\n")
    table = io.StringIO()
    rows = csv.writer(table, lineterminator="\n")
    rows.writerow((*COLUMNS, "value"))
    rows.writerows([*(label[name] for name in COLUMNS), ""] for label in listed)
    missing = sum(not label["received"] for label in items)
    tell(say_of(options)("labels_missing", n=missing, of=len(items)))
    return put_out(table.getvalue().encode())


def _post_labels(options: argparse.Namespace, client: Client, endpoints: set[str]) -> int:
    """Post the labels of filled-in files, all of which must be of endpoints that people label."""
    parts = [part for path in options.post for part in read_parts(path, {"arm": options.arm}, blanks=False)]
    for part in parts:
        if part.results.endpoint not in endpoints:
            known = ", ".join(sorted(map(plain, endpoints)))
            fault = f"'{plain(part.results.endpoint)}' is no endpoint that people label; they label {known}"
            raise FileFault(f"{part.where(0)}: {fault}")
    submission = Submission.of(parts, BATCH_SIZE)
    submission.check(client, options.id)
    answers = list(submission.post(client, options.id))
    posted, skipped = (sum(answer.get(name, 0) for answer in answers) for name in ("n", "skipped"))
    say = say_of(options)
    beside = say("in_already", n=skipped) if skipped else ""
    return show(options, answers, say("labels_posted", n=posted) + beside)
