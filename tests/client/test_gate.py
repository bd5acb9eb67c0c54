"""`forelock gate`, `rank`, `resolve` and `audit` without a service: files in, words and exit status out."""

from __future__ import annotations

import csv
import json
import re
from pathlib import Path

import numpy as np
import pytest

from forelock import local
from forelock.problem import FileFault
from forelock.questions.amounts import margin_of
from forelock.questions.forms.form import as_markdown, as_text
from forelock.questions.forms.gate_form import exit_code, form_of, picture_of

FILES = Path(__file__).parents[1] / "ingest" / "files"


def write(name, values, clusters=None):
    lines = ["item_id,value,conversation"]
    lines += [
        f"q{at},{value:g},c{at if clusters is None else at % clusters}" for at, value in enumerate(values)
    ]
    Path(name).write_text("\n".join(lines) + "\n")


def arms(wins, losses, same=100):
    """Columns in which the candidate wins and loses so many items."""
    base = [0] * wins + [1] * losses + [1, 0] * (same // 2)
    other = [1] * wins + [0] * losses + [1, 0] * (same // 2)
    return base, other


def columns(base, other, clusters=None):
    write("base.csv", base, clusters)
    write("cand.csv", other, clusters)


@pytest.mark.parametrize(
    ("wins", "losses", "same", "begins", "status"),
    [
        (30, 5, 100, "cand.csv beat base.csv: +18.52 pp (95% CI +", 0),
        (10, 10, 2000, "cand.csv is no worse than base.csv within 2.00 pp: 0 pp (95% CI -", 0),
        (5, 30, 100, "cand.csv is worse than base.csv: -18.52 pp (95% CI -", 10),
        (6, 5, 50, "Cannot tell whether cand.csv is no worse than base.csv within 2.00 pp: +1.64 pp (", 12),
    ],
)
def test_gate_says_it_in_words_and_ends_so(shell, wins, losses, same, begins, status):
    columns(*arms(wins, losses, same))
    ended, output, errors = shell("gate", "base.csv", "cand.csv", "--margin", "2pp")
    assert (ended, errors) == (status, "")
    last = output.strip().split("\n")[-1]
    assert " ".join(output.split()).startswith(begins)
    assert last == "exploratory: no plan was locked before these data"
    assert "\nnext: " in output
    told = shell("gate", "base.csv", "cand.csv", "--margin", "2pp", "--explain")[1]
    assert "differs from base.csv by" not in " ".join(output.split())
    assert "differs from base.csv by" in " ".join(told.split())
    assert ("About " in told) == (status == 12)


def test_gate_takes_clusters_and_slices_by_the_last_part_of_their_place(shell):
    rng = np.random.default_rng(4)
    base = rng.integers(0, 2, 240)
    columns(base, np.where(rng.random(240) < 0.2, 1 - base, base), clusters=12)
    status, output, _ = shell("gate", "base.csv", "cand.csv", "--cluster", "conversation", "--json")
    found = json.loads(output)
    assert (status, found["unit"], found["n_clusters"]) == (12, "clusters", 12)
    status, output, _ = shell("gate", "base.csv", "cand.csv", "--slice", "conversation", "--margin", "2pp")
    assert output.count("  slice c") == 12
    assert "  slices cannot tell: it is not shown of every slice that it loses less than the margin" in output
    assert "  slices change of sides between slices: " in output
    status, output, _ = shell("gate", "base.csv", "cand.csv")
    assert "--cluster conversation (12)" in output


def test_gate_reads_a_harness_as_an_import_does(shell):
    inspect = FILES / "inspect" / "0.3.285"
    status, output, _ = shell(
        "gate",
        str(inspect / "baseline.eval"),
        str(inspect / "candidate.eval"),
        "--cluster",
        "topic",
        "--json",
    )
    found = json.loads(output)
    arms_of = {name: {} for name in ("baseline.eval", "candidate.eval")}
    with (inspect / "truth.csv").open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            if row["file"] in arms_of and row["status"] == "ok":
                arms_of[row["file"]].setdefault(row["item_id"], []).append(float(row["value"]))
    means = [{item: np.mean(values) for item, values in arm.items()} for arm in arms_of.values()]
    both = sorted(set(means[0]) & set(means[1]))
    assert found["n"] == len(both)
    assert found["delta"] == pytest.approx(np.mean([means[1][item] - means[0][item] for item in both]))
    assert found["unpaired"]["only_baseline_ids"] == ["item-044"]
    assert status == exit_code(found)


def test_gate_names_the_arms_of_one_file(shell):
    path = str(FILES / "promptfoo" / "0.123.1" / "two_providers.results.jsonl")
    status, output, errors = shell("gate", path, "--json")
    assert status in (0, 10, 12), errors
    assert json.loads(output)["n"] > 0
    status, _, errors = shell("gate", path, "--arms", "nobody,neither")
    assert status == 2
    assert "--arms takes BASELINE,CANDIDATE of" in errors


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("base.csv", "cand.csv", "--margin", "much"), "write 2pp, 0.02 or 0.5score"),
        (("base.csv", "cand.csv", "--margin", "2"), "write 2pp or 0.02"),
        (("base.csv", "nowhere.csv"), "No such file"),
        (("base.csv",), "takes two arms"),
        (("base.csv", "cand.csv", "--metric", "speed"), "there is no measure 'speed'"),
        (("base.csv", "cand.csv", "--plan", "p1"), "a plan is kept by a service"),
        (("base.csv", "cand.csv", "--set", "limit"), "FIELD=VALUE"),
    ],
)  # fmt: skip
def test_gate_refuses_in_a_sentence(shell, arguments, said):
    columns(*arms(3, 2))
    status, output, errors = shell("gate", *arguments)
    assert status in (1, 2)
    assert said in errors
    assert output == ""
    assert "Traceback" not in errors


