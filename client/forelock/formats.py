"""Formats of result files, and what tells them apart.

Made by `python -m tools.pages.registers`; change what is declared in the service, not this module.
"""

from __future__ import annotations

FORMATS = (
    "inspect",
    "lm_eval",
    "promptfoo",
    "deepeval",
    "openai_evals",
    "helm",
    "swe_bench",
    "mlflow",
    "pydantic_evals",
    "ragas",
    "langsmith",
    "langfuse",
    "braintrust",
    "opik",
    "phoenix",
    "weave",
    "openai_eval_runs",
    "lighteval",
    "every_eval_ever",
    "swe_bench_experiments",
    "harbor",
    "csv",
    "ndjson",
    "parquet",
)
TOGETHER = (
    "lm_eval",
    "openai_evals",
    "helm",
    "mlflow",
    "langsmith",
    "langfuse",
    "braintrust",
    "opik",
    "phoenix",
    "weave",
    "openai_eval_runs",
    "lighteval",
    "every_eval_ever",
    "swe_bench_experiments",
    "harbor",
)
"""Formats of which one run is several files."""
WANTED = {
    "swe_bench_experiments": (
        "per_instance_details.json results.json metadata.yaml metadata.yml all_preds.jsonl all_preds.json preds.json"
    ),
    "harbor": "result.json results.json",
}
"""Names of the files that are read of a folder, where it holds many others."""
LINES = (
    "format",
    "endpoint",
    "endpoints",
    "arm",
    "arms",
    "item_id",
    "cluster",
    "replicate",
    "observed_at",
    "values",
    "unknown_items",
)
"""Lines that the `import` section of every format may have."""
OWN_LINES = {
    "inspect": "scorer cluster_key error limit edited invalidated no_response unscored partial",
    "lm_eval": "metric filter unscored partial",
    "promptfoo": "metric error grader_failed unscored rounded",
    "deepeval": "metric grader_failed unscored",
    "openai_evals": "metric several unscored partial",
    "helm": "metric split error unscored",
    "swe_bench": "error incomplete empty_patch infra_failure ambiguous_failure",
    "mlflow": "metric source error grader_failed unscored partial",
    "pydantic_evals": "metric error grader_failed unscored",
    "ragas": "metric grader_failed unscored",
    "langsmith": "metric error grader_failed unscored several",
    "langfuse": "metric error grader_failed unscored source partial",
    "braintrust": "metric error grader_failed unscored partial",
    "opik": "metric error grader_failed unscored several partial",
    "phoenix": "metric error grader_failed unscored source partial",
    "weave": "metric error grader_failed unscored partial",
    "openai_eval_runs": "metric error grader_failed unscored several partial",
    "lighteval": "metric unscored",
    "every_eval_ever": "metric error unscored",
    "swe_bench_experiments": "no_generation no_logs",
    "harbor": "metric error unscored partial",
    "csv": "metric status integer_ids unscored",
    "ndjson": "metric status integer_ids unscored",
    "parquet": "metric status integer_ids unscored",
}
"""Those of one format beside them."""
NAMES = {
    "per_instance_stats.json": "helm",
    "per_instance_details.json": "swe_bench_experiments",
    "samples_*.jsonl": "lm_eval",
    "details_*.parquet": "lighteval",
}
"""Patterns of names: one such file tells what all are."""
SUFFIXES = {
    ".eval": "inspect",
    ".parquet": "parquet",
}
HEADERS = {
    b"Grader Reason": "promptfoo",
    b"user_input": "ragas",
    b"feedback.": "langsmith",
    b"repetition_number,input,reference_output": "phoenix",
}
"""Columns that the first line of a CSV has."""
MARKS = {
    b'"is_resolved"': "harbor",
    b'"verifier_result"': "harbor",
    b'"n_total_trials"': "harbor",
    b'"resolved_ids"': "swe_bench",
    b'"answer_attribution"': "every_eval_ever",
    b'"evaluator_relationship"': "every_eval_ever",
    b'"evaluation_result_id"': "every_eval_ever",
    b'"no_generation"': "swe_bench_experiments",
    b'"no_logs"': "swe_bench_experiments",
    b'"failureReason"': "promptfoo",
    b'"evalId"': "promptfoo",
    b'"evaluator_failures"': "pydantic_evals",
    b'"source_case_name"': "pydantic_evals",
    b"task_duration: ": "pydantic_evals",
    b'"experimentItemId"': "langfuse",
    b'"comparison_experiment_name"': "braintrust",
    b'"_xact_id"': "braintrust",
    b'"root_span_id"': "braintrust",
    b'"eval.run.output_item"': "openai_eval_runs",
    b'"datasource_item_id"': "openai_eval_runs",
    b'"testCases"': "deepeval",
    b'"testRunData"': "deepeval",
    b'"scoring_failed"': "opik",
    b'"feedback_scores"': "opik",
    b'"dataset_item_data"': "opik",
    b'"annotator_kind"': "phoenix",
    b'"repetition_number"': "phoenix",
    b'"op_name"': "weave",
    b'"doc_hash"': "lm_eval",
    b'"doc_id"': "lm_eval",
    b'"user_input"': "ragas",
    b'"feedback_stats"': "langsmith",
    b'"feedback.': "langsmith",
    b'"reference_example_id"': "langsmith",
    b'"completion_fns"': "openai_evals",
    b'"instance_id"': "helm",
    b'"trace_id"': "mlflow",
    b'"experiment_id"': "mlflow",
    b'"eval"': "inspect",
}
"""What the first bytes of a JSON file hold, the surest first."""
