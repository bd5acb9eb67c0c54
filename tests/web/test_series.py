"""Pages of series: what each shows, in words, numbers and a picture, in both languages, to who may read it."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pytest

import service.web
from service.reports.charts.runs import LARGEST_POWER, MOST_RUNS, runs
from service.words import LANGUAGES
from service.words.catalogue import templates
from tests.web.outline import page

ITEMS = [f"q{number}" for number in range(80)]
SHARES = np.random.default_rng(3).beta(0.8, 0.5, len(ITEMS))
ROOT = Path(service.web.__file__).parents[1]


def run(name, drop=0.0, **more):
    rng = np.random.default_rng(sum(map(ord, name)))
    values = (rng.random(len(ITEMS)) < SHARES * (1 - drop)).astype(int).tolist()
    return {"name": name, "item_ids": ITEMS, "values": values, **more}


@pytest.fixture
def post(browser, new_key):
    """Post a run as a job does, and take what the API answers."""

    def send(body, series="nightly", of="project1"):
        _key, secret = new_key("results:write", of=of)
        headers = {"Authorization": f"Bearer {secret}"}
        answer = browser.post(f"/v1/series/{series}/points", json=body, headers=headers)
        assert answer.status_code == 201, answer.text
        return answer.json()

    return send


@pytest.fixture
def dropped(post):
    """A series of nine runs whose last four are far lower; what the API says of it."""
    for name in ("a", "b", "c", "d", "e"):
        post(run(name, settings={"false_alarm_every": 100, "margin": {"value": 1, "unit": "pp"}}))
    for name in ("v", "w", "x"):
        post(run(name, drop=0.5))
    return post(run("z", drop=0.5))


def test_a_page_says_what_the_api_says(reader, dropped):
    assert dropped["outcome"] == "dropped"
    text = page(reader, "/series/nightly").text
    for told in (*(dropped[part] for part in ("headline", "open", "sentence", "next")), dropped["since"]):
        assert told in text
    assert "100" in text
    assert "1 pp" in text
    newest = dropped["runs"][-1]["standing"]
    assert f"{newest['mean']:.2%}" in text
    assert (f"{newest['p_value']:.3g}" if newest["p_value"] >= 0.0001 else "<0.0001") in text
    assert "e+" not in text, "evidence is a number that a person can read"
    assert text.count("since about the drop") >= 4


def test_the_picture_is_drawn_twice_and_described(reader, dropped):
    html = reader.get("/series/nightly").text
    assert html.count("<svg") == 2
    (described,) = re.findall(r'role="img" aria-label="([^"]*)"', html)
    assert "Runs against the reference" in described
    assert "A drop is shown at run" in described


def test_a_page_is_in_the_language_of_who_reads_it(reader, dropped):
    assert dropped["outcome"] == "dropped"
    outline = page(reader, "/series/nightly?lang=zh")
    assert "起下降，至运行“" in outline.text
    assert "已下降" in outline.text
    assert not re.search(r"Dropped|reference true|since about|Evidence", outline.text)
    assert "运行序列" in page(reader, "/series").text


def test_what_a_reader_of_the_newest_run_has_to_know_is_told_in_both_languages(reader, post):
    post(run("a"))
    fewer = run("b")
    state = post(fewer | {"item_ids": ITEMS[20:], "values": fewer["values"][20:]})
    (warning,) = state["warnings"]
    assert warning["message"] in page(reader, "/series/nightly").text
    assert "运行“b”缺少参照 80 个题目中的 20 个" in page(reader, "/series/nightly?lang=zh").text
    assert "60 / 80" in page(reader, "/series/nightly").text


def test_the_list_names_every_series_of_the_project_and_none_of_another(reader, post, others):
    assert "There is none in this project yet." in page(reader, "/series").text
    post(run("a"))
    post(run("b"), "weekly & <b>bold")
    post(run("c"), "theirs", of=others)
    outline = page(reader, "/series")
    assert "theirs" not in outline.text
    assert "weekly & <b>bold" in outline.text
    assert "no run after the reference" in outline.text
    for link in (each["href"] for each in outline.all("a") if each["href"].startswith("/series/")):
        assert page(reader, link).all("table")
    assert page(reader, "/series/theirs", 404)
    assert page(reader, "/series/nobody", 404)


def test_who_has_not_signed_in_is_sent_there_and_back(browser, new_key, post):
    post(run("a"))
    for path in ("/series", "/series/nightly"):
        answer = browser.get(path)
        assert (answer.status_code, answer.headers["location"]) == (
            303,
            f"/login?next={path.replace('/', '%2F')}",
        )
        _key, secret = new_key("read")
        answer = browser.post("/login", data={"key": secret, "next": path})
        assert answer.headers["location"] == path
        browser.post("/logout")
    _key, secret = new_key("results:write")
    assert browser.post("/login", data={"key": secret}).status_code == 403


@pytest.mark.parametrize(
    "path", ["/series/..//evil", "/series/a?b", "/series/a%2fb", "/series/", "/series/a b"]
)
def test_signing_in_leads_to_no_address_that_is_not_a_page_of_ours(browser, new_key, path):
    _key, secret = new_key("read")
    answer = browser.post("/login", data={"key": secret, "next": path})
    assert answer.headers["location"] == "/preregistrations"


def test_a_series_of_nothing_but_references_has_no_picture(reader, post):
    post(run("a"))
    post(run("b", reference=True))
    html = reader.get("/series/nightly").text
    assert "<svg" not in html
    assert "2 reference runs, and no run after" in html


def test_every_word_of_the_room_is_said_somewhere():
    sources = [*ROOT.rglob("*.py"), *ROOT.rglob("templates/*.html")]
    said = {code for path in sources for code in re.findall(r"""["']series\.(\w+)["']""", path.read_text())}
    said |= {"picture_before", "picture_since"}
    said |= {  # named by what a series shows
        f"{part}{outcome}"
        for part in ("", "line_", "open_")
        for outcome in ("no_drop_shown", "dropped", "fell_back")
    }
    assert set(templates("en", "series")) == said - {"create", "run", "html"} | {"run"}


def answer_of(many, since=None):
    standing = {"delta": -0.1, "ci": {"low": -0.2, "high": 0.0}}
    return [
        {
            "number": at,
            "name": f"n{at}",
            "standing": standing,
            "evidence": None if at < 3 else 10.0 ** min(at - 5, 300),
        }
        for at in range(1, many + 1)
    ]


def test_a_picture_holds_the_newest_runs_and_marks_since_when():
    spec = runs(answer_of(500), every=1000, binary=True, since=490, alarm=495)
    rows = spec["data"]["values"]
    assert [rows[0]["number"], rows[-1]["number"], len(rows)] == [500 - MOST_RUNS + 1, 500, MOST_RUNS]
    assert [row["number"] for row in rows if row["fallen"]] == list(range(490, 501))
    assert f"the newest {MOST_RUNS} of 498 runs" in json.dumps(spec["title"])
    assert rows[-1]["power"] == LARGEST_POWER
    assert (rows[0]["low"], rows[0]["delta"], rows[0]["high"]) == (-0.2, -0.1, 0.0)


def test_evidence_is_drawn_as_a_power_of_ten_against_the_one_that_decides():
    spec = runs(answer_of(8), every=1000, binary=False)
    assert [round(row["power"], 9) for row in spec["data"]["values"]] == [-2, -1, 0, 1, 2, 3]
    below = spec["vconcat"][1]["layer"][0]
    assert below["encoding"]["y"]["datum"] == pytest.approx(3)


@pytest.mark.parametrize("language", LANGUAGES)
def test_an_accepted_drop_is_drawn_where_differences_have_it(language):
    spec = runs(answer_of(8), every=10, binary=True, accepted=-0.01, language=language)
    drawn = [layer["encoding"]["y"].get("datum") for layer in spec["vconcat"][0]["layer"]]
    assert -0.01 in drawn