def test_a_bare_margin_is_a_proportion_of_right_and_wrong_and_else_score_units():
    assert margin_of("0.02", binary=True) == {"value": 0.02, "unit": "proportion"}
    assert margin_of(".5", binary=False) == {"value": 0.5, "unit": "score"}
    assert margin_of("2 pp", binary=True) == margin_of("2%", binary=False) == {"value": 2.0, "unit": "pp"}
    with pytest.raises(FileFault):
        margin_of("-2pp", binary=True)
    with pytest.raises(FileFault, match="write 2pp or"):
        margin_of("2", binary=True)


def answer(low, high, delta, margin):
    ci = {"low": low, "high": high, "level": 0.95, "method": "tango"}
    return {"ci": ci, "delta": delta, "margin": margin, "points": True}


def test_picture_is_to_scale_and_has_a_plain_form():
    drawn, labels = picture_of(answer(-0.01, 0.03, 0.01, 0.02)).draw().split("\n")
    start, end, dot, zero, edge = (drawn.index(mark) for mark in "├┤●│┊")
    assert edge < start < zero < dot < end
    assert (zero - start) / (end - start) == pytest.approx(0.25, abs=0.04)
    assert labels.index("-2.00") <= edge <= labels.index("-2.00") + len("-2.00 pp")
    plain = picture_of(answer(-0.01, 0.03, 0.01, None))
    assert plain.draw("ascii").isascii()
    assert picture_of(answer(None, None, 0.01, 0.02)) is None


def test_output_is_ascii_where_the_terminal_has_nothing_else(shell):
    columns(*arms(30, 5))
    _, output, _ = shell("gate", "base.csv", "cand.csv", "--ascii")
    assert re.search(r"\[-+o-+\]", output)
    found = json.loads(shell("gate", "base.csv", "cand.csv", "--json")[1])
    assert as_text(form_of(found), encoding="ascii").isascii()


def test_markdown_escapes_names_that_are_not_ours(shell):
    base, other = arms(30, 5)
    write("a|b.csv", base)
    write("<c>.csv", other)
    status, _, _ = shell("gate", "a|b.csv", "<c>.csv", "--markdown", "out.md")
    comment = Path("out.md").read_text()
    assert status == 0
    assert comment.startswith(r"### ✅ \<c\>.csv beat a\|b.csv: +")
    assert comment.index(r"\<c\>.csv differs from a\|b.csv") > comment.index("<details>")
    found = json.loads(shell("gate", "a|b.csv", "<c>.csv", "--json")[1])
    assert as_markdown(form_of(found)).startswith("### ✅ \\<c\\>.csv beat")


