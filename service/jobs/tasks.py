"""What runs in a worker: pure functions of a request's bytes. No database, no keys."""

from __future__ import annotations

import io
from collections.abc import Sequence
from functools import lru_cache

import numpy as np

from service.stats.shared.declaring import registry
from service.stats.shared.declaring.common import Request
from service.stats.shared.declaring.registry import Drawn


def compute_whole(name: str, version: int, body: bytes) -> str:
    """Compute the answer of a request that is not cut into blocks, as JSON."""
    return registry.find(name, version).answer(_read_request(name, version, body)).model_dump_json()


def draw(name: str, version: int, body: bytes, first: int, blocks: int) -> bytes:
    """Draw the numbers of consecutive blocks, packed."""
    drawn = registry.find(name, version).draw(
        _read_request(name, version, body), range(first, first + blocks)
    )
    return pack(drawn)


def conclude(name: str, version: int, body: bytes, blocks: int, shards: Sequence[bytes]) -> int | str:
    """Conclude the answer from all shards, as JSON.

    Where the blocks drawn are too few, how many it takes in all is returned instead.
    """
    test, request = registry.find(name, version), _read_request(name, version, body)
    drawn = join(shards)
    needed = test.block_count(request, drawn)
    return needed if needed > blocks else test.answer(request, drawn).model_dump_json()


def pack(drawn: Drawn) -> bytes:
    """Pack named arrays into the bytes of an .npz file, without pickle."""
    packed = io.BytesIO()
    np.savez(packed, allow_pickle=False, **drawn)
    return packed.getvalue()


def join(shards: Sequence[bytes]) -> Drawn:
    """Join the arrays of consecutive shards by name, end to end; there is at least one shard."""
    parts = []
    for shard in shards:
        with np.load(io.BytesIO(shard), allow_pickle=False) as packed:
            parts.append({name: packed[name] for name in packed.files})
    return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}


@lru_cache(maxsize=2)
def _read_request(name: str, version: int, body: bytes) -> Request:
    """Read a request, once per worker: the shards of a job share it."""
    request: Request = registry.find(name, version).request.model_validate_json(body, strict=True)
    return request
