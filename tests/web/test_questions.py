"""Questions to uploaded result files: a page says what the command line says, and how to ask it there again."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from forelock import cli
from service.api.calculators.command_line import make_file_names
from service.web.calculations.questions import MOST_ROWS, make_shelves, name_fields
from service.web.html.speech import ENGLISH
from tests.web.outline import Outline, page

RIGHT = "item_id,repo,value\n" + "".join(f"q{i},r{i % 6},{int(i % 4 > 0)}\n" for i in range(60))
WRONG = "item_id,repo,value\n" + "".join(f"q{i},r{i % 6},{int(i % 3 > 0)}\n" for i in range(60))


@pytest.fixture
def tester(browser, new_key):
    _key, secret = new_key("read", "tests:run")
    assert browser.post("/login", data={"key": secret}).status_code == 303
    return browser


def asked(tester, *files, status=200, **fields):
    """What the page says; the first files are `first`, a second one of a gate is `second`."""
    names = ("first", "second") if fields.get("question") == "gate" else ("first", "first")
    sent = [(name, (file, content)) for name, (file, content) in zip(names, files, strict=False)]
    got = tester.post("/questions", data=fields, files=sent or [("first", ("", b""))])
    assert got.status_code == status
    return Outline(got.text)


@pytest.mark.parametrize("question", ["items", "resolve"])
def test_page_answers_what_has_no_picture(tester, question):
    table = "item_id,old,new\n" + "".join(f"q{at},{at % 3 % 2},{at % 4 % 2}\n" for at in range(60))
    outline = asked(tester, ("both.csv", table), question=question, arms="old,new")
    assert f"forelock {question} both.csv --arms=old,new" in outline.text
    assert "fault" not in {each.get("class") for _, each in outline.elements}


@pytest.mark.parametrize(
    ("fields", "arguments"),
    [
        ({"question": "score"}, ["score", "old.csv"]),
        ({"question": "score", "cluster": "repo", "at-least": "95%"},
         ["score", "old.csv", "--at-least=95%", "--cluster=repo"]),
        ({"question": "gate", "cluster": "repo", "margin": "2pp", "better": "higher"},
         ["gate", "old.csv", "new.csv", "--margin=2pp", "--cluster=repo"]),
        ({"question": "gate", "set": "item_id=item_id\ncluster=repo"},
         ["gate", "old.csv", "new.csv", "--set=item_id=item_id", "--set=cluster=repo"]),
        ({"question": "score", "suite": "repo"}, ["score", "old.csv", "--suite=repo"]),
    ],
)  # fmt: skip
def test_page_says_what_the_command_it_shows_says(tester, tmp_path, monkeypatch, capsys, fields, arguments):
    files = [("old.csv", RIGHT), ("new.csv", WRONG)][: 2 if fields["question"] == "gate" else 1]
    outline = asked(tester, *files, **fields)
    for name, content in files:
        (tmp_path / name).write_text(content)
    monkeypatch.chdir(tmp_path)
    cli.main([*arguments, "--json"])
    answer = json.loads(capsys.readouterr().out)
    assert " ".join(["forelock", *arguments]) in outline.text
    shown = json.loads(next(word for word in outline.words if word.startswith("{\n")))
    assert shown == answer
    assert answer["headline"] in outline.text
    assert len(outline.all("svg")) == 2  # for a desk, and for a phone
    assert outline.all("script") == []
    assert "fault" not in {each.get("class") for _, each in outline.elements}


@pytest.mark.parametrize(
    ("fields", "content", "said"),
    [
        ({"question": "score"}, "item_id,value\nq1,maybe\n", "what each counts as"),
        ({"question": "score", "margin": "2pp"}, RIGHT, "score takes at-least"),
        ({"question": "score", "at-least": "<script>"}, RIGHT, "<script>"),
        ({"question": "dance"}, RIGHT, "score, gate"),
        ({"question": "score", "cluster": "x" * 300}, RIGHT, "200 characters"),
        ({"question": "score", "set": "item_id"}, RIGHT, "item_id"),
        ({"question": "score"}, "\x00\x01", "old.csv"),
    ],
)
def test_what_is_refused_stays_in_the_form_with_the_way_out(tester, fields, content, said):
    outline = asked(tester, ("old.csv", content), status=422, **fields)
    assert [each for _, each in outline.elements if each.get("role") == "alert"]
    assert said in outline.text
    assert "scratch" not in outline.text
    assert outline.all("script") == []


def test_a_comparison_is_said_in_the_language_of_the_page(tester):
    files = {"first": ("old.csv", RIGHT), "second": ("new.csv", WRONG)}
    fields = {"question": "gate", "margin": "2pp"}
    got = tester.post("/questions?lang=zh", data=fields, files=files)
    assert got.status_code == 200
    (state,) = [
        attributes for _, attributes in Outline(got.text).elements if attributes.get("class") == "card"
    ]
    assert "lang" not in state
    assert re.search(
        r"(?:更好|不劣|更差|无法判定)：new\.csv 与 old\.csv 之差为 -[\d.]+ 个百分点（95% 区间 ", got.text
    )
    assert re.search(r"<p><strong>下一步：</strong>", got.text)


BOTH = "item_id,old,new\n" + "".join(f"q{at},{at % 3 % 2},{at % 4 % 2}\n" for at in range(60))


@pytest.mark.parametrize("question", ["noise", "items", "resolve"])
def test_a_chinese_answer_is_not_marked_as_english(tester, question):
    fields = {"question": question, "arms": "old,new"}
    got = tester.post("/questions?lang=zh", data=fields, files={"first": ("both.csv", BOTH)})
    assert got.status_code == 200
    for name in ("tbody", "p"):
        assert not [each for each in Outline(got.text).all(name) if each.get("lang") == "en"]
    assert "--lang=zh" in got.text


def test_parts_of_noise_are_a_table_and_what_stands_below_it_are_sentences(tester):
    got = tester.post(
        "/questions", data={"question": "noise", "arms": "old,new"}, files={"first": ("both.csv", BOTH)}
    )
    (table,) = [part for part in got.text.split("<table>") if "<caption>variance of one judgement" in part]
    assert re.search(r'<tr><th scope="row">[^<]+</th><td>not measured: ', table.partition("</table>")[0])
    assert "`" not in table.partition("</table>")[0]  # what is quoted is code
    assert re.search(r"<p>standard error [\d.]+ observed", got.text)


@pytest.mark.parametrize(
    ("refused", "said"),
    [
        ("leave --cluster out, or --unpaired", 'leave <a href="#cluster">What items share</a> out, or --unpaired'),
        ("<code>--set item_id=b</code>", '<a href="#set">Lines of the import section</a> <code>item_id=b</code>'),
        ("name one with --arm", 'name one with <a href="#arms">Systems by name</a>'),
        ("--range-of, <code>forelock --arms a</code>", "--range-of, <code>forelock --arms a</code>"),
    ],
)  # fmt: skip
def test_a_refusal_names_the_field_of_the_form_where_there_is_one(refused, said):
    assert name_fields(refused, ENGLISH) == said


def test_what_a_refusal_names_can_be_typed_into_the_page(tester):
    refused = asked(tester, ("both.csv", BOTH), status=422, question="resolve")
    assert "Systems by name old,new" in refused.text
    assert "#arms" in {link.get("href") for link in refused.all("a")}
    more = "--arms old,new --effect 2pp\n--effect=5pp"
    outline = asked(tester, ("both.csv", BOTH), question="resolve", more=more)
    assert "forelock resolve both.csv --arms=old,new --effect=2pp --effect=5pp" in outline.text
    gated = asked(tester, ("both.csv", BOTH), question="rank", more="--common --lower", arms="old,new")
    assert "forelock rank both.csv --arms=old,new --common --lower" in gated.text


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ("missing fail", "belongs to no option"),
        ("--arm 'old", "open quote"),
        ("--svg=/etc/passwd", "svg"),
        ("--url http://other.test", "url"),
        ("--", "belongs to no option"),
    ],
)
def test_other_words_than_options_of_the_question_are_refused(tester, more, said):
    outline = asked(tester, ("both.csv", BOTH), status=422, question="score", more=more)
    assert said in outline.text


def test_without_a_file_the_page_asks_for_one(tester):
    assert "choose a file" in asked(tester, question="score", status=422).text


def test_files_leave_nothing_behind_and_name_no_place_of_the_server(tester, tmp_path):
    asked(tester, ("../../etc/old.csv", RIGHT), question="score")
    assert not list((tmp_path / "scratch").iterdir())


def test_names_of_files_are_no_paths_no_options_and_not_alike():
    sent = ["a.csv", "dir/a.csv", "..\\b.csv", "--plan=x", "", "a\nb'c.csv", "x" * 300 + ".json", ".hidden"]
    names = make_file_names(sent)
    assert len(set(names)) == len(names)
    assert all(
        name and "/" not in name and name[0] not in "-." and len(name.encode()) <= 210 for name in names
    )
    assert names[:3] == ["a.csv", "1-a.csv", "b.csv"]
    assert names[6].endswith(".json")


@pytest.mark.parametrize("name", [" --svg=x", "\t-h", "\u3000-.x", "  .hidden", "x" + " " * 199 + "--svg=x"])
def test_no_space_before_an_option_makes_one_of_a_name(name):
    (named,) = make_file_names([name])
    assert named[0] not in "-."


def test_a_numbered_name_may_be_taken_too():
    names = make_file_names(["a", "2-a", "a", "3-a", "a", "a"])
    assert len(set(names)) == 6
    assert names[1] == "2-a"


def test_a_name_fits_a_disk_however_wide_its_letters_are(tmp_path):
    for name in make_file_names(["\U00020000" * 90 + ".csv"] * 2):
        (tmp_path / name).touch()
        assert name.endswith(".csv")


def test_page_is_offered_to_who_may_run_tests(tester):
    assert "/questions" in {each["href"] for each in page(tester, "/questions").all("a")}


def test_every_ink_of_a_question_has_its_colour_on_the_page():
    """In the dark a picture stands on the page's own ground: an ink that the style sheet leaves is not seen there."""
    root = Path(__file__).parents[2]
    inks = {
        ink
        for file in (root / "client/forelock/questions/pictures").glob("*.py")
        for ink in re.findall(r'"(#[0-9a-f]{6})"', file.read_text("utf-8"))
    }
    sheet = (root / "service/web/static/forelock.css").read_text("utf-8")
    journals = {"#000000", "#595959", "#8c8c8c", "#d9d9d9"}  # of `--mono`, which no page asks for
    assert {ink for ink in inks - journals if f'="{ink}"' not in sheet} == set()
    assert ".chart text:not([fill])" in sheet


