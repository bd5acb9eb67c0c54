"""Webhooks: what happens to a record is posted, signed, until it is taken or given up."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import re
import threading
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from service.domain.outgoing import EVENTS
from service.jobs.delivering import Delivering
from service.store.database import clock, tables
from service.store.delivery import deliveries
from tests.loopback import Asked, Loopback

from .conftest import Service, only_sqlite
from .outbox import drain, judge, lock, sender

pytestmark = [pytest.mark.any_database, pytest.mark.usefixtures("loopback_may_be_called")]


def webhook(service: Service, receiver: Loopback, *events: str) -> dict[str, Any]:
    body = {"url": receiver.url("/in"), "events": events or EVENTS}
    made = service.client.post("/v1/webhooks", json=body)
    assert made.status_code == 201, made.text
    return made.json()


def sent(service: Service, made: dict[str, Any]) -> list[dict[str, Any]]:
    """What became of the webhook's messages, newest first."""
    return service.client.get(f"/v1/webhooks/{made['webhook']['id']}/deliveries").json()["items"]


def is_signed(secret: str, asked: Asked) -> bool:
    """As the specification says it, with nothing of ours."""
    key = base64.b64decode(secret[len("whsec_") :])
    text = f"{asked.headers['webhook-id']}.{asked.headers['webhook-timestamp']}.".encode() + asked.body
    wanted = base64.b64encode(hmac.new(key, text, hashlib.sha256).digest()).decode()
    return f"v1,{wanted}" in asked.headers["webhook-signature"].split(" ")


