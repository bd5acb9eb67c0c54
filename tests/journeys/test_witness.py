"""Locks and verdicts before outside witnesses: stamped beside the work, kept, shown, and checked offline."""

from __future__ import annotations

import base64
import hashlib
import logging
import threading
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest

from forelock.transparency.merkle import leaf_hash
from forelock.transparency.notes import VerifierKey
from forelock.transparency.tlog_proofs import TlogProof
from forelock.witness import opentimestamps
from forelock.witness.checking import verify
from forelock.witness.stamp import Stamp
from service.jobs.witnessing import Witnessing
from service.publish.addresses import read_allowed
from service.publish.http import Outgoing
from service.publish.witness.authority import TimeStampAuthority
from service.publish.witness.calendars import Calendars
from tests.authority import Authority
from tests.calendar import Calendar
from tests.loopback import Loopback, serving

from .conftest import Service
from .plans import items, locked, post, small_plan

pytestmark = pytest.mark.any_database

N = 10
AT_ONCE = timedelta(0)
REPLY = {"Content-Type": "application/timestamp-reply"}


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority.create(tmp_path_factory.mktemp("authority"))


@pytest.fixture
def tsa(authority: Authority) -> Iterator[Loopback]:
    with serving() as server:
        server.reply = lambda asked: (200, REPLY, authority.answer(asked.body))
        yield server


@pytest.fixture
def calendar() -> Iterator[Calendar]:
    with serving() as server:
        yield Calendar(server)


@pytest.fixture
def witnessing(service: Service, tsa: Loopback, calendar: Calendar, authority: Authority) -> Witnessing:
    outgoing = Outgoing(allowed=read_allowed("127.0.0.1"))
    return Witnessing(
        service.database,
        [TimeStampAuthority(tsa.url("/"), outgoing, [authority.root]), Calendars([calendar.url], outgoing)],
        waits=(AT_ONCE,),
        upgrade_every=AT_ONCE,
    )


def stamps_of(service: Service, prereg_id: str) -> list[dict]:
    answer = service.client.get(f"/v1/preregistrations/{prereg_id}/stamps")
    assert answer.status_code == 200, answer.text
    return answer.json()["items"]


def judge(service: Service, prereg_id: str) -> None:
    for arm, value in (("A", 0), ("B", 1)):
        post(service.client, prereg_id, arm, items(N), [value] * N)
    service.run_jobs()
    assert service.client.get(f"/v1/preregistrations/{prereg_id}/verdict").status_code == 200


def test_a_lock_is_stamped_and_checked_offline(
    service: Service, witnessing: Witnessing, authority: Authority, calendar: Calendar
) -> None:
    prereg_id = locked(service.client, small_plan(N))
    assert stamps_of(service, prereg_id) == []
    assert witnessing.step() == 2
    assert witnessing.step() == 0
    by_kind = {each["kind"]: each for each in stamps_of(service, prereg_id)}
    assert set(by_kind) == {"rfc3161", "opentimestamps"}
    keys = service.client.get("/.well-known/forelock-keys.json").json()
    receipt = service.client.get(f"/v1/preregistrations/{prereg_id}/receipt").json()
    for each in by_kind.values():
        assert (each["of"], each["sequence"]) == ("plan_locked", receipt["sequence"])
        proof = TlogProof.parse(each["proof"])
        checked = proof.verify(leaf_hash(receipt["leaf"].encode()), [VerifierKey.parse(keys["vkey"])])
        assert checked.size > each["sequence"]
        assert proof.checkpoint == each["checkpoint"]
        stamp = Stamp(each["kind"], base64.b64decode(each["stamp"]))
        found = verify(stamp, each["checkpoint"].encode(), [authority.root])
        assert found.state == ("verified" if each["kind"] == "rfc3161" else "pending")
    assert by_kind["opentimestamps"]["waiting"] is True
    assert by_kind["rfc3161"]["waiting"] is False

    calendar.block = 840_000
    assert witnessing.step() == 1
    assert witnessing.step() == 0
    (upgraded,) = (each for each in stamps_of(service, prereg_id) if each["kind"] == "opentimestamps")
    assert upgraded["waiting"] is False
    assert opentimestamps.is_complete(base64.b64decode(upgraded["stamp"]))


def test_a_verdict_is_stamped_and_batches_are_not(
    service: Service, witnessing: Witnessing, tsa: Loopback
) -> None:
    prereg_id = locked(service.client, small_plan(N))
    witnessing.step()
    post(service.client, prereg_id, "A", items(N), [0] * N)
    asked = len(tsa.requests)
    witnessing.step()
    assert len(tsa.requests) == asked
    post(service.client, prereg_id, "B", items(N), [1] * N)
    service.run_jobs()
    service.client.get(f"/v1/preregistrations/{prereg_id}/verdict")
    assert witnessing.step() == 2
    kinds = [(each["of"], each["kind"]) for each in stamps_of(service, prereg_id)]
    assert sorted(kinds) == [
        ("plan_locked", "opentimestamps"),
        ("plan_locked", "rfc3161"),
        ("verdict", "opentimestamps"),
        ("verdict", "rfc3161"),
    ]


