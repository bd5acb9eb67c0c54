"""`--suite`: tasks from a column or from files, weights, a forest; what is read, drawn and told."""

from __future__ import annotations

import json
import re
import shlex
import shutil
from pathlib import Path

import pytest

from tests.stats.suites import golden

FILES = Path(__file__).parents[1] / "ingest" / "files"
LM_EVAL, HELM, INSPECT = (FILES / name for name in ("lm-eval/0.4.13", "helm/0.5.16", "inspect/0.3.285"))


def tables(anew=True):
    """Two files of three tasks whose ids begin anew in each."""
    body, seen = golden(), {}
    for arm in ("baseline", "candidate"):
        lines, seen = ["item_id,task,value"], {}
        for task, value in zip(body["tasks"], body[arm], strict=True):
            seen[task] = seen.get(task, 0) + 1
            lines.append(f"q{seen[task] if anew else len(lines)},{task},{value}")
        Path(f"{arm}.csv").write_text("\n".join(lines) + "\n")


def folders():
    """Two systems' folders of lm-evaluation-harness, each with two tasks."""
    for arm in ("baseline", "candidate"):
        for task in ("gsm", "choice"):
            shutil.copytree(LM_EVAL / f"{task}_{arm}", Path(arm) / task)


def answer(shell, *arguments):
    status, output, errors = shell(*arguments, "--json")
    assert status in (0, 10, 12), errors
    return json.loads(output)


@pytest.mark.parametrize("anew", [True, False])
def test_a_column_of_tasks_whose_ids_begin_anew(shell, anew):
    tables(anew)
    found = answer(shell, "gate", "baseline.csv", "candidate.csv", "--suite", "task", "--margin", "2pp")
    assert (found["outcome"], round(100 * found["delta"], 6), found["n"]) == ("better", 8.5, 1150)
    assert found["suite"]["losses"]["gained"] == ["small"]


def test_without_a_suite_ids_that_begin_anew_are_refused_with_the_way_out(shell):
    tables()
    status, _, errors = shell("gate", "baseline.csv", "candidate.csv")
    assert status == 2
    assert "--suite task (if ids begin anew in every task)" in errors
    status, _, errors = shell("rank", "baseline.csv", "candidate.csv")
    assert "--suite task (if ids begin anew in every task)" in errors
    status, _, errors = shell("resolve", "baseline.csv", "candidate.csv")
    assert "--suite" not in errors  # which resolve has not


def test_systems_are_ranked_by_the_suite_and_not_by_the_items(shell):
    tables()
    ranked = answer(shell, "rank", "baseline.csv", "candidate.csv", "--suite", "task")["analysis"]
    pair = ranked["pairs"][0]
    assert (pair["first"], round(100 * pair["difference"], 6), pair["apart"]) == ("candidate.csv", 8.5, True)
    assert [task["n"] for task in ranked["suite"]["tasks"]] == [1000, 100, 50]
    by_items = answer(shell, "rank", "baseline.csv", "candidate.csv", "--suite", "task", "--weights", "items")
    pair = by_items["analysis"]["pairs"][0]
    assert (pair["first"], round(100 * pair["difference"], 2)) == ("baseline.csv", 0.61)
    _, output, _ = shell("rank", "baseline.csv", "candidate.csv", "--suite", "task")
    assert "task large   first baseline.csv" in output
    assert "candidate.csv 48.70%, place 2" in output


def test_systems_are_ranked_over_the_tasks_of_folders(shell):
    folders()
    ranked = answer(shell, "rank", "baseline", "candidate", "--suite", "task")["analysis"]
    assert len(ranked["suite"]["tasks"]) == 2
    assert ranked["n"] == sum(task["n"] for task in ranked["suite"]["tasks"])


def test_a_system_without_a_task_is_not_ranked_over_the_suite(shell):
    tables()
    lines = Path("candidate.csv").read_text().splitlines()
    Path("candidate.csv").write_text("\n".join(line for line in lines if ",small," not in line))
    status, _, errors = shell("rank", "baseline.csv", "candidate.csv", "--suite", "task")
    assert status == 1
    assert "no outcome in task 'small'" in " ".join(errors.split())


def test_weights_of_a_ranking_need_a_suite_and_slices_go_without(shell):
    tables()
    for options in (["--weights", "items"], ["--suite", "task", "--slice", "task"]):
        status, _, errors = shell("rank", "baseline.csv", "candidate.csv", *options)
        assert (status, "suite" in errors) == (2, True)


def test_an_id_twice_in_one_task_is_refused_as_ever(shell):
    tables()
    for arm in ("baseline", "candidate"):
        path = Path(f"{arm}.csv")
        path.write_text(path.read_text() + "q1,small,1\n")
    status, _, errors = shell("score", "baseline.csv", "--suite", "task")
    assert status == 2
    assert "replicate" in errors


