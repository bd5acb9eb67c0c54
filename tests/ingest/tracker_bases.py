"""The smallest file of every tracker that has all that its reader looks at, and a mapping that reads it."""

from __future__ import annotations

from collections.abc import Mapping

from tests.ingest.shapes import Base


def _scored(form: str, **more: str) -> Mapping[str, str]:
    return {"format": form, "metric": "exact", **more}


_CASE = {
    "name": "i0 [1/2]",
    "source_case_name": "i0",
    "inputs": {"q": "x"},
    "metadata": {"topic": "a"},
    "expected_output": "y",
    "output": "y",
    "metrics": {"tokens": 3},
    "assertions": {"exact": {"name": "exact", "value": True, "source": {"name": "Exact", "arguments": None}}},
    "scores": {"share": {"name": "share", "value": 0.5, "source": {"name": "Share", "arguments": None}}},
    "labels": {},
    "evaluator_failures": [
        {"name": "Share", "error_message": "m", "source": {"name": "Share", "arguments": None}}
    ],
}
_EVENT = {
    "id": "e0",
    "span_id": "s0",
    "root_span_id": "s0",
    "is_root": True,
    "span_parents": None,
    "input": "q0",
    "expected": "y",
    "scores": {"exact": 1},
    "metadata": {"topic": "a", "arm": "baseline", "scorer_errors": {"share": "raised"}},
    "error": None,
}

