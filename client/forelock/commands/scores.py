"""`forelock score`: one system's mean, how sure it is, and whether it is enough; here or by a service."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING, Any

from forelock import files
from forelock.commands.common import either, proportion, setting, show
from forelock.local import Local
from forelock.problem import FileFault

if TYPE_CHECKING:
    from forelock.client import Client


def add(commands: Any) -> None:
    """Add the parser."""
    parser = either(
        commands, "score", _score, "One system's result files: how sure its score is, and is it enough."
    )
    parser.add_argument("inputs", nargs="+", metavar="FILE", help="files of a harness, of one system")
    parser.add_argument(
        "--at-least", metavar="SCORE", help="what it should reach: 95%%, 0.95, or of scores 3.5"
    )
    parser.add_argument("--at-most", metavar="SCORE", help="what it should not exceed, where low is good")
    parser.add_argument("--lower", action="store_true", help="lower values are better")
    parser.add_argument("--cluster", metavar="NAME", help="where the file says what items share, e.g. repo")
    parser.add_argument("--slice", metavar="NAME", help="also score every slice, e.g. category")
    parser.add_argument("--metric", metavar="NAME", help="which measure, where the file has several")
    parser.add_argument("--arm", metavar="NAME", help="which system, where a file holds several")
    parser.add_argument(
        "--range", metavar="LOW..HIGH", help="the least and the greatest score there can be, e.g. 1..5"
    )
    parser.add_argument("--format", help="what wrote the files, where it cannot be told")
    parser.add_argument("--missing", choices=("exclude_pair", "fail"), default="exclude_pair",
                        help="items without a result: leave out, or count as the worst there can be")  # fmt: skip
    parser.add_argument("--alpha", type=proportion, default=0.05, help="two-sided level (default 0.05)")
    parser.add_argument("--set", action="append", default=[], metavar="FIELD=VALUE",
                        help="a line of the import section (docs/imports.md), e.g. item_id=task")  # fmt: skip
    parser.add_argument("--markdown", metavar="FILE", help="also write the answer as a pull-request comment")
    parser.add_argument("--ascii", action="store_true", help="draw with plain characters")


def _score(options: argparse.Namespace, asked_of: Client | Local) -> int:
    from forelock import score_text
    from forelock.gate_ways import Asked
    from forelock.scoring import rows_of_one, threshold_of

    if options.at_least is not None and (options.at_most is not None or options.lower):
        raise FileFault("--at-least is for scores of which higher is better: name --at-most where lower is")
    asked = Asked(
        metric=options.metric,
        cluster=options.cluster,
        slice=options.slice,
        arms=options.arm,
        form=options.format,
        fields=dict(setting(each) for each in options.set),
        range=options.range,
    )
    bar = options.at_least if options.at_most is None else options.at_most
    request: dict[str, Any] = {"alpha": options.alpha, "missing": options.missing}
    if bar is not None:
        request["threshold"] = threshold_of(bar)
    if options.lower or options.at_most is not None:
        request["prefers"] = "lower"
    rows = rows_of_one(asked_of, options.inputs, asked)
    answer = asked_of.score({**rows.body, **request})
    encoding = "ascii" if options.ascii else getattr(sys.stdout, "encoding", None)
    readable = score_text.score_text(answer, rows.remarks, encoding=encoding)
    show(options, {**answer, "read": rows.section}, readable)
    if options.markdown is not None:
        files.write_bytes(options.markdown, score_text.markdown(answer, rows.remarks).encode())
    return score_text.exit_code(answer)
