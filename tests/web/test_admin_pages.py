"""Jobs, audit log and keys: for admins of their own project, and nobody else."""

from __future__ import annotations

import pytest

from service.domain.access import parse_secret
from service.store.jobs import job_leases, jobs
from service.store.projects import audit, keys
from service.words import say
from tests.web.outline import Outline, page
from tests.web.samples import NOW

PATHS = ("/jobs", "/audit", "/keys")


@pytest.fixture
def admin(browser, new_key):
    _key, secret = new_key("read", "tests:run", "admin")
    assert browser.post("/login", data={"key": secret}).status_code == 303
    return browser


def queue(database, name, kind="mcnemar", project="project1", **about):
    with database.write() as session:
        new = jobs.NewJob(id=name, project_id=project, kind=kind, params={}, created_at=NOW, **about)
        return jobs.enqueue(session, new)


@pytest.mark.parametrize("path", PATHS)
def test_only_admins_see_them_or_the_way_to_them(reader, path):
    assert page(reader, path, 403)
    assert path not in {each["href"] for each in page(reader, "/preregistrations").all("a")}


def test_admins_are_led_there(admin):
    assert {each["href"] for each in page(admin, "/keys").all("a")} >= set(PATHS)


@pytest.mark.parametrize(("language", "told"), [("en", "kind job scopes read"), ("zh", "类型 job 权限 read")])
def test_what_was_done_with_a_key_is_called_in_the_language_of_the_page(admin, database, language, told):
    facts = {"kind": "job", "scopes": ["read"]}
    with database.write() as session:
        audit.record(
            session, project_id="project1", key_id=None, action="key.create", subject="k1", facts=facts, now=NOW,
        )  # fmt: skip
    assert told in " ".join(page(admin, f"/audit?action=key.create&subject=k1&lang={language}").text.split())


def test_jobs_are_listed_by_state_and_called_off(admin, database, others):
    queue(database, "j1")
    queue(database, "j2", kind="verdict", subject="p1")
    queue(database, "theirs", project=others)
    with database.write() as session:
        failed = job_leases.claim(session, runner="r", lease_seconds=60)
        job_leases.fail(session, failed, {"code": "internal_error", "detail": "told <b>"})
    text = page(admin, "/jobs").text
    assert "j1" in text
    assert "j2" in text
    assert "theirs" not in text
    assert f"{failed.id}" in page(admin, "/jobs?state=failed").text
    assert page(admin, "/jobs?state=wrong", 422)
    waiting = "j2" if failed.id == "j1" else "j1"
    assert waiting not in page(admin, "/jobs?state=failed").text
    assert page(admin, "/jobs?cursor=x", 422)


def test_a_chinese_list_of_jobs_says_kinds_and_failures_in_chinese(admin, database):
    queue(database, "j1")
    with database.write() as session:
        failed = job_leases.claim(session, runner="r", lease_seconds=60)
        job_leases.fail(session, failed, {"code": "time_limit", "detail": "too long"})
    for kind in jobs.OF_RECORDS:
        queue(database, f"j-{kind}", kind=kind, subject="p1")
    queue(database, "j9", kind="of-a-later-version")
    chinese = page(admin, "/jobs?lang=zh").text
    kinds = [say(f"titles.job_{kind}", "zh") for kind in jobs.OF_RECORDS]
    expected = ["McNemar 检验（二值配对）", *kinds, say("problems.time_limit", "zh"), "of-a-later-version"]
    assert [text for text in expected if text not in chinese] == []
    english = page(admin, "/jobs?lang=en").text
    assert [kind for kind in ("mcnemar", *jobs.OF_RECORDS) if kind not in english] == []


def test_a_test_is_called_off_and_a_verdict_is_not(admin, database, others):
    for name, kind, subject in (("j1", "mcnemar", None), ("j2", "verdict", "p1")):
        queue(database, name, kind=kind, subject=subject)
    queue(database, "theirs", project=others)
    ways = [each["action"] for each in page(admin, "/jobs").all("form") if "cancel" in each["action"]]
    assert ways == ["/jobs/j1/cancel"]
    assert admin.post(ways[0]).status_code == 303
    assert admin.post("/jobs/j2/cancel").status_code == 409
    assert admin.post("/jobs/theirs/cancel").status_code == 404
    with database.read() as session:
        assert jobs.get(session, "project1", "j1").state == "cancelled"
        assert jobs.get(session, others, "theirs").state == "queued"


