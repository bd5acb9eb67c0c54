"""A newcomer's first files: an answer, or a refusal whose options give one. Nothing that is printed fails."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path

import pytest

from tests.client.layouts import COLUMNS, FILES, SINGLES, harness_inputs, pairs
from tests.drawing import one_in

ANSWERS = (0, 10, 12)
REFUSED = (1, 2)
PAIRS = pairs()
ANSWERED = {
    "long", "pandas index", "pandas unnamed", "text", "true and false", "topics", "one item", "json array",
    "json lines", "byte order mark", "semicolons", "tabs", "tabs named csv", "percent", "utf-16", "pandas index alone",
    "json columns", "json array of numbered ids", "json lines of numbered ids", "pandas index saved twice",
}  # fmt: skip
HELPED = {
    "words": '--metric verdict --set \'values={"bad": 0, "good": 1}\'',
    "two ids": "--set item_id=id",
    "a timeout": '--set \'values={"timeout": "missing"}\'',
    "duplicate ids": "--set replicate=order",
}
"""Layouts of two files that are refused with options, and one of them; no option can help the others."""
HELPED_ALONE = {
    "long of three": "--arms m0,m1",
    "long of 25": "--arms m0,m1",
    "long of 25 by other names": "--arms m0,m1",
    "long with runs that nothing numbers": "--set replicate=order",
    "wide": "--arms gpt,claude",
    "wide of three": "--arms gpt,claude",
    "wide by questions": "--arms gpt,claude",
    "wide of 25": "--arms m0,m1",
    "wide with a pandas index": "--arms gpt,claude",
    "json columns of two": "--set 'item_id=(row)' --arms 'm 0,m 1'",
    "json columns of three with ids": "--arms a,b",
}


def options_in(said: str) -> list[list[str]]:
    """The options that an output names, each way out as words of the command line."""
    text = " ".join(said.split())
    ways = [each for told in re.findall(r": add (--.*)", text) for each in re.split(r" or (?=--)", told)]
    ways += re.findall(r"not independent: (--cluster .*?) \(\d+\) if they do", text)
    ways += re.findall(r"(--arms \S+) turns them round", text)
    ways += re.findall(r"not independent: (--set \S+)", text)
    return [shlex.split(re.sub(r" \([^()]*\)$", "", each)) for each in ways]


def assert_helps(shell, *command):
    """Run it; whatever options it prints give an answer. Returns the status and the options."""
    status, output, errors = shell(*command)
    assert "Traceback" not in output + errors
    assert status in (*ANSWERS, *REFUSED)
    assert (errors == "") == (status in ANSWERS)
    ways = options_in(output + errors)
    for way in ways:
        again, _, why = shell(*command, *way)
        assert again in ANSWERS, (command, way, why)
    return status, [shlex.join(way) for way in ways]


def write(files):
    for name, content in files.items():
        Path(name).write_bytes(content)
    return list(files)


@pytest.mark.parametrize("layout", one_in(3, sorted(PAIRS)))
def test_two_tables_of_any_layout_are_compared_or_refused_with_what_helps(shell, layout):
    names = write(PAIRS[layout])
    status, ways = assert_helps(shell, "gate", *names)
    assert (status in ANSWERS) == (layout in ANSWERED)
    if layout in HELPED:
        assert HELPED[layout] in ways
    elif status in REFUSED:
        assert ways == []
    for question in ("score", "noise"):
        assert_helps(shell, question, names[0])
    assert_helps(shell, "rank", *names)


@pytest.mark.parametrize("layout", one_in(3, sorted(SINGLES)))
def test_one_table_of_any_layout_is_compared_or_refused_with_what_helps(shell, layout):
    (name,) = write({"all.json" if layout in COLUMNS else "all.csv": SINGLES[layout]})
    status, ways = assert_helps(shell, "gate", name)
    if layout in HELPED_ALONE:
        assert (status, HELPED_ALONE[layout] in ways) == (2, True)
    else:
        assert status in ANSWERS
    assert_helps(shell, "resolve", name)
    ranked, _ = assert_helps(shell, "rank", name)
    assert ranked in ANSWERS or layout == "long with runs that nothing numbers"
    scored, ways = assert_helps(shell, "score", name)
    assert scored in ANSWERS or ways  # of a column that names the systems each has its score


def test_a_column_for_each_arm_is_compared_as_two_files_are(shell):
    write({"wide.csv": SINGLES["wide"]})
    rows = [line.split(",") for line in SINGLES["wide"].decode().splitlines()[1:]]
    for at, arm in enumerate(("gpt", "claude"), start=1):
        Path(arm).write_text("item_id,value\n" + "".join(f"{row[0]},{row[at]}\n" for row in rows))
    by_columns = json.loads(shell("gate", "wide.csv", "--arms", "gpt,claude", "--json")[1])
    by_files = json.loads(shell("gate", "gpt", "claude", "--format", "csv", "--json")[1])
    apart = {"read": 0, "provenance": 0}
    assert {**by_columns, **apart} == {**by_files, **apart}
    turned = json.loads(shell("gate", "wide.csv", "--arms", "claude,gpt", "--json")[1])
    assert turned["delta"] == -by_columns["delta"]


def test_an_object_of_columns_is_the_table_of_its_rows(shell):
    """As a file of every question: what is answered is what the same rows as CSV give."""
    (name,) = write({"all.json": COLUMNS["json columns of a pilot"]})
    columns = json.loads(Path(name).read_text())
    rows = zip(*columns.values(), strict=True)
    Path("all.csv").write_text("\n".join([",".join(columns), *(",".join(map(str, row)) for row in rows)]))
    apart = {"read": 0, "provenance": 0}
    for question in ("gate", "rank", "resolve", "items"):
        by_columns, by_rows = (
            json.loads(shell(question, file, "--json")[1]) for file in ("all.json", "all.csv")
        )
        assert {**by_columns, **apart} == {**by_rows, **apart}
    assert shell("noise", "all.json")[2].replace("all.json", "") == shell("noise", "all.csv")[2].replace(
        "all.csv", ""
    )


@pytest.mark.parametrize("inputs", one_in(3, map(pytest.param, harness_inputs())), ids=" ".join)
def test_files_of_every_reader_are_compared_or_refused_with_what_helps(shell, inputs):
    question = "gate" if len(inputs) == 2 else "score"
    assert_helps(shell, question, *(str(FILES / name) for name in inputs))


def promptfoo(change):
    """The shipped results, every one of them changed; without files of configuration they come as they ended."""
    path = FILES / "promptfoo" / "0.123.1" / "two_providers.results.jsonl"
    results = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
    for result in results:
        change(result)
    Path("results.jsonl").write_text("".join(json.dumps(each) + "\n" for each in reversed(results)))
    return results


def test_providers_without_labels_go_by_their_ids_in_the_order_of_the_configuration(shell):
    def unlabel(result):
        model = ("openai:small", "openai:large")[result["promptIdx"]]
        result["provider"] = {"id": model, "label": ""} if result["testIdx"] % 2 else model

    promptfoo(unlabel)
    status, ways = assert_helps(shell, "gate", "results.jsonl")
    output = shell("gate", "results.jsonl")[1]
    assert status in ANSWERS
    said = " ".join(output.split())
    assert "the baseline is 'openai:small', which the configuration has first" in said
    assert "--arms openai:large,openai:small" in ways
    assert shell("gate", "results.jsonl", "--json")[1] != ""


def test_providers_under_one_prompt_index_are_told_apart_by_their_names(shell):
    def one_index(result):
        result["promptIdx"] = 0

    promptfoo(one_index)
    status, _ = assert_helps(shell, "gate", "results.jsonl")
    assert status in ANSWERS
    answer = json.loads(shell("gate", "results.jsonl", "--arms", "baseline,candidate", "--json")[1])
    assert (answer["n"], answer["read"]["arm"]) == (46, "provider.label")


def test_one_provider_twice_without_labels_goes_by_its_place_in_the_configuration(shell):
    def alike(result):
        result["provider"] = {"id": "openai:small"}

    promptfoo(alike)
    answer = json.loads(shell("gate", "results.jsonl", "--json")[1])
    assert answer["read"]["arm"] == "promptIdx"
    assert "'0', which the configuration has first" in " ".join(shell("gate", "results.jsonl")[1].split())


def test_what_a_harness_writes_of_the_outcome_is_no_cluster(shell):
    path = FILES / "promptfoo" / "0.123.1" / "two_providers.results.jsonl"

    def without_topic(result):
        result["metadata"].pop("topic", None)
        result["testCase"]["metadata"].pop("topic", None)
        result["testCase"].get("vars", {}).pop("topic", None)
        result["vars"].pop("topic", None)

    promptfoo(without_topic)
    assert "--cluster" not in shell("gate", "results.jsonl")[1].partition("next:")[0]
    assert "--cluster metadata.topic (8)" in shell("gate", str(path))[1]
    lm_eval = FILES / "lm-eval" / "0.4.13"
    output = shell("gate", str(lm_eval / "gsm_baseline"), str(lm_eval / "gsm_candidate"))[1]
    assert "--cluster filter" not in output


def test_an_option_that_nobody_can_be_helped_by_is_not_printed(shell):
    Path("base.csv").write_text("item_id,note\n" + "".join(f"q{at},some words {at}\n" for at in range(9)))
    Path("cand.csv").write_text(Path("base.csv").read_text())
    status, _, errors = shell("gate", "base.csv", "cand.csv")
    assert status == 2
    assert "--" not in errors
    assert "call the column that holds the outcomes 'value' in the first line, or add one" in errors


@pytest.mark.parametrize("question", ["gate", "rank", "items", "resolve"])
def test_words_of_one_system_are_not_told_to_be_said_where_that_does_not_help(shell, question):
    rows = "".join(f"q{at},{'good' if at % 3 else 'bad'}\n" for at in range(N_WORDS))
    Path("own.csv").write_text(f"item_id,value\n{rows}")
    status, _, told = shell(question, "own.csv")
    told = " ".join(told.split())
    assert status == 2
    assert "--set" not in told
    assert "holds one: own.csv" in told
    assert "say what its values count as, 1 for right and 0 for wrong" in told
    assert "--set" in shell("score", "own.csv")[2]


N_WORDS = 12


@pytest.mark.parametrize("cell", ['"1,500"', '"1,234,567"', "1.500,5", "1 500", '"-2,000.25"'])
@pytest.mark.parametrize("question", ["score", "noise"])
def test_a_separator_of_thousands_is_named_as_what_is_the_matter(shell, question, cell):
    sep = "," if cell.startswith('"') else ";"
    rows = "".join(f"q{at}{sep}{cell if at % 2 else 900}\n" for at in range(12))
    Path("own.csv").write_text(f"item_id{sep}value\n{rows}")
    status, _, told = shell(question, "own.csv")
    assert status == 2
    assert "write 1500 for 1,500 if its comma separates thousands" in " ".join(told.split())
