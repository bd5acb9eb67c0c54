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
    "csv",
    "ndjson",
    "parquet",
)
TOGETHER = (
    "lm_eval",
    "openai_evals",
    "helm",
    "mlflow",
)
"""Formats of which one run is several files."""
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
    "csv": "metric status integer_ids unscored",
    "ndjson": "metric status integer_ids unscored",
    "parquet": "metric status integer_ids unscored",
}
"""Those of one format beside them."""
NAMES = {
    "per_instance_stats.json": "helm",
    "samples_*.jsonl": "lm_eval",
}
"""Patterns of names: one such file tells what all are."""
SUFFIXES = {
    ".eval": "inspect",
    ".parquet": "parquet",
}
HEADERS = {
    b"Grader Reason": "promptfoo",
}
"""Columns that the first line of a CSV has."""
MARKS = {
    b'"resolved_ids"': "swe_bench",
    b'"failureReason"': "promptfoo",
    b'"evalId"': "promptfoo",
    b'"testCases"': "deepeval",
    b'"testRunData"': "deepeval",
    b'"doc_hash"': "lm_eval",
    b'"doc_id"': "lm_eval",
    b'"completion_fns"': "openai_evals",
    b'"instance_id"': "helm",
    b'"trace_id"': "mlflow",
    b'"experiment_id"': "mlflow",
    b'"eval"': "inspect",
}
"""What the first bytes of a JSON file hold, the surest first."""
