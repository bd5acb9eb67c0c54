"""Evaluations of W&B Weave: calls as `calls/stream_query` answers them, a line each or as one array."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from typing_extensions import override

from service.ingest.documents.files import Files
from service.ingest.documents.limits import unreadable
from service.ingest.harnesses.harness import FAILED_GRADER, SCORED_ERROR, Harness, Row
from service.ingest.harnesses.samples import Measured, Reader, Sample
from service.ingest.harnesses.trackers.records import Records, mapping, measure_score

_ROW = "predict_and_score"
_DEEPEST = 4
"""How deep, and by how many members, scores are looked for in an output."""
_MOST_VALUES = 200


class WeaveEvaluation(Reader):
    """The calls of one evaluation or several: `predict_and_score` is a sample, the others are passed over."""

    def __init__(self, files: Files) -> None:
        self._records = Records(files, ("calls", "data"), "calls of Weave")

    @override
    def samples(self) -> Iterator[Sample]:
        """Yield the calls of `predict_and_score`, one sample of each."""
        rows = 0
        for where, call in self._records:
            name = call.get("op_name")
            if not isinstance(name, str):
                raise unreadable(where, "is no call: it has no `op_name`")
            if _ROW in name:
                rows += 1
                if _runs_on(call):
                    self.partial = "has calls that have not ended: the evaluation runs on, or was broken off"
                    continue
                yield _make_sample(where, call)
        if not rows:
            raise unreadable("", f"the file has no call of `{_ROW}`: export all calls of the evaluation")


def _runs_on(call: Mapping[str, Any]) -> bool:
    """Tell whether a call was begun and no more is known of it: neither a failure nor an answer."""
    return not (call.get("ended_at") or call.get("exception") or call.get("output") is not None)


def _make_sample(where: str, call: Mapping[str, Any]) -> Sample:
    """Make a sample of one call of a Weave evaluation; where the model raised it has no measures."""
    inputs, output = mapping(call.get("inputs")), mapping(call.get("output"))
    answered = output.get("output", output.get("model_output"))
    scores = output.get("scores")
    # Where a model raises, Weave leaves its answer null and asks no scorer.
    failed = bool(call.get("exception")) or (answered is None and not mapping(scores))
    measures: dict[str, Measured] = {}
    for name, value in mapping(scores).items():
        measures.update(_values(name, value, 0))
    fields = {
        "id": call.get("id"),
        "example": inputs.get("example"),
        "model": inputs.get("model"),
        "evaluation": inputs.get("self"),
        "output": answered,
        "started_at": call.get("started_at"),
        "parent_id": call.get("parent_id"),
        "attributes": call.get("attributes"),
    }
    return Sample(where, fields, measures, ("error",) if failed else ())


def _values(name: str, value: Any, depth: int) -> Iterator[tuple[str, Measured]]:
    """Yield what a scorer gives: a value, or an object of them, by `scorer.key`."""
    if isinstance(value, dict) and depth < _DEEPEST:
        for key, inner in list(value.items())[:_MOST_VALUES]:
            yield from _values(f"{name}.{key}", inner, depth + 1)
    elif value is None:
        yield name, Measured(None, "grader_failed")
    else:
        yield name, measure_score(value)


HARNESS = Harness(
    formats=("weave",),
    open=lambda files, _form, _mapping: WeaveEvaluation(files),
    content=("example",),
    row=Row(
        title="W&B Weave",
        reads="calls of an evaluation, as `calls/stream_query` answers",
        by_itself=(
            "`example` (its hash, or the reference that stands for it); a model that raised is an error, although the "
            "call itself ended well; a scorer without a value is an error"
        ),
        to_say=(
            '`metric`: `scorer`, or `scorer.key` of an object; `"replicate": "order"` for trials; `partial` where '
            "calls have not ended"
        ),
    ),
    undecided={"grader_failed": FAILED_GRADER, "error": SCORED_ERROR},
    together=True,
    marks=('"op_name"',),
    doubt=3,
    arms=("model", "evaluation", "parent_id"),
    row_id="id",
    beside=frozenset({"output", "attributes", "started_at", "parent_id"}),
)
