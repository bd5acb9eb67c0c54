"""Questions in a notebook: the command's own answers, shown with their picture, saved for a paper, and frames."""

from __future__ import annotations

import json
import re
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

import forelock
from forelock import local
from forelock.problem import ForelockError
from forelock.questions.pictures.drawing import Bar, Bound, Picture
from forelock.questions.pictures.paper import Paper, column

NAME = "{http://www.w3.org/2000/svg}"


@pytest.fixture(autouse=True)
def files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("FORELOCK_URL", "FORELOCK_API_KEY", "LC_ALL", "LC_MESSAGES", "LANG"):
        monkeypatch.delenv(name, raising=False)
    for name, step in (("old", 3), ("<b>new", 5)):
        rows = [f"q{at},{int(at % step > 0)},k{at % 2}" for at in range(80)]
        Path(f"{name}.csv").write_text("\n".join(["item_id,value,kind", *rows]))


def test_a_comparison_is_what_the_command_answers(shell):
    answered = forelock.gate("old.csv", "<b>new.csv", margin="2pp", slice="kind")
    printed = json.loads(
        shell("gate", "old.csv", "<b>new.csv", "--margin", "2pp", "--slice", "kind", "--json")[1]
    )
    assert answered.document == printed
    assert (answered.headline, answered.open) == (printed["headline"], printed["open"])
    assert str(answered).startswith(answered.headline[:40])
    rows = answered.to_frame()
    assert list(rows["part"]) == ["all", "k1", "k0"] or list(rows["part"]) == ["all", "k0", "k1"]
    assert rows["estimate"][0] == printed["answer"]["estimate"]
    assert set(rows.columns) >= {"part", "outcome", "estimate", "low", "high", "level", "n"}


def test_it_shows_headline_picture_and_numbers_and_every_text_is_text():
    shown = forelock.gate("old.csv", "<b>new.csv")._repr_html_()
    assert shown.index("<strong>") < shown.index("<svg") < shown.index("<table>")
    assert "<b>" not in shown
    assert "&lt;b&gt;new.csv" in shown
    assert shown.count("<svg") == 1


def test_scores_and_rankings_have_a_row_for_every_system():
    rows = [f"q{at},{arm},{int((at + len(arm)) % 3 > 0)}" for at in range(60) for arm in ("a", "bb")]
    Path("both.csv").write_text("\n".join(["item_id,arm,value", *rows]))
    both = forelock.score("both.csv", at_least="40%")
    assert list(both.to_frame()["name"]) == ["a", "bb"]
    one = forelock.score("old.csv")
    assert list(one.to_frame()["part"]) == ["all"]
    ranked = forelock.rank("old.csv", "<b>new.csv", lower=True).to_frame()
    assert list(ranked["name"]) == ["old.csv", "<b>new.csv"]
    assert list(ranked["rank"]) == [1, 2]
    assert repr(both).startswith("Score(")


def test_what_the_command_refuses_is_an_error_with_the_way_out():
    with pytest.raises(ForelockError, match=r"nothing\.csv"):
        forelock.gate("old.csv", "nothing.csv")
    with pytest.raises(ForelockError, match="--no-such=1"):
        forelock.gate("old.csv", "<b>new.csv", no_such=1)


def test_a_picture_is_as_wide_as_a_column_in_every_form():
    answered = forelock.gate("old.csv", "<b>new.csv", margin="2pp")
    answered.save("one.svg", width=85, serif=True)
    root = ET.fromstring(Path("one.svg").read_text())
    assert root.get("width") == "85mm"
    assert root.get("font-family").startswith("Libertinus Serif")
    answered.save("one.pdf", width=85, serif=True)
    pdf = Path("one.pdf").read_bytes()
    (box,) = re.findall(rb"/MediaBox ?\[0 0 ([\d.]+) [\d.]+\]", pdf)
    assert float(box) == pytest.approx(85 / 25.4 * 72, abs=0.01)
    assert b"Libertinus" in pdf
    answered.save("one.png", width=85)
    wide = int.from_bytes(Path("one.png").read_bytes()[16:20], "big")
    assert wide == pytest.approx(85 / 25.4 * 600, abs=2)
    with pytest.raises(ForelockError, match=r"ends in \.svg, \.pdf or \.png"):
        answered.save("one.gif")


def test_without_the_server_package_a_pdf_names_the_way_out(monkeypatch):
    monkeypatch.setattr(local, "offers", lambda group: ())
    answered = forelock.gate.__globals__["Comparison"]
    picture = Picture([Bar(0, 1, 2)], [Bound(0.0, "0", "zero")])
    with pytest.raises(ForelockError, match="PDF takes the server package; --svg needs nothing"):
        local.set_picture(picture.svg("x"), "pdf", "one.pdf")
    assert answered.__name__ == "Comparison"


@pytest.mark.parametrize("question", [
    ("gate", "old.csv", "<b>new.csv"), ("score", "old.csv"), ("rank", "old.csv", "<b>new.csv"),
    ("items", "old.csv", "<b>new.csv"), ("resolve", "old.csv", "<b>new.csv"), ("noise", "old.csv"),
    ("noise", "old.csv", "<b>new.csv"), ("audit", "-n", "500", "-a", "76%", "-b", "75%"),
])  # fmt: skip
def test_every_question_has_a_picture_of_greys_alone_where_that_is_asked(shell, question):
    status, _, errors = shell(*question, "--svg", "grey.svg", "--width", "85", "--mono")
    assert (status in (0, 10, 12), errors) == (True, "")
    root = ET.fromstring(Path("grey.svg").read_text())
    colours = {each.get(name) for each in root.iter() for name in ("fill", "stroke")} - {None, "none"}
    channels = [[int(colour[at : at + 2], 16) for at in (1, 3, 5)] for colour in colours]
    assert all(max(of) - min(of) < 36 for of in channels), colours  # slate of words is as good as grey
    for text in root.iter(f"{NAME}text"):
        assert 0 <= float(text.get("x")) <= 322


def test_a_width_without_a_picture_and_one_that_is_none_are_refused(shell):
    status, _, errors = shell("gate", "old.csv", "<b>new.csv", "--serif")
    assert (status, "name its file with --pdf, --svg or --png" in errors) == (2, True)
    status, _, errors = shell("gate", "old.csv", "<b>new.csv", "--svg", "a.svg", "--width", "3")
    assert (status, "write millimetres from 40 to 400, such as 85" in errors) == (2, True)


def test_labels_of_bounds_that_are_near_stand_in_two_lines_and_a_scale_says_them_once():
    bounds = [Bound(-0.001, "-0.10 pp"), Bound(0.0, "0", "zero"), Bound(0.5, "+50.00 pp")]
    root = ET.fromstring(Picture([Bar(-1.0, 0.0, 1.0)], bounds).svg("x"))
    lines = {text.text: text.get("y") for text in root.iter(f"{NAME}text")}
    assert lines["−0.10 pp"] == lines["+50.00 pp"] != lines["0"]
    scaled = Picture([Bar(-1.0, 0.0, 1.0)], bounds, lambda value: f"{value:+.1f}").svg("x", column(85))
    said = [text.text for text in ET.fromstring(scaled).iter(f"{NAME}text")]
    assert "0" not in said
    assert said.count("+0.0") == 1


def test_names_that_are_too_long_lose_their_middle():
    paper = Paper()
    short = paper.shorten("a" * 50 + "z" * 50, 100)
    assert (short[0], short[-1], "~" in short) == ("a", "z", True)
    assert paper.room_of(short) <= 100
    assert paper.shorten("名" * 40, 100).count("名") < 10
    assert paper.shorten("short", 100) == "short"
