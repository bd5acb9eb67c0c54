"""`--acknowledge` of the commands that lock: codes of lint warnings, and the option to write where some are open."""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Literal

from forelock.problem import ForelockProblem

_FIX = re.compile(r"acknowledge '(\w+)'")


def add_to(parser: argparse.ArgumentParser) -> None:
    """Add the option; it may be repeated, and one may hold several codes."""
    parser.add_argument(
        "--acknowledge",
        action="append",
        default=[],
        metavar="CODES",
        help="warnings taken note of: A,B,… or all",
    )


def codes_of(options: Sequence[str]) -> list[str] | Literal["all"]:
    """Return the codes in the order they were named, or `all`."""
    codes = list(dict.fromkeys(code for option in options for code in option.replace(",", " ").split()))
    return "all" if "all" in codes else codes


@contextmanager
def name_option(options: Sequence[str]) -> Iterator[None]:
    """A refusal for open warnings ends with the option that would acknowledge them beside those that were named.

    Raises:
        ForelockProblem: what the service refused.
    """
    try:
        yield
    except ForelockProblem as problem:
        missing = [match[1] for fault in problem.errors if (match := _FIX.search(fault.fix)) is not None]
        if problem.code != "warnings_not_acknowledged" or not missing:
            raise
        codes = ",".join(dict.fromkeys([*codes_of(options), *missing]))
        raise ForelockProblem(
            problem.status,
            problem.code,
            f"{problem.detail}; to lock with them, add --acknowledge {codes}",
            problem.errors,
            problem.request_id,
        ) from problem
