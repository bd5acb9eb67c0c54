"""Fields that many tests are asked or answer alike: levels, clusters, seeds and counts, each described once."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from service.stats.shared.declaring.common import Alternative, Labels, Proportion

Alpha = Annotated[Proportion, Field(description="Significance level the sentence speaks of, a proportion.")]
Level = Annotated[Proportion, Field(description="Two-sided level of the interval, a proportion.")]
LevelOfAll = Annotated[Proportion, Field(description="Two-sided level of the intervals, a proportion.")]
Clusters = Annotated[Labels | None, Field(description="Cluster of each item, a label per item, same order.")]
DrawCount = Annotated[int, Field(ge=100, le=1_000_000)]
ResampleSeed = Annotated[int | None, Field(ge=0, le=2**53, description="Seed of the resamples. Default 42.")]
DrawSeed = Annotated[
    int | None,
    Field(ge=0, le=2**53, description="Seed of the draws; used only where something is drawn. Default 42."),
]
PlainSeed = Annotated[int, Field(ge=0, lt=2**63, description="Seed of the draws.")]

ItemCount = Annotated[int, Field(description="Items, a count.")]
ClusterCount = Annotated[int | None, Field(description="Clusters, a count.")]
DiscordantCount = Annotated[int, Field(description="Items whose outcomes differ between the arms, a count.")]
ValueCount = Annotated[int, Field(description="Runs of all items together, a count.")]
LeastRuns = Annotated[int, Field(description="Runs of the item with the fewest, a count.")]
MostRuns = Annotated[int, Field(description="Runs of the item with the most, a count.")]
DirectionTested = Annotated[Alternative, Field(description="Direction tested.")]
StudyName = Annotated[str, Field(description="Name of the study.")]
FindingName = Annotated[str, Field(description="Name of the finding.")]

DecidingLevel = Annotated[float, Field(ge=1e-6, le=0.5, allow_inf_nan=False)]
"""The level of an answer that decides without a plan."""
PowerPlannedFor = Annotated[float, Field(ge=0.5, le=0.999, allow_inf_nan=False)]
"""The power for which an answer says how many more would tell."""
Unseen = Literal["items", "clusters"]
"""The units that have to be seen: a bound allows for one more, at the limit, of those that were not."""
