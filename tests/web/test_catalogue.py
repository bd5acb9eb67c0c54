"""The catalogue of tests and the leaderboard: forms that ask what the API answers, without a script."""

from __future__ import annotations

import json
from typing import get_args

import pytest
from markupsafe import escape

from service.reports.quoting import mark_up
from service.stats.shared.declaring import registry
from service.stats.shared.declaring.descriptions import describe
from service.store.jobs import job_leases, jobs
from service.words import say
from service.words.catalogue import templates
from tests.api.conftest import bearer
from tests.web.outline import Outline, page
from tests.web.requests_of_width import WIDE
from tests.web.samples import NOW

LONG = "item_id,arm,value\n" + "\n".join(f"{i},{arm},{i % 2}" for i in range(8) for arm in ("x", "y"))

_CELLS = [line.split(",") for line in WIDE.splitlines()]
COLUMNS = json.dumps(
    {
        name: [row[at] if name == "item_id" else float(row[at]) for row in _CELLS[1:]]
        for at, name in enumerate(_CELLS[0])
    }
)


@pytest.fixture
def secret(browser, new_key):
    _key, secret = new_key("read", "tests:run")
    assert browser.post("/login", data={"key": secret}).status_code == 303
    return secret


@pytest.fixture
def tester(browser, secret):
    return browser


def test_the_catalogue_lists_every_test_and_leads_to_its_page(tester):
    listed = {each["href"] for each in page(tester, "/tests").all("a")}
    assert listed >= {f"/tests/{name}" for name in registry.latest()}


def test_every_test_has_its_title_and_summary_in_the_words_under_its_name():
    own = {
        name: test
        for name, test in registry.latest().items()
        if test.request.__module__.startswith("service.")
    }
    said = {
        "titles": {name: test.title for name, test in own.items()},
        "summaries": {name: describe(test).summary for name, test in own.items()},
    }
    for room, words in said.items():
        written = {name: template.source for name, template in templates("en", room).items()}
        other = [f"{name} = {json.dumps(text)}" for name, text in words.items() if written.get(name) != text]
        assert not other, "\n".join([f"service/words/en/{room}.toml has to say, and zh beside it:", *other])


@pytest.mark.parametrize("name", sorted(registry.latest()))
def test_a_chinese_page_of_a_test_has_a_chinese_title_and_summary(tester, name):
    served = tester.get(f"/tests/{name}", params={"lang": "zh"}).text
    assert f"<h1>{escape(say(f'titles.{name}', 'zh'))}</h1>" in served
    assert f"<title>{escape(say(f'titles.{name}', 'zh'))}" in served
    assert f"<p>{mark_up(say(f'summaries.{name}', 'zh'))}</p>" in served


def test_a_field_with_choices_names_them_and_what_it_is_by_default(tester):
    fields = tester.get("/tests/mcnemar").text.partition("<dl>")[2].partition("</dl>")[0]
    method = fields.partition("<code>method</code>")[2].partition("<dt>")[0]
    choices = ("exact", "midp", "asymptotic", "corrected")
    assert [choice for choice in choices if f"<code>{choice}</code>" in method] == list(choices)
    assert "by default <code>exact</code>" in method
    alpha = fields.partition("<code>alpha</code>")[2].partition("<dt>")[0]
    assert "One of" not in alpha
    assert "by default <code>0.05</code>" in alpha


@pytest.mark.parametrize("language", ["en", "zh"])
def test_the_catalogue_leads_by_question_to_its_tests(tester, language):
    outline = page(tester, "/tests" if language == "en" else "/tests?lang=zh")
    questions = [say(f"pages.tests_{question}", language) for question in get_args(registry.Question)]
    assert [question for question in questions if question not in outline.text] == []
    contents = [each["href"] for each in outline.all("a") if each["href"].startswith("#")]
    assert [f"#{question}" for question in get_args(registry.Question)] == [
        one for one in contents if one != "#main"
    ]


def test_the_example_is_in_the_form_and_gives_what_the_api_gives(tester, secret):
    outline = page(tester, "/tests/mcnemar")
    assert len(outline.all("textarea")) == 1
    example = dict(registry.find("mcnemar").example)
    got = tester.post("/tests/mcnemar", data={"request": json.dumps(example)})
    assert got.status_code == 200
    answered = Outline(got.text)
    api = tester.post("/v1/tests/mcnemar", json=example, headers=bearer(secret)).json()
    assert api["analysis"]["sentence"] in answered.text
    assert "Exploratory: no plan was locked before these data." in answered.text
    shown = next(word for word in answered.words if word.startswith('{\n "test"'))
    assert json.loads(shown)["analysis"] == api["analysis"]
    assert len(answered.all("svg")) == 2  # for a desk and for a phone
    assert answered.all("script") == []


