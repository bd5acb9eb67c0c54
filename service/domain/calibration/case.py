"""What a calibration runs on: every hypothesis with arms of its own, and the units whose labels are flipped.

Hypotheses may share an arm, and no relabelling of two arms at a time is one of three. So each
hypothesis gets its two arms as copies, and a unit's coin flips both at once in all of them.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from service.domain.plans.manifest import Manifest
from service.domain.plans.plan import Plan
from service.domain.plans.sections.hypothesis import Hypothesis
from service.domain.verdicts.outcomes import NOT_RECEIVED, OK, Cell, Outcomes
from service.errors import Conflict
from service.kernels.numeric.clusters import codes_of

Bools = NDArray[np.bool_]
Key = tuple[str, str, str]


@dataclass(frozen=True, eq=False)
class Units:
    """The units of a population: which one an item belongs to, and which ones a flip changes."""

    codes: NDArray[np.int64] = field(repr=False)
    total: int
    differ: NDArray[np.int64] = field(repr=False)
    """Units in which the arms of some hypothesis differ, ascending."""

    def flip(self, coins: Bools) -> Bools:
        """Tell which items change their labels; one coin per unit that differs."""
        up = np.zeros(self.total, dtype=np.bool_)
        up[self.differ] = coins
        return np.asarray(up[self.codes])


@dataclass(frozen=True, eq=False)
class Case:
    """A plan with data, and how many flips of them to run. Its repr tells no outcome."""

    plan: Plan
    """Every hypothesis has arms of its own."""
    manifests: Mapping[str, Manifest] = field(repr=False)
    cells: Mapping[Key, Cell] = field(repr=False)
    runs: int
    seed: int
    about: Mapping[str, Any]
    """What the answer repeats: id and hash of the plan, whose data these are, what was left out."""

    @cached_property
    def units(self) -> dict[str, Units]:
        """By population, in the plan's order; those without a hypothesis have none."""
        units = {}
        for population in self.plan.populations or ():
            here = [
                hypothesis
                for hypothesis in self.plan.hypotheses or ()
                if hypothesis.population == population.id
            ]
            if here:
                manifest = self.manifests[population.id]
                clusters = manifest.clusters if population.clusters is not None else None
                codes = np.arange(manifest.n, dtype=np.int64) if clusters is None else codes_of(clusters)
                differ = np.zeros(manifest.n, dtype=np.bool_)
                for hypothesis in here:
                    differ |= self.differing(hypothesis)
                units[population.id] = Units(codes, int(codes.max()) + 1, np.unique(codes[differ]))
        return units

    def arms(self, hypothesis: Hypothesis, endpoint: str | None = None) -> tuple[Cell, Cell]:
        """Return baseline and candidate as they are, on the hypothesis' endpoint or another one."""
        first, second = (
            self.cells[hypothesis.population, arm, endpoint or hypothesis.endpoint] for arm in hypothesis.pair
        )
        return first, second

    def differing(self, hypothesis: Hypothesis) -> Bools:
        """Return items in which a hypothesis' arms differ, in a value or in what is missing."""
        differing = np.zeros(self.manifests[hypothesis.population].n, dtype=np.bool_)
        for endpoint in self.plan.endpoints_asked(hypothesis):
            before, after = self.arms(hypothesis, endpoint)
            both = (before.statuses == OK) & (after.statuses == OK)
            values = both & (before.values != after.values)
            differing |= np.any(values | (before.statuses != after.statuses), axis=1)
        return differing

    @property
    def free(self) -> int:
        """Units that differ, over all populations."""
        return sum(len(unit.differ) for unit in self.units.values())

    @property
    def enumerated(self) -> bool:
        """True where all flips are no more than the runs asked for: then each is run once."""
        return self.free <= math.log2(self.runs)

    @property
    def looked_at(self) -> int:
        """How many flips are run: all there are where they are few, else as many as were asked for."""
        return 2**self.free if self.enumerated else self.runs

    def flip(self, which: Mapping[str, Bools], hypotheses: Iterable[Hypothesis]) -> Outcomes:
        """Return the outcomes of some hypotheses with these items' labels flipped."""
        cells: dict[Key, Cell] = {}
        for hypothesis in hypotheses:
            up = which[hypothesis.population][:, None]
            for endpoint in self.plan.endpoints_asked(hypothesis):
                before, after = self.arms(hypothesis, endpoint)
                baseline, candidate = hypothesis.pair
                for arm, one, other in ((baseline, before, after), (candidate, after, before)):
                    cells[hypothesis.population, arm, endpoint] = Cell(
                        np.where(up, other.values, one.values), np.where(up, other.statuses, one.statuses)
                    )
        return Outcomes(cells)


