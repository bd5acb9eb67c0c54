"""Populations as lists of items: the manifest a plan is locked to, and the facts lint reads of it."""

from __future__ import annotations

import json
import re
import unicodedata
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from pydantic import Field
from typing_extensions import override

from service.domain.canonical import sha256_hex
from service.errors import InvalidData
from service.records import Record

MAX_ID_LENGTH = 512
MOST_STRATA = 200
"""Strata that are told one by one; one more says that there are more."""
_SHA256 = re.compile(r"[0-9a-f]{64}")


class StratumFacts(Record):
    """What lint needs to know of a stratum."""

    stratum: str
    n: int = Field(description="Items.")
    n_clusters: int | None = Field(description="Clusters with items here; null when the manifest has none.")


class ManifestFacts(Record):
    """What lint needs to know of a manifest."""

    n: int = Field(description="Items.")
    items_sha256: str = Field(description="SHA-256 of the manifest's canonical form.")
    n_clusters: int | None = Field(description="Distinct clusters; null when the manifest has none.")
    cluster_sizes: tuple[int, ...] = Field((), description="Items per cluster, by first appearance.")
    strata: tuple[StratumFacts, ...] | None = Field(
        None,
        description="By first appearance, the first 201; null: there are none, or nobody asks about them.",
    )
    spans_strata: bool = Field(False, description="Some cluster has items in several strata.")