def test_run_answers_here_what_the_service_would(shell):
    Path("request.json").write_text(
        '{"both_correct": 9, "only_baseline": 1, "only_candidate": 7, "both_wrong": 4}'
    )
    status, output, _ = shell("run", "mcnemar", "request.json", "--json")
    assert (status, json.loads(output)["analysis"]["p_value"]) == (0, 0.0703125)
    ends = "exploratory: no plan was locked before these data"
    assert shell("run", "mcnemar", "request.json")[1].rstrip().endswith(ends)
    Path("size.json").write_text(
        '{"test": "welch", "delta": 1, "sd_baseline": 1, "sd_candidate": 1, "n": [5, 10]}'
    )
    status, output, _ = shell("run", "power", "size.json")
    assert (status, ends in output) == (0, False)
    Path("faulty.json").write_text('{"both_correct": 9, "sides": 2}')
    status, _, errors = shell("run", "mcnemar", "faulty.json")
    assert status == 1
    assert "sides" in errors
    status, _, errors = shell("run", "nonesuch", "request.json")
    assert status == 1
    assert "there is no statistical test" in errors
    status, printed, _ = shell("tests")
    assert status == 0
    assert "mcnemar " in printed
    status, printed, _ = shell("tests", "mcnemar")
    assert status == 0
    assert "only_candidate" in printed


