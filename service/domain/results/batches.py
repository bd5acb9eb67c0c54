"""The first two of a batch's four shapes, as received and as placed in the plan; and the cells that a plan expects.

`results.sealing` seals a placed batch, `store.batches` keeps a sealed one. Nothing here says what a value is, or reads
a stored outcome: whether a batch is accepted depends on the batch, the plan, and which cells were received, never on
what was received.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from functools import cached_property
from itertools import repeat
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from typing_extensions import override

from service.domain.faults import SHOWN, Faults, list_ids
from service.domain.plans.items.drawing import Drawing, drawing_of
from service.domain.plans.manifest import Manifest
from service.domain.plans.plan import Plan
from service.domain.plans.sections.endpoint import Endpoint
from service.domain.results.secret_rows import SecretRows
from service.errors import Fault, InvalidData

OnDuplicate = Literal["refuse", "skip"]
"""What becomes of a row whose cell is in already: the batch is refused, or the row is left out, whatever it says."""
PLAIN = bytes(range(0x20, 0x7F)).translate(None, b'"\\')
"""Letters that JSON writes as they are."""
AT_ONCE = 10_000
"""Ids that are written as text at once."""


@dataclass(frozen=True, slots=True, eq=False)
class ReceivedBatch:
    """A batch as posted, checked for form alone. Columns have shape (n,); its repr tells no outcome."""

    population: str | None
    """None: the plan's only one is meant."""
    arm: str
    endpoint: str
    run: str | None
    item_ids: tuple[str, ...] = field(repr=False)
    replicates: NDArray[np.uint16] = field(repr=False)
    rows: SecretRows = field(repr=False)
    on_duplicate: OnDuplicate = field(default="refuse", repr=False)

    @override
    def __reduce__(self) -> tuple[object, ...]:
        """As one text of ids: pickled one by one, a million take three times as long as reading the batch did."""
        text = "\0".join(self.item_ids)
        # No id that was checked holds a NUL; of any other the text would have more parts than there were ids.
        ids = text if text.count("\0") == len(self.item_ids) - 1 else self.item_ids
        others = (getattr(self, place.name) for place in fields(self) if place.name != "item_ids")
        return _unpickle, (ids, *others)


def _unpickle(ids: str | tuple[str, ...], *others: Any) -> ReceivedBatch:
    """Return the batch from the parts that `__reduce__` wrote: ids, and the other fields in their order."""
    names = (place.name for place in fields(ReceivedBatch) if place.name != "item_ids")
    item_ids = tuple(ids.split("\0")) if isinstance(ids, str) else ids
    return ReceivedBatch(item_ids=item_ids, **dict(zip(names, others, strict=True)))


@dataclass(frozen=True, slots=True)
class BatchHead:
    """What all rows of a batch are results of; one object from the placing of a batch to its verdict."""

    population: str
    arm: str
    endpoint: str
    run: str | None

    @property
    def cell(self) -> tuple[str, str, str]:
        """Population, arm and endpoint: what a plan expects results of."""
        return self.population, self.arm, self.endpoint

    def names(self) -> dict[str, str | None]:
        """Return the four names by field, as ledger, seal and database have them."""
        return {"population": self.population, "arm": self.arm, "endpoint": self.endpoint, "run": self.run}


# Without slots: `cached_property` keeps its value among the attributes of the object.
@dataclass(frozen=True, eq=False)
class PlacedBatch:
    """A batch whose rows have their place in the plan: positions in the manifest, replicates from 1."""

    head: BatchHead
    positions: NDArray[np.int32] = field(repr=False)
    replicates: NDArray[np.uint16] = field(repr=False)
    rows: SecretRows = field(repr=False)

    @property
    def n(self) -> int:
        """How many rows the batch has."""
        return len(self.positions)

    def where(self, chosen: NDArray[np.bool_]) -> PlacedBatch:
        """Return the rows that a mask of shape (n,) chooses."""
        return PlacedBatch(
            self.head, self.positions[chosen], self.replicates[chosen], self.rows.where(chosen)
        )

    @cached_property
    def parts(self) -> tuple[tuple[int, NDArray[np.int32]], ...]:
        """Each replicate in the batch with the positions it fills."""
        if self.n and self.replicates.min() == self.replicates.max():
            return ((int(self.replicates[0]), self.positions),)
        return tuple(
            (int(replicate), self.positions[self.replicates == replicate])
            for replicate in np.unique(self.replicates)
        )


