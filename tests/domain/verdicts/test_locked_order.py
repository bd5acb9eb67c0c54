"""The request that the cumulative picture of a verdict is drawn from."""

from __future__ import annotations

from typing import Any

import pytest

from service.domain.plans.items.unit_order import ranks
from service.domain.rules.settings import resolve
from service.domain.verdicts.locked_order import curve_request
from service.domain.verdicts.outcomes import Rows
from tests.domain import sample

N = 30


@pytest.mark.parametrize(("seed", "order"), [(7, "locked_seed"), (None, "unknown")])
def test_items_stand_in_the_plans_order_which_says_where_it_is_from(seed: int | None, order: str) -> None:
    changes: dict[str, Any] = {} if seed is None else {"populations.0.order_seed": seed}
    plan = sample.plan({"populations.0.n": N} | changes)
    candidate = [at % 2 for at in range(N)]
    rows = Rows(resolve(plan), sample.manifests(plan), sample.outcomes([0] * N, candidate))
    request: Any = curve_request(resolve(plan).settings[0], rows)
    assert (request.order, request.planned_n) == (order, N)
    (population,) = plan.populations or ()
    places = ranks(population, sample.manifests(plan)["one"])
    assert request.candidate == [candidate[at] for at in sorted(range(N), key=lambda at: places[at])]
