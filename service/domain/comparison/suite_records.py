"""What an answer says of the tasks of a suite."""

from __future__ import annotations

from pydantic import Field

from service.records import Record
from service.stats.shared.data.suites import SuiteEstimand
from service.stats.shared.methods.suites import Heterogeneity, Losses, SuiteTask


class SuiteFacts(Record):
    """The tasks beside the suite's mean. Where lower outcomes are better, who lost is who got worse."""

    weights: str = Field(description="`equal`, `items`, or `named`.")
    estimand: SuiteEstimand
    n_tasks: int = Field(description="Tasks that are weighed, a count.")
    n_spanning: int = Field(description="Clusters with items of several tasks, a count.")
    item_weighted: float = Field(description="The mean over all items whatever their task: another quantity.")
    tasks: tuple[SuiteTask, ...]
    losses: Losses | None = Field(description="Of two arms.")
    heterogeneity: Heterogeneity | None
    critical_value: float = Field(
        description="Of the simultaneous intervals, on the scale of the normal law."
    )
    lacking: tuple[str, ...] = Field(
        description="Tasks of which no item has a result (in both arms), left out."
    )
