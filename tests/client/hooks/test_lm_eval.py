"""The tracker of lm-evaluation-harness over a stand-in for its own: what it sends reads as its files do."""

from __future__ import annotations

import json
import sys
from types import ModuleType

import pytest

from forelock.spool import Spool, send
from tests.client.spool.conftest import Keeper
from tests.ingest.truth import folder, mapping_of, read, table

TASK = "products_choice"


class EvaluationTracker:
    """As the harness's: it is given results first and samples afterwards, and changes what it is given."""

    def __init__(self, output_path: str | None = None) -> None:
        self.output_path, self.saved = output_path, []

    def save_results_aggregated(self, results, samples=None) -> None:
        self.saved.append("results")
        results.update({"task_hashes": {}})

    def save_results_samples(self, task_name, samples) -> None:
        self.saved.append(task_name)
        for sample in samples:
            sample["target"] = str(sample["target"])


@pytest.fixture
def tracker(monkeypatch: pytest.MonkeyPatch, tmp_path):
    """The class, with the harness stood in for."""
    harness, loggers, utils = (
        ModuleType("lm_eval"),
        ModuleType("lm_eval.loggers"),
        ModuleType("lm_eval.utils"),
    )
    loggers.EvaluationTracker = EvaluationTracker
    utils.handle_non_serializable = lambda found: list(found) if isinstance(found, set) else str(found)
    for module in (harness, loggers, utils):
        monkeypatch.setitem(sys.modules, module.__name__, module)
    monkeypatch.delitem(sys.modules, "forelock.hooks.lm_eval", raising=False)
    monkeypatch.setenv("FORELOCK_SPOOL", str(tmp_path / "spool"))
    from forelock.hooks import lm_eval, session

    monkeypatch.setattr(session, "LAST_ATTEMPTS", 1)
    monkeypatch.setenv("FORELOCK_URL", "http://127.0.0.1:9")
    yield lm_eval.ForelockTracker
    sys.modules.pop("forelock.hooks.lm_eval", None)


def test_samples_read_as_those_of_the_files(tracker, monkeypatch, tmp_path, capsys) -> None:
    monkeypatch.setenv("FORELOCK_RECORD", "p1")
    (samples,) = folder("lm-eval").glob("choice_baseline/samples_*.jsonl")
    (results,) = folder("lm-eval").glob("choice_baseline/results_*.json")
    made = tracker(output_path="somewhere")
    made.save_results_aggregated(results=json.loads(results.read_text()))
    lines = [json.loads(line) for line in samples.read_text().splitlines()]
    lines[0]["doc"]["extra"] = {1}  # no JSON: the harness would write it in its own way
    made.save_results_samples(task_name=TASK, samples=lines)
    assert made.saved == ["results", TASK]
    assert f"{len(lines)} rows wait" in capsys.readouterr().err
    keeper = Keeper()
    assert send(keeper.client(), Spool()).rows == len(lines)
    ((query, content),) = keeper.posted
    assert query["format"] == "lm_eval"
    (tmp_path / "sent.zip").write_bytes(content)
    mapping = mapping_of(format="lm_eval", metric="acc", filter="none", item_id="doc.id", cluster="doc.topic")
    sent = read([tmp_path / "sent.zip"], mapping, "acc,none", arm="baseline")
    filed = read([samples, results], mapping, "acc,none", arm="baseline")
    assert table(sent, "baseline") == table(filed, "baseline")


def test_nothing_is_kept_where_no_preregistration_is_named(tracker, monkeypatch, tmp_path) -> None:
    monkeypatch.delenv("FORELOCK_RECORD", raising=False)
    made = tracker()
    made.save_results_aggregated({}, None)
    made.save_results_samples("t", [{"doc": {}, "target": 1}])
    assert made.saved == ["results", "t"]
    assert not (tmp_path / "spool").exists()