def test_the_forest_has_every_task_and_the_diamond(shell):
    tables()
    _, output, _ = shell("gate", "baseline.csv", "candidate.csv", "--suite", "task", "--svg", "forest.svg")
    assert "◆" in output
    assert [line.split()[-1] for line in output.splitlines() if "●" in line] == ["large", "middle", "small"]
    assert Path("forest.svg").read_text().count("<circle") == 3
    assert "<polygon" in Path("forest.svg").read_text()
    _, plain, _ = shell("gate", "baseline.csv", "candidate.csv", "--suite", "task", "--ascii")
    assert "#" in plain
    assert plain.isascii()


def test_folders_of_lm_eval_are_read_task_by_task(shell):
    folders()
    status, _, errors = shell("gate", "baseline", "candidate")
    assert status == 2
    assert "holds 2 tasks: add --suite task" in errors
    found = answer(shell, "gate", "baseline", "candidate", "--suite", "task")
    assert [task["name"] for task in found["suite"]["tasks"]] == ["products_choice", "products_gsm"]
    assert found["n"] == 96
    remark = next(remark for remark in found["provenance"]["remarks"] if "read as" in remark)
    assert "products_choice read as metric=acc, filter=none" in remark
    assert "products_gsm read as metric=exact_match" in remark
    assert found["provenance"]["comparable"]["content"] == "same"


def test_each_task_of_a_suite_is_as_if_it_were_alone(shell):
    folders()
    suite = answer(shell, "score", "baseline", "--suite", "task")
    for task, folder in zip(suite["suite"]["tasks"], ("choice", "gsm"), strict=True):
        alone = answer(shell, "score", f"baseline/{folder}")
        assert task["estimate"] == pytest.approx(alone["mean"])
    assert suite["mean"] == pytest.approx(sum(task["estimate"] for task in suite["suite"]["tasks"]) / 2)


def test_a_task_that_one_system_lacks_is_told(shell):
    folders()
    shutil.rmtree("candidate/choice")
    found = answer(shell, "gate", "baseline", "candidate", "--suite", "task")
    assert found["outcome"] == "cannot_tell"
    assert found["suite"]["lacking"] == ["products_choice"]
    assert any("lacks 1 of 2 tasks: products_choice" in remark for remark in found["provenance"]["remarks"])


def test_tasks_of_helm_go_by_the_name_of_the_run(shell):
    for arm in ("baseline", "candidate"):
        for task in ("one", "two"):
            shutil.copytree(HELM / arm, Path(arm) / f"folder-{task}")
            spec = Path(arm) / f"folder-{task}" / "run_spec.json"
            told = json.loads(spec.read_text())
            told["name"] = f"mmlu:subject={task},model={arm}"
            spec.write_text(json.dumps(told))
    found = answer(shell, "gate", "baseline", "candidate", "--suite", "task", "--set", "split=test")
    assert [task["name"] for task in found["suite"]["tasks"]] == ["mmlu:subject=one", "mmlu:subject=two"]


def test_logs_of_inspect_are_told_apart_by_their_tasks(shell):
    for arm in ("baseline", "candidate"):
        Path(arm).mkdir()
        told = json.loads((INSPECT / f"{arm}_json.json").read_text())
        for task in ("alpha", "beta"):
            told["eval"]["task"] = task
            Path(arm, f"{task}.json").write_text(json.dumps(told))
    found = answer(shell, "gate", "baseline", "candidate", "--suite", "task")
    assert [task["name"] for task in found["suite"]["tasks"]] == ["alpha", "beta"]
    assert found["suite"]["tasks"][0]["estimate"] == found["suite"]["tasks"][1]["estimate"]


def test_weights(shell):
    tables()
    Path("weights.json").write_text('{"large": 1, "middle": {"weight": 1}, "small": 2}')
    command = ("gate", "baseline.csv", "candidate.csv", "--suite", "task")
    assert answer(shell, *command, "--weights", "items")["delta"] == pytest.approx(-7 / 1150)
    assert answer(shell, *command, "--weights", "weights.json")["delta"] == pytest.approx(
        (-0.025 + 0.08 + 0.4) / 4
    )
    assert answer(shell, *command, "--new-tasks")["suite"]["estimand"] == "new_tasks"
    Path("scales.json").write_text('{"large": {"floor": 0, "ceiling": 2}, "middle": 1, "small": 1}')
    scaled = answer(shell, *command, "--weights", "scales.json")
    assert scaled["delta"] == pytest.approx((-0.0125 + 0.08 + 0.2) / 3)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (None, "cannot be read"),
        ("equal parts", "is no JSON"),
        ("[]", "has no weights"),
        ('{"large": "much"}', "task 'large' has no weight"),
        ('{"large": NaN, "middle": 1, "small": 1}', "task 'large' has no weight"),
        ('{"large": 1, "middle": 1e400, "small": 1}', "task 'middle' has no weight"),
        ('{"large": {"floor": 1}}', "task 'large' has no weight"),
        ('{"large": 1}', "none of task 'middle'"),
        ('{"large": 1, "middle": 1, "small": 1, "huge": 1}', "is no task of these items"),
    ],
)
def test_weights_that_are_none_are_refused(shell, text, said):
    tables()
    if text is not None:
        Path("w.json").write_text(text)
    status, _, errors = shell("score", "baseline.csv", "--suite", "task", "--weights", "w.json")
    assert status in (1, 2)
    assert said in " ".join(errors.split())


