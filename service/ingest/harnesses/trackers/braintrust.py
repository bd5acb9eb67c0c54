"""Experiments of Braintrust: `EvalResultWithSummary.as_json()`, or events as its API and its pages export them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from typing_extensions import override

from service.ingest.documents.files import Files
from service.ingest.harnesses.harness import FAILED_GRADER, SCORED_ERROR, Harness, Row
from service.ingest.harnesses.samples import Measured, Reader, Sample
from service.ingest.harnesses.trackers.records import Records, mapping, measure_score


class BraintrustExperiment(Reader):
    """One experiment: its results, or the pages of its events."""

    def __init__(self, files: Files) -> None:
        self._records = Records(files, ("results", "events", "rows", "data"), "experiment of Braintrust")
        self._summaries = [
            page["summary"] for page in self._records.beside if isinstance(page.get("summary"), dict)
        ]
        if len(self._summaries) == 1:
            self.run = self._summaries[0]
        open_pages = [page for page in self._records.beside if page.get("cursor")]
        if open_pages and len(open_pages) == len(self._records.beside):
            self.partial = "has a page of events that another follows, which is not here"

    @override
    def samples(self) -> Iterator[Sample]:
        """Yield every result; of events those that are no part of another."""
        for where, row in self._records:
            if _is_part(row):
                continue
            measures = {name: measure_score(value) for name, value in mapping(row.get("scores")).items()}
            for name in mapping(mapping(row.get("metadata")).get("scorer_errors")):
                measures[name] = Measured(None, "grader_failed")
            yield Sample(where, row, measures, ("error",) if row.get("error") is not None else ())

    @override
    def about(self) -> Mapping[str, Any]:
        """Return the name of the project, as the task of the run."""
        return {"task": (self.run or {}).get("project_name")}


def _is_part(row: Mapping[str, Any]) -> bool:
    """Tell whether an event is a span within that of a result: a call of the task, of a scorer or of a model."""
    if row.get("is_root") is not None:
        return row["is_root"] is not True
    root = row.get("root_span_id")
    return bool(row.get("span_parents")) or (root is not None and root != row.get("span_id"))


HARNESS = Harness(
    formats=("braintrust",),
    open=lambda files, _form, _mapping: BraintrustExperiment(files),
    content=("input", "expected"),
    row=Row(
        title="Braintrust",
        reads="`EvalResultWithSummary` as JSON; events, from `experiment/ID/fetch` or a download",
        by_itself=(
            "hash of `input`, as Braintrust itself matches rows; spans within a result are passed over; a scorer that "
            "raised is an error, a null score is none"
        ),
        to_say='`metric`; `error` beside a score; `"replicate": "order"` for trials; `partial` where a page is lacking',
    ),
    undecided={"grader_failed": FAILED_GRADER, "error": SCORED_ERROR},
    together=True,
    marks=('"comparison_experiment_name"', '"_xact_id"', '"root_span_id"'),
    doubt=2,
    arms=("experiment_name", "metadata.model", "experiment_id"),
    row_id="id",
    beside=frozenset({"output", "scores", "metrics", "span_attributes", "context"}),
)
