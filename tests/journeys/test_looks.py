"""Stopping rules through the service: what a look may see, what leaves, and what a verdict then rests on."""

from __future__ import annotations

import uuid
from typing import Any

import pytest

from service.actions.verdicts import looks as looks_action
from service.store.database import clock
from service.store.jobs import jobs
from service.store.plans import preregistrations
from tests.journeys.sequential import N, ask, order, path, plan, run

from .conftest import Service
from .plans import items, locked, post, small_plan

pytestmark = pytest.mark.any_database


def looks(service: Service, prereg_id: str) -> dict[str, Any]:
    answer = service.client.get(path(prereg_id, "/looks"))
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()
    return found


def test_a_look_that_says_stop_completes_the_record_and_is_what_the_verdict_rests_on(
    service: Service,
) -> None:
    prereg_id = locked(service.client, plan())
    sequence = order(service, prereg_id)
    assert sorted(sequence) == sorted(items(N))
    run(service, prereg_id, sequence[:20], set(sequence[:8]))
    assert looks(service, prereg_id)["due"] == 1
    assert service.run_jobs() == 1
    seen = looks(service, prereg_id)
    assert seen["planned"] == {"p": [20, 40, 60, 80]}
    assert seen["taken"] == [{"look": 1, "decision": "continue", "units": {"p": 20}}]
    assert (seen["state"], seen["units"], seen["due"]) == ("collecting", {"p": 20}, None)
    run(service, prereg_id, sequence[20:50], set(sequence[20:36]))
    assert service.run_jobs() == 2, "the look, and the verdict"
    seen = looks(service, prereg_id)
    assert [each["decision"] for each in seen["taken"]] == ["continue", "stop"]
    assert seen["state"] == "judged"
    verdict = service.client.get(path(prereg_id, "/verdict")).json()
    assert verdict["stopped"] == {
        "kind": "group_sequential",
        "early": True,
        "look": 2,
        "looks": 4,
        "units": {"p": 40},
    }
    (hypothesis,) = verdict["hypotheses"]
    assert (hypothesis["outcome"], hypothesis["n"], hypothesis["n_planned"]) == ("supported", 40, 80)
    assert hypothesis["delta_exact"] == "3/5"
    late = post(service.client, prereg_id, "A", sequence[60:61], [1])
    assert late.status_code == 409


def test_only_the_first_items_of_the_order_make_a_look_due(service: Service) -> None:
    prereg_id = locked(service.client, plan())
    sequence = order(service, prereg_id)
    refused = ask(service, prereg_id)
    assert (refused.status_code, refused.json()["code"]) == (409, "look_not_due")
    run(service, prereg_id, sequence[1:60], set(sequence[1:60]))
    assert looks(service, prereg_id)["units"] == {"p": 0}
    assert ask(service, prereg_id).json()["code"] == "look_not_due"
    assert service.run_jobs() == 0
    post(service.client, prereg_id, "A", sequence[:1], [0])
    assert service.run_jobs() == 0, "one arm is not enough"
    post(service.client, prereg_id, "B", sequence[:1], [1])
    assert looks(service, prereg_id)["units"] == {"p": 60}
    assert service.run_jobs() == 2
    verdict = service.client.get(path(prereg_id, "/verdict")).json()
    assert verdict["stopped"]["look"] == 1, "looks that came in together are taken one after the other"
    assert verdict["hypotheses"][0]["n"] == 20


def test_a_look_taken_is_not_taken_again(service: Service) -> None:
    prereg_id = locked(service.client, plan())
    sequence = order(service, prereg_id)
    run(service, prereg_id, sequence[:25], set())
    assert service.run_jobs() == 1
    assert ask(service, prereg_id).json()["code"] == "look_not_due"
    assert len(looks(service, prereg_id)["taken"]) == 1


