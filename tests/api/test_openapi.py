from __future__ import annotations

import json
import re
from collections import Counter

import pytest
from jsonschema_rs import validator_for

from service.api import openapi
from service.api.http.serving.route import Route
from service.app import routes
from tests.every_route import COMMITTED, DOCUMENT

OPERATIONS = [
    pytest.param(path, method, operation, id=operation["operationId"])
    for path, operations in DOCUMENT["paths"].items()
    for method, operation in operations.items()
]
REFERENCE = re.compile(r'"#/components/schemas/([^"]+)"')
each_operation = pytest.mark.parametrize(("path", "method", "operation"), OPERATIONS)


@pytest.fixture
def database_url(sqlite_url):
    return sqlite_url


def test_operation_ids_are_unique():
    ids = [parameter.values[2]["operationId"] for parameter in OPERATIONS]
    assert len(set(ids)) == len(ids)


@each_operation
def test_an_operation_says_what_it_is(path, method, operation):
    assert operation["operationId"].isalnum()
    assert operation["summary"]
    assert not operation["summary"].endswith(".")
    assert operation["description"]
    (tag,) = operation["tags"]
    assert tag in {tag["name"] for tag in DOCUMENT["tags"]}


@each_operation
def test_an_operation_lists_its_problems(path, method, operation):
    found = {int(status) for status in operation["responses"]}
    assert {422, 500} <= found
    assert {status for status in found if status < 400}
    assert "default" not in operation["responses"]
    if operation["security"]:
        assert {401, 503} <= found
    if any(scopes["bearer"] for scopes in operation["security"]):
        assert 403 in found
    if "{" in path:
        assert 404 in found
    if "requestBody" in operation:
        assert {400, 413, 415} <= found
    for status, response in operation["responses"].items():
        if status >= "400":
            named = DOCUMENT["components"]["responses"][response["$ref"].rsplit("/", 1)[1]]
            assert list(named["content"]) == ["application/problem+json"]


def with_its_parts(schema):
    """A schema with those components that it refers to over any number of steps: all are a validator of a second."""
    parts, waiting = {}, {*REFERENCE.findall(json.dumps(schema))}
    while waiting:
        name = waiting.pop()
        parts[name] = DOCUMENT["components"]["schemas"][name]
        waiting |= {*REFERENCE.findall(json.dumps(parts[name]))} - parts.keys()
    return {**schema, "components": {"schemas": parts}}


@each_operation
def test_an_operation_has_an_example_that_fits_its_schema(path, method, operation):
    examples: list[object] = []
    bodies = [operation.get("requestBody", {}), *operation["responses"].values()]
    for media in (media for body in bodies for media in body.get("content", {}).values()):
        if media.get("schema", {}).get("format") == "binary":
            examples.append("a file")  # shown by its own page of the docs
        if "example" in media:
            examples.append(media["example"])
            validator_for(with_its_parts(media["schema"])).validate(media["example"])
    assert examples or list(operation["responses"]).count("204"), (
        "show an example of the body or of the answer"
    )


@each_operation
def test_a_body_is_described_by_a_schema(path, method, operation):
    for media_type, media in operation.get("requestBody", {}).get("content", {}).items():
        assert media["schema"] not in ({}, {"type": "null"}), media_type


def test_no_schema_is_unused_or_missing():
    text = json.dumps(DOCUMENT)
    for name in DOCUMENT["components"]["schemas"]:
        assert f'"#/components/schemas/{name}"' in text
    for reference in set(openapi._REFERENCE.findall(text)):
        assert reference in DOCUMENT["components"]["schemas"]


def test_no_route_leaves_its_body_to_the_lenient_parser():
    def lenient(body: dict[str, int]) -> None:
        pass

    with pytest.raises(TypeError, match="StrictBody"):
        Route("/lenient", lenient, methods=["POST"])
    for route in routes():
        if isinstance(route, Route) and route.body_field is not None:
            assert route.body_doc is not None


def test_the_committed_document_is_served_with_a_tag(anonymous):
    response = anonymous.get("/openapi.json")
    assert response.text == COMMITTED.read_text("utf-8"), "run ./do openapi"
    again = anonymous.get("/openapi.json", headers={"If-None-Match": response.headers["etag"]})
    assert again.status_code == 304


def test_generators_of_clients_find_no_title_twice_and_no_answer_that_they_do_not_know(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """One that meets either leaves out every operation that has to do with it."""
    # The committed document is what is made of the routes, as the test before this one says.
    monkeypatch.setattr(openapi, "make_document", lambda _routes: json.loads(COMMITTED.read_text("utf-8")))
    document = json.loads(openapi.format_json_only(()))
    titles = Counter(
        schema["title"] for schema in document["components"]["schemas"].values() if "title" in schema
    )
    assert [title for title, times in titles.items() if times > 1] == []
    known = re.compile(r"text/.*|application/(json|octet-stream|.*\+json)")
    answers = [
        answer.get("content", {})
        for operations in document["paths"].values()
        for operation in operations.values()
        for answer in operation["responses"].values()
    ]
    assert {name for content in answers for name in content if not known.fullmatch(name)} == set()
    assert any("application/octet-stream" in content for content in answers)