@pytest.mark.parametrize(
    ("body", "status", "said"),
    [
        ("{", 400, "JSON"),
        ('{"both_correct": "<script>"}', 422, "both_correct"),
        ('{"nonsense": 1}', 422, "nonsense"),
        ("", 400, ""),
    ],
)
def test_a_wrong_request_stays_in_the_form_with_what_is_wrong(tester, body, status, said):
    got = tester.post("/tests/mcnemar", data={"request": body})
    assert got.status_code == status
    outline = Outline(got.text)
    assert [each for _, each in outline.elements if each.get("role") == "alert"]
    assert said in outline.text
    assert body.strip() in outline.text
    assert outline.all("script") == []


def test_an_unknown_test_is_a_page(tester):
    assert page(tester, "/tests/nothing", 404)
    assert tester.post("/tests/nothing", data={"request": "{}"}).status_code == 404


def test_what_takes_long_becomes_a_job_whose_answer_is_shown_later(tester, database, monkeypatch):
    monkeypatch.setattr("service.web.calculations.answers.AT_ONCE_SECONDS", 0.0)
    monkeypatch.setattr("service.web.calculations.answers.WAIT_SECONDS", 0.0)
    request = {"baseline": [0, 1] * 20, "candidate": [1, 1] * 20, "clusters": [str(i) for i in range(20)] * 2}
    got = tester.post("/tests/cluster-bootstrap", data={"request": json.dumps(request)})
    assert got.status_code == 303
    way = got.headers["location"]
    assert "It is being computed" in page(tester, way).text
    answer = registry.find("cluster-bootstrap").answer(
        registry.find("cluster-bootstrap").request.model_validate(request)
    )
    with database.write() as session:
        job = job_leases.claim(session, runner="r", lease_seconds=60)
        job_leases.finish(session, job, answer.model_dump(mode="json", by_alias=True))
    assert answer.analysis.sentence in page(tester, way).text


def test_another_projects_job_is_not_there(tester, database, others):
    with database.write() as session:
        new = jobs.NewJob(id="theirs", project_id=others, kind="mcnemar", params={}, created_at=NOW)
        jobs.enqueue(session, new)
        jobs.enqueue(
            session, jobs.NewJob(id="mine", project_id="project1", kind="verdict", params={}, created_at=NOW)
        )
    for name in ("theirs", "mine", "no%20id"):
        assert page(tester, f"/tests/mcnemar?job={name}", 404)


@pytest.mark.parametrize(
    "table",
    [WIDE, LONG, WIDE.replace(",", ";"), WIDE.replace(",", "\t"), COLUMNS],
    ids=["wide", "long", "semicolons", "tabs", "JSON columns"],
)
def test_a_table_that_is_written_or_uploaded_is_ranked(tester, table):
    written = Outline(tester.post("/leaderboards", data={"table": table}).text)
    (caption,) = [each for each in written.words if each == "Systems in order"]
    assert caption
    assert len(written.all("svg")) == 2
    sent = {"table": ("x.csv", "\ufeff" + table), "better": (None, "higher")}
    uploaded = Outline(tester.post("/leaderboards", files=sent).text)
    assert uploaded.text.split("The table")[0] == written.text.split("The table")[0]


def test_a_table_that_is_refused_is_refused_in_words(tester):
    """The sentence says what is wrong; the code before it is for programs."""
    got = Outline(tester.post("/leaderboards", data={"table": "a,b\n1"}).text)
    assert "has 1 cells where the header has 2" in got.text
    assert "malformed_import" not in got.text


def test_gaps_are_ranked_and_marked(tester):
    rows = "".join(f"q{n},{n % 2},{(n + 1) % 2},{n % 3 % 2 if n % 4 else ''}\n" for n in range(24))
    written = Outline(tester.post("/leaderboards", data={"table": "item_id,x,y,z\n" + rows}).text)
    assert "Tier Rank System Mean" in written.text
    assert "z 0.3333 *" in written.text
    assert "More than a tenth of the items are missing" in written.text


def test_tied_systems_are_named(tester):
    assert "Not told apart x, y" in Outline(tester.post("/leaderboards", data={"table": LONG}).text).text


def test_columns_of_usual_names_are_taken_and_said(tester):
    """An id is no system, though its cells are numbers."""
    wide = Outline(tester.post("/leaderboards", data={"table": "id,x,y\n1,0,1\n2,0,1\n3,1,1\n"}).text)
    assert "items by id; --set item_id=… names another" in wide.text
    assert "/questions" in {link.get("href") for link in wide.all("a")}
    table = "id,model,score,topic\n" + "".join(f"{n},{m},{n % 2},t{n}\n" for n in range(9) for m in "xy")
    long = Outline(tester.post("/leaderboards", data={"table": table}).text)
    assert "items by id, arms by model" in long.text
    assert "of 2 measures: score" in long.text or "read as metric=score" in long.text


