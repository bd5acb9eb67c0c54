"""A population of a plan: the items that hypotheses speak of, and which of them belong together."""

from __future__ import annotations

from pydantic import Field

from service.domain.plans.strings import Line, Paragraph, Token
from service.records import StrictRecord
from service.stats.shared.declaring.common import MAX_ITEMS


class Clusters(StrictRecord):
    """Items of one cluster are not independent. Membership comes from the manifest."""

    key: Line = Field(description="What the clusters are, e.g. `conversation`.")
    n: int = Field(ge=1, le=10_000_000, description="How many.")


class Population(StrictRecord):
    """The items the hypotheses speak of."""

    id: Token = Field(description="What hypotheses and results call it.")
    dataset: Line = Field(description="Name and version of the data.")
    n: int = Field(ge=1, le=MAX_ITEMS, description="Items planned.")
    items_sha256: str | None = Field(
        None,
        pattern="^[0-9a-f]{64}$",
        description="SHA-256 of the item manifest. The lock fills it in; sent earlier, it pins the manifest.",
    )
    clusters: Clusters | None = Field(
        None, description="Which items belong together; null: every item stands alone."
    )
    independence: Paragraph | None = Field(None, description="Why items are independent, without clusters.")
    order_seed: int | None = Field(
        None,
        ge=0,
        le=2**53 - 1,
        description="Seed of the order in which items are looked at; null: the manifest's own.",
    )
    strata: Line | None = Field(None, description="What the manifest's strata are.")

    def of_items(self, n: int, n_clusters: int | None) -> Population:
        """Return this population with so many items and clusters, not those that were locked."""
        clusters = self.clusters and self.clusters.model_copy(update={"n": n_clusters})
        return self.model_copy(update={"n": n, "items_sha256": None, "clusters": clusters})
