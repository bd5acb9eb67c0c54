"""`forelock items`: which items tell systems apart, which may be wrong, and how many it takes; here or by a service."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from forelock.commands.common import either
from forelock.local import Local
from forelock.questions.options import add_options
from forelock.words import say_of

if TYPE_CHECKING:
    from forelock.client import Client

ANALYSIS = "item-analysis"


def add(commands: Any) -> None:
    """Add the parser of this command to the command line."""
    parser = either(
        commands,
        "items",
        _items,
        "Several systems' files: dead items, wrong labels, how many items it takes.",
    )
    parser.add_argument(
        "inputs", nargs="+", metavar="FILE", help="one file that holds all systems, or a file for each"
    )
    parser.add_argument("--arms", metavar="A,B,…", help="which systems (default: all)")
    add_options(parser, without=("cluster", "slice", "lower", "alpha"))


def _items(options: argparse.Namespace, asked_of: Client | Local) -> int:
    """Analyse the items of several systems' files, and show the answer."""
    from forelock.questions.forms.form import show_answer
    from forelock.questions.items import describe_items, form_of
    from forelock.questions.tables.choices import Choices

    def run(request: dict[str, Any]) -> dict[str, Any]:
        return asked_of.run(ANALYSIS, request, timeout=options.timeout)

    answer, reading = describe_items(asked_of, options.inputs, Choices.of(options), run)
    show_answer(options, form_of(answer, say_of(options)), answer, reading)
    return 0
