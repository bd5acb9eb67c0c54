"""The options that questions to result files share, under the same names."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import Any, Literal

from forelock.arguments import proportion
from forelock.help_words import fill
from forelock.problem import FileFault
from forelock.questions.pictures.paper import SCREEN, WIDE, Paper, column

ASPECTS = ("content", "task", "task_version", "dataset", "dataset_version", "scorer", "judge")
"""What makes another question of it where two results differ in it."""
Adds = Callable[[argparse.ArgumentParser], Any]
FORMS: tuple[Literal["svg", "pdf", "png"], ...] = ("svg", "pdf", "png")
"""Files that a picture is written as."""


def _add_pictures(parser: argparse.ArgumentParser) -> None:
    """Add the options that write the answer's picture to files."""
    group = parser.add_argument_group("pictures")
    for form in FORMS:
        group.add_argument(f"--{form}", metavar="FILE", help=f"also write the picture, as {form.upper()}")
    group.add_argument(
        "--width",
        type=_parse_millimetres,
        metavar="MM",
        help="set it this wide: 85 is one column of a journal, 180 both",
    )
    group.add_argument("--serif", action="store_true", help="letters with serifs, as in most papers")
    group.add_argument("--mono", action="store_true", help="greys alone, for printers without colours")


def _parse_millimetres(text: str) -> float:
    """Parse a picture's width in millimetres, `mm` behind it or not."""
    try:
        mm = float(text.removesuffix("mm"))
    except ValueError:
        mm = 0.0
    if not LEAST_MM <= mm <= MOST_MM:
        raise argparse.ArgumentTypeError(
            fill(
                "%(argument)r is no width: write millimetres from %(least)s to %(most)s, such as 85",
                argument=text,
                least=LEAST_MM,
                most=MOST_MM,
            )
        )
    return mm


def paper_of(options: argparse.Namespace) -> Paper:
    """Return what pictures are drawn on as the options say; without any, as wide as where they stand.

    Raises:
        FileFault: they are said of a picture that is not written.
    """
    given = {name: getattr(options, name, None) for name in ("width", "serif", "mono")}
    named = [name for name, value in given.items() if value]
    if not named:
        return SCREEN
    if not any(getattr(options, form, None) for form in FORMS):
        raise FileFault(f"--{named[0]} is of a picture: name its file with --pdf, --svg or --png")
    return column(given["width"] or WIDE, serif=bool(given["serif"]), mono=bool(given["mono"]))


LEAST_MM, MOST_MM = 40, 400
_OPTIONS: dict[str, Adds] = {
    "cluster": lambda parser: parser.add_argument(
        "--cluster", metavar="NAME", help="where the files say what items share, e.g. conversation or repo"
    ),
    "slice": lambda parser: parser.add_argument(
        "--slice", metavar="NAME", help="also answer for every slice, e.g. category"
    ),
    "suite": lambda parser: parser.add_argument(
        "--suite", metavar="NAME", help="answer for a suite: where the files say which task an item is of; `task` is "
        "each file's own where there is no such column",
    ),
    "weights": lambda parser: parser.add_argument(
        "--weights", metavar="HOW", help="with --suite: equal (default), items, or a JSON file of weights by task"
    ),
    "new-tasks": lambda parser: parser.add_argument(
        "--new-tasks", action="store_true", help="with --suite: speak of tasks like these, not of these alone"
    ),
    "metric": lambda parser: parser.add_argument(
        "--metric", metavar="NAME", help="which measure, where the files have several"
    ),
    "lower": lambda parser: parser.add_argument(
        "--lower",
        action=argparse.BooleanOptionalAction,
        default=None,
        help="lower values are better (default: as the files say, else higher)",
    ),
    "set": lambda parser: parser.add_argument(
        "--set", action="append", default=[], metavar="FIELD=VALUE",
        help="a line of the import section (docs/imports.md), e.g. item_id=task or limit=missing",
    ),
    "format": lambda parser: parser.add_argument(
        "--format", metavar="NAME", help="what wrote the files, where it cannot be told"
    ),
    "allow-different": lambda parser: parser.add_argument(
        "--allow-different", action="append", default=[], choices=ASPECTS, metavar="ASPECT",
        help=f"compare results that differ in {', '.join(ASPECTS)}",
    ),
    "alpha": lambda parser: parser.add_argument(
        "--alpha", type=proportion, default=0.05, help="two-sided level (default 0.05)"
    ),
    "explain": lambda parser: parser.add_argument(
        "--explain", action="store_true", help="also print the whole sentence and how it was computed"
    ),
    "markdown": lambda parser: parser.add_argument(
        "--markdown", metavar="FILE", help="also write the answer as a pull-request comment"
    ),
    "pictures": _add_pictures,
    "ascii": lambda parser: parser.add_argument(
        "--ascii", action="store_true", help="draw with plain characters"
    ),
}  # fmt: skip
OF_SUITES = ("suite", "weights", "new-tasks")
"""Those of several tasks at once."""
SHARED = tuple(name for name in _OPTIONS if name not in OF_SUITES)
"""Those that every question has that does not say otherwise."""


def add_options(parser: argparse.ArgumentParser, *names: str, without: tuple[str, ...] = ()) -> None:
    """Add the shared options: those of these names, or all but some; `--json` is every command's.

    Args:
        names: such as `cluster`; none: all of `SHARED`.
        without: of all, those that say nothing of this question.
    """
    for name in names or SHARED:
        if name not in without:
            _OPTIONS[name](parser)


def add_records(parser: argparse.ArgumentParser) -> None:
    """Add the option that writes scores in a format that others read."""
    parser.add_argument(
        "--every-eval-ever",
        metavar="DIR",
        help="also write the scores in the format Every Eval Ever, into this folder",
    )
