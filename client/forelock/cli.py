"""The `forelock` command: what an eval job and a researcher need; the server adds its own subcommands."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from importlib.metadata import entry_points, version
from io import TextIOWrapper

from forelock import text
from forelock.commands import (
    bundles,
    exports,
    imports,
    keys,
    log,
    plans,
    results,
    seals,
    spool,
    states,
    tests,
    verdicts,
)
from forelock.commands.common import EPILOG
from forelock.problem import FileFault, ForelockError, ForelockProblem


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
    parser.add_argument("--version", action="version", version=f"forelock {version('forelock')}")
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    nouns = (tests, plans, states, results, imports, spool, verdicts, seals, bundles, exports, keys, log)
    for noun in nouns:
        noun.add(commands)
    if not arguments or arguments[0] not in commands.choices:
        for entry in entry_points(group="forelock.commands"):  # an eval job never pays for loading the server
            entry.load()(commands)
    return parser


if __name__ == "__main__":
    sys.exit(main())
