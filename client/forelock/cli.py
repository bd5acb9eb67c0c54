"""The `forelock` command: what an eval job and a researcher need; the server adds its own subcommands."""

from __future__ import annotations

import argparse
import gc
import os
import sys
from collections.abc import Mapping, Sequence
from importlib import import_module
from io import TextIOWrapper
from typing import Any

from forelock import text, topics
from forelock.commands.common import EPILOG
from forelock.help_words import fill, speaking, translate
from forelock.problem import FileFault, ForelockError, ForelockProblem
from forelock.server_package import translator_of
from forelock.words import language_asked, language_of, split_language, without_language

NOUNS: Mapping[str, tuple[str, ...]] = {
    "tests": ("run", "tests"),
    "scores": ("score",),
    "items": ("items",),
    "gates": ("gate", "rank"),
    "noise": ("noise",),
    "resolution": ("resolve", "audit"),
    "plans": ("plan", "lock"),
    "documents": ("report", "chart"),
    "states": ("amend", "name-arm", "close", "withdraw", "run-token", "runs", "family"),
    "results": ("submit", "progress", "batches", "void"),
    "labels": ("labels",),
    "imports": ("import",),
    "spool": ("spool",),
    "verdicts": ("verdict", "wait", "verdicts"),
    "seals": ("unblind", "erase"),
    "after": ("deviations", "looks", "multiverse", "calibrate"),
    "bundles": ("bundle", "receipts", "checkpoint", "verify"),
    "artefacts": ("artefacts",),
    "exports": ("export", "stamps"),
    "outside": ("webhooks", "mlflow", "links", "badge"),
    "keys": ("keys",),
    "log": ("log",),
    "mcp": ("mcp",),
    "completion": ("completion",),
}
"""Modules of commands, in the order of the help, and the commands of each: one command loads no other's module."""
LOCAL = frozenset({"run", "tests", "score", "items", "gate", "rank", "noise", "resolve", "audit"})
"""Commands that compute here."""


