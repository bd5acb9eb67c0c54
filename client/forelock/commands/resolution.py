"""`forelock resolve` and `forelock audit`: what data of a size can show, from a pilot or from published accuracies."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from forelock import text
from forelock.arguments import positive, proportion
from forelock.commands.common import either
from forelock.local import Local
from forelock.printing import show
from forelock.problem import FileFault

if TYPE_CHECKING:
    from forelock.client import Client

Json = Mapping[str, Any]


def add(commands: Any) -> None:
    """Add the parsers."""
    parser = either(
        commands, "resolve", _resolve, "The smallest difference that data like a pilot's can show."
    )
    parser.add_argument(
        "inputs", nargs="+", metavar="PILOT",
        help="CSV or NDJSON with baseline and candidate, perhaps cluster; or two result files, or one of both arms",
    )  # fmt: skip
    parser.add_argument("--cluster", metavar="NAME", help="of result files: where they say what items share")
    parser.add_argument("--metric", metavar="NAME", help="of result files: which measure")
    parser.add_argument(
        "--arms", metavar="BASE,CAND", help="of result files: which arms, where one holds several"
    )
    parser.add_argument("--format", help="of result files: what wrote them, where it cannot be told")
    parser.add_argument("--set", action="append", default=[], metavar="FIELD=VALUE",
                        help="of result files: a line of the import section, e.g. item_id=id")  # fmt: skip
    _add_common(parser)

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
    _add_common(parser)


def _add_common(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--effect", action="append", metavar="SIZE", help="a true difference, e.g. 2pp; may be repeated"
    )
    parser.add_argument("--alpha", type=proportion, default=0.05, help="two-sided level (default 0.05)")


def _resolve(options: argparse.Namespace, asked_of: Client | Local) -> int:
    columns, remarks = _pilot(options, asked_of)
    resolution = asked_of.resolve({**columns, **_asked(options)})
    lines = [
        text.wrapped(resolution["sentence"]),
        "",
        *_reaches(resolution["reach"], points=resolution["binary"]),
    ]
    spread = (
        f"differ on {resolution['discordance']:.1%} of the items"
        if resolution["binary"]
        else f"SD {resolution['sd']:.4g}"
    )
    icc = "" if resolution["icc"] is None else f", intraclass correlation {resolution['icc']:.3f}"
    return show(
        options,
        resolution,
        "\n".join(
            [
                *lines,
                f"  the pilot's arms {spread}{icc}",
                "",
                *remarks,
                text.wrapped(f"next: {resolution['next']}"),
            ]
        ),
    )


def _pilot(options: argparse.Namespace, asked_of: Client | Local) -> tuple[dict[str, Any], list[str]]:
    """Columns of a pilot's file, or of two result files as a gate reads them; and what that took for what."""
    from forelock.pilot_files import is_pilot, paired_pilot, read_pilot
    from forelock.questions.asked import Asked
    from forelock.questions.gate import read_pair

    if len(options.inputs) > 2:
        raise FileFault("resolve takes a pilot's file, or two result files, the baseline's first")
    if len(options.inputs) == 2 or not is_pilot(options.inputs[0]):
        reading = read_pair(asked_of, options.inputs, Asked.of(options), {})
        return paired_pilot(reading.systems), [text.wrapped(f"note: {remark}") for remark in reading.remarks]
    (pilot, *others) = read_pilot(options.inputs[0])
    if others:
        raise FileFault(f"{options.inputs[0]}: holds pilots of several hypotheses; give one")
    return {name: pilot[name] for name in ("baseline", "candidate", "clusters") if name in pilot}, []


def _audit(options: argparse.Namespace, asked_of: Client | Local) -> int:
    asked = {"n": options.n, "baseline": options.baseline, "candidate": options.candidate, **_asked(options)}
    asked |= {} if options.clusters is None else {"n_clusters": options.clusters}
    asked |= {} if options.icc is None else {"icc": options.icc}
    assessed = asked_of.audit(asked)
    lines = [text.wrapped(assessed["sentence"])]
    for each, words in ((assessed["least"], "as few"), (assessed["most"], "as many")):
        lines += ["", f"  {words} discordant items as the accuracies allow ({each['n_discordant']}):"]
        lines += _reaches(each["reach"], points=True)
    return show(options, assessed, "\n".join([*lines, "", text.wrapped(f"next: {assessed['next']}")]))


def _asked(options: argparse.Namespace) -> dict[str, Any]:
    asked: dict[str, Any] = {"alpha": options.alpha}
    if options.effect:
        asked["effects"] = [_effect(each) for each in options.effect]
    return asked


def _effect(size: str) -> float:
    points = size.endswith(("pp", "%"))
    try:
        return float(size.removesuffix("pp").removesuffix("%")) / (100 if points else 1)
    except ValueError:
        raise FileFault(f"the effect '{size}' is none: write 2pp, or 0.5 in score units") from None


def _reaches(reaches: list[Json], *, points: bool) -> Iterator[str]:
    for each in reaches:
        head = f"  {each['units']} {each['unit']}"
        ends = [
            "none" if each[name] is None else _amount(each[name], points)
            for name in ("detectable_80", "detectable_90")
        ]
        yield f"{head}: smallest difference {ends[0]} at 80% power, {ends[1]} at 90%; least p {_least(each['least_p'])}"
        for one in each["power"]:
            needed = "beyond reach" if one["needed"] is None else f"{one['needed']} {each['unit']}"
            yield f"{' ' * len(head)}  {one['power']:.1%} power at {_amount(one['effect'], points)}; 80% takes {needed}"


def _least(p: float) -> str:
    return f"{p:.2g}" if p >= 1e-99 else "< 1e-99"


def _amount(value: float, points: bool) -> str:
    return f"{100 * value:.2f} pp" if points else f"{value:.4g}"
