"""Experiments of Opik: `opik export`, pages of its API, or the test results of an evaluation as JSON."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from typing_extensions import override

from service.ingest.documents.files import Files
from service.ingest.harnesses.harness import FAILED_GRADER, SCORED_ERROR, Harness, Row, Undecided
from service.ingest.harnesses.samples import Measured, Reader, Sample
from service.ingest.harnesses.trackers.records import Records, add, mapping, measure_score, objects

_LISTS = ("items", "test_results", "content")
_INVENTED = "temp_item_"
"""How ids begin that Opik counts for an evaluation without a data set: another order would be another item."""


class OpikExperiment(Reader):
    """One experiment: items of a download, test results, or data set items with the experiment's."""

    def __init__(self, files: Files) -> None:
        self._records = Records(files, _LISTS, "experiment of Opik")
        beside = self._records.beside
        experiments = [
            record["experiment"] for record in beside if isinstance(record.get("experiment"), dict)
        ]
        if len(experiments) == 1:
            self.run = experiments[0]
            if experiments[0].get("status") in ("running", "cancelled"):
                self.partial = f"is {experiments[0]['status']}"
        elif any("experiment_name" in record for record in beside) and len(beside) == 1:
            self.run = beside[0]

    @override
    def samples(self) -> Iterator[Sample]:
        """Yield every item, as often as it was tried."""
        for where, record in self._records:
            items = record.get("experiment_items")
            if isinstance(items, list):
                for number, item in enumerate(objects(items), start=1):
                    yield _make_sample_of_item(
                        f"{where}, {number}", {**item, "dataset_item_data": record.get("data")}
                    )
            elif "test_case" in record or "score_results" in record:
                yield _make_sample(where, record)
            else:
                yield _make_sample_of_item(where, record)

    @override
    def about(self) -> Mapping[str, Any]:
        """Return the data set's name, and how often each item was tried."""
        run = self.run or {}
        return {"dataset": run.get("dataset_name"), "runs": run.get("trial_count")}


def _make_sample_of_item(where: str, item: Mapping[str, Any]) -> Sample:
    """Make a sample of one item of an Opik experiment, its feedback and assertions as measures."""
    measures: dict[str, Measured] = {}
    for score in objects(item.get("feedback_scores")):
        add(measures, score.get("name"), measure_score(score.get("value")))
    for assertion in objects(item.get("assertion_results")):
        add(measures, assertion.get("value"), measure_score(assertion.get("passed")))
    data = item.get("dataset_item_data")
    fields = {
        **{name: value for name, value in item.items() if name != "dataset_item_data"},
        "data": data,
        "input": mapping(data) or item.get("input"),
    }
    failed = item.get("error_info") not in (None, {}, "")
    return Sample(where, fields, measures, ("error",) if failed else ())


def _make_sample(where: str, result: Mapping[str, Any]) -> Sample:
    """Make a sample of one test result of Opik; an item that Opik itself invented has no id."""
    case = mapping(result.get("test_case"))
    measures: dict[str, Measured] = {}
    for score in objects(result.get("score_results")):
        failed = score.get("scoring_failed") is True  # its value is 0.0 then
        add(
            measures,
            score.get("name"),
            Measured(None, "grader_failed") if failed else measure_score(score.get("value")),
        )
    item, data = case.get("dataset_item_id"), case.get("dataset_item_content")
    fields = {
        "dataset_item_id": None if isinstance(item, str) and item.startswith(_INVENTED) else item,
        "trial_id": result.get("trial_id"),
        "data": data,
        "input": data,
        "output": case.get("task_output"),
        "trace_id": case.get("trace_id"),
    }
    return Sample(where, fields, measures)


HARNESS = Harness(
    formats=("opik",),
    open=lambda files, _form, _mapping: OpikExperiment(files),
    content=("input",),
    row=Row(
        title="Opik",
        reads="`opik export`: `experiment_ID.json`; pages of the items of an experiment; `test_results` as JSON",
        by_itself=(
            "`dataset_item_id`; a metric that failed is an error, although it has 0.0 beside it; ids that Opik counts "
            "itself (`temp_item_0`) are none"
        ),
        to_say=(
            '`metric`; `item_id`, such as `data.item_id`, without a data set; `"replicate": "trial_id"`, or `order`, '
            "for trials; `several` scores of a name"
        ),
    ),
    undecided={
        "grader_failed": FAILED_GRADER,
        "several": Undecided("have several scores of the name", 'write "several": "first" or "last"'),
        "error": SCORED_ERROR,
    },
    marks=('"scoring_failed"', '"feedback_scores"', '"dataset_item_data"'),
    doubt=3,
    together=True,
    row_id="id",
    beside=frozenset({"output", "feedback_scores", "assertion_results", "evaluation_task_output", "usage"}),
)
