"""Which one to ship: a baseline's and a candidate's rows as the body of a comparison."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from forelock.problem import FileFault
from forelock.questions.amounts import margin_of, range_of
from forelock.questions.tables.choices import Choices
from forelock.questions.tables.reading import read_for
from forelock.questions.tables.systems import take_two
from forelock.questions.tables.table import Reading, System
from forelock.questions.tables.tasks import suite_body

if TYPE_CHECKING:
    from forelock.client import Client
    from forelock.local import Local

Json = dict[str, Any]


def compare(
    asked_of: Client | Local,
    paths: Sequence[str],
    choices: Choices,
    request: Json,
    *,
    margin: str | None,
    scores: str | None,
) -> tuple[Json, Reading]:
    """The comparison of a baseline's and a candidate's file, or of one file that holds both; and how it was read.

    Args:
        request: what the comparison is asked with beside the rows.
        margin: the loss that would be accepted, such as `2pp`.
        scores: the range of scores, such as `1..5`.

    Raises:
        FileFault: a file that is not read, a measure or margin that is not there, or other than two systems.
    """
    reading = read_pair(asked_of, paths, choices, request, margin=margin, scores=scores)
    answer = asked_of.compare(_body_of(reading, choices, request, margin=margin, scores=scores))
    left = answer["unpaired"]
    if answer["n"] == 0 and left["only_baseline"] and left["only_candidate"]:
        names = [system.name for system in reading.systems]
        raise FileFault(
            f"no item of '{names[0]}' is in '{names[1]}': name where the item ids stand (--set item_id=…), or add "
            "--unpaired if each was asked items of its own"
        )
    return answer, reading


_COVARIATE = "covariate "


def covariates(names: Sequence[str]) -> dict[str, str]:
    """Return the places of numbers that are read for every item, by what they are called beside its other labels."""
    return {f"{_COVARIATE}{name}": name for name in names}


def read_pair(
    asked_of: Client | Local,
    paths: Sequence[str],
    choices: Choices,
    request: Json,
    *,
    margin: str | None,
    scores: str | None,
) -> Reading:
    """Baseline and candidate, in this order."""

    def attempt(reading: Reading) -> None:
        answer = asked_of.compare(_body_of(reading, choices, request, margin=margin, scores=scores))
        if request.get("pairing") == "none":
            return
        unpaired = answer["unpaired"]
        if answer["n"] <= unpaired["only_baseline"] + unpaired["only_candidate"]:
            raise FileFault("most items are not paired by it")

    return read_for(asked_of, [[path] for path in paths], choices, take_two, attempt)


def _body_of(
    reading: Reading, choices: Choices, request: Json, *, margin: str | None, scores: str | None
) -> Json:
    """Return the rows of both with what else is asked."""
    baseline, candidate = (
        _columns_with_covariates(system) if choices.beside else system.columns() for system in reading.systems
    )
    body: Json = {"baseline": baseline, "candidate": candidate, **request, **suite_body(reading, choices)}
    if margin is not None:
        body["margin"] = margin_of(margin, binary=reading.binary)
    if scores is not None:
        body["range"] = range_of(scores)
    if reading.lower:
        body["prefers"] = "lower"
    return body


def _columns_with_covariates(system: System) -> Json:
    """Return the rows of a system with the numbers known of every item, by name."""
    covariates = [label for label in system.labels if label.startswith(_COVARIATE)]
    plain = {label: column for label, column in system.labels.items() if label not in covariates}
    arm = replace(system, labels=plain).columns()
    for label in covariates:
        name = label.removeprefix(_COVARIATE)
        by_item = system.label_of(label)
        numbers = {item_id: _number(system.name, name, item_id, cell) for item_id, cell in by_item.items()}
        arm.setdefault("covariates", {})[name] = [numbers[item_id] for item_id in system.item_ids]
    return arm


def _number(system: str, name: str, item_id: str, cell: str | None) -> float:
    """Parse a covariate's cell as a finite number; the fault names the system and the item."""
    try:
        value = float(cell or "")
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        quoted = "nothing" if cell is None else f"'{cell}'"
        raise FileFault(
            f"{system}: item '{item_id}' has {quoted} as '{name}', and a covariate is a number of every item"
        )
    return value