class _Version(argparse.Action):
    """Looks the version up where it is asked for."""

    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> None:
        from importlib.metadata import version

        parser.exit(message=f"forelock {version('forelock')}\n")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; returns its exit status."""
    line = sys.argv[1:] if arguments is None else arguments
    alone, arguments = arguments is None, _put_language_last(line)
    if alone and arguments and arguments[0] in LOCAL:  # in a process of its own
        # modules stay: to search them for garbage took a tenth of a short answer
        gc.set_threshold(100_000)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # a terminal that cannot print ± says so in ASCII
    with speaking(language_asked(line)):
        if (screen := _screen(arguments)) is not None:
            print(screen)
            return 0 if arguments else 2
        options = _parse(_parser(arguments), arguments)
    try:
        status: int = options.handler(options)
    except ForelockProblem as problem:
        print(
            text.problem_text(problem.translated or problem, translator_of(language_of(options))),
            file=sys.stderr,
        )
        return 1
    except FileFault as fault:
        print(f"forelock: {text.plain(translator_of(language_of(options))(str(fault)))}", file=sys.stderr)
        return 2
    except ForelockError as error:
        print(f"forelock: {text.plain(translator_of(language_of(options))(str(error)))}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:
        sys.stderr.close()
        return 1
    return status


def _put_language_last(line: Sequence[str]) -> Sequence[str]:
    """Return a command line whose `--lang` before the command stands at its end, where commands take it.

    One that stands behind the command counts more. Commands of the server take none.
    """
    asked, rest = split_language(line)
    if not asked or not rest:
        return line
    ours = rest[0].startswith("-") or rest[0] == "help" or any(rest[0] in names for names in NOUNS.values())
    if not ours or without_language(rest) != tuple(rest):
        return rest
    at = rest.index("--") if "--" in rest else len(rest)
    return [*rest[:at], *asked, *rest[at:]]


def _screen(arguments: Sequence[str]) -> str | None:
    """Return what `forelock`, `forelock help` and `forelock help TOPIC` show, or None where a command is asked."""
    if not arguments or arguments[0] in ("-h", "--help"):
        arguments = ("help", *arguments[1:])
    if arguments[0] != "help":
        return None
    arguments = without_language(arguments)
    if len(arguments) > 2:
        return None
    topic = arguments[1] if len(arguments) > 1 else ""
    parser, known = _parser_of(tuple(NOUNS), server=True)
    summary = topics.summaries(parser)
    if topic == "":
        return topics.first_screen(summary)
    if topic == "all":
        return f"{topics.every_command(summary)}\n\n{translate(EPILOG).rstrip()}"
    if topic in topics.TOPICS:
        return topics.topic_screen(topic, summary)
    if topic not in known:
        near = topics.nearest(topic, [*topics.TOPICS, *known])
        ask = fill("did you mean `%(near)s`?", near=f"forelock help {near}")
        if not near:
            ask = translate("`forelock help` lists the topics")
        parser.error(fill("there is no topic or command %(word)r; %(ask)s", word=topic, ask=ask))
    return known[topic].format_help().rstrip("\n")


def ask(arguments: Sequence[str]) -> list[Any]:
    """Return what `forelock ARGUMENTS` would print of result files: of each answer its form, its JSON, and its remarks.

    Raises:
        ForelockError: what the command would say on its way out.
        SystemExit: after it was printed what the arguments lack.
    """
    options = _parse(_parser(arguments), arguments)
    if getattr(options, "lang", None) is None:
        options.lang = "en"  # whoever asks sits elsewhere: this process's LANG says nothing of them
    options.answers = []
    options.handler(options)
    answers: list[Any] = options.answers
    return answers


def _parse(parser: topics.Parser, arguments: Sequence[str]) -> argparse.Namespace:
    """Options may stand between the inputs of a command that takes any number of them."""
    options, rest = parser.parse_known_args(arguments)
    inputs = getattr(options, "inputs", None)
    if rest and (inputs is None or any(word.startswith("-") for word in rest)):
        parser.refuse_unknown(rest)
    if rest:
        options.inputs = [*options.inputs, *rest]
    return options


def _parser(arguments: Sequence[str]) -> topics.Parser:
    """Return a parser that knows the command of the arguments, or every command where they name none that is known."""
    first = arguments[0] if arguments else ""
    if first in LOCAL:  # pydantic looks for plugins in the metadata of every distribution there is
        os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")
    if first == "--version":  # it needs no command
        return _parser_of((), server=False)[0]
    for noun, names in NOUNS.items():
        if first in names:
            return _parser_of((noun,), server=False)[0]
    if first and not first.startswith("-"):
        parser, known = _parser_of((), server=True)
        if first in known:  # `serve` stays in memory as long as the service runs: with what it needs alone
            return parser
    return _parser_of(tuple(NOUNS), server=True)[0]


def _parser_of(
    nouns: Sequence[str], *, server: bool
) -> tuple[topics.Parser, Mapping[str, argparse.ArgumentParser]]:
    """A parser with the commands of these modules, and the server's where it is installed; its commands by name."""
    parser = topics.Parser(
        prog="forelock",
        description="Lock the plan, then look: post evaluation results and read verdicts.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action=_Version, nargs=0, help="show the version and exit")
    parser.set_defaults(whole=whole, ask=ask)  # for the commands that describe, or ask, all the others
    commands = parser.add_subparsers(
        title="commands", metavar="COMMAND", required=True, parser_class=topics.Parser
    )
    for noun in nouns:
        import_module(f"forelock.commands.{noun}").add(commands)
    if server:
        from forelock.server_package import offers

        for entry in offers("forelock.commands"):
            entry.load()(commands)
    return parser, commands.choices


def whole() -> topics.Parser:
    """Return the parser with every command, the server's included where it is installed."""
    return _parser(())


if __name__ == "__main__":
    sys.exit(main())