def planned_facts(n: int, n_clusters: int | None) -> ManifestFacts:
    """Say what lint would read of items still to be listed: as many as planned, in clusters as even as can be."""
    sizes = (
        () if n_clusters is None else tuple(n // n_clusters + (i < n % n_clusters) for i in range(n_clusters))
    )
    return ManifestFacts(n=n, items_sha256="0" * 64, n_clusters=n_clusters, cluster_sizes=sizes)


@dataclass(frozen=True)
class Manifest:
    """The items of a population in their locked order, with their clusters, strata and content.

    Build one with `create`, which validates; the constructor trusts its caller.
    """

    item_ids: tuple[str, ...]
    clusters: tuple[str, ...] | None = None
    strata: tuple[str, ...] | None = None
    content_sha256: tuple[str, ...] | None = None
    """Of each item's input and target, in the form of `ingest.harnesses.fingerprints`."""

    @classmethod
    def create(
        cls,
        item_ids: Sequence[str],
        clusters: Sequence[str] | None = None,
        strata: Sequence[str] | None = None,
        content_sha256: Sequence[str] | None = None,
    ) -> Manifest:
        """Return a valid manifest: ids are unique, every column has one non-empty NFC string per item.

        Raises:
            InvalidData: naming the column and the first faulty position, counted from 0.
        """
        ids = _read_column("item_ids", item_ids)
        if not ids:
            raise InvalidData.field("item_ids", "holds no item", "send at least one item id")
        if len(set(ids)) < len(ids):
            first: dict[str, int] = {}
            for position, item_id in enumerate(ids):
                if (earlier := first.setdefault(item_id, position)) != position:
                    raise InvalidData.field(
                        f"item_ids[{position}]", f"repeats item_ids[{earlier}]", "name every item once"
                    )
        contents = _read_beside(ids, "content_sha256", content_sha256)
        for position, digest in enumerate(contents or ()):
            if _SHA256.fullmatch(digest) is None:
                raise InvalidData.field(
                    f"content_sha256[{position}]", "is no SHA-256", "send 64 digits of 0-9 and a-f"
                )
        return cls(
            ids, _read_beside(ids, "clusters", clusters), _read_beside(ids, "strata", strata), contents
        )

    @property
    def n(self) -> int:
        """How many items the manifest lists."""
        return len(self.item_ids)

    @cached_property
    def _positions(self) -> dict[str, int]:
        return {item_id: position for position, item_id in enumerate(self.item_ids)}

    def position(self, item_id: str) -> int | None:
        """Return where an item stands in the manifest, from 0; None when it is not in it."""
        return self._positions.get(unicodedata.normalize("NFC", item_id))

    @property
    def indexed(self) -> bool:
        """True when positions can be asked for without finding them first."""
        return "_positions" in self.__dict__

    def index(self) -> None:
        """Find every position: half a second's work for a million items."""
        _ = self._positions

    @property
    def positions(self) -> Mapping[str, int]:
        """Every item's position, from 0, by NFC id."""
        return self._positions

    @cached_property
    def _sizes(self) -> tuple[int, ...]:
        return tuple(Counter(self.clusters).values()) if self.clusters is not None else ()

    @property
    def n_clusters(self) -> int | None:
        """Distinct clusters; None without clusters."""
        return None if self.clusters is None else len(self._sizes)

    def with_strata(self, facts: ManifestFacts) -> ManifestFacts:
        """Return the facts with those of the strata."""
        if self.strata is None:
            return facts
        sizes = Counter(self.strata)
        few = list(sizes.items())[: MOST_STRATA + 1]
        pairs = set(zip(self.clusters or (), self.strata, strict=False))
        clusters = Counter(stratum for _, stratum in pairs)
        return facts.model_copy(
            update={
                "strata": tuple(
                    StratumFacts(
                        stratum=name, n=n, n_clusters=None if self.clusters is None else clusters[name]
                    )
                    for name, n in few
                ),
                "spans_strata": self.clusters is not None and len(pairs) > len(set(self.clusters)),
            }
        )

    def columns(self) -> dict[str, tuple[str, ...] | None]:
        """Return what travels and is kept; `content_sha256` only if there is one, so that others keep their bytes."""
        pinned = {} if self.content_sha256 is None else {"content_sha256": self.content_sha256}
        return {"item_ids": self.item_ids, "clusters": self.clusters, "strata": self.strata, **pinned}

    def canonical_bytes(self) -> bytes:
        """Return the RFC 8785 text of the columns, absent ones left out."""
        present = {name: column for name, column in self.columns().items() if column is not None}
        # For NFC strings under ASCII keys this is RFC 8785, ten times faster than the general encoder.
        return json.dumps(present, ensure_ascii=False, separators=(",", ":"), sort_keys=True).encode()

    @cached_property
    def _sha256(self) -> str:
        return sha256_hex(self.canonical_bytes())

    def sha256(self) -> str:
        """Return the SHA-256 of the canonical form of the columns, absent ones left out."""
        return self._sha256

    def facts(self) -> ManifestFacts:
        """Return the numbers of the manifest that lint and power read."""
        return ManifestFacts(
            n=self.n, items_sha256=self.sha256(), n_clusters=self.n_clusters, cluster_sizes=self._sizes
        )

    @override
    def __getstate__(self) -> dict[str, Any]:
        """Travels between processes without its indexes: whoever asks for positions makes them again."""
        return {"content_sha256": None, **self.columns()}


def _read_beside(ids: tuple[str, ...], name: str, values: Sequence[str] | None) -> tuple[str, ...] | None:
    """Return an optional column, which has one value per id."""
    if values is None:
        return None
    column = _read_column(name, values)
    if len(column) != len(ids):
        raise InvalidData.field(
            name,
            f"has {len(column)} values where item_ids has {len(ids)}",
            "send one per item, in the same order",
        )
    return column


def _read_column(name: str, values: Sequence[str]) -> tuple[str, ...]:
    """Strings in NFC, none of them empty or too long."""
    # A string is a sequence of strings too, and would be read as items of one letter.
    if isinstance(values, str):
        raise InvalidData.field(name, "is one string", "send a list of strings")
    try:
        column = tuple(unicodedata.normalize("NFC", value) for value in values)
        "".join(column).encode()  # lone surrogates are strings to Python, and no Unicode text
    except (TypeError, UnicodeEncodeError):
        raise InvalidData.field(name, "holds something that is not Unicode text", "send strings") from None
    # Lengths are compared as a whole first: a million items pass without a loop of our own.
    if column and (min(map(len, column)) < 1 or max(map(len, column)) > MAX_ID_LENGTH):
        position = next(i for i, value in enumerate(column) if not 1 <= len(value) <= MAX_ID_LENGTH)
        raise InvalidData.field(
            f"{name}[{position}]",
            f"has {len(column[position])} characters",
            f"use 1 to {MAX_ID_LENGTH} characters",
        )
    return column