@dataclass(frozen=True, slots=True)
class ExpectedCell:
    """One (population, arm, endpoint) that the plan needs in full."""

    population: str
    arm: str
    endpoint: str
    replicates: int
    n_items: int
    draw: Drawing | None = None
    """Which of the items people label; None: every item has a result."""

    @property
    def size(self) -> int:
        """How many rows fill it."""
        return (self.n_items if self.draw is None else self.draw.n) * self.replicates


def fingerprint_parts(batch: ReceivedBatch) -> bytes:
    """Return what makes two posts the same post: where the rows go, and never what they say.

    With values in it, a retry with guessed values would be answered differently from one with the
    right values, and an eval job's key could read outcomes.
    """
    scalars = [batch.population, batch.arm, batch.endpoint, batch.run]
    if batch.on_duplicate != "refuse":
        scalars.append(batch.on_duplicate)
    parts = bytearray(json.dumps(scalars).encode() + b"\n[")
    # The text of all ids at once would take as much again as what is made of it here.
    for start in range(0, len(batch.item_ids), AT_ONCE):
        parts += b", " * (start > 0) + _list_as_json(batch.item_ids[start : start + AT_ONCE])
    parts += b"]\n"
    parts += batch.replicates.astype("<u2", copy=False).data
    return bytes(parts)


def _list_as_json(ids: Sequence[str]) -> bytes:
    """Return the inside of `json.dumps(ids)`, which needs a fifth of the time where no letter has to be escaped."""
    text = '", "'.join(ids).encode(errors="surrogatepass")
    # What is left are quotes, those between the ids alone, when every letter stands for itself in JSON.
    if text.translate(None, PLAIN) == b'""' * (len(ids) - 1):
        return b'"%b"' % text
    return json.dumps(ids)[1:-1].encode()


def place_batch(batch: ReceivedBatch, plan: Plan, manifests: Mapping[str, Manifest]) -> PlacedBatch:
    """Place a batch in the plan, or say which names, ids and rows do not belong there."""
    population = _name_population(batch, plan)
    _require_named("arm", batch.arm, plan.arms(population))
    endpoint = _endpoint(batch, plan, population)
    positions = _find_positions(batch, population, manifests[population])
    _require_drawn(batch, plan, population, endpoint, positions)
    faults = Faults()
    values, statuses = batch.rows.values, batch.rows.statuses
    beyond = np.flatnonzero(batch.replicates > endpoint.replicates)
    faults.rows(
        "replicate",
        beyond.tolist(),
        f"is above the {endpoint.replicates} that the plan has",
        "number an item's runs from 1",
    )
    if endpoint.kind == "binary":
        outside = (statuses == 0) & (values != 0) & (values != 1)
        faults.rows(
            "value",
            np.flatnonzero(outside).tolist(),
            "is neither 0 nor 1, and the endpoint is binary",
            "post 1 for right and 0 for wrong",
        )
    if endpoint.positive:
        faults.rows(
            "value",
            np.flatnonzero((statuses == 0) & ~(values > 0)).tolist(),
            "is not above 0, and the endpoint is positive",
            "post an amount above 0, or leave the row to the status that says why there is none",
        )
    if endpoint.bounds is not None:
        low, high = endpoint.bounds.low, endpoint.bounds.high
        outside = (statuses == 0) & ((values < low) | (values > high))
        faults.rows(
            "value",
            np.flatnonzero(outside).tolist(),
            f"is outside the endpoint's bounds, {low:g} to {high:g}",
            "post the score on the scale of the plan",
        )
    faults.raise_if_any()
    _refuse_repeats(batch, positions)
    head = BatchHead(population, batch.arm, batch.endpoint, batch.run)
    return PlacedBatch(head, positions, batch.replicates, batch.rows)


