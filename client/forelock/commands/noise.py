"""`forelock noise`: repeated runs of two arms, where their error comes from; of one, how far it can be relied on."""

from __future__ import annotations

import argparse
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from forelock.arguments import positive, proportion
from forelock.commands.common import either
from forelock.local import Local
from forelock.problem import FileFault
from forelock.questions.options import add_options
from forelock.text import plain
from forelock.words import say_of

if TYPE_CHECKING:
    from forelock.client import Client


def add(commands: Any) -> None:
    """Add the parser of this command to the command line."""
    parser = either(
        commands,
        "noise",
        _measure_noise,
        "Repeated runs of two arms: noise, and what to buy next; of one: its reliability.",
    )
    parser.add_argument(
        "inputs",
        nargs="+",
        metavar="FILE",
        help="repeated runs of one system or two; or a file for each of two",
    )
    parser.add_argument(
        "--arms", metavar="BASE,CAND", help="which systems, or one (default: the first is the baseline)"
    )
    for name, what in (("item", "a new item"), ("run", "one run"), ("judge", "judging a run once")):
        parser.add_argument(
            f"--cost-{name}", type=float, default=1.0, metavar="C", help=f"what {what} costs (default 1)"
        )
    parser.add_argument("--budget", type=float, help="what may be spent (default: what these data cost)")
    parser.add_argument("--most-items", type=positive, metavar="N", help="no more items than these exist")
    parser.add_argument("--at-least", type=proportion, default=0.9, metavar="SHARE",
                        help="of one arm: how often a reliable item is right (default 90%%)")  # fmt: skip
    add_options(parser, without=("lower",))


def _measure_noise(options: argparse.Namespace, asked_of: Client | Local) -> int:
    """Measure the noise of one system's repeated runs, or of the difference between two systems, and show it."""
    from forelock.questions import noise
    from forelock.questions.forms import reliability_form
    from forelock.questions.forms.form import Form, show_answer
    from forelock.questions.tables.choices import Choices

    if len(options.inputs) > 2:
        raise FileFault("noise takes one file, or two of a baseline and a candidate")

    def run(request: dict[str, Any], answers: int = 1) -> dict[str, Any]:
        name = "reliability" if "values" in request else "repeated"
        rows = {name: column for name, column in request.items() if name != "item_ids"}
        return asked_of.run(
            name, rows | _read_request(options, name, options.alpha / answers), timeout=options.timeout
        )

    def form_of(request: dict[str, Any], answer: dict[str, Any], answers: int = 1) -> Form:
        if "values" in request:
            name = reading.systems[0].name
            return reliability_form.form_of(answer, name, request["item_ids"], say_of(options))
        return noise.form_of(answer, reading, options.alpha / answers, say_of(options))

    choices = Choices.of(options)
    reading = noise.read_runs(asked_of, options.inputs, choices, run)
    request = noise.request_of(reading)
    reading = replace(reading, remarks=[*reading.remarks, *noise.left_out(reading)])
    answer = run(request)
    form = form_of(request, answer)
    if "values" in request:
        answer = {**answer, "item_ids": request["item_ids"]}
    if choices.slice is not None:
        slices = noise.by_slice(reading, run)
        answer["slices"] = {
            name: {"reason": part} if isinstance(part, str) else part for name, _, part in slices
        }
        lines = [
            (name, part if isinstance(part, str) else form_of(rows, part, len(slices)).headline)
            for name, rows, part in slices
        ]
        form = replace(
            form, parts=[*form.parts, *(("slice", f"{plain(name)}: {line}") for name, line in lines)]
        )
    show_answer(options, form, answer, reading)
    return 0


def _read_request(options: argparse.Namespace, name: str, alpha: float) -> dict[str, Any]:
    """Return what is asked of the runs of one system, or of two."""
    if name == "reliability":
        if options.budget is not None or options.most_items is not None:
            raise FileFault("--budget and --most-items are for two arms: name them with --arms BASE,CAND")
        return {"level": 1 - alpha, "least_share": options.at_least}
    costs = {unit: getattr(options, f"cost_{unit}") for unit in ("item", "run", "judge")}
    body: dict[str, Any] = {"alpha": alpha, "level": 1 - alpha, "costs": costs}
    beside = {"budget": options.budget, "most_items": options.most_items}
    return body | {member: value for member, value in beside.items() if value is not None}
