"""The smallest file of every format that has all that its reader looks at, and a mapping that reads it."""

from __future__ import annotations

import csv
import io
import json
import zipfile
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pyarrow
from pyarrow import parquet

from service.ingest.documents.files import Files
from tests.ingest.shapes import Base
from tests.ingest.tracker_bases import TRACKER_BASES


def _lm_line(number: int) -> dict[str, Any]:
    return {
        "doc_id": number,
        "doc": {"id": f"i{number}", "topic": "a"},
        "doc_hash": f"h{number}",
        "filter": "none",
        "metrics": ["exact"],
        "exact": 1.0,
    }


def _trace(number: int) -> dict[str, Any]:
    return {
        "trace_id": f"tr-{number}",
        "state": "OK",
        "trace_metadata": {"mlflow.sourceRun": "r", "mlflow.traceInputs": f'{{"id": "i{number}"}}'},
        "assessments": [
            {
                "assessment_name": "exact",
                "source": {"source_type": "CODE"},
                "valid": True,
                "feedback": {"value": True},
            }
        ],
        "tags": {"topic": "a"},
    }


_INSPECT_HEADER = {
    "version": 2,
    "status": "success",
    "eval": {"dataset": {"sample_ids": ["i0"]}, "config": {"epochs": 1}, "task_args": {"arm": "baseline"}},
    "invalidated": False,
}
_INSPECT_SAMPLE = {
    "id": "i0",
    "epoch": 1,
    "scores": {"exact": {"value": "C", "history": [{"value": "I"}, {"value": "C"}], "reason": None}},
    "metadata": {"topic": "a"},
    "limit": None,
    "error": None,
}
_INSPECT = {
    "format": "inspect", "scorer": "exact", "cluster_key": "topic", "arm": "task_args.arm", "edited": "original",
}  # fmt: skip

BASES: dict[str, Base] = {
    **TRACKER_BASES,
    "inspect": Base({"log.json": {**_INSPECT_HEADER, "samples": [_INSPECT_SAMPLE]}}, _INSPECT),
    "inspect archive": Base(
        {"header.json": _INSPECT_HEADER, "samples/i0_epoch_1.json": _INSPECT_SAMPLE}, _INSPECT, zipped=True
    ),
    "lm_eval": Base(
        {
            "results_1.json": {
                "config": {"model_args": "arm=baseline"},
                "n-samples": {"task": {"original": 2, "effective": 2}},
            },
            "samples_task_1.jsonl": [_lm_line(0), _lm_line(1)],
        },
        {
            "format": "lm_eval", "metric": "exact", "filter": "none", "arm": "model_args.arm", "cluster": "doc.topic",
        },
        "exact,none",
    ),
    "promptfoo": Base(
        {
            "results.json": {
                "results": {
                    "version": 3,
                    "results": [
                        {
                            "testIdx": 0,
                            "promptIdx": 0,
                            "vars": {"id": "i0"},
                            "provider": {"label": "baseline"},
                            "testCase": {"metadata": {"topic": "a"}},
                            "success": True,
                            "score": 1,
                            "failureReason": 0,
                            "error": None,
                            "namedScores": {"exact": 1},
                            "gradingResult": {
                                "componentResults": [{"reason": "ok", "assertion": {"metric": "exact"}}]
                            },
                        }
                    ],
                },
                "runtimeOptions": {"repeat": 1},
            }
        },
        {
            "format": "promptfoo", "metric": "exact", "arm": "provider.label", "grader_failed": "error",
            "cluster": "testCase.metadata.topic",
        },
    ),
    "deepeval": Base(
        {
            "test_run_1.json": {
                "hyperparameters": {"arm": "baseline"},
                "testRunData": {
                    "testCases": [
                        {
                            "name": "i0",
                            "input": "q",
                            "metricsData": [{"name": "exact", "score": 1.0, "evaluationModel": "m", "error": None}],
                            "additionalMetadata": {"topic": "a"},
                        }
                    ]
                },
            }
        },
        {"format": "deepeval", "metric": "exact", "arm": "hyperparameters.arm", "cluster": "metadata.topic"},
    ),
    "openai_evals": Base(
        {
            "log.jsonl": [
                {"spec": {"completion_fns": ["baseline"], "run_id": "r"}},
                {"sample_id": "t.0", "type": "match", "data": {"correct": True}},
                {"sample_id": "t.1", "type": "match", "data": {"correct": False}},
                {"sample_id": "t.0", "type": "metrics", "data": {"f": 0.5}},
                {"final_report": {"accuracy": 0.5}},
            ],
            "samples.jsonl": [{"id": "i0", "topic": "a"}, {"id": "i1", "topic": "a"}],
        },
        {
            "format": "openai_evals", "metric": "correct", "item_id": "data.id", "cluster": "data.topic",
            "arm": "completion_fns.0",
        },
        "correct",
    ),
    "helm": Base(
        {
            "per_instance_stats.json": [
                {
                    "instance_id": "i0",
                    "train_trial_index": 0,
                    "stats": [
                        {"name": {"name": "exact", "split": "test", "sub_split": "a"}, "count": 1, "mean": 1.0}
                    ],
                }
            ],
            "run_spec.json": {"adapter_spec": {"model": "baseline"}},
            "scenario_state.json": {
                "request_states": [
                    {
                        "instance": {"id": "i0", "split": "test", "sub_split": "a"},
                        "train_trial_index": 0,
                        "result": {"success": True},
                    }
                ]
            },
        },
        {"format": "helm", "metric": "exact", "arm": "adapter_spec.model", "cluster": "sub_split"},
    ),
    "swe_bench": Base(
        {
            "baseline.run.json": {
                "schema_version": 2,
                "submitted_ids": ["a-1", "a-2"],
                "resolved_ids": ["a-1"],
                "unresolved_ids": ["a-2"],
                "error_ids": [],
                "empty_patch_ids": [],
                "incomplete_ids": ["a-3"],
                "infra_failure_ids": None,
            }
        },
        {"format": "swe_bench", "arm": "model", "cluster": "repository"},
        "resolved",
    ),
    "mlflow": Base(
        {
            "run.json": {
                "run": {
                    "info": {"run_id": "r", "status": "FINISHED"},
                    "data": {"params": [{"key": "arm", "value": "baseline"}], "tags": []},
                }
            },
            "traces.json": {"traces": [_trace(0), _trace(1)], "next_page_token": ""},
        },
        {
            "format": "mlflow", "metric": "exact", "item_id": "inputs.id", "arm": "params.arm", "cluster": "tags.topic",
        },
    ),
    "ndjson": Base(
        {"rows.ndjson": [{"item_id": "i0", "value": 1, "arm": "baseline", "topic": "a", "status": "ok"}]},
        {"format": "ndjson", "arm": "arm", "cluster": "topic", "status": "status"},
        "value",
    ),
    "csv": Base(
        {
            "rows.csv": [
                {"item_id": "i0", "value": "1", "arm": "baseline", "topic": "a", "status": "ok"},
                {"item_id": "i1", "value": "0", "arm": "baseline", "topic": "b", "status": "ok"},
            ]
        },
        {"format": "csv", "arm": "arm", "cluster": "topic", "status": "status"},
        "value",
    ),
    "parquet": Base(
        {"rows.parquet": [{"item_id": "i0", "value": 1.0, "arm": "baseline", "topic": "a", "status": "ok"}]},
        {"format": "parquet", "arm": "arm", "cluster": "topic", "status": "status"},
        "value",
    ),
    "lighteval": Base(
        {
            "details_products_1.parquet": [
                {
                    "doc": {"query": "q0", "choices": ["y"], "specific": {"item_id": "i0", "topic": "a"}},
                    "metric": {"exact": 1.0},
                    "model_response": {"text": ["y"]},
                }
            ],
            "results_1.json": {"config_general": {"model_name": "baseline", "max_samples": None}},
        },
        {
            "format": "lighteval", "metric": "exact", "item_id": "doc.specific.item_id",
            "cluster": "doc.specific.topic", "arm": "model_name",
        },
    ),
}  # fmt: skip


