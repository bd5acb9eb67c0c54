"""Comparisons of two arms each: counted by kind, and refused where no finite strength fits best."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from service.errors import InvalidData
from service.kernels.effects import preferences

MOST_NAMED = 6
OUTCOMES = {"first": 0, "second": 1, "tie": 2}


@dataclass(frozen=True, eq=False)
class Comparisons:
    """Rows of two arms and an outcome, each standing for `repeats` (n,) comparisons."""

    names: list[str]
    """The arms, by first appearance."""
    rows: NDArray[np.intp]
    """Lower arm, higher arm, and 0 where the lower was preferred, 1 the higher, 2 neither. Shape (n, 3)."""
    repeats: NDArray[np.int64]

    @classmethod
    def of(
        cls,
        first: Sequence[str],
        second: Sequence[str],
        outcomes: Sequence[str],
        counts: Sequence[int] | None,
    ) -> Comparisons:
        """Return comparisons from columns of both arms' names and outcomes."""
        names = list(dict.fromkeys(name for row in zip(first, second, strict=True) for name in row))
        number = {name: place for place, name in enumerate(names)}
        one, other = (
            np.array([number[name] for name in column], dtype=np.intp) for column in (first, second)
        )
        outcome = np.array([OUTCOMES[outcome] for outcome in outcomes], dtype=np.intp)
        # The lower number comes first in a row: where the two change places, the preferred one does as well.
        outcome = np.where((one > other) & (outcome < 2), 1 - outcome, outcome)
        rows = np.stack([np.minimum(one, other), np.maximum(one, other), outcome], axis=1)
        repeats = np.ones(len(rows), dtype=np.int64) if counts is None else np.asarray(counts, dtype=np.int64)
        return cls(names, rows, repeats)

    @property
    def total(self) -> int:
        """The number of comparisons, each row counted as often as it repeats."""
        return int(self.repeats.sum())

    @cached_property
    def _distinct(self) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        k = len(self.names)
        # A row as one number, so that unique sorts numbers and not rows.
        code = (self.rows[:, 0] * k + self.rows[:, 1]) * 3 + self.rows[:, 2]
        _, first, kind = np.unique(code, return_index=True, return_inverse=True)
        return self.rows[first], kind.reshape(-1)

    @property
    def kinds(self) -> NDArray[np.intp]:
        """The rows that differ. Shape (kinds, 3)."""
        return self._distinct[0]

    @property
    def kind(self) -> NDArray[np.intp]:
        """Which of them each row is. Shape (n,)."""
        return self._distinct[1]

    @cached_property
    def many(self) -> NDArray[np.int64]:
        """Comparisons of each kind. Shape (kinds,)."""
        return np.bincount(self.kind, weights=self.repeats).astype(np.int64)

    @cached_property
    def tables(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Preferences of the row over the column, and ties. Shape (k, k) each."""
        k, (low, high, outcome) = len(self.names), self.kinds.T
        wins, ties = np.zeros((k, k)), np.zeros((k, k))
        for place, table, which in ((0, wins, (low, high)), (1, wins, (high, low)), (2, ties, (low, high))):
            this_outcome = outcome == place
            table[which[0][this_outcome], which[1][this_outcome]] = self.many[this_outcome]
        return wins, ties + ties.T

    def require_strengths(self) -> None:
        """Refuse what has no finite estimate, and name the arms that it cannot link."""
        linked = preferences.group_linked(*self.tables)
        if len(linked) > 1:
            raise InvalidData.field(
                "first",
                f"and `second` leave the arms in {len(linked)} groups that were never compared with each other: "
                f"{self._join_groups(linked)}",
                "compare arms across these groups, or send one group at a time",
            )
        groups = preferences.groups(*self.tables)
        if len(groups) > 1:
            raise InvalidData.field(
                "preferred",
                f"leaves the arms in {len(groups)} groups between which all preferences go one way, so that no finite "
                f"strengths fit best: {self._join_groups(groups)}",
                "compare more, or send one group at a time",
            )
        if not preferences.are_ties_bounded(*self.tables):
            raise InvalidData.field(
                "preferred",
                "has so many ties that their share has no finite estimate: in no round of arms, each preferred to the "
                "next or tied with it, are there more preferences than ties",
                "compare more",
            )

    def _join_groups(self, groups: list[list[int]]) -> str:
        """Groups of arms, the smallest first."""
        texts = [
            f"{{{', '.join(self.names[arm] for arm in group[:MOST_NAMED])}{', ...' * (len(group) > MOST_NAMED)}}}"
            for group in sorted(groups, key=len)[:MOST_NAMED]
        ]
        return ", ".join(texts) + ", ..." * (len(groups) > MOST_NAMED)
