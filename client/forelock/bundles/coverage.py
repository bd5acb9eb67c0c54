"""Which planned results are in: every item, arm, endpoint and replicate of the plan, once."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from forelock.bundles.faults import Broken
from forelock.bundles.rows import OpenBatch

MAX_CELLS = 20_000_000
MAX_NAMED = 100_000
"""Populations times hypotheses, or arms times endpoints: a plan has 200 of each at most."""
Key = tuple[str, str, str]


class Coverage:
    """The cells of a plan, and which of them a batch has filled. One byte per planned result."""

    def __init__(self, plan: dict[str, Any]) -> None:
        """No cell is filled.

        Raises:
            Broken: the plan does not say what it expects.
        """
        self._cells: dict[Key, tuple[int, int, bytearray]] = {}
        total = 0
        for key, n, replicates in _expected(plan):
            total += n * replicates
            if total > MAX_CELLS:
                raise Broken(f"the plan expects more than {MAX_CELLS} results")
            self._cells[key] = n, replicates, bytearray(n * replicates)
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
        for position, replicate in zip(batch.positions, batch.replicates, strict=True):
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
        """The fewest items that an arm of a population has a result of, on any endpoint, in all replicates."""
        return min(
            (self._in.get(key, 0) // cell[1] for key, cell in self._cells.items() if key[0] == population),
            default=0,
        )


def _arms(hypothesis: dict[str, Any]) -> tuple[str, ...]:
    """The arms that a hypothesis is about: the candidate alone where it is compared with a reference."""
    if hypothesis.get("reference") is not None:
        return (hypothesis["candidate"],)
    return hypothesis["baseline"], hypothesis["candidate"]


def _expected(plan: dict[str, Any]) -> Iterator[tuple[Key, int, int]]:
    """Arms with their endpoints, one at a time: a plan of a megabyte could name more than the memory holds."""
    named = 0
    try:
        if len(plan["populations"]) * len(plan["hypotheses"]) > MAX_NAMED:
            raise Broken("the plan names more populations and hypotheses than a plan has")
        for population in plan["populations"]:
            compared = [
                hypothesis
                for hypothesis in plan["hypotheses"]
                if hypothesis["population"] == population["id"]
            ]
            arms = dict.fromkeys(arm for hypothesis in compared for arm in _arms(hypothesis))
            for arm in arms:
                named += len(plan["endpoints"])
                if named > MAX_NAMED:
                    raise Broken("the plan names more arms and endpoints than a plan has")
                for endpoint in plan["endpoints"]:
                    if population["id"] in endpoint.get("populations", [population["id"]]):
                        n, replicates = population["n"], endpoint.get("replicates", 1)
                        if type(n) is not int or type(replicates) is not int or n < 1 or replicates < 1:
                            raise Broken("the plan has a population or an endpoint without a size")
                        key = (population["id"], arm, endpoint["id"])
                        if not all(isinstance(part, str) for part in key):
                            raise Broken("the plan has a population, an arm or an endpoint without a name")
                        yield key, n, replicates
    except (KeyError, TypeError, AttributeError):
        raise Broken("the plan does not name its populations, hypotheses and endpoints") from None
