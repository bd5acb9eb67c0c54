"""Experiments of LangSmith: the frame of `ExperimentResults.to_pandas()`, or examples with their runs from its API."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from typing_extensions import override

from service.ingest.documents.files import Files
from service.ingest.harnesses.harness import SCORED_ERROR, Harness, Row, Undecided
from service.ingest.harnesses.samples import Measured, Reader, Sample
from service.ingest.harnesses.trackers.records import BY_ROWS, Records, mapping, measure_cell, objects

_KINDS = ("inputs", "outputs", "reference", "feedback")


class LangSmithExperiment(Reader):
    """One experiment, or several: rows of a frame, or examples with the runs of each."""

    def __init__(self, files: Files) -> None:
        self._records = Records(
            files, ("examples", "data", "items"), "experiment of LangSmith", way_out=BY_ROWS
        )

    @override
    def samples(self) -> Iterator[Sample]:
        """Yield every run of every example."""
        for where, row in self._records:
            if not isinstance(row.get("runs"), list):
                yield _of_frame(where, row)
                continue
            for number, run in enumerate(objects(row["runs"]), start=1):
                yield _sample_of_run(f"{where}, run {number}", row, run)


def _of_frame(where: str, row: Mapping[str, Any]) -> Sample:
    """Return a row; `inputs.question` and the like are members of `inputs`."""
    fields: dict[str, Any] = {kind: {} for kind in _KINDS}
    for name, value in row.items():
        kind, dot, rest = name.partition(".")
        if dot and kind in _KINDS:
            fields[kind][rest] = value
        else:
            fields[name] = value
    measures = {name: measure_cell(value) for name, value in fields.pop("feedback").items()}
    return Sample(where, fields, measures, ("error",) if fields.get("error") not in (None, "") else ())


def _sample_of_run(where: str, example: Mapping[str, Any], run: Mapping[str, Any]) -> Sample:
    """Make the sample of one run of an example, as LangSmith's API gives both; its measures are the run's feedback."""
    fields = {
        "example_id": example.get("id"),
        "inputs": example.get("inputs"),
        "reference": example.get("outputs"),
        "metadata": example.get("metadata"),
        **{name: run.get(name) for name in ("id", "outputs", "error", "session_id", "start_time", "status")},
        "run_metadata": mapping(mapping(run.get("extra")).get("metadata")),
    }
    measures = {name: _statistic(mapping(of)) for name, of in mapping(run.get("feedback_stats")).items()}
    return Sample(
        where, fields, measures, ("error",) if run.get("error") or run.get("status") == "error" else ()
    )


def _statistic(statistic: Mapping[str, Any]) -> Measured:
    """Return the feedback of one key: how many there were, and their mean, or how often each value was given."""
    count, values = statistic.get("n"), mapping(statistic.get("values"))
    if type(count) is int and count > 1:
        return Measured([statistic.get("avg")], "several")
    if statistic.get("avg") is not None:
        return Measured(statistic["avg"])
    return Measured(next(iter(values))) if len(values) == 1 else Measured(None, "grader_failed")


HARNESS = Harness(
    formats=("langsmith",),
    open=lambda files, _form, _mapping: LangSmithExperiment(files),
    content=("inputs", "reference"),
    row=Row(
        title="LangSmith",
        reads="frame of an experiment as CSV or JSON lines; examples with their runs from the API",
        by_itself="`example_id`; a run with an error is an error",
        to_say=(
            "`metric`: the feedback's key; `grader_failed`: an evaluator that raised leaves the same empty cell as one "
            "that gave no score; `error` beside a score; `several` feedbacks of one key"
        ),
    ),
    undecided={
        "grader_failed": Undecided(
            "have no feedback of the name: an evaluator that raised leaves the same as one that gave none",
            'write "grader_failed": "error" or "missing"',
            "error",
        ),
        "several": Undecided(
            "have several feedbacks of the name, of which the file tells the mean alone",
            'write "several": "mean"',
            "mean",
        ),
        "error": SCORED_ERROR,
    },
    header="feedback.",
    marks=('"feedback_stats"', '"feedback.', '"reference_example_id"'),
    doubt=4,
    together=True,
    arms=("session_id", "run_metadata.model"),
    row_id="id",
    beside=frozenset({"outputs", "run_metadata"}),
)
