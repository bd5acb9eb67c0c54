"""An example multiverse for OpenAPI: made by the code it is an example of."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import numpy as np

from service.api.examples import PLAN
from service.domain.as_run import Rows, verdicts_of
from service.domain.deviation_changes import ExcludedItems
from service.domain.multiverse import multiverse
from service.domain.outcomes import Cell, Outcomes
from service.domain.plan import Plan
from service.domain.population import Manifest

N = 40


def _arm(right: range) -> Cell:
    values = np.zeros((N, 1))
    values[right] = 1.0
    return Cell(values, np.zeros((N, 1), dtype=np.uint8))


def _rows() -> Rows:
    """The example plan on 40 items, of which the candidate gains 8."""
    plan = Plan.from_dict(PLAN)
    (population, *_), (hypothesis, *_) = plan.populations or (), plan.hypotheses or ()
    (endpoint, *_) = plan.endpoints or ()
    cells = {
        (population.id, hypothesis.baseline, endpoint.id): _arm(range(10)),
        (population.id, hypothesis.candidate, endpoint.id): _arm(range(18)),
    }
    return Rows(
        plan.model_copy(
            update={
                "populations": (population.model_copy(update={"n": N}),),
                "hypotheses": (hypothesis,),
                "endpoints": (endpoint,),
            }
        ),
        {population.id: Manifest(tuple(f"q{at}" for at in range(N)))},
        Outcomes(cells),
        datetime(2027, 1, 4, 9, tzinfo=UTC),
    )


def made() -> dict[str, Any]:
    """The answer where one deviation leaves four items out."""
    rows = _rows()
    population = next(iter(rows.manifests))
    change = ExcludedItems(
        kind="exclude_items", population=population, item_ids=tuple(f"q{at}" for at in range(14, 18))
    )
    found = multiverse(rows, {1: change}, tuple(verdicts_of(rows).values()))
    return found.model_dump(mode="json")


MULTIVERSE = made()