def test_many_rows_of_one_name_are_folded_behind_the_first():
    rows = [
        ("score", "25%"),
        ("items", "300"),
        *(("slice", f"s{at}") for at in range(100)),
        ("next to it", "x"),
    ]
    first, folded, last = make_shelves(rows)
    assert (len(first.rows), first.folded) == (2 + MOST_ROWS, "")
    assert (len(folded.rows), folded.folded) == (100 - MOST_ROWS, "slice")
    assert last.rows == [("next to it", "x")]
    assert [row for shelf in (first, folded, last) for row in shelf.rows] == rows


def test_few_rows_stand_in_one_table():
    rows = [("slice", f"s{at}") for at in range(MOST_ROWS)]
    assert [shelf.folded for shelf in make_shelves(rows)] == [""]
    assert make_shelves([]) == []


def test_a_page_of_many_slices_has_all_of_them(tester):
    lines = [f"q{at},{at % 2},s{at % 40:02d}" for at in range(200)]
    table = ("item_id,value,kind\n" + "\n".join(lines) + "\n").encode()
    answered = tester.post(
        "/questions", data={"question": "score", "slice": "kind"}, files={"first": ("s.csv", table)}
    )
    folded = answered.text.partition('<details class="more printed"><summary>28 more: slice</summary>')[2]
    assert folded.partition("</details>")[0].count("<tr>") == 28
    assert answered.text.count('<th scope="row">slice</th>') == 40
