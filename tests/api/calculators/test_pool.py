"""Calculators: turns by project, hanging up, the watch-dog, and what becomes of what outruns its estimate."""

from __future__ import annotations

import asyncio
import contextlib
import gzip
import os
import select
import signal
import socket
import time
from dataclasses import replace
from types import SimpleNamespace

import pytest
from starlette.requests import ClientDisconnect
from starlette.testclient import TestClient

from service.api.calculators import handlers
from service.api.calculators import process as calculator
from service.api.calculators.pool import CalculatorLost, Calculators, _forks, adopt_forks
from service.api.http.limits.byte_budget import ByteBudget
from service.app import create_app
from service.errors import InvalidData, Unavailable
from service.stats.shared.declaring import registry
from tests.api.calculators import calls

COUNTS = b'{"both_correct": 9, "only_baseline": 1, "only_candidate": 7, "both_wrong": 4}'
JSON = {"Content-Type": "application/json"}


@pytest.fixture
def database_url(sqlite_url):
    return sqlite_url


class Caller:
    """A request whose body is read, of a project; it hangs up when told."""

    def __init__(self, project="one"):
        self.state = SimpleNamespace(caller=SimpleNamespace(project_id=project))
        self.gone = asyncio.Event()

    async def receive(self):
        await self.gone.wait()
        return {"type": "http.disconnect"}


def run(test):
    """A coroutine function with calculators of its own, one at a time."""

    async def whole():
        calculators = Calculators(1)
        calculators.open()
        try:
            await asyncio.wait_for(test(calculators), 60)
        finally:
            calculators.close()

    asyncio.run(whole())


def test_a_body_comes_back_as_what_it_is():
    async def check(calculators):
        found = await calculators.run(
            Caller(),
            handlers.compute_test,
            None,
            "mcnemar",
            1,
            1.0,
            True,
            "en",
            body=[COUNTS[:20], COUNTS[20:]],
            seconds=30,
        )
        assert b'"p_value":0.0703125' in found.answer

    run(check)


def test_a_refusal_is_raised_here_with_its_faults():
    async def check(calculators):
        with pytest.raises(InvalidData) as refused:
            await calculators.run(
                Caller(),
                handlers.compute_test,
                None,
                "mcnemar",
                1,
                1.0,
                True,
                "en",
                body=[b'{"no": 1}'],
                seconds=30,
            )
        assert [fault.path for fault in refused.value.faults] == ["no"]

    run(check)


def test_what_computes_for_too_long_is_ended_and_the_next_call_is_answered():
    async def check(calculators):
        with pytest.raises(CalculatorLost) as lost:
            await calculators.run(Caller(), calls.pow_slowly, body=[b"10000000000"], seconds=0.2)
        assert not lost.value.begun
        assert await calculators.run(Caller(), calls.pow_slowly, body=[b"3"], seconds=10) == 3

    run(check)


def test_who_hangs_up_gives_the_place_to_others():
    async def check(calculators):
        busy, waiting = Caller(), Caller()
        first = asyncio.ensure_future(
            calculators.run(busy, calls.pow_slowly, body=[b"10000000000"], seconds=60)
        )
        second = asyncio.ensure_future(calculators.run(waiting, calls.pow_slowly, body=[b"1"], seconds=60))
        await asyncio.sleep(0.5)
        waiting.gone.set()
        with pytest.raises(ClientDisconnect):
            await second
        busy.gone.set()
        with pytest.raises(ClientDisconnect):
            await first
        assert await calculators.run(Caller(), calls.pow_slowly, body=[b"2"], seconds=10) == 2

    run(check)


def test_projects_take_turns():
    async def check(calculators):
        ended = []

        async def one(project):
            await calculators.run(Caller(project), calls.pow_slowly, body=[b"100"], seconds=30)
            ended.append(project)

        held = asyncio.ensure_future(one("first"))
        await asyncio.sleep(0)
        await asyncio.gather(held, *(one("crowd") for _ in range(4)), one("other"))
        assert ended.index("other") <= 2

    run(check)


@pytest.mark.parametrize(("most", "share"), [(1, 1), (2, 1), (3, 2), (5, 4)])
def test_one_project_never_holds_all_calculators(most, share):
    async def check():
        calculators, inside = Calculators(most), []

        async def hold(project, until):
            await calculators._enter(project)
            inside.append(project)
            await until.wait()
            inside.remove(project)
            calculators._leave(project)

        until = asyncio.Event()
        crowd = [asyncio.ensure_future(hold("crowd", until)) for _ in range(10)]
        await asyncio.sleep(0.01)
        assert inside == ["crowd"] * share
        if most > 1:
            others = asyncio.Event()
            other = [asyncio.ensure_future(hold("other", others)) for _ in range(2)]
            await asyncio.sleep(0.01)
            assert inside.count("other") == 1
            others.set()
            await asyncio.gather(*other)
            assert inside == ["crowd"] * share
        until.set()
        await asyncio.gather(*crowd)
        assert (calculators._free, dict(calculators._held), calculators._waiting) == (most, {}, {})

    asyncio.run(check())


