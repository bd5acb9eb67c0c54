"""Groups that the ID token does not carry are asked of userinfo; what every common provider says is read."""

from __future__ import annotations

import json
import logging
from pathlib import Path
from typing import Any

import pytest

from service.operation.sign_in import GroupsElsewhere, read_groups
from tests.openid import ACCESS, OpenIDProvider
from tests.web.sign_in.way import come_back, enters, is_in, key_of

PROVIDERS = sorted((Path(__file__).parent / "providers").glob("*.json"))


def asked_of_userinfo(provider: OpenIDProvider) -> int:
    return sum(asked.path == "/userinfo" for asked in provider.loopback.requests)


def test_groups_come_from_userinfo_where_the_token_has_none(visitor, provider, database, project):
    del provider.person["groups"]
    provider.info = {"groups": ["evals"]}
    assert enters(come_back(visitor, provider))
    (key,) = key_of(database, project.id)
    assert (key.name, key.scopes) == ("ada", ("tests:run", "read"))
    assert asked_of_userinfo(provider) == 1


@pytest.mark.parametrize("groups", [[], ["strangers"], 7])
def test_a_token_that_has_the_claim_has_the_last_word(visitor, provider, groups):
    provider.person["groups"] = groups
    provider.info = {"groups": ["evals"]}
    assert come_back(visitor, provider).status_code == 403
    assert asked_of_userinfo(provider) == 0


def test_groups_of_somebody_else_are_not_lent(visitor, provider, database, project):
    del provider.person["groups"]
    for sub in ("eve-2", None, "", 7, ["ada-1"]):
        provider.info = {"sub": sub, "groups": ["evals"]}
        assert come_back(visitor, provider).status_code == 502
        assert not is_in(visitor)
    assert key_of(database, project.id) == []


def test_userinfo_that_cannot_be_used_let_nobody_in(visitor, provider, caplog):
    del provider.person["groups"]
    provider.info = {"groups": ["evals"]}
    caplog.set_level(logging.WARNING, "forelock.sign_in")
    for reply, says in (
        ((401, {}, b"{}"), "answers 401"),
        ((500, {}, b""), "answers 500"),
        ((302, {"Location": "http://evil.test/"}, b""), "points elsewhere"),
        ((200, {"Content-Type": "application/jwt"}, b"e30.e30."), "answer userinfo as JSON"),
        ((200, {}, b"[]"), "no JSON object"),
        ((200, {}, b'{"sub": "ada-1", "groups": "' + b"x" * 300_000 + b'"}'), "more than"),
    ):
        provider.info_answer = reply
        answer = come_back(visitor, provider)
        assert answer.status_code == 502, says
        assert says in caplog.messages[-1]
    assert ACCESS not in caplog.text


def test_an_address_that_may_not_be_called_is_none(serve, provider):
    provider.info, provider.metadata = {}, {"userinfo_endpoint": "http://10.0.0.1/userinfo"}
    del provider.person["groups"]
    answer = serve().get("/login/provider")
    assert (answer.status_code, asked_of_userinfo(provider)) == (502, 0)


def test_a_reference_to_groups_is_refused_with_the_way_out(visitor, provider, database, project, caplog):
    del provider.person["groups"]
    provider.claims = {
        "_claim_names": {"groups": "src1"},
        "_claim_sources": {"src1": {"endpoint": "https://g"}},
    }
    provider.info = {"groups": ["evals"]}
    caplog.set_level(logging.WARNING, "forelock.sign_in")
    answer = come_back(visitor, provider)
    assert answer.status_code == 403
    assert "only the groups that are assigned to this application" in answer.text
    assert "assigned to the application" in caplog.messages[-1]
    assert key_of(database, project.id) == []
    assert asked_of_userinfo(provider) == 0


@pytest.mark.parametrize("path", PROVIDERS, ids=lambda path: path.stem)
def test_what_providers_say_is_read(path: Path) -> None:
    said: dict[str, Any] = json.loads(path.read_text())

    def read() -> list[str] | None:
        groups = read_groups(said["id_token"], said["claim"])
        return read_groups(said["userinfo"], said["claim"]) if groups is None else groups

    if said["groups"] is None:
        with pytest.raises(GroupsElsewhere):
            read()
    else:
        assert read() == said["groups"]


def test_a_name_with_dots_is_a_name_before_it_is_a_path() -> None:
    claims = {"a.b": "named", "a": {"b": "along"}, "https://example.org/roles": ["x", 1]}
    assert read_groups(claims, "a.b") == ["named"]
    assert read_groups({"a": claims["a"]}, "a.b") == ["along"]
    assert read_groups(claims, "https://example.org/roles") == ["x"]
    for name in ("a.b.c", "a.c", "c", "a..b"):
        assert read_groups({"a": claims["a"]}, name) is None
