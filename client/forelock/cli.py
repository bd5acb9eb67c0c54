"""The `forelock` command: what an eval job and a researcher need; the server adds its own subcommands."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from importlib import import_module
from importlib.metadata import entry_points, version
from io import TextIOWrapper

from forelock import text
from forelock.commands.common import EPILOG
from forelock.problem import FileFault, ForelockError, ForelockProblem

NOUNS = (
    "tests", "scores", "gates", "noise", "resolution", "plans", "documents", "states", "results", "imports", "spool",
    "verdicts", "seals", "after", "bundles", "exports", "outside", "keys", "log", "completion",
)  # fmt: skip
"""Modules of commands, in the order of the help."""
QUICK = {
    "run": "tests",
    "score": "scores",
    "tests": "tests",
    "gate": "gates",
    "rank": "gates",
    "noise": "noise",
    "resolve": "resolution",
    "audit": "resolution",
}
"""Commands that load nothing but their own module: an answer in the shell should not wait for the others."""


class _Version(argparse.Action):
    """Looks the version up where it is asked for."""

    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> None:
        parser.exit(message=f"forelock {version('forelock')}\n")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; returns its exit status."""
    arguments = sys.argv[1:] if arguments is None else arguments
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # a terminal that cannot print ± says so in ASCII
    options = _parsed(_parser(arguments), arguments)
    try:
        status: int = options.handler(options)
    except ForelockProblem as problem:
        print(text.problem_text(problem), file=sys.stderr)
        return 1
    except FileFault as fault:
        print(f"forelock: {text.plain(fault)}", file=sys.stderr)
        return 2
    except ForelockError as error:
        print(f"forelock: {text.plain(error)}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:
        sys.stderr.close()
        return 1
    return status


def _parsed(parser: argparse.ArgumentParser, arguments: Sequence[str]) -> argparse.Namespace:
    """Options may stand between the inputs of a command that takes any number of them."""
    options, rest = parser.parse_known_args(arguments)
    inputs = getattr(options, "inputs", None)
    if rest and (inputs is None or any(each.startswith("-") for each in rest)):
        parser.error(f"unrecognized arguments: {' '.join(rest)}")
    if rest:
        options.inputs = [*options.inputs, *rest]
    return options


def _parser(arguments: Sequence[str]) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="forelock",
        description="Lock the plan, then look: post evaluation results and read verdicts.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action=_Version, nargs=0, help="show the version and exit")
    parser.set_defaults(whole=whole)  # for the command that describes all the others
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    first = arguments[0] if arguments else ""
    if first in QUICK:  # pydantic looks for plugins in the metadata of every distribution there is
        os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")
    for noun in (QUICK[first],) if first in QUICK else NOUNS:
        import_module(f"forelock.commands.{noun}").add(commands)
    if not arguments or arguments[0] not in commands.choices:
        for entry in entry_points(group="forelock.commands"):  # an eval job never pays for loading the server
            entry.load()(commands)
    return parser


def whole() -> argparse.ArgumentParser:
    """The parser with every command, the server's included where it is installed."""
    return _parser(())


if __name__ == "__main__":
    sys.exit(main())
