"""Frames of Ragas: `EvaluationResult.to_pandas()` as CSV or JSON lines, and rows of its experiments."""

from __future__ import annotations

from collections.abc import Iterator

from typing_extensions import override

from service.ingest.documents.files import Files
from service.ingest.harnesses.harness import Harness, Row, Undecided
from service.ingest.harnesses.samples import Reader, Sample
from service.ingest.harnesses.trackers.records import BY_ROWS, Records, measure_cell

_OF_THE_DATA = frozenset({
    "user_input", "response", "reference", "retrieved_contexts", "reference_contexts", "retrieved_context_ids",
    "reference_context_ids", "multi_responses", "rubrics", "persona_name", "query_style", "query_length",
    "synthesizer_name", "reference_tool_calls", "reference_topics", "Unnamed: 0",
})  # fmt: skip


class RagasFrame(Reader):
    """One frame: a row for a sample. Every column that is not of the data set is a metric."""

    def __init__(self, files: Files) -> None:
        files.only("*.csv", "*.json", "*.jsonl", "*.ndjson", what="a frame", of="one frame of Ragas")
        self._records = Records(files, (), "frame of Ragas", way_out=BY_ROWS)

    @override
    def samples(self) -> Iterator[Sample]:
        """Yield the rows of the result, one sample of each."""
        for where, row in self._records:
            measures = {name: measure_cell(value) for name, value in row.items() if name not in _OF_THE_DATA}
            yield Sample(where, row, measures)


HARNESS = Harness(
    formats=("ragas",),
    open=lambda files, _form, _mapping: RagasFrame(files),
    content=("user_input", "reference"),
    row=Row(
        title="Ragas",
        reads="frame of an `EvaluationResult`: CSV, JSON lines",
        by_itself="hash of `user_input`",
        to_say="`metric`; `grader_failed`: a metric that raised leaves the same empty cell as one that gave no value",
    ),
    undecided={
        "grader_failed": Undecided(
            "have no value there: a metric that raised leaves the same as one that gave none",
            'write "grader_failed": "error" or "missing"',
            "error",
        )
    },
    header="user_input",
    marks=('"user_input"',),
    doubt=4,
    beside=frozenset({"response", "retrieved_contexts"}),
)
