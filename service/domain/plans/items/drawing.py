"""The draw of the items that people label, as anybody repeats it from the locked plan."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from forelock.bundles import draws
from service.domain.plans.sections.endpoint import Endpoint
from service.domain.plans.sections.population import Population


@dataclass(frozen=True, slots=True)
class Drawing:
    """The draw of a locked population. Nothing is hashed until somebody asks for positions."""

    items_sha256: str
    seed: int
    n_items: int
    n: int
    """Items that are drawn."""

    def positions(self) -> NDArray[np.int32]:
        """Places of the drawn items in the manifest, in the order of the draw, (n,)."""
        return np.array(draws.draw_items(self.items_sha256, self.seed, self.n_items, self.n), dtype=np.int32)

    def order_labels(self, arms: tuple[str, ...]) -> list[tuple[int, str]]:
        """Return every label that people are asked for, in the order in which they get it: position and arm."""
        return draws.order_labels(self.items_sha256, self.seed, self.n_items, self.n, arms)


def drawing_of(endpoint: Endpoint, population: Population) -> Drawing | None:
    """Return the draw of an endpoint that people label in part; None where every item has a result.

    A population that is not locked yet has no manifest's hash to draw by: an empty text stands in for it.
    """
    draw = endpoint.labels
    if draw is None:
        return None
    return Drawing(population.items_sha256 or "", draw.seed, population.n, min(draw.n, population.n))
