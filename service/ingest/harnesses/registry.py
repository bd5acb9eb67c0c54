"""The harnesses, and from a format's name to its reader."""

from __future__ import annotations

from service.domain.plans.importing.imports import FORMATS
from service.domain.plans.importing.mapping import Readable
from service.errors import InvalidData
from service.ingest.documents.files import Files
from service.ingest.harnesses import (
    deep_eval,
    helm,
    inspect_logs,
    lm_eval,
    mlflow_runs,
    openai_evals,
    promptfoo,
    swe_bench,
    tables,
)
from service.ingest.harnesses.harness import Harness
from service.ingest.harnesses.samples import Reader
from service.ingest.harnesses.trackers import (
    braintrust,
    every_eval_ever,
    harbor,
    langfuse,
    langsmith,
    lighteval,
    openai_eval_runs,
    opik,
    phoenix,
    pydantic_evals,
    ragas,
    swe_bench_experiments,
    weave,
)

VERSION = 2
"""Of all readers: a changed answer to the same file is a new one, and the record of an import names it."""
HARNESSES: tuple[Harness, ...] = tuple(
    module.HARNESS
    for module in (
        inspect_logs,
        lm_eval,
        promptfoo,
        deep_eval,
        openai_evals,
        helm,
        swe_bench,
        mlflow_runs,
        pydantic_evals,
        ragas,
        langsmith,
        langfuse,
        braintrust,
        opik,
        phoenix,
        weave,
        openai_eval_runs,
        lighteval,
        every_eval_ever,
        swe_bench_experiments,
        harbor,
        tables,
    )
)
"""In the order of `FORMATS`, which is that of the docs."""
_BY_FORMAT = {form: harness for harness in HARNESSES for form in harness.formats}


def harness_of(form: str) -> Harness:
    """The harness that writes files of a format.

    Raises:
        InvalidData: no such format is read.
    """
    if form not in _BY_FORMAT:
        raise InvalidData.field(
            "query.format", "is not a format that is read", f"one of {', '.join(FORMATS)}"
        )
    return _BY_FORMAT[form]


def open_files(form: str, files: Files, mapping: Readable | None = None) -> Reader:
    """Open an import as its format; a mapping is needed where it decides what is read of the files at all."""
    return harness_of(form).open(files, form, mapping)