def test_a_turn_that_is_given_up_is_nobodys():
    async def check():
        calculators = Calculators(2)
        await calculators._enter("one")
        waiting = [asyncio.ensure_future(calculators._enter("one")) for _ in range(3)]
        await asyncio.sleep(0)
        waiting[0].cancel()
        calculators._leave("one")  # the second has its turn, and gives it up at the same moment
        waiting[1].cancel()
        await asyncio.sleep(0.01)
        assert waiting[2].done()
        assert not waiting[2].cancelled()
        calculators._leave("one")
        assert (calculators._free, dict(calculators._held)) == (2, {})

    asyncio.run(check())


def test_what_reads_files_is_nicer_than_what_answers_at_once():
    async def check(calculators):
        nicer = Calculators(1, niceness=3)
        for each in (calculators, nicer):
            assert await each.run(Caller(), calls.pow_slowly, body=[b"4"], seconds=10) == 4
            each.close()
        plain, nice = [
            (await each.run(Caller(), calls.niceness, seconds=10)) for each in (calculators, nicer)
        ]
        assert nice == min(plain + 3, 19)

    run(check)


def test_files_are_read_apart_from_all_else(app):
    shared = app.state.services
    assert shared.importers is not shared.calculators


def test_a_calculator_that_is_killed_at_work_is_replaced():
    async def check(calculators):
        with pytest.raises(CalculatorLost):
            await calculators.run(Caller(), calls.end_here, body=[b""], seconds=10)
        assert await calculators.run(Caller(), calls.pow_slowly, body=[b"4"], seconds=10) == 4

    run(check)


def test_a_calculator_that_ended_between_calls_is_no_fault_of_the_next():
    async def check(calculators):
        assert await calculators.run(Caller(), calls.pow_slowly, body=[b"1"], seconds=10) == 1
        kept = calculators._idle[0]
        os.kill(kept.process_id, signal.SIGKILL)
        select.select([kept.socket], [], [])
        assert await calculators.run(Caller(), calls.pow_slowly, body=[b"4"], seconds=10) == 4

    run(check)


def test_what_calculators_are_forked_from_is_started_again():
    async def check(calculators):
        requests = _forks.start()
        _forks._process.kill()
        select.select([requests], [], [])
        assert await calculators.run(Caller(), calls.pow_slowly, body=[b"4"], seconds=10) == 4

    run(check)


def test_a_call_that_no_process_has_met_is_made_again():
    """Who is asked for a calculator may be ended before it reads that: the body is no reason."""

    async def check(calculators):
        ours, its = socket.socketpair()
        adopt_forks(ours)  # where nobody reads
        call = asyncio.ensure_future(calculators.run(Caller(), calls.pow_slowly, body=[b"4"], seconds=10))
        await asyncio.to_thread(select.select, [its], [], [])
        its.close()
        assert await call == 4

    _forks.stop()
    run(check)


@pytest.fixture
def pairs(monkeypatch):
    """Every pair of sockets that is made."""
    made, real = [], socket.socketpair
    monkeypatch.setattr(socket, "socketpair", lambda: made.append(real()) or made[-1])
    return made


@pytest.mark.parametrize("turns", range(0, 24, 2))
def test_a_call_given_up_at_any_moment_leaves_no_socket(pairs, turns):
    async def check(calculators):
        pairs.clear()  # of the loop's own
        call = asyncio.ensure_future(calculators.run(Caller(), calls.pow_slowly, body=[b"3"], seconds=10))
        for _ in range(turns):
            await asyncio.sleep(0)
        call.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await call
        assert await calculators.run(Caller(), calls.pow_slowly, body=[b"4"], seconds=10) == 4
        calculators.close()
        assert {end.fileno() for pair in pairs for end in pair} == {-1}

    _forks.start()
    run(check)


def test_a_call_that_ends_after_the_application_leaves_no_socket(pairs):
    async def check(calculators):
        pairs.clear()  # of the loop's own
        call = asyncio.ensure_future(
            calculators.run(Caller(), calls.pow_slowly, body=[b"100000"], seconds=10)
        )
        while not pairs:
            await asyncio.sleep(0)
        calculators.close()
        assert await call == 100_000
        assert {end.fileno() for pair in pairs for end in pair} == {-1}

    _forks.start()
    run(check)


def test_an_application_that_was_not_started_keeps_no_calculators(app, client, pairs):
    apart = create_app(app.state.services.settings, app.state.services.database, app.state.services.keyring)
    example = dict(registry.find("clustered-mcnemar").example)
    answer = TestClient(apart, headers=client.headers).post("/v1/tests/clustered-mcnemar", json=example)
    assert answer.status_code == 200
    assert not apart.state.services.calculators._idle


