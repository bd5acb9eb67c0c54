"""`forelock resolve` and `audit`: what data of a size can show, from files as every question reads them."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from forelock.local import Local

ENVELOPE = {"question", "headline", "answer", "cautions", "next", "provenance"}


@pytest.fixture
def rows():
    rng = np.random.default_rng(3)
    return [(int(a), int(b), f"c{at // 20}") for at, (a, b) in enumerate(rng.integers(0, 2, (200, 2)))]


def resolved(shell, *arguments):
    """The answer without how the files were read."""
    status, output, errors = shell("resolve", *arguments, "--json")
    assert (status, errors) == (0, "")
    answer = json.loads(output)
    assert set(answer) >= ENVELOPE
    assert answer["question"] == "resolve"
    return {name: value for name, value in answer.items() if name not in ("provenance", "read")}


def test_a_pilot_is_answered_in_the_one_form(shell, rows):
    Path("pilot.csv").write_text(
        "baseline,candidate,cluster\n" + "".join(f"{a},{b},{c}\n" for a, b, c in rows)
    )
    status, output, errors = shell("resolve", "pilot.csv", "--effect", "2pp", "--markdown", "pilot.md")
    assert (status, errors) == (0, "")
    assert "items       200: smallest difference" in output
    assert "clusters    10: smallest difference" in output
    assert "note: systems are the columns baseline, candidate" in output
    assert "next: Plan about" in output
    assert output.endswith("exploratory: no plan was locked before these data\n")
    assert Path("pilot.md").read_text().startswith("### 🔭 10 clusters (200 items) like these tell")


def test_every_layout_of_a_pilot_is_the_same_pilot(shell, rows):
    """Rows, columns, two files and the request itself."""
    columns = {
        name: [row[at] for row in rows] for at, name in enumerate(("baseline", "candidate", "clusters"))
    }
    Path("p.json").write_text(json.dumps(columns))
    Path("p.csv").write_text("baseline;candidate;cluster\n" + "".join(f"{a};{b};{c}\n" for a, b, c in rows))
    lines = [json.dumps({"baseline": a, "candidate": b, "cluster": c}) for a, b, c in rows]
    Path("p.ndjson").write_text("\n".join(lines))
    for at, name in enumerate(("old.csv", "new.csv")):
        text = "".join(f"q{i},{row[at]},{row[2]}\n" for i, row in enumerate(rows))
        Path(name).write_text("item_id,value,cluster\n" + text)
    both = "".join(
        f"q{i},{arm},{row[at]},{row[2]}\n" for i, row in enumerate(rows) for at, arm in enumerate("xy")
    )
    Path("long.csv").write_text("item_id,arm,value,cluster\n" + both)
    answers = [
        resolved(shell, *files)
        for files in (["p.json"], ["p.csv"], ["p.ndjson"], ["old.csv", "new.csv"], ["long.csv"])
    ]
    assert all(answer == answers[0] for answer in answers)
    computed = Local().resolve(columns)
    assert {name: answers[0][name] for name in computed if name != "next"} == {
        name: value for name, value in computed.items() if name != "next"
    }
    assert answers[0]["answer"]["detectable_80"] == computed["reach"][-1]["detectable_80"]


def test_items_that_one_arm_lacks_are_left_out(shell):
    Path("p.json").write_text(json.dumps({"baseline": [1, 0, 1, None] * 4, "candidate": [0, 0, 1, 1] * 4}))
    assert resolved(shell, "p.json")["n"] == 12


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (
            "baseline,candidate,hypothesis\n1,0,H1\n0,1,H2\n",
            "holds several pilots, by its column 'hypothesis'",
        ),
        ("baseline,candidate\n", "pilot.csv"),
        ("item_id,value\nq1,1\n", "takes two arms"),
    ],
)
def test_what_is_no_pilot_is_refused(shell, content, said):
    Path("pilot.csv").write_text(content)
    status, output, errors = shell("resolve", "pilot.csv")
    assert (status in (1, 2), output) == (True, "")
    assert said in errors


def test_three_files_are_no_pair(shell):
    status, _, errors = shell("resolve", "a.csv", "b.csv", "c.csv")
    assert (status, "two result files" in errors) == (2, True)


def test_two_published_accuracies_are_answered_in_the_one_form(shell):
    status, output, _ = shell("audit", "-n", "500", "-a", ".76", "-b", ".75")
    assert status == 0
    assert " ".join(output.split()).startswith(
        "76.0% against 75.0% on 500 items is not shown to be more than chance, whatever the rows are: +1.00 pp, "
        "exact p 0.062 to 0.798, by the rows Not shown: that they are equal."
    )
    assert "differ by +1.00 pp" not in output
    whole = " ".join(shell("audit", "-n", "500", "-a", ".76", "-b", ".75", "--explain")[1].split())
    assert "differ by +1.00 pp, with 5 to 245 discordant items" in whole
    assert "  as many discordant items as the accuracies allow (245):\n    items     500: smallest" in output
    assert shell("audit", "-n", "500", "-a", "76%", "-b", "75 %") == (0, output, "")
    answer = json.loads(shell("audit", "-n", "500", "-a", ".76", "-b", ".75", "--json")[1])
    computed = Local().audit({"n": 500, "candidate": 0.76, "baseline": 0.75})
    assert set(answer) >= ENVELOPE
    assert {name: answer[name] for name in computed} == computed
    told = answer["answer"]
    assert (told["estimate"], told["p_low"], told["n"]) == (
        computed["delta"],
        computed["least"]["p_value"],
        500,
    )


@pytest.mark.parametrize(
    ("accuracy", "said"),
    [
        ("65", "65 is no proportion: write 0.65 or 65%"),
        ("1.5", "1.5 is no proportion: write 0.015 or 1.5%"),
        ("650", "650 is no proportion: write one from 0 to 1, or 0% to 100%"),
        ("-0.1", "-0.1 is no proportion: write one from 0 to 1"),
        ("65%%", "'65%%' is no proportion: write one such as 0.65 or 65%"),
        ("nan", "'nan' is no proportion: write one such as"),
        ("much", "'much' is no proportion: write one such as"),
    ],
)
def test_an_accuracy_that_is_no_proportion_is_asked_back(shell, accuracy, said):
    status, output, errors = shell("audit", "-n", "500", f"-a={accuracy}", "-b", ".6")
    assert (status, output) == (2, "")
    assert f"argument -a/--candidate: {said}" in errors
