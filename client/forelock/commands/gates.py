"""`forelock gate` and `forelock rank`: which one to ship, and how systems stand; here or by a service."""

from __future__ import annotations

import argparse
import shlex
import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from forelock import files, text
from forelock.commands.common import either, proportion, setting, show, takes_columns, tell
from forelock.local import Local
from forelock.problem import FileFault, ForelockProblem

if TYPE_CHECKING:
    from forelock.client import Client

LEADERBOARD = "leaderboard"


def add(commands: Any) -> None:
    """Add the parsers."""
    parser = either(commands, "gate", _gate, "Two result files: better, no worse, worse, or cannot tell.")
    parser.add_argument(
        "inputs", nargs="+", metavar="BASE CAND", help="files of a harness; or one that holds both arms"
    )
    parser.add_argument("--margin", help="the loss that would be accepted: 2pp, or 0.5score")
    parser.add_argument(
        "--range", metavar="LOW..HIGH", help="the least and the greatest score there can be, e.g. 1..5"
    )
    parser.add_argument(
        "--cluster", metavar="NAME", help="where the file says what items share, e.g. conversation"
    )
    parser.add_argument("--metric", metavar="NAME", help="which measure, where the file has several")
    parser.add_argument("--slice", metavar="NAME", help="also compare every slice, e.g. category")
    parser.add_argument("--arms", metavar="BASE,CAND", help="which arms, where a file holds several")
    parser.add_argument("--format", help="what wrote the files, where it cannot be told")
    parser.add_argument("--missing", choices=("exclude_pair", "fail"), default="exclude_pair",
                        help="items without a result in one arm: leave out, or count as failed")  # fmt: skip
    parser.add_argument("--lower", action="store_true", help="lower values are better")
    parser.add_argument("--unseen", choices=("items", "clusters"), default="items",
                        help="what --cluster has to rule out unseen: lost items, or whole clusters")  # fmt: skip
    parser.add_argument("--alpha", type=proportion, default=0.05, help="two-sided level (default 0.05)")
    parser.add_argument("--set", action="append", default=[], metavar="FIELD=VALUE",
                        help="a line of the import section (docs/imports.md), e.g. limit=missing")  # fmt: skip
    parser.add_argument(
        "--plan", metavar="ID", help="import both files under this locked plan and wait for its verdict"
    )
    parser.add_argument("--markdown", metavar="FILE", help="also write the answer as a pull-request comment")
    parser.add_argument("--ascii", action="store_true", help="draw with plain characters")

    parser = either(commands, "rank", _rank, "Several systems on the same items: which can be told apart.")
    parser.add_argument("file", help="CSV or NDJSON: item_id, arm and value; perhaps cluster")
    takes_columns(parser, "item_id, arm, value or cluster")
    parser.add_argument("--lower", action="store_true", help="lower values are better")
    parser.add_argument("--alpha", type=proportion, default=0.05, help="level over all pairs (default 0.05)")


def _gate(options: argparse.Namespace, asked_of: Client | Local) -> int:
    if len(options.inputs) > 2:
        raise FileFault("gate takes two files, the baseline's first; a folder stands for the files in it")
    if options.plan is not None:
        return _by_plan(options, asked_of)
    from forelock import gate_text
    from forelock.gate_ways import Asked
    from forelock.gating import rows_of

    fields = dict(setting(each) for each in options.set)
    asked = Asked(
        options.margin,
        options.metric,
        options.cluster,
        options.slice,
        options.arms,
        options.format,
        fields,
        options.range,
    )
    rows = rows_of(asked_of, options.inputs, asked)
    body = {**rows.body, "alpha": options.alpha, "missing": options.missing}
    body |= {"prefers": "lower"} if options.lower else {}
    body |= {"unseen": options.unseen} if options.unseen != "items" else {}
    answer = asked_of.compare(body)
    answer["next"] = answer["next"].replace("BASE CAND", shlex.join(options.inputs))
    encoding = "ascii" if options.ascii else getattr(sys.stdout, "encoding", None)
    show(
        options,
        {**answer, "read": rows.section},
        gate_text.gate_text(answer, rows.remarks, encoding=encoding),
    )
    if options.markdown is not None:
        files.write_bytes(options.markdown, gate_text.markdown(answer, rows.remarks).encode())
    return gate_text.exit_code(answer)


def _by_plan(options: argparse.Namespace, client: Client | Local) -> int:
    """The verdict of a locked plan: what the files lack, it lacks, and its rule decides in place of ours."""
    if isinstance(client, Local):
        raise FileFault("a plan is kept by a service: name it with --url or FORELOCK_URL, and a key")
    from forelock.import_files import Packed, imports_of

    plan = client.preregistration(options.plan)["plan"]
    hypotheses = plan.get("hypotheses") or ()
    arms = {(hypothesis["baseline"], hypothesis["candidate"]) for hypothesis in hypotheses}
    if options.arms is not None:
        arms = {tuple(options.arms.split(",", 1))}
    if len(arms) != 1 or len(options.inputs) != 2:
        raise FileFault("name two files, and with --arms BASELINE,CANDIDATE the plan's arms that they are of")
    section = plan.get("import") or {}
    for path, arm in zip(options.inputs, next(iter(arms)), strict=True):
        form, ones = imports_of([path], options.format or section.get("format"))
        for at, one in enumerate(ones, start=1):
            query = {"format": form} | ({} if section.get("arm") else {"arm": arm})
            query |= {"complete": "true"} if at == len(ones) else {}
            with Packed(one) as body:
                client.import_file(options.plan, body, query=query)
    verdict = client.verdict(options.plan, wait=True, timeout=options.timeout)
    show(options, verdict, text.verdict_text(verdict))
    return text.exit_code(verdict)


def _rank(options: argparse.Namespace, asked_of: Client | Local) -> int:
    from forelock.hints import Refused, helped
    from forelock.ranking import ranked_text, request_of

    def ranked(columns: Mapping[str, str]) -> tuple[dict[str, Any], tuple[str, ...]]:
        arms, remarks = request_of(options.file, columns)
        request = arms | {"alpha": options.alpha} | ({"better": "lower"} if options.lower else {})
        return asked_of.run(LEADERBOARD, request, timeout=options.timeout), remarks

    try:
        answer, remarks = ranked(dict(setting(each) for each in options.set))
    except Refused as refused:
        raise helped(ranked, refused) from None
    except ForelockProblem as problem:
        if problem.code == "not_found":
            tell("several arms cannot be ranked here: neither this version nor the service has a leaderboard")
            return 1
        raise
    return show(options, answer, ranked_text(answer, remarks))