def test_nothing_but_continue_leaves_before_the_end(service: Service) -> None:
    """Two records whose outcomes differ and whose looks both say continue answer alike everywhere."""
    views = []
    for wins in (0, 3):
        prereg_id = locked(service.client, plan())
        sequence = order(service, prereg_id)
        run(service, prereg_id, sequence[:45], set(sequence[:wins]))
        assert service.run_jobs() == 1
        job = service.client.get(f"/v1/jobs/{_look_job(service, prereg_id)}").json()
        assert job["result"]["looks"] == [
            {"look": 1, "decision": "continue"},
            {"look": 2, "decision": "continue"},
        ]
        assert set(job["result"]) == {"preregistration_id", "stop", "looks"}
        answers = [
            service.client.get(path(prereg_id, part))
            for part in ("/looks", "/progress", "/verdict", "/results")
        ]
        views.append([(each.status_code, each.text.replace(prereg_id, "ID")) for each in answers])
        assert answers[2].json()["code"] == answers[3].json()["code"] == "blinded"
        assert ask(service, prereg_id, "/monitor").json()["code"] == "not_readable"
        listed = service.client.get(path(prereg_id, "/receipts")).json()["items"]
        hidden = {each["kind"]: each["leaf"] is None for each in listed}
        assert hidden == {"look": True, "batch": False, "plan_locked": False}
    assert views[0] == views[1]


def _look_job(service: Service, prereg_id: str) -> str:
    with service.database.read() as session:
        job = jobs.find_latest(session, service.project_id, kind="look", subject=f"{prereg_id}#1")
    assert job is not None
    return job.id


def test_rows_that_a_look_has_seen_are_not_replaced(service: Service) -> None:
    prereg_id = locked(service.client, plan())
    sequence = order(service, prereg_id)
    run(service, prereg_id, sequence[:20], set())
    run(service, prereg_id, sequence[20:30], set())
    service.run_jobs()

    def void(batch: int) -> Any:
        return service.client.post(
            path(prereg_id, f"/batches/{batch}/void"),
            json={"reason": "posted under the wrong arm"},
            headers={"Idempotency-Key": uuid.uuid4().hex},
        )

    assert (void(1).status_code, void(1).json()["code"]) == (409, "already_looked_at")
    assert void(3).status_code == 200


