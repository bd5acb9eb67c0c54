"""`forelock resolve` and `forelock audit`: what data of a size can show, from a pilot or from published accuracies."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from forelock.arguments import positive, proportion
from forelock.commands.common import either
from forelock.local import Local
from forelock.problem import FileFault
from forelock.questions.options import add_options
from forelock.words import say_of

if TYPE_CHECKING:
    from forelock.client import Client


def add(commands: Any) -> None:
    """Add the parsers of these commands to the command line."""
    parser = either(
        commands, "resolve", _resolve, "The smallest difference that data like a pilot's can show."
    )
    parser.add_argument(
        "inputs", nargs="+", metavar="PILOT",
        help="files of a harness, the baseline's first; or one that holds both, such as a table of baseline, "
        "candidate and perhaps cluster",
    )  # fmt: skip
    parser.add_argument("--arms", metavar="BASE,CAND", help="which systems, where a file holds several")
    _add_effect(parser)
    add_options(parser, without=("slice", "lower"))

    parser = either(commands, "audit", _audit, "What two published accuracies on the same items can show.")
    parser.add_argument("-n", type=positive, required=True, help="items")
    parser.add_argument(
        "-a", "--candidate", type=proportion, required=True, help="one accuracy: 0.65 or 65%%"
    )
    parser.add_argument(
        "-b", "--baseline", type=proportion, required=True, help="the other one's, which is the baseline"
    )
    parser.add_argument("--clusters", type=positive, metavar="G", help="conversations, documents or the like")
    parser.add_argument("--icc", type=proportion, help="how alike items of a cluster are (default 0.05)")
    _add_effect(parser)
    add_options(parser, "alpha", "explain", "markdown", "pictures", "ascii")


def _add_effect(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--effect", action="append", metavar="SIZE", help="a true difference, e.g. 2pp; may be repeated"
    )


def _resolve(options: argparse.Namespace, asked_of: Client | Local) -> int:
    """Show the smallest difference that data like a pilot's can show."""
    from forelock.questions.forms.form import show_answer
    from forelock.questions.forms.resolve_form import of_pilot
    from forelock.questions.resolve import resolve
    from forelock.questions.tables.choices import Choices

    if len(options.inputs) > 2:
        raise FileFault("resolve takes a pilot's file, or two result files, the baseline's first")
    answer, reading = resolve(asked_of, options.inputs, Choices.of(options), _read_request(options))
    show_answer(options, of_pilot(answer, say_of(options)), answer, reading)
    return 0


def _audit(options: argparse.Namespace, asked_of: Client | Local) -> int:
    """Answer what two published accuracies can show, and print it."""
    from forelock.questions.forms.form import show_answer
    from forelock.questions.forms.resolve_form import of_published

    body = {
        "n": options.n,
        "baseline": options.baseline,
        "candidate": options.candidate,
        **_read_request(options),
    }
    body |= {} if options.clusters is None else {"n_clusters": options.clusters}
    body |= {} if options.icc is None else {"icc": options.icc}
    answer = asked_of.audit(body)
    show_answer(options, of_published(answer, say_of(options)), answer)
    return 0


def _read_request(options: argparse.Namespace) -> dict[str, Any]:
    from forelock.questions.amounts import effect_of

    body: dict[str, Any] = {"alpha": options.alpha}
    if options.effect:
        body["effects"] = [effect_of(size) for size in options.effect]
    return body
