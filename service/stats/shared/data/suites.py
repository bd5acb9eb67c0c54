"""How the tasks of a suite are weighed and scaled, and of which tasks its mean speaks."""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from service.errors import InvalidData
from service.stats.shared.declaring.common import Finite, Request

MOST_TASKS = 500
LEAST_LENGTH = 1e-9
"""Of a task's scale, as a share of its larger end: below it floor and ceiling are one."""
LENGTHS = (1e-30, 1e30)
"""Between which a scale's length lies: scores over a shorter one, or the length itself, would be no finite numbers."""
Weight = Annotated[Finite, Field(ge=1e-9, le=1e9)]
"""Of one task: squares of shares that lie this far apart are still numbers."""
TaskName = Annotated[str, Field(min_length=1, max_length=512)]
Weighting = Literal["equal", "items"]
Weights = Annotated[
    Weighting | Annotated[dict[TaskName, Weight], Field(max_length=MOST_TASKS)],
    Field(
        description="What each task counts: `equal` (the macro average, which harnesses print as a group's score), "
        "`items` (every item alike), or a number from 1e-9 to 1e9 for every task by its name; they are "
        "divided by their sum."
    ),
]
SuiteEstimand = Annotated[
    Literal["these_tasks", "new_tasks"],
    Field(
        description="`these_tasks`: the tasks are the ones that matter, and their items are a sample; `new_tasks`: the "
        "tasks are a sample too, and the answer speaks of tasks like these."
    ),
]


class TaskScale(Request):
    """What a task's score is measured between: (score - floor) / (ceiling - floor)."""

    floor: Finite = Field(description="The score that counts 0, such as what guessing gets.")
    ceiling: Finite = Field(description="The score that counts 1; not the floor.")

    @model_validator(mode="after")
    def _require_apart(self) -> Self:
        """Refuse a floor and a ceiling with nothing, or next to nothing, between them."""
        if abs(self.length) <= LEAST_LENGTH * max(abs(self.floor), abs(self.ceiling)):
            raise InvalidData.field(
                "ceiling", "is the floor, so nothing lies between", "send the score that counts 1"
            )
        if not LENGTHS[0] <= abs(self.length) <= LENGTHS[1]:
            raise InvalidData.field(
                "ceiling",
                f"is no distance from the floor to compute with: it is {abs(self.length):g}",
                f"give scores and their ends in a unit in which it is from {LENGTHS[0]:g} to {LENGTHS[1]:g}",
            )
        return self

    @property
    def length(self) -> float:
        """The distance from the floor to the ceiling, which counts as 1."""
        return self.ceiling - self.floor


Rescale = Annotated[
    dict[TaskName, TaskScale] | None,
    Field(
        max_length=MOST_TASKS,
        description="By name of a task between what its scores are measured; a task that is not named keeps its own.",
    ),
]
