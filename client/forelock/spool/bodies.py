"""Spooled rows as a request: a batch of results, or a file that the service's own reader maps to rows."""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Sequence
from typing import Any

from forelock.client import Client
from forelock.results import Results
from forelock.spool.writing import Head

Json = dict[str, Any]


def post(client: Client, record: str, head: Head, lines: Sequence[bytes], key: str) -> Json:
    """Post a batch; rows that are in stay. The same lines and key again: the same answer."""
    if head.format == "results":
        return client.submit_batch(record, _results(head, lines), idempotency_key=key, on_duplicate="skip")
    query = {**head.query, "format": head.format}
    return client.import_file(record, _FILES[head.format](head, lines), idempotency_key=key, query=query)


def _results(head: Head, lines: Sequence[bytes]) -> Results:
    """Return rows as columns; of two for one item and replicate the first, as the service would keep it."""
    first: dict[tuple[str, int], Json] = {}
    for line in lines:
        row = json.loads(line)
        first.setdefault((row["item_id"], row.get("replicate", 1)), row)
    rows = list(first.values())
    return Results(
        arm=head.query["arm"],
        endpoint=head.query["endpoint"],
        population=head.query.get("population"),
        run=head.query.get("run"),
        item_ids=[row["item_id"] for row in rows],
        values=[row["value"] for row in rows],
        replicates=[row.get("replicate", 1) for row in rows],
        status=[row.get("status", "ok") for row in rows],
    )


def _inspect(head: Head, lines: Sequence[bytes]) -> bytes:
    """Return a log of Inspect with these samples, which says that it is a piece of one."""
    begun = json.dumps({"version": 2, "status": "started", "piece": True, "eval": head.run})
    return begun[:-1].encode() + b',"samples":[' + b",".join(lines) + b"]}"


def _lm_eval(head: Head, lines: Sequence[bytes]) -> bytes:
    """Return the samples of one task beside the results file, as lm-evaluation-harness writes them."""
    task, results = head.run["task"], head.run["results"]
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(f"samples_{task}_live.jsonl", b"\n".join(lines) + b"\n")
        archive.writestr("results_live.json", json.dumps(results))
    return packed.getvalue()


_FILES = {"inspect": _inspect, "lm_eval": _lm_eval}
