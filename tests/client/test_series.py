"""`forelock gate --series`: runs one by one, without a service from a file, and by the project's own series."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

SHARES = np.random.default_rng(3).beta(0.8, 0.4, 150)


def write(name, drop=0.0, left_out=0):
    rng = np.random.default_rng(sum(map(ord, name)))
    right = rng.random(len(SHARES)) < SHARES * (1 - drop)
    rows = [f"q{at},{int(value)},r{at % 30}" for at, value in enumerate(right)][left_out:]
    Path(f"{name}.csv").write_text("\n".join(["item_id,value,repo", *rows]) + "\n")
    return f"{name}.csv"


def test_runs_are_kept_in_a_file_and_a_drop_is_an_exit_status(shell):
    for name in ("a", "b"):
        assert shell("gate", "--series", "nightly", write(name), "--reference")[0] == 0
    for name in ("c", "d", "e", "f"):
        status, output, errors = shell("gate", "--series", "nightly", write(name))
        assert (status, errors) == (0, "")
    assert " ".join(output.split()).startswith("No drop is shown in 4 runs after the reference")
    for name in ("x", "y", "z", "w"):
        status, output, _ = shell("gate", "--series", "nightly", write(name, drop=0.6))
    assert status == 10
    assert "Dropped since about run 'x'" in output
    assert "├" in output
    document = json.loads(shell("gate", "--series", "nightly", "w.csv", "--json")[1])
    assert (document["answer"]["outcome"], document["n_runs"]) == ("dropped", 10)
    assert len(json.loads(Path("nightly.series.json").read_text())["runs"]) == 10
    status, output, _ = shell("gate", "--series", "nightly", write("last", drop=0.6), "--reference")
    assert (status, "Nothing is shown: 1 reference run" in output) == (0, True)


def test_a_series_begins_with_a_headline_and_what_is_open_in_both_languages(shell):
    for name, more in (("a", ("--reference",)), ("b", ())):
        shell("gate", "--series", "s", write(name), *more)
    answer = json.loads(shell("gate", "--series", "s", "b.csv", "--json")[1])
    assert answer["headline"].startswith("No drop is shown in 1 run after the reference: the last run has ")
    assert answer["headline"] not in answer["sentence"]
    assert answer["open"].startswith(
        "Not shown: that there was none. A drop that begins now takes about so many"
    )
    _, brief, _ = shell("gate", "--series", "s", "b.csv", "--lang", "zh")
    chinese = json.loads(shell("gate", "--series", "s", "b.csv", "--lang", "zh", "--json")[1])
    joined = "".join(brief.split())
    assert joined.startswith("".join((chinese["headline"] + chinese["open"]).split()))
    assert chinese["sentence"] not in joined
    assert chinese["answer"] == answer["answer"]
    assert all(
        words in brief for words in ("概率", "证据", "自参照以来 2 次", "下一步：请继续", "每次运行之后")
    )


def test_a_warning_of_the_newest_run_is_kept_in_chinese_too(shell):
    shell("gate", "--series", "s", write("a"))
    chinese = json.loads(shell("gate", "--series", "s", write("b", left_out=30), "--lang", "zh", "--json")[1])
    assert [caution["code"] for caution in chinese["cautions"]] == ["RUN_INCOMPLETE"]


def test_a_run_is_in_once_and_stays_as_it_came(shell):
    shell("gate", "--series", "nightly", write("a"), "--margin", "1pp")
    assert shell("gate", "--series", "nightly", "a.csv")[0] == 0
    assert len(json.loads(Path("nightly.series.json").read_text())["runs"]) == 1
    status, _, errors = shell("gate", "--series", "nightly", write("b"), "--run", "a")
    assert (status, "has another run 'a'" in errors) == (2, True)
    status, _, errors = shell("gate", "--series", "nightly", "b.csv", "--margin", "2pp")
    assert (status, "other settings" in errors) == (2, True)


def test_nights_are_said_to_be_alike_with_the_first_run_and_old_files_were(shell):
    for name in ("a", "b", "c", "d"):
        shell("gate", "--series", "alike", write(name), "--nights", "alike")
        shell("gate", "--series", "vary", f"{name}.csv")
    status, output, _ = shell("gate", "--series", "alike", write("x", drop=0.3))
    told = " ".join(output.split())
    assert (status, "Dropped since about run" in told) == (10, True)
    assert shell("gate", "--series", "vary", "x.csv", "--markdown", "vary.md")[0] == 0
    assert shell("gate", "--series", "alike", "x.csv", "--markdown", "alike.md")[0] == 10
    assert ["lesser of two" in Path(f"{name}.md").read_text() for name in ("vary", "alike")] == [True, False]
    status, _, errors = shell("gate", "--series", "vary", write("y"), "--nights", "alike")
    assert (status, "other settings" in errors) == (2, True)
    kept = json.loads(Path("alike.series.json").read_text())
    del kept["settings"]["nights"]
    Path("old.series.json").write_text(json.dumps(kept))
    answer = json.loads(shell("gate", "--series", "old", "x.csv", "--json")[1])
    assert (answer["answer"]["outcome"], answer["settings"]["nights"]) == ("dropped", "alike")


def test_gaps_and_clusters_are_said(shell):
    shell("gate", "--series", "s", write("a"), "--cluster", "repo")
    status, output, _ = shell("gate", "--series", "s", write("b", left_out=30), "--cluster", "repo")
    assert (status, "RUN_INCOMPLETE: Run 'b' lacks 30 of" in output) == (0, True)
    status, _, errors = shell("gate", "--series", "s", write("c"))
    assert (status, "clusters come or go" in errors) == (2, True)


RUN = '{"name": "b", "item_ids": ["q"], "values": [%s], "reference": %s%s}'


@pytest.mark.parametrize(
    "content",
    [
        "",
        "[]",
        "[" * 100_000,
        '{"runs": [{"name": "a"}], "settings": {}}',
        '{"settings": [], "runs": []}',
        *('{"settings": {}, "runs": [' + RUN % fault + "]}" for fault in (
            ('"x"', "true", ""), ("NaN", "true", ""), ("1, 2", "true", ""), ("1", "false", ""),
            ("1", "true", ', "clusters": []'), ("1", "true", ', "clusters": [null]'),
        )),
    ],
)  # fmt: skip
def test_a_file_that_is_no_series_is_refused(shell, content):
    Path("s.series.json").write_text(content)
    status, _, errors = shell("gate", "--series", "s", write("a"))
    assert (status, "is no series" in errors) == (2, True)


def test_options_of_a_series_need_its_name(shell):
    status, _, errors = shell("gate", write("a"), write("b"), "--reference")
    assert (status, "--series" in errors) == (2, True)


@pytest.mark.parametrize("mode", ["series", "look"])
@pytest.mark.parametrize(
    ("option", "more"),
    [
        ("weights", ("items",)),
        ("new-tasks", ()),
        ("suite", ("repo",)),
        ("slice", ("repo",)),
        ("items", ()),
        ("unpaired", ()),
        ("covariate", ("length",)),
        ("unseen", ("clusters",)),
        ("every-eval-ever", ("out",)),
    ],
)
def test_an_option_that_would_be_left_unread_is_refused_in_both_languages(shell, mode, option, more):
    files = [write("a"), *([write("b")] if mode == "look" else [])]
    asked = ("gate", f"--{mode}", "n", *files, f"--{option}", *more)
    status, _, errors = shell(*asked)
    assert (status, errors.strip().endswith(f"--{mode} goes without --{option}")) == (2, True)
    assert "不能与" in shell(*asked, "--lang", "zh")[2]
    assert not Path(f"n.{mode}.json").exists()


@pytest.mark.parametrize(
    ("option", "value"), [("alpha", "0.01"), ("missing", "fail"), ("range", "0..1"), ("largest-cluster", "3")]
)
def test_a_series_refuses_what_is_of_two_arms(shell, option, value):
    status, _, errors = shell("gate", "--series", "n", write("a"), f"--{option}", value)
    assert (status, errors.strip().endswith(f"--series goes without --{option}")) == (2, True)
