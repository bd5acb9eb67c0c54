"""How sure one system's score is, or that of each of several: its rows as the body of a score."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from forelock.problem import ForelockProblem
from forelock.questions.amounts import range_of
from forelock.questions.tables.choices import Choices
from forelock.questions.tables.reading import read_for
from forelock.questions.tables.systems import take_one_or_all
from forelock.questions.tables.table import Reading, System
from forelock.questions.tables.tasks import suite_body

if TYPE_CHECKING:
    from forelock.client import Client
    from forelock.local import Local

Json = dict[str, Any]


def scores_of(
    asked_of: Client | Local,
    paths: Sequence[str],
    choices: Choices,
    request: Json,
    *,
    scores: str | None,
) -> tuple[dict[str, Json | str], Reading]:
    """By system its score, or why it has none, from one file or several; and how they were read.

    A single system, or the only one, has its score or raises why not.

    Args:
        request: what the score is asked with beside the rows.
        scores: the range of scores, such as `1..5`.

    Raises:
        FileFault: a file that is not read, a measure that is not there, or not the system that is named.
        ForelockProblem: no system has a score.
    """

    def body(reading: Reading, system: System) -> Json:
        scale = {} if scores is None else {"range": range_of(scores)}
        prefers = {"prefers": "lower"} if reading.lower else {}
        return {**system.columns(), **scale, **prefers, **suite_body(reading, choices), **request}

    def answer(reading: Reading) -> dict[str, Json | str]:
        answers: dict[str, Json | str] = {}
        problems = []
        for system in reading.systems:
            try:
                answers[system.name] = asked_of.score(body(reading, system))
            except ForelockProblem as problem:
                answers[system.name] = problem.detail
                problems.append(problem)
        if len(problems) == len(reading.systems):
            raise problems[0]
        return answers

    reading = read_for(asked_of, [paths], choices, take_one_or_all, answer, compares=False)
    return answer(reading), reading
