"""`forelock score` without a service: files in, words, picture and exit status out."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from forelock.questions.amounts import threshold_of
from forelock.questions.forms.form import as_markdown, as_text
from forelock.questions.forms.score_form import exit_code, form_of, picture_of

FILES = Path(__file__).parents[1] / "ingest" / "files"
HEADER = "item_id,value,repo"


def write(name, values, clusters=None, header=HEADER):
    rows = [f"q{at},{value},r{at % clusters if clusters else at}" for at, value in enumerate(values)]
    Path(name).write_text("\n".join([header, *rows]) + "\n")


@pytest.mark.parametrize(
    ("right", "options", "begins", "status"),
    [
        (45, (), "runs.csv scores 90.0% (95% CI 78.2% to 96.7%)", 0),
        (45, ("--at-least", "75%"), "runs.csv reaches 75.0%: 90.0%", 0),
        (20, ("--at-least", "0.75"), "runs.csv falls short of 75.0%: 40.0%", 10),
        (40, ("--at-least", "75%"), "Cannot tell whether runs.csv reaches 75.0%: 80.0%", 12),
        (2, ("--at-most", "20%"), "runs.csv keeps to at most 20.0%: 4.0%", 0),
        (40, ("--at-most", "20%"), "runs.csv exceeds 20.0%: 80.0%", 10),
    ],
)
def test_score_says_it_in_words_and_ends_so(shell, right, options, begins, status):
    write("runs.csv", [1] * right + [0] * (50 - right))
    ended, output, errors = shell("score", "runs.csv", *options)
    assert (ended, errors) == (status, "")
    assert " ".join(output.split()).startswith(begins)
    assert output.rstrip().endswith("exploratory: no plan was locked before these data")
    assert "\nnext: " in output
    assert re.search("├[─┊]*●[─┊]*┤|├─+●", output)


def test_score_takes_clusters_and_points_to_them(shell):
    write("runs.csv", [int(at % 11 > 5) for at in range(220)], clusters=11)
    _, output, _ = shell("score", "runs.csv")
    assert "note: items that share a source are not independent: --cluster repo (11) if they do" in output
    status, output, _ = shell("score", "runs.csv", "--cluster", "repo")
    assert status == 0
    assert "in clusters" in output
    assert "if independent" in output
    assert "CR0 interval" in output
    found = json.loads(shell("score", "runs.csv", "--cluster", "repo", "--json")[1])
    assert found["clusters"]["n_clusters"] == 11
    assert found["read"]["cluster"] == "repo"


def test_score_has_a_line_for_every_slice(shell):
    rows = [f"q{at},{int(at % 10 > at // 50)},{'abc'[at // 50]}" for at in range(150)]
    Path("runs.csv").write_text("\n".join(["item_id,value,category", *rows]))
    status, output, _ = shell("score", "runs.csv", "--slice", "category", "--at-least", "60%")
    assert [line.split()[1] for line in output.split("\n") if line.startswith("  slice ")] == [
        "a",
        "b",
        "c",
        "together:",
    ]
    assert status == 0


def test_score_answers_for_each_system_of_a_file_and_for_one_that_is_named(shell):
    rows = [f"q{at},{arm},{int((at + len(arm)) % 3 > 0)}" for at in range(30) for arm in ("gpt", "claude")]
    Path("both.csv").write_text("\n".join(["item_id,model,value", *rows]))
    status, output, errors = shell("score", "both.csv")
    assert (status, errors) == (0, "")
    assert output.startswith("2 systems have the same score, 66.67%")
    assert "Each interval is of its system alone" in " ".join(output.split())
    found = json.loads(shell("score", "both.csv", "--json")[1])
    alone = json.loads(shell("score", "both.csv", "--arm", "claude", "--json")[1])
    assert {each["name"] for each in found["answer"]["systems"]} == {"gpt", "claude"}
    assert found["systems"]["claude"]["ci"] == alone["ci"]
    assert found["question"] == "score"
    status, output, errors = shell("score", "both.csv", "--arm", "claude")
    assert (status, errors) == (0, "")
    assert output.startswith("claude scores ")
    assert "has no system 'nobody'" in shell("score", "both.csv", "--arm", "nobody")[2]


def test_score_takes_a_wide_table_by_its_column(shell):
    Path("wide.csv").write_text("item_id,gpt,claude\n" + "".join(f"q{at},{at % 2},1\n" for at in range(20)))
    status, output, _ = shell("score", "wide.csv", "--metric", "claude")
    assert (status, output.startswith("wide.csv scores 100.0%")) == (0, True)
    status, _, errors = shell("score", "wide.csv")
    assert status == 2
    assert "--metric gpt" in errors


def test_score_reads_runs_and_says_both_errors(shell):
    rows = [f"{task},{trial},{int((task * trial) % 5 > 1)}" for trial in range(4) for task in range(25)]
    Path("runs.csv").write_text("\n".join(["task,trial,reward", *rows]))
    status, output, _ = shell("score", "runs.csv")
    assert "runs of an item by trial" in " ".join(output.split())
    assert status == 0
    assert "items       25, 100 runs" in output
    assert "these items" in output


def test_a_guessed_id_that_repeats_more_often_than_it_differs_is_not_offered(shell):
    rows = [f"{task},{trial},{(task * trial) % 2}" for trial in range(4) for task in range(25)]
    Path("runs.csv").write_text("\n".join(["scenario,trial,reward", *rows]))
    status, _, errors = shell("score", "runs.csv")
    assert status == 2
    assert "--set item_id=scenario" in errors
    assert "item_id=reward" not in errors
    assert "item_id=trial" not in errors


def test_score_reads_a_harness_and_several_files_of_one_system(shell):
    inspect = FILES / "inspect" / "0.3.285" / "baseline.eval"
    status, output, errors = shell("score", str(inspect), "--json")
    assert (status, errors) == (0, "")
    found = json.loads(output)
    assert found["n"] > 0
    assert found["missing"] is None or found["missing"]["n"] > 0
    write("one.csv", [1] * 10)
    Path("two.csv").write_text("item_id,value,repo\n" + "".join(f"p{at},0,x\n" for at in range(10)))
    found = json.loads(shell("score", "one.csv", "two.csv", "--json")[1])
    assert (found["n"], found["mean"]) == (20, 0.5)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--at-least", "much"), "the threshold 'much' is none: write one such as 95% or 0.95"),
        (("--at-least", "95"), "did you mean 0.95"),
        (("--at-least", "100%"), "strictly between"),
        (("--at-least", ".9", "--at-most", ".8"), "name --at-most where lower is"),
        (("--at-least", ".9", "--lower"), "name --at-most where lower is"),
        (("--metric", "speed"), "there is no measure 'speed'"),
        (("--range", "5..1"), "the range '5..1' is none"),
    ],
)
def test_score_refuses_in_a_sentence(shell, options, said):
    write("runs.csv", [1, 0, 1])
    status, output, errors = shell("score", "runs.csv", *options)
    assert status in (1, 2)
    assert said in errors
    assert output == ""


def test_a_threshold_is_read_with_and_without_percent():
    assert (threshold_of("95%"), threshold_of(" .95"), threshold_of("3.5")) == (0.95, 0.95, 3.5)


def test_output_is_ascii_where_the_terminal_has_nothing_else_and_markdown_escapes_names(shell):
    write("a|b.csv", [1] * 9 + [0])
    _, output, _ = shell("score", "a|b.csv", "--ascii", "--markdown", "out.md", "--json")
    found = json.loads(output)
    assert as_text(form_of(found), encoding="ascii").isascii()
    comment = Path("out.md").read_text()
    assert comment.startswith("### 📏 a\\|b.csv scores 90.0%")
    assert comment == as_markdown(form_of(found), found["provenance"]["remarks"])
    assert exit_code(found) == 0
    assert picture_of({**found, "ci": None}) is None


def test_items_without_a_result_are_named(shell):
    write("runs.csv", [1] * 40 + ["", ""])
    status, output, _ = shell("score", "runs.csv", "--at-least", "88%")
    assert status == 0
    assert "left out    2 without a result: q40, q41" in output
    assert "MISSING_RESULTS" in output
    assert shell("score", "runs.csv", "--at-least", "88%", "--missing", "fail")[0] == 12


def test_systems_that_score_the_same_are_not_told_as_the_highest_and_the_lowest(shell):
    Path("alike.csv").write_text(
        "item_id,arm,value\n" + "".join(f"q{at},{arm},1\n" for arm in "ab" for at in range(9))
    )
    status, output, _ = shell("score", "alike.csv")
    assert (status, output.splitlines()[0]) == (0, "2 systems have the same score, 100.00%")


def test_a_ranking_is_advised_where_there_is_one(shell):
    """Of a single item `rank` refuses, and what is advised has to run."""
    for items, advised in ((1, False), (2, True)):
        rows = [f"q{at},{arm},1\n" for arm in "ab" for at in range(items)]
        Path("few.csv").write_text("item_id,arm,value\n" + "".join(rows))
        _, output, _ = shell("score", "few.csv")
        assert ("`forelock rank`" in output) == advised
        assert (shell("rank", "few.csv")[0] not in (1, 2)) == advised
