"""Bundles through HTTP, checked by the client alone and judged again from their rows."""

from __future__ import annotations

import io

import pytest

from forelock.bundles.container import Reader
from forelock.bundles.verifying import Kept, exit_status
from service.api.examples.deviations import FILING
from tests.journeys.bundles import bundle, checked, failures

from .conftest import Service
from .plans import idempotent, locked, post, small_plan

pytestmark = pytest.mark.any_database

IDS = [f"item {number}" for number in range(30)]
BASELINE = [int(number % 3 == 0) for number in range(30)]
CANDIDATE = [int(number % 3 != 1) for number in range(30)]


def judged(service: Service) -> str:
    """A record with a verdict."""
    prereg_id = locked(service.client, small_plan(len(IDS)), {"p": {"item_ids": IDS}})
    for arm, values in (("A", BASELINE), ("B", CANDIDATE)):
        for half in (slice(0, 15), slice(15, 30)):
            assert post(service.client, prereg_id, arm, IDS[half], values[half]).status_code == 201
    service.run_jobs()
    return prereg_id


def test_a_judged_record_s_bundle_holds_and_is_judged_again(service: Service) -> None:
    prereg_id = judged(service)
    report = checked(bundle(service, prereg_id))
    assert failures(report) == []
    verdict = service.client.get(f"/v1/preregistrations/{prereg_id}/verdict")
    assert report.verdict == verdict.json()
    assert exit_status(report) == 0
    assert {each.name: each.state for each in report.checks}["recomputed"] == "pass"


@pytest.mark.parametrize(("k", "test"), [(3, "mcnemar"), (2, "bounded-difference")])
def test_items_whose_runs_are_all_right_are_judged_and_judged_again(
    service: Service, k: int, test: str
) -> None:
    plan = small_plan(len(IDS))
    plan["endpoints"][0] |= {"replicates": 3, "collapse": "all_of_k", "k": k}
    plan["tests"] = [{"id": "t", "test": test, "version": 1}]
    plan["hypotheses"][0]["rule"] = "delta >= 2.0 pp and t.p_value < 0.05"
    prereg_id = locked(service.client, plan, {"p": {"item_ids": IDS}})
    runs = [run for _ in IDS for run in (1, 2, 3)]
    for arm, right in (("A", BASELINE), ("B", CANDIDATE)):
        # the last run of every third item fails, whatever the others do
        values = [
            each * (number % 3 != 0 or run < 3) for number, each in enumerate(right) for run in (1, 2, 3)
        ]
        ids = [item for item in IDS for _ in range(3)]
        assert post(service.client, prereg_id, arm, ids, values, replicates=runs).status_code == 201
    service.run_jobs()
    report = checked(bundle(service, prereg_id))
    assert failures(report) == []
    assert {each.name: each.state for each in report.checks}["recomputed"] == "pass"
    judged = service.client.get(f"/v1/preregistrations/{prereg_id}/verdict").json()
    # ten items fail in one run of both arms, ten are right in the candidate alone, ten in neither
    assert judged["hypotheses"][0]["delta_exact"] == "1/3"
    assert judged["hypotheses"][0]["outcome"] == "supported"


def test_the_same_record_gives_the_same_bytes(service: Service) -> None:
    prereg_id = judged(service)
    first = bundle(service, prereg_id)
    judged(service)
    assert bundle(service, prereg_id) == first


def test_before_the_verdict_a_bundle_holds_what_was_locked_alone(service: Service) -> None:
    prereg_id = locked(service.client, small_plan(len(IDS)), {"p": {"item_ids": IDS}})
    before = bundle(service, prereg_id)
    assert exit_status(checked(before)) == 1
    assert post(service.client, prereg_id, "A", IDS, BASELINE).status_code == 201
    after = bundle(service, prereg_id)
    assert set(Reader(io.BytesIO(after)).members) - {
        "checkpoints/1.note",
        "checkpoints/1.consistency",
    } == set(Reader(io.BytesIO(before)).members)
    assert exit_status(checked(after)) == 1


def test_a_draft_has_no_bundle(service: Service) -> None:
    draft = service.client.post("/v1/preregistrations", json=small_plan(4)).json()
    answer = service.client.get(f"/v1/preregistrations/{draft['id']}/bundle")
    assert (answer.status_code, answer.json()["code"]) == (409, "conflict")


def test_another_project_s_record_is_not_found(service: Service) -> None:
    prereg_id = locked(service.client, small_plan(len(IDS)), {"p": {"item_ids": IDS}})
    stranger = service.key(project_id=service.project("other"))
    headers = {"Authorization": f"Bearer {stranger}"}
    assert service.client.get(f"/v1/preregistrations/{prereg_id}/bundle", headers=headers).status_code == 404


