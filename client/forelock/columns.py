"""Columns of a table by what people call them. One obvious name is taken and said; of several none is."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

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
        frozenset(
            {"题目", "题号", "题目编号", "题目id", "问题", "样本", "样本编号", "样本id", "编号", "序号"}
        ),
        frozenset({"unnamed:_0"}),  # a data frame's index
    ),
    "arm": (
        frozenset({"arm"}),
        frozenset({"model", "system", "variant", "method", "agent", "provider", "model_name", "treatment"}),
        frozenset({"模型", "模型名称", "系统", "方法"}),
    ),
    "value": (
        frozenset({"value"}),
        frozenset(
            {"score", "correct", "is_correct", "match", "exact_match", "exact", "acc", "accuracy", "resolved"}
            | {"success", "passed", "pass", "includes", "reward", "result", "rating", "grade"}
        ),
        frozenset({"得分", "分数", "评分", "成绩", "是否正确", "正确", "结果"}),
    ),
    "run": (
        frozenset({"run"}),
        frozenset({"run_id", "replicate", "epoch", "repeat", "trial", "attempt", "seed"}),
        frozenset({"轮次", "重复", "次数"}),
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
    """Return the one column that is for it: of the first names of which there is any, None where there are several."""
    candidates = fitting(role, columns)
    return candidates[0] if len(candidates) == 1 else None


def fitting(role: str, columns: Iterable[str]) -> list[str]:
    """Return the columns that may be for it: those of the first names of which there is any."""
    plain = {column: re.sub(r"[\s-]+", "_", column.strip().lower()) for column in columns}
    for names in NAMES[role]:
        candidates = [column for column, name in plain.items() if name in names]
        if candidates:
            return candidates
    return []


def list_names(columns: Sequence[str]) -> str:
    """Return names of columns or systems as a part of a sentence: the first dozen, and how many more there are."""
    more = f" and {len(columns) - SHOWN} more" if len(columns) > SHOWN else ""
    return ", ".join(column or "(no name)" for column in columns[:SHOWN]) + more
