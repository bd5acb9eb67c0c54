"""A batch of results from any of its formats. What a row means is said in one place, here."""

from __future__ import annotations

import numpy as np

from service.domain.faults import Faults
from service.domain.results.batches import OnDuplicate, ReceivedBatch
from service.domain.results.secret_rows import SecretRows
from service.domain.results.statuses import STATUSES
from service.errors import InvalidData
from service.ingest import columns
from service.ingest.formats import read
from service.ingest.tables import Layout

LAYOUT = Layout(
    scalars=("population", "arm", "endpoint", "run", "on_duplicate"),
    columns={
        "item_id": "item_ids",
        "value": "values",
        "replicate": "replicates",
        "observed_at": "observed_at",
        "status": "status",
    },
    required=frozenset({"arm", "endpoint", "item_id", "value"}),
)
_CODES: dict[str | None, int] = {None: 0} | {word: code for code, word in enumerate(STATUSES)}


def parse(body: bytes, content_type: str, *, max_items: int) -> ReceivedBatch:
    """Read a batch strictly: JSON columns, JSON rows, NDJSON or CSV.

    Raises:
        UnsupportedMediaType: another content type.
        MalformedBody: not UTF-8, not JSON, not CSV.
        TooLarge: more than `max_items` rows.
        InvalidData: at most twenty faults by row and field; never a value.
    """
    table = read(body, content_type, LAYOUT, max_items)
    del body  # unless somebody else keeps it, it is not held beside what was read of it
    if table.n == 0:
        raise InvalidData.field(table.names["item_id"], "holds no result", "send at least one item")
    faults = Faults()
    scalars = {name: columns.name(value, name, faults) for name, value in table.scalars.items()}
    for name in ("arm", "endpoint"):
        if table.scalars[name] is None:
            faults.add(name, "is missing", f"send {name}")
    on_duplicate = _on_duplicate(scalars["on_duplicate"], faults)
    names, cells, text = table.names, table.columns, table.text
    # Each list is let go as soon as its array stands: a large body is held in one form at a time.
    read_values = columns.decimals if text else columns.numbers
    values = read_values(cells.pop("value"), names["value"], faults)
    statuses = np.zeros(table.n, dtype=np.uint8)
    if "status" in cells:
        statuses = columns.choices(cells.pop("status"), _CODES, names["status"], faults)
    replicates = np.ones(table.n, dtype=np.uint16)
    if "replicate" in cells:
        column = cells.pop("replicate")
        column = columns.integers(column, names["replicate"], faults) if text else column
        replicates = columns.replicates(column, names["replicate"], faults)
    observed_at = None
    if "observed_at" in cells:
        observed_at = columns.times(cells.pop("observed_at"), names["observed_at"], faults)
    item_ids = columns.texts(cells.pop("item_id"), names["item_id"], faults)
    faults.raise_if_any()
    empty = np.isnan(values)
    faults.rows(
        names["value"],
        np.flatnonzero(empty & (statuses == 0)).tolist(),
        "has no value",
        "send a value, or the status error or missing",
    )
    faults.rows(
        names["value"],
        np.flatnonzero(~empty & (statuses != 0)).tolist(),
        "has a value and a status other than ok",
        "send null unless the status is ok",
    )
    faults.raise_if_any()
    return ReceivedBatch(
        population=scalars["population"],
        arm=scalars["arm"] or "",
        endpoint=scalars["endpoint"] or "",
        run=scalars["run"],
        item_ids=item_ids,
        replicates=replicates,
        rows=SecretRows(values, statuses, observed_at),
        on_duplicate=on_duplicate,
    )


def _on_duplicate(header: str | None, faults: Faults) -> OnDuplicate:
    if header not in (None, "refuse", "skip"):
        faults.add("on_duplicate", "is neither refuse nor skip", "send 'skip' to leave out rows that are in")
    return "skip" if header == "skip" else "refuse"
