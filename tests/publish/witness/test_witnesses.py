"""Witnesses over HTTP: an authority that `openssl ts` plays, calendars of our own, and what they do wrong."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from forelock.witness import opentimestamps, rfc3161
from forelock.witness.stamp import WitnessFault
from service.config import Settings, UnusableSetting
from service.jobs.witnesses import make_witnesses
from service.main import prepare_embedded
from service.publish.addresses import read_allowed
from service.publish.faults import OutgoingFault, Unanswered
from service.publish.http import Outgoing
from service.publish.witness.authority import TimeStampAuthority
from service.publish.witness.calendars import Calendars
from tests.authority import Authority
from tests.calendar import Calendar
from tests.loopback import Loopback, serving

NOTE = "forelock/x\n7\nqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqo=\n\n— forelock/x AAAA\n".encode()
REPLY = {"Content-Type": "application/timestamp-reply"}
LOOPBACK = Outgoing(allowed=read_allowed("127.0.0.1"))


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority.create(tmp_path_factory.mktemp("authority"))


@pytest.fixture
def loopback() -> Iterator[Loopback]:
    with serving() as server:
        yield server


def test_an_authority_stamps(authority: Authority, loopback: Loopback) -> None:
    loopback.reply = lambda asked: (200, REPLY, authority.answer(asked.body))
    stamp = TimeStampAuthority(loopback.url("/tsr"), LOOPBACK, [authority.root]).stamp(NOTE)
    assert authority.accepts(stamp, NOTE)
    (asked,) = loopback.requests
    assert asked.headers["content-type"] == "application/timestamp-query"
    assert NOTE not in asked.body


def test_what_an_authority_may_do_wrong(authority: Authority, loopback: Loopback, tmp_path: Path) -> None:
    witness = TimeStampAuthority(loopback.url("/"), LOOPBACK, [authority.root])
    stranger = Authority.create(tmp_path)
    old = authority.answer(rfc3161.make_request(NOTE, 7))
    for status, headers, body, wrong in (
        (200, REPLY, old, WitnessFault),  # an answer from before: the nonce
        (200, REPLY, b"", WitnessFault),
        (200, REPLY, bytes(70_000), OutgoingFault),
        (200, {"Content-Type": "text/html"}, old, OutgoingFault),
        (500, REPLY, old, OutgoingFault),
        (302, {"Location": "http://127.0.0.1/"}, b"", OutgoingFault),
    ):
        loopback.answer(status, body, headers)
        with pytest.raises(wrong):
            witness.stamp(NOTE)
    loopback.reply = lambda asked: (200, REPLY, stranger.answer(asked.body))
    with pytest.raises(WitnessFault, match="does not lead"):
        witness.stamp(NOTE)
    loopback.reply = lambda _asked: (200, REPLY, authority.answer(rfc3161.make_request(b"other", 7)))
    with pytest.raises(WitnessFault, match="other bytes"):
        witness.stamp(NOTE)


def test_calendars_promise_and_deliver(loopback: Loopback) -> None:
    with serving() as second:
        one, two = Calendar(loopback), Calendar(second)
        witness = Calendars([one.url + "/", two.url], LOOPBACK)
        proof = witness.stamp(NOTE)
        assert len(opentimestamps.verify(proof, NOTE).sentences) == 2
        assert loopback.requests[0].body == second.requests[0].body
        assert not witness.is_complete(proof)
        assert witness.upgrade(proof) == proof  # neither has a block yet
        one.block, two.away = 840_000, True
        upgraded = witness.upgrade(proof)
        assert witness.is_complete(upgraded)
        assert opentimestamps.verify(upgraded, NOTE).state == "claimed"


def test_two_stamps_of_the_same_bytes_look_unrelated(loopback: Loopback) -> None:
    witness = Calendars([Calendar(loopback).url], LOOPBACK)
    witness.stamp(NOTE)
    witness.stamp(NOTE)
    first, second = (asked.body for asked in loopback.requests)
    assert first != second


def test_one_calendar_is_enough_and_none_is_not(loopback: Loopback) -> None:
    with serving() as second:
        one, two = Calendar(loopback), Calendar(second, away=True)
        witness = Calendars([two.url, one.url], LOOPBACK)
        proof = witness.stamp(NOTE)
        assert [uri for uri, _ in opentimestamps.pending(proof)] == [one.url]
        one.away = True
        with pytest.raises(Unanswered, match="503"):
            witness.stamp(NOTE)
        with pytest.raises(Unanswered, match="503"):
            witness.upgrade(proof)


@pytest.mark.parametrize("body", [b"", b"\x00", b"<html>", bytes(10_001), b"\x08" * 50])
def test_a_calendar_that_answers_nonsense(loopback: Loopback, body: bytes) -> None:
    loopback.answer(200, body)
    with pytest.raises(Unanswered):
        Calendars([loopback.url("")], LOOPBACK).stamp(NOTE)


def test_only_calendars_of_the_list_are_asked_again(loopback: Loopback) -> None:
    """A calendar names in its answer whom to ask for the block: an address of its choice."""
    with serving() as elsewhere:
        calendar = Calendar(elsewhere)
        loopback.answer(200, calendar.server.reply(_posted())[2])
        witness = Calendars([loopback.url("")], LOOPBACK)
        proof = witness.stamp(NOTE)
        assert [uri for uri, _ in opentimestamps.pending(proof)] == [calendar.url]
        assert witness.upgrade(proof) == proof
        assert elsewhere.requests == []


def _posted():
    from tests.loopback import Asked

    return Asked("POST", "/digest", {}, bytes(32))


def test_without_settings_nobody_is_asked() -> None:
    assert make_witnesses(Settings()) == []


def test_witnesses_of_the_settings(authority: Authority) -> None:
    found = make_witnesses(
        Settings(
            witness_tsa_url="http://tsa.example/",
            witness_tsa_ca_file=authority.directory / "root.pem",
            witness_ots_calendars="https://a.example, https://b.example/",
            outgoing_allow="10.0.0.0/8",
        )
    )
    assert [each.kind for each in found] == ["rfc3161", "opentimestamps"]
    assert isinstance(found[0], TimeStampAuthority)
    assert found[0].roots == [authority.root]
    assert isinstance(found[1], Calendars)
    assert found[1].urls == ["https://a.example", "https://b.example/"]


@pytest.mark.parametrize(
    ("given", "named"),
    [
        ({"witness_tsa_url": "tsa.example"}, "WITNESS_TSA_URL"),
        ({"witness_tsa_url": "http://u:p@tsa.example"}, "WITNESS_TSA_URL"),
        ({"witness_tsa_url": "http://x/", "witness_tsa_ca_file": "/nowhere.pem"}, "WITNESS_TSA_CA_FILE"),
        ({"witness_tsa_ca_file": "/nowhere.pem"}, "WITNESS_TSA_URL"),
        ({"witness_ots_calendars": "https://a.example ftp://b"}, "WITNESS_OTS_CALENDARS"),
        ({"outgoing_allow": "10.0.0.0/99"}, "OUTGOING_ALLOW"),
    ],
)
def test_a_setting_that_cannot_be_used_is_named(given: dict[str, str], named: str) -> None:
    with pytest.raises(UnusableSetting, match=named):
        make_witnesses(Settings(**given))


def test_such_a_setting_is_told_before_anything_starts(tmp_path: Path) -> None:
    place = tmp_path / "data"
    with pytest.raises(UnusableSetting, match="WITNESS_TSA_URL"):
        prepare_embedded(Settings(data_dir=place, witness_tsa_url="tsa.example"), runner=True)
    assert not place.exists()
