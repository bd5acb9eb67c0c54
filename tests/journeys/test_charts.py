"""Pictures over HTTP: of a plan at any time, of outcomes after the verdict, and of answers of tests."""

from __future__ import annotations

import json
import re
from typing import Any
from xml.etree import ElementTree

import pytest

from service.stats.shared.declaring import registry
from tests.api.conftest import bearer
from tests.journeys.chart_rows import path, rows_of
from tests.journeys.filings import BASELINE, CANDIDATE, N, judged

from .conftest import Service, only_sqlite
from .plans import draft, items, locked, post, small_plan

pytestmark = only_sqlite  # pictures read through the store, which is tested on both databases

OF_OUTCOMES = ("forest", "cumulative", "arms", "discordance", "pareto", "multiverse")


def test_before_the_verdict_every_picture_of_outcomes_is_refused_as_the_verdict_is(service: Service) -> None:
    unlocked, prereg_id = draft(service.client, small_plan(N)), locked(service.client, small_plan(N))
    assert post(service.client, prereg_id, "A", items(N), BASELINE).status_code == 201
    for name in OF_OUTCOMES:
        for record in (unlocked, prereg_id):
            refused = service.client.get(path(record, name))
            assert (refused.status_code, refused.json()["code"]) == (409, "blinded")
    assert post(service.client, prereg_id, "B", items(N), CANDIDATE).status_code == 201
    waiting = service.client.get(path(prereg_id, "forest", "svg"))
    assert (waiting.status_code, waiting.json()["code"]) == (409, "verdict_pending")


def test_the_power_of_a_plan_is_the_same_whatever_comes_in(service: Service) -> None:
    pictures = []
    for values in (CANDIDATE, [1 - each for each in CANDIDATE]):
        prereg_id = locked(service.client, small_plan(N))
        before = service.client.get(path(prereg_id, "power"))
        assert before.status_code == 200
        post(service.client, prereg_id, "B", items(N), values)
        after = service.client.get(path(prereg_id, "power"))
        assert (after.content, after.headers["etag"]) == (before.content, before.headers["etag"])
        pictures.append(after.json())
    assert pictures[0] == pictures[1]
    assert rows_of(pictures[0])


def test_pictures_hold_the_numbers_of_the_verdict(service: Service) -> None:
    prereg_id = judged(service)
    verdict = service.client.get(f"/v1/preregistrations/{prereg_id}/verdict").json()
    (hypothesis,) = verdict["hypotheses"]
    analyses = {name: each["analysis"] for name, each in hypothesis["analyses"].items()}
    expected = [
        (each["delta"], each["ci"]["low"], each["ci"]["high"]) for each in analyses.values() if each.get("ci")
    ]
    forest = rows_of(service.client.get(path(prereg_id, "forest")).json())
    assert [(row["delta"], row["low"], row["high"]) for row in forest] == expected
    curve = rows_of(service.client.get(path(prereg_id, "cumulative")).json())
    assert curve[-1]["n"] == hypothesis["n"]
    assert curve[-1]["delta"] == pytest.approx(hypothesis["delta"], abs=1e-12)
    arms = rows_of(service.client.get(path(prereg_id, "arms")).json())
    assert [row["mean"] for row in arms] == [sum(BASELINE) / N, sum(CANDIDATE) / N]
    assert all(row["low"] < row["mean"] < row["high"] for row in arms)
    cells = {
        row["cell"]: row["count"]
        for row in rows_of(service.client.get(path(prereg_id, "discordance")).json())
    }
    pairs = list(zip(BASELINE, CANDIDATE, strict=True))
    assert cells == {
        "both_correct": pairs.count((1, 1)),
        "only_baseline": pairs.count((1, 0)),
        "only_candidate": pairs.count((0, 1)),
        "both_wrong": pairs.count((0, 0)),
    }
    universes = rows_of(service.client.get(path(prereg_id, "multiverse")).json())
    assert [row["delta"] for row in universes] == [hypothesis["delta"]]
    alone = service.client.get(path(prereg_id, "pareto"))
    assert (alone.status_code, alone.json()["code"]) == (409, "no_picture")


