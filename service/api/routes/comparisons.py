"""Two arms without a plan, and what data of a size can resolve. Nothing is stored."""

from __future__ import annotations

from typing import Annotated

from fastapi import Response

from service.api.examples import comparisons as examples
from service.api.http.answers import answer, shows
from service.api.http.body import StrictBody
from service.api.http.deps import Tester
from service.api.http.route import router
from service.domain.comparison.compare import compare
from service.domain.comparison.records import Comparison
from service.domain.comparison.request import ComparisonRequest
from service.domain.resolution.audit import audit
from service.domain.resolution.records import Audit, AuditRequest, Resolution, ResolutionRequest
from service.domain.resolution.resolve import resolve

routes = router("tests")


@routes.post("/compare", response_model=Comparison, responses=shows(examples.COMPARISON))
def compare_arms(
    caller: Tester,  # noqa: ARG001
    body: Annotated[ComparisonRequest, StrictBody(ComparisonRequest, example=examples.ROWS)],
) -> Response:
    """Compare two arms without a plan.

    Pairs rows by item id and tells better, no worse, worse or cannot tell, by tests that its `rule` names. The answer
    is exploratory: no plan was locked before these data.
    """
    return answer(compare(body))


@routes.post("/resolution", response_model=Resolution, responses=shows(examples.RESOLUTION))
def resolve_pilot(
    caller: Tester,  # noqa: ARG001
    body: Annotated[ResolutionRequest, StrictBody(ResolutionRequest, example=examples.PILOT)],
) -> Response:
    """Tell what a pilot's items can resolve.

    The smallest true differences that are told at 80 and 90 % power, by items and by clusters, and the least p.
    """
    return answer(resolve(body))


@routes.post("/resolution/published", response_model=Audit, responses=shows(examples.AUDIT))
def audit_pair(
    caller: Tester,  # noqa: ARG001
    body: Annotated[AuditRequest, StrictBody(AuditRequest, example=examples.PUBLISHED)],
) -> Response:
    """Audit two published accuracies.

    Bounds over every fourfold table that gives these accuracies on the same items.
    """
    return answer(audit(body))