def test_a_witness_that_is_away_holds_nothing_up_and_is_asked_again(
    service: Service, witnessing: Witnessing, tsa: Loopback, calendar: Calendar, authority: Authority,
    caplog: pytest.LogCaptureFixture,
) -> None:  # fmt: skip
    tsa.answer(503, b"")
    calendar.away = True
    first = locked(service.client, small_plan(N))
    with caplog.at_level(logging.WARNING, "forelock.witness"):
        assert witnessing.step() == 0
    assert "asked again in" in caplog.text
    second = locked(service.client, small_plan(N))
    assert stamps_of(service, first) == []
    tsa.reply = lambda asked: (200, REPLY, authority.answer(asked.body))
    calendar.away = False
    before = len(tsa.requests)
    assert witnessing.step() == 2
    assert len(tsa.requests) == before + 1, "one stamp makes up for both locks"
    assert len(stamps_of(service, first)) == len(stamps_of(service, second)) == 2


def test_after_a_failure_it_waits_longer_every_time(service: Service, tsa: Loopback) -> None:
    tsa.answer(503, b"")
    outgoing = Outgoing(allowed=read_allowed("127.0.0.1"))
    witnessing = Witnessing(service.database, [TimeStampAuthority(tsa.url("/"), outgoing)])
    locked(service.client, small_plan(N))
    witnessing.step()
    witnessing.step()
    another = Witnessing(service.database, [TimeStampAuthority(tsa.url("/"), outgoing)])
    another.step()
    assert len(tsa.requests) == 1, "the turn comes in half a minute, for every runner"


def test_a_death_while_asking_loses_nothing(service: Service, tsa: Loopback, authority: Authority) -> None:
    """Whoever dies leaves the turn to its lease and the stamp to be asked for."""

    class Died(BaseException):
        pass

    class Dying(TimeStampAuthority):
        def stamp(self, data: bytes) -> bytes:
            super().stamp(data)
            raise Died

    outgoing = Outgoing(allowed=read_allowed("127.0.0.1"))
    prereg_id = locked(service.client, small_plan(N))
    with pytest.raises(Died):
        Witnessing(service.database, [Dying(tsa.url("/"), outgoing)]).step()
    again = Witnessing(service.database, [TimeStampAuthority(tsa.url("/"), outgoing, [authority.root])])
    assert again.step() == 0, "the lease still runs"
    with service.database.write() as session:
        from service.store.database import clock
        from service.store.ledger import stamps

        stamps.end_turn(session, "rfc3161", next_at=clock.read_now(session))
    assert again.step() == 1
    assert len(stamps_of(service, prereg_id)) == 1


def test_two_runners_ask_once(service: Service, tsa: Loopback, authority: Authority) -> None:
    outgoing = Outgoing(allowed=read_allowed("127.0.0.1"))
    inside, go_on = threading.Event(), threading.Event()

    class Slow(TimeStampAuthority):
        def stamp(self, data: bytes) -> bytes:
            inside.set()
            assert go_on.wait(30)
            return super().stamp(data)

    locked(service.client, small_plan(N))
    slow = Witnessing(service.database, [Slow(tsa.url("/"), outgoing, [authority.root])])
    thread = threading.Thread(target=slow.step)
    thread.start()
    assert inside.wait(30)
    other = Witnessing(service.database, [TimeStampAuthority(tsa.url("/"), outgoing, [authority.root])])
    assert other.step() == 0
    go_on.set()
    thread.join()
    assert len(tsa.requests) == 1


def test_a_draft_and_a_stranger_see_no_stamps(service: Service, witnessing: Witnessing) -> None:
    draft = service.client.post("/v1/preregistrations", json={"title": "Draft"}).json()["id"]
    assert service.client.get(f"/v1/preregistrations/{draft}/stamps").status_code == 409
    prereg_id = locked(service.client, small_plan(N))
    witnessing.step()
    other = service.key(project_id=service.project("other"))
    answer = service.client.get(
        f"/v1/preregistrations/{prereg_id}/stamps", headers={"Authorization": f"Bearer {other}"}
    )
    assert answer.status_code == 404


def test_the_stamp_is_of_the_note_that_is_stored(
    service: Service, witnessing: Witnessing, tmp_path: Path
) -> None:
    """`openssl ts` alone, with the files that are given out."""
    prereg_id = locked(service.client, small_plan(N))
    witnessing.step()
    for each in stamps_of(service, prereg_id):
        if each["kind"] == "opentimestamps":
            _name, root = opentimestamps.read_file(base64.b64decode(each["stamp"]))
            assert root.message == hashlib.sha256(each["checkpoint"].encode()).digest()
