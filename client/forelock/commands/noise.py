"""`forelock noise`: where the error of a comparison comes from, and what to spend on next; here or by a service."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from forelock.commands.common import either, positive, setting, show, takes_columns
from forelock.local import Local

if TYPE_CHECKING:
    from forelock.client import Client


def add(commands: Any) -> None:
    """Add the parser."""
    parser = either(
        commands, "noise", _noise, "Repeated runs: is the difference noise, and what to buy next."
    )
    parser.add_argument("file", help="CSV: item_id, arm, run and value; perhaps judge and cluster")
    parser.add_argument("--arms", metavar="BASE,CAND", help="which arms (default: the first is the baseline)")
    takes_columns(parser, "item_id, arm, run, value, judge or cluster")
    for name, what in (("item", "a new item"), ("run", "one run"), ("judge", "judging a run once")):
        parser.add_argument(
            f"--cost-{name}", type=float, default=1.0, metavar="C", help=f"what {what} costs (default 1)"
        )
    parser.add_argument("--budget", type=float, help="what may be spent (default: what these data cost)")
    parser.add_argument("--most-items", type=positive, metavar="N", help="no more items than these exist")
    parser.add_argument("--alpha", type=float, default=0.05, help="two-sided level (default 0.05)")


def _noise(options: argparse.Namespace, asked_of: Client | Local) -> int:
    from forelock.noise import noise_text, request_of

    request, remarks = request_of(options.file, options.arms, dict(setting(each) for each in options.set))
    request |= {"alpha": options.alpha, "level": 1 - options.alpha}
    request["costs"] = {name: getattr(options, f"cost_{name}") for name in ("item", "run", "judge")}
    if options.budget is not None:
        request["budget"] = options.budget
    if options.most_items is not None:
        request["most_items"] = options.most_items
    answer = asked_of.run("repeated", request, timeout=options.timeout)
    return show(options, answer, noise_text(answer, remarks))
