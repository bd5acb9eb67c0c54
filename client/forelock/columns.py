"""Columns of a table by what people call them. One obvious name is taken and said; of several none is."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from forelock.problem import FileFault
from forelock.rows import Row

NAMES: Mapping[str, Sequence[frozenset[str]]] = {
    "item_id": (
        frozenset({"item_id"}),
        frozenset(
            {"id", "item", "itemid", "question_id", "qid", "sample_id", "sample", "example_id", "example"}
            | {
                "task_id",
                "instance_id",
                "prompt_id",
                "case_id",
                "test_id",
                "doc_id",
                "doc_hash",
                "uid",
                "uuid",
            }
        ),
        frozenset({"name", "question", "prompt", "input", "index", "idx"}),
        frozenset({"task", "problem"}),
        frozenset({"unnamed:_0"}),  # a data frame's index
    ),
    "arm": (
        frozenset({"arm"}),
        frozenset({"model", "system", "variant", "method", "agent", "provider", "model_name", "treatment"}),
    ),
    "value": (
        frozenset({"value"}),
        frozenset(
            {"score", "correct", "is_correct", "match", "exact_match", "exact", "acc", "accuracy", "resolved"}
            | {"success", "passed", "pass", "includes", "reward", "result", "rating", "grade"}
        ),
    ),
    "run": (
        frozenset({"run"}),
        frozenset({"run_id", "replicate", "epoch", "repeat", "trial", "attempt", "seed"}),
    ),
    "judge": (frozenset({"judge"}), frozenset({"judge_id", "rater", "annotator", "grader"})),
    "cluster": (frozenset({"cluster"}),),
}
"""What a column is for, and its names: our own first, then what comes closest. Clusters are never guessed."""
SHARED = ("conversation", "topic", "group", "category", "document", "subject", "repo", "repository")
"""What items share is often called so: pointed out where it is not asked for."""
TABLES = ("csv", "ndjson", "parquet")
"""Formats of rows of any origin."""
WORDS: Mapping[str, float] = {
    **dict.fromkeys(("true", "yes", "c", "correct", "right", "pass", "passed", "success"), 1.0),
    **dict.fromkeys(("false", "no", "i", "incorrect", "wrong", "fail", "failed", "failure"), 0.0),
}
"""Right and wrong, in small letters."""
NO_VALUE = ("na", "n/a", "#n/a", "nan", "null", "none")
"""What spreadsheets and data frames write where there is no value, in small letters."""
UNNAMED = re.compile(r"Unnamed: [0-9]+(\.[0-9]+)?")
"""What data frames call a column without a name, such as the one of their index."""
SHOWN = 12


def obvious(role: str, columns: Iterable[str]) -> str | None:
    """The one column that is for it: of the first names of which there is any, None where there are several."""
    candidates = fitting(role, columns)
    return candidates[0] if len(candidates) == 1 else None


def fitting(role: str, columns: Iterable[str]) -> list[str]:
    """The columns that may be for it: those of the first names of which there is any."""
    plain = {column: re.sub(r"[\s-]+", "_", column.strip().lower()) for column in columns}
    for names in NAMES[role]:
        candidates = [column for column, name in plain.items() if name in names]
        if candidates:
            return candidates
    return []


def listed(columns: Sequence[str]) -> str:
    """Columns in a sentence: the first dozen."""
    more = f" and {len(columns) - SHOWN} more" if len(columns) > SHOWN else ""
    return ", ".join(column or "(no name)" for column in columns[:SHOWN]) + more


class Unnamed(FileFault):
    """Columns of a table are needed, and which ones stand for them is not plain."""

    def __init__(self, path: str, roles: Sequence[str], columns: Sequence[str]) -> None:
        self.roles = tuple(roles)
        lacking = ", ".join(f"'{role}'" for role in roles)
        self.found = f"{path}: has no column {lacking}, and which one stands for it is not plain; "
        self.found += f"it has {listed(columns)}"
        super().__init__(f"{self.found}: add {' '.join(f'--set {role}=COLUMN' for role in roles)}")


@dataclass(frozen=True, slots=True)
class Named:
    """Which column of a table stands for what."""

    columns: Mapping[str, str]
    taken: Mapping[str, str]
    """Those of them that nobody named and that have another name than our own."""
    left: tuple[str, ...]
    """Columns that stand for nothing."""

    @property
    def shared(self) -> str | None:
        """A column that is left and is often called so where items are not independent."""
        candidates = () if "cluster" in self.columns else self.left
        return next((column for column in candidates if column.lower() in SHARED), None)

    def said(self) -> tuple[str, ...]:
        """What was taken, in a sentence that tells the option."""
        taken = [f"{role} is the column {column}" for role, column in self.taken.items()]
        return (f"{', '.join(taken)}; --set {next(iter(self.taken))}=… names another",) if taken else ()

    def unread(self, is_cluster: bool = True) -> tuple[str, ...]:
        """What was not read, likewise; `is_cluster` where what items often share would be taken for clusters."""
        shared = self.shared if is_cluster else None
        more = f"; if items of one {shared} are not independent: --set cluster={shared}" if shared else ""
        return (f"not read: {listed(self.left)}{more}",) if self.left else ()

    def rows(self, rows: Iterable[Row]) -> list[Row]:
        """The rows with our own names; columns that stand for nothing keep theirs."""
        ours = {column: role for role, column in self.columns.items()}
        return [
            Row({ours.get(name, name): cell for name, cell in row.cells.items()}, row.place) for row in rows
        ]


def named(
    columns: Sequence[str], path: str, needed: Sequence[str], may: Sequence[str], given: Mapping[str, str]
) -> Named:
    """Columns by what they are for: as `given`, else by an obvious name. What a table `may` have is taken likewise.

    Raises:
        Unnamed: one that is needed is not given and not obvious.
        FileFault: there is no column of a name that is given.
    """
    columns_ = dict(given)
    for role, column in given.items():
        if column not in columns:
            raise FileFault(f"{path}: has no column '{column}'; it has {listed(columns)}")
        if role not in (*needed, *may):
            raise FileFault(f"--set takes COLUMN of {', '.join((*needed, *may))}, and not of '{role}'")
    for role in (*needed, *may):
        if role not in columns_:
            plain = obvious(role, [column for column in columns if column not in columns_.values()])
            if plain is not None:
                columns_[role] = plain
    lacking = [role for role in needed if role not in columns_]
    if lacking:
        raise Unnamed(path, lacking, columns)
    taken = {role: column for role, column in columns_.items() if role != column and role not in given}
    return Named(columns_, taken, tuple(column for column in columns if column not in columns_.values()))
