from __future__ import annotations

import uuid

import httpx
import pytest

from forelock import Client, ForelockError, ForelockProblem, JobTimeout, Results, Unreachable, VerdictTimeout

RESULTS = Results("bm25", "hit", ["a", "b", "c"], [1, 0, 1], population="stdlib")


def test_key_travels_as_bearer(service):
    service.will_answer(200, {"state": "draft"})
    service.client().preregistration("p1")
    assert service.header("Authorization") == ["Bearer flk_key"]


def test_ids_are_quoted_into_paths(service):
    service.will_answer(200, {"n": 1, "items_sha256": "0" * 64})
    service.client().put_items("p1", "a/b?", b"item_id\nx\n", "text/csv")
    assert service.requests[0].url.raw_path == b"/v1/preregistrations/p1/populations/a%2Fb%3F/items"
    assert service.header("Content-Type") == ["text/csv"]


def test_an_id_that_is_empty_asks_no_other_route(service):
    """`forelock plan delete "$id"` after a draft that was refused."""
    for ask in (Client.preregistration, Client.delete_draft, Client.describe, Client.revoke_key):
        with pytest.raises(ForelockError, match="an id or a name is empty"):
            ask(service.client(), "")
    assert service.requests == []


def test_settings_come_from_the_environment(monkeypatch):
    monkeypatch.setenv("FORELOCK_URL", "http://elsewhere.test:99/")
    monkeypatch.setenv("FORELOCK_API_KEY", "flk_other")
    seen = []

    def answer(request: httpx.Request) -> httpx.Response:
        seen.append((str(request.url), request.headers["Authorization"]))
        return httpx.Response(200, json={})

    Client(transport=httpx.MockTransport(answer)).progress("p1")
    assert seen == [("http://elsewhere.test:99/v1/preregistrations/p1/progress", "Bearer flk_other")]


def test_run_answers_what_the_service_computed(service):
    service.will_answer(200, {"test": "mcnemar"})
    assert service.client().run("mcnemar", {"baseline": [1]}) == {"test": "mcnemar"}
    assert service.sent() == {"baseline": [1]}


def test_run_follows_a_job(service):
    service.will_answer(202, {"id": "j1"}, Location="/v1/jobs/j1")
    service.will_answer(200, {"id": "j1", "state": "running", "result": None})
    service.will_answer(200, {"id": "j1", "state": "succeeded", "result": {"test": "slow"}})
    assert service.client().run("slow", {}) == {"test": "slow"}
    assert [request.url.path for request in service.requests[1:]] == ["/v1/jobs/j1"] * 2


def test_run_raises_the_problem_of_a_failed_job(service):
    service.will_answer(202, {"id": "j1"}, Location="/v1/jobs/j1")
    error = {"status": 422, "code": "invalid_data", "detail": "no", "errors": []}
    service.will_answer(200, {"id": "j1", "state": "failed", "error": error})
    with pytest.raises(ForelockProblem) as caught:
        service.client().run("slow", {})
    assert (caught.value.status, caught.value.code) == (422, "invalid_data")


def test_run_gives_up_on_a_job_after_its_timeout(service):
    service.will_answer(202, {"id": "j1"}, Location="/v1/jobs/j1")
    for _ in range(20):
        service.will_answer(200, {"id": "j1", "state": "queued"})
    with pytest.raises(JobTimeout, match="j1 is still queued"):
        service.client().run("slow", {}, timeout=3)
    assert sum(service.naps) <= 3


def test_lock_sends_the_newest_etag_and_the_codes(service):
    service.will_answer(200, {"state": "draft"}, ETag='"4"')
    service.will_answer(200, {"state": "locked"})
    assert service.client().lock("p1", ["FEW_CLUSTERS"])["state"] == "locked"
    assert service.header("If-Match") == [None, '"4"']
    assert service.sent() == {"acknowledge": ["FEW_CLUSTERS"]}
    assert uuid.UUID(service.header("Idempotency-Key")[1])


def test_lock_can_acknowledge_everything_of_a_known_version(service):
    service.will_answer(200, {"state": "locked"})
    service.client().lock("p1", "all", etag='"7"')
    assert service.sent() == {"acknowledge": "all"}
    assert service.header("If-Match") == ['"7"']


def test_submit_splits_into_batches_with_a_key_each(service):
    for n in (1, 2):
        service.will_answer(201, {"batch": n})
    assert [each["batch"] for each in service.client().submit("p1", RESULTS, batch_size=2)] == [1, 2]
    assert [service.sent(n)["item_ids"] for n in (0, 1)] == [["a", "b"], ["c"]]
    assert service.sent(0)["population"] == "stdlib"
    keys = service.header("Idempotency-Key")
    assert len(set(keys)) == 2


def test_idempotency_keys_do_not_follow_from_what_is_sent(service):
    for _ in range(2):
        service.will_answer(201, {})
        list(service.client().submit("p1", RESULTS))
    first, second = service.header("Idempotency-Key")
    assert first != second


@pytest.mark.parametrize("status", [429, 502, 503, 504])
def test_busy_answers_are_tried_again_with_the_same_key(service, status):
    service.will_refuse(status, "unavailable")
    service.will_answer(201, {"batch": 1})
    assert list(service.client().submit("p1", RESULTS)) == [{"batch": 1}]
    first, second = service.header("Idempotency-Key")
    assert first == second
    assert service.requests[0].content == service.requests[1].content