def case_of(
    plan: Plan,
    manifests: Mapping[str, Manifest],
    cells: Mapping[Key, Cell],
    *,
    runs: int,
    seed: int,
    about: Mapping[str, Any],
) -> Case:
    """Return the case of a plan and its outcomes.

    Raises:
        Conflict: rows are lacking because the collection ended early.
    """
    apart, own = [], dict[Key, Cell]()
    if any(hypothesis.baseline is None for hypothesis in plan.hypotheses or ()):
        raise Conflict("a calibration swaps the labels of two arms, and this plan has a claim about one arm")
    if any(plan.suite(hypothesis.population) is not None for hypothesis in plan.hypotheses or ()):
        raise Conflict(
            "a calibration swaps labels within one population, and this plan has a claim about a suite"
        )
    for index, hypothesis in enumerate(plan.hypotheses or ()):
        renamed = own_arms(hypothesis, index)
        for arm, name in zip(hypothesis.pair, renamed.pair, strict=True):
            for endpoint in plan.endpoints_asked(hypothesis):
                own[hypothesis.population, name, endpoint] = cells[hypothesis.population, arm, endpoint]
        apart.append(renamed)
    if any(np.any(cell.statuses == NOT_RECEIVED) for cell in own.values()):
        raise Conflict(
            "a stopping rule or a close ended the collection early: flipped, the plan may go on where there are no rows"
        )
    return Case(plan.model_copy(update={"hypotheses": tuple(apart)}), manifests, own, runs, seed, about)


def own_arms(hypothesis: Hypothesis, index: int) -> Hypothesis:
    """Return the hypothesis with arms that no other has."""
    return hypothesis.model_copy(update={"baseline": f"{index}.baseline", "candidate": f"{index}.candidate"})


def pack(case: Case) -> bytes:
    """Return a case as bytes, the same for the same case: a line of JSON, then the columns."""
    head = {
        "plan": case.plan.as_dict(),
        "manifests": {name: manifest.columns() for name, manifest in case.manifests.items()},
        "cells": [[*key, *cell.values.shape] for key, cell in case.cells.items()],
        "runs": case.runs,
        "seed": case.seed,
        "about": dict(case.about),
    }
    columns = (
        part
        for cell in case.cells.values()
        for part in (cell.values.astype("<f8").tobytes(), cell.statuses.tobytes())
    )
    return b"\n".join([json.dumps(head, sort_keys=True).encode(), b"".join(columns)])


def unpack(body: bytes) -> Case:
    """Return the case that was packed."""
    line, _, columns = body.partition(b"\n")
    head, at, cells = json.loads(line), 0, dict[Key, Cell]()
    for population, arm, endpoint, n, replicates in head["cells"]:
        count = n * replicates
        values = np.frombuffer(columns, dtype="<f8", count=count, offset=at)
        statuses = np.frombuffer(columns, dtype=np.uint8, count=count, offset=at + 8 * count)
        cells[population, arm, endpoint] = Cell(
            values.reshape(n, replicates), statuses.reshape(n, replicates)
        )
        at += 9 * count
    return Case(
        Plan.from_dict(head["plan"]),
        {
            name: Manifest(**{k: _column(v) for k, v in columns.items()})
            for name, columns in head["manifests"].items()
        },
        cells,
        head["runs"],
        head["seed"],
        head["about"],
    )


def _column(values: list[str] | None) -> Any:
    return None if values is None else tuple(values)
