"""What columns of a request have to be: as long as each other, of two clusters or more, within the floats, binary."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from service.errors import Fault, InvalidData

LARGEST = 1e150
"""Values beyond this overflow when squared."""


def require_two_clusters(clusters: Collection[Hashable] | None) -> None:
    """Refuse a single cluster, which shows nothing of others; None is no clusters at all."""
    if clusters is not None and len(set(clusters)) < 2:
        raise InvalidData.field("clusters", "hold a single cluster", "send two clusters or leave them out")


def require_arms(arms: Mapping[str, object | None]) -> set[str]:
    """Return the names of the columns that were sent: `values` of one arm, or `baseline` and `candidate` of two.

    Raises:
        InvalidData: neither of these, or both.
    """
    sent = {name for name, column in arms.items() if column is not None}
    if sent not in ({"values"}, {"baseline", "candidate"}):
        raise InvalidData.field(
            "values",
            "are one arm's, and baseline and candidate two",
            "send `values`, or `baseline` and `candidate`",
        )
    return sent


def require_equal_lengths(columns: Mapping[str, Sequence[object] | None]) -> None:
    """Refuse columns of different length, naming both; refuse empty ones. None is a column that was not sent."""
    sent = {name: column for name, column in columns.items() if column is not None}
    (first, reference), *others = sent.items()
    for name, column in others:
        if len(column) != len(reference):
            raise InvalidData.field(
                name,
                f"has {len(column)} values where {first} has {len(reference)}",
                "send one value per item in every column, in the same order",
            )
    if len(reference) == 0:
        raise InvalidData(
            "no items were sent", [Fault(name, "is empty", "send at least one item") for name in sent]
        )


def require_size(values: NDArray[np.float64], path: str) -> None:
    """Refuse values (n,) whose squares would overflow."""
    if np.abs(values).max(initial=0.0) > LARGEST:
        raise InvalidData.field(
            path, f"holds values beyond {LARGEST:g} in size", "send them in a larger unit"
        )


def require_binary(values: NDArray[np.float64], path: str) -> None:
    """Refuse anything but 0 and 1."""
    if not np.all((values == 0) | (values == 1)):
        raise InvalidData.field(path, "holds values other than 0 and 1", "this method is for binary outcomes")


def is_binary(*columns: NDArray[np.float64]) -> bool:
    """Tell whether every value is 0 or 1."""
    return all(bool(np.all((values == 0) | (values == 1))) for values in columns)
