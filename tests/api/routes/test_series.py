"""Series over HTTP: what a run is answered, that it comes once, and whose it is."""

from __future__ import annotations

import numpy as np

from service.domain import series
from service.stats.shared.methods import run_series
from service.store.projects import series as store

ITEMS = [f"q{number:03}" for number in range(120)]
RNG = np.random.default_rng(7)
SHARES = RNG.beta(0.8, 0.5, len(ITEMS))


def run(name, drop=0.0, **more):
    rng = np.random.default_rng(sum(map(ord, name)))
    values = (rng.random(len(ITEMS)) < SHARES * (1 - drop)).astype(int).tolist()
    return {"name": name, "item_ids": ITEMS, "values": values, **more}


def post(client, body, series="nightly", **more):
    answer = client.post(f"/v1/series/{series}/points", json=body, **more)
    assert answer.status_code == 201, answer.text
    return answer.json()


def test_a_drop_is_told_when_it_is_shown_and_a_new_reference_begins_anew(client):
    first = post(client, run("n0", settings={"false_alarm_every": 200}))
    assert (first["outcome"], first["e_value"], first["n_runs"]) == ("no_drop_shown", None, 1)
    for name in ("n1", "n2", "n3", "n4"):
        state = post(client, run(name))
    assert state["outcome"] == "no_drop_shown"
    for name in ("d1", "d2", "d3"):
        state = post(client, run(name, drop=0.6))
    assert (state["outcome"], state["since"]) == ("dropped", "d1")
    assert state["headline"].startswith("Dropped since about run 'd1', shown at run 'd")
    assert state["open"].startswith("Not shown: how large the drop is")
    assert "Dropped since about run 'd1'" in state["sentence"]
    # runs that move all items break the promise, so an alarm does not lay the drop to the system
    assert "Nor that it is the system's: a swing that moves all items" in state["open"]
    chinese = client.get("/v1/series/nightly?lang=zh").json()
    assert chinese["headline"].startswith("大约自运行“d1”起下降")
    assert post(client, run("d3", drop=0.6), params={"lang": "zh"}) == {**chinese, "runs": state["runs"]}
    assert [each["name"] for each in state["runs"]] == ["d3"]
    whole = client.get("/v1/series/nightly").json()
    assert [each["name"] for each in whole["runs"]] == ["n0", "n1", "n2", "n3", "n4", "d1", "d2", "d3"]
    assert whole | {"runs": []} == state | {"runs": []}
    anew = post(client, run("d4", drop=0.4, reference=True))
    assert (anew["outcome"], anew["period"], anew["n_runs"]) == ("no_drop_shown", 2, 1)
    assert client.get("/v1/series").json()["items"][0]["name"] == "nightly"


def test_a_page_of_series_looks_at_a_bounded_number_of_runs(client, monkeypatch):
    for name in ("a", "b", "c", "d"):
        for number in range(3):
            post(client, run(f"n{number}"), series=name)
    post(client, run("anew", reference=True), series="b")  # one run since its reference
    monkeypatch.setattr(store, "MOST_LOOKED_AT", 4)
    pages, cursor = [], ""
    while cursor is not None:
        page = client.get("/v1/series" + (f"?cursor={cursor}" if cursor else "")).json()
        pages.append([each["name"] for each in page["items"]])
        cursor = page["next_cursor"]
    # what a page may look at holds series d, then c with the one run of b, then a
    assert pages == [["d"], ["c", "b"], ["a"]]
    monkeypatch.setattr(store, "MOST_LOOKED_AT", 1)
    assert [each["name"] for each in client.get("/v1/series").json()["items"]] == ["d"]


def test_the_answer_is_that_of_the_test_on_all_runs(client):
    bodies = [run("a", reference=True), run("b", reference=True), run("c"), run("d", drop=0.2)]
    for body in bodies:
        state = post(client, body)
    stateless = client.post(
        "/v1/tests/run-series",
        json={"runs": [body["values"] for body in bodies], "n_reference": 2, "names": ["a", "b", "c", "d"]},
    ).json()["analysis"]
    assert state["e_value"] == stateless["e_value"]
    assert state["sentence"] == stateless["sentence"]
    assert state["runs"][0]["standing"] | {"run": "d"} == stateless["runs"][-1]


def test_a_series_that_was_begun_before_nights_could_vary_is_judged_as_it_was(client):
    begun = post(client, run("a"))
    assert begun["settings"]["nights"] == "vary"
    row = {"id": "s", "name": "old", "settings": '{"better":"higher"}', "created_at": "2027-01-04T06:00:00Z"}
    assert store._read(row).settings.nights == "alike"


