"""What files say of the system that ran, and where an arm's card says another. Most were written by the harnesses."""

from __future__ import annotations

import hashlib
import json
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from service.domain.plans.sections.arms import ArmCard
from service.ingest.documents.files import Files
from service.ingest.harnesses.registry import harness_of
from service.ingest.mapping.rows import Collector
from service.ingest.mapping.targets import Target
from service.ingest.surveys import survey
from tests.ingest.truth import folder, mapping_of

PROMPT = hashlib.sha256(b"{{question}}").hexdigest()
INSPECT = {"format": "inspect", "scorer": "match", "values": {"P": 0.5, "N": 0}}
PROMPTFOO = {"format": "promptfoo", "metric": "exact", "arm": "provider.label", "grader_failed": "error"}


def told(form: str, *paths: Path) -> dict[str, Any]:
    with ExitStack() as opened:
        system: dict[str, Any] = survey(Files.at(list(paths), opened), form)["system"]
    return system


def differing(path: Path, mapping: dict[str, Any], key: str, **cards: Any) -> Any:
    made = {arm: ArmCard.model_validate({"id": arm, **card}, strict=False) for arm, card in cards.items()}
    with ExitStack() as opened:
        files = Files.at([path], opened)
        read = mapping_of(**mapping)
        reader = harness_of(read.format).open(files, read.format, read)
        target = Target("endpoint", key, values={**read.VALUES, **(read.values or {})})
        arm = None if "arm" in mapping else "baseline"
        return (
            Collector(read, [target], arm=arm, arms=("baseline", "candidate"), cards=made)
            .read(reader)
            .card_differs
        )


def test_inspect_says_model_harness_and_configuration() -> None:
    system = told("inspect", folder("inspect") / "baseline.eval")
    assert len(system.pop("harness.config_sha256")) == 64
    assert system == {
        "model.name": "mockllm/model",
        "harness.name": "inspect_ai",
        "harness.version": "0.3.285",
        "more.task_version": "1.2",
    }


def test_inspect_says_revision_and_decoding(tmp_path: Path) -> None:
    log = json.loads((folder("inspect") / "baseline_json.json").read_text("utf-8"))
    log["eval"]["model_args"] = {"revision": "abc"}
    log["eval"]["model_generate_config"] = {"temperature": 0.5, "top_p": 0.9, "max_tokens": 64, "seed": 7}
    (tmp_path / "log.json").write_text(json.dumps(log))
    system = told("inspect", tmp_path / "log.json")
    assert {name: value for name, value in system.items() if not name.startswith(("harness", "more"))} == {
        "model.name": "mockllm/model",
        "model.revision": "abc",
        "decoding.temperature": 0.5,
        "decoding.top_p": 0.9,
        "decoding.max_tokens": 64,
        "decoding.seed": 7,
    }


def test_lm_eval_says_model_task_and_harness(tmp_path: Path) -> None:
    (results,) = (folder("lm-eval") / "choice_baseline").glob("results_*.json")
    (samples,) = (folder("lm-eval") / "choice_baseline").glob("samples_*.jsonl")
    made = json.loads(results.read_text("utf-8"))
    made["config"] |= {
        "model_args": "pretrained=EleutherAI/pythia-160m,revision=step100000",
        "gen_kwargs": {"temperature": 0, "max_gen_toks": 32},
    }
    made["git_hash"] = "abc123"
    (tmp_path / results.name).write_text(json.dumps(made))
    (tmp_path / samples.name).write_bytes(samples.read_bytes())
    system = told("lm_eval", tmp_path / results.name, tmp_path / samples.name)
    assert len(system.pop("harness.config_sha256")) == 64
    assert system == {
        "model.name": "EleutherAI/pythia-160m",
        "model.revision": "step100000",
        "decoding.temperature": 0,
        "decoding.max_tokens": 32,
        "harness.name": "lm_eval",
        "harness.version": "0.4.13",
        "more.git_hash": "abc123",
        "more.task_hash": made["task_hashes"]["products_choice"],
    }


def test_promptfoo_says_of_each_result_which_provider_and_prompt_it_is_of() -> None:
    path = folder("promptfoo") / "named_scores.results.json"
    system = told("promptfoo", path)
    assert (system["model.name"], system["prompt_sha256"]) == ("file://provider.cjs", PROMPT)
    card = {"model": {"name": "file://provider.cjs"}, "prompt_sha256": PROMPT}
    other = {"model": {"name": "openai:gpt-4.1"}, "prompt_sha256": "0" * 64}
    assert differing(path, PROMPTFOO, "exact", baseline=card, candidate=other) == {
        "candidate": ("model.name", "prompt_sha256")
    }


@pytest.mark.parametrize(
    ("card", "differs"),
    [
        ({}, {}),
        ({"model": {"name": "mockllm/model"}, "harness": {"name": "inspect_ai", "version": "0.3.285"}}, {}),
        ({"model": {"name": "mockllm/model", "revision": "5"}, "decoding": {"temperature": 0}}, {}),
        (
            {"harness": {"name": "inspect_ai", "version": "0.3.200"}, "more": {"task_version": "1.3"}},
            {"baseline": ("harness.version", "more.task_version")},
        ),
    ],
)
def test_only_what_card_and_file_both_say_is_compared(card: dict[str, Any], differs: Any) -> None:
    path = folder("inspect") / "baseline.eval"
    assert differing(path, INSPECT, "match", baseline=card, candidate={"model": {"name": "x"}}) == differs


def test_a_table_says_nothing_of_its_system(tmp_path: Path) -> None:
    (tmp_path / "rows.csv").write_text("item_id,value\na,1\n")
    assert told("csv", tmp_path / "rows.csv") == {}
