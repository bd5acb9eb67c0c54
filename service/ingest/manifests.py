"""An item manifest from any of its formats: ids in manifest order, with clusters, strata and hashes of content."""

from __future__ import annotations

from service.domain.faults import Faults
from service.domain.plans.manifest import Manifest
from service.errors import InvalidData
from service.ingest import columns
from service.ingest.formats import read
from service.ingest.tables import Layout

LAYOUT = Layout(
    scalars=(),
    columns={
        "item_id": "item_ids",
        "cluster": "clusters",
        "stratum": "strata",
        "content_sha256": "content_sha256",
    },
    required=frozenset({"item_id"}),
)


def parse(body: bytes, content_type: str, *, max_items: int) -> Manifest:
    """Read a manifest strictly: JSON columns, JSON rows, NDJSON or CSV. Clusters on all items or none."""
    table = read(body, content_type, LAYOUT, max_items)
    if table.n == 0:
        raise InvalidData.field(table.names["item_id"], "holds no item", "send at least one item")
    faults = Faults()
    item_ids, *others = (
        columns.texts(column, table.names[name], faults)
        if (column := table.columns.get(name))
        and (name in LAYOUT.required or any(value is not None for value in column))
        else None
        for name in LAYOUT.columns
    )
    faults.raise_if_any()
    return Manifest.create(item_ids or (), *others)
