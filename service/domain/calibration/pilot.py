"""A calibration on pilot data: the caller's columns in the place of results; the plan may be a draft."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any

import numpy as np
from pydantic import Field

from service.domain.calibration.case import Case, Key, case_of, own_arms
from service.domain.faults import Faults
from service.domain.plans.manifest import Manifest
from service.domain.plans.plan import Plan
from service.domain.plans.sections.endpoint import MAX_LIST
from service.domain.plans.sections.hypothesis import Hypothesis
from service.domain.plans.strings import Token
from service.domain.rules.settings import resolve
from service.domain.verdicts.outcomes import MISSING, OK, Cell
from service.errors import InvalidData
from service.records import StrictRecord
from service.stats.shared.declaring.common import MAX_ITEMS, Finite

_Values = Annotated[tuple[Finite | None, ...], Field(min_length=1, max_length=MAX_ITEMS)]


class Pilot(StrictRecord):
    """Two arms on the same pilot items, which are not the plan's."""

    population: Token = Field(description="The plan's population that these items stand for.")
    endpoint: Token | None = Field(
        None, description="What was measured; null where the population's hypotheses have one endpoint."
    )
    baseline: _Values = Field(description="One value per item; null: missing.")
    candidate: _Values = Field(description="The same items in the same order.")
    clusters: tuple[Annotated[str, Field(min_length=1, max_length=512)], ...] | None = Field(
        None,
        max_length=MAX_ITEMS,
        description="Each item's cluster, where the plan's population has clusters.",
    )


class CalibrationRequest(StrictRecord):
    """How many flips to run, and on what."""

    runs: int = Field(1000, ge=1000, le=100_000, description="Flips of the labels.")
    seed: int = Field(0, ge=0, le=2**53 - 1, description="Seed of the flips.")
    pilot: tuple[Pilot, ...] | None = Field(
        None, min_length=1, max_length=MAX_LIST, description="Pilot data; null: the record's own rows."
    )


def pilot_case(
    plan: Plan, pilots: Sequence[Pilot], *, runs: int, seed: int, about: Mapping[str, Any]
) -> Case:
    """Return the case of the hypotheses that the pilot data cover; the others are listed as left out.

    Raises:
        InvalidData: naming what of the pilot data or of the plan cannot be used.
    """
    faults = Faults()
    covered, left_out = _sort_hypotheses(plan, pilots, faults)
    for index, (pilot, hypotheses) in enumerate(zip(pilots, covered, strict=True)):
        _check(plan, pilot, hypotheses, f"pilot[{index}]", faults)
    faults.raise_if_any()
    manifests = _make_manifests(pilots)
    used = [
        (hypothesis, pilot)
        for pilot, hypotheses in zip(pilots, covered, strict=True)
        for hypothesis in hypotheses
    ]
    order = {hypothesis.id: at for at, hypothesis in enumerate(plan.hypotheses or ())}
    used.sort(key=lambda pair: order[pair[0].id])
    cells: dict[Key, Cell] = {}
    apart = []
    for index, (hypothesis, pilot) in enumerate(used):
        apart.append(own_arms(hypothesis, index))
        for arm, values in zip(apart[-1].pair, (pilot.baseline, pilot.candidate), strict=True):
            cells[hypothesis.population, arm, hypothesis.endpoint] = _cell(values)
    sized = plan.model_copy(
        update={
            "hypotheses": tuple(apart),
            "populations": tuple(
                population.of_items(manifests[population.id].n, manifests[population.id].n_clusters)
                for population in plan.populations or ()
                if population.id in manifests
            ),
        }
    )
    return case_of(sized, manifests, cells, runs=runs, seed=seed, about={**about, "left_out": left_out})