@pytest.mark.parametrize("error", [httpx.ConnectError("refused"), httpx.ReadTimeout("silence")])
def test_lost_connections_are_tried_again_with_the_same_key(service, error):
    service.will_raise(error)
    service.will_answer(201, {"batch": 1})
    assert list(service.client().submit("p1", RESULTS)) == [{"batch": 1}]
    first, second = service.header("Idempotency-Key")
    assert first == second


def test_a_write_still_in_flight_is_tried_again(service):
    service.will_refuse(409, "idempotency_in_flight")
    service.will_answer(201, {"batch": 1})
    assert list(service.client().submit("p1", RESULTS)) == [{"batch": 1}]


@pytest.mark.parametrize("status", [400, 401, 403, 404, 409, 412, 413, 422, 500])
def test_other_refusals_are_raised_at_once(service, status):
    service.will_refuse(status, "some_code")
    with pytest.raises(ForelockProblem, match="some_code: it is some_code"):
        service.client().progress("p1")
    assert service.naps == []


def test_pauses_grow_to_a_limit(service):
    for _ in range(12):
        service.will_refuse(503, "unavailable")
    with pytest.raises(ForelockProblem):
        service.client(attempts=12).progress("p1")
    assert service.naps[:3] == [0.2, 0.4, 0.8]
    assert service.naps[-1] == 30.0
    assert len(service.requests) == 12


def test_a_silent_service_is_named(service):
    for _ in range(2):
        service.will_raise(httpx.ConnectError("refused"))
    with pytest.raises(Unreachable) as refused:
        service.client(attempts=2).progress("p1")
    assert str(refused.value).startswith(
        "http://service.test does not answer: refused; `forelock serve` starts"
    )


@pytest.mark.parametrize(
    ("headers", "pause"),
    [
        ({"Retry_After": "3"}, 3.0),
        ({"Retry_After": "9999"}, 30.0),
        ({"Retry_After": "soon"}, 0.2),
        ({"Retry_After": "Thu, 01 Jan 2026 00:00:07 GMT", "Date": "Thu, 01 Jan 2026 00:00:00 GMT"}, 7.0),
        ({"Retry_After": "Thu, 01 Jan 2026 00:00:00 GMT", "Date": "Thu, 01 Jan 2026 00:00:07 GMT"}, 0.0),
    ],
)
def test_retry_after_is_honoured(service, headers, pause):
    service.will_refuse(503, "unavailable", **headers)
    service.will_answer(200)
    service.client().progress("p1")
    assert service.naps == [pause]


def test_verdict_without_waiting_raises_what_the_service_says(service):
    service.will_refuse(409, "blinded")
    with pytest.raises(ForelockProblem, match="blinded"):
        service.client().verdict("p1")


def test_verdict_waits_through_blindness_and_computation(service):
    for code in ("blinded", "verdict_pending", "verdict_pending"):
        service.will_refuse(409, code)
    service.will_answer(200, {"hypotheses": []})
    assert service.client().verdict("p1", wait=True) == {"hypotheses": []}
    assert service.naps == sorted(service.naps)
    assert len(service.naps) == 3


def test_verdict_does_not_wait_for_a_failed_one(service):
    service.will_refuse(409, "verdict_failed")
    with pytest.raises(ForelockProblem, match="verdict_failed"):
        service.client().verdict("p1", wait=True)


def test_verdict_gives_up_after_its_timeout(service):
    for _ in range(50):
        service.will_refuse(409, "verdict_pending")
    with pytest.raises(VerdictTimeout, match="no verdict after 20 s: it is verdict_pending"):
        service.client().verdict("p1", wait=True, timeout=20)
    assert sum(service.naps) <= 20
    assert max(service.naps) <= 5


def test_verdicts_follow_cursors(service):
    service.will_answer(200, {"items": [{"n": 1}, {"n": 2}], "next_cursor": "c2"})
    service.will_answer(200, {"items": [{"n": 3}], "next_cursor": None})
    found = list(service.client().verdicts(outcome="supported"))
    assert [each["n"] for each in found] == [1, 2, 3]
    queries = [dict(request.url.params) for request in service.requests]
    assert queries == [{"outcome": "supported"}, {"outcome": "supported", "cursor": "c2"}]


def test_problems_carry_their_fields(service):
    errors = [{"path": "item_ids[3]", "message": "is unknown", "fix": "see the manifest"}]
    service.will_answer(422, {"status": 422, "code": "invalid_data", "detail": "no", "errors": errors})
    with pytest.raises(ForelockProblem) as caught:
        service.client().lint("p1")
    (fault,) = caught.value.errors
    assert (fault.path, fault.message, fault.fix) == ("item_ids[3]", "is unknown", "see the manifest")


@pytest.mark.parametrize("body", [b"<html>Bad gateway</html>", b"[1]", b""])
def test_answers_of_something_else_become_problems(service, body):
    service.answers.append(httpx.Response(418, content=body))
    with pytest.raises(ForelockProblem, match=r"http_418: .*not by a Forelock service"):
        service.client().progress("p1")


def test_a_success_that_is_no_object_is_refused(service):
    service.answers.append(httpx.Response(200, content=b"<html>welcome</html>"))
    with pytest.raises(ForelockProblem, match="not_forelock"):
        service.client().progress("p1")


@pytest.mark.parametrize("url", ["ftp://service.test", "service.test", "http://a:b:c"])
def test_an_address_that_is_none_is_said_without_retries(url):
    with pytest.raises(Unreachable, match="is no address"), Client(url, "flk_key") as client:
        client.progress("p1")