__all__ = ["BASES", "Base", "CannotBeWritten", "encoded", "opened"]


class CannotBeWritten(Exception):
    """The format has no way to write such a value."""


def encoded(name: str, document: Any) -> bytes:
    """A document as its file has it; NaN, infinities and halves of surrogate pairs stay what they are.

    Raises:
        CannotBeWritten: Parquet has no such value, or a table would have no such row.
    """
    if name.endswith((".csv", ".parquet")):
        if not isinstance(document, list) or not all(isinstance(row, dict) and row for row in document):
            raise CannotBeWritten
        return _as_csv(document) if name.endswith(".csv") else _as_parquet(document)
    if name.endswith(("jsonl", ".ndjson")):
        return b"".join(json.dumps(line).encode() + b"\n" for line in document)
    return json.dumps(document).encode()


def _as_csv(rows: Any) -> bytes:
    written = io.StringIO()
    table = csv.DictWriter(written, dict.fromkeys(name for row in rows for name in row))
    table.writeheader()
    table.writerows(rows)
    return written.getvalue().encode("utf-8", "surrogatepass")


def _as_parquet(rows: Any) -> bytes:
    written = io.BytesIO()
    try:
        parquet.write_table(pyarrow.Table.from_pylist(rows), written)
    except (pyarrow.ArrowException, OverflowError, TypeError, UnicodeEncodeError) as none:
        raise CannotBeWritten from none
    return written.getvalue()


def opened(base: Base, contents: Mapping[str, bytes], folder: Path, open_ones: ExitStack) -> Files:
    """Those contents as the files of an import."""
    if base.zipped:
        buffer = io.BytesIO()
        with zipfile.ZipFile(buffer, "w") as archive:
            for name, content in contents.items():
                archive.writestr(name, content)
        return Files.of(buffer)
    for name, content in contents.items():
        (folder / name).write_bytes(content)
    return Files.at([folder / name for name in contents], open_ones)
