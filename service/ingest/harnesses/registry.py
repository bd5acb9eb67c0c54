"""The harnesses, and from a format's name to its reader, which is loaded alone."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib import import_module

from service.errors import InvalidData
from service.ingest.harnesses.harness import Harness

VERSION = 2
"""Of all readers: a changed answer to the same file is a new one, and the record of an import names it."""
# A list of its own beside `FORMATS` of the domain, which builds two dozen records to read one CSV, and beside the
# `formats` of each harness, which importing all of them would take; tests/test_registers.py compares the three.
MODULES: Mapping[str, str] = {
    "inspect": "inspect_logs",
    "lm_eval": "lm_eval",
    "promptfoo": "promptfoo",
    "deepeval": "deep_eval",
    "openai_evals": "openai_evals",
    "helm": "helm",
    "swe_bench": "swe_bench",
    "mlflow": "mlflow_runs",
    "pydantic_evals": "trackers.pydantic_evals",
    "ragas": "trackers.ragas",
    "langsmith": "trackers.langsmith",
    "langfuse": "trackers.langfuse",
    "braintrust": "trackers.braintrust",
    "opik": "trackers.opik",
    "phoenix": "trackers.phoenix",
    "weave": "trackers.weave",
    "openai_eval_runs": "trackers.openai_eval_runs",
    "lighteval": "trackers.lighteval",
    "every_eval_ever": "trackers.every_eval_ever",
    "swe_bench_experiments": "trackers.swe_bench_experiments",
    "harbor": "trackers.harbor",
    "csv": "tables",
    "ndjson": "tables",
    "parquet": "tables",
}
"""The file in this folder whose `HARNESS` reads a format, in the order of `FORMATS`, which is that of the docs."""


def every() -> list[Harness]:
    """Return all of them, in their order."""
    return [_load(module) for module in dict.fromkeys(MODULES.values())]


def harness_of(form: str) -> Harness:
    """Return the harness that writes files of a format.

    Raises:
        InvalidData: no such format is read.
    """
    if form not in MODULES:
        raise InvalidData.field(
            "query.format", "is not a format that is read", f"one of {', '.join(MODULES)}"
        )
    return _load(MODULES[form])


@cache
def _load(module: str) -> Harness:
    harness: Harness = import_module(f"service.ingest.harnesses.{module}").HARNESS
    return harness