def test_a_named_service_or_key_is_asked(monkeypatch):
    for name in ("FORELOCK_URL", "FORELOCK_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    assert local.answers_here(None, None)
    assert not local.answers_here("http://s", None)
    assert not local.answers_here(None, Path("key"))
    monkeypatch.setenv("FORELOCK_API_KEY", "flk_x")
    assert not local.answers_here(None, None)


def test_rank_takes_long_and_wide_tables(shell):
    rng = np.random.default_rng(1)
    right = {"large": rng.random(60) < 0.9, "small": rng.random(60) < 0.3, "middle": rng.random(60) < 0.6}
    long = ["item_id,arm,value"] + [
        f"q{at},{arm},{int(v)}" for arm, column in right.items() for at, v in enumerate(column)
    ]
    wide = ["item_id,large,small,middle"] + [
        f"q{at},{','.join(str(int(c[at])) for c in right.values())}" for at in range(60)
    ]
    Path("long.csv").write_text("\n".join(long))
    Path("wide.csv").write_text("\n".join(wide))
    outputs = [shell("rank", name)[:2] for name in ("long.csv", "wide.csv")]
    assert outputs[0][0] == outputs[1][0] == 0
    assert outputs[0][1].partition("note:")[0] == outputs[1][1].partition("note:")[0]
    assert re.search(r"\n +1  large  +90\.00%", outputs[0][1])
    Path("short.csv").write_text("\n".join(long[:-1]))
    status, output, _ = shell("rank", "short.csv")
    assert status == 0
    assert "missing     0.56% of the outcomes" in output


def test_rank_says_it_plainly_where_there_is_no_leaderboard(shell, monkeypatch):
    monkeypatch.setattr("forelock.commands.gates.LEADERBOARD", "nonesuch")
    Path("wide.csv").write_text("a,b\n1,0\n0,1\n")
    status, output, errors = shell("rank", "wide.csv")
    assert (status, output) == (1, "")
    assert errors.startswith("several arms cannot be ranked here")


def test_gate_reads_right_and_wrong_in_any_case_and_asks_about_other_words(shell):
    columns(*arms(30, 5))
    numbers = json.loads(shell("gate", "base.csv", "cand.csv", "--json")[1])
    plain = {name: Path(name).read_text() for name in ("base.csv", "cand.csv")}

    def worded(right, wrong):
        for name, text in plain.items():
            Path(name).write_text(text.replace(",1,", f",{right},").replace(",0,", f",{wrong},"))

    worded("True", "False")  # as pandas writes them
    found = json.loads(shell("gate", "base.csv", "cand.csv", "--json")[1])
    assert found["delta"] == numbers["delta"] > 0
    worded("good", "bad")
    status, _, errors = shell("gate", "base.csv", "cand.csv")
    assert status == 2
    assert "say what its values count as, 1 for right and 0 for wrong: add --set 'values=" in errors
    status, output, _ = shell(
        "gate", "base.csv", "cand.csv", "--set", 'values={"good": 1, "bad": 0}', "--json"
    )
    assert (status, json.loads(output)["delta"]) == (0, numbers["delta"])


@pytest.mark.parametrize("word", ["NA", "nan", "#N/A", "None"])
def test_gate_takes_what_spreadsheets_write_for_no_value_as_none(shell, word):
    columns(*arms(30, 5))
    Path("base.csv").write_text(
        Path("base.csv").read_text().replace("q0,0", f"q0,{word}").replace("q0,1", f"q0,{word}")
    )
    found = json.loads(shell("gate", "base.csv", "cand.csv", "--json")[1])
    assert found["n"] == 134


@pytest.mark.parametrize("policy", ["exclude_pair", "fail"])
def test_gate_takes_an_absent_row_for_an_empty_one(shell, policy):
    """`--missing fail` left absent rows out, and counted those with NA as 0."""
    columns(*arms(30, 5))
    whole, found = Path("base.csv").read_text(), []
    for row in ("", "q41,,c41\n", "q41,NA,c41\n"):
        Path("base.csv").write_text(re.sub(r"q41,1,c41\n", row, whole))
        answer = json.loads(shell("gate", "base.csv", "cand.csv", "--missing", policy, "--json")[1])
        found.append([answer[name] for name in ("outcome", "delta", "ci", "n", "warnings")])
    assert found[0] == found[1] == found[2]
    assert found[0][3] == (134 if policy == "exclude_pair" else 135)


@pytest.mark.parametrize("word", ['"0,5"', "timeout", "inf", "0x1"])
def test_gate_does_not_guess_what_a_word_beside_numbers_counts_as(shell, word):
    columns(*arms(30, 5))
    Path("base.csv").write_text(
        Path("base.csv").read_text().replace("q0,0", f"q0,{word}").replace("q0,1", f"q0,{word}")
    )
    status, _, errors = shell("gate", "base.csv", "cand.csv")
    assert status == 2
    assert "1 samples have a text whose value is not said; the first is line 2" in errors
    told = {
        '"0,5"': "; write numbers with a point, and without spaces\n",
        "timeout": ': add --set \'values={"timeout": "missing"}\' (if timeout stand for no result)\n',
    }
    assert errors.endswith(told.get(word, errors))


@pytest.mark.parametrize("separator", [";", "\t", "|"])
def test_columns_that_no_comma_separates_are_read(shell, separator):
    columns(*arms(30, 5))
    by_commas = shell("gate", "base.csv", "cand.csv")
    for name in ("base.csv", "cand.csv"):
        Path(name).write_text(Path(name).read_text().replace(",", separator))
    assert shell("gate", "base.csv", "cand.csv") == by_commas


def test_percent_signs_are_read_where_all_of_a_column_have_them(shell):
    for name, values in (("base.csv", range(30)), ("cand.csv", range(1, 31))):
        Path(name).write_text("item_id,value\n" + "".join(f"q{at},{v} %\n" for at, v in enumerate(values)))
    answer = json.loads(shell("gate", "base.csv", "cand.csv", "--json")[1])
    assert answer["delta"] == pytest.approx(0.01)
    Path("cand.csv").write_text(Path("cand.csv").read_text().replace("q7,8 %", "q7,8"))
    status, _, errors = shell("gate", "base.csv", "cand.csv")
    assert status == 2
    assert "1 samples have a percent sign, or none, where others of the column are the other way" in errors


def test_gate_does_not_ask_for_a_path_into_a_column_that_rows_do_not_have(shell):
    rows = "".join(json.dumps({"item_id": f"q{at}", "value": {"accuracy": at % 2}}) + "\n" for at in range(9))
    for name in ("base.jsonl", "cand.jsonl"):
        Path(name).write_text(rows)
    errors = shell("gate", "base.jsonl", "cand.jsonl")[2]
    assert "give the one that counts a column of its own" in errors
    assert "scorer.key" not in errors


def test_gate_says_which_file_holds_no_results(shell):
    columns(*arms(30, 5))
    Path("cand.csv").write_text("item_id,value,conversation\n")
    assert shell("gate", "base.csv", "cand.csv")[2] == "forelock: cand.csv: holds no results\n"


@pytest.mark.parametrize(
    ("name", "said"),
    [("base.csv.gz", "is compressed: unpack it first"), ("base.xlsx", "save the sheet as CSV")],
)
def test_gate_says_what_to_do_with_a_file_that_is_packed(shell, name, said):
    Path(name).write_bytes(b"PK\x03\x04")
    status, _, errors = shell("gate", name, name)
    assert status == 2
    assert said in errors


def test_gate_tells_the_option_for_what_a_file_leaves_open_and_names_the_file(shell):
    columns(*arms(30, 5))
    Path("base.csv").write_text(Path("base.csv").read_text() + "q0,1,c0\n")
    status, _, errors = shell("gate", "base.csv", "cand.csv")
    assert status == 2
    assert errors.startswith(
        "forelock: base.csv: 1 samples have the id and replicate of another; the first is line "
    )
    assert errors.endswith(": add --set replicate=order (if an item's rows are runs of it)\n")
    Path("base.csv").write_text("item_id,value\na\n")
    status, _, errors = shell("gate", "base.csv", "cand.csv")
    assert status == 1
    assert "line 2: has 1 cells where the header has 2; mend the row" in " ".join(errors.split())


def test_gate_ends_with_a_command_to_paste_and_calls_no_pair_of_means_an_interval(shell):
    write("base line.csv", arms(30, 5)[0])
    write("cand.csv", arms(30, 5)[1])
    _, output, _ = shell("gate", "base line.csv", "cand.csv", "--markdown", "out.md")
    assert "(forelock plan from 'base line.csv' cand.csv)" in " ".join(output.split())
    assert "means       baseline 40.74%, candidate 59.26%" in output
    assert "forelock plan from 'base line.csv' cand.csv" in Path("out.md").read_text()


def test_a_comment_carries_the_warnings_that_the_terminal_shows(shell):
    columns(*arms(0, 0))
    _, output, _ = shell("gate", "base.csv", "cand.csv", "--markdown", "out.md")
    assert "NO_DISCORDANT: No item tells the arms apart" in " ".join(output.split())
    assert r"- NO\_DISCORDANT: No item tells the arms apart" in Path("out.md").read_text()


def test_resolve_takes_result_files_as_a_gate_does(shell):
    columns(*arms(30, 5))
    pairs = zip(*arms(30, 5), strict=True)
    Path("pilot.csv").write_text("\n".join(["baseline,candidate", *(f"{a},{b}" for a, b in pairs)]))

    def answer(*files):
        """All but what is of the files themselves."""
        whole = json.loads(shell("resolve", *files, "--json")[1])
        return {name: value for name, value in whole.items() if name not in ("provenance", "read")}

    plain = answer("pilot.csv")
    assert answer("base.csv", "cand.csv") == plain
    table = [
        f"{at},{arm},{v}"
        for arm, column in zip("xy", arms(30, 5), strict=True)
        for at, v in enumerate(column)
    ]
    Path("both.csv").write_text("\n".join(["id,model,score", *table]))
    status, output, _ = shell("resolve", "both.csv")
    assert status == 0
    assert "note: items by id, arms by model;" in output
    assert answer("both.csv") == plain
    assert shell("resolve", "base.csv", "cand.csv", "pilot.csv")[0] == 2


@pytest.mark.parametrize("command", ["gate", "resolve"])
def test_a_folder_that_cannot_be_opened_is_no_traceback(shell, monkeypatch, command):
    columns(*arms(3, 2))

    def refuse(*_):
        raise OSError(24, "Too many open files", "some/where")

    monkeypatch.setattr("service.ingest.documents.files.Files.at", refuse)
    status, output, errors = shell(command, "base.csv", "cand.csv")
    assert (status, output) == (2, "")
    assert errors == "forelock: some/where: Too many open files\n"


def test_a_folder_is_read_without_what_is_hidden_in_it(shell):
    """DeepEval leaves a lock beside its results, a file manager its notes."""
    columns(*arms(30, 5))
    for side in ("base", "cand"):
        (Path(side) / ".cache").mkdir(parents=True)
        Path(f"{side}.csv").rename(Path(side) / "rows.csv")
        for name in (".test_run.lock", ".cache/rows.csv"):
            (Path(side) / name).touch()
    status, _, errors = shell("gate", "base", "cand")
    assert (status, errors) == (0, "")
    Path("none").mkdir()
    Path("none/.DS_Store").touch()
    assert shell("gate", "none", "cand")[2] == "forelock: none: holds no file\n"


def test_gate_takes_the_range_of_scores_and_says_what_it_took(shell):
    for name, gain in (("base.csv", 0.0), ("cand.csv", 1.0)):
        rows = "".join(f"q{at},{3 + gain * (at % 3 == 0)}\n" for at in range(60))
        Path(name).write_text("item_id,value\n" + rows)
    status, output, errors = shell("gate", "base.csv", "cand.csv", "--range", "1..5", "--explain")
    assert (status, errors) == (0, "")
    assert "Scores lie between 1 and 5, as declared." in " ".join(output.split())
    assert "--range LOW..HIGH" in " ".join(shell("gate", "base.csv", "cand.csv", "--explain")[1].split())
    status, _, errors = shell("gate", "base.csv", "cand.csv", "--range", "1..3")
    assert status == 1
    assert "candidate holds 4" in errors
    for word in ("5..1", "1-5", "a..b", "1..2..3", "nan..1"):
        status, _, errors = shell("gate", "base.csv", "cand.csv", "--range", word)
        assert status == 2
        assert "write the least and the greatest score there can be, as 1..5" in errors
