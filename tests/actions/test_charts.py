"""Which endpoint a picture sets against the hypothesis' own, and over which items an arm's means are taken."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from service.actions.verdicts import charts
from service.domain.plans.preregistration import Preregistration
from service.errors import Conflict, InvalidData
from service.store.verdicts import verdicts
from tests.journeys.chart_rows import rows_of
from tests.journeys.plans import small_plan

from .conftest import BASELINE, CANDIDATE, N, World

COSTS = {"A": [4.0] * 5 + [2.0] * 5, "B": [1.0] * 9 + [11.0]}
SHARES = {"A": [0.25] * N, "B": [0.5] * N}


def judge(world: World, *endpoints: dict[str, Any], named: str | None) -> Preregistration:
    """A judged record with further endpoints, one of which its rule may name."""
    plan = small_plan(N)
    plan["endpoints"] += endpoints
    if named is not None:
        plan["hypotheses"][0]["rule"] += " and other.ratio.ci.low > 0.001"
        plan["tests"].append({"id": "other", "test": "ratio-of-means", "version": 1, "endpoint": named})
    record = world.locked(plan)
    world.post(record, "A", BASELINE)
    world.post(record, "B", CANDIDATE)
    for endpoint in endpoints:
        for arm in ("A", "B"):
            values = (COSTS if endpoint["id"] == "cost" else SHARES)[arm]
            world.post(record, arm, values, endpoint=endpoint["id"])
    return world.judge(world.read(record))


def draw_pareto(world: World, record: Preregistration) -> Any:
    verdict = world.write(verdicts.find, "project", record.id)
    return world.write(charts.of_verdict, record, verdict, "pareto", None, "en")


def points_of(spec: Any) -> dict[str, tuple[float, float]]:
    return {row["arm"]: (row["quality"], row["cost"]) for row in rows_of(spec)}


FURTHER = {"kind": "continuous", "role": "secondary", "positive": True}
COST, SHARE = {**FURTHER, "id": "cost", "better": "lower"}, {**FURTHER, "id": "share", "better": "higher"}


@pytest.mark.parametrize(
    ("endpoints", "named", "chosen"),
    [
        ([SHARE], None, SHARES),
        ([COST], None, COSTS),
        ([SHARE, COST], None, COSTS),
        ([COST, SHARE], None, COSTS),
        ([COST, SHARE], "share", SHARES),
        ([SHARE, COST], "cost", COSTS),
    ],
)
def test_quality_is_set_against_what_the_rule_names_then_a_cost_then_anything(
    world: World, endpoints: list[dict[str, Any]], named: str | None, chosen: dict[str, list[float]]
) -> None:
    points = points_of(draw_pareto(world, judge(world, *endpoints, named=named)))
    assert points == {
        arm: (pytest.approx(np.mean(quality)), pytest.approx(np.mean(chosen[arm])))
        for arm, quality in (("A", BASELINE), ("B", CANDIDATE))
    }


def test_one_endpoint_alone_has_no_such_picture(world: World) -> None:
    with pytest.raises(Conflict, match="measured by one endpoint alone"):
        draw_pareto(world, world.judged())


def test_a_picture_is_of_the_hypothesis_that_is_asked_for(world: World) -> None:
    record = world.judged()
    verdict = world.write(verdicts.find, "project", record.id)
    (only,) = verdict.hypotheses
    assert charts.chosen(verdict, None) is charts.chosen(verdict, only.id) is only
    with pytest.raises(InvalidData, match="not one of the verdict") as refused:
        charts.chosen(verdict, "other")
    assert only.id in refused.value.faults[0].fix
