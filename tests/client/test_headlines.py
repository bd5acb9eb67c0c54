"""The first line of a test's answer and the second: what is said of the outcome, and nothing that it does not carry."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from forelock.numerals import raise_powers
from forelock.questions.forms.headlines import of_noise, of_ranking, of_reliability
from forelock.words import Say


@pytest.fixture(autouse=True)
def files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("LC_ALL", "LC_MESSAGES", "LANG"):
        monkeypatch.delenv(name, raising=False)
    wide = [
        "item_id,best,middle,worst",
        *(f"q{at},1,{int(at % 3 > 0)},{int((at + 1) % 3 > 0)}" for at in range(90)),
    ]
    Path("wide.csv").write_text("\n".join(wide))
    runs = [f"q{at},{run},{int((at + run) % 5 > 0)}" for at in range(40) for run in range(3)]
    Path("runs.csv").write_text("\n".join(["item_id,run,value", *runs]))
    both = [f"q{at},{arm},{run},{int((at + run * len(arm)) % 4 > 0)}"
            for at in range(40) for arm in ("old", "newer") for run in (1, 2)]  # fmt: skip
    Path("both.csv").write_text("\n".join(["item_id,arm,run,value", *both]))
    for name, step in (("a", 3), ("b", 4)):
        rows = [f"q{at},{int(at % step > 0)}" for at in range(90)]
        Path(f"{name}.csv").write_text("\n".join(["item_id,value", *rows]))


QUESTIONS = [
    ("rank", "wide.csv"),
    ("noise", "runs.csv"),
    ("noise", "both.csv", "--arms", "old,newer"),
    ("items", "wide.csv"),
    ("resolve", "a.csv", "b.csv"),
    ("audit", "-n", "500", "-a", "80%", "-b", "75%"),
]


@pytest.mark.parametrize("arguments", QUESTIONS)
@pytest.mark.parametrize("language", ["en", "zh"])
def test_the_long_sentence_stands_where_it_is_asked_for_and_nowhere_twice(shell, arguments, language):
    _, output, _ = shell(*arguments, "--lang", language, "--json")
    answer = json.loads(output)
    assert answer["headline"] not in ("", answer["sentence"])
    assert "\n" not in answer["headline"]
    assert not answer["headline"].endswith((".", "。"))
    assert answer["open"].endswith((".", "。"))
    _, brief, _ = shell(*arguments, "--lang", language)
    _, whole, _ = shell(*arguments, "--lang", language, "--explain", "--markdown", "out.md")

    def joined(text):
        return "".join(raise_powers(text).split())  # a program reads 6.0e-08, a person 6.0 × 10⁻⁸

    sentence, comment = joined(answer["sentence"]), joined(Path("out.md").read_text().replace("\\", ""))
    assert joined(brief).startswith(joined(answer["headline"] + answer["open"]))
    assert sentence not in joined(brief)
    assert joined(whole).count(sentence) == 1
    assert comment.count(sentence) == 1
    assert comment.index(sentence) > comment.index("<details>")


def board(best, apart, lead=0.1):
    arms = [{"may_be_best": at < best} for at in range(3)]
    pairs = [
        {"first": first, "second": second, "apart": told}
        for (first, second), told in zip((("a", "b"), ("a", "c"), ("b", "c")), apart, strict=True)
    ]
    winner = {"name": "a", "runner_up": "b", "lead": lead, "ci": {"low": 0.05, "high": 0.15, "level": 0.95}}
    return {"arms": arms, "pairs": pairs, "winner": winner}


@pytest.mark.parametrize(
    ("analysis", "line", "rest"),
    [
        (board(1, (True, True, True)), "a is the best of 3 systems, +10.00 pp (95% CI +5.00 to +15.00 pp) ahead", ""),
        (board(2, (False, True, True)), "2 of 3 systems may be the best; a comes first, ",
         "Not shown: any difference between a and b."),
        (board(3, (False, False, False)), "Any of 3 systems may be the best; a comes first, ",
         "Not shown: any difference in 3 of 3 pairs."),
        (board(3, (False, False, True), lead=None), "Any of 3 systems may be the best; a comes first",
         "Not shown: any difference between a and b; a and c."),
    ],
)  # fmt: skip
def test_a_ranking_names_a_best_only_where_one_alone_may_be_it(analysis, line, rest):
    said, left = of_ranking(analysis, points=True)
    assert said.startswith(line)
    assert left == rest


def test_a_ranking_of_an_earlier_service_keeps_its_sentence():
    assert of_ranking({"arms": [], "pairs": []}, points=True) == ("", "")


def differing(p, ci=None):
    error = {"item_by_arm": 0.03, "run": 0.01, "judge": None}
    ends = ci or {"low": 0.01, "high": 0.3, "level": 0.95}
    return {"p_value": p, "delta": 0.15, "ci": ends, "error": error}


def test_noise_says_that_systems_differ_only_below_alpha():
    names = ("old", "new")
    line, rest = of_noise(differing(0.04), names, points=True, alpha=0.05)
    assert line == (
        "new differs from old by +15.00 pp (95% CI +1.00 to +30.00 pp); of its error 75% is the choice of items, "
        "25% is noise of runs"
    )
    assert rest.startswith("Not shown: which one to ship")
    line, rest = of_noise(differing(0.04), names, points=True, alpha=0.025)
    assert line.startswith("new is not shown to differ from old: +15.00 pp")
    assert rest == "Not shown: that they are equal."
    without = {"low": None, "high": None, "level": 0.95}
    line, rest = of_noise(differing(None, without), names, points=False, alpha=0.05)
    assert line.startswith("new is not shown to differ from old: +0.15, without an interval")
    assert of_noise(differing(None), names, points=True, alpha=0.05, say=Say("zh"))[1] == "未表明二者相等。"


def test_reliability_says_what_is_open_of_how_many_items():
    half = {"value": 0.5, "ci": {"low": 0.4, "high": 0.6, "level": 0.95}}
    one = {"k": 1, "best": half, "worst": {"value": 0.75, "ci": None}}
    analysis = {
        "least_share": 0.9, "curve": [one, {"k": 4, "best": half, "worst": half}], "most_runs": 4,
        "n_undecided": 18, "n": 20,
    }  # fmt: skip
    line, rest = of_reliability(analysis, "agent")
    assert line == (
        "Of the items agent gets 50.00% (95% CI 40.00% to 60.00%) right in all of 4 runs, 75.00% in a single one"
    )
    assert rest == (
        "Not shown of 18 of 20 items: whether they are right at least 90% of the time, or less often."
    )
    assert of_reliability({**analysis, "n_undecided": 0}, "agent")[1] == ""
    once = {**analysis, "curve": [one], "most_runs": 1}
    assert of_reliability(once, "agent") == (
        "Of the items agent gets 75.00%, without an interval right in one run",
        "Not shown: what another run would give.",
    )
