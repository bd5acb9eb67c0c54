"""What a plan about suites expects in a bundle: results of every task's items, as the service expects them."""

from __future__ import annotations

from forelock.bundles.coverage import _list_expected
from service.domain.results.batches import expected_cells
from tests.domain.suites_sample import suite_plan


def test_results_are_expected_of_every_task() -> None:
    alone = {
        "id": "H2", "claim": "at_least", "statement": "C9 reaches half", "population": "large", "candidate": "C9",
        "reference": {"value": 50, "unit": "%"}, "endpoint": "accuracy", "rule": "suite.ci.low > 50%",
    }  # fmt: skip
    plan = suite_plan({"hypotheses.1": alone})
    expected = [key for key, *_ in _list_expected(plan.as_dict())]
    assert expected == [(cell.population, cell.arm, cell.endpoint) for cell in expected_cells(plan)]
    assert len(expected) == 2 * 3 + 1
