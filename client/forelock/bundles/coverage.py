"""Which planned results are in: every item, arm, endpoint and replicate of the plan, once."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from forelock.bundles.draws import draw_items
from forelock.bundles.faults import Broken
from forelock.bundles.rows import OpenBatch

MAX_CELLS = 20_000_000
MAX_NAMED = 100_000
"""Populations times hypotheses, or arms times endpoints: a plan has 200 of each at most."""
Key = tuple[str, str, str]


class Coverage:
    """The cells of a plan, and which of them a batch has filled. One byte per planned result."""

    def __init__(self, plan: dict[str, Any]) -> None:
        """The cells that a plan expects, none of them filled.

        Raises:
            Broken: the plan does not say what it expects.
        """
        self._cells: dict[Key, tuple[int, int, bytearray]] = {}
        self._drawn: dict[Key, frozenset[int]] = {}
        """Positions that people were to label, of the endpoints of which they label a part."""
        total = room = 0
        for key, n, replicates, positions in _list_expected(plan):
            room += n * replicates
            # Before the bytes are asked for: a small plan may expect more results than any memory holds.
            if room > MAX_CELLS:
                raise Broken(f"the plan expects more than {MAX_CELLS} results")
            self._cells[key] = n, replicates, bytearray(n * replicates)
            total += (n if positions is None else len(positions)) * replicates
            if positions is not None:
                self._drawn[key] = positions
        self.expected = total
        self.received = 0
        self._in: dict[Key, int] = {}

    def place(self, batch: OpenBatch) -> str | None:
        """Fill the cells of a batch; what is wrong with it, if anything is."""
        facts = batch.facts
        key = facts.population, facts.arm, facts.endpoint
        cell = self._cells.get(key)
        if cell is None:
            return f"batch {facts.sequence} is of an arm or endpoint that the plan does not expect"
        n, replicates, filled = cell
        draw = self._drawn.get(key)
        for position, replicate in zip(batch.positions, batch.replicates, strict=True):
            if draw is not None and position not in draw:
                return f"batch {facts.sequence} has a label of an item that the plan's seed did not draw"
            if not (0 <= position < n and 1 <= replicate <= replicates):
                return (
                    f"batch {facts.sequence} has a row for an item or replicate that the plan does not have"
                )
            at = position * replicates + replicate - 1
            if filled[at]:
                return f"batch {facts.sequence} has a second result for an item, arm and endpoint"
            filled[at] = 1
        self.received += facts.n
        self._in[key] = self._in.get(key, 0) + facts.n
        return None

    def least(self, population: str) -> int:
        """Return the fewest items that an arm of a population has a result of, on any endpoint, in all replicates."""
        return min(
            (
                self._in.get(key, 0) // cell[1]
                for key, cell in self._cells.items()
                if key[0] == population and key not in self._drawn
            ),
            default=0,
        )


def _arms(hypothesis: dict[str, Any]) -> tuple[str, ...]:
    """Return the arms that a hypothesis is about: the candidate alone where it is compared with a reference."""
    if hypothesis.get("reference") is not None:
        return (hypothesis["candidate"],)
    return hypothesis["baseline"], hypothesis["candidate"]


def _draw_positions(endpoint: dict[str, Any], population: dict[str, Any]) -> frozenset[int] | None:
    """Return the items that people label of an endpoint; None where every item has a result."""
    labels = endpoint.get("labels")
    if labels is None:
        return None
    n, seed, hashed = labels["n"], labels["seed"], population["items_sha256"]
    if type(n) is not int or type(seed) is not int or n < 1 or not isinstance(hashed, str):
        raise Broken("the plan does not say which items people label")
    return frozenset(draw_items(hashed, seed, population["n"], n))


def _list_expected(plan: dict[str, Any]) -> Iterator[tuple[Key, int, int, frozenset[int] | None]]:
    """Arms with their endpoints, one at a time: a plan of a megabyte could name more than the memory holds."""
    n_endpoints = 0
    try:
        if len(plan["populations"]) * len(plan["hypotheses"]) > MAX_NAMED:
            raise Broken("the plan names more populations and hypotheses than a plan has")
        tasks = {suite["id"]: frozenset(suite["populations"]) for suite in plan.get("suites") or ()}
        for population in plan["populations"]:
            compared = [
                hypothesis
                for hypothesis in plan["hypotheses"]
                if hypothesis["population"] == population["id"]
                or population["id"] in tasks.get(hypothesis["population"], ())
            ]
            arms = dict.fromkeys(arm for hypothesis in compared for arm in _arms(hypothesis))
            for arm in arms:
                n_endpoints += len(plan["endpoints"])
                if n_endpoints > MAX_NAMED:
                    raise Broken("the plan names more arms and endpoints than a plan has")
                for endpoint in plan["endpoints"]:
                    if population["id"] in endpoint.get("populations", [population["id"]]):
                        n, replicates = population["n"], endpoint.get("replicates", 1)
                        if type(n) is not int or type(replicates) is not int or n < 1 or replicates < 1:
                            raise Broken("the plan has a population or an endpoint without a size")
                        key = (population["id"], arm, endpoint["id"])
                        if not all(isinstance(part, str) for part in key):
                            raise Broken("the plan has a population, an arm or an endpoint without a name")
                        if n > MAX_CELLS:
                            raise Broken(f"the plan expects more than {MAX_CELLS} results")
                        yield key, n, replicates, _draw_positions(endpoint, population)
    except (KeyError, TypeError, AttributeError):
        raise Broken("the plan does not name its populations, hypotheses and endpoints") from None
