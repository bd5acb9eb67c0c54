"""`forelock verdict` and `verdicts`: what the locked rules say."""

from __future__ import annotations

import argparse
import shutil
import sys
from typing import Any

from forelock import pictures, text
from forelock.client import Client
from forelock.commands.common import command, show, tell
from forelock.problem import ForelockError


def add(commands: Any) -> None:
    """Add the parsers."""
    parser = command(commands, "verdict", _verdict, "The verdict, as text and as exit status.")
    parser.add_argument("id", help="the preregistration")
    parser.add_argument("--wait", action="store_true", help="wait until the verdict is there")

    parser = command(
        commands, "verdicts", _verdicts, "Every verdict of the project, one line per hypothesis."
    )
    parser.add_argument("--hypothesis", help="only hypotheses of this id")
    parser.add_argument("--outcome", choices=sorted(text.EXIT_CODES), help="only this outcome")
    parser.add_argument("--since", metavar="TIME", help="only verdicts since this time (RFC 3339)")


def _verdict(options: argparse.Namespace, client: Client) -> int:
    answer = client.verdict(options.id, wait=options.wait, timeout=options.timeout)
    words, picture = (
        (None, "") if options.json else (_words(options, client), _picture(options, client, answer))
    )
    show(options, answer, "\n\n".join(filter(None, (text.verdict_text(answer, words), picture))))
    return text.exit_code(answer)


def _picture(options: argparse.Namespace, client: Client, answer: dict[str, Any]) -> str:
    """The intervals against 0 and the SESOI; without the plan, against 0 alone and in the score's own unit."""
    if not pictures.of_verdict(answer):
        return ""
    try:
        plan = client.preregistration(options.id).get("plan")
    except ForelockError:
        plan = None
    return pictures.of_verdict(
        answer, plan, width=shutil.get_terminal_size().columns, ascii=not pictures.boxes_fit(sys.stdout)
    )


def _words(options: argparse.Namespace, client: Client) -> dict[str, Any] | None:
    """The verdict's sentences; without them the verdict stands, and its exit status."""
    try:
        return client.verdict_sentences(options.id)
    except ForelockError as error:
        tell(f"forelock: what can be done next could not be read: {text.plain(error)}")
        return None


def _verdicts(options: argparse.Namespace, client: Client) -> int:
    found = list(client.verdicts(hypothesis=options.hypothesis, outcome=options.outcome, since=options.since))
    lines = [
        f"{text.plain(each['judged_at'])}  {text.plain(each['preregistration_id'])}  "
        f"{text.plain(each['hypothesis'])}: {each['outcome'] or 'altered'}  {text.plain(each['title'])}"
        for each in found
    ]
    show(options, found, "\n".join(lines) or "no verdicts")
    return 0
