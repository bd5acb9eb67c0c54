"""Repeated runs of two systems, or of one, as the request of a test; and the answer of two part by part."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from forelock.columns import TABLES, obvious
from forelock.problem import FileFault, ForelockProblem
from forelock.questions.forms.figures import has_ends, in_brief
from forelock.questions.forms.form import Form, Group
from forelock.questions.forms.headlines import decides, figures_of, of_noise
from forelock.questions.pictures.drawing import Bar, Bound, Picture
from forelock.questions.rank import MOST_SLICES, labels_of
from forelock.questions.tables.choices import Choices, Opened
from forelock.questions.tables.reading import read_for
from forelock.questions.tables.systems import is_empty, shorten_names, take_two
from forelock.questions.tables.table import Reading, System
from forelock.text import plain
from forelock.words import Say

if TYPE_CHECKING:
    from forelock.client import Client
    from forelock.local import Local

Json = dict[str, Any]
Runs = dict[str, dict[str, float]]
"""Of one item: run to judge to value."""
ROLES = {"run": "replicate", "judge": "judge"}
"""What tells runs and judgements, and the line that names it."""
COMPONENTS = ("item", "item_by_arm", "run", "judge")


def read_runs(
    asked_of: Client | Local,
    paths: Sequence[str],
    choices: Choices,
    run: Callable[[Json], object] = lambda _request: None,
) -> Reading:
    """The one system that is named or there is, or a baseline and a candidate; with what tells runs and judgements.

    Args:
        run: answers a request, to try what a refusal would say.

    Raises:
        FileFault: a file that is not read, or more than two systems and none named.
    """

    def choose(reading: Reading, wanted: Choices) -> Reading:
        held = {system.name: system for system in shorten_names(reading)}
        name = next(iter(held)) if wanted.arms is None and len(held) == 1 else wanted.arms
        if name not in held:
            return take_two(reading, wanted)
        if is_empty(held[name]):
            raise FileFault(
                f"{reading.opened.name}: there is no result of {name}; see why its runs gave none"
            )
        return replace(reading, systems=[held[name]])

    sides = [[path] for path in paths]
    return read_for(
        asked_of, sides, choices, choose, lambda taken: run(request_of(taken)), prepare=_label_runs_and_judges
    )


def _label_runs_and_judges(opened: Opened, choices: Choices) -> Choices:
    """A table's columns of runs and judges are labels: neither has to be a number, and a run may be judged twice."""
    roles = {role: choices.fields[line] for role, line in ROLES.items() if line in choices.fields}
    fields = {name: value for name, value in choices.fields.items() if name != "judge"}
    if roles.get("run") == "order":
        del roles["run"]
    if opened.form in TABLES:
        columns = opened.first.survey["measures"]
        taken = {role: obvious(role, columns) for role in ROLES if role not in roles}
        roles |= {role: column for role, column in taken.items() if column is not None}
    elif "judge" in roles:
        raise FileFault("--set judge=COLUMN is for tables: such files say nothing of judges")
    else:
        roles = {}
    if not roles:
        return choices
    return replace(choices, fields={**fields, "replicate": "order"}, beside=roles)


def request_of(reading: Reading) -> Json:
    """`baseline`, `candidate` and perhaps `clusters`; of one system `item_ids` and `values` in place of both.

    Runs without a value are left out, and so are items that one of two systems has no run of.

    Raises:
        FileFault: a run of an item stands there twice, or no item has a run.
    """
    cells = [cells_of(system) for system in reading.systems]
    item_ids = _in_all(cells)
    if not item_ids:
        raise FileFault(
            f"{reading.opened.name}: no item has a run in every arm: name where the item ids stand (--set item_id=…)"
        )
    request: Json
    if len(cells) == 1:
        values = [
            [sum(run.values()) / len(run) for run in cells[0][item_id].values()] for item_id in item_ids
        ]
        request = {"item_ids": item_ids, "values": values}
    else:
        request = {
            side: [[list(run.values()) for run in own[item_id].values()] for item_id in item_ids]
            for side, own in zip(("baseline", "candidate"), cells, strict=True)
        }
    if "cluster" in reading.systems[0].labels:
        request["clusters"] = labels_of(reading, item_ids, "cluster")
    return request


def by_slice(reading: Reading, run: Callable[[Json, int], Json]) -> list[tuple[str, Json, Json | str]]:
    """By slice the request, and its answer or why there is none.

    Args:
        run: answers a request as one of so many, of which each has its share of alpha.

    Raises:
        FileFault: more than `MOST_SLICES` slices, or items that no slice or several have.
    """
    whole = request_of(reading)
    item_ids = _in_all([cells_of(system) for system in reading.systems])
    slices = labels_of(reading, item_ids, "slice")
    names = list(dict.fromkeys(slices))
    if len(names) > MOST_SLICES:
        raise FileFault(
            f"{reading.opened.name}: has {len(names)} slices, and {MOST_SLICES} are answered at once"
        )
    answers: list[tuple[str, Json, Json | str]] = []
    for name in names:
        kept = [at for at, slice_ in enumerate(slices) if slice_ == name]
        request = {column: [values[at] for at in kept] for column, values in whole.items()}
        try:
            answers.append((name, request, run(request, len(names))))
        except ForelockProblem as problem:
            answers.append((name, request, problem.detail))
    return answers


def _in_all(cells: Sequence[Mapping[str, Runs]]) -> list[str]:
    """Return the items of which every system has a run, in the order of the first."""
    return [item_id for item_id in cells[0] if all(item_id in other for other in cells)]


