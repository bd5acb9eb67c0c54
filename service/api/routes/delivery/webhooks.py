"""Webhooks over HTTP: where events of a project are posted, and what became of each message."""

from __future__ import annotations

import secrets
import uuid
from typing import Annotated

from fastapi import Path
from pydantic import Field
from sqlalchemy.orm import Session
from starlette.responses import Response

from service.actions.delivery import webhooks as actions
from service.api.examples import outgoing as examples
from service.api.http.answers.answers import Page, answer, omit, shows
from service.api.http.requests.body import StrictBody
from service.api.http.requests.deps import MAX_ID, Admin, Cursor, Limit, ReadSession, RecordId, Shared
from service.api.http.requests.idempotency import OptionalOnce
from service.api.http.serving.route import make_router, refuses
from service.api.http.shared import Services
from service.domain.outgoing import SECRET_BYTES, Delivery, EventName, Webhook, WebhookFormat, secret_text
from service.domain.plans.strings import Line
from service.publish.addresses import Allowed, read_allowed
from service.records import Record, StrictRecord
from service.store.database import clock
from service.store.delivery import deliveries
from service.store.delivery import webhooks as stored

routes = make_router("outgoing")


class WebhookRequest(StrictRecord):
    """A new webhook."""

    url: Annotated[str, Field(min_length=1, max_length=2000, description="Where messages are posted: https.")]
    events: Annotated[
        tuple[EventName, ...], Field(min_length=1, max_length=20, description="What it is told.")
    ]
    description: Line | None = Field(None, description="For people.")
    format: WebhookFormat = Field(
        "standard",
        description="`standard`: the whole message, by Standard Webhooks. `slack`, `teams`, `discord`: what the "
        'incoming webhook of that chat takes. `text`: `{"text": …}`, for Mattermost, Rocket.Chat and Google Chat.',
    )


class NewWebhook(Record):
    """A webhook with its secret, which no other answer shows."""

    webhook: Webhook
    secret: str | None = Field(
        description="What messages are signed with, `whsec_` and base64. Null when the answer is a repeated one."
    )


DeliveryId = Annotated[str, Path(max_length=MAX_ID, description="Id of the message, its `webhook-id`.")]


@routes.post(
    "/webhooks",
    status_code=201,
    response_model=NewWebhook,
    responses=shows(examples.NEW_WEBHOOK, 201) | refuses(429),
)
def create_webhook(
    caller: Admin,
    once: OptionalOnce,
    shared: Shared,
    body: Annotated[WebhookRequest, StrictBody(WebhookRequest, example=examples.WEBHOOK_BODY)],
) -> Response:
    """Create a webhook of the project.

    Messages follow Standard Webhooks. The secret is shown in this answer alone; it is kept sealed, and only the
    runner opens it. Private addresses, and http without TLS, are for targets that the operator lists.
    """
    secret = secret_text(secrets.token_bytes(SECRET_BYTES))

    def work(session: Session) -> Response:
        made = actions.create(
            session,
            caller,
            url=body.url,
            events=body.events,
            description=body.description,
            shape=body.format,
            allowed=read_allowed_targets(shared),
            webhook_id=uuid.uuid4().hex,
            secret=secret,
            seal_public=shared.keyring.seal_public,
            now=clock.read_now(session),
        )
        return answer(NewWebhook(webhook=made, secret=secret), 201)

    return once.run(work, keep=omit(NewWebhook, "secret"))


def read_allowed_targets(shared: Services) -> tuple[Allowed, ...]:
    """Read the addresses that are not public and that the operator lists as allowed."""
    return read_allowed(shared.settings.outgoing_allow or "")


@routes.get("/webhooks", responses=shows({"items": [examples.WEBHOOK], "next_cursor": None}))
def list_webhooks(
    caller: Admin, session: ReadSession, limit: Limit = 50, cursor: Cursor = None
) -> Page[Webhook]:
    """List the project's webhooks, newest first, without their secrets."""
    items, following = stored.read_page(session, caller.project_id, cursor=cursor, limit=limit)
    return Page(items=items, next_cursor=following)


@routes.delete("/webhooks/{webhook_id}", status_code=204, response_model=None, responses=refuses(507))
def delete_webhook(caller: Admin, shared: Shared, webhook_id: RecordId) -> Response:
    """Delete a webhook, what waits for it, and what is kept of its messages."""
    with shared.database.write() as session:
        actions.delete(session, caller, webhook_id, now=clock.read_now(session))
    return Response(status_code=204)


@routes.post(
    "/webhooks/{webhook_id}/rotation",
    response_model=NewWebhook,
    responses=shows(examples.NEW_WEBHOOK | {"webhook": examples.WEBHOOK}),
)
def rotate_webhook(caller: Admin, once: OptionalOnce, shared: Shared, webhook_id: RecordId) -> Response:
    """Give a webhook another secret. The one before signs as well for 24 hours."""
    secret = secret_text(secrets.token_bytes(SECRET_BYTES))

    def work(session: Session) -> Response:
        public, now = shared.keyring.seal_public, clock.read_now(session)
        made = actions.rotate(session, caller, webhook_id, secret=secret, seal_public=public, now=now)
        return answer(NewWebhook(webhook=made, secret=secret))

    return once.run(work, keep=omit(NewWebhook, "secret"))


@routes.post(
    "/webhooks/{webhook_id}/ping",
    status_code=202,
    response_model=Delivery,
    responses=shows(examples.DELIVERY | {"event": "webhook.ping", "preregistration_id": None}, 202)
    | refuses(429),
)
def ping_webhook(caller: Admin, once: OptionalOnce, webhook_id: RecordId) -> Response:
    """Have a message sent that tells of nothing, to see whether it arrives."""

    def work(session: Session) -> Response:
        delivery_id, now = f"msg_{secrets.token_hex(20)}", clock.read_now(session)
        return answer(actions.ping(session, caller, webhook_id, delivery_id=delivery_id, now=now), 202)

    return once.run(work)


@routes.get(
    "/webhooks/{webhook_id}/deliveries", responses=shows({"items": [examples.DELIVERY], "next_cursor": None})
)
def list_deliveries(
    caller: Admin, session: ReadSession, webhook_id: RecordId, limit: Limit = 50, cursor: Cursor = None
) -> Page[Delivery]:
    """List a webhook's messages, newest first: how often each was tried, and what came of it.

    What has ended is kept for 30 days.
    """
    stored.get(session, caller.project_id, webhook_id)
    items, following = deliveries.read_page(
        session, caller.project_id, webhook_id, cursor=cursor, limit=limit
    )
    return Page(items=items, next_cursor=following)


@routes.post(
    "/webhooks/{webhook_id}/deliveries/{delivery_id}/redelivery",
    status_code=202,
    response_model=Delivery,
    responses=shows(examples.DELIVERY, 202) | refuses(429),
)
def redeliver(caller: Admin, once: OptionalOnce, webhook_id: RecordId, delivery_id: DeliveryId) -> Response:
    """Have a message sent again, with the same id and body. One that still waits is left to its turn."""

    def work(session: Session) -> Response:
        return answer(
            actions.redeliver(session, caller, webhook_id, delivery_id, now=clock.read_now(session)), 202
        )

    return once.run(work)