@only_sqlite
def test_the_example_of_the_page_tells_a_signature_from_a_forgery(
    service: Service, receiver: Loopback
) -> None:
    page = (Path(__file__).resolve().parents[2] / "docs/webhooks.md").read_text("utf-8")
    (example,) = re.findall(r"^```python\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
    shown: dict[str, Any] = {}
    exec(example, shown)
    made = webhook(service, receiver)
    service.client.post(f"/v1/webhooks/{made['webhook']['id']}/ping")
    drain(sender(service))
    (asked,) = receiver.requests
    at = float(asked.headers["webhook-timestamp"])
    given = {"secret": made["secret"], "headers": asked.headers, "body": asked.body, "now": at}
    assert shown["is_ours"](**given)
    assert not shown["is_ours"](**given | {"body": asked.body + b" "})
    assert not shown["is_ours"](**given | {"secret": "whsec_" + "A" * 44})
    assert not shown["is_ours"](**given | {"now": at + 301})
    assert not shown["is_ours"](**given | {"headers": {**asked.headers, "webhook-id": "msg_other"}})


def told(receiver: Loopback) -> list[dict[str, Any]]:
    return [json.loads(asked.body) for asked in receiver.requests]


def test_lock_and_verdict_are_posted_signed_and_once(service: Service, receiver: Loopback) -> None:
    made, sending = webhook(service, receiver), sender(service)
    prereg_id = lock(service, title="Caching")
    assert drain(sending) == 1
    judge(service, prereg_id)
    assert drain(sending) == 1
    assert drain(sending) == 0
    lock_, verdict = told(receiver)
    record = service.client.get(f"/v1/preregistrations/{prereg_id}").json()
    assert lock_["type"] == "preregistration.locked"
    assert lock_["data"]["plan_sha256"] == record["plan_sha256"]
    assert lock_["data"]["title"] == "Caching"
    assert lock_["data"]["url"] == f"https://evals.example.org/preregistrations/{prereg_id}"
    assert lock_["data"]["receipt"]["checkpoint"] == record["receipt"]["checkpoint"]
    assert "outcome" not in lock_["data"]
    assert verdict["type"] == "verdict.published"
    assert verdict["data"]["outcome"] == "supported"
    assert [each["outcome"] for each in verdict["data"]["hypotheses"]] == ["supported"]
    assert verdict["data"]["receipt"]["checkpoint"]
    for asked in receiver.requests:
        assert is_signed(made["secret"], asked)
        assert asked.headers["content-type"] == "application/json"
    assert len({asked.headers["webhook-id"] for asked in receiver.requests}) == 2
    assert [each["state"] for each in sent(service, made)] == ["delivered", "delivered"]
    assert sent(service, made)[0]["next_at"] is None


@only_sqlite
def test_a_webhook_is_told_what_it_asked_for_and_nothing_of_others(
    service: Service, receiver: Loopback
) -> None:
    webhook(service, receiver, "verdict.published")
    other = service.key(project_id=service.project("other"))
    headers = {"Authorization": f"Bearer {other}"}
    body = {"url": receiver.url("/other"), "events": list(EVENTS)}
    assert service.client.post("/v1/webhooks", json=body, headers=headers).status_code == 201
    lock(service)
    assert drain(sender(service)) == 0
    assert receiver.requests == []


@only_sqlite
def test_every_event_is_told_in_its_words(service: Service, receiver: Loopback) -> None:
    from tests.journeys.amendments import SMALLER
    from tests.journeys.filings import deviations, filing

    webhook(service, receiver)
    sending, prereg_id = sender(service, unsigned_most=timedelta(0)), lock(service)
    client, path = service.client, f"/v1/preregistrations/{prereg_id}"
    tag = client.get(path).headers["ETag"]
    amended = client.post(
        f"{path}/amendments",
        json={"changes": {"title": "Again"}, "reason": "a better title", "acknowledge": "all"},
        headers={"If-Match": tag, "Idempotency-Key": "amend"},
    )
    assert amended.status_code == 200, amended.text
    assert client.post(deviations(prereg_id), json=filing(SMALLER)).status_code == 201
    assert client.post(f"{path}/unblinding", json={"reason": "safety"}).status_code in (200, 201, 202)
    assert client.post(f"{path}/withdrawal", json={"reason": "no money"}).status_code == 200
    drain(sending)
    messages = told(receiver)
    assert sorted(each["type"] for each in messages) == [
        "deviation.filed",
        "preregistration.amended",
        "preregistration.locked",
        "preregistration.unblinded",
        "preregistration.withdrawn",
    ]
    assert {each["data"]["preregistration_id"] for each in messages} == {prereg_id}
    whole = json.dumps(messages)
    assert "safety" not in whole
    assert "no money" not in whole, "what people wrote is not passed on"


def test_what_is_not_taken_is_sent_again_as_it_was(service: Service, receiver: Loopback) -> None:
    made, sending = webhook(service, receiver), sender(service)
    receiver.answer(503, b"")
    lock(service)
    assert sending.step()
    assert sending.step()
    (waiting,) = sent(service, made)
    assert (waiting["state"], waiting["attempts"], waiting["status"]) == ("waiting", 2, 503)
    assert waiting["error"] == "the address answers 503"
    receiver.answer(200, b"ok")
    assert drain(sending) == 1
    assert len({asked.body for asked in receiver.requests}) == 1
    assert len({asked.headers["webhook-id"] for asked in receiver.requests}) == 1
    assert sent(service, made)[0]["state"] == "delivered"


def test_it_is_tried_later_and_later_and_then_given_up(service: Service, receiver: Loopback) -> None:
    made = webhook(service, receiver)
    receiver.answer(500, b"")
    lock(service)
    lock(service)
    patient = sender(service, waits=(timedelta(hours=1),))
    assert drain(patient) == 1, "the second message waits with the first: it is the same address"
    assert {each["state"] for each in sent(service, made)} == {"waiting"}
    now_due(service)
    assert drain(sender(service, gives_up_after=timedelta(0))) == 2
    assert {each["state"] for each in sent(service, made)} == {"failed"}
    assert drain(patient) == 0


def now_due(service: Service) -> None:
    """As if the waits were over."""
    with service.database.write() as session:
        session.execute(sa.update(tables.deliveries).values(next_at=clock.read_now(session)))


@only_sqlite
def test_an_address_that_is_gone_is_not_asked_again(service: Service, receiver: Loopback) -> None:
    made = webhook(service, receiver)
    receiver.answer(410, b"")
    lock(service)
    assert drain(sender(service)) == 1
    assert sent(service, made)[0]["state"] == "failed"


def test_a_message_is_sent_again_when_asked(service: Service, receiver: Loopback) -> None:
    made, sending = webhook(service, receiver), sender(service)
    lock(service)
    drain(sending)
    (delivery,) = sent(service, made)
    path = f"/v1/webhooks/{made['webhook']['id']}/deliveries/{delivery['id']}/redelivery"
    again = service.client.post(path)
    assert (again.status_code, again.json()["state"]) == (202, "waiting")
    assert drain(sending) == 1
    first, second = receiver.requests
    assert (first.body, first.headers["webhook-id"]) == (second.body, second.headers["webhook-id"])


@only_sqlite
def test_a_ping_tells_of_nothing(service: Service, receiver: Loopback) -> None:
    made = webhook(service, receiver, "verdict.published")
    asked = service.client.post(f"/v1/webhooks/{made['webhook']['id']}/ping")
    assert asked.status_code == 202
    assert drain(sender(service)) == 1
    (message,) = told(receiver)
    assert (message["type"], message["data"]) == ("webhook.ping", {})
    assert is_signed(made["secret"], receiver.requests[0])


@only_sqlite
def test_after_a_rotation_both_secrets_sign_for_a_day(service: Service, receiver: Loopback) -> None:
    made, sending = webhook(service, receiver), sender(service)
    path = f"/v1/webhooks/{made['webhook']['id']}"
    rotated = service.client.post(f"{path}/rotation").json()
    assert rotated["secret"] != made["secret"]
    service.client.post(f"{path}/ping")
    drain(sending)
    assert is_signed(made["secret"], receiver.requests[-1])
    assert is_signed(rotated["secret"], receiver.requests[-1])
    with service.database.write() as session:
        session.execute(sa.update(tables.webhooks).values(previous_until=clock.read_now(session)))
    service.client.post(f"{path}/ping")
    drain(sending)
    assert not is_signed(made["secret"], receiver.requests[-1])
    assert is_signed(rotated["secret"], receiver.requests[-1])


@only_sqlite
def test_a_secret_is_shown_once_and_sealed_where_it_is_kept(service: Service, receiver: Loopback) -> None:
    key = {"Idempotency-Key": "once"}
    body = {"url": receiver.url("/in"), "events": ["verdict.published"]}
    made = service.client.post("/v1/webhooks", json=body, headers=key).json()
    again = service.client.post("/v1/webhooks", json=body, headers=key)
    assert again.json() == {"webhook": made["webhook"], "secret": None}
    assert made["secret"] not in service.client.get("/v1/webhooks").text
    raw = base64.b64decode(made["secret"].removeprefix("whsec_"))
    for table in tables.metadata.tables.values():
        with service.database.read() as session:
            whole = b"".join(
                value if isinstance(value, bytes) else str(value).encode()
                for row in session.execute(sa.select(table))
                for value in row
            )
        assert raw not in whole, table.name
        assert made["secret"].encode() not in whole, table.name


def test_a_death_while_sending_loses_nothing(service: Service, receiver: Loopback) -> None:
    """Whoever dies leaves the row to its lease; then it is sent again under the same id."""

    class Died(BaseException):
        pass

    webhook(service, receiver)
    lock(service)
    dying = sender(service)

    def die(_due: deliveries.Due) -> None:
        raise Died

    sent_, dying._post_webhook = dying._post_webhook, lambda due: (sent_(due), die(due))  # type: ignore[assignment]
    with pytest.raises(Died):
        dying.step()
    other = sender(service)
    assert drain(other) == 0, "the lease still runs"
    now_due(service)
    assert drain(other) == 1
    first, second = receiver.requests
    assert (first.body, first.headers["webhook-id"]) == (second.body, second.headers["webhook-id"])


def test_who_lost_the_lease_writes_nothing(service: Service, receiver: Loopback) -> None:
    made = webhook(service, receiver)
    lock(service)
    slow, quick = sender(service), sender(service)
    held = slow._claim()
    assert held is not None
    now_due(service)
    assert drain(quick) == 1
    with service.database.write() as session:
        slow_end = {"delivered": False, "status": None, "error": "late", "now": clock.read_now(session)}
        deliveries.finish(session, held, **slow_end)
    assert sent(service, made)[0]["state"] == "delivered"


def test_two_runners_send_every_message_once(service: Service, receiver: Loopback) -> None:
    made = webhook(service, receiver)
    for _ in range(8):
        service.client.post(f"/v1/webhooks/{made['webhook']['id']}/ping")
    together = threading.Barrier(2)

    def work(sending: Delivering) -> None:
        together.wait(30)
        drain(sending)

    threads = [threading.Thread(target=work, args=(sender(service),)) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(receiver.requests) == 8
    assert len({asked.headers["webhook-id"] for asked in receiver.requests}) == 8


@only_sqlite
def test_a_message_waits_for_its_checkpoint_and_not_for_ever(
    service: Service, receiver: Loopback, monkeypatch: pytest.MonkeyPatch
) -> None:
    webhook(service, receiver)
    sending = sender(service)
    monkeypatch.setattr("service.actions.delivery.messages.is_signed", lambda _session, _due: False)
    lock(service)
    assert sending.step()
    assert receiver.requests == []
    now_due(service)
    assert drain(sender(service, unsigned_most=timedelta(0))) == 1
    assert len(receiver.requests) == 1


@only_sqlite
def test_an_address_that_may_not_be_called_is_refused(service: Service) -> None:
    body = {"url": "https://10.0.0.1/x", "events": ["verdict.published"]}
    answer = service.client.post("/v1/webhooks", json=body)
    assert answer.status_code == 422, answer.text
    (fault,) = answer.json()["errors"]
    assert fault["path"] == "url"
    assert "FORELOCK_OUTGOING_ALLOW" in fault["fix"]


@only_sqlite
def test_a_name_that_leads_inside_is_not_called_and_not_told(service: Service, receiver: Loopback) -> None:
    """What a name stands for inside is nobody's business who made a webhook."""
    from service.publish.http import Outgoing

    body = {"url": "https://inside.example/x", "events": ["verdict.published"]}
    made = service.client.post("/v1/webhooks", json=body).json()
    service.client.post(f"/v1/webhooks/{made['webhook']['id']}/ping")
    guarded = Outgoing(resolve=lambda _host, _port: ["10.9.8.7"])
    sending = Delivering(
        service.database,
        lambda: guarded,
        seal_private=service.keyring.opener(),
        waits=(timedelta(1),),
    )
    drain(sending)
    (delivery,) = sent(service, made)
    assert "FORELOCK_OUTGOING_ALLOW" in delivery["error"]
    assert "10.9.8.7" not in delivery["error"]


def test_a_project_has_so_many_webhooks_and_no_more(service: Service, receiver: Loopback) -> None:
    from service.domain.outgoing import MOST_WEBHOOKS

    for _ in range(MOST_WEBHOOKS):
        made = webhook(service, receiver)
    body = {"url": receiver.url("/in"), "events": ["verdict.published"]}
    assert service.client.post("/v1/webhooks", json=body).status_code == 429
    service.client.post(f"/v1/webhooks/{made['webhook']['id']}/ping")
    assert service.client.delete(f"/v1/webhooks/{made['webhook']['id']}").status_code == 204
    assert drain(sender(service)) == 0
    assert service.client.get(f"/v1/webhooks/{made['webhook']['id']}/deliveries").status_code == 404


@only_sqlite
def test_only_an_admin_has_to_do_with_webhooks(service: Service, receiver: Loopback) -> None:
    made = webhook(service, receiver)
    reader = {"Authorization": f"Bearer {service.key('read', 'plans:lock')}"}
    assert service.client.get("/v1/webhooks", headers=reader).status_code == 403
    path = f"/v1/webhooks/{made['webhook']['id']}"
    assert service.client.delete(path, headers=reader).status_code == 403


def test_what_ended_long_ago_is_forgotten(service: Service, receiver: Loopback) -> None:
    made, sending = webhook(service, receiver), sender(service)
    lock(service)
    drain(sending)
    assert sending.tidy() == 0
    with service.database.write() as session:
        old = clock.read_now(session) - timedelta(days=31)
        session.execute(sa.update(tables.deliveries).values(finished_at=old))
    assert sending.tidy() == 1
    assert sent(service, made) == []


@only_sqlite
def test_the_runner_sends_beside_its_jobs(service: Service, receiver: Loopback) -> None:
    """The thread that a runner starts, until it is told to stop."""
    arrived, stopping = threading.Event(), threading.Event()
    receiver.reply = lambda _asked: (arrived.set(), (204, {}, b""))[1]
    webhook(service, receiver)
    lock(service)
    thread = threading.Thread(target=sender(service).run, args=(stopping,))
    thread.start()
    try:
        assert arrived.wait(30)
    finally:
        stopping.set()
        thread.join()


def test_one_project_never_holds_every_sender(service: Service, receiver: Loopback) -> None:
    """Whoever keeps calls waiting keeps those of others waiting no longer than their own."""
    from service.jobs.delivering import SENDERS

    reached, answers = threading.Semaphore(0), threading.Event()

    def reply(_asked: Asked) -> tuple[int, dict[str, str], bytes]:
        reached.release()
        assert answers.wait(60)
        return 204, {}, b""

    receiver.reply = reply
    for _ in range(SENDERS + 2):
        webhook(service, receiver, "preregistration.locked")
    lock(service)
    sending = sender(service)
    try:
        while sending._start():
            pass
        assert all(reached.acquire(timeout=30) for _ in range(SENDERS - 1))
        assert not reached.acquire(blocking=False)
        other = service.project("other")
        service.client.headers["Authorization"] = f"Bearer {service.key(project_id=other)}"
        for _ in range(2):
            webhook(service, receiver, "preregistration.locked")
        lock(service)
        assert sending._start()  # another project's
        assert not sending._start()
    finally:
        answers.set()
        while sum(sending._busy.values()):
            threading.Event().wait(0.02)
