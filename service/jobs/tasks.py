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
    """The answer of a request that is not cut, as JSON."""
    return registry.find(name, version).answer(_read_request(name, version, body)).model_dump_json()


def draw(name: str, version: int, body: bytes, first: int, blocks: int) -> bytes:
    """The numbers of consecutive blocks, packed."""
    drawn = registry.find(name, version).draw(
        _read_request(name, version, body), range(first, first + blocks)
    )
    return pack(drawn)


def conclude(name: str, version: int, body: bytes, blocks: int, shards: Sequence[bytes]) -> int | str:
    """The answer as JSON; or how many blocks it takes in all, when those drawn turn out not to do."""
    test, request = registry.find(name, version), _read_request(name, version, body)
    drawn = join(shards)
    needed = test.block_count(request, drawn)
    return needed if needed > blocks else test.finish(request, drawn).model_dump_json()


def pack(drawn: Drawn) -> bytes:
    """Named arrays as bytes, without pickle."""
    packed = io.BytesIO()
    np.savez(packed, allow_pickle=False, **drawn)
    return packed.getvalue()


def join(shards: Sequence[bytes]) -> Drawn:
    """The arrays of consecutive shards, end to end."""
    parts = []
    for shard in shards:
        with np.load(io.BytesIO(shard), allow_pickle=False) as packed:
            parts.append({name: packed[name] for name in packed.files})
    return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}


@lru_cache(maxsize=2)
def _read_request(name: str, version: int, body: bytes) -> Request:
    """Read once per worker: the shards of a job share their request."""
    request: Request = registry.find(name, version).request.model_validate_json(body, strict=True)
    return request
