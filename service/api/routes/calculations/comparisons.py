"""One arm or two without a plan, and what data of a size can resolve. Nothing is stored."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any

from fastapi import Request
from pydantic import BaseModel
from starlette.responses import Response

from service.api.calculators import handlers
from service.api.calculators.pool import CalculatorLost
from service.api.examples import comparisons as examples
from service.api.http.answers.answers import shows
from service.api.http.requests.body import READ_SECONDS, SMALL_BODY, Content, RawBody
from service.api.http.requests.deps import Tester
from service.api.http.serving.route import make_router
from service.api.http.shared import get_services
from service.api.parsing.markdown import Lang
from service.domain.comparison.records import Comparison
from service.domain.comparison.request import ComparisonRequest
from service.domain.resolution.records import Audit, AuditRequest, Resolution, ResolutionRequest
from service.domain.score.records import Score
from service.domain.score.request import ScoreRequest
from service.errors import Unavailable
from service.words import Language

routes = make_router("tests")


def _declare_body(kind: type[BaseModel], example: Any) -> Any:
    """Declare a body of that type, which is read in the calculator that computes the answer."""
    return RawBody({"application/json": kind}, example=example, max_bytes=SMALL_BODY)


@routes.post("/score", response_model=Score, responses=shows(examples.SCORE))
async def score_arm(
    request: Request,
    caller: Tester,  # noqa: ARG001
    content: Annotated[Content, _declare_body(ScoreRequest, examples.SCORED)],
    lang: Lang = "en",
) -> Response:
    """Score one arm without a plan.

    The mean of its items with the interval that decides, for items like these and for these very items, and whether
    it reaches a threshold. The answer is exploratory: no plan was locked before these data.
    """
    return await _compute(request, handlers.score_arm, content, lang)


@routes.post("/compare", response_model=Comparison, responses=shows(examples.COMPARISON))
async def compare_arms(
    request: Request,
    caller: Tester,  # noqa: ARG001
    content: Annotated[Content, _declare_body(ComparisonRequest, examples.ROWS)],
    lang: Lang = "en",
) -> Response:
    """Compare two arms without a plan.

    Pairs rows by item id and tells better, no worse, worse or cannot tell, by tests that its `rule` names. The answer
    is exploratory: no plan was locked before these data.
    """
    return await _compute(request, handlers.compare_arms, content, lang)


@routes.post("/resolution", response_model=Resolution, responses=shows(examples.RESOLUTION))
async def resolve_pilot(
    request: Request,
    caller: Tester,  # noqa: ARG001
    content: Annotated[Content, _declare_body(ResolutionRequest, examples.PILOT)],
    lang: Lang = "en",
) -> Response:
    """Tell what a pilot's items can resolve.

    The smallest true differences that are told at 80 and 90 % power, by items and by clusters, and the least p.
    """
    return await _compute(request, handlers.resolve_pilot, content, lang)


@routes.post("/resolution/published", response_model=Audit, responses=shows(examples.AUDIT))
async def audit_pair(
    request: Request,
    caller: Tester,  # noqa: ARG001
    content: Annotated[Content, _declare_body(AuditRequest, examples.PUBLISHED)],
    lang: Lang = "en",
) -> Response:
    """Audit two published accuracies.

    Bounds over every fourfold table that gives these accuracies on the same items.
    """
    return await _compute(request, handlers.audit_pair, content, lang)


async def _compute(
    request: Request, work: Callable[..., bytes], content: Content, language: Language
) -> Response:
    """Compute the answer in a calculator: in this process enumeration would hold up everybody."""
    run = get_services(request).calculators.run
    try:
        computed = await run(
            request, work, content.limit, language, body=content.pieces, seconds=READ_SECONDS
        )
    except CalculatorLost:
        raise Unavailable("this could not be computed in time: send fewer rows or effects") from None
    return Response(computed, 200, media_type="application/json")
