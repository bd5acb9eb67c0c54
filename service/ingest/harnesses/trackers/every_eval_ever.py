"""Results in the format Every Eval Ever: rows of samples (`*_samples.jsonl`), and the record of the run beside them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from typing_extensions import override

from service.errors import InvalidData
from service.ingest.documents.files import Files
from service.ingest.documents.limits import unreadable
from service.ingest.harnesses.harness import SCORED_ERROR, Harness, Row
from service.ingest.harnesses.samples import Measured, Reader, Sample
from service.ingest.harnesses.trackers.records import Records, mapping, measure_score, objects

IS_CORRECT = " is_correct"
"""What follows a result's name where it is read whether the answer is right."""

_OUTCOMES = frozenset({"lm_eval_metrics"})
"""Members of the metadata in which converters leave scores: no items share those."""


class _Rows(Records):
    @override
    def is_beside(self, document: Mapping[str, Any]) -> bool:
        """Tell whether it is the record of a run: what that says of single samples is in the rows."""
        return isinstance(document.get("evaluation_results"), list) and "evaluation_id" in document


class EveryEvalEver(Reader):
    """The rows of one evaluation or several."""

    several = True

    def __init__(self, files: Files) -> None:
        self._records = _Rows(files, (), "rows of Every Eval Ever")
        self._runs = [record for record in self._records.beside if self._records.is_beside(record)]
        if len(self._runs) == len(self._records.beside):
            raise InvalidData.field(
                "",
                "the import has the record of a run and no rows of its samples",
                "send the *_samples.jsonl beside it",
            )

    @override
    def samples(self) -> Iterator[Sample]:
        """Yield every row; several results of one sample are rows of their own."""
        known = [run.get("evaluation_id") for run in self._runs]
        for where, row in self._records:
            evaluation = row.get("evaluation")
            if not isinstance(evaluation, dict) or "score" not in evaluation:
                raise unreadable(where, "is no row of a sample: it has no `evaluation.score`")
            if known and row.get("evaluation_id") not in known:
                raise unreadable(where, "is of another evaluation than the record beside it")
            name = row.get("evaluation_result_id") or row.get("evaluation_name")
            measures: dict[str, Measured] = {}
            if isinstance(name, str):
                measures[name] = measure_score(evaluation.get("score"))
                measures[f"{name}{IS_CORRECT}"] = measure_score(evaluation.get("is_correct"))
            metadata = {
                key: value for key, value in mapping(row.get("metadata")).items() if key not in _OUTCOMES
            }
            yield Sample(
                where, {**row, "metadata": metadata}, measures, ("error",) if row.get("error") else ()
            )

    @override
    def about(self) -> Mapping[str, Any]:
        """Settings of the run, from its record where there is one."""
        if len(self._runs) != 1:
            return {}
        run = self._runs[0]
        library = mapping(run.get("eval_library"))
        sources = [mapping(result.get("source_data")).get("dataset_name") for result in self._results()]
        return {
            "task": sorted({str(result.get("evaluation_name")) for result in self._results()}) or None,
            "dataset": sorted({source for source in sources if isinstance(source, str)}) or None,
            "harness_version": " ".join(
                str(library[name]) for name in ("name", "version") if name in library
            ),
        }

    def _results(self) -> list[dict[str, Any]]:
        return [result for run in self._runs for result in objects(run.get("evaluation_results"))]

    @override
    def lower(self) -> Iterable[str]:
        """Return results whose metric is better when it is lower."""
        for result in self._results():
            if mapping(result.get("metric_config")).get("lower_is_better") is True:
                for name in (result.get("evaluation_result_id"), result.get("evaluation_name")):
                    if isinstance(name, str):
                        yield name


HARNESS = Harness(
    formats=("every_eval_ever",),
    open=lambda files, _form, _mapping: EveryEvalEver(files),
    content=("input.raw", "input.reference"),
    row=Row(
        title="Every Eval Ever",
        reads="`*_samples.jsonl`, and the record of the run beside it",
        by_itself="`sample_id`; `lower_is_better` of the record",
        to_say=(
            "`metric`: `evaluation_result_id` or else `evaluation_name`, or `NAME is_correct`; `error` (the format has "
            'a score beside every error); `"replicate": "order"` for repeats'
        ),
    ),
    undecided={"error": SCORED_ERROR},
    together=True,
    marks=('"answer_attribution"', '"evaluator_relationship"', '"evaluation_result_id"'),
    doubt=1,
    arms=("model_id", "evaluation_id"),
    beside=frozenset(
        {"output", "messages", "answer_attribution", "evaluation", "token_usage", "performance"}
    ),
)
