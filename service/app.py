"""The application: our routes, our problems for every error, and what runs beside requests."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator
from pathlib import Path

from fastapi import APIRouter, FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.staticfiles import StaticFiles
from fastapi.telemetry import TelemetryConfig
from starlette.exceptions import HTTPException
from starlette.responses import Response
from starlette.routing import BaseRoute, Match

from service.actions.results.group_commit import Posting
from service.api.http import problems
from service.api.http.authentication import KeyCache
from service.api.http.limits.byte_budget import ByteBudget
from service.api.http.metrics import Metrics
from service.api.http.reads import Reads
from service.api.http.serving.housekeeping import run_beside
from service.api.http.serving.layers import Layered
from service.api.http.serving.route import Exact
from service.api.http.shared import UPLOADED_FILES, Services
from service.api.http.streams.following import Following
from service.api.http.streams.watch import Watch
from service.api.parsing import faults
from service.api.routes.calculations import comparisons, jobs, questions, stats
from service.api.routes.delivery import trackers, webhooks
from service.api.routes.ledger import exports, ledger
from service.api.routes.operation import docs, health, service
from service.api.routes.plans import (
    amendments,
    arms,
    badges,
    families,
    links,
    markdown,
    populations,
    preregistrations,
    receipts,
)
from service.api.routes.projects import audit, keys, projects, series, view_links
from service.api.routes.results import artefacts, endings, imports, labels, results, rows, runs, unblinding
from service.api.routes.verdicts import (
    bundles,
    calibration,
    charts,
    citations,
    deviations,
    evidence,
    looks,
    multiverse,
    reports,
    verdicts,
    wording,
)
from service.api.routes.verdicts import exports as verdict_exports
from service.config import Settings
from service.errors import ForelockError, NotFound
from service.keyring.keyring import Keyring
from service.operation.objects import keeping_of
from service.operation.sign_in import sign_in_of
from service.operation.starting import signer_of
from service.processes.wake import nudge
from service.store.database.engine import Database
from service.web import pages
from service.web.html.rendering import (
    asks_for_page,
    is_answered_by_page,
    nothing_here,
    refusal,
    something_failed,
)

ROUTERS: tuple[APIRouter, ...] = (
    stats.routes,
    comparisons.routes,
    questions.routes,
    preregistrations.routes,
    amendments.routes,
    arms.routes,
    endings.routes,
    families.routes,
    populations.routes,
    runs.routes,
    results.routes,
    labels.routes,
    rows.routes,
    imports.routes,
    artefacts.routes,
    unblinding.routes,
    verdicts.routes,
    deviations.routes,
    multiverse.routes,
    calibration.routes,
    charts.routes,
    reports.routes,
    verdict_exports.routes,
    citations.routes,
    looks.routes,
    markdown.routes,
    exports.routes,
    evidence.routes,
    wording.routes,
    jobs.routes,
    view_links.routes,
    series.routes,
    projects.routes,
    keys.routes,
    webhooks.routes,
    trackers.routes,
    links.routes,
    badges.routes,
    bundles.routes,
    receipts.routes,
    ledger.routes,
    ledger.key_routes,
    audit.routes,
    service.routes,
    service.metrics_routes,
    health.routes,
    docs.routes,
    *pages.ROUTERS,
)
_NO_TELEMETRY = TelemetryConfig(
    tracing=False, metrics=False, logs=False, operation_spans=False, auto_configure=False
)
STATIC = Path(__file__).parent / "web" / "static"


def create_app(settings: Settings, database: Database, keyring: Keyring) -> FastAPI:
    """Return the application of one deployment."""
    cache, metrics = KeyCache(database, settings.key_cache_seconds), Metrics()
    shared = Services(
        settings=settings,
        database=database,
        keyring=keyring,
        keys=cache,
        metrics=metrics,
        watch=Watch(database),
        following=Following(database),
        posting=Posting(
            database,
            results.dump_receipt,
            lambda: nudge(settings.runner_socket),
            lanes=max(1, settings.pool_size // 2),
        ),
        signer=signer_of(settings, database, keyring),
        reads=Reads(database),
        upload_budget=ByteBudget(UPLOADED_FILES * settings.max_import_bytes),
        keeping=keeping_of(settings, keyring),
        sign_in=sign_in_of(settings),
    )

    @contextlib.asynccontextmanager
    async def lifespan(_app: FastAPI) -> AsyncIterator[None]:
        async with run_beside(shared):
            yield

    served = routes()
    app = Layered(
        served,
        metrics,
        _broken,
        lifespan=lifespan,
        openapi_url=None,
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
        telemetry=_NO_TELEMETRY,  # FastAPI's own would carry validation errors with their inputs
    )
    app.state.services, app.state.documents = shared, {}
    app.router.routes.extend([Exact(served), *served])
    app.mount("/static", StaticFiles(directory=STATIC), name="static")
    app.add_exception_handler(ForelockError, _own)
    app.add_exception_handler(RequestValidationError, _refuse)
    app.add_exception_handler(HTTPException, _answer_status)
    return app


def routes() -> list[BaseRoute]:
    """Return every route, flat: one look-up per request, and OpenAPI sees what is served."""
    return [route for router in ROUTERS for route in router.routes]


def _broken(request: Request) -> Response:
    """Return what a bug answers: a page to somebody who looks at pages, and nothing about its cause."""
    if is_answered_by_page(request):
        with contextlib.suppress(Exception):  # where no page can be made, the problem still is
            return something_failed(request)
    return problems.respond_internal()


async def _own(request: Request, error: Exception) -> Response:
    assert isinstance(error, ForelockError)  # noqa: S101
    return refusal(request, error) if is_answered_by_page(request) else problems.respond_error(error)


async def _refuse(request: Request, error: Exception) -> Response:
    assert isinstance(error, RequestValidationError)  # noqa: S101
    errors = error.errors()
    on_path = any(fault["loc"][0] == "path" for fault in errors)
    refused = NotFound("no record has such an id") if on_path else faults.invalid_parameters(errors)
    return refusal(request, refused) if is_answered_by_page(request) else problems.respond_error(refused)


async def _answer_status(request: Request, error: Exception) -> Response:
    """Answer an error of routing: an unknown path, or a method that the path does not take."""
    assert isinstance(error, HTTPException)  # noqa: S101
    if error.status_code == 404 and asks_for_page(request):
        return nothing_here(request)
    if error.status_code == 404:
        return problems.respond_status(404, "there is nothing at this path; /docs lists what there is")
    if error.status_code != 405:
        return problems.respond_status(error.status_code, str(error.detail))
    allow = ", ".join(_methods(request))
    if request.method == "OPTIONS":
        return Response(status_code=204, headers={"Allow": allow})
    if asks_for_page(request):
        return nothing_here(request, 405, {"Allow": allow})
    detail = f"this path answers {allow}"
    return problems.respond_status(405, detail, {"Allow": allow})


def _methods(request: Request) -> list[str]:
    """Return every method some route answers at the request's path."""
    methods: set[str] = set()
    for route in request.app.router.routes:
        if route.matches(request.scope)[0] is not Match.NONE:
            methods |= getattr(route, "methods", None) or set()
    return sorted(methods | ({"HEAD"} if "GET" in methods else set()) | {"OPTIONS"})
