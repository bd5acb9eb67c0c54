from __future__ import annotations

from datetime import timedelta

import pytest

from service.actions.verdicts.proven import kept_outside
from service.store.jobs import job_leases, jobs
from service.store.ledger import checkpoints, ledger, ledger_signers, stamps
from service.store.ledger.checkpoints import StoredCheckpoint
from service.store.plans import preregistrations
from service.store.results import coverage
from tests.every_route import DOCUMENT
from tests.web.outline import Outline, page
from tests.web.samples import NOW, PLAN, RULE


def test_home_leads_to_the_list(browser):
    response = browser.get("/")
    assert (response.status_code, response.headers["location"]) == (303, "/preregistrations")


@pytest.mark.parametrize("path", ["/preregistrations", "/preregistrations/p1"])
def test_pages_need_a_session(browser, keep, path):
    keep()
    response = browser.get(path)
    assert response.status_code == 303
    assert response.headers["location"] == f"/login?next={path.replace('/', '%2F')}"


def test_signing_in_leads_back_where_one_wanted_to_go(browser, new_key, keep):
    keep()
    _key, secret = new_key("read")
    (field,) = [
        each
        for each in page(browser, "/login?next=/preregistrations/p1").all("input")
        if each["name"] == "next"
    ]
    response = browser.post("/login", data={"key": secret, "next": field["value"]})
    assert (response.status_code, response.headers["location"]) == (303, "/preregistrations/p1")
    assert "C3 improves accuracy" in page(browser, "/preregistrations/p1").text


@pytest.mark.parametrize(
    "elsewhere",
    [
        "https://evil.test/", "//evil.test", "/\\evil.test", "/v1/keys", "javascript:alert(1)",
        "/preregistrations/../x", "",
    ],
)  # fmt: skip
def test_signing_in_leads_nowhere_else(browser, new_key, elsewhere):
    _key, secret = new_key("read")
    response = browser.post("/login", data={"key": secret, "next": elsewhere})
    assert response.headers["location"] == "/preregistrations"
    assert "evil" not in browser.get("/login", params={"next": elsewhere}).text


def test_the_cookie_is_closed_to_scripts_and_other_sites(browser, new_key):
    _key, secret = new_key("read")
    cookie = browser.post("/login", data={"key": secret}).headers["set-cookie"]
    assert "HttpOnly" in cookie
    assert "SameSite=strict" in cookie
    assert "Max-Age=43200" in cookie
    assert "Secure" not in cookie
    assert secret not in cookie


def test_the_cookie_is_secure_over_https(app, new_key):
    from starlette.testclient import TestClient

    _key, secret = new_key("read")
    safe = TestClient(app, base_url="https://testserver", follow_redirects=False)
    assert "Secure" in safe.post("/login", data={"key": secret}).headers["set-cookie"]


@pytest.mark.parametrize("body", ["", "key=", "key=flk_wrong", "other=1", "key=%FF%00", "key=a&key=b"])
def test_a_wrong_key_is_refused_and_not_repeated(browser, body):
    headers = {"Content-Type": "application/x-www-form-urlencoded"}
    response = browser.post("/login", content=body, headers=headers)
    assert response.status_code == 401
    assert "set-cookie" not in response.headers
    outline = Outline(response.text)
    assert [each for each in outline.all("div") if each.get("role") == "alert"]
    assert "flk_wrong" not in response.text


def test_a_key_that_may_not_read_is_refused(browser, new_key):
    _key, secret = new_key("results:write")
    response = browser.post("/login", data={"key": secret})
    assert response.status_code == 403
    assert "&#39;read&#39;" in response.text
    assert "set-cookie" not in response.headers


def test_an_expired_key_cannot_sign_in(browser, new_key):
    _key, secret = new_key("read", expires_at=NOW - timedelta(days=3000))
    assert browser.post("/login", data={"key": secret}).status_code == 401


def test_a_revoked_key_ends_its_sessions(browser, new_key, database):
    from service.store.projects import keys

    key, secret = new_key("read")
    browser.post("/login", data={"key": secret})
    assert browser.get("/preregistrations").status_code == 200
    with database.write() as session:
        keys.revoke(session, key.project_id, key.id, NOW)
    assert browser.get("/preregistrations").status_code == 303


def test_signing_out_ends_the_session(reader):
    assert reader.get("/preregistrations").status_code == 200
    reader.post("/logout")
    assert reader.get("/preregistrations").status_code == 303