def _sort_hypotheses(
    plan: Plan, pilots: Sequence[Pilot], faults: Faults
) -> tuple[list[list[Hypothesis]], list[dict[str, str]]]:
    """Return the hypotheses of each pilot; and those of none, with the reason."""
    covered: list[list[Hypothesis]] = [[] for _ in pilots]
    left_out = []
    for hypothesis in plan.hypotheses or ():
        fits = [
            index
            for index, pilot in enumerate(pilots)
            if pilot.population == hypothesis.population and pilot.endpoint in (None, hypothesis.endpoint)
        ]
        if hypothesis.baseline is None:
            reason = "it is about one arm, and pilot columns are of two"
            left_out.append({"hypothesis": hypothesis.id, "reason": reason})
        elif len(plan.endpoints_asked(hypothesis)) > 1:
            reason = "its rule speaks of several endpoints, and pilot columns are of one"
            left_out.append({"hypothesis": hypothesis.id, "reason": reason})
        elif not fits:
            left_out.append({"hypothesis": hypothesis.id, "reason": "there are no pilot data for it"})
        elif len(fits) > 1:
            faults.add(
                f"pilot[{fits[1]}]",
                f"covers {hypothesis.id} again",
                "send one pilot per population and endpoint",
            )
        else:
            covered[fits[0]].append(hypothesis)
    for index, covers in enumerate(covered):
        if not covers and not faults.total:
            faults.add(
                f"pilot[{index}]", "covers no hypothesis of the plan", "name a population that one has"
            )
    return covered, left_out


def _check(plan: Plan, pilot: Pilot, hypotheses: Sequence[Hypothesis], path: str, faults: Faults) -> None:
    """Check a pilot's columns against the plan, and note every fault."""
    if len(pilot.baseline) != len(pilot.candidate):
        faults.add(f"{path}.candidate", "has another length than baseline", "send one value per item")
    population = plan.population(pilot.population)
    if population is None:
        faults.add(f"{path}.population", "is not one of the plan's", "name one that the plan describes")
    elif (population.clusters is None) != (pilot.clusters is None):
        fix = "send each item's cluster" if pilot.clusters is None else "leave the clusters out"
        faults.add(f"{path}.clusters", "must be there just where the plan's population has clusters", fix)
    if pilot.clusters is not None and len(pilot.clusters) != len(pilot.baseline):
        faults.add(f"{path}.clusters", "has another length than baseline", "send one cluster per item")
    if len({hypothesis.endpoint for hypothesis in hypotheses}) > 1:
        faults.add(f"{path}.endpoint", "is missing, and the hypotheses have several", "name one")
    asked_ids = {hypothesis.id for hypothesis in hypotheses}
    for setting in resolve(plan).settings:
        if setting.hypothesis.id in asked_ids and setting.rule is None:
            faults.add(f"{setting.path}.rule", setting.rule_fault or "cannot be read", "mend the plan first")
    for name in dict.fromkeys(hypothesis.endpoint for hypothesis in hypotheses):
        _check_endpoint(plan, name, pilot, path, faults)


def _check_endpoint(plan: Plan, name: str, pilot: Pilot, path: str, faults: Faults) -> None:
    """Check that an endpoint takes one result per item, and that the pilot's values are possible ones."""
    endpoint = plan.endpoint(name)
    if endpoint is None or endpoint.kind == "counts" or endpoint.replicates > 1:
        faults.add(
            f"{path}.endpoint",
            "must be a binary or continuous endpoint of the plan with one result per item",
            "calibrate on the record itself after its verdict",
        )
        return
    for column, values in (("baseline", pilot.baseline), ("candidate", pilot.candidate)):
        given = [(row, value) for row, value in enumerate(values) if value is not None]
        if endpoint.kind == "binary":
            odd = [row for row, value in given if value not in (0.0, 1.0)]
            faults.rows(f"{path}.{column}", odd, "is neither 0 nor 1", "the endpoint is binary")
        elif (ends := endpoint.bounds) is not None:
            odd = [row for row, value in given if not ends.low <= value <= ends.high]
            faults.rows(f"{path}.{column}", odd, "lies outside the endpoint's bounds", "send values within")


def _make_manifests(pilots: Sequence[Pilot]) -> dict[str, Manifest]:
    """Make a manifest of each population in the pilots, whose items are numbered from 1.

    Its pilots must have the same items and clusters.
    """
    manifests: dict[str, Manifest] = {}
    for index, pilot in enumerate(pilots):
        ids = [str(at) for at in range(1, len(pilot.baseline) + 1)]
        made = Manifest.create(ids, pilot.clusters)
        if manifests.setdefault(pilot.population, made) != made:
            raise InvalidData.field(
                f"pilot[{index}]",
                "has other items than an earlier one of its population",
                "send the same items",
            )
    return manifests


def _cell(values: Sequence[float | None]) -> Cell:
    """Return the results of one arm on one endpoint, one for an item."""
    column = np.array([np.nan if value is None else value for value in values], dtype=np.float64)[:, None]
    return Cell(column, np.where(np.isnan(column), MISSING, OK).astype(np.uint8))