def test_columns_that_are_not_plain_are_asked_for_as_a_page_can(tester):
    got = tester.post("/leaderboards", data={"table": "id,model,score,match\n1,x,1,0\n1,y,0,1\n"})
    assert got.status_code == 422
    (alert,) = [text for text in Outline(got.text).words if "is not plain" in text]
    assert "call the column that holds the outcomes 'value' in the first line" in alert
    assert "--set" not in got.text


def test_less_may_be_better(tester):
    def first(better):
        outline = Outline(tester.post("/leaderboards", data={"table": WIDE, "better": better}).text)
        rows = outline.text.split("May be the best ")[1].split()
        return rows[2]

    assert (first("higher"), first("lower")) == ("c", "a")


@pytest.mark.parametrize(
    "table",
    ["", "a,b\n1", "item_id,arm,value\n1,x,nan\n1,y,1", "a\n1", '"', "a,b\n1,<script>alert(1)</script>"],
)
def test_a_table_that_cannot_be_ranked_says_why(tester, table):
    got = tester.post("/leaderboards", data={"table": table})
    assert got.status_code == 422
    outline = Outline(got.text)
    assert [each for _, each in outline.elements if each.get("role") == "alert"]
    assert outline.all("script") == []


@pytest.mark.parametrize(
    ("better", "worse", "shown"),
    [
        (0.5, 0.25, ["0.5000", "0.2500"]),
        (120, 7.5, ["120.0", "7.5"]),
        (2.5e7, 1e6, ["2.500 × 10⁷", "1.000 × 10⁶"]),
    ],
)
def test_means_stand_below_one_another_with_one_number_of_decimals(tester, better, worse, shown):
    rows = [f"{i},{arm},{value}" for i in range(8) for arm, value in (("x", better), ("y", worse))]
    table = "\n".join(["item_id,arm,value", *rows])
    outline = Outline(tester.post("/leaderboards", data={"table": table}).text)
    assert [text for text in shown if text in outline.text] == shown


@pytest.mark.parametrize(
    ("lang", "headline", "rest"),
    [("en", "(95%\u00a0CI −2", "McNemar exact, two-sided, "), ("zh", "95% 置信区间", "McNemar 检验")],
)
def test_an_answer_begins_with_what_was_estimated_and_goes_on_below(tester, lang, headline, rest):
    request = json.dumps({"both_correct": 5, "only_baseline": 3, "only_candidate": 4, "both_wrong": 2})
    answered = tester.post("/tests/mcnemar", params={"lang": lang}, data={"request": request})
    card = answered.text.partition('<p class="headline">')[2].partition("</div>")[0]
    first, _, second = card.partition("</p>")
    assert headline in first
    assert rest not in first
    assert second.strip().removeprefix("<p>").startswith(rest)


@pytest.mark.parametrize(
    ("lang", "headline"), [("en", "Observed: the candidate differs from"), ("zh", "观测到：候选组")]
)
def test_a_headline_claims_no_difference_that_its_test_does_not_show(tester, lang, headline):
    counts = {"both_correct": 1, "only_baseline": 1, "only_candidate": 7, "both_wrong": 12}
    answered = tester.post("/tests/mcnemar", params={"lang": lang}, data={"request": json.dumps(counts)})
    assert f'<p class="headline">{headline}' in answered.text


def test_what_follows_a_headline_begins_as_a_sentence(tester):
    arms = {"a": [1] * 16, "b": [1, 0] * 8, "c": [0, 0, 0, 1] * 4}
    answered = tester.post("/tests/leaderboard", data={"request": json.dumps({"arms": arms})})
    rest = (
        answered.text.partition('<p class="headline">')[2].partition("</p>")[2].lstrip().removeprefix("<p>")
    )
    assert rest.startswith("It is the best at 95%.")


@pytest.mark.parametrize("path", ["/tests", "/tests/mcnemar", "/leaderboards"])
def test_readers_alone_do_not_compute(reader, path):
    assert page(reader, path, 403)
    if path != "/tests":
        assert reader.post(path, data={"request": "{}", "table": WIDE}).status_code == 403


def test_every_page_has_its_chinese(tester):
    for path in ("/tests", "/tests/mcnemar", "/leaderboards"):
        assert page(tester, f"{path}?lang=zh").all("html") == [{"lang": "zh"}]
    answered = Outline(tester.post("/leaderboards", data={"table": WIDE}).text)
    assert "探索性结果" in answered.text


def test_no_two_things_of_an_answer_have_the_same_name(tester):
    example = dict(registry.find("cumulative-effect").example)
    answered = Outline(tester.post("/tests/cumulative-effect", data={"request": json.dumps(example)}).text)
    names = [each["id"] for _tag, each in answered.elements if "id" in each]
    assert any("clip" in each for each in names)
    assert len(names) == len(set(names))
