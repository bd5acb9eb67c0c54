"""Details of LightEval: `details_TASK_DATE.parquet`, and the results file beside them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from typing_extensions import override

from service.ingest.documents.files import Files
from service.ingest.documents.json_values import loads
from service.ingest.documents.limits import unreadable
from service.ingest.harnesses.harness import Harness, Row
from service.ingest.harnesses.samples import Measured, Reader, Sample
from service.ingest.harnesses.tables import TableFile
from service.ingest.harnesses.trackers.records import mapping, measure_score


class LightEvalDetails(Reader):
    """The details of one task."""

    def __init__(self, files: Files) -> None:
        self._name = files.only("*.parquet", what="the details of a task", of="one details_*.parquet")
        self._table = TableFile(files, "parquet", name=self._name)
        results = files.matching("results_*.json")
        self.run = {}
        if len(results) == 1:
            results_file = loads(files.read(results[0]), results[0])
            self.run = mapping(mapping(results_file).get("config_general"))

    @override
    def samples(self) -> Iterator[Sample]:
        """Yield the rows of the details, one sample of each."""
        for row in self._table.samples():
            cells = row.fields
            metric, doc = cells.get("metric"), cells.get("doc")
            if not isinstance(metric, dict) or not isinstance(doc, dict):
                raise unreadable(row.where, "is no row of LightEval's details: it has no `doc` and `metric`")
            # Parquet gives every row the members of all.
            measures: dict[str, Measured] = {name: measure_score(value) for name, value in metric.items()}
            answer = mapping(cells.get("model_response"))
            yield Sample(row.where, {"doc": doc, "model_response": answer}, measures)

    @override
    def about(self) -> Mapping[str, Any]:
        """Return the task, from the details' name."""
        name = self._name.rpartition("/")[2].removesuffix(".parquet")
        task = name.removeprefix("details_").rpartition("_")[0]
        return {"task": task or None, "limits": (self.run or {}).get("max_samples")}


HARNESS = Harness(
    formats=("lighteval",),
    open=lambda files, _form, _mapping: LightEvalDetails(files),
    content=("doc.query", "doc.choices"),
    row=Row(
        title="LightEval",
        reads="`details_*.parquet` of a task, and its `results_*.json`",
        by_itself="hash of `doc.query`; LightEval writes no row for what failed: a run that raised has no details",
        to_say="`metric`; lists (of several samples or of a corpus) are refused. Needs `forelock-server[parquet]`",
    ),
    names=("details_*.parquet",),
    together=True,
    beside=frozenset({"model_response"}),
)