TRACKER_BASES: dict[str, Base] = {
    "pydantic_evals": Base(
        {
            "report.json": {
                "name": "baseline",
                "experiment_metadata": {"arm": "baseline", "repeat": 2},
                "dataset_name": "d",
                "cases": [_CASE],
                "failures": [{"name": "i1", "inputs": {}, "metadata": {"topic": "a"}, "error_message": "m"}],
            }
        },
        _scored("pydantic_evals", arm="experiment_metadata.arm", cluster="metadata.topic"),
    ),
    "ragas": Base(
        {"frame.jsonl": [{"user_input": "q0", "response": "y", "reference": "y", "arm": "baseline", "exact": 1.0}]},
        _scored("ragas", arm="arm", grader_failed="error"),
    ),
    "langsmith": Base(
        {
            "frame.jsonl": [
                {
                    "inputs.q": "x", "inputs.topic": "a", "outputs.a": "y", "reference.a": "y", "error": None,
                    "feedback.exact": True, "example_id": "i0", "id": "r0", "arm": "baseline",
                }
            ]
        },
        _scored("langsmith", arm="arm", cluster="inputs.topic"),
    ),
    "langsmith runs": Base(
        {
            "runs.json": [
                {
                    "id": "i0",
                    "inputs": {"q": "x"},
                    "outputs": {"a": "y"},
                    "metadata": {"topic": "a"},
                    "runs": [
                        {
                            "id": "r0", "outputs": {"a": "y"}, "error": None, "status": "success",
                            "session_id": "baseline", "extra": {"metadata": {"model": "m"}},
                            "feedback_stats": {"exact": {"n": 1, "avg": 1.0, "values": {}}},
                        }
                    ],
                }
            ]
        },
        _scored("langsmith", arm="session_id", cluster="metadata.topic"),
    ),
    "langfuse": Base(
        {
            "page.json": {
                "data": [
                    {
                        "id": "o0", "traceId": "t0", "level": "DEFAULT", "experimentName": "baseline",
                        "experimentItemId": "i0", "input": "x", "expectedOutput": "y",
                        "experimentItemMetadata": {"topic": "a"},
                        "scores": [
                            {"name": "exact", "value": 1, "dataType": "BOOLEAN", "stringValue": "True", "source": "API"}
                        ],
                    }
                ],
                "meta": {"limit": 50, "cursor": None},
            }
        },
        _scored("langfuse", arm="experimentName", cluster="experimentItemMetadata.topic"),
    ),
    "braintrust": Base(
        {
            "run.json": {
                "summary": {"project_name": "p", "experiment_name": "baseline", "scores": {}},
                "results": [{name: value for name, value in _EVENT.items() if "span" not in name}],
            }
        },
        _scored("braintrust", arm="experiment_name", cluster="metadata.topic"),
    ),
    "braintrust events": Base(
        {"page.json": {"events": [_EVENT, {**_EVENT, "id": "e1", "span_id": "s1", "is_root": False}], "cursor": None}},
        _scored("braintrust", arm="metadata.arm", cluster="metadata.topic"),
    ),
    "opik": Base(
        {
            "experiment_1.json": {
                "experiment": {"id": "e", "name": "baseline", "dataset_name": "d", "status": "completed"},
                "items": [
                    {
                        "id": "x0", "dataset_item_id": "i0", "trace_id": "t0", "dataset_item_data": {"topic": "a"},
                        "evaluation_task_output": {"a": "y"},
                        "feedback_scores": [{"name": "exact", "value": 1.0, "reason": None}],
                        "assertion_results": [{"value": "is polite", "passed": True}],
                    }
                ],
            }
        },
        _scored("opik", arm="name", cluster="data.topic"),
    ),
    "opik test results": Base(
        {
            "results.json": {
                "experiment_name": "baseline",
                "test_results": [
                    {
                        "test_case": {
                            "dataset_item_id": "i0", "task_output": {"a": "y"}, "dataset_item_content": {"topic": "a"},
                        },
                        "score_results": [{"name": "exact", "value": 1.0, "scoring_failed": False}],
                        "trial_id": 0,
                    }
                ],
            }
        },
        _scored("opik", arm="experiment_name", cluster="data.topic", replicate="trial_id"),
    ),
    "phoenix": Base(
        {
            "experiment.json": {"data": {"id": "e", "metadata": {"arm": "baseline"}, "missing_run_count": 0}},
            "runs.json": [
                {
                    "example_id": "i0", "repetition_number": 1, "input": {"topic": "a"}, "reference_output": {"a": "y"},
                    "output": "y", "error": None,
                    "annotations": [
                        {"name": "exact", "annotator_kind": "CODE", "label": None, "score": 1.0, "error": None}
                    ],
                }
            ],
        },
        _scored("phoenix", arm="metadata.arm", cluster="input.topic"),
    ),
    "weave": Base(
        {
            "calls.jsonl": [
                {"id": "c0", "op_name": "weave:///o/p/op/Evaluation.evaluate:v", "inputs": {}, "output": {}},
                {
                    "id": "c1", "op_name": "weave:///o/p/op/Evaluation.predict_and_score:v", "exception": None,
                    "inputs": {"self": "ref", "model": "baseline", "example": {"id": "i0", "topic": "a"}},
                    "output": {"output": "y", "scores": {"exact": True, "graded": {"share": 0.5}}},
                    "started_at": "2026-11-21T10:00:00Z", "ended_at": "2026-11-21T10:00:01Z",
                },
            ]
        },
        _scored("weave", arm="model", item_id="example.id", cluster="example.topic"),
    ),
    "openai_eval_runs": Base(
        {
            "page.json": {
                "object": "list",
                "data": [
                    {
                        "object": "eval.run.output_item", "id": "oi", "datasource_item_id": 4, "status": "pass",
                        "datasource_item": {"topic": "a"}, "run_id": "r",
                        "results": [{"name": "exact", "passed": True, "score": 1.0, "sample": None}],
                        "sample": {"model": "baseline", "input": [], "output": [], "error": None},
                    }
                ],
                "has_more": False,
            },
            "run.json": {"object": "eval.run", "id": "r", "status": "completed", "eval_id": "e", "model": "baseline"},
        },
        _scored("openai_eval_runs", arm="model", cluster="datasource_item.topic"),
    ),
    "every_eval_ever": Base(
        {
            "run_samples.jsonl": [
                {
                    "schema_version": "0.3.0", "evaluation_id": "e", "model_id": "baseline",
                    "evaluation_name": "exact", "sample_id": "i0", "interaction_type": "single_turn",
                    "input": {"raw": "q", "reference": ["y"]}, "output": {"raw": ["y"]}, "answer_attribution": [],
                    "evaluation": {"score": 1.0, "is_correct": True}, "error": None, "metadata": {"topic": "a"},
                }
            ],
            "run.json": {
                "evaluation_id": "e",
                "eval_library": {"name": "inspect_ai", "version": "1"},
                "evaluation_results": [
                    {"evaluation_name": "exact", "source_data": {"dataset_name": "d"},
                     "metric_config": {"lower_is_better": False}}
                ],
            },
        },
        _scored("every_eval_ever", arm="model_id", cluster="metadata.topic"),
    ),
    "swe_bench_experiments": Base(
        {
            "results.json": {"resolved": ["a-1"], "no_generation": ["a-3"], "no_logs": []},
            "all_preds.jsonl": [{"instance_id": "a-1"}, {"instance_id": "a-2"}],
            "metadata.yaml": {"name": "baseline", "tags": {"model": ["m"]}},
        },
        {"format": "swe_bench_experiments", "arm": "name", "cluster": "repository", "no_generation": "failure"},
        "resolved",
    ),
    "swe_bench_experiments details": Base(
        {
            "per_instance_details.json": {
                "a-1": {"cost": 0.5, "api_calls": 31, "resolved": True},
                "a-2": {"cost": 0.25, "api_calls": 9, "resolved": False},
            },
            "metadata.yaml": {"info": {"name": "baseline"}, "tags": {"model": ["m"]}},
        },
        {"format": "swe_bench_experiments", "arm": "info.name", "cluster": "repository"},
        "resolved",
    ),
    "harbor": Base(
        {
            "job.result.json": {"n_total_trials": 2, "finished_at": "2026-11-21T10:00:00Z", "stats": {}},
            "a.result.json": {
                "task_name": "i0", "trial_name": "i0__x", "source": "s", "task_checksum": "c",
                "agent_info": {"name": "oracle", "version": "1", "model_info": {"name": "baseline", "provider": None}},
                "verifier_result": {"rewards": {"exact": 1.0}}, "exception_info": None, "step_results": None,
            },
            "b.result.json": {
                "task_name": "i1", "trial_name": "i1__x", "source": "s",
                "agent_info": {"name": "o", "model_info": {"name": "baseline"}},
                "verifier_result": None, "exception_info": {"exception_type": "AgentTimeoutError"},
                "step_results": [{"step_name": "one", "verifier_result": {"rewards": {"exact": 1}}}],
            },
        },
        {"format": "harbor", "metric": "exact", "arm": "model", "cluster": "source", "error": "error"},
    ),
    "terminal-bench": Base(
        {
            "results.json": {
                "id": "u",
                "results": [
                    {
                        "task_id": "i0", "trial_name": "t", "instruction": "do", "is_resolved": True,
                        "failure_mode": "unset", "parser_results": {"test_a": "passed"}, "arm": "baseline",
                    }
                ],
                "accuracy": 1.0,
            }
        },
        {"format": "harbor", "metric": "resolved", "arm": "instruction", "arms": {"do": "baseline"}},
        "resolved",
    ),
}  # fmt: skip
