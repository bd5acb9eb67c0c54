"""A plan by five questions, without a script: told what it can show, made a draft, given its items, and locked."""

from __future__ import annotations

import json
import re
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
from starlette.testclient import TestClient

from forelock import wizard
from service.api.parsing.multipart import Form
from service.app import create_app
from service.config import Settings
from service.domain.plans.plan import Plan
from service.keyring.keyring import Keyring
from service.reports.prereg.markdown import parse_plan
from service.store.plans import preregistrations, record_lists
from service.web.html.speech import Say
from service.web.plans.gaps import Gaps
from service.web.plans.plan_form import DEFAULTS, read_answers
from tests.web.outline import Outline, page

ANSWERS = {**DEFAULTS, "dataset": "Dev v1", "independence": "another page each", "n": "40"}


def form(**changes):
    return Form({name: [value] for name, value in {**ANSWERS, **changes}.items()})


@pytest.fixture
def planner(browser, new_key):
    _key, secret = new_key("read", "plans:write", "plans:lock")
    assert browser.post("/login", data={"key": secret}).status_code == 303
    return browser


def test_the_form_asks_what_the_terminal_asks():
    answers = iter(
        ["old", "new", "1", "accuracy", "1", "1", "2", "Dev v1", "40", "", "another page each", "1", ""]
    )
    assert read_answers(form()).plan == wizard.ask(lambda _question: next(answers))


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("dataset", ""),
        ("baseline", ""),
        ("candidate", "old"),
        ("endpoint", "x" * 201),
        ("kind", "counts"),
        ("better", ""),
        ("n", "0"),
        ("n", "1e3"),
        ("n", "1000001"),
        ("size", "nan"),
        ("size", "-2"),
        ("alpha", "0.5"),
        ("claim", "magic"),
        ("independence", ""),
        ("title", "x" * 201),
    ],
)
def test_an_answer_that_cannot_be_is_told_at_its_field(field, value):
    assert list(read_answers(form(**{field: value})).faults) == [field]


def test_clusters_are_counted_and_fewer_than_items():
    assert read_answers(form(clusters="talk", n_clusters="20", independence="")).faults == {}
    assert list(read_answers(form(clusters="talk", n_clusters="", independence="")).faults) == ["n_clusters"]
    assert list(read_answers(form(clusters="talk", n_clusters="41")).faults) == ["n_clusters"]


def test_faults_stand_in_the_order_of_the_form():
    written = form(clusters="talk", n_clusters="41", candidate="old", size="0", dataset="", alpha="2")
    assert list(read_answers(written).faults) == ["candidate", "dataset", "n_clusters", "size", "alpha"]


@pytest.mark.parametrize("changes", [{"clusters": "talk", "n_clusters": "41"}, {"n": "none"}, {"size": "0"}])
def test_nothing_is_told_of_a_plan_with_another_number_than_was_written(planner, changes):
    told = Outline(planner.post("/plans/new", data={**ANSWERS, **changes}).text).text
    assert "What this plan can show is told once the answers with a fault are mended." in told
    assert "this rule holds in" not in told
    assert "items are planned" not in told


def test_a_text_that_is_missing_does_not_keep_the_plan_from_being_told(planner):
    assert (
        "this rule holds in" in Outline(planner.post("/plans/new", data={**ANSWERS, "dataset": ""}).text).text
    )


def test_a_new_form_complains_of_nothing_and_shows_something(planner):
    outline = page(planner, "/plans/new")
    assert not [each for _, each in outline.elements if each.get("aria-invalid")]
    assert "If the true difference is +2.00 pp (the SESOI), this rule holds in about" in outline.text
    assert "With a true difference of +4.00 pp it holds in about" in outline.text


def test_what_is_written_is_told_and_kept(planner):
    told = Outline(planner.post("/plans/new", data={**ANSWERS, "title": '"><b>x'}).text)
    assert "40 items are planned." in told.text
    assert "LOW_POWER" in told.text
    assert "Nothing stands against its lock but the list of its items." in told.text
    (field,) = [each for each in told.all("input") if each.get("id") == "title"]
    assert field["value"] == '"><b>x'


