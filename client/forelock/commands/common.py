"""What every subcommand has: the service, the key, a time limit, and JSON for programs."""

from __future__ import annotations

import argparse
import os
import sys
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from forelock import settings
from forelock.local import Local, answers_here
from forelock.printing import tell
from forelock.problem import ForelockError, ForelockProblem
from forelock.waiting import Waiting
from forelock.words import add_language, language_of, say_of

if TYPE_CHECKING:
    from forelock.client import Client

UNREADABLE = (KeyError, TypeError, AttributeError, ValueError, IndexError, RecursionError, ArithmeticError)
"""What reading a value of another type raises."""
Handler = Callable[[argparse.Namespace, "Client"], int]
AnyHandler = Callable[[argparse.Namespace, "Client | Local"], int]

EPILOG = """\
The service is FORELOCK_URL or --url, the key FORELOCK_API_KEY or --key-file.

exit status:
  0  done; of a verdict: every hypothesis is supported
  1  the service refused, did not answer, or the verdict is not there yet
  2  the command line or a file is wrong
  4  a verdict is invalid
 10  a verdict is not supported
 11  a verdict is equivalent
 12  a verdict is inconclusive
of several hypotheses the first of 4, 12, 10, 11, 0 that is present
"""


def bare(commands: Any, name: str, summary: str) -> argparse.ArgumentParser:
    """Return a parser with the help that all share."""
    parser: argparse.ArgumentParser = commands.add_parser(
        name,
        help=summary,
        description=summary,
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add_language(parser)
    return parser


def command(commands: Any, name: str, handler: Handler, summary: str) -> argparse.ArgumentParser:
    """Return a parser whose handler is given a client."""
    parser = _parser(commands, name, summary)
    parser.set_defaults(handler=lambda options: _run_with_client(options, handler))
    return parser


def either(commands: Any, name: str, handler: AnyHandler, summary: str) -> argparse.ArgumentParser:
    """A parser whose handler is given a client where a service or a key is named, else what is installed here."""
    parser = _parser(commands, name, summary)

    def run(options: argparse.Namespace) -> int:
        here = answers_here(options.url, options.key_file)
        if here:
            take_one_thread()
        return handler(options, Local(language_of(options))) if here else _run_with_client(options, handler)

    parser.set_defaults(handler=run)
    return parser


def take_one_thread() -> None:
    """What is computed in this process takes one thread per product, as a service does.

    Sums then do not depend on the machine's cores, and small ones are faster: several threads wait for one another.
    """
    for name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"):
        os.environ.setdefault(name, "1")  # read once, when numpy is first imported


def add_service(parser: argparse.ArgumentParser) -> None:
    """Add the options that name the service and the key it is asked with."""
    parser.add_argument("--url", help="address of the service (default: FORELOCK_URL)")
    parser.add_argument(
        "--key-file",
        type=Path,
        metavar="FILE",
        help="file that holds the API key (default: FORELOCK_API_KEY)",
    )


def _parser(commands: Any, name: str, summary: str) -> argparse.ArgumentParser:
    parser = bare(commands, name, summary)
    add_service(parser)
    parser.add_argument("--timeout", type=float, default=600.0, metavar="SECONDS", help="longest wait")
    parser.add_argument("--json", action="store_true", help="print the service's answer as JSON")
    return parser


def _run_with_client(options: argparse.Namespace, handler: Handler) -> int:
    """Run a handler with a client of the service that the options name, and turn odd answers into sentences."""
    from forelock.client import Client

    key = settings.api_key(None, options.key_file)
    waiting = Waiting(sys.stderr, say_of(options))
    with Client(options.url, key) as client:
        client.on_wait = waiting
        client.language = language_of(options)
        try:
            return handler(options, client)
        except UNREADABLE as error:
            raise _unreadable(client, error) from error
        except ForelockProblem as problem:
            if key is None and problem.code == "unauthorized":
                tell(say_of(options)("no_key_given"))
            raise
        finally:
            waiting.close()


def _unreadable(client: Client, error: Exception) -> ForelockError:
    """What to say where a command met something else in an answer than a service puts there, such as another type."""
    if isinstance(error, ForelockError) or not client.answered:
        raise error
    at = traceback.extract_tb(error.__traceback__)[-1]
    return ForelockError(
        f"{client.url} does not answer as a Forelock service of this version does "
        f"({type(error).__name__} in {Path(at.filename).name}, line {at.lineno})"
    )


def group(commands: Any, name: str, summary: str) -> Any:
    """Add a command whose subcommands are about one noun."""
    parser = commands.add_parser(name, help=summary, description=summary)
    return parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
