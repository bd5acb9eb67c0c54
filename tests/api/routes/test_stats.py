from __future__ import annotations

import gzip
import json
import re
import threading

import pytest
from pydantic import BaseModel, Field, TypeAdapter, ValidationError

from service.api.http.serving.route import make_router
from service.api.parsing.models import validate
from service.api.routes.calculations import stats
from service.errors import ForelockError
from service.offline import local
from service.records import Record
from service.stats.shared.declaring import registry
from service.stats.shared.declaring.common import Analysis, Request
from tests.drawing import mostly_slow

TESTS = list(registry.latest().values())
every_test = pytest.mark.parametrize("test", TESTS, ids=lambda test: test.name)


@pytest.fixture
def database_url(sqlite_url):
    return sqlite_url


def test_the_catalogue_holds_every_test(client):
    items = client.get("/v1/tests").json()["items"]
    assert [item["name"] for item in items] == [test.name for test in TESTS]
    for item in items:
        assert client.get(item["path"]).json()["title"] == item["title"]


@every_test
def test_a_description_has_its_words_and_an_example_that_runs(client, test):
    described = client.get(f"/v1/tests/{test.name}").json()
    assert described["versions"][-1] == described["version"] == test.version
    assert described["model"]
    assert described["sources"]
    assert described["request_schema"]["properties"]
    answer = client.post(f"/v1/tests/{test.name}", json=described["example"])
    assert answer.status_code == 200
    assert answer.json()["test"] == test.name


@every_test
def test_lang_asks_for_chinese_sentences_and_changes_no_number(client, test):
    path, body = f"/v1/tests/{test.name}", dict(test.example)
    english, chinese = client.post(path, json=body).json(), client.post(f"{path}?lang=zh", json=body).json()
    assert chinese == local.run(test.name, body, language="zh")["answer"]
    said = {"headline", "open", "sentence", "reasons", "warnings", "rule", "method"}
    assert all(re.search("[\u4e00-\u9fff]", reason) for reason in chinese["analysis"]["reasons"].values())
    for part in ("analysis", "provenance"):
        assert {name for name in english[part] if english[part][name] != chinese[part][name]} <= said


def test_a_language_that_nobody_speaks_is_refused(client):
    answer = client.post(f"/v1/tests/{TESTS[0].name}?lang=fr", json=dict(TESTS[0].example))
    assert (answer.status_code, answer.json()["errors"][0]["path"]) == (422, "query.lang")


def test_the_command_describes_the_tests_without_a_service_as_the_service_does(client):
    assert local.tests()["answer"]["items"] == client.get("/v1/tests").json()["items"]
    assert local.describe("mcnemar")["answer"] == client.get("/v1/tests/mcnemar").json()
    assert local.describe("chi-square")["problem"]["code"] == "not_found"


@every_test
def test_the_endpoint_answers_what_the_function_computes(client, test):
    request = test.request.model_validate_json(json.dumps(dict(test.example)))
    over_http = client.post(f"/v1/tests/{test.name}", json=dict(test.example)).json()
    assert over_http == json.loads(test.answer(request).model_dump_json())
    assert client.post(f"/v1/tests/{test.name}", json=dict(test.example)).json() == over_http


@pytest.mark.parametrize("method", ["GET", "POST"])
def test_an_unknown_test_is_404_and_names_those_there_are(client, method):
    response = client.request(method, "/v1/tests/chi-square")
    assert response.status_code == 404
    assert "mcnemar" in response.json()["detail"]


def test_faults_found_by_the_test_itself_name_the_field(client):
    response = client.post("/v1/tests/mcnemar", json={"baseline": [1, 0], "candidate": [1]})
    assert response.status_code == 422
    assert [error["path"] for error in response.json()["errors"]] == ["candidate"]


def test_a_column_of_wrong_values_is_refused_at_its_first(client):
    response = client.post("/v1/tests/mcnemar", json={"baseline": ["x"] * 5000, "candidate": [1] * 5000})
    assert [error["path"] for error in response.json()["errors"]] == ["baseline[0]"]


class Empty(Request):
    """Nothing."""


class Nothing(Analysis):
    """A number."""

    value: float = Field(description="A number.")


def throw_away(seen):
    """A test in closed form that notes the thread it ran in."""

    def compute_it(_request: Empty) -> Nothing:
        seen.append(threading.current_thread().name)
        return Nothing(sentence="ran", value=1.0)

    return registry.StatTest(
        asked="pairs",
        name="throw-away",
        version=1,
        title="Throw-away",
        request=Empty,
        analysis=Nothing,
        compute=compute_it,
        example={},
        cost=lambda _request: 0.001,
        plan=None,
        closed_form=True,
    )


def test_what_is_small_for_certain_runs_on_the_event_loop(app, client):
    seen = []
    added = make_router("tests", prefix="/more")
    stats.add_test(added, throw_away(seen))
    app.router.routes.extend(added.routes)
    assert client.post("/more/tests/throw-away", json={}).json()["analysis"]["value"] == 1.0
    assert not seen[0].startswith("AnyIO worker thread")


@every_test
@pytest.mark.parametrize(
    "body",
    mostly_slow([b"{", b'{"no": 1}', b" " * 20_000 + b"{", gzip.compress(b"{" * 50_000, mtime=0)], 2),
    ids=["not JSON", "another field", "large", "compressed"],
)
def test_what_is_read_elsewhere_is_refused_in_the_same_words(client, test, body):
    headers = {"Content-Type": "application/json"} | (
        {"Content-Encoding": "gzip"} if body[:1] == b"\x1f" else {}
    )
    answer = client.post(f"/v1/tests/{test.name}", content=body, headers=headers)
    plain = gzip.decompress(body) if body[:1] == b"\x1f" else body
    with pytest.raises(ForelockError) as refused:
        validate(TypeAdapter(test.request), plain)
    assert answer.status_code == refused.value.status
    assert {**answer.json(), "title": ""} == {
        **json.loads(json.dumps(refused.value.document())),
        "title": "",
    }


def test_a_new_test_brings_its_own_operations(app, client):
    added = make_router("tests", prefix="/more")
    stats.add_test(added, throw_away([]))
    app.router.routes.extend(added.routes)
    assert client.get("/more/tests/throw-away").json()["title"] == "Throw-away"
    assert [route.operation_id for route in added.routes] == ["describeThrowAway", "runThrowAway"]


def models(model, seen=None):
    """The model and every model in its fields."""
    seen = {} if seen is None else seen
    pending = [model]
    while pending:
        kind = pending.pop()
        if isinstance(kind, type) and issubclass(kind, BaseModel):
            if kind not in seen:
                seen[kind] = True
                pending += [field.annotation for field in kind.model_fields.values()]
        else:
            pending += getattr(kind, "__args__", ())
    return seen


@every_test
def test_no_part_of_an_analysis_can_hold_a_nan(test):
    for part in models(test.analysis):
        assert part.model_config.get("allow_inf_nan") is False, part


def test_a_nan_in_an_analysis_is_refused_and_not_a_null(app, client):
    class Interval2(Record):
        low: float | None

    with pytest.raises(ValidationError):
        Interval2(low=float("nan"))

    def broken(_request: Empty) -> Nothing:
        return Nothing(sentence="broken", value=float("inf") - float("inf"))

    added = make_router("tests", prefix="/more")
    test = throw_away([])
    object.__setattr__(test, "compute", broken)
    stats.add_test(added, test)
    app.router.routes.extend(added.routes)
    response = client.post("/more/tests/throw-away", json={})
    assert (response.status_code, response.json()["code"]) == (422, "not_computable")
