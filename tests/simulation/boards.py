"""Worlds of several arms: their outcomes on the same items, or preferences between them."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

Body = dict[str, object]
Draw = Callable[[np.random.Generator, float], Body]

GRADED = (0.8, 0.4, 0.4, 0.0, 0.0)
"""How good five arms are that differ, on the scale of log odds."""


def arms(better: Sequence[float], units: int, per_cluster: int = 0) -> Draw:
    """Arms that are so good: `units` items, or clusters of about `per_cluster` items that suit some arms better."""
    k = len(better)

    def draw(rng: np.random.Generator, _effect: float) -> Body:
        least, most = 2 * per_cluster // 5, 8 * per_cluster // 5
        sizes = rng.integers(least, most + 1, units) if per_cluster else np.ones(units, dtype=int)
        codes = np.repeat(np.arange(units), sizes)
        suits = rng.normal(0, 0.5 if per_cluster else 0.0, (units, k))[codes]
        level = rng.normal(0.8, 1.0, len(codes))[:, None]
        chance = 1 / (1 + np.exp(-(level + suits + np.asarray(better))))
        right = (rng.random(chance.shape) < chance).astype(float)
        body: Body = {"arms": {f"arm {arm}": right[:, arm].tolist() for arm in range(k)}}
        return {**body, "clusters": codes.tolist()} if per_cluster else body

    return draw


def skewed_arms(many: int, clusters: int) -> Draw:
    """Equal arms with lognormal scores, in clusters of lognormal sizes (median 12, sigma 1.2) that suit some arms."""

    def draw(rng: np.random.Generator, _effect: float) -> Body:
        sizes = np.maximum(np.round(12 * np.exp(1.2 * rng.standard_normal(clusters))), 1).astype(int)
        codes = np.repeat(np.arange(clusters), sizes)
        suits = rng.normal(0, 0.3**0.5, (clusters, many))[codes]
        scores = np.exp(suits + rng.normal(0, 0.7**0.5, (len(codes), many)))
        body: Body = {"arms": {f"arm {arm}": scores[:, arm].tolist() for arm in range(many)}}
        return {**body, "clusters": codes.tolist()}

    return draw


def tied_arms(many: int, items: int) -> Draw:
    """Equal arms with grades 0, .5 and 1 that are often alike, on items of different difficulty."""

    def draw(rng: np.random.Generator, _effect: float) -> Body:
        shown = rng.normal(0, 1, (items, 1)) + rng.normal(0, 1, (items, many))
        grades = np.digitize(shown, [-0.5, 0.8]) / 2
        return {"arms": {f"arm {arm}": grades[:, arm].tolist() for arm in range(many)}}

    return draw


def with_gaps(world: Draw, share: float) -> Draw:
    """The same with such a share of the outcomes missing, at random."""

    def draw(rng: np.random.Generator, effect: float) -> Body:
        body = dict(world(rng, effect))
        columns: dict[str, list[float]] = body["arms"]  # type: ignore[assignment]
        body["arms"] = {
            name: [
                None if gone else x for x, gone in zip(column, rng.random(len(column)) < share, strict=True)
            ]
            for name, column in columns.items()
        }
        return body

    return draw


def preferences(better: Sequence[float], units: int, *, prompts: bool) -> Draw:
    """Arms that are so strong: `units` comparisons of two at random, or prompts that suit some and see all pairs."""
    k, names = len(better), ["first", "second", "tie"]

    def draw(rng: np.random.Generator, _effect: float) -> Body:
        pairs_of_all = np.array(np.triu_indices(k, 1))
        picked = (
            np.tile(np.arange(pairs_of_all.shape[1]), units)
            if prompts
            else rng.integers(0, k * (k - 1) // 2, units)
        )
        first, second = pairs_of_all[:, picked]
        codes = np.repeat(np.arange(units), len(picked) // units)
        strength = np.asarray(better) + rng.normal(0, 1.0 if prompts else 0.0, (units, k))
        one, other = strength[codes, first], strength[codes, second]
        weights = np.exp(np.stack([one, other, np.log(0.5) + (one + other) / 2], axis=1))
        bars = np.cumsum(weights / weights.sum(axis=1, keepdims=True), axis=1)
        chosen = (rng.random(len(picked))[:, None] > bars[:, :2]).sum(axis=1)
        body: Body = {
            "first": [f"arm {arm}" for arm in first],
            "second": [f"arm {arm}" for arm in second],
            "preferred": [names[each] for each in chosen],
        }
        return {**body, "clusters": codes.tolist()} if prompts else body

    return draw
