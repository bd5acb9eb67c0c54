"""`forelock tests` and `forelock run`: statistical tests on data of one's own."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from forelock import files, text
from forelock.commands.common import either
from forelock.local import Local
from forelock.printing import show
from forelock.server_package import translator_of
from forelock.words import say_of

if TYPE_CHECKING:
    from forelock.client import Client


def add(commands: Any) -> None:
    """Add the parsers of these commands to the command line."""
    parser = either(commands, "run", _run, "Run a statistical test on data of your own.")
    parser.add_argument("name", help="the test; `forelock tests` lists them")
    parser.add_argument("file", help="its request as JSON; - reads standard input")
    parser = either(commands, "tests", _show_tests, "List the statistical tests, or show one.")
    parser.add_argument("name", nargs="?", help="show this one: what it is for, and an example request")


def _run(options: argparse.Namespace, client: Client | Local) -> int:
    """Run a test on a request's file, and show its sentence and warnings."""
    answer = client.run(options.name, files.read_object(options.file), timeout=options.timeout)
    analysis, say = answer["analysis"], say_of(options)
    lines = [text.plain(analysis["sentence"])]
    lines += [
        say("of_name", name=warning["code"], text=text.plain(warning["message"]))
        for warning in answer.get("warnings") or ()
    ]
    # An answer about a size to plan has neither.
    if any(analysis.get(name) is not None for name in ("p_value", "ci")):
        lines += ["", say("exploratory_of_test")]
    return show(options, answer, "\n".join(lines))


def _show_tests(options: argparse.Namespace, client: Client | Local) -> int:
    """Show the registered statistical tests, or one with an example request."""
    say = say_of(options)
    translate = translator_of(say.language)
    if options.name is None:
        tests = client.tests()
        width = max((len(test["name"]) for test in tests), default=0)
        return show(
            options,
            tests,
            "\n".join(f"{test['name']:<{width}}  {text.plain(translate(test['title']))}" for test in tests),
        )
    test = client.describe(options.name)
    lines = [say("of_name", name=test["name"], text=text.plain(translate(test["title"])))]
    lines += [text.plain(translate(test["summary"]))] if test.get("summary") else []
    lines += [say("example_request"), text.json_text(test.get("example"))]
    return show(options, test, "\n".join(lines))
