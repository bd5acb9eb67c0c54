"""The service about itself: limits, version, metrics."""

from __future__ import annotations

from pydantic import Field
from starlette.responses import Response

from service.api.http.answers.answers import shows
from service.api.http.metrics import MEDIA_TYPE
from service.api.http.requests.body import SMALL_BODY
from service.api.http.requests.deps import AnyCaller, Operator, ReadSession, Shared
from service.api.http.requests.prefer import MOST_WAIT_SECONDS
from service.api.http.serving.housekeeping import KEEP_ANSWERS
from service.api.http.serving.route import make_router
from service.api.parsing.models import MAX_CONTAINERS, MAX_VALUES
from service.api.parsing.strict_json import MAX_DEPTH
from service.api.routes.plans.preregistrations import MAX_PLAN
from service.api.routes.results.imports import SECONDS as IMPORT_SECONDS
from service.ingest.columns import MAX_REPLICATE, MAX_TEXT
from service.ingest.documents import limits
from service.records import Record
from service.stats.shared.declaring.common import MAX_ITEMS
from service.stats.shared.declaring.registry import library_versions
from service.store.database.paging import MAX_LIMIT
from service.store.jobs import jobs

routes = make_router("service")
metrics_routes = make_router("service", prefix="")


class Limits(Record):
    """What one request may hold."""

    body_bytes: int = Field(description="Largest request body, as sent.")
    expanded_bytes: int = Field(description="Largest request body after gzip.")
    small_body_bytes: int = Field(description="The same for bodies without columns, after gzip too.")
    json_depth: int = Field(description="Deepest nesting of a JSON body.")
    json_containers: int = Field(description="Arrays and objects in one JSON body.")
    json_values: int = Field(description="Values in one JSON body, by its commas.")
    items: int = Field(description="Longest column of a statistical test's request.")
    batch_rows: int = Field(description="Results in one batch, and items of a manifest.")
    import_bytes: int = Field(description="Largest file of an import, as sent.")
    import_inflated_bytes: int = Field(description="Of all entries of an archive that is imported.")
    import_entry_bytes: int = Field(description="Of one entry, or of one line, of a file that is imported.")
    import_entries: int = Field(description="Entries of an archive that is imported.")
    import_ratio: int = Field(
        description="How many times its compressed size an entry of more than 1 MiB may have."
    )
    import_seconds: float = Field(description="Of computing that reading one import may take.")
    text_characters: int = Field(description="Longest id, name or label of results and items.")
    replicates: int = Field(description="Highest replicate number.")
    page_items: int = Field(description="Most items on one page of a list.")
    idempotency_days: int = Field(description="How long an answer to an Idempotency-Key is kept.")
    key_cache_seconds: float = Field(description="How long a revoked key may still work.")
    project_jobs: int = Field(description="Jobs that one project may have waiting or running.")
    project_job_bytes: int = Field(description="Bytes of requests that those jobs may keep.")
    project_drafts: int = Field(description="Drafts that one project may have.")
    plan_bytes: int = Field(description="Largest plan, as JSON.")
    wait_seconds: int = Field(description="Longest `Prefer: wait=N` that is honoured.")
    key_waits: int = Field(
        description="Requests with `Prefer: wait` that one key has waiting in one API process; others do not wait."
    )
    key_streams: int = Field(
        description="Streams of events that one key may follow at a time, in one API process."
    )
    job_result_days: float = Field(
        description="How long a finished job and its answer are kept; verdicts stay."
    )


class Version(Record):
    """What is running."""

    version: str
    versions: dict[str, str] = Field(description="Of everything that numbers depend on.")


@routes.get(
    "/limits",
    responses=shows(
        {
            "body_bytes": 67108864,
            "expanded_bytes": 67108864,
            "small_body_bytes": 8388608,
            "json_depth": 64,
            "json_containers": 1000100,
            "json_values": 8000000,
            "items": 1000000,
            "batch_rows": 1000000,
            "import_bytes": 1073741824,
            "import_inflated_bytes": 2147483648,
            "import_entry_bytes": 268435456,
            "import_entries": 200000,
            "import_ratio": 200,
            "import_seconds": 300.0,
            "text_characters": 512,
            "replicates": 65535,
            "page_items": 200,
            "idempotency_days": 7,
            "key_cache_seconds": 5.0,
            "project_jobs": 10000,
            "project_job_bytes": 1073741824,
            "project_drafts": 1000,
            "plan_bytes": 1048576,
            "wait_seconds": 60,
            "key_waits": 64,
            "key_streams": 32,
            "job_result_days": 7.0,
        }
    ),
)
async def get_limits(_caller: AnyCaller, shared: Shared) -> Limits:
    """Read what a request may hold. A larger body is refused with 413 before it is read."""
    return Limits(
        body_bytes=shared.settings.max_body_bytes,
        expanded_bytes=shared.settings.max_expanded_bytes,
        small_body_bytes=min(SMALL_BODY, shared.settings.max_body_bytes),
        json_depth=MAX_DEPTH,
        json_containers=MAX_CONTAINERS,
        json_values=MAX_VALUES,
        items=MAX_ITEMS,
        batch_rows=shared.settings.max_rows,
        import_bytes=shared.settings.max_import_bytes,
        import_inflated_bytes=limits.MOST_INFLATED,
        import_entry_bytes=limits.MOST_ENTRY,
        import_entries=limits.MOST_ENTRIES,
        import_ratio=limits.MOST_RATIO,
        import_seconds=IMPORT_SECONDS,
        text_characters=MAX_TEXT,
        replicates=MAX_REPLICATE,
        page_items=MAX_LIMIT,
        idempotency_days=KEEP_ANSWERS.days,
        key_cache_seconds=shared.settings.key_cache_seconds,
        project_jobs=shared.settings.project_jobs,
        project_job_bytes=shared.settings.project_job_bytes,
        project_drafts=shared.settings.project_drafts,
        plan_bytes=MAX_PLAN,
        wait_seconds=MOST_WAIT_SECONDS,
        key_waits=shared.waits.most,
        key_streams=shared.streams.most,
        job_result_days=shared.settings.job_result_days,
    )


@routes.get(
    "/version",
    responses=shows({"version": "0.2.0", "versions": {"forelock-server": "0.2.0", "numpy": "2.4.6"}}),
)
async def get_version(_caller: AnyCaller) -> Version:
    """Read the version, and those of the libraries that numbers depend on."""
    versions = library_versions()
    return Version(version=versions["forelock-server"], versions=versions)


@metrics_routes.get(
    "/metrics",
    response_class=Response,
    responses={
        200: {
            "description": "Prometheus text.",
            "content": {
                "text/plain": {
                    "schema": {"type": "string"},
                    "example": 'forelock_http_requests_total{route="/v1/limits",method="GET",status="200"} 1.0\n',
                }
            },
        }
    },
)
def get_metrics(_caller: Operator, shared: Shared, session: ReadSession) -> Response:
    """Read metrics for Prometheus: requests by route, method and status, how long they took, and waiting jobs."""
    return Response(shared.metrics.text(jobs.count_by_state(session)), media_type=MEDIA_TYPE)
