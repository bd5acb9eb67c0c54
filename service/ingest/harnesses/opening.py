"""From a format's name to its reader."""

from __future__ import annotations

from collections.abc import Callable

from service.domain.plans.imports import FORMATS, HelmImport, MlflowImport, Readable, TableImport
from service.errors import InvalidData
from service.ingest.harnesses.deep_eval import DeepEvalRun
from service.ingest.harnesses.files import Files
from service.ingest.harnesses.helm import HelmRun
from service.ingest.harnesses.inspect_logs import InspectLog
from service.ingest.harnesses.limits import unmapped
from service.ingest.harnesses.lm_eval import LmEvalRun
from service.ingest.harnesses.mlflow_runs import MlflowRun
from service.ingest.harnesses.openai_evals import OpenAIEvalsLog
from service.ingest.harnesses.promptfoo import PromptfooResults
from service.ingest.harnesses.samples import Reader
from service.ingest.harnesses.swe_bench import SweBenchReport
from service.ingest.harnesses.tables import TableFile

VERSION = 1
"""Of all readers: a changed answer to the same file is a new one, and the record of an import names it."""
_PLAIN: dict[str, Callable[[Files], Reader]] = {
    "lm_eval": LmEvalRun,
    "promptfoo": PromptfooResults,
    "deepeval": DeepEvalRun,
    "openai_evals": OpenAIEvalsLog,
    "helm": HelmRun,
    "swe_bench": SweBenchReport,
}


def open_files(form: str, files: Files, mapping: Readable | None = None) -> Reader:
    """Open an import as its format; a mapping is needed where it decides what is read of the files at all."""
    if form in _PLAIN:
        reader = _PLAIN[form](files)
        if isinstance(reader, HelmRun) and isinstance(mapping, HelmImport):
            _require_failures_told(reader, mapping)
        return reader
    if form == "inspect":
        return InspectLog(files, None if mapping is None else mapping.paths())
    if form == "mlflow":
        return MlflowRun(files, mapping.source if isinstance(mapping, MlflowImport) else None)
    if form not in FORMATS:
        raise InvalidData.field(
            "query.format", "is not a format that is read", f"one of {', '.join(FORMATS)}"
        )
    return TableFile(files, form, mapping.status if isinstance(mapping, TableImport) else None)


def _require_failures_told(run: HelmRun, mapping: HelmImport) -> None:
    if not run.tells_failures and mapping.error != "score":
        raise unmapped(
            "import.error",
            "the import has no scenario_state.json, without which a failed request reads as a wrong answer",
            'send it too, or write "error": "score" to take failed requests for wrong answers',
        )
