"""`forelock log`: the audit log, newest first."""

from __future__ import annotations

import argparse
import json
from itertools import islice
from typing import Any

from forelock import text
from forelock.arguments import positive
from forelock.client import Client
from forelock.commands.common import command
from forelock.printing import show
from forelock.words import Say, say_of


def add(commands: Any) -> None:
    """Add the parser of this command to the command line."""
    parser = command(commands, "log", _log, "Who did what, and when: the audit log, newest first.")
    parser.add_argument("--subject", metavar="ID", help="only what was done to this preregistration or key")
    parser.add_argument("--action", help="only this action, such as verdict.read")
    parser.add_argument("--key", metavar="ID", help="only what this API key did")
    parser.add_argument("--since", metavar="TIME", help="only since this time (RFC 3339)")
    parser.add_argument(
        "--limit", type=positive, default=200, metavar="N", help="events at most (default: 200)"
    )
    parser.add_argument(
        "--deployment", action="store_true", help="what was done to the deployment; needs the scope operator"
    )


def _log(options: argparse.Namespace, client: Client) -> int:
    """Show the events of the audit log that match the options, newest first."""
    events = client.audit_log(
        subject=options.subject,
        action=options.action,
        key=options.key,
        since=options.since,
        deployment=options.deployment,
    )
    newest = list(islice(events, options.limit))
    say = say_of(options)
    return show(options, newest, "\n".join(_line(event, say) for event in newest) or say("no_events"))


def _line(event: dict[str, Any], say: Say) -> str:
    who = event["key_name"] or event["key_id"] or say("the_service")
    facts = json.dumps(event["facts"], ensure_ascii=False) if event["facts"] else ""
    parts = (event["at"], who, event["action"], event["subject"] or "", facts)
    return "  ".join(text.plain(part) for part in parts if part)
