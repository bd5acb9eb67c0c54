"""Evaluation runs of MLflow as its REST API gives them: `runs/get`, and the pages of `traces/search`."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from typing_extensions import override

from service.domain.plans.importing.imports import MlflowImport
from service.domain.plans.importing.mapping import Readable
from service.errors import InvalidData
from service.ingest.documents import json_slices
from service.ingest.documents.files import Files
from service.ingest.documents.json_values import Buffer, Members, loads
from service.ingest.harnesses.harness import FAILED_GRADER, SCORED_ERROR, Harness, Row, Undecided
from service.ingest.harnesses.samples import Measured, Reader, Sample

_TRACE = Members(
    {"trace_id", "state", "trace_metadata", "assessments", "tags", "request_preview", "client_request_id"}
)


class MlflowRun(Reader):
    """One run, with all pages of its traces."""

    def __init__(self, files: Files, source: str | None) -> None:
        self._source = source
        self._pages: list[tuple[Buffer, int]] = []
        run: Any = None
        open_pages = 0
        for name in files.matching("*.json"):
            document = files.read(name)
            token = False
            for key, begin, end in json_slices.top(document, name):
                if key == "run":
                    if run is not None:
                        raise InvalidData.field("", "the import has several runs", "send one run at a time")
                    run = loads(document[begin:end], name)
                elif key == "traces":
                    self._pages.append((document, begin))
                elif key == "next_page_token":
                    token = bool(loads(document[begin:end], name))
            open_pages += token
        if not isinstance(run, dict) or not isinstance(run.get("info"), dict):
            raise InvalidData.field(
                "", "the import has no run", "send the answer of runs/get beside the traces"
            )
        info, data = run["info"], run.get("data")
        data = data if isinstance(data, dict) else {}
        self.run = {**info, "params": _pairs(data.get("params")), "tags": _pairs(data.get("tags"))}
        if info.get("status") != "FINISHED":
            self.partial = "is not finished"
        # Every page but the last names the one that follows: as many names as pages, and the last is not here.
        elif open_pages >= max(1, len(self._pages)):
            self.partial = "has a page of traces that another follows, which is not here"

    @override
    def samples(self) -> Iterator[Sample]:
        """Yield every trace of the run."""
        run_id = (self.run or {}).get("run_id")
        number = 0
        for document, begin in self._pages:
            for trace in json_slices.objects(document, begin, _TRACE, "traces"):
                number += 1
                where = f"trace {number}"
                metadata = trace.get("trace_metadata")
                metadata = metadata if isinstance(metadata, dict) else {}
                if metadata.get("mlflow.sourceRun") not in (None, run_id):
                    raise InvalidData.field("", f"{where} is of another run", "send the traces of one run")
                fields = {**trace, "inputs": _inputs(metadata, trace), "request_id": trace.get("trace_id")}
                # Scorers answer for a prediction that failed too, as if its output were empty: that is no result.
                failed = trace.get("state") != "OK"
                measures = self._measures(trace.get("assessments"))
                yield Sample(where, fields, {} if failed else measures, ("error",) if failed else ())

    def _measures(self, assessments: Any) -> dict[str, Measured]:
        """Read the valid feedback of a trace by name, of the source that the mapping names if it names one."""
        measures: dict[str, Measured] = {}
        for assessment in assessments if isinstance(assessments, list) else ():
            feedback = assessment.get("feedback") if isinstance(assessment, dict) else None
            # An assessment that another has replaced stays in the trace, and says that it is not valid.
            if not isinstance(feedback, dict) or assessment.get("valid") is False:
                continue
            name, source = assessment.get("assessment_name"), assessment.get("source")
            kind = source.get("source_type") if isinstance(source, dict) else None
            if not isinstance(name, str) or (self._source is not None and kind != self._source):
                continue
            value = feedback.get("value")
            event = "grader_failed" if feedback.get("error") else "unscored" if value is None else None
            measures[name] = Measured(None, "several") if name in measures else Measured(value, event)
        return measures


def _inputs(metadata: Mapping[str, Any], trace: Mapping[str, Any]) -> Any:
    """Return what was asked, where the trace keeps all of it."""
    for text in (metadata.get("mlflow.traceInputs"), trace.get("request_preview")):
        try:
            if isinstance(text, str):
                return json.loads(text)
        except (ValueError, RecursionError):
            continue
    return None


def _pairs(pairs: Any) -> dict[str, Any]:
    if not isinstance(pairs, list):
        return {}
    return {
        key: pair.get("value")
        for pair in pairs
        if isinstance(pair, dict) and isinstance(key := pair.get("key"), str)
    }


def _open(files: Files, _form: str, mapping: Readable | None) -> MlflowRun:
    return MlflowRun(files, mapping.source if isinstance(mapping, MlflowImport) else None)


HARNESS = Harness(
    formats=("mlflow",),
    open=_open,
    content=("inputs",),
    row=Row(
        title="MLflow",
        reads="`runs/get` and all pages of `traces/search`",
        by_itself=(
            "hash of inputs; a failed prediction is an error although scorers answer, and so is a failed "
            "scorer"
        ),
        to_say="`metric`; `source` of several assessments",
    ),
    undecided={
        "grader_failed": FAILED_GRADER,
        "source": Undecided(
            "have several assessments of the name", 'write "source": "CODE", "LLM_JUDGE" or "HUMAN"'
        ),
        "error": SCORED_ERROR,
    },
    together=True,
    marks=('"trace_id"', '"experiment_id"'),
    doubt=7,
)
