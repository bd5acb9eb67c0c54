"""Experiments of Arize Phoenix: what `GET /v1/experiments/ID/json` or `/csv` answers, and the experiment beside it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from typing_extensions import override

from service.domain.plans.importing.mapping import Readable
from service.errors import InvalidData
from service.ingest.documents.files import Files
from service.ingest.documents.numbers import DECIMAL
from service.ingest.harnesses.harness import FAILED_GRADER, SCORED_ERROR, Harness, Row, Undecided
from service.ingest.harnesses.samples import Measured, Reader, Sample
from service.ingest.harnesses.trackers.records import BY_ROWS, Records, measure_score, objects, only_source
from service.ingest.harnesses.trackers.records import record as of_text

_ANNOTATION, _KIND = "annotation_", "_annotator_kind"


class _Runs(Records):
    @override
    def is_beside(self, document: Mapping[str, Any]) -> bool:
        """Tell whether it is the answer about the experiment."""
        return isinstance(document.get("data"), dict)


class PhoenixExperiment(Reader):
    """The runs of one experiment, with their annotations."""

    def __init__(self, files: Files, source: str | None = None) -> None:
        self._source = source
        self._records = _Runs(files, (), "experiment of Phoenix", way_out=BY_ROWS)
        experiments = [
            record["data"] for record in self._records.beside if _Runs.is_beside(self._records, record)
        ]
        if len(experiments) > 1 or len(self._records.beside) - len(experiments) > 1:
            raise InvalidData.field("", "the import has several experiments", "send one at a time")
        if experiments:
            self.run = experiments[0]
            if experiments[0].get("missing_run_count"):
                self.partial = "lacks runs that its data set would have"

    @override
    def samples(self) -> Iterator[Sample]:
        """Yield the runs of the experiment, one sample of each."""
        for where, record in self._records:
            run = record if "annotations" in record else _of_row(where, record)
            measures: dict[str, Measured] = {}
            for annotation in only_source(objects(run.get("annotations")), "annotator_kind", self._source):
                name = annotation.get("name")
                if isinstance(name, str):
                    again = name in measures
                    measures[name] = Measured(None, "several") if again else _measure(annotation)
            fields = {**run, "input": run.get("input"), "reference": run.get("reference_output")}
            yield Sample(where, fields, measures, ("error",) if run.get("error") else ())

    @override
    def about(self) -> Mapping[str, Any]:
        """Return the data set with its version, and how often each example was run."""
        run = self.run or {}
        return {
            "dataset": run.get("dataset_id"),
            "dataset_version": run.get("dataset_version_id"),
            "runs": run.get("repetitions"),
        }


def _of_row(where: str, row: Mapping[str, Any]) -> dict[str, Any]:
    """Return a line of the CSV as the run that the JSON has; only the examples' metadata are in the CSV alone.

    Who annotated is written for every annotation: where it is empty there was none of the name.
    """
    annotations = [
        {
            "name": name,
            "annotator_kind": row[column],
            "label": row.get(f"{_ANNOTATION}{name}_label") or None,
            "score": _number(row.get(f"{_ANNOTATION}{name}_score")),
            "error": row.get(f"{_ANNOTATION}{name}_error"),
        }
        for column in row
        if column.startswith(_ANNOTATION) and column.endswith(_KIND) and row[column]
        for name in [column.removeprefix(_ANNOTATION).removesuffix(_KIND)]
    ]
    run = {name: value for name, value in row.items() if not name.startswith(_ANNOTATION)}
    for name in ("input", "reference_output", "metadata"):
        text = run.get(name)
        if isinstance(text, str) and text.startswith("{"):
            run[name] = of_text(text.encode("utf-8", "surrogatepass"), f"{where}, {name}")
    return run | {"annotations": annotations}


def _number(cell: Any) -> Any:
    if cell == "":
        return None
    return float(cell) if isinstance(cell, str) and DECIMAL.fullmatch(cell) else cell


def _measure(annotation: Mapping[str, Any]) -> Measured:
    if annotation.get("error"):
        return Measured(None, "grader_failed")
    score = annotation.get("score")
    return measure_score(annotation.get("label") if score is None else score)


def _open(files: Files, _form: str, plan: Readable | None) -> PhoenixExperiment:
    return PhoenixExperiment(files, getattr(plan, "source", None))


HARNESS = Harness(
    formats=("phoenix",),
    open=_open,
    content=("input", "reference"),
    row=Row(
        title="Arize Phoenix",
        reads="`experiments/ID/json` or `experiments/ID/csv`, and `experiments/ID` beside it",
        by_itself=(
            "`example_id`, repetitions as replicates; a task that raised is an error, and so is an evaluator; the "
            "label where an annotation has no score"
        ),
        to_say="`metric`: the annotation's name; `source` of several; `error` beside a score; `partial` runs",
    ),
    undecided={
        "grader_failed": FAILED_GRADER,
        "source": Undecided(
            "have several annotations of the name", 'write "source": "CODE", "LLM" or "HUMAN"'
        ),
        "error": SCORED_ERROR,
    },
    together=True,
    header="repetition_number,input,reference_output",
    marks=('"annotator_kind"', '"repetition_number"'),
    doubt=3,
    beside=frozenset({"output", "latency_ms", "annotations", "prompt_token_count", "completion_token_count"}),
)