@pytest.mark.parametrize(
    ("field", "called"), [("endpoint", "Its name"), ("candidate", "The system you try (candidate arm)")]
)
def test_what_no_plan_can_hold_is_said_at_the_check_by_the_question(planner, field, called):
    response = planner.post("/plans/new", data={**ANSWERS, field: "two words"})
    assert response.status_code == 200
    assert f'<a href="#{field}" lang="en">{called}</a> ' in response.text
    assert f'<p class="fault" id="{field}-fault"' in response.text
    (asked,) = [each for each in Outline(response.text).all("input") if each.get("id") == field]
    assert (asked["aria-invalid"], f"{field}-fault" in asked["aria-describedby"]) == ("true", True)
    assert "[0]." not in response.text.partition('id="told-content"')[2]


def test_nothing_is_created_while_something_is_missing(planner, database):
    response = planner.post("/plans/new", data={**ANSWERS, "dataset": "", "act": "create"})
    assert response.status_code == 422
    assert [each for each in Outline(response.text).all("input") if each.get("aria-invalid") == "true"]
    with database.read() as session:
        assert record_lists.read_page(session, "project1", state=None)[0] == []


def test_a_plan_is_taken_away_as_json_and_markdown(planner):
    got = planner.post("/plans/new", data={**ANSWERS, "act": "json"})
    assert got.headers["content-disposition"] == 'attachment; filename="plan.json"'
    plan = Plan.from_dict(json.loads(got.text))
    assert plan.as_dict() == Plan.from_dict(read_answers(form()).plan).as_dict()
    got = planner.post("/plans/new?lang=zh", data={**ANSWERS, "act": "markdown"})
    assert "实验预注册" in got.text
    told = parse_plan(got.text)[0]
    assert told.hypotheses[0].statement == "new 的分数高于 old"
    assert told.as_dict() == Plan.from_dict(read_answers(form(), Say("zh")).plan).as_dict()


def listed(n):
    return "\n".join(f"item {number}, the best" for number in range(n))


def test_from_the_questions_to_the_lock(planner, database):
    made = planner.post("/plans/new", data={**ANSWERS, "act": "create"})
    assert made.status_code == 303
    way = made.headers["location"]
    record = way.removesuffix("/plan")
    draft = page(planner, way)
    assert "None of 40 planned items is listed." in draft.text
    assert "MISSING_MANIFEST" in draft.text
    assert "Lock the plan" not in draft.text
    files = {"population": (None, "items"), "items": ("items.csv", listed(40))}
    assert planner.post(f"{record}/items", files=files).status_code == 303
    ready = page(planner, way)
    assert "40 of 40 planned items are listed." in ready.text
    (etag,) = [each["value"] for each in ready.all("input") if each["name"] == "etag"]
    boxes = [each["value"] for each in ready.all("input") if each["name"] == "acknowledge"]
    assert planner.post(f"{record}/lock", data={"etag": '"old"', "acknowledge": boxes}).status_code == 412
    locked = planner.post(f"{record}/lock", data={"etag": etag, "acknowledge": boxes})
    assert (locked.status_code, locked.headers["location"]) == (303, record)
    assert locked.headers["forelock-checkpoint"]
    assert "Locked. The plan can no longer change" in page(planner, record).text
    again = planner.post(f"{record}/lock", data={"etag": etag})
    assert (again.status_code, Outline(again.text).all("h1") != []) == (409, True)
    after = page(planner, way)
    assert "What lint said at the lock" in after.text
    assert after.all("textarea") == []
    with database.read() as session:
        (line,) = record_lists.read_page(session, "project1", state=None)[0]
        assert preregistrations.get(session, "project1", line.id).state == "locked"


def test_a_warning_that_was_not_read_stops_the_lock(planner):
    clustered = {"clusters": "talk", "n_clusters": "20", "independence": "", "act": "create"}
    record = (
        planner.post("/plans/new", data={**ANSWERS, **clustered}).headers["location"].removesuffix("/plan")
    )
    items = "item_id,cluster\n" + "\n".join(f"{number},{number % 20}" for number in range(40))
    planner.post(f"{record}/items", data={"population": "items", "items": items})
    ready = page(planner, f"{record}/plan")
    fields = {
        each["name"]: each["value"] for each in ready.all("input") if each["name"] in ("etag", "acknowledge")
    }
    refused = planner.post(f"{record}/lock", data={"etag": fields["etag"]})
    assert refused.status_code == 422
    assert fields["acknowledge"] in Outline(refused.text).text
    assert planner.post(f"{record}/lock", data=fields).status_code == 303