def test_a_picture_comes_in_every_form_and_need_not_be_sent_twice(service: Service) -> None:
    prereg_id = judged(service)
    begins = {"svg": b"<svg", "png": b"\x89PNG", "pdf": b"%PDF"}
    for form, begin in begins.items():
        answer = service.client.get(path(prereg_id, "forest", form))
        assert answer.status_code == 200
        assert answer.content.startswith(begin)
        assert answer.headers["cache-control"] == "private, no-cache"
        again = service.client.get(
            path(prereg_id, "forest", form), headers={"If-None-Match": answer.headers["etag"]}
        )
        assert (again.status_code, again.content) == (304, b"")
    chinese = service.client.get(path(prereg_id, "forest", "svg"), params={"lang": "zh", "theme": "dark"})
    assert "差异及其区间" in "".join(ElementTree.fromstring(chinese.content).itertext())


def test_a_picture_is_set_as_a_journal_asks_for_it(service: Service) -> None:
    prereg_id = judged(service)
    paper = {"width": 85, "serif": "true", "mono": "true"}
    svg = service.client.get(path(prereg_id, "forest", "svg"), params=paper)
    root = ElementTree.fromstring(svg.content)
    assert root.get("width") == "85mm"
    assert b"Libertinus Serif" in svg.content
    assert not {b"#0072b2", b"#d55e00"} & set(re.findall(rb"#[0-9a-f]{6}", svg.content))
    pdf = service.client.get(path(prereg_id, "forest", "pdf"), params={"width": 180})
    (wide,) = re.findall(rb"/MediaBox ?\[0 0 ([\d.]+) ", pdf.content)
    assert float(wide) == pytest.approx(180 / 25.4 * 72, abs=0.01)
    screen = service.client.get(path(prereg_id, "forest", "svg"))
    assert len({each.headers["etag"] for each in (svg, pdf, screen)}) == 3
    refused = service.client.get(path(prereg_id, "forest", "svg"), params={"serif": "true"})
    assert (refused.status_code, refused.json()["errors"][0]["path"]) == (422, "query.width")
    assert service.client.get(path(prereg_id, "forest", "svg"), params={"width": 5}).status_code == 422


def test_another_project_other_scopes_and_unknown_pictures(service: Service) -> None:
    prereg_id = judged(service)
    other = bearer(service.key(project_id=service.project("other")))
    poster = bearer(service.key("results:write"))
    for name in ("power", *OF_OUTCOMES):
        assert service.client.get(path(prereg_id, name), headers=other).status_code == 404
        assert service.client.get(path(prereg_id, name), headers=poster).status_code == 403
    assert service.client.get(path(prereg_id, "nothing")).status_code == 404
    assert service.client.get(path(prereg_id, "forest", "exe")).status_code == 404
    wrong = service.client.get(path(prereg_id, "cumulative"), params={"hypothesis": "H9"})
    assert wrong.status_code == 422


def test_every_answer_of_a_test_is_drawn_or_refused_with_a_reason(service: Service) -> None:
    drawn = set()
    for test in registry.latest().values():
        request = test.request.model_validate_json(json.dumps(dict(test.example)))
        answer = json.loads(test.answer(request).model_dump_json(by_alias=True))
        found = service.client.post(f"/v1/charts/{test.name}", json=answer)
        if found.status_code == 200:
            drawn.add(test.name)
            assert rows_of(found.json()), test.name
        else:
            assert (found.status_code, found.json()["code"]) in ((422, "no_picture"), (422, "invalid_data"))
    assert {"mcnemar", "t-test", "cumulative-effect", "power", "type-one-error"} <= drawn
    arms = service.client.post("/v1/charts/t-test", params={"picture": "arms"}, json=answer_of("t-test"))
    assert arms.status_code == 200
    assert [row["mean"] for row in rows_of(arms.json())] == [
        answer_of("t-test")["analysis"][arm]["mean"] for arm in ("baseline", "candidate")
    ]


def answer_of(name: str) -> dict[str, Any]:
    test = registry.find(name)
    request = test.request.model_validate_json(json.dumps(dict(test.example)))
    found: dict[str, Any] = json.loads(test.answer(request).model_dump_json(by_alias=True))
    return found


def test_an_answer_that_no_test_gives_is_refused_field_by_field(service: Service) -> None:
    good = answer_of("mcnemar")
    for spoiled in (
        {**good, "analysis": {**good["analysis"], "delta": "<script>"}},
        {**good, "analysis": {}},
        {**good, "test": "t-test"},
        {**good, "version": 99},
        {**good, "more": 1},
    ):
        refused = service.client.post("/v1/charts/mcnemar", json=spoiled)
        assert refused.status_code in (404, 422)
        assert "<script>" not in refused.text
    assert service.client.post("/v1/charts/nothing", json=good).status_code == 404
    wrong = service.client.post("/v1/charts/mcnemar", params={"picture": "power"}, json=good)
    assert wrong.status_code == 422
