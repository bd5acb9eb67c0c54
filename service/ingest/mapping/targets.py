"""What a mapping reads: of every endpoint the file's measure, and what its values count as."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from service.domain.plans.importing.mapping import Readable
from service.ingest.documents.limits import make_unmapped


@dataclass(frozen=True, slots=True)
class Target:
    """One endpoint that is read, and from which of the file's measures."""

    endpoint: str
    key: str
    line: str = "import"
    """Where the plan says it."""
    binary: bool = False
    values: Mapping[str, float | str] = field(default_factory=dict)


def targets(mapping: Readable, kinds: Mapping[str, str], primary: str | None) -> Iterator[Target]:
    """Yield what a mapping reads: `kinds` are those of the plan's endpoints, `primary` is the one that goes unnamed."""
    for endpoint, line, measure in mapping.measures():
        name = endpoint or primary
        if name is None:
            raise make_unmapped(
                "import.endpoint", "the plan has several primary endpoints", "write which one this is"
            )
        values = {**mapping.VALUES, **(measure.values or {})}
        yield Target(name, mapping.key(measure), line, kinds.get(name) == "binary", values)