def test_a_key_is_made_and_its_secret_shown_once(admin, database):
    sent = {"name": "nightly <b>", "kind": "job", "scopes": ["results:write", "read"], "ends": "2099-12-31"}
    made = admin.post("/keys", data={**sent, "scopes": ["read"]})
    assert made.status_code == 201
    (secret,) = [word for word in Outline(made.text).words if parse_secret(word)]
    again = page(admin, "/keys")
    assert secret not in again.text
    assert "nightly <b>" in again.text
    assert "2099-12-31 23:59:59 UTC" in again.text
    admin.post("/logout")
    assert admin.post("/login", data={"key": secret}).headers["location"] == "/preregistrations"
    with database.read() as session:
        (event,) = audit.read_page(session, "project1", action="key.create")[0]
    assert event.facts == {"kind": "job", "scopes": ["read"]}


@pytest.mark.parametrize(
    ("changes", "status"),
    [
        ({"scopes": ["operator"]}, 403),
        ({"scopes": []}, 422),
        ({"name": ""}, 422),
        ({"kind": "robot"}, 422),
        ({"ends": "soon"}, 422),
        ({"ends": "2001-01-01"}, 422),
    ],
)
def test_a_key_that_cannot_be_is_refused(admin, database, changes, status):
    sent = {"name": "x", "kind": "job", "scopes": ["read"]} | changes
    response = admin.post("/keys", data=sent)
    assert response.status_code == status
    assert not [word for word in Outline(response.text).words if parse_secret(word.strip())]
    with database.read() as session:
        assert len(keys.read_page(session, "project1")[0]) == 1


def test_a_revoked_key_ends_and_others_keys_are_not_there(admin, new_key, database, others):
    mine, secret = new_key("read")
    theirs, _secret = new_key("read", of=others)
    assert admin.post(f"/keys/{mine.id}/revoke").status_code == 303
    assert admin.post(f"/keys/{theirs.id}/revoke").status_code == 404
    assert theirs.prefix not in page(admin, "/keys").text
    assert "Revoked" in page(admin, "/keys").text
    (row,) = [each for each in admin.get("/keys").text.split("<tr>") if "You are signed in with it" in each]
    assert row.partition('<td class="act">')[2].lstrip().startswith("<form")
    admin.post("/logout")
    assert admin.post("/login", data={"key": secret}).status_code == 401


def test_the_log_is_searched_and_is_of_the_own_project(admin, database, others):
    with database.write() as session:
        for project, subject in (("project1", "p1"), ("project1", "p2"), (others, "p1")):
            audit.record(
                session, project_id=project, key_id=None, action="plan.lock", subject=subject,
                facts={"of": project, "last_at": "2027-01-04T09:16:42.731014+00:00"}, now=NOW,
            )  # fmt: skip
    outline = page(admin, "/audit?action=plan.lock&subject=p1")
    assert "1 shown that match." in outline.text
    assert "of project1" in outline.text
    assert "last at 2027-01-04 09:16:42 UTC" in outline.text
    assert others not in page(admin, "/audit").text
    assert "audit.read" in page(admin, "/audit").text
    assert page(admin, f"/audit?action={'x' * 65}", 422)


@pytest.mark.parametrize(
    ("language", "told"),
    [
        ("en", "times 3 last at 2027-01-04 09:00:41 UTC"),
        ("zh", "次数 3 最后一次 2027-01-04 09:00:41 UTC"),
    ],
)
def test_how_often_something_was_read_is_said_in_words_and_when_at_last_as_other_times(
    admin, database, language, told
):
    facts = {"times": 3, "last_at": "2027-01-04T09:00:41.123456+00:00"}
    with database.write() as session:
        audit.record(
            session, project_id="project1", key_id=None, action="verdict.read", subject="p1", facts=facts, now=NOW,
        )  # fmt: skip
    outline = page(admin, f"/audit?action=verdict.read&lang={language}")
    assert told in outline.text
    assert facts["last_at"] in {each.get("datetime") for each in outline.all("time")}


@pytest.mark.parametrize("path", ["/jobs/j1/cancel", "/keys", "/keys/k1/revoke"])
def test_other_sites_and_readers_change_nothing(reader, admin, new_key, path):
    assert admin.post(path, headers={"Sec-Fetch-Site": "cross-site"}, data={"name": "x"}).status_code == 403
    admin.post("/logout")
    assert admin.post(path, data={"name": "x"}).headers["location"].startswith("/login")
    _key, secret = new_key("read")
    admin.post("/login", data={"key": secret})
    assert admin.post(path, data={"name": "x", "scopes": ["read"]}).status_code == 403
