"""The locked order of a population: items, or whole clusters, permuted by the plan's seed."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from service.domain.plans.manifest import Manifest
from service.domain.plans.sections.population import Population
from service.kernels.numeric.clusters import codes_of
from service.kernels.numeric.order import permutation


def ranks(population: Population, manifest: Manifest) -> NDArray[np.int64]:
    """Return the place of every item's unit in the order, from 0, shape (items,). Without a seed: the manifest's."""
    clusters = manifest.clusters if population.clusters is not None else None
    codes = np.arange(manifest.n, dtype=np.int64) if clusters is None else codes_of(clusters)
    units = int(codes.max()) + 1
    if population.order_seed is None:
        return codes
    # `permutation` lists units by place; its inverse has the place of each unit.
    place = np.empty(units, dtype=np.int64)
    place[permutation(units, population.order_seed)] = np.arange(units)
    return np.asarray(place[codes])


def in_order(population: Population, manifest: Manifest) -> NDArray[np.int64]:
    """Return manifest positions in the order, items of a cluster together, shape (items,)."""
    return np.argsort(ranks(population, manifest), kind="stable").astype(np.int64)


def look_units(population: Population, looks: int) -> tuple[int, ...]:
    """Return the units at each of `looks` equal steps, rounded up; the last are all."""
    units = population.n if population.clusters is None else population.clusters.n
    return tuple(-(-units * look // looks) for look in range(1, looks + 1))
