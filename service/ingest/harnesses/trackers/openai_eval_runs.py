"""Runs of the OpenAI Evals API: pages of `GET /evals/ID/runs/RUN/output_items`, and the run beside them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from typing_extensions import override

from service.ingest.documents.files import Files
from service.ingest.harnesses.harness import FAILED_GRADER, SCORED_ERROR, Harness, Row, Undecided
from service.ingest.harnesses.samples import Measured, Reader, Sample
from service.ingest.harnesses.trackers.records import Records, add, mapping, measure_score, objects


class _Items(Records):
    @override
    def is_beside(self, document: Mapping[str, Any]) -> bool:
        """Tell whether the document is the run that items belong to."""
        return document.get("object") == "eval.run"


class OpenAIEvalRun(Reader):
    """Output items of one run or several."""

    def __init__(self, files: Files) -> None:
        self._records = _Items(files, ("data",), "output items of the OpenAI Evals API")
        runs = [record for record in self._records.beside if self._records.is_beside(record)]
        pages = [record for record in self._records.beside if "has_more" in record]
        if len(runs) == 1:
            self.run = runs[0]
            if runs[0].get("status") != "completed":
                self.partial = "is not completed"
        if pages and all(page["has_more"] for page in pages):
            self.partial = "has a page of items that another follows, which is not here"

    @override
    def samples(self) -> Iterator[Sample]:
        """Yield the output items of the runs, one sample of each."""
        for where, item in self._records:
            measures: dict[str, Measured] = {}
            for result in objects(item.get("results")):
                name = result.get("name")
                failed = bool(mapping(result.get("sample")).get("error"))
                score = Measured(None, "grader_failed") if failed else measure_score(result.get("score"))
                add(measures, name, score)
                passed = Measured(None, "grader_failed") if failed else measure_score(result.get("passed"))
                add(measures, f"{name} passed" if isinstance(name, str) else None, passed)
            sample = mapping(item.get("sample"))
            failure = mapping(sample.get("error"))
            failed = bool(failure.get("message") or failure.get("code")) or item.get("status") == "error"
            fields = {**item, "model": sample.get("model"), "input": sample.get("input")}
            yield Sample(where, fields, measures, ("error",) if failed else ())

    @override
    def about(self) -> Mapping[str, Any]:
        """Return the evaluation that it is a run of."""
        return {"task": (self.run or {}).get("eval_id")}


HARNESS = Harness(
    formats=("openai_eval_runs",),
    open=lambda files, _form, _mapping: OpenAIEvalRun(files),
    content=("datasource_item|input",),
    row=Row(
        title="OpenAI Evals API",
        reads="all pages of `output_items`, and the run beside them",
        by_itself="`datasource_item_id`; an item whose sample has an error is an error",
        to_say=(
            "`metric`: the grader's name for its score, `NAME passed` for whether it passed; `error` beside a result; "
            "`partial` where a page is lacking"
        ),
    ),
    undecided={
        "grader_failed": FAILED_GRADER,
        "several": Undecided("have several results of the name", 'write "several": "first" or "last"'),
        "error": SCORED_ERROR,
    },
    together=True,
    marks=('"eval.run.output_item"', '"datasource_item_id"'),
    doubt=2,
    arms=("model", "run_id"),
    row_id="id",
    beside=frozenset({"sample", "results", "status", "created_at"}),
)
