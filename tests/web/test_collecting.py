"""Pages while results come in: what is missing of a plan, and progress as it moves."""

from __future__ import annotations

import json

import pytest

from service.store.results import coverage
from service.web.preregistrations import progress_page
from tests.web.outline import page
from tests.web.samples import PLAN


def test_missing_rows_are_listed_by_arm_and_page(reader, keep, database, monkeypatch):
    monkeypatch.setattr(progress_page, "ROWS", 3)
    keep("collecting")
    with database.write() as session:
        coverage.save(session, "p1", ("dev", "C1", "accuracy", 1), b"\x07", 3)
    (way,) = [
        each["href"] for each in page(reader, "/preregistrations/p1").all("a") if "missing" in each["href"]
    ]
    first = page(reader, way)
    assert "dev C1 accuracy 3 of 4" in first.text
    assert "dev 3 dev C1 accuracy 1 dev 0 dev C3 accuracy 1" in first.text
    (more,) = [each["href"] for each in first.all("a") if each.get("rel") == "next"]
    assert "dev 2 dev C3 accuracy 1 dev 3 dev C3 accuracy 1" in page(reader, more).text
    assert "dev 0 dev C1" not in page(reader, f"{way}?arm=C1").text
    assert "Nothing is missing here." in page(reader, f"{way}?arm=none").text
    assert page(reader, f"{way}?cursor=x", 422)
    assert page(reader, "/preregistrations/none/missing", 404)


def test_only_who_is_signed_in_follows_a_progress(browser, keep):
    keep("collecting")
    answer = browser.get("/preregistrations/p1/events")
    assert (answer.status_code, answer.json()["code"]) == (401, "unauthorized")


def test_the_page_of_a_progress_alone_has_a_script_and_it_is_ours(reader, keep):
    keep("collecting", "p1")
    keep("draft", "p2", plan=PLAN)
    response = reader.get("/preregistrations/p1")
    assert page(reader, "/preregistrations/p1").all("script") == [
        {"src": "/static/progress.js", "type": "module"}
    ]
    policy = response.headers["content-security-policy"].split("; ")
    assert {"script-src 'self'", "connect-src 'self'", "default-src 'none'"} <= set(policy)
    assert not any("unsafe" in each for each in policy)
    assert page(reader, "/preregistrations/p2").all("script") == []
    assert "script" not in reader.get("/preregistrations/p2").headers["content-security-policy"]


@pytest.mark.parametrize(("state", "told"), [("complete", 0), ("judged", 0), ("draft", 0)])
def test_a_stream_tells_state_and_counts_and_ends_with_the_collection(reader, keep, state, told):
    keep(state)
    answer = reader.get("/preregistrations/p1/events")
    assert answer.headers["content-type"].startswith("text/event-stream")
    assert answer.headers["cache-control"] == "no-store"
    (data,) = [line[6:] for line in answer.text.splitlines() if line.startswith("data: ")]
    assert json.loads(data) == {"state": state, "received": told, "expected": told}


def test_a_key_follows_no_more_streams_than_it_may(reader, keep, app):
    keep("judged")
    app.state.services.streams.most = 1
    for _ in range(2):  # one that has ended gives its turn back
        assert reader.get("/preregistrations/p1/events").status_code == 200
    app.state.services.streams.most = 0
    assert reader.get("/preregistrations/p1/events").status_code == 429


def test_another_projects_progress_is_not_there(reader, keep, others):
    keep("collecting", "theirs", of=others)
    assert page(reader, "/preregistrations/theirs/missing", 404)
    assert reader.get("/preregistrations/theirs/events").status_code == 404


def test_numbers_of_missing_results_stand_at_the_right(reader, keep):
    keep("collecting")
    answer = reader.get("/preregistrations/p1/missing").text
    for heading in ("In", "Replicate"):
        assert f'<th scope="col" class="number">{heading}</th>' in answer
    assert '<td class="number" data-label="Replicate">1</td>' in answer
