"""`forelock verdict`, `wait` and `verdicts`: what the locked rules say."""

from __future__ import annotations

import argparse
from typing import Any

from forelock import text
from forelock.client import Client
from forelock.commands.common import command
from forelock.commands.reporting import add_reports, report_verdict
from forelock.printing import show
from forelock.words import say_of


def add(commands: Any) -> None:
    """Add the parsers of these commands to the command line."""
    parser = command(commands, "verdict", _verdict, "The verdict, as text and as exit status.")
    parser.add_argument("id", help="the preregistration")
    add_reports(parser, wait="wait until the verdict is there")

    parser = command(commands, "wait", _wait, "Wait for the verdict; the same as `verdict --wait`.")
    parser.add_argument("id", help="the preregistration")
    add_reports(parser)

    parser = command(
        commands, "verdicts", _verdicts, "Every verdict of the project, by hypothesis: outcome and headline."
    )
    parser.add_argument("--hypothesis", help="only hypotheses of this id")
    parser.add_argument("--outcome", choices=sorted(text.EXIT_CODES), help="only this outcome")
    parser.add_argument("--since", metavar="TIME", help="only verdicts since this time (RFC 3339)")


def _verdict(options: argparse.Namespace, client: Client) -> int:
    return report_verdict(options, client, wait=options.wait)


def _wait(options: argparse.Namespace, client: Client) -> int:
    return report_verdict(options, client, wait=True)


def _verdicts(options: argparse.Namespace, client: Client) -> int:
    """Show the project's verdicts that match the options, a line for each hypothesis."""
    verdicts = list(
        client.verdicts(hypothesis=options.hypothesis, outcome=options.outcome, since=options.since)
    )
    say = say_of(options)
    lines = [
        f"{text.plain(verdict['judged_at'])}  {text.plain(verdict['preregistration_id'])}  "
        + say(
            "of_name",
            name=text.plain(verdict["hypothesis"]),
            text=say.outcome(verdict["outcome"] or "altered"),
        )
        + f"  {text.plain(verdict['title'])}{_headline(verdict)}"
        for verdict in verdicts
    ]
    return show(options, verdicts, "\n".join(lines) or say("no_verdicts"))


def _headline(verdict: dict[str, Any]) -> str:
    """Return a line of its own below the others; services before it, and altered verdicts, have none."""
    headline = verdict.get("headline")
    return f"\n    {text.plain(headline)}" if headline else ""