def test_deviations_and_struck_batches_are_in_it(service: Service) -> None:
    prereg_id = locked(service.client, small_plan(len(IDS)), {"p": {"item_ids": IDS}})
    assert post(service.client, prereg_id, "A", IDS, CANDIDATE).status_code == 201
    struck = service.client.post(
        f"/v1/preregistrations/{prereg_id}/batches/1/void",
        json={"reason": "the wrong arm's file"},
        headers={"Idempotency-Key": "void-1"},
    )
    assert struck.status_code == 200, struck.text
    for arm, values in (("A", BASELINE), ("B", CANDIDATE)):
        assert post(service.client, prereg_id, arm, IDS, values).status_code == 201
    service.run_jobs()
    report = checked(bundle(service, prereg_id))
    assert failures(report) == []
    assert "Batch 1 was struck: the wrong arm's file" in report.marks
    assert any(each.sentence.startswith("90 rows in 3 batches") for each in report.checks)


@pytest.mark.parametrize("moment", ["lock", "collecting", "judged", "later"])
def test_a_checkpoint_kept_at_any_time_leads_to_the_bundle(service: Service, moment: str) -> None:
    def keep(now: str) -> None:
        if now == moment:
            kept.append(service.client.get("/v1/ledger/checkpoint").content)

    kept: list[bytes] = []
    judged(service)  # entries of another record
    prereg_id = locked(service.client, small_plan(len(IDS)), {"p": {"item_ids": IDS}})
    keep("lock")
    assert post(service.client, prereg_id, "A", IDS, BASELINE).status_code == 201
    keep("collecting")
    assert post(service.client, prereg_id, "B", IDS, CANDIDATE).status_code == 201
    service.run_jobs()
    bundle(service, prereg_id)
    keep("judged")
    judged(service)
    keep("later")
    size = int(kept[0].split(b"\n")[1])
    report = checked(bundle(service, prereg_id, size), kept=[Kept("kept", kept[0])])
    assert failures(report) == []


def test_the_checkpoint_of_the_lock_needs_no_asking(service: Service) -> None:
    prereg_id = locked(service.client, small_plan(len(IDS)), {"p": {"item_ids": IDS}})
    note = service.client.get("/v1/ledger/checkpoint").content
    for arm, values in (("A", BASELINE), ("B", CANDIDATE)):
        assert post(service.client, prereg_id, arm, IDS, values).status_code == 201
    service.run_jobs()
    assert failures(checked(bundle(service, prereg_id), kept=[Kept("kept", note)])) == []


@pytest.mark.parametrize("value", ["0", "-1", "x", "9223372036854775808"])
def test_a_size_that_is_none_is_refused(service: Service, value: str) -> None:
    prereg_id = locked(service.client, small_plan(len(IDS)), {"p": {"item_ids": IDS}})
    answer = service.client.get(f"/v1/preregistrations/{prereg_id}/bundle", params={"checkpoint": value})
    assert answer.status_code == 422


def test_an_amended_plan_and_a_look_at_outcomes_are_in_it(service: Service) -> None:
    prereg_id = locked(service.client, small_plan(len(IDS)), {"p": {"item_ids": IDS}})
    path = f"/v1/preregistrations/{prereg_id}"
    etag = service.client.get(path).headers["ETag"]
    amended = service.client.post(
        f"{path}/amendments",
        json={"reason": "a typing error", "changes": {"title": "Amended"}, "acknowledge": "all"},
        headers=idempotent(**{"If-Match": etag}),
    )
    assert amended.status_code in (200, 201), amended.text
    assert exit_status(checked(bundle(service, prereg_id))) == 1
    assert post(service.client, prereg_id, "A", IDS, BASELINE).status_code == 201
    seen = service.client.post(f"{path}/unblinding", json={"reason": "the judge was broken"})
    assert seen.status_code == 201, seen.text
    service.run_jobs()
    assert exit_status(checked(bundle(service, prereg_id))) == 1
    assert post(service.client, prereg_id, "B", IDS, CANDIDATE).status_code == 201
    service.run_jobs()
    report = checked(bundle(service, prereg_id))
    assert failures(report) == []
    assert report.title == "Amended"
    assert any("made readable before the end" in each for each in report.marks)
    assert exit_status(report) == 4


def test_a_record_that_was_closed_early_and_one_that_was_erased(service: Service) -> None:
    prereg_id = locked(service.client, small_plan(len(IDS)), {"p": {"item_ids": IDS}})
    path = f"/v1/preregistrations/{prereg_id}"
    for arm, values in (("A", BASELINE), ("B", CANDIDATE)):
        assert post(service.client, prereg_id, arm, IDS[:20], values[:20]).status_code == 201
    change = {"kind": "n", "population": "p", "n": 20, "dropped_favour": "neither"}
    filed = service.client.post(f"{path}/deviations", json=FILING | {"change": change}, headers=idempotent())
    assert filed.status_code == 201, filed.text
    closed = service.client.post(
        f"{path}/close", json={"reason": "no budget", "deviation": 1}, headers=idempotent()
    )
    assert closed.status_code in (200, 202), closed.text
    service.run_jobs()
    report = checked(bundle(service, prereg_id))
    assert failures(report) == []
    assert any("closed by hand" in each for each in report.marks)
    assert any(each.sentence.startswith("40 of 60 results: ended early") for each in report.checks)
    erased = service.client.post(f"{path}/erasure", json={"reason": "Personal data."}, headers=idempotent())
    assert erased.status_code in (200, 201), erased.text
    after = checked(bundle(service, prereg_id))
    assert exit_status(after) == 5
    assert not any(each.state == "fail" for each in after.checks)
