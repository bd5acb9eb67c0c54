"""What a browser brings back gets it in once, if it is what this browser was sent for."""

from __future__ import annotations

from urllib.parse import parse_qs, urlsplit

import pytest

from service.web.visitors.single_sign_on import CALLBACK, COOKIE, START
from tests.web.outline import Outline
from tests.web.sign_in.way import begin, come_back, enters, is_in, key_of, leads_to


@pytest.mark.parametrize("algorithm", ["RS256", "ES256"])
def test_a_member_of_a_group_gets_into_its_project(visitor, provider, database, project, algorithm):
    provider.algorithm = algorithm
    answer = come_back(visitor, provider, "/series")
    assert enters(answer)
    assert leads_to(answer) == "/series"
    assert is_in(visitor)
    (key,) = key_of(database, project.id)
    assert (key.name, key.kind, key.scopes, key.created_by) == ("ada", "person", ("tests:run", "read"), None)
    assert visitor.get("/keys").status_code == 403  # an admin's


def test_the_login_page_offers_it_beside_keys(visitor, provider, new_key):
    page = Outline(visitor.get("/login", params={"next": "/series"}).text)
    (link,) = [line for line in page.all("a") if line["href"].startswith(START)]
    assert link["href"] == f"{START}?next=%2Fseries"
    _key, secret = new_key("read")
    assert visitor.post("/login", data={"key": secret}).status_code == 303


def test_without_a_provider_there_is_nothing(browser):
    assert START not in browser.get("/login").text
    assert [browser.get(path).status_code for path in (START, CALLBACK)] == [404, 404]


def test_a_public_client_needs_no_secret(serve, provider):
    provider.secret = None
    assert enters(come_back(serve(oidc_client_secret_file=None), provider))


def test_a_provider_that_takes_the_secret_in_the_body_gets_it_there(visitor, provider):
    provider.metadata = {"token_endpoint_auth_methods_supported": ["client_secret_post"]}
    assert enters(come_back(visitor, provider))


def test_the_cookies_are_closed_to_scripts_and_the_session_to_other_sites(visitor, provider):
    answer = visitor.get(START)
    assert "HttpOnly" in answer.headers["set-cookie"]
    assert "SameSite=lax" in answer.headers["set-cookie"]
    asked = parse_qs(urlsplit(answer.headers["location"]).query)
    for name in ("state", "nonce"):
        assert asked[name][0] not in answer.headers["set-cookie"]
    back = visitor.get(provider.authorize(answer.headers["location"]))
    (session,) = [line for line in back.headers.get_list("set-cookie") if line.startswith("forelock_session")]
    assert "SameSite=strict" in session
    assert "HttpOnly" in session


@pytest.mark.parametrize(
    "elsewhere",
    ["https://evil.test/", "//evil.test", "/\\evil.test", "/v1/keys", "javascript:alert(1)", "/login", ""],
)
def test_signing_in_leads_nowhere_else(visitor, provider, elsewhere):
    assert leads_to(come_back(visitor, provider, elsewhere)) == "/preregistrations"


def test_a_code_is_good_once(visitor, provider):
    back = provider.authorize(begin(visitor))
    cookie = visitor.cookies[COOKIE]
    assert enters(visitor.get(back))
    visitor.cookies.clear()
    again = visitor.get(back, headers={"Cookie": f"{COOKIE}={cookie}"})
    assert again.status_code == 400
    assert not enters(again)
    assert len([asked for asked in provider.loopback.requests if asked.path == "/token"]) == 1
    # none of the provider's
    stolen = visitor.get(provider.authorize(begin(visitor)).replace("code=", "code=x"))
    assert stolen.status_code == 502


def test_an_answer_that_another_browser_was_given_leads_nowhere(serve, provider):
    ada, eve = serve(), serve()
    hers = provider.authorize(begin(eve))
    assert ada.get(hers).status_code == 400  # no attempt of her own
    begin(ada)
    assert ada.get(hers).status_code == 400  # another one
    assert not is_in(ada)
    mine = begin(ada)
    code = parse_qs(urlsplit(hers).query)["code"][0]
    mixed = (
        provider.authorize(mine).partition("?")[0]
        + f"?code={code}&state={parse_qs(urlsplit(mine).query)['state'][0]}"
    )
    assert ada.get(mixed).status_code == 502  # the verifier is not that of the code
    assert not is_in(ada)


@pytest.mark.parametrize("change", ["", "state=", "state=%C3%A9", "state=0000"])
def test_a_changed_state_is_refused(visitor, provider, change):
    address = provider.authorize(begin(visitor)).partition("state=")[0]
    answer = visitor.get(address + change)
    assert answer.status_code == 400
    assert [asked.path for asked in provider.loopback.requests] == ["/.well-known/openid-configuration"]


@pytest.mark.parametrize("cookie", ["", "x", "a.b", "e30=." + "0" * 64, "é"])
def test_a_made_up_cookie_is_refused(visitor, provider, cookie):
    back = provider.authorize(begin(visitor))
    visitor.cookies.clear()
    headers = {"Cookie": f"{COOKIE}={cookie}".encode()}
    assert visitor.get(back, headers=headers).status_code == 400


def test_a_session_is_no_attempt(visitor, provider):
    """What is signed for one purpose is not taken for another."""
    assert enters(come_back(visitor, provider))
    back = provider.authorize(begin(visitor))
    session = visitor.cookies["forelock_session"]
    visitor.cookies.clear()
    assert visitor.get(back, headers={"Cookie": f"{COOKIE}={session}"}).status_code == 400


def test_the_answer_of_another_provider_is_refused(visitor, provider):
    provider.answers = {"iss": "https://evil.test"}
    assert come_back(visitor, provider).status_code == 400
    provider.answers = {"iss": provider.issuer}
    assert enters(come_back(visitor, provider))


def test_a_provider_that_names_itself_always_does(visitor, provider):
    provider.metadata = {"authorization_response_iss_parameter_supported": True}
    assert come_back(visitor, provider).status_code == 400


def test_what_the_provider_says_of_a_refusal_is_not_repeated(visitor, provider):
    location = begin(visitor)
    state = parse_qs(urlsplit(location).query)["state"][0]
    params = {"error": "access_denied", "error_description": "call 555-0100", "state": state}
    answer = visitor.get(CALLBACK, params=params)
    assert answer.status_code == 403
    assert "555" not in answer.text
    assert "access_denied" not in answer.text
