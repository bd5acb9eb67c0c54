from __future__ import annotations

import pytest
from fastapi import Request
from starlette.responses import Response

from service.api.http.requests.deps import OptionalIfMatch, RequiredIfMatch, answer_not_modified
from service.api.http.serving.route import Route

ETAG = '"7"'


@pytest.fixture
def database_url(sqlite_url):
    return sqlite_url


@pytest.fixture
def guarded(app, client):
    """Answers the status of a guarded write for an `If-Match`."""

    def required(if_match: RequiredIfMatch) -> None:
        if_match.check(ETAG)

    def optional(if_match: OptionalIfMatch) -> None:
        if_match.check(ETAG)

    app.router.routes.append(Route("/required", required, methods=["PUT"]))
    app.router.routes.append(Route("/optional", optional, methods=["PUT"]))

    def put(path, value=None):
        response = client.put(path, headers={} if value is None else {"If-Match": value})
        return response.status_code, response.json() and response.json()["code"]

    return put


@pytest.mark.parametrize("value", ['"7"', "*", ' "7" ', '"6", "7"', '"6","7" ,"8"', 'W/"6", "7"'])
def test_a_matching_tag_lets_the_write_through(guarded, value):
    assert guarded("/required", value) == (200, None)


@pytest.mark.parametrize("value", ['"6"', 'W/"7"', '""', '"6", W/"7"'])
def test_another_tag_or_a_weak_one_is_412(guarded, value):
    assert guarded("/required", value) == (412, "precondition_failed")


@pytest.mark.parametrize(
    "value", ["7", '"7', "w/7", "", '"6" "7"', "*, *", '"7"x', '"7 "', '"7" junk "7"', '"a,b", "7"']
)
def test_what_is_no_tag_is_422(guarded, value):
    assert guarded("/required", value) == (422, "invalid_data")


def test_a_missing_tag_is_428_where_it_is_required(guarded):
    assert guarded("/required") == (428, "precondition_required")
    assert guarded("/optional") == (200, None)
    assert guarded("/optional", '"6"') == (412, "precondition_failed")


@pytest.mark.parametrize(
    ("sent", "status"),
    [('"7"', 304), ('W/"7"', 304), ('"6", "7"', 304), ("*", 304), ('"6"', 200), (None, 200)],
)
def test_a_known_tag_is_304(app, client, sent, status):
    def read(request: Request) -> Response:
        return answer_not_modified(request, ETAG) or Response("full", headers={"ETag": ETAG})

    app.router.routes.append(Route("/record", read, response_model=None))
    response = client.get("/record", headers={} if sent is None else {"If-None-Match": sent})
    assert response.status_code == status
    assert response.headers["etag"] == ETAG
    assert response.content == (b"" if status == 304 else b"full")
    assert response.headers["cache-control"] == "private, no-cache"