def test_signing_out_ends_a_copied_cookie_and_no_other_session(browser, new_key):
    _key, secret = new_key("read")
    cookies = []
    for _ in range(2):
        browser.post("/login", data={"key": secret})
        cookies.append(browser.cookies["forelock_session"])
    browser.cookies.clear()

    def status(cookie):
        return browser.get("/preregistrations", headers={"Cookie": f"forelock_session={cookie}"}).status_code

    assert [status(each) for each in cookies] == [200, 200]
    for _ in range(2):  # once more does no harm
        browser.post("/logout", headers={"Cookie": f"forelock_session={cookies[0]}"})
    assert [status(each) for each in cookies] == [303, 200]


def test_ended_sessions_are_kept_until_they_would_have_ended(database):
    from service.store.projects import ended_sessions

    with database.write() as session:
        for name, ends_at in (("old", NOW), ("new", NOW + timedelta(hours=2))):
            ended_sessions.end(session, name, ends_at)
            ended_sessions.end(session, name, ends_at)
        ended_sessions.sweep(session, NOW + timedelta(hours=1))
        assert [ended_sessions.has_ended(session, name) for name in ("old", "new")] == [False, True]


@pytest.mark.parametrize(
    "headers",
    [
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
        {"Origin": "https://evil.test"},
        {"Origin": "null"},
        {"Sec-Fetch-Site": "cross-site", "Origin": "http://testserver"},
        {"Sec-Fetch-Site": "", "Origin": "http://testserver"},
    ],
)
def test_another_site_cannot_sign_a_visitor_in(browser, new_key, headers):
    _key, secret = new_key("read")
    response = browser.post("/login", data={"key": secret}, headers=headers)
    assert response.status_code == 403
    assert "set-cookie" not in response.headers


@pytest.mark.parametrize(
    "headers",
    [
        {"Sec-Fetch-Site": "same-origin", "Origin": "null"},
        {"Sec-Fetch-Site": "same-origin", "Origin": "https://behind.a.proxy"},
        {"Origin": "http://testserver"},
        {},
    ],
)
def test_the_own_form_can(browser, new_key, headers):
    _key, secret = new_key("read")
    assert browser.post("/login", data={"key": secret}, headers=headers).status_code == 303


def test_a_huge_form_is_refused(browser):
    assert browser.post("/login", data={"key": "x" * 5000}).status_code == 413


def test_the_list_is_empty_at_first(reader):
    assert "There is none in this project yet" in page(reader, "/preregistrations").text


def test_the_list_shows_state_and_outcome(reader, keep):
    keep("collecting", "p1")
    keep("judged", "p2")
    outline = page(reader, "/preregistrations")
    assert {each["href"] for each in outline.all("a")} >= {"/preregistrations/p1", "/preregistrations/p2"}
    assert "collecting 0 of 8 results" in outline.text
    assert "judged H1a: Not supported" in outline.text


def test_the_list_goes_on(reader, keep):
    for number in range(51):
        keep("draft", f"p{number}")
    first = page(reader, "/preregistrations")
    (older,) = [each["href"] for each in first.all("a") if each.get("rel") == "next"]
    second = page(reader, older)
    links = [each["href"] for outline in (first, second) for each in outline.all("a")]
    assert len({link for link in links if link.startswith("/preregistrations/p")}) == 51


def test_the_list_is_searched_by_a_plain_form(reader, keep):
    for number, title in enumerate(('Caching "helps" & more', "Caching less", "Retries")):
        keep("draft", f"p{number}", plan={**PLAN, "title": title})
    keep("judged", "p3", plan={**PLAN, "title": "Caching judged"})

    def found(query):
        outline = page(reader, f"/preregistrations?{query}")
        rows = {
            each["href"].rsplit("/", 1)[1]
            for each in outline.all("a")
            if "/preregistrations/" in each["href"]
        }
        return rows, outline

    assert found("q=caching&state=")[0] == {"p0", "p1", "p3"}
    assert found("q=CACHING&state=judged")[0] == {"p3"}
    rows, outline = found('q="helps"+%26')
    assert rows == {"p0"}
    (field,) = [each for each in outline.all("input") if each["name"] == "q"]
    assert field["value"] == '"helps" &'
    assert "None match." in found("q=nothing")[1].text
    assert "state" in page(reader, "/preregistrations?state=wrong", 422).text
    assert page(reader, f"/preregistrations?q={'x' * 201}", 422)
    assert page(reader, "/preregistrations?q=%00", 422)


