"""Test runs of DeepEval: `test_run_*.json`, or its cache `.latest_test_run.json`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from typing_extensions import override

from service.ingest.documents import json_slices
from service.ingest.documents.files import Files
from service.ingest.documents.json_values import Members, loads
from service.ingest.documents.limits import unreadable
from service.ingest.harnesses.harness import FAILED_GRADER, Harness, Row
from service.ingest.harnesses.samples import Measured, Reader, Sample

_WANTED = Members(
    {
        "name",
        "input",
        "metricsData",
        "metricsMetadata",
        "additionalMetadata",
        "metadata",
        "tags",
        "order",
        "expectedOutput",
    }
)
_RUN = frozenset({"hyperparameters", "identifier", "datasetAlias", "testFile"})


class DeepEvalRun(Reader):
    """One test run. A test that crashed before its metrics is not in it: its item is missing."""

    def __init__(self, files: Files) -> None:
        name = files.only("*.json", what="a test run of DeepEval", of="one test_run_*.json")
        document = self._document = files.read(name)
        self.run = {}
        self._cases: list[int] = []
        outer = [(key, begin, end) for key, begin, end in json_slices.top(document, "the file")]
        # The cache holds the run inside another object, which has members of its own; its name has changed as well.
        inner = next((member for member in outer if member[0] in ("testRunData", "test_run_data")), None)
        if inner is not None:
            outer += json_slices.members(document, inner[1], inner[0])
        for key, begin, end in outer:
            if key in _RUN:
                self.run[key] = loads(document[begin:end], key)
            elif key in ("testCases", "test_cases"):
                self._cases.append(begin)
        if len(self._cases) != 1:
            raise unreadable("", "the file holds no test run of DeepEval: it has no `testCases`")

    @override
    def samples(self) -> Iterator[Sample]:
        """Yield the test cases of the run, one sample of each."""
        cases = json_slices.objects(self._document, self._cases[0], _WANTED, "testCases")
        for number, case in enumerate(cases, start=1):
            where = f"testCases[{number}]"
            measures: dict[str, Measured] = {}
            for name, metric in _metrics(case):
                if name in measures:
                    raise unreadable(where, "has two metrics of one name")
                measures[name] = _measure(metric)
            # One thing under two names, by version: paths of a plan find it under either.
            extra = case.get("additionalMetadata") or case.get("metadata") or {}
            fields = {**case, "additionalMetadata": extra, "metadata": extra}
            yield Sample(where, fields, measures)

    @override
    def about(self) -> Mapping[str, Any]:
        """Return the data set's name, and by metric the model that evaluated it."""
        judges = {name: model for name, model in self.judges() if model is not None}
        return {"dataset": (self.run or {}).get("datasetAlias"), "judge": judges}

    @override
    def judges(self) -> Iterator[tuple[str, str | None]]:
        """Yield every metric with the model that evaluated it, once each."""
        seen = set()
        for case in json_slices.objects(self._document, self._cases[0], _WANTED, "testCases"):
            for name, metric in _metrics(case):
                model = metric.get("evaluationModel")
                seen.add((name, model if isinstance(model, str) else None))
        yield from sorted(seen, key=str)


def _metrics(case: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Metrics of a test case by name; before 1.0 both were called otherwise."""
    for data, name in (("metricsData", "name"), ("metricsMetadata", "metric")):
        metrics = case.get(data)
        for metric in metrics if isinstance(metrics, list) else ():
            if isinstance(metric, dict) and isinstance(metric.get(name), str):
                yield metric[name], metric


def _measure(metric: Mapping[str, Any]) -> Measured:
    if metric.get("error"):
        return Measured(metric.get("score"), "grader_failed")
    value = metric.get("score")
    return Measured(value, "unscored" if value is None else None)


HARNESS = Harness(
    formats=("deepeval",),
    open=lambda files, _form, _mapping: DeepEvalRun(files),
    content=("input", "expectedOutput"),
    row=Row(
        title="DeepEval",
        reads="`test_run_*.json`",
        by_itself="`name`; a metric that raised is an error",
        to_say=(
            "`metric`; the judge of the file must be the endpoint's; a test that crashed is not in the file"
        ),
    ),
    undecided={"grader_failed": FAILED_GRADER},
    marks=('"testCases"', '"testRunData"'),
    doubt=3,
)
