"""The choices that deviations and sweeps leave open, in what order their universes come, and each one's rows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations, product

from service.domain.deviations.as_run import apply
from service.domain.deviations.changes import Change, ThresholdChange
from service.domain.deviations.threshold_sweep import at_values, endpoint_at, list_sweeps
from service.domain.multiverse.records import Fork
from service.domain.plans.plan import Plan
from service.domain.rules.settings import resolve
from service.domain.verdicts.outcomes import Rows

PLANNED, DEVIATED = "as planned", "as deviated"


@dataclass(frozen=True, slots=True)
class Choice:
    """A fork with what its options do: a change of the plan, or a value of a threshold."""

    fork: Fork
    change: Change | None = None
    population: str | None = None
    values: tuple[float, ...] = field(default=())
    """The value run first."""


Picked = tuple[int, ...]
"""An option per choice; 0 is as planned."""


def fork_of_deviation(number: int) -> Fork:
    """Return the choice that a deviation opens."""
    return Fork(
        id=f"deviation-{number}",
        kind="deviation",
        deviation=number,
        threshold=None,
        options=(PLANNED, DEVIATED),
    )


def choices_of_sweeps(plan: Plan, changes: Mapping[int, Change]) -> tuple[list[Choice], tuple[str, ...]]:
    """Return a choice per swept threshold with results at another value; and the values that have none."""
    sweeps = list_sweeps(
        plan, {n: change for n, change in changes.items() if isinstance(change, ThresholdChange)}
    )
    values: dict[tuple[str, str | None], list[float]] = {}
    run: dict[tuple[str, str | None], float] = {}
    for sweep in sweeps:
        key = (sweep.name, sweep.population)
        run[key] = sweep.run_value  # the latest says what the arms were run with
        values.setdefault(key, []).extend(point.value for point in sweep.points)
    choices, lacking = [], []
    for (name, population), declared_values in values.items():
        others = sorted(set(declared_values) - {run[name, population]})
        measured = [value for value in others if _has_results_at(plan, name, population, value)]
        lacking += [_format_threshold(name, value) for value in others if value not in measured]
        if measured:
            swept = (run[name, population], *measured)
            fork = Fork(
                id=f"sweep-{name}" if population is None else f"sweep-{name}@{population}",
                kind="sweep",
                deviation=None,
                threshold=name,
                options=tuple(_format_threshold(name, value) for value in swept),
            )
            choices.append(Choice(fork, population=population, values=swept))
    return choices, tuple(lacking)


def _has_results_at(plan: Plan, threshold: str, population: str | None, value: float) -> bool:
    """Tell whether some hypothesis has results at a value."""
    return any(
        has_results(plan, hypothesis.population, endpoint_at(hypothesis.endpoint, threshold, value))
        for hypothesis in plan.hypotheses or ()
        if population in (None, hypothesis.population)
    )


def has_results(plan: Plan, population: str, endpoint: str) -> bool:
    """Tell whether the plan has results of an endpoint on a population."""
    return any(measured.id == endpoint for measured in plan.endpoints_of(population))


def _format_threshold(threshold: str, value: float) -> str:
    return f"{threshold} = {value:g}"


def nearest_first(choices: Sequence[Choice]) -> Iterator[Picked]:
    """Yield every universe once: as planned, as run, with one choice, with one reversed, the rest by departures."""
    none = tuple(0 for _ in choices)
    run = tuple(1 if choice.fork.kind == "deviation" else 0 for choice in choices)
    reversed_ = (_replace_option(run, at, 0) for at, option in enumerate(run) if option)
    seen: set[Picked] = set()
    for picked in (none, run, *_depart(choices, 1), *reversed_):
        if picked not in seen:
            seen.add(picked)
            yield picked
    for number in range(2, len(choices) + 1):
        yield from (choice for choice in _depart(choices, number) if choice not in seen)


def _depart(choices: Sequence[Choice], number: int) -> Iterator[Picked]:
    """Yield every way in which this many choices are not as planned."""
    for where in combinations(range(len(choices)), number):
        for options in product(*(range(1, len(choices[at].fork.options)) for at in where)):
            options_by_choice = dict(zip(where, options, strict=True))
            yield tuple(options_by_choice.get(at, 0) for at in range(len(choices)))


def _replace_option(picked: Picked, at: int, option: int) -> Picked:
    return (*picked[:at], option, *picked[at + 1 :])


def rows_in(rows: Rows, choices: Sequence[Choice], picked: Picked) -> Rows:
    """Return the rows and the plan of one universe: deviations first, then the swept values."""
    changes = (c.change for c, option in zip(choices, picked, strict=True) if option and c.change is not None)
    here = apply(rows, changes)
    swept = [
        (c.population, c.fork.threshold or "", c.values[option])
        for c, option in zip(choices, picked, strict=True)
        if option and c.values
    ]
    return replace(here, resolved=resolve(at_values(here.plan, swept))) if swept else here
