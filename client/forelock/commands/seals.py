"""`forelock unblind` and `erase`: the seals of a plan broken before its verdict, or its rows destroyed, for good."""

from __future__ import annotations

import argparse
import sys
from typing import Any

from forelock import text
from forelock.client import Client
from forelock.commands.common import command
from forelock.printing import show
from forelock.problem import FileFault
from forelock.server_package import translator_of
from forelock.words import say_of

UNDONE = "it cannot be undone"


def add(commands: Any) -> None:
    """Add the parsers of these commands to the command line."""
    unblind = command(
        commands, "unblind", _unblind, f"Open results before the verdict, in an emergency; {UNDONE}."
    )
    _add_yes(unblind)
    unblind.add_argument("--population", metavar="ID", help="show rows of this population alone")
    unblind.add_argument("--endpoint", metavar="ID", help="show rows of this endpoint alone")
    erase = command(commands, "erase", _erase, f"Destroy the rows of a preregistration; {UNDONE}.")
    _add_yes(erase)


def _add_yes(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("id", help="the preregistration")
    parser.add_argument("--reason", required=True, help="why; on record for good")
    parser.add_argument("--yes", action="store_true", help="do not ask: needed where there is no terminal")


def _unblind(options: argparse.Namespace, client: Client) -> int:
    """Unblind a record's results before the verdict, once the person at the terminal agrees."""
    _require_consent(
        options,
        "unblind_warning",
    )
    answer = client.unblind(
        options.id, options.reason, population=options.population, endpoint=options.endpoint
    )
    seen = answer["unblinding"]
    return show(
        options,
        answer,
        say_of(options)("unblinded", id=text.plain(options.id), n=seen["received"], of=seen["expected"]),
    )


def _erase(options: argparse.Namespace, client: Client) -> int:
    _require_consent(options, "erase_warning")
    say = say_of(options)
    translate = translator_of(say.language)
    answer = client.erase(options.id, options.reason)
    lines = [say("rows_gone", id=text.plain(options.id)), say("still_checked")]
    lines += [f"  {text.plain(translate(line))}" for line in answer["can_check"]]
    lines += [say("no_longer")] + [f"  {text.plain(translate(line))}" for line in answer["cannot_check"]]
    return show(options, answer, "\n".join(lines))


def _require_consent(options: argparse.Namespace, warning: str) -> None:
    """Ask on a terminal whether this is meant; elsewhere `--yes` has to say so.

    Raises:
        FileFault: it is not.
    """
    if options.yes:
        return
    if not sys.stdin.isatty():
        raise FileFault(f"{UNDONE}: say --yes")
    say = say_of(options)
    print(say("consent", warning=say(warning)), end="", file=sys.stderr)
    if sys.stdin.readline().strip() != options.id:
        raise FileFault("nothing was done")
