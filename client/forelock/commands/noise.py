"""`forelock noise`: repeated runs of two arms, where their error comes from; of one, how far it can be relied on."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from forelock.commands.common import either, positive, proportion, setting, show, takes_columns
from forelock.local import Local
from forelock.problem import FileFault

if TYPE_CHECKING:
    from forelock.client import Client


def add(commands: Any) -> None:
    """Add the parser."""
    parser = either(
        commands,
        "noise",
        _noise,
        "Repeated runs of two arms: noise, and what to buy next; of one: its reliability.",
    )
    parser.add_argument("file", help="CSV: item_id, run and value; perhaps arm, judge and cluster")
    parser.add_argument(
        "--arms", metavar="BASE,CAND", help="which arms, or one (default: the first is the baseline)"
    )
    takes_columns(parser, "item_id, arm, run, value, judge or cluster")
    for name, what in (("item", "a new item"), ("run", "one run"), ("judge", "judging a run once")):
        parser.add_argument(
            f"--cost-{name}", type=float, default=1.0, metavar="C", help=f"what {what} costs (default 1)"
        )
    parser.add_argument("--budget", type=float, help="what may be spent (default: what these data cost)")
    parser.add_argument("--most-items", type=positive, metavar="N", help="no more items than these exist")
    parser.add_argument("--at-least", type=proportion, default=0.9, metavar="SHARE",
                        help="of one arm: how often a reliable item is right (default 90%%)")  # fmt: skip
    parser.add_argument("--ascii", action="store_true", help="draw with plain characters")
    parser.add_argument("--alpha", type=float, default=0.05, help="two-sided level (default 0.05)")


def _noise(options: argparse.Namespace, asked_of: Client | Local) -> int:
    from forelock.noise import noise_text, request_of

    request, remarks = request_of(options.file, options.arms, dict(setting(each) for each in options.set))
    if "values" in request:
        return _reliability(options, asked_of, request, remarks)
    request |= {"alpha": options.alpha, "level": 1 - options.alpha}
    request["costs"] = {name: getattr(options, f"cost_{name}") for name in ("item", "run", "judge")}
    if options.budget is not None:
        request["budget"] = options.budget
    if options.most_items is not None:
        request["most_items"] = options.most_items
    answer = asked_of.run("repeated", request, timeout=options.timeout)
    return show(options, answer, noise_text(answer, remarks))


def _reliability(
    options: argparse.Namespace, asked_of: Client | Local, request: dict[str, Any], remarks: Sequence[str]
) -> int:
    """Of one arm."""
    from forelock.reliability_text import reliability_text

    if options.budget is not None or options.most_items is not None:
        raise FileFault("--budget and --most-items are for two arms: name them with --arms BASE,CAND")
    item_ids = request.pop("item_ids")
    request |= {"level": 1 - options.alpha, "least_share": options.at_least}
    answer = asked_of.run("reliability", request, timeout=options.timeout)
    encoding = "ascii" if options.ascii else getattr(sys.stdout, "encoding", None)
    readable = reliability_text(answer, item_ids, remarks, encoding=encoding)
    return show(options, {**answer, "item_ids": item_ids}, readable)