def test_options_that_do_not_go_together_are_refused(shell):
    tables(anew=False)
    assert "--weights and --new-tasks are of a suite" in shell("score", "baseline.csv", "--new-tasks")[2]
    refused = shell("score", "baseline.csv", "--suite", "task", "--slice", "task")[2]
    assert "--slice is of one task" in refused


def test_a_task_that_lost_ends_with_status_10(shell):
    tables()
    status, output, _ = shell("gate", "candidate.csv", "baseline.csv", "--suite", "task")
    assert status == 10
    assert "LOST" in output


def test_folders_of_two_systems_are_not_taken_for_one_of_two_tasks(shell):
    for system in ("base", "cand"):
        Path(system).mkdir()
        Path(system, f"samples_gsm_{system}.jsonl").write_text(
            "".join(
                json.dumps(
                    {"doc_id": at, "doc_hash": f"h{at}", "target": "1", "acc": at % 2, "filter": "none"}
                )
                + "\n"
                for at in range(6)
            )
        )
    status, _, errors = shell("score", "base", "cand")
    assert status == 2
    assert "base, cand: hold 2 tasks, and are read as one system's" in errors
    assert "'forelock rank' compares systems" in errors


def alike(names, header="item_id,value", row="q{at},{value}"):
    """Files of 12 items each, whose ids are the same."""
    for turn, name in enumerate(names):
        lines = [row.format(at=at, task=at % 3, value=int((at + turn) % 4 > 0)) for at in range(12)]
        Path(name).write_text("\n".join([header, *lines]) + "\n")
    return names


def said(shell, *command):
    status, output, errors = shell(*command)
    return status, " ".join((output + errors).split())


@pytest.mark.parametrize(
    "files",
    [
        [str(INSPECT / f"{arm}.eval") for arm in ("baseline", "candidate")],
        ["a.csv", "b.csv"],
    ],
)
def test_a_suite_over_two_systems_files_names_the_two_commands_and_they_answer(shell, files):
    alike(["a.csv", "b.csv"], "item_id,task,value", "q{at},t{task},{value}")
    status, told = said(shell, "score", *files, "--suite", "task")
    assert status == 2
    assert "faults" not in told
    commands = re.findall(r"'(forelock (?:rank|score) [^']*)'", told)
    assert [command.split()[1] for command in commands] == ["rank", "score"]
    for command in commands:
        assert shell(*shlex.split(command)[1:])[0] in (0, 10, 12), command


def test_files_that_are_tasks_of_one_item_list_may_be_systems_and_it_is_said(shell):
    status, told = said(shell, "score", *alike(["arc.csv", "gsm.csv"]), "--suite", "task")
    assert status == 0
    assert "if they are systems, ask 'forelock rank arc.csv gsm.csv'" in told
    assert "if they are systems" not in said(shell, "rank", "arc.csv", "gsm.csv", "--suite", "task")[1]


def test_a_column_in_which_every_row_is_a_task_of_its_own_is_no_suite(shell):
    alike(["own.csv"], "item_id,task,value", "q{at},t{at},{value}")
    alike(["ids.csv"], "task,value", "t{at},{value}")
    alike(["numbers.csv"], "item_id,task,value", "q{at},{at},{value}")
    for name in ("own.csv", "ids.csv", "numbers.csv"):
        status, told = said(shell, "score", name, "--suite", "task")
        assert (status, "its column 'task' tells no tasks" in told) == (2, True)
        assert shell("score", name)[0] == 0


def test_one_task_is_called_as_the_column_says_and_that_it_is_one_is_told(shell):
    alike(["own.csv"], "item_id,task,value", "q{at},gsm,{value}")
    status, told = said(shell, "score", "own.csv", "--suite", "task")
    assert status == 0
    assert "task gsm" in told
    assert "there is one task, gsm: a suite has a column 'task' of several, or a file of each" in told