def test_what_outruns_its_estimate_becomes_a_job(client, monkeypatch):
    """With as small a margin as there can be, and a test without end."""
    monkeypatch.setattr(handlers, "compute_test", calls.endless)
    example = dict(registry.find("clustered-mcnemar").example)
    answer = client.post("/v1/tests/clustered-mcnemar", json=example)
    assert answer.status_code == 202
    assert answer.json()["kind"] == "clustered-mcnemar"
    assert client.get(answer.headers["location"]).json()["state"] == "queued"


def test_what_fails_in_a_calculator_is_an_error_of_ours_that_says_where(client, monkeypatch, caplog):
    monkeypatch.setattr(handlers, "compute_test", calls.fail)
    answer = client.post("/v1/tests/clustered-mcnemar", json={})
    assert (answer.status_code, answer.json()["code"]) == (500, "internal_error")
    (record,) = [each for each in caplog.records if each.getMessage() == "a calculator failed"]
    assert "secret" not in str(record.fields)


def test_a_body_that_no_calculator_can_read_is_413(client, monkeypatch):
    async def lose(*_arguments, **_options):
        raise CalculatorLost(begun=False)

    monkeypatch.setattr(Calculators, "run", lose)
    answer = client.post("/v1/tests/equivalence", content=b"{}", headers=JSON)
    assert (answer.status_code, answer.json()["code"]) == (413, "body_too_large")


def test_results_for_no_record_are_refused_unread(client, key_with):
    bomb = gzip.compress(b'{"values":[' + b"1," * 150_000 + b"1]}")
    headers = {**JSON, "Content-Encoding": "gzip", "Idempotency-Key": "k", **key_with("results:write")}
    spent = time.process_time()
    answer = client.post("/v1/preregistrations/nobody/results", content=bomb, headers=headers)
    assert answer.status_code == 404
    assert time.process_time() - spent < 1


def test_a_byte_budget_is_shared_by_projects():
    async def check():
        budget = ByteBudget(100)
        await budget.take("one", 50)
        with pytest.raises(Unavailable):
            await budget.take("one", 1, seconds=0)
        await budget.take("two", 50)
        budget.give_back("one", 50)
        await budget.take("one", 50, seconds=0)
        budget.give_back("one", 50)
        budget.give_back("two", 50)
        await budget.take("one", 1000, seconds=0)  # alone, any body goes

    asyncio.run(check())


class Impatient(ByteBudget):
    """Nobody waits for it."""

    async def take(self, project: str, size: int, *, seconds: float = 0) -> None:
        await super().take(project, size, seconds=0)


def test_files_of_a_project_take_half_of_the_disk_that_files_may_have(app, client):
    budget = Impatient(1000)
    app.state.services = replace(app.state.services, upload_budget=budget)
    headers = {"Content-Type": "text/csv"}
    (project,) = (each["id"] for each in client.get("/v1/projects").json()["items"])

    def check(size: int) -> int:
        body = b"item_id,value\n" + b"a,1\n" * ((size - 14) // 4)
        return client.post("/v1/imports/check?format=csv", content=body, headers=headers).status_code

    asyncio.run(budget.take("another", 400))
    asyncio.run(budget.take(project, 300))
    assert check(214) == 503
    assert check(194) == 200
    assert check(194) == 200  # the bytes were given back
    asyncio.run(budget.take("a third", 200))
    assert check(194) == 503


def test_a_project_has_so_many_drafts_and_no_more(app, client):
    shared = app.state.services
    app.state.services = replace(shared, settings=shared.settings.model_copy(update={"project_drafts": 2}))
    answers = [client.post("/v1/preregistrations", json={"title": "t"}) for _ in range(3)]
    assert [answer.status_code for answer in answers] == [201, 201, 429]
    assert answers[-1].json()["code"] == "too_many_drafts"


def test_jobs_keep_so_many_bytes_and_no_more(app, client):
    shared = app.state.services
    app.state.services = replace(
        shared, settings=shared.settings.model_copy(update={"project_job_bytes": 300})
    )
    example, headers = dict(registry.find("mcnemar").example), {"Prefer": "respond-async"}
    answers = [
        client.post("/v1/tests/mcnemar", json=example | {"alpha": 0.01 * i}, headers=headers)
        for i in range(1, 5)
    ]
    assert answers[0].status_code == 202
    assert (answers[-1].status_code, answers[-1].json()["code"]) == (429, "too_many_job_bytes")


def test_a_calculator_has_neither_settings_nor_much_memory(monkeypatch):
    monkeypatch.setenv("FORELOCK_SEAL_PRIVATE_KEY", "secret")

    async def check(calculators):
        seen = await calculators.run(Caller(), calls.surroundings, body=[b""], seconds=10)
        assert seen["memory"] == calculator.MOST_MEMORY
        assert seen["settings"] == []

    run(check)