def cells_of(system: System) -> dict[str, Runs]:
    """By item its runs, and the judgements of each that have a value.

    Raises:
        FileFault: a run of an item stands there twice.
    """
    numbers = [str(number) for number in system.replicates]
    runs = system.labels.get("run", numbers if "judge" not in system.labels else ["1"] * len(numbers))
    judges = system.labels.get("judge", [""] * len(numbers))
    cells: dict[str, Runs] = {}
    for item_id, number, judge, value in zip(system.item_ids, runs, judges, system.values, strict=True):
        if value is None:
            continue
        run = cells.setdefault(item_id, {}).setdefault(str(number), {})
        if str(judge) in run:
            again = f" by judge '{judge}'" if judge else "; name who judged in a column 'judge'"
            raise FileFault(f"{system.name}: has run '{number}' of item '{item_id}' again{again}")
        run[str(judge)] = value
    return cells


def left_out(reading: Reading) -> list[str]:
    """Return what a request leaves out, in sentences."""
    named = {item_id for system in reading.systems for item_id in system.item_ids}
    cells = [cells_of(system) for system in reading.systems]
    absent = {item_id for item_id in named if not all(item_id in own for own in cells)}
    some = sum(value is None for system in reading.systems for value in system.values)
    first = next(
        (kept_id for system in reading.systems for kept_id in system.item_ids if kept_id in absent), ""
    )
    remarks = [f"{some} runs without a value are left out"] if some else []
    where = "in both arms" if len(cells) > 1 else "at all"
    return (
        [*remarks, f"{len(absent)} items without a run {where} are left out: {first}, …"]
        if absent
        else remarks
    )


def form_of(answer: Mapping[str, Any], reading: Reading, alpha: float, say: Say) -> Form:
    """Return the answer about the noise of the two systems that were read, part by part; `alpha` is what was asked."""
    analysis = answer["analysis"]
    baseline, candidate = (system.name for system in reading.systems)
    line, rest = of_noise(analysis, (baseline, candidate), points=reading.binary, alpha=alpha, say=say)
    return Form(
        question="noise",
        headline=line,
        open=rest,
        sentence=analysis["sentence"],
        mark="🎲",
        answer=in_brief(
            "estimate",
            analysis["delta"],
            decides(analysis)[0],
            "pp" if reading.binary else "score",
            analysis["n"],
        )
        | {"se": analysis["se"]},
        picture=_picture(analysis, say),
        more=[*_group_variances(analysis, say), *_by_t(analysis, points=reading.binary, say=say)],
        cautions=answer.get("warnings") or (),
        next=_describe_next(analysis, say),
        status=say("exploratory"),
    )


def _picture(analysis: Mapping[str, Any], say: Say) -> Picture | None:
    """Return the variances that were measured, each with its interval."""
    bars = []
    for name in COMPONENTS:
        part = analysis["components"][name]
        if part["variance"] is not None and has_ends(part):
            low, high = min(part["low"], part["variance"]), max(part["high"], part["variance"])
            bars.append(Bar(low, part["variance"], high, say(f"component_{name}")))
    return Picture(bars, [Bound(0.0, say("variance_nil"), "zero")]) if bars else None


def _group_variances(analysis: Mapping[str, Any], say: Say) -> Iterator[Group]:
    """Yield the variance of one result by component, how often runs flip, and the standard error in both ways."""
    rows = [(say(f"component_{name}"), _variance(analysis, name, say)) for name in COMPONENTS]
    yield Group(say("variance_of_one"), rows)
    for arm in ("baseline", "candidate"):
        flips = analysis[f"flips_{arm}"]
        if flips["rate"] is not None:
            shares = {"share": f"{flips['rate']:.1%}", "chance": f"{flips['two_runs']:.1%}"}
            yield Group(say("flips", arm=say(f"arm_{arm}"), n=flips["n_items"], **shares))
    errors = {"se": f"{analysis['se']:.3g}", "by_parts": f"{analysis['error']['se']:.3g}"}
    yield Group(say("errors", **errors))


def _variance(analysis: Mapping[str, Any], name: str, say: Say) -> str:
    part = analysis["components"][name]
    if part["variance"] is None:
        return say("not_measured", reason=plain(analysis["reasons"].get(f"components.{name}", "")))
    low, high = ("?" if part[end] is None else f"{part[end]:.3g}" for end in ("low", "high"))
    return say("between", value=f"{part['variance']:.3g}", low=low, high=high)


def _by_t(analysis: Mapping[str, Any], *, points: bool, say: Say) -> Iterator[Group]:
    """Yield the interval of that standard error alone, where another one decides."""
    if analysis.get("ci_unseen") is not None and has_ends(analysis["ci"]):
        figures = figures_of(analysis["delta"], analysis["ci"], points=points, difference=True, say=say)
        yield Group(say("by_t_alone", figures=figures))


def _describe_next(analysis: Mapping[str, Any], say: Say) -> str:
    """Describe what to buy next: items, runs or judgements, and what the budget buys at best."""
    best, bought = analysis["next_unit"]["best"], analysis["allocation"]
    if best is None:
        return say("next_nothing_varies")
    if analysis["components"]["run"]["variance"] is None:
        return say("next_run_twice")
    text = say(f"next_buy_{best}")
    if bought is None:
        return text
    return say(
        "next_budget",
        told=text,
        budget=f"{bought['budget']:.6g}",
        items=bought["items"],
        runs=bought["runs"],
        judgements=bought["judgements"],
        se=f"{bought['se']:.3g}",
    )
