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
SHOWN = 12


def obvious(role: str, columns: Iterable[str]) -> str | None:
    """The one column that is for it: of the first names of which there is any, None where there are several."""
    found = fitting(role, columns)
    return found[0] if len(found) == 1 else None


def fitting(role: str, columns: Iterable[str]) -> list[str]:
    """The columns that may be for it: those of the first names of which there is any."""
    plain = {column: re.sub(r"[\s-]+", "_", column.strip().lower()) for column in columns}
    for names in NAMES[role]:
        found = [column for column, name in plain.items() if name in names]
        if found:
            return found
    return []


def listed(columns: Sequence[str]) -> str:
    """Columns in a sentence: the first dozen."""
    more = f" and {len(columns) - SHOWN} more" if len(columns) > SHOWN else ""
    return ", ".join(column or "(no name)" for column in columns[:SHOWN]) + more


@dataclass(frozen=True, slots=True)
class Named:
    """Which column of a table stands for what."""

    columns: Mapping[str, str]
    remarks: tuple[str, ...]
    """What was taken by another name than our own, and what was not read, in sentences."""

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
        FileFault: one that is needed is not given and not obvious; or there is none of a name that is given.
    """
    found = dict(given)
    for role, column in given.items():
        if column not in columns:
            raise FileFault(f"{path}: has no column '{column}'; it has {listed(columns)}")
        if role not in (*needed, *may):
            raise FileFault(f"--set takes COLUMN of {', '.join((*needed, *may))}, and not of '{role}'")
    for role in (*needed, *may):
        if role not in found:
            plain = obvious(role, [each for each in columns if each not in found.values()])
            if plain is not None:
                found[role] = plain
    lacking = [role for role in needed if role not in found]
    if lacking:
        roles, options = (
            " ".join(each.format(role) for role in lacking) for each in ("'{}'", "--set {}=COLUMN")
        )
        raise FileFault(
            f"{path}: has no column {roles.replace(' ', ', ')}, and which one stands for it is not plain; "
            f"it has {listed(columns)}: add {options}"
        )
    taken = [
        f"{role} is the column {column}"
        for role, column in found.items()
        if role != column and role not in given
    ]
    remarks = [f"{', '.join(taken)}; --set {taken[0].partition(' ')[0]}=… names another"] if taken else []
    left = [column for column in columns if column not in found.values()]
    if left:
        shared = [column for column in left if column.lower() in SHARED] if "cluster" not in found else []
        said = (
            f"; if items of one {shared[0]} are not independent: --set cluster={shared[0]}" if shared else ""
        )
        remarks.append(f"not read: {listed(left)}{said}")
    return Named(found, tuple(remarks))