def test_a_bad_cursor_is_a_page_too(reader):
    assert "cursor" in page(reader, "/preregistrations?cursor=nonsense", 422).text


def test_a_judged_page_shows_everything(reader, keep):
    record = keep("judged")
    outline = page(reader, "/preregistrations/p1")
    for words in (
        "Judged by the rules that were locked",
        "First result in",
        "H1a Not supported",
        f"Decision rule: {RULE}",
        "The rule delta <b> of H1a is false",
        "3 of 4 planned items, 1 left out",
        "delta >= 2.0 pp +25.00 pp 2.0 pp holds",
        "mcnemar.p_value < 0.05 0.625 0.05 fails",
        "Batch 2: <b>wrong</b> arm",
        "mcnemar.ci excludes 0 −50.00 pp to unbounded 0 unknown (an end is undefined)",
        "mcnemar They differ by +25.00 pp.",
        record.plan_sha256,
        "FEW_CLUSTERS talks Only <8> clusters.",
        "Judged 2027-01-06 09:00:00 UTC",
        "Safe to ship? Not known: no hypothesis or equivalence test of the plan asks",
        "Since the lock: the plan was not amended; no deviation was filed;",
        "results were posted. All results had arrived 1 day after the lock, which does not show",
        "Against the operator: nothing is shown as far as is known here.",
    ):
        assert words in outline.text
    assert "<strong>Safe to ship?</strong> Not known" in reader.get("/preregistrations/p1").text
    assert "<code>delta &lt;b&gt;</code> of H1a" in reader.get("/preregistrations/p1").text
    assert "<strong>能否放心上线？</strong>" in reader.get("/preregistrations/p1?lang=zh").text


@pytest.mark.parametrize(
    ("waiting", "words"),
    [
        (False, "shown by a time stamp of an RFC 3161 authority"),
        (True, "nothing is shown as far as is known"),
    ],
)
def test_a_judged_page_tells_of_a_stamp_on_its_lock_that_is_whole(database, reader, keep, waiting, words):
    keep("judged")
    with database.write() as session:
        ledger_signers.add(session, origin="log", vkey="log+00000000+AQ==", sequence=None, now=NOW)
        signed = StoredCheckpoint(ledger.read_head(session).size, 1, "a note")
        checkpoints.insert(session, signed, NOW)
        stamps.insert(session, signed, "rfc3161", b"stamp", root="00", waiting=waiting, now=NOW)
    assert f"Against the operator: {words}" in page(reader, "/preregistrations/p1").text
    with database.read() as session:
        record = preregistrations.get(session, "project1", "p1")
        (lock,) = ledger.read_receipts(session, "p1", kind="plan_locked")
        name = kept_outside(session, record).checkpoint
    assert name == (None if waiting else f"plan_locked-{lock.sequence}.rfc3161.checkpoint")


def test_texts_of_others_are_escaped(reader, keep):
    hostile = {
        **PLAN,
        "title": '"><script>alert(1)</script>',
        "hypotheses": [
            {**PLAN["hypotheses"][0], "statement": "<img src=x onerror=alert(1)>", "rule": "<svg/onload=1>"}
        ],
    }
    keep(plan=hostile)
    for path in ("/preregistrations", "/preregistrations/p1"):
        outline = page(reader, path)
        assert outline.all("script") == []
        assert outline.all("img") == []
        assert outline.all("svg") == []
        assert '"><script>alert(1)</script>' in outline.text


@pytest.mark.parametrize("state", ["locked", "collecting", "complete"])
def test_nothing_of_an_outcome_is_on_the_page_before_the_verdict(reader, keep, state):
    keep(state)
    outline = page(reader, "/preregistrations/p1")
    assert f"Decision rule: {RULE}" in outline.text
    assert outline.all("table") == []
    assert not any("outcome" in (attributes.get("class") or "") for _, attributes in outline.elements)


def test_progress_counts_what_is_in(reader, keep, database):
    keep("collecting")
    with database.write() as session:
        coverage.save(session, "p1", ("dev", "C1", "accuracy", 1), b"\x07", 3)
    outline = page(reader, "/preregistrations/p1")
    assert "3 of 8 results are in" in outline.text
    (bar,) = outline.all("progress")
    assert (bar["max"], bar["value"]) == ("8", "3")


