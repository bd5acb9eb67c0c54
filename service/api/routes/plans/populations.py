"""Item manifests: which items a population consists of, in which order and which clusters."""

from __future__ import annotations

from typing import Annotated

from anyio import to_thread
from fastapi import Depends, Path, Request, Response
from pydantic import Field

from service.actions.plans import preregistrations as actions
from service.api.calculators import handlers
from service.api.examples import common as examples
from service.api.http.answers.answers import View, answer, shows
from service.api.http.problems import may_answer
from service.api.http.requests.body import make_raw_reader
from service.api.http.requests.deps import OptionalIfMatch, Planner, Reader, ReadSession, RecordId, Shared
from service.api.http.serving.route import make_router, refuses
from service.api.http.shared import Services
from service.api.routes.plans.preregistrations import audit_refusals
from service.domain.access import Key
from service.errors import NotFound
from service.records import StrictRecord
from service.store.database import clock
from service.store.plans import preregistrations
from service.store.plans.populations import Packed, read_manifests

routes = make_router("preregistrations")

PopulationId = Annotated[str, Path(max_length=64, description="Id of the population in the plan.")]


class Items(StrictRecord):
    """A population's items as columns; their order is the manifest order."""

    item_ids: list[Annotated[str, Field(min_length=1, max_length=512)]] = Field(min_length=1)
    clusters: list[Annotated[str, Field(min_length=1, max_length=512)]] | None = None
    strata: list[Annotated[str, Field(min_length=1, max_length=512)]] | None = None
    content_sha256: list[Annotated[str, Field(pattern="^[0-9a-f]{64}$")]] | None = Field(
        None, description="Of each item's content, which imports are held against; null: nobody pinned it."
    )


class ItemsFacts(View):
    """What the server made of a manifest."""

    n: int = Field(description="Items.")
    items_sha256: str = Field(
        description="SHA-256 of the manifest's canonical form; the lock puts it into the plan."
    )
    n_clusters: int | None = Field(description="Distinct clusters; null without clusters.")


_body = make_raw_reader(
    {"application/json": Items, "application/x-ndjson": str, "text/csv": str}, example=examples.ITEMS
)


@may_answer(400, 413, 415, 422)
async def _read_manifest(
    request: Request, caller: Planner, shared: Shared, prereg_id: RecordId, population: PopulationId
) -> Packed:
    """Read the manifest in the body, once the record is known to take one: a body may be large."""
    await to_thread.run_sync(_require_draft, shared, caller, prereg_id, population)
    content = await _body(request)
    return await content.read(request, handlers.read_manifest, content.media_type, shared.settings.max_rows)


def _require_draft(shared: Services, caller: Key, prereg_id: str, population: str) -> None:
    with audit_refusals(shared, caller, prereg_id, _ACTION), shared.database.read() as session:
        actions.require_population(preregistrations.get(session, caller.project_id, prereg_id), population)


_read_manifest.body_doc = _body.body_doc  # type: ignore[attr-defined]
_ACTION = "preregistration.items"


@routes.put(
    "/preregistrations/{prereg_id}/populations/{population}/items",
    response_model=ItemsFacts,
    responses=shows(examples.ITEMS_FACTS) | refuses(409),
)
def put_items(
    caller: Planner,
    shared: Shared,
    if_match: OptionalIfMatch,
    prereg_id: RecordId,
    population: PopulationId,
    manifest: Annotated[Packed, Depends(_read_manifest)],
) -> Response:
    """Set a draft population's items.

    JSON columns, NDJSON rows or CSV with `item_id`, `cluster`, `stratum`, `content_sha256`.
    Replaces an earlier manifest.
    """
    with audit_refusals(shared, caller, prereg_id, _ACTION), shared.database.write() as session:
        record = preregistrations.get(session, caller.project_id, prereg_id, for_update=True)
        if_match.check(record.etag)
        record, facts = actions.put_items(
            session, caller, record, population, manifest, now=clock.read_now(session)
        )
        view = ItemsFacts(n=facts.n, items_sha256=facts.items_sha256, n_clusters=facts.n_clusters)
        return answer(view, headers={"ETag": record.etag})


@routes.get(
    "/preregistrations/{prereg_id}/populations/{population}/items",
    response_model=Items,
    responses=shows(examples.ITEMS),
)
def get_items(
    caller: Reader, session: ReadSession, prereg_id: RecordId, population: PopulationId
) -> Response:
    """Read a population's items in manifest order."""
    record = preregistrations.get(session, caller.project_id, prereg_id)
    manifest = read_manifests(session, record).get(population)
    if manifest is None:
        raise NotFound(f"population '{population}' of this preregistration has no items")
    return answer(
        Items.model_construct(  # a stored manifest is valid, and may hold millions of ids
            item_ids=list(manifest.item_ids),
            clusters=None if manifest.clusters is None else list(manifest.clusters),
            strata=None if manifest.strata is None else list(manifest.strata),
            content_sha256=None if manifest.content_sha256 is None else list(manifest.content_sha256),
        )
    )
