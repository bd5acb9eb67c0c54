"""Suites of a plan: several populations as tasks of one benchmark, under locked weights."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Literal

from pydantic import Field, JsonValue

from service.domain.plans.sections.endpoint import MAX_LIST
from service.domain.plans.strings import Token
from service.records import StrictRecord
from service.stats.shared.data.suites import TaskScale, Weight


class Suite(StrictRecord):
    """Several tasks with items of their own. A hypothesis whose `population` names it speaks of all of them."""

    id: Token = Field(description="What hypotheses call it; no population has that name.")
    populations: tuple[Token, ...] = Field(
        min_length=2, max_length=MAX_LIST, description="The tasks: `id`s of populations."
    )
    weights: (
        Literal["equal", "items"] | Annotated[dict[Token, Weight], Field(min_length=1, max_length=MAX_LIST)]
    ) = Field(
        "equal",
        description="What each task counts: `equal` (the mean of the tasks), `items` (by the items planned of "
        "each, so that results which are missing change no weight), or a number from 1e-9 to 1e9 for every task.",
    )
    rescale: Annotated[dict[Token, TaskScale], Field(min_length=1, max_length=MAX_LIST)] | None = Field(
        None,
        description="Of a task whose scores count from a floor to a ceiling: (score - floor) / (ceiling - floor). "
        "Differences, margins and references of the suite are then on that scale.",
    )
    estimand: Literal["these_tasks", "new_tasks"] = Field(
        "these_tasks",
        description="Which tasks claims speak of: these, of which items are a sample, or tasks like these.",
    )

    @property
    def sound(self) -> bool:
        """True where every task is named once and has a weight; else lint says what to mend and nothing is computed."""
        tasks = set(self.populations)
        weighed = tasks if isinstance(self.weights, str) else set(self.weights)
        return len(tasks) == len(self.populations) and weighed == tasks and set(self.rescale or ()) <= tasks

    def shares(self, sizes: Mapping[str, int]) -> dict[str, float]:
        """Return what each task counts, by name, from the items planned of each; not yet divided by their sum."""
        if isinstance(self.weights, dict):
            return {name: self.weights[name] for name in self.populations}
        return {name: float(sizes[name]) if self.weights == "items" else 1.0 for name in self.populations}

    def scales(self) -> dict[str, JsonValue]:
        """Return floor and ceiling of the tasks that have them, by name, as a request carries them."""
        return {name: scale.model_dump(mode="json") for name, scale in (self.rescale or {}).items()}
