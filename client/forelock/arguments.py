"""Arguments of the command line: settings, proportions and counts."""

from __future__ import annotations

import argparse
import math

from forelock.help_words import fill, translate
from forelock.problem import FileFault


def setting(argument: str) -> tuple[str, str]:
    """Read one `FIELD=VALUE` of `--set`."""
    name, equals, value = argument.partition("=")
    if not equals:
        raise FileFault(f"--set takes FIELD=VALUE, and not '{argument}'")
    return name, value


def proportion(argument: str) -> float:
    """Return a share of the whole: `0.65`, or `65%`. A bare 65 is asked back: 1 could be either."""
    text, percent, rest = argument.strip().partition("%")
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    share = number / 100 if percent else number
    if rest or not math.isfinite(number):
        raise argparse.ArgumentTypeError(
            fill("'%(argument)s' is no proportion: write one such as 0.65 or 65%%", argument=argument)
        )
    if not 0 <= share <= 1:
        meant = "%(argument)s is no proportion: write one from 0 to 1, or 0%% to 100%%"
        if 1 < number <= 100:
            meant = "%(argument)s is no proportion: write %(share)s or %(percent)s%%"
        raise argparse.ArgumentTypeError(
            fill(meant, argument=argument, share=f"{number / 100:g}", percent=f"{number:g}")
        )
    return share


def positive(argument: str) -> int:
    """Read a whole number of at least 1."""
    number = int(argument)
    if number < 1:
        raise argparse.ArgumentTypeError(translate("must be 1 or more"))
    return number
