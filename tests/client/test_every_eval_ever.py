"""Every Eval Ever in, a question, and Every Eval Ever out, as its own validator takes it."""

from __future__ import annotations

import hashlib
import json
import re
import shutil
from pathlib import Path

import pytest

FILES = Path(__file__).parents[1] / "ingest" / "files"
RUNS = FILES / "every-eval-ever" / "0.3.0"
PLACE = re.compile(
    r"data/[^/]+/[^/]+/[^/]+/[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}(_samples)?\.jsonl?"
)


@pytest.fixture
def runs():
    """The folders of both runs."""
    for arm in ("baseline", "candidate"):
        Path(arm).mkdir()
        for suffix in (".json", "_samples.jsonl"):
            shutil.copy(RUNS / f"{arm}{suffix}", Path(arm))
    return ["baseline", "candidate"]


def written(folder):
    paths = sorted(path for path in Path(folder).rglob("*") if path.is_file())
    assert all(PLACE.fullmatch(path.relative_to(folder).as_posix()) for path in paths)
    return {path: json.loads(path.read_text()) for path in paths if path.suffix == ".json"}


def test_gate_goes_round(shell, runs):
    """What it wrote reads as what it was read from, and so the gate answers the same again."""
    status, first, errors = shell("gate", *runs, "--metric", "acc", "--json", "--every-eval-ever", "out")
    assert (status, errors) == (0, "")
    answer = json.loads(first)
    records = written("out")
    assert {record["model_info"]["id"] for record in records.values()} == {"acme/baseline", "acme/candidate"}
    for path, record in records.items():
        (result,) = record["evaluation_results"]
        role = record["model_info"]["id"].removeprefix("acme/")
        assert result["score_details"]["score"] == answer[f"{role}_mean"]
        assert result["score_details"]["details"]["delta"] == str(answer["delta"])
        assert result["score_details"]["uncertainty"] == {"num_samples": 48}
        rows = path.with_name(f"{path.stem}_samples.jsonl").read_bytes()
        assert rows == (RUNS / f"{role}_samples.jsonl").read_bytes()
        detailed = record["detailed_evaluation_results"]
        assert detailed["checksum"] == hashlib.sha256(rows).hexdigest()
        assert detailed["total_rows"] == 96
        assert Path("out", detailed["file_path"]).read_bytes() == rows
    sides = [
        str(next(iter(Path("out/data/products_choice/acme", arm).glob("*.json"))).parent) for arm in runs
    ]
    again = json.loads(shell("gate", *sides, "--metric", "acc", "--json")[1])
    for name in ("outcome", "delta", "ci", "n", "baseline_mean", "candidate_mean"):
        assert again[name] == answer[name]


def test_rows_without_their_record_keep_the_names_of_their_run(shell, runs):
    """The record that is made for them is that of their run, so that both are read again."""
    for arm in runs:
        Path(arm, f"{arm}.json").unlink()
    status, first, errors = shell("gate", *runs, "--metric", "acc", "--json", "--every-eval-ever", "out")
    assert (status, errors) == (0, "")
    records = written("out")
    assert {record["model_info"]["id"] for record in records.values()} == {"acme/baseline", "acme/candidate"}
    for path, record in records.items():
        rows = path.with_name(f"{path.stem}_samples.jsonl").read_text().splitlines()
        assert {json.loads(row)["evaluation_id"] for row in rows} == {record["evaluation_id"]}
        assert record["evaluation_results"][0]["evaluation_name"] == "products_choice"
        assert record["eval_library"] == {"name": "unknown", "version": "unknown"}
    sides = [
        str(next(iter(Path("out/data/products_choice/acme", arm).glob("*.json"))).parent) for arm in runs
    ]
    again = json.loads(shell("gate", *sides, "--metric", "acc", "--json")[1])
    assert [again[name] for name in ("delta", "ci", "n")] == [
        json.loads(first)[name] for name in ("delta", "ci", "n")
    ]


def test_an_empty_line_before_the_rows_is_none_of_them(shell, runs):
    rows = Path(runs[0], "baseline_samples.jsonl")
    rows.write_text("\n" + rows.read_text())
    Path(runs[0], "baseline.json").unlink()
    status, _, errors = shell("score", runs[0], "--metric", "acc", "--every-eval-ever", "out")
    assert (status, errors) == (0, "")
    (record,) = written("out").values()
    assert record["model_info"]["id"] == "acme/baseline"


def test_rows_of_several_runs_are_not_written_beside_a_record_of_one(shell, runs):
    rows = Path(runs[0], "baseline_samples.jsonl")
    lines = [json.loads(line) for line in rows.read_text().splitlines()]
    lines[0]["evaluation_id"] = "another"
    rows.write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    Path(runs[0], "baseline.json").unlink()
    asked = ("--metric", "acc", "--set", "arm=model_id", "--every-eval-ever", "out")
    status, _, errors = shell("score", runs[0], *asked)
    assert (status, errors) == (0, "")
    assert [path.suffix for path in Path("out").rglob("*") if path.is_file()] == [".json"]


def test_model_of_another_script_stands_in_the_place_that_its_name_says(shell, runs):
    rows = Path(runs[0], "baseline_samples.jsonl")
    rows.write_text(rows.read_text().replace("acme/baseline", "组织/模型é"))
    Path(runs[0], "baseline.json").unlink()
    assert shell("score", runs[0], "--metric", "acc", "--every-eval-ever", "out")[0] == 0
    (path,) = written("out")
    assert path.parent == Path("out/data/products_choice/组织/模型é")


def test_score_writes_its_interval(shell, runs):
    answer = json.loads(shell("score", runs[1], "--metric", "acc", "--json", "--every-eval-ever", "out")[1])
    ((record,),) = [written("out").values()]
    told = record["evaluation_results"][0]["score_details"]
    assert told["score"] == answer["mean"]
    assert told["uncertainty"]["standard_error"]["value"] == answer["se"]
    interval = told["uncertainty"]["confidence_interval"]
    assert (interval["lower"], interval["upper"]) == (answer["ci"]["low"], answer["ci"]["high"])
    assert interval["method"] == answer["ci"]["method"]


def test_files_of_others_become_a_record_without_rows_and_say_what_is_unknown(shell):
    path = str(FILES / "pydantic-evals" / "2.62.0" / "baseline.json")
    status, _, errors = shell("score", path, "--metric", "exact", "--every-eval-ever", "out")
    assert (status, errors) == (0, "")
    ((record,),) = [written("out").values()]
    assert record["eval_library"] == {"name": "pydantic_evals", "version": "unknown"}
    assert record["model_info"]["additional_details"] == {
        "deployment_type": "unknown", "model_availability": "unknown",
    }  # fmt: skip
    assert "detailed_evaluation_results" not in record
    assert [path.suffix for path in Path("out").rglob("*") if path.is_file()] == [".json"]


def test_suite_is_no_metric_and_a_file_in_the_way_is_said(shell, runs):
    Path("taken").write_text("")
    status, _, errors = shell("score", runs[0], "--metric", "acc", "--every-eval-ever", "taken")
    assert status != 0
    assert "taken" in errors
    assert "Traceback" not in errors


def test_scores_that_converters_leave_in_metadata_are_no_clusters(shell, runs):
    assert "lm_eval_metrics" not in shell("score", runs[0], "--metric", "acc")[1]
