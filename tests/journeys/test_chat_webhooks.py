"""Webhooks of chats: they are told what the others are, in a line, and nothing sooner."""

from __future__ import annotations

import json
from typing import Any

import pytest
import sqlalchemy as sa

from service.store.database import tables
from tests.loopback import Loopback

from .conftest import Service
from .outbox import drain, judge, lock, sender

pytestmark = [pytest.mark.any_database, pytest.mark.usefixtures("loopback_may_be_called")]
FORMATS = ("slack", "teams", "discord", "text")


def made(service: Service, receiver: Loopback, **asked: Any) -> dict[str, Any]:
    body = {"url": receiver.url("/in"), "events": ["preregistration.locked", "verdict.published"], **asked}
    answer = service.client.post("/v1/webhooks", json=body)
    assert answer.status_code == 201, answer.text
    return answer.json()["webhook"]


@pytest.mark.parametrize("shape", FORMATS)
def test_a_chat_is_told_of_the_lock_and_of_the_verdict(
    service: Service, receiver: Loopback, shape: str
) -> None:
    webhook = made(service, receiver, format=shape)
    assert webhook["format"] == shape
    assert service.client.get("/v1/webhooks").json()["items"] == [webhook]
    prereg_id = lock(service, title="Caching")
    drain(sender(service))
    judge(service, prereg_id)
    drain(sender(service))
    # as Discord shows it
    (locked, judged) = (asked.body.decode().replace("\\", "") for asked in receiver.requests)
    assert "Plan locked: Caching" in locked
    assert "Verdict: Caching" in judged
    headline = service.client.get(f"/v1/preregistrations/{prereg_id}/verdict/sentences").json()
    line = headline["hypotheses"][0]["headline"]["en"]
    assert line.split(":")[0] in judged
    assert all("webhook-signature" in {name.lower() for name in asked.headers} for asked in receiver.requests)


def test_a_webhook_made_before_there_were_formats_has_the_standard_one(
    service: Service, receiver: Loopback
) -> None:
    webhook = made(service, receiver)
    with service.database.write() as session:
        session.execute(sa.update(tables.webhooks).values(format=None))
    assert service.client.get("/v1/webhooks").json()["items"] == [webhook]
    lock(service)
    drain(sender(service))
    assert json.loads(receiver.requests[0].body)["type"] == "preregistration.locked"


def test_a_format_that_there_is_not_is_refused_with_those_there_are(
    service: Service, receiver: Loopback
) -> None:
    body = {"url": receiver.url("/in"), "events": ["verdict.published"], "format": "irc"}
    answer = service.client.post("/v1/webhooks", json=body)
    (error,) = answer.json()["errors"]
    assert (answer.status_code, error["path"]) == (422, "format")
    assert "slack" in error["fix"] + error["message"]