def test_a_run_comes_once_and_stays_as_it_came(client):
    post(client, run("a"))
    state = post(client, run("b"))
    assert post(client, run("b")) == state
    other = client.post("/v1/series/nightly/points", json=run("b", drop=0.5))
    assert (other.status_code, other.json()["code"]) == (409, "run_differs")
    settings = client.post("/v1/series/nightly/points", json=run("c", settings={"better": "lower"}))
    assert (settings.status_code, settings.json()["code"]) == (409, "settings_differ")
    assert client.get("/v1/series/nightly").json()["n_runs"] == 2


def test_what_is_no_run_is_refused_with_its_way_out(client):
    for change, path in (
        ({"values": [1]}, "values"),
        ({"item_ids": ["x"] * len(ITEMS)}, "item_ids"),
        ({"values": [None] * len(ITEMS)}, "values"),
        ({"clusters": ["one"] * len(ITEMS)}, None),
    ):
        answer = client.post("/v1/series/s/points", json=run("a") | change)
        assert answer.status_code == (422 if path else 201), answer.text
        if path:
            assert answer.json()["errors"][0]["path"].startswith(path)
    unclustered = client.post("/v1/series/s/points", json=run("b"))
    assert unclustered.json()["errors"][0]["path"] == "clusters"
    margin = run("a", settings={"margin": {"value": 1, "unit": "score"}})
    assert client.post("/v1/series/t/points", json=margin).json()["errors"][0]["path"] == "settings.margin"


def test_items_that_come_and_go_are_compared_on_the_common_ones(client):
    post(client, run("a"))
    fewer = run("b")
    fewer = {**fewer, "item_ids": [*ITEMS[20:], "new"], "values": [*fewer["values"][20:], 1]}
    state = post(client, fewer)
    assert [each["code"] for each in state["warnings"]] == ["RUN_INCOMPLETE"]
    assert (state["runs"][0]["standing"]["n"], state["runs"][0]["standing"]["n_missing"]) == (100, 20)


def test_a_series_is_its_projects_and_needs_its_scopes(client, key_with, new_project):
    post(client, run("a"))
    reads, posts = key_with("read"), key_with("results:write")
    assert client.get("/v1/series/nightly", headers=reads).status_code == 200
    assert client.post("/v1/series/nightly/points", json=run("b"), headers=reads).status_code == 403
    assert client.get("/v1/series/nightly", headers=posts).status_code == 403
    assert client.get("/v1/series/other").status_code == 404
    stranger = key_with("read", "results:write", project_id=new_project("elsewhere"))
    assert client.get("/v1/series/nightly", headers=stranger).status_code == 404
    assert client.get("/v1/series", headers=stranger).json()["items"] == []
    theirs = client.post("/v1/series/nightly/points", json=run("b"), headers=stranger).json()
    assert (theirs["n_runs"], client.get("/v1/series/nightly").json()["n_runs"]) == (1, 1)


def test_a_run_is_judged_beside_the_api(client, monkeypatch):
    """Judging the largest takes seconds, in which nobody else would be answered."""
    post(client, run("a"))
    monkeypatch.setattr(run_series.Runs, "stand", None)
    assert post(client, run("b"))["n_runs"] == 2


def test_runs_that_share_no_names_come_to_an_end(client, monkeypatch):
    monkeypatch.setattr(series, "MOST_TEXT", 5_000)
    monkeypatch.setattr(store, "MOST_TEXT", 5_000)
    for letter in "abc":
        body = {
            "name": letter,
            "item_ids": [letter * 500 + str(at) for at in range(4)],
            "values": [1, 0, 1, 1],
        }
        answer = client.post("/v1/series/wide/points", json=body)
    assert (answer.status_code, answer.json()["code"]) == (409, "series_full")
    assert client.get("/v1/series/wide").json()["n_runs"] == 2


def test_a_series_can_be_read_again_under_its_name(client):
    for name in ("%2E%2E", ".%2E", "%20", "a%20", "a%0Ab", "%E2%80%AE", "%ED%A0%80"):
        answer = client.post(f"/v1/series/{name}/points", json=run("a"))
        assert (answer.status_code, answer.json()["errors"][0]["path"]) == (422, "path.name"), name
    post(client, run("a"), "%E5%A4%9C%20%3F%23")
    assert client.get("/v1/series/%E5%A4%9C%20%3F%23").json()["name"] == "夜 ?#"
    assert [each["name"] for each in client.get("/v1/series").json()["items"]] == ["夜 ?#"]