def expected_cells(plan: Plan) -> tuple[ExpectedCell, ...]:
    """Return every arm that a hypothesis names, for every endpoint of its population, in the plan's order."""
    return tuple(
        ExpectedCell(
            population.id,
            arm,
            endpoint.id,
            endpoint.replicates,
            population.n,
            drawing_of(endpoint, population),
        )
        for population in plan.populations or ()
        for arm in plan.arms(population.id)
        for endpoint in plan.endpoints_of(population.id)
    )


def expected_total(plan: Plan) -> int:
    """Return how many rows make the plan complete."""
    return sum(cell.size for cell in expected_cells(plan))


def _name_population(batch: ReceivedBatch, plan: Plan) -> str:
    """Return the id of the population a batch is of: the one it names, else the plan's only one."""
    names = tuple(population.id for population in plan.populations or ())
    if batch.population is not None:
        _require_named("population", batch.population, names)
        return batch.population
    if len(names) != 1:
        raise InvalidData.field(
            "population", "is missing and the plan has several", f"send one of {', '.join(names)}"
        )
    return names[0]


def _endpoint(batch: ReceivedBatch, plan: Plan, population: str) -> Endpoint:
    measured = {endpoint.id: endpoint for endpoint in plan.endpoints_of(population)}
    _require_named("endpoint", batch.endpoint, tuple(measured))
    endpoint = measured[batch.endpoint]
    if endpoint.kind == "counts":
        message = "is of kind counts, which takes several numbers per item"
        raise InvalidData.field("endpoint", message, "post results of a binary or continuous endpoint")
    return endpoint


def _require_named(path: str, name: str, known: Sequence[str]) -> None:
    if name not in known:
        raise InvalidData.field(path, "is not one of the plan's", f"the plan has {', '.join(known)}")


def _find_positions(batch: ReceivedBatch, population: str, manifest: Manifest) -> NDArray[np.int32]:
    """Return the position of each row's item in the manifest, int32 of shape (n,)."""
    first = manifest.positions.get(batch.item_ids[0], 0) if batch.item_ids else 0
    last = first + len(batch.item_ids)
    if manifest.item_ids[first:last] == batch.item_ids:  # a stretch of the manifest, as most batches are
        return np.arange(first, last, dtype=np.int32)
    places = map(manifest.positions.get, batch.item_ids, repeat(-1))
    positions = np.fromiter(places, dtype=np.int32, count=len(batch.item_ids))
    unknown = np.flatnonzero(positions < 0)
    if len(unknown):
        raise _make_refusal(
            batch, unknown, f"are not items of population '{population}'", "is not in the manifest"
        )
    return positions


def _require_drawn(
    batch: ReceivedBatch, plan: Plan, population: str, endpoint: Endpoint, positions: NDArray[np.int32]
) -> None:
    """Labels are of the items that the locked draw names: nobody chooses others, whatever they know."""
    described = plan.population(population)
    draw = None if described is None else drawing_of(endpoint, described)
    if draw is None:
        return
    other = np.flatnonzero(~np.isin(positions, draw.positions()))
    if len(other):
        raise _make_refusal(
            batch,
            other,
            f"were not drawn for labels of '{endpoint.id}'",
            "was not drawn for labels",
            "post labels of the items that `forelock labels` lists",
        )


def _refuse_repeats(batch: ReceivedBatch, positions: NDArray[np.int32]) -> None:
    """One row per item and replicate."""
    cells = positions.astype(np.int64) * 65_536 + batch.replicates
    if np.all(cells[1:] > cells[:-1]):
        return
    order = np.argsort(cells, kind="stable")
    repeats = np.sort(order[1:][cells[order][1:] == cells[order][:-1]])
    if len(repeats):
        raise _make_refusal(batch, repeats, "come a second time in this batch", "repeats an earlier row")


def _make_refusal(
    batch: ReceivedBatch,
    rows: NDArray[np.intp],
    what: str,
    fault: str,
    fix: str = "post ids of the population's manifest, each once per replicate",
) -> InvalidData:
    """Make the refusal of a batch for the item ids of these rows.

    Faults name rows from 1, the first `SHOWN` of them.
    """
    ids = list_ids((batch.item_ids[row] for row in rows), len(rows))
    faults = [Fault("item_id", f"row {row + 1} {fault}", fix) for row in rows[:SHOWN]]
    return InvalidData(f"{len(rows)} ids {what}: {ids}", faults)