def test_a_look_at_rows_that_were_voided_meanwhile_does_not_count(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    prereg_id = locked(service.client, plan())
    sequence = order(service, prereg_id)
    run(service, prereg_id, sequence[:20], set(sequence[:20]))
    computed = []

    def compute(inputs: looks_action.Inputs) -> looks_action.LookResult:
        if not computed:
            answer = service.client.post(
                path(prereg_id, "/batches/1/void"),
                json={"reason": "posted under the wrong arm"},
                headers={"Idempotency-Key": uuid.uuid4().hex},
            )
            assert answer.status_code == 200, "no look has been put on record yet"
        computed.append(whole(inputs))
        return computed[-1]

    whole = looks_action.compute
    monkeypatch.setattr(looks_action, "compute", compute)
    assert service.run_jobs() == 1
    assert computed[0].stop, "twenty wins of twenty would have stopped it"
    assert (looks(service, prereg_id)["taken"], looks(service, prereg_id)["state"]) == ([], "collecting")
    post(service.client, prereg_id, "A", sequence[:20], [1] * 20)
    assert service.run_jobs() == 1
    assert [each["decision"] for each in looks(service, prereg_id)["taken"]] == ["continue"]


def test_a_look_goes_on_record_once(service: Service) -> None:
    """A runner that lost its lease and comes late changes nothing."""
    prereg_id = locked(service.client, plan())
    sequence = order(service, prereg_id)
    run(service, prereg_id, sequence[:20], set())
    service.run_jobs()
    late = looks_action.LookResult(((1, "stop"),), None, False)
    with service.database.write() as session:
        record = preregistrations.get(session, service.project_id, prereg_id, for_update=True)
        answer = looks_action.record(session, record, late, clock.read_moment(session))
    assert answer["looks"] == []
    assert [each["decision"] for each in looks(service, prereg_id)["taken"]] == ["continue"]


def test_a_plan_that_is_never_stopped_ends_at_its_n(service: Service) -> None:
    prereg_id = locked(service.client, plan())
    run(service, prereg_id, items(N), set())
    service.run_jobs()
    verdict = service.client.get(path(prereg_id, "/verdict")).json()
    assert (verdict["stopped"]["early"], verdict["stopped"]["look"]) == (False, 4)
    assert verdict["hypotheses"][0]["outcome"] == "not_supported"
    assert verdict["hypotheses"][0]["n"] == N


def test_a_record_that_came_in_at_once_is_judged_where_its_rule_stops_it(service: Service) -> None:
    """The order in which batches are posted, and whether a look was asked for, change nothing."""
    prereg_id = locked(service.client, plan())
    sequence = order(service, prereg_id)
    run(service, prereg_id, items(N), set(sequence[15:50]))
    service.run_jobs()
    verdict = service.client.get(path(prereg_id, "/verdict")).json()
    assert (verdict["stopped"]["early"], verdict["stopped"]["look"]) == (True, 2)
    assert verdict["hypotheses"][0]["n"] == 40


def test_a_plan_that_is_valid_at_any_time_is_read_at_any_time(service: Service) -> None:
    prereg_id = locked(service.client, plan("anytime_valid"))
    sequence = order(service, prereg_id)
    assert ask(service, prereg_id, "/monitor").json()["code"] == "look_not_due"
    assert service.client.get(path(prereg_id, "/monitor")).json()["code"] == "not_readable"
    assert ask(service, prereg_id).json()["code"] == "no_looks"
    run(service, prereg_id, sequence[:10], set(sequence[:4]))
    run(service, prereg_id, sequence[12:14], set())
    assert ask(service, prereg_id, "/monitor").status_code == 202
    assert service.run_jobs() == 1
    found = service.client.get(path(prereg_id, "/monitor")).json()
    assert found["reading"]["units"] == {"p": 10}
    assert found["reading"]["stop"] is False
    reading = found["reading"]["hypotheses"][0]["tests"]["seq"]
    assert reading["decision"] == "continue"
    # four heads of four: B(4.5, .5) / B(.5, .5) * 16
    assert reading["e_value"] == pytest.approx(35 / 128 * 16)
    assert reading["p_value"] == pytest.approx(128 / 35 / 16)
    assert service.client.get(path(prereg_id, "/verdict")).json()["code"] == "blinded"
    run(
        service,
        prereg_id,
        [each for each in sequence[:30] if each not in sequence[:10] + sequence[12:14]],
        set(sequence[14:25]),
    )
    ask(service, prereg_id, "/monitor")
    assert service.run_jobs() == 2, "the reading, and the verdict it leads to"
    assert service.client.get(path(prereg_id, "/monitor")).json()["reading"]["stop"] is True
    verdict = service.client.get(path(prereg_id, "/verdict")).json()
    assert verdict["stopped"] == {
        "kind": "anytime_valid",
        "early": True,
        "look": None,
        "looks": None,
        "units": {"p": 30},
    }
    assert verdict["hypotheses"][0]["outcome"] == "supported"
    assert verdict["hypotheses"][0]["n"] == 30


def test_a_plan_with_one_look_has_no_others(service: Service) -> None:
    prereg_id = locked(service.client, small_plan(N))
    post(service.client, prereg_id, "A", items(4), [1, 0, 1, 0])
    assert ask(service, prereg_id).json()["code"] == "no_looks"
    assert ask(service, prereg_id, "/monitor").json()["code"] == "not_readable"
    assert service.client.get(path(prereg_id, "/looks")).json()["code"] == "no_looks"
    assert service.client.get(path(prereg_id, "/populations/p/order")).json()["code"] == "no_looks"
    assert service.run_jobs() == 0


def test_another_project_sees_no_look(service: Service) -> None:
    prereg_id = locked(service.client, plan())
    other = {"Authorization": f"Bearer {service.key(project_id=service.project('other'))}"}
    for part in ("/looks", "/monitor", "/populations/p/order"):
        assert service.client.get(path(prereg_id, part), headers=other).status_code == 404
    for part in ("/looks", "/monitor"):
        answer = service.client.post(path(prereg_id, part), headers=other | {"Idempotency-Key": "1"})
        assert answer.status_code == 404
