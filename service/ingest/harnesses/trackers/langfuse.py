"""Experiments of Langfuse: pages of `GET /api/public/experiment-items?fields=io,scores`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from typing_extensions import override

from service.domain.plans.importing.mapping import Readable
from service.ingest.documents.files import Files
from service.ingest.documents.limits import unreadable
from service.ingest.harnesses.harness import FAILED_GRADER, SCORED_ERROR, Harness, Row, Undecided
from service.ingest.harnesses.samples import Measured, Reader, Sample
from service.ingest.harnesses.trackers.records import Records, mapping, measure_score, objects, only_source

_MOST_SCORES = 50
"""As many scores of an item as a page tells at most: more may be there."""


class LangfuseExperiment(Reader):
    """Items of one experiment or several, with their scores."""

    def __init__(self, files: Files, source: str | None) -> None:
        self._source = source
        self._records = Records(files, ("data",), "experiment items of Langfuse")
        pages = [mapping(record.get("meta")) for record in self._records.beside]
        if pages and all(page.get("cursor") or page.get("nextCursor") for page in pages):
            self.partial = "has a page of items that another follows, which is not here"

    @override
    def samples(self) -> Iterator[Sample]:
        """Yield the items of the run, one sample of each."""
        for where, item in self._records:
            scores = item.get("scores")
            if "scores" not in item:
                raise unreadable(where, "has no `scores`: ask for `fields=io,scores`")
            if isinstance(scores, list) and len(scores) >= _MOST_SCORES:
                raise unreadable(where, f"has {_MOST_SCORES} scores or more, of which a page tells no others")
            measures: dict[str, Measured] = {}
            for score in only_source(objects(scores), "source", self._source):
                name = score.get("name")
                if isinstance(name, str):
                    measures[name] = Measured(None, "several") if name in measures else _measure(score)
            yield Sample(where, item, measures, ("error",) if item.get("level") == "ERROR" else ())

    @override
    def about(self) -> Mapping[str, Any]:
        """Return nothing: every item tells its experiment and its data set."""
        return {}


def _measure(score: Mapping[str, Any]) -> Measured:
    """Return the value; of a score that is true or false its text, of a category its name."""
    value, text = score.get("value"), score.get("stringValue")
    if score.get("dataType") == "BOOLEAN" and value in (0, 1):
        return Measured(bool(value))
    if score.get("dataType") == "CATEGORICAL" and isinstance(text, str):
        return Measured(text)
    return measure_score(value if value is not None else text)


def _open(files: Files, _form: str, plan: Readable | None) -> LangfuseExperiment:
    return LangfuseExperiment(files, getattr(plan, "source", None))


HARNESS = Harness(
    formats=("langfuse",),
    open=_open,
    content=("input", "expectedOutput"),
    row=Row(
        title="Langfuse",
        reads="all pages of `experiment-items` with `fields=io,scores`",
        by_itself="`experimentItemId`; a trace whose level is ERROR is an error",
        to_say=(
            "`metric`: the score's name; `source` of several; `error` beside a score; `arm`, such as `experimentName`, "
            "of several experiments; `partial` where a page is lacking"
        ),
    ),
    undecided={
        "grader_failed": FAILED_GRADER,
        "source": Undecided(
            "have several scores of the name", 'write "source": "API", "EVAL" or "ANNOTATION"'
        ),
        "error": SCORED_ERROR,
    },
    together=True,
    marks=('"experimentItemId"',),
    doubt=2,
    arms=("experimentName", "experimentId"),
    row_id="id",
    beside=frozenset({"output", "scores", "level", "traceId", "startTime", "endTime", "environment"}),
)
