"""`forelock spool`: rows that live hooks keep on disk until the service has them. Never what they say."""

from __future__ import annotations

import argparse
from dataclasses import asdict
from typing import Any

from forelock import text
from forelock.client import Client
from forelock.commands.common import command, group
from forelock.printing import show
from forelock.server_package import translator_of
from forelock.spool import Spool, Waiting, send
from forelock.words import Say, say_of


def add(commands: Any) -> None:
    """Add the parsers of these commands to the command line."""
    nouns = group(commands, "spool", "Rows that wait on this machine for the service (FORELOCK_SPOOL).")

    parser = command(nouns, "send", _send, "Send what waits. Repeating is safe: what is in stays.")
    parser.add_argument("id", nargs="?", help="the preregistration (default: all)")

    parser = command(nouns, "status", _status, "What waits, and what the service refused.")
    parser.add_argument("id", nargs="?", help="the preregistration (default: all)")

    parser = command(nouns, "discard", _discard, "Throw away rows that the service refused.")
    parser.add_argument("id", help="the preregistration")
    parser.add_argument("--refused", action="store_true", required=True, help="say that they are not wanted")


def _send(options: argparse.Namespace, client: Client) -> int:
    """Send the rows that wait, and show what was sent, refused, or waits still; 1 if anything was not taken."""
    spool = Spool()
    sent = send(client, spool, options.id)
    say = say_of(options)
    translate = translator_of(say.language)
    waiting = list(spool.waiting(options.id))
    lines = [say("rows_sent", n=sent.rows)]
    lines += [say("refused", reason=text.plain(translate(reason))) for reason in dict.fromkeys(sent.refused)]
    lines += [text.plain(translate(sent.away))] if sent.away else []
    lines += _list_lines(waiting, say)
    show(options, asdict(sent) | {"waiting": _as_documents(waiting)}, "\n".join(lines))
    return 1 if sent.away or sent.refused else 0


def _status(options: argparse.Namespace, _: Client) -> int:
    spool = Spool()
    waiting, say = list(spool.waiting(options.id)), say_of(options)
    return show(
        options,
        _as_documents(waiting),
        "\n".join(_list_lines(waiting, say)) or say("nothing_waits", folder=spool.folder),
    )


def _discard(options: argparse.Namespace, _: Client) -> int:
    gone = Spool().discard_refused(options.id)
    return show(options, {"rows": gone}, say_of(options)("rows_discarded", n=gone))


def _as_documents(waiting: list[Waiting]) -> list[dict[str, Any]]:
    """Return the batches that wait as JSON."""
    return [
        {
            "preregistration_id": batch.record,
            "format": batch.head.format,
            "arm": batch.head.query.get("arm"),
            "rows": batch.rows,
            "refused": list(batch.refused),
            "running": batch.written,
        }
        for batch in waiting
    ]


def _list_lines(waiting: list[Waiting], say: Say) -> list[str]:
    """Say of each batch how many rows wait, and why any were refused."""
    lines: list[str] = []
    translate = translator_of(say.language)
    for batch in waiting:
        arm = batch.head.query.get("arm")
        of_arm = say("rows_of_arm", arm=text.plain(arm)) if arm else ""
        going = say("run_goes_on") if batch.written else ""
        name, form = text.plain(batch.record), batch.head.format
        lines.append(say("rows_wait", id=name, n=batch.rows, arm=of_arm, format=form, going=going))
        lines += [
            "  " + say("refused", reason=text.plain(translate(why))) for why in dict.fromkeys(batch.refused)
        ]
    return lines
