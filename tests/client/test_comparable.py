"""Two files are compared where they are of the same items, data set and scorer, or where somebody allows it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

INSPECT = Path(__file__).parents[1] / "ingest" / "files" / "inspect" / "0.3.285"
LM_EVAL = INSPECT.parents[1] / "lm-eval" / "0.4.13"


def logs(change):
    """A baseline's and a candidate's log, the latter's changed."""
    for name in ("baseline", "candidate"):
        log = json.loads((INSPECT / f"{name}_json.json").read_text("utf-8"))
        if name == "candidate":
            change(log)
        Path(f"{name}.json").write_text(json.dumps(log))
    return "baseline.json", "candidate.json"


def another_question(log):
    for sample in log["samples"][:3]:
        sample["input"] = "Another question?"


def another_target(log):
    log["samples"][0]["target"] = "other"


def set_in(*path, value):
    def change(log):
        place = log["eval"]
        for name in path[:-1]:
            place = place[name]
        place[path[-1]] = value

    return change


@pytest.mark.parametrize(
    ("change", "aspect", "said"),
    [
        (another_question, "content", "items have other content under the same id"),
        (another_target, "content", "1 items have other content under the same id"),
        (set_in("task", value="sums"), "task", "the files differ in the task: products and sums"),
        (set_in("task_version", value="2"), "task_version", "differ in the task version: 1.2 and 2"),
        (set_in("dataset", "name", value="other"), "dataset", "differ in the data set: "),
        (set_in("scorers", 0, "options", value={"location": "end"}), "scorer", "differ in the scorer and its options"),
    ],
)  # fmt: skip
def test_other_items_task_data_set_or_scorer_are_refused_unless_allowed(shell, change, aspect, said):
    names = logs(change)
    status, output, errors = shell("gate", *names)
    assert (status, output) == (2, "")
    assert errors.startswith("forelock: not_comparable: ")
    assert said in errors
    assert errors.endswith(f": add --allow-different {aspect} (if that is meant)\n")
    status, output, errors = shell("gate", *names, "--allow-different", aspect, "--json")
    assert (status in (0, 10, 12), errors) == (True, "")
    assert json.loads(output)["provenance"]["comparable"][aspect] == "differs"


def test_the_items_are_named_with_the_first_words_of_both(shell):
    errors = shell("gate", *logs(another_question))[2]
    assert "item-009 ('What is 12 times 28?' and 'Another question?')" in errors


def test_other_runs_limits_and_versions_are_said_and_not_refused(shell):
    names = logs(set_in("packages", "inspect_ai", value="0.3.999"))
    status, output, _ = shell("gate", *names)
    assert status in (0, 10, 12)
    said = " ".join(output.split())
    assert "other harness version (0.3.285 and 0.3.999)" in said
    assert said.count("not said by the files: ") == 1


def test_what_messages_are_called_is_no_content(shell):
    def conversation(name):
        def change(log):
            for sample in log["samples"]:
                text = sample["input"] if isinstance(sample["input"], str) else sample["input"][0]["content"]
                sample["input"] = [{"id": f"{name}{sample['epoch']}", "role": "user", "content": text}]

        return change

    logs(conversation("b"))
    base = json.loads(Path("baseline.json").read_text())
    conversation("a")(base)
    Path("baseline.json").write_text(json.dumps(base))
    status, output, errors = shell("gate", "baseline.json", "candidate.json", "--json")
    assert (status in (0, 10, 12), errors) == (True, "")
    assert json.loads(output)["provenance"]["comparable"]["content"] == "same"


def test_files_of_tables_say_nothing_and_that_is_said_once(shell):
    for name in ("base.csv", "cand.csv"):
        Path(name).write_text("item_id,value\n" + "".join(f"q{at},{at % 2}\n" for at in range(20)))
    output = " ".join(shell("gate", "base.csv", "cand.csv")[1].split())
    assert output.count("nothing in the files says whether they are of the same task, data set, items") == 1


def test_tables_with_questions_are_compared_by_them(shell):
    for name, words in (("base.csv", "How many"), ("cand.csv", "How much")):
        rows = "".join(f"q{at},{at % 2},{words} {at}?\n" for at in range(20))
        Path(name).write_text("item_id,value,question\n" + rows)
    errors = shell("gate", "base.csv", "cand.csv")[2]
    assert "20 items have other content under the same id: q0 ('How many 0?' and 'How much 0?')" in errors


def test_systems_of_one_file_may_be_asked_other_things_only_where_it_is_allowed(shell):
    rows = "".join(f"q{at},{arm},{at % 2},{arm} {at}?\n" for at in range(9) for arm in "ab")
    Path("both.csv").write_text("item_id,arm,value,question\n" + rows)
    status, _, errors = shell("gate", "both.csv")
    assert (status, "not_comparable" in errors) == (2, True)
    assert shell("rank", "both.csv")[0] == 2
    assert shell("rank", "both.csv", "--allow-different", "content")[0] == 0


def test_lower_is_read_where_a_harness_says_it(shell):
    for name in ("gsm_baseline", "gsm_candidate"):
        folder = Path(name)
        folder.mkdir()
        for path in (LM_EVAL / name).rglob("*.json*"):
            text = path.read_text("utf-8")
            if path.name.startswith("results"):
                told = json.loads(text)
                told["higher_is_better"]["products_gsm"]["exact_match"] = False
                text = json.dumps(told)
            (folder / path.name).write_text(text)
    chosen = ("--metric", "exact_match,flexible-extract", "--json")
    answer = json.loads(shell("gate", "gsm_baseline", "gsm_candidate", *chosen)[1])
    assert answer["prefers"] == "lower"
    said = "lower values are better, as the files say; --no-lower turns it round"
    assert said in answer["provenance"]["remarks"]
    turned = json.loads(shell("gate", "gsm_baseline", "gsm_candidate", *chosen, "--no-lower")[1])
    assert turned["prefers"] == "higher"
    assert turned["delta"] == answer["delta"]
