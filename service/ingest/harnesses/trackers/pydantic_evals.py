"""Reports of pydantic-evals: `EvaluationReportAdapter.dump_json` of a report, or the same as YAML."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from typing_extensions import override

from service.ingest.documents import json_slices
from service.ingest.documents.files import Files
from service.ingest.documents.json_values import loads
from service.ingest.documents.limits import MIB, unreadable
from service.ingest.harnesses.harness import FAILED_GRADER, SCORED_ERROR, Harness, Row
from service.ingest.harnesses.samples import Measured, Reader, Sample
from service.ingest.harnesses.trackers.records import mapping, measure_score, objects, record

_REPEAT = re.compile(r" \[([0-9]{1,6})/[0-9]{1,6}\]\Z")
_LISTS = ("cases", "failures")


class PydanticEvalsReport(Reader):
    """One report. A case whose task raised is among `failures`; an evaluator that raised gives no value of its name."""

    def __init__(self, files: Files) -> None:
        name = files.only("*.json", "*.yaml", "*.yml", what="a report", of="one report of pydantic-evals")
        document = self._document = files.read(name)
        self.run: dict[str, Any] = {}
        self._parts: dict[str, Any] = {}
        if json_slices.begins_object(document):
            for key, begin, end in json_slices.top(document, "the report"):
                if key in self._parts or key in self.run:
                    raise unreadable("the report", "names a member twice")
                if key in _LISTS:
                    self._parts[key] = begin
                elif end - begin <= MIB:
                    self.run[key] = loads(bytes(document[begin:end]), "the report")
        else:
            from service.ingest.documents.yaml_values import load_yaml  # most files are no YAML

            report = load_yaml(document, "the report")
            for key, value in mapping(report).items():
                (self._parts if key in _LISTS else self.run)[key] = value
        if "cases" not in self._parts:
            raise unreadable("", "the file holds no report of pydantic-evals: it has no `cases`")

    def _read_cases(self, part: str) -> Iterator[tuple[str, dict[str, Any]]]:
        """Yield the cases of a part of the report (`cases` or `failures`), each with where it stands."""
        cases = self._parts.get(part)
        if isinstance(cases, list):  # of YAML
            for number, case in enumerate(cases, start=1):
                if not isinstance(case, dict):
                    raise unreadable(f"{part}[{number}]", "is not an object")
                yield f"{part}[{number}]", case
        elif type(cases) is int:
            slices = json_slices.elements(self._document, cases, part)
            for number, (begin, end) in enumerate(slices, start=1):
                yield f"{part}[{number}]", record(bytes(self._document[begin:end]), f"{part}[{number}]")
        elif cases is not None:
            raise unreadable("", f"`{part}` of the report is no list")

    @override
    def samples(self) -> Iterator[Sample]:
        """Yield every case, then every failure."""
        names: Mapping[str, set[str]] | None = None
        for where, case in self._read_cases("cases"):
            measures = {name: measure_score(result.get("value")) for name, result in _results(case)}
            for name, value in mapping(case.get("metrics")).items():
                measures.setdefault(f"metrics.{name}", measure_score(value))
            for failure in objects(case.get("evaluator_failures")):
                names = self._names() if names is None else names
                for name in names.get(_source(failure)) or {str(failure.get("name"))}:
                    measures.setdefault(name, Measured(None, "grader_failed"))
            yield Sample(where, _fields(case), measures)
        for where, case in self._read_cases("failures"):
            yield Sample(where, _fields(case), {}, ("error",))

    def _names(self) -> dict[str, set[str]]:
        """Return names of what every evaluator gives, by evaluator: a failure tells its evaluator alone."""
        names: dict[str, set[str]] = {}
        for _where, case in self._read_cases("cases"):
            for name, result in _results(case):
                names.setdefault(_source(result), set()).add(name)
        return names

    @override
    def about(self) -> Mapping[str, Any]:
        """Return the data set's name, and how often each case was run."""
        metadata = mapping((self.run or {}).get("experiment_metadata"))
        return {"dataset": (self.run or {}).get("dataset_name"), "runs": metadata.get("repeat")}


def _results(case: Mapping[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    for kind in ("assertions", "scores", "labels"):
        for name, result in mapping(case.get(kind)).items():
            if isinstance(result, dict):
                yield name, result


def _source(result: Mapping[str, Any]) -> str:
    return json.dumps(result.get("source"), sort_keys=True, default=str)


def _fields(case: Mapping[str, Any]) -> dict[str, Any]:
    """Return the case, with the name that its repeats share and the number of this one."""
    name, shared = case.get("name"), case.get("source_case_name")
    repeat = _REPEAT.search(name) if isinstance(name, str) and shared is not None else None
    number = int(repeat[1]) if repeat is not None else 1
    return {**case, "case": name if shared is None else shared, "repeat": number}


HARNESS = Harness(
    formats=("pydantic_evals",),
    open=lambda files, _form, _mapping: PydanticEvalsReport(files),
    content=("inputs", "expected_output"),
    row=Row(
        title="pydantic-evals",
        reads="report, JSON or YAML",
        by_itself=(
            "the case's name, its repeats as replicates; a case that failed is an error, and so is every value of an "
            "evaluator that raised"
        ),
        to_say="`metric`: a score, a label, an assertion, or `metrics.NAME`",
    ),
    undecided={"grader_failed": FAILED_GRADER, "error": SCORED_ERROR},
    marks=('"evaluator_failures"', '"source_case_name"', "task_duration: "),
    doubt=2,
    beside=frozenset(
        {"output", "metrics", "attributes", "scores", "labels", "assertions", "evaluator_failures"}
    ),
)
