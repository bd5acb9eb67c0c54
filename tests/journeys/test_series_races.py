"""Runs that come in at once: all of them are in, once, in one order, and each is judged among those before it."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier, Lock
from typing import Any

import numpy as np
import pytest

from service.actions.projects import series as actions
from service.api.routes.projects import series as routes
from service.store.projects import series
from tests.journeys.conftest import Service

ITEMS = [f"q{number:02}" for number in range(30)]
"""As they are kept: sums in another order end in other digits."""


def run(name: str, right: float = 0.7) -> dict[str, Any]:
    rng = np.random.default_rng(sum(map(ord, name)))
    return {"name": name, "item_ids": ITEMS, "values": (rng.random(30) < right).astype(int).tolist()}


def meet(monkeypatch: pytest.MonkeyPatch, many: int) -> None:
    """Let the first so many posts wait for one another when each has read what it is compared with."""
    barrier, lock, left = Barrier(many), Lock(), [many]
    prepare = actions.prepare

    def prepared(*arguments: Any) -> Any:
        ready = prepare(*arguments)
        with lock:
            left[0] -= 1
            waits = left[0] >= 0
        if waits:
            barrier.wait(60)
        return ready

    monkeypatch.setattr(actions, "prepare", prepared)


def together(service: Service, posts: list[tuple[str, dict[str, Any]]]) -> list[Any]:
    def send(post: tuple[str, dict[str, Any]]) -> Any:
        return service.client.post(f"/v1/series/{post[0]}/points", json=post[1])

    with ThreadPoolExecutor(len(posts)) as pool:
        return list(pool.map(send, posts))


def state_of(service: Service, name: str = "nightly") -> dict[str, Any]:
    told: dict[str, Any] = service.client.get(f"/v1/series/{name}").json()
    return told


def judged_in_order(told: dict[str, Any], bodies: dict[str, dict[str, Any]], service: Service) -> None:
    """What is stored is what the same runs one by one, in that order, would have been told."""
    sent = {"runs": [bodies[each["name"]]["values"] for each in told["runs"]], "n_reference": 1}
    alone = service.client.post("/v1/tests/run-series", json=sent).json()["analysis"]
    assert told["e_value"] == alone["e_value"]
    assert [each["standing"]["p_value"] for each in told["runs"]] == [
        each["p_value"] for each in alone["runs"]
    ]


def test_two_runs_at_once_are_both_in_once_and_in_one_order(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    bodies = {name: run(name) for name in ("first", "x", "y")}
    assert service.client.post("/v1/series/nightly/points", json=bodies["first"]).status_code == 201
    meet(monkeypatch, 2)
    answers = together(service, [("nightly", bodies["x"]), ("nightly", bodies["y"])])
    assert [answer.status_code for answer in answers] == [201, 201], [answer.text for answer in answers]
    told = state_of(service)
    assert [each["number"] for each in told["runs"]] == [1, 2, 3]
    assert {each["name"] for each in told["runs"]} == {"first", "x", "y"}
    judged_in_order(told, bodies, service)


def test_two_runs_that_begin_a_series_at_once_are_its_first_and_its_second(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    bodies = {name: run(name) for name in ("x", "y")}
    meet(monkeypatch, 2)
    answers = together(service, [("nightly", body) for body in bodies.values()])
    assert [answer.status_code for answer in answers] == [201, 201]
    told = state_of(service)
    assert [each["reference"] for each in told["runs"]] == [True, False]
    judged_in_order(told, bodies, service)


def test_the_same_run_twice_at_once_is_in_once(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    meet(monkeypatch, 2)
    answers = together(service, [("nightly", run("x"))] * 2)
    assert [answer.status_code for answer in answers] == [201, 201]
    assert answers[0].json() == answers[1].json()
    assert state_of(service)["n_runs"] == 1


def test_of_two_runs_of_one_name_at_once_one_is_refused(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    meet(monkeypatch, 2)
    answers = together(service, [("nightly", run("x")), ("nightly", run("x", right=0.1))])
    assert sorted(answer.status_code for answer in answers) == [201, 409]
    assert {answer.json().get("code") for answer in answers} == {None, "run_differs"}


def test_series_that_begin_at_once_share_the_projects_error_under_numbers_of_their_own(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = [f"s{number}" for number in range(6)]
    meet(monkeypatch, len(names))
    answers = together(service, [(name, run(name)) for name in names])
    assert {answer.status_code for answer in answers} == {201}
    with service.database.read() as session:
        known = [series.get(session, service.project_id, name) for name in names]
        numbers = [series.read_points(session, each.id)[0].hypothesis for each in known]
    assert sorted(numbers) == [1, 2, 3, 4, 5, 6]


def test_whoever_is_overtaken_every_time_is_asked_to_send_again(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    bodies = [run(f"n{number}") for number in range(routes.TRIES + 1)]
    prepare, others = actions.prepare, iter(bodies[1:])

    def overtaken(session: Any, caller: Any, name: str, body: Any) -> Any:
        ready = prepare(session, caller, name, body)
        if body.name == "n0":
            answer = service.client.post("/v1/series/nightly/points", json=next(others))
            assert answer.status_code == 201
        return ready

    monkeypatch.setattr(actions, "prepare", overtaken)
    answer = service.client.post("/v1/series/nightly/points", json=bodies[0])
    assert (answer.status_code, answer.json()["code"]) == (409, "series_moved")
    assert state_of(service)["n_runs"] == routes.TRIES
