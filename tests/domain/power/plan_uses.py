"""Tests as plans ask for them."""

from __future__ import annotations

from itertools import product

from service.stats.shared.declaring import registry
from tests.stats.cases import cases_of

SIDES = ("two-sided", "greater", "less")


IN_PLANS = {
    name: test for name, test in registry.latest().items() if test.plan is not None and test.plan.arms == 2
}
"""Tests of one arm have tests of their own: tests/domain/power/test_one_arm.py."""


def asked(name):
    """Parameters worth varying, one combination after the other."""
    test, varied = registry.find(name), dict(cases_of(name).varied or {})
    if "alternative" in test.request.model_fields:
        varied["alternative"] = SIDES
    for values in product(*varied.values()):
        yield dict(zip(varied, values, strict=True))
