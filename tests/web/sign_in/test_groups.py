"""Who gets into what: groups of the provider open projects, and close them."""

from __future__ import annotations

from typing import Any

import pytest

from service.store.projects import audit
from service.web.visitors.single_sign_on import START
from tests.web.outline import Outline
from tests.web.sign_in.way import come_back, enters, is_in, key_of


@pytest.mark.parametrize(
    "groups", [None, [], ["strangers"], ["EVALS"], ["evals "], ["posters"], {"evals": True}, 7, [["evals"]]]
)
def test_an_unknown_group_opens_nothing(visitor, provider, database, project, groups):
    provider.person["groups"] = groups
    assert come_back(visitor, provider).status_code == 403
    assert not is_in(visitor)
    assert key_of(database, project.id) == []


def test_groups_of_one_project_add_up(visitor, provider, database, project):
    provider.person["groups"] = ["posters", "leads", "strangers", "evals"]
    assert enters(come_back(visitor, provider))
    (key,) = key_of(database, project.id)
    assert key.scopes == ("tests:run", "plans:lock", "results:write", "read", "admin")
    assert visitor.get("/keys").status_code == 200


def test_the_claim_of_groups_has_the_name_that_is_set(serve, provider):
    provider.person |= {"groups": ["strangers"], "https://example.org/roles": "evals"}
    assert enters(come_back(serve(oidc_groups_claim="https://example.org/roles"), provider))


def options(answer: Any) -> dict[str, str]:
    page = Outline(answer.text)
    return {button["value"]: button["name"] for button in page.all("button") if "value" in button}


def test_somebody_of_two_projects_chooses_one(visitor, provider, database, project, others):
    provider.person["groups"] = ["evals", "others"]
    answer = come_back(visitor, provider, "/series")
    assert answer.status_code == 200
    assert not is_in(visitor)
    values = list(options(answer))
    assert len(values) == 2
    entered = visitor.post(f"{START}/project", data={"project": values[1]})
    assert (entered.status_code, entered.headers["location"]) == (303, "/series")
    assert is_in(visitor)
    assert [len(key_of(database, of)) for of in (project.id, others)] == [1, 1]
    assert visitor.post(f"{START}/project", data={"project": values[0]}).status_code == 400  # chosen already


def test_a_choice_is_good_for_its_own_browser_and_from_our_page(serve, provider):
    ada, eve = serve(), serve()
    provider.person["groups"] = ["evals", "others"]
    values = list(options(come_back(ada, provider)))
    for value in (*values, "", "x.y"):
        assert eve.post(f"{START}/project", data={"project": value}).status_code == 400
    provider.person = {"sub": "eve-2", "preferred_username": "eve", "groups": ["evals", "others"]}
    come_back(eve, provider)
    assert eve.post(f"{START}/project", data={"project": values[0]}).status_code == 400
    assert not is_in(eve)
    headers = {"Sec-Fetch-Site": "cross-site"}
    assert ada.post(f"{START}/project", data={"project": values[0]}, headers=headers).status_code == 403
    assert not is_in(ada)


def test_the_same_person_has_one_key_and_another_has_another(visitor, provider, database, project):
    for _ in range(3):
        assert enters(come_back(visitor, provider))
    assert len(key_of(database, project.id)) == 1
    provider.person["sub"] = "ada-2"
    assert enters(come_back(visitor, provider))
    first, second = key_of(database, project.id)
    assert first.id.rpartition("-")[0] != second.id.rpartition("-")[0]


def test_other_groups_are_another_key_that_the_one_before_made(serve, visitor, provider, database, project):
    assert enters(come_back(visitor, provider))
    provider.person["groups"] = ["leads"]
    later = serve()
    assert enters(come_back(later, provider))
    assert not is_in(visitor)  # with the groups of before
    new, old = sorted(key_of(database, project.id), key=lambda key: key.id, reverse=True)
    assert (new.created_by, old.revoked_at is None, new.revoked_at) == (old.id, False, None)


def test_whoever_left_the_groups_is_out_everywhere(serve, visitor, provider, database, project):
    assert enters(come_back(visitor, provider))
    provider.person["groups"] = []
    assert come_back(serve(), provider).status_code == 403
    assert not is_in(visitor)
    provider.person["groups"] = ["evals"]
    assert enters(come_back(visitor, provider))
    assert len(key_of(database, project.id)) == 2


def test_signing_out_ends_the_session_alone(serve, provider):
    here, there = serve(), serve()
    assert enters(come_back(here, provider))
    assert enters(come_back(there, provider))
    cookie = here.cookies["forelock_session"]
    here.post("/logout")
    copied = here.get("/preregistrations", headers={"Cookie": f"forelock_session={cookie}"})
    assert copied.status_code == 303
    assert is_in(there)


def test_nobody_can_call_with_the_key_of_a_sign_in(visitor, provider, database, project):
    assert enters(come_back(visitor, provider))
    (key,) = key_of(database, project.id)
    assert key.prefix == "(sign-in)"
    for secret in (key.id, key.prefix, visitor.cookies["forelock_session"]):
        answer = visitor.get("/v1/preregistrations", headers={"Authorization": f"Bearer {secret}"})
        assert answer.status_code == 401


def test_the_log_tells_who_came_and_by_what(visitor, provider, database, project):
    assert enters(come_back(visitor, provider))
    visitor.app.state.services.reads.write(everything=True)
    with database.read() as session:
        events = audit.read_page(session, project.id)[0]
    assert [(event.action, event.key_name) for event in events] == [
        ("session.begin", "ada"), ("key.create", "ada"),
    ]  # fmt: skip
    assert events[1].facts == {"kind": "person", "scopes": ["tests:run", "read"], "by": "sign-in"}


@pytest.mark.parametrize("name", ["\u202eadmin", "a\nb", " ", 7])
def test_names_that_are_no_names_are_passed_over(visitor, provider, database, project, name):
    provider.person["preferred_username"] = name
    assert enters(come_back(visitor, provider))
    assert key_of(database, project.id)[0].name == "ada-1"
