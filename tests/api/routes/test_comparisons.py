"""Comparisons and resolution over HTTP: the same answers as in the shell, and refusals that name the field."""

from __future__ import annotations

import re

import pytest

from service.api.examples.comparisons import PILOT, PUBLISHED, ROWS, SCORED
from service.offline import local

ASKED = {
    "/v1/score": (SCORED, local.score),
    "/v1/compare": (ROWS, local.compare),
    "/v1/resolution": (PILOT, local.resolve),
    "/v1/resolution/published": (PUBLISHED, local.audit),
}


@pytest.fixture
def database_url(sqlite_url):
    return sqlite_url


@pytest.mark.parametrize("path", ASKED)
def test_the_service_answers_what_the_command_computes(client, path):
    body, here = ASKED[path]
    answer = client.post(path, json=body)
    assert (answer.status_code, answer.json()) == (200, here(body)["answer"])


@pytest.mark.parametrize("path", ASKED)
def test_lang_asks_for_chinese_sentences_and_changes_no_number(client, path):
    body, here = ASKED[path]
    english, chinese = client.post(path, json=body).json(), client.post(f"{path}?lang=zh", json=body).json()
    assert chinese == here(body, language="zh")["answer"]
    assert re.search("[\u4e00-\u9fff]", chinese["sentence"])
    assert not re.search("[\u4e00-\u9fff]", english["sentence"])
    assert {name for name in english if english[name] != chinese[name]} <= {
        *("headline", "open", "sentence", "next", "rule", "status", "reasons", "warnings", "slices")
    }
    assert client.post(f"{path}?lang=fr", json=body).status_code == 422


@pytest.mark.parametrize(
    ("path", "change", "named"),
    [
        ("/v1/compare", {"margin": {"value": 2, "unit": "score"}}, "margin"),
        ("/v1/compare", {"margin": {"value": 5e-324, "unit": "pp"}}, "margin"),
        ("/v1/compare", {"baseline": {"item_ids": ["a", "b"], "values": [1e308, 1e308]}}, "baseline.values"),
        ("/v1/compare", {"baseline": {"item_ids": ["a", "a"], "values": [1, 0]}}, "baseline.item_ids"),
        ("/v1/compare", {"candidate": {"item_ids": ["a"], "values": ["1"]}}, "candidate.values[0]"),
        ("/v1/score", {"threshold": 90}, "threshold"),
        ("/v1/score", {"values": [1]}, "values"),
        ("/v1/score", {"item_ids": ["a"] * 24}, "item_ids"),
        ("/v1/score", {"clusters": ["a"] * 24}, "clusters"),
        ("/v1/resolution", {"clusters": ["a"]}, "clusters"),
        ("/v1/resolution/published", {"candidate": 76}, "candidate"),
        ("/v1/resolution/published", {"n": 5}, "n_clusters"),
    ],
)
def test_a_refusal_names_the_field_in_the_service_and_here(client, path, change, named):
    body, here = ASKED[path]
    answer = client.post(path, json={**body, **change})
    assert (answer.status_code, answer.headers["content-type"]) == (422, "application/problem+json")
    assert answer.json()["errors"][0]["path"] == named
    assert here({**body, **change})["problem"]["errors"] == answer.json()["errors"]


def test_a_number_that_json_lacks_is_refused(client):
    text = (
        '{"baseline": {"item_ids": ["a"], "values": [NaN]}, "candidate": {"item_ids": ["a"], "values": [1]}}'
    )
    answer = client.post("/v1/compare", content=text, headers={"Content-Type": "application/json"})
    assert answer.status_code == 400