def test_a_failed_verdict_is_said(reader, keep, database):
    keep("complete")
    with database.write() as session:
        about = {"project_id": "project1", "kind": "verdict", "params": {}, "subject": "p1"}
        jobs.enqueue(session, jobs.NewJob(id="j1", **about, created_at=NOW))
        job = job_leases.claim(session, runner="r", lease_seconds=60)
        job_leases.fail(session, job, {"code": "internal_error", "detail": "secret detail"})
    outline = page(reader, "/preregistrations/p1")
    assert "computing the verdict failed" in outline.text
    assert "secret detail" not in outline.text


@pytest.mark.parametrize("name", ["nothing", "x" * 65, "p1%00", "p%201", "%3Cscript%3E"])
def test_a_record_that_is_not_there_is_a_page_too(reader, keep, name):
    keep()
    outline = page(reader, f"/preregistrations/{name}", 404)
    assert outline.all("script") == []


@pytest.mark.parametrize(
    ("address", "status"),
    [("/preregistration", 404), ("/v2/tests", 404), ("/tests/mcnemar/more", 404), ("/logout", 405)],
)
def test_an_address_without_a_page_is_answered_by_one_where_a_browser_asks(browser, address, status):
    answer = browser.get(address, headers={"Accept": "text/html,application/xhtml+xml,*/*;q=0.8"})
    assert (answer.status_code, answer.headers["content-type"]) == (status, "text/html; charset=utf-8")
    assert "default-src 'none'" in answer.headers["content-security-policy"]
    assert "<h1>Nothing is here</h1>" in answer.text
    assert 'href="/preregistrations"' in answer.text
    assert 'href="/login"' in answer.text
    assert ("allow" in answer.headers) == (status == 405)
    program = browser.get(address, headers={"Accept": "*/*"})
    assert (program.status_code, program.json()["status"]) == (status, status)


def test_what_programs_read_stays_a_problem_document(browser):
    answer = browser.get("/v1/nonesuch", headers={"Accept": "text/html"})
    assert (answer.status_code, answer.json()["code"]) == (404, "not_found")


def test_another_projects_record_is_not_there(reader, keep, others):
    keep("draft", "theirs", of=others)
    assert page(reader, "/preregistrations/theirs", 404)
    assert "theirs" not in page(reader, "/preregistrations").text


@pytest.mark.parametrize(
    "path", ["/login", "/preregistrations", "/preregistrations/p1", "/preregistrations/none"]
)
def test_every_page_is_sound(reader, keep, path):
    keep("judged")
    response = reader.get(path)
    outline = Outline(response.text)
    assert outline.all("html") == [{"lang": "en"}]
    assert len(outline.all("main")) == len(outline.all("h1")) == len(outline.all("title")) == 1
    assert all("scope" in each for each in outline.all("th"))
    labelled = {each["for"] for each in outline.all("label")}
    visible = [each for each in outline.all("input") if each.get("type") != "hidden"]
    assert {each["id"] for each in visible} <= labelled
    ids = [attributes["id"] for _, attributes in outline.elements if "id" in attributes]
    assert len(ids) == len(set(ids))
    assert outline.all("script") == outline.all("style") == []
    assert not any(
        name == "style" or name.startswith("on") for _, attributes in outline.elements for name in attributes
    )


@pytest.mark.parametrize("path", ["/login", "/preregistrations", "/preregistrations/p1", "/"])
def test_every_answer_forbids_scripts_and_caches(reader, keep, path):
    keep("judged")
    headers = reader.get(path).headers
    policy = headers["content-security-policy"].split("; ")
    assert "default-src 'none'" in policy
    assert "frame-ancestors 'none'" in policy
    assert not any("script" in rule or "unsafe" in rule for rule in policy)
    assert headers["cache-control"] == "no-store"


def test_style_and_icon_are_served(browser):
    sheets = [each["href"] for each in page(browser, "/login").all("link")]
    assert len(sheets) == 2
    for path in sheets:
        assert browser.get(path).status_code == 200


def test_pages_are_not_in_the_api_document():
    assert not any(path.strip("/") == "preregistrations" for path in DOCUMENT["paths"])


def test_what_is_overdue_says_so_below_its_state(reader, keep):
    keep("locked", "p1", plan={**PLAN, "results_due": "2020-01-01"})
    text = reader.get("/preregistrations/p1").text
    due = text.index('<span class="chip due">overdue</span> Results were due and are not all in.')
    assert text.index('<p class="state">') < due < text.index('<ol class="story"')
    keep("locked", "p2")
    assert "chip due" not in reader.get("/preregistrations/p2").text