def test_items_that_cannot_be_are_refused_in_words(planner, keep):
    keep("draft")
    for items, said in (("a\na", "repeats"), ("", "no item"), ("item_id,cluster\na", "header")):
        refused = planner.post("/preregistrations/p1/items", data={"population": "dev", "items": items})
        assert refused.status_code == 422
        assert said in Outline(refused.text).text
    gone = planner.post("/preregistrations/p1/items", data={"population": "none", "items": "a"})
    assert gone.status_code == 404


@pytest.mark.parametrize("path", ["/plans/new", "/preregistrations/p1/items", "/preregistrations/p1/lock"])
def test_other_sites_and_readers_change_nothing(planner, new_key, app, keep, path):
    keep("draft")
    cross = {"Sec-Fetch-Site": "cross-site"}
    assert planner.post(path, data={"act": "create", **ANSWERS}, headers=cross).status_code == 403
    planner.post("/logout")
    assert planner.post(path, data=ANSWERS).headers["location"].startswith("/login?next=")
    _key, secret = new_key("read")
    planner.post("/login", data={"key": secret})
    assert planner.post(path, data=ANSWERS).status_code == 403
    assert "textarea" not in planner.get("/preregistrations/p1/plan").text


def test_another_projects_plan_is_not_there(planner, keep, others):
    keep("draft", "theirs", of=others)
    for path in ("plan", "plan.json", "plan.md"):
        assert planner.get(f"/preregistrations/theirs/{path}").status_code == 404
    for act, sent in (("items", {"population": "dev", "items": "a"}), ("lock", {"etag": "*"})):
        assert planner.post(f"/preregistrations/theirs/{act}", data=sent).status_code == 404


def test_the_plan_of_a_record_is_downloaded(reader, keep):
    keep("locked")
    assert reader.get("/preregistrations/p1/plan.json").json()["title"] == "Caching & <b>synthesis</b>"
    assert re.search("^# ", reader.get("/preregistrations/p1/plan.md").text)
    assert reader.get("/preregistrations/p1/plan.xml").status_code == 404


@pytest.mark.parametrize(
    "path", ["/plans/new", "/preregistrations/p1/plan", "/preregistrations/p1", "/preregistrations"]
)
def test_every_page_has_its_chinese(planner, keep, path):
    keep("draft")
    outline = page(planner, f"{path}?lang=zh")
    assert outline.all("html") == [{"lang": "zh"}]
    assert any("English" in word for word in outline.words)
    if path.endswith("/plan"):  # what lint says of it as well
        assert "锁定前请提交“dev”的题目" in outline.text
        assert "put the items of" not in outline.text
    assert page(planner, path).all("html") == [{"lang": "zh"}]
    assert page(planner, f"{path}?lang=en").all("html") == [{"lang": "en"}]


@pytest.mark.parametrize("path", ["/plans/new", "/preregistrations/p1/plan"])
def test_what_is_worked_out_leaves_the_threads_of_others_free(
    database, new_key, keep, tmp_path, monkeypatch, path
):
    begun, go, answered = threading.Event(), threading.Event(), []

    def slow(*_arguments):
        begun.set()
        answered.append(go.wait(20))
        return Gaps((), (), (), ())

    for module in ("wizard", "plan_page"):
        monkeypatch.setattr(f"service.web.plans.{module}.gaps_of", slow)
    keep()
    _key, secret = new_key("read", "plans:write")
    settings = Settings(data_dir=tmp_path, key_cache_seconds=0, pool_size=1)
    app = create_app(settings, database, Keyring.create(tmp_path / "keys"))
    with TestClient(app, follow_redirects=False) as visitor, ThreadPoolExecutor(1) as beside:
        assert visitor.post("/login", data={"key": secret}).status_code == 303
        waiting = beside.submit(visitor.get, path)
        assert begun.wait(20)
        assert visitor.get("/preregistrations").status_code == 200
        go.set()
        assert waiting.result().status_code == 200
    assert answered == [True]
