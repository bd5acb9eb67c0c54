"""Results of promptfoo: `results.json`, its lines, or the table that it writes as CSV."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Mapping
from typing import Any

from typing_extensions import override

from service.errors import InvalidData
from service.ingest.documents import json_slices
from service.ingest.documents.files import Files
from service.ingest.documents.json_values import Buffer, Members, loads
from service.ingest.documents.limits import unreadable
from service.ingest.harnesses.harness import FAILED_GRADER, SCORED_ERROR, Harness, Row, Undecided
from service.ingest.harnesses.samples import Measured, Reader, Sample
from service.ingest.harnesses.systems import facts, text_sha256

_WANTED = Members(
    {
        "error",
        "failureReason",
        "gradingResult",
        "namedScores",
        "prompt",
        "promptIdx",
        "promptId",
        "provider",
        "score",
        "success",
        "testCase",
        "testIdx",
        "vars",
        "metadata",
    }
)
THREW = (
    "Custom function threw error", "Python code execution failed: ", "Ruby code execution failed: ",
    "Webhook error: ", "Moderation API error: ", "Could not perform remote grading: ",
)  # fmt: skip
"""How promptfoo tells that a grader failed: as the reason of an assertion that did not hold."""


class PromptfooResults(Reader):
    """One file of promptfoo's results: JSON, JSON lines or CSV."""

    def __init__(self, files: Files) -> None:
        self._files = files
        self._name = files.only(
            "*.json", "*.jsonl", "*.csv", what="results of promptfoo", of="one results file"
        )
        self._document: Buffer = b""
        self._results_at: int | None = None
        self._version: Any = None
        self._prompts: Any = None
        self._systems: dict[tuple[str, int], Mapping[str, Any]] = {}
        document = files.read(self._name)
        if not json_slices.begins_object(document):
            self._kind = "csv"
        elif json_slices.is_one(document, "the file") and self._has_results(document):
            self._kind = "json"
        else:
            self._kind = "jsonl"

    @override
    def samples(self) -> Iterator[Sample]:
        """Yield the results of the file, one sample of each."""
        if self._kind == "csv":
            yield from _table(self._files.read(self._name))
        elif self._kind == "jsonl":
            for number, line in self._files.lines(self._name):
                where = f"line {number}"
                yield _make_sample(loads(line, where), where)
        elif self._results_at is not None:
            results = json_slices.objects(self._document, self._results_at, _WANTED, "results")
            for number, result in enumerate(results, start=1):
                yield _make_sample(result, f"results[{number}]")

    @override
    def system_of(self, sample: Sample) -> Mapping[str, Any]:
        """Return the provider's id, and the template of its prompt where the document lists the prompts.

        `promptId` is no hash of the template: of a prompt with a label it is one of the label.
        """
        provider = sample.fields.get("provider")
        name = provider.get("id") if isinstance(provider, dict) else None
        key = (name if isinstance(name, str) else "", sample.place)
        if key not in self._systems:
            prompts = self._prompts if isinstance(self._prompts, list) else []
            prompt = prompts[key[1]] if 0 <= key[1] < len(prompts) else None
            self._systems[key] = facts(
                model__name=name,
                prompt_sha256=text_sha256(prompt.get("raw")) if isinstance(prompt, dict) else None,
                harness__name="promptfoo",
                harness__version=self._version,
            )
        return self._systems[key]

    def _has_results(self, document: Buffer) -> bool:
        """Tell whether the document has results in the place where promptfoo writes them."""
        for key, begin, end in json_slices.top(document, "the file"):
            if key == "runtimeOptions":
                options = loads(document[begin:end], key)
                repeats = options.get("repeat") if isinstance(options, dict) else None
                self.repeats = repeats if type(repeats) is int else None
            elif key == "metadata":
                metadata = loads(document[begin:end], key)
                self._version = metadata.get("promptfooVersion") if isinstance(metadata, dict) else None
            elif key == "results" and document[begin : begin + 1] == b"{":
                for inner, at, until in json_slices.members(document, begin, "results"):
                    if inner == "results":
                        self._document, self._results_at = document, at
                    elif inner == "prompts":
                        self._prompts = loads(document[at:until], inner)
        return self._results_at is not None


def _make_sample(result: Any, where: str) -> Sample:
    """Make a sample of one result of promptfoo; a measure whose grader threw has an event for a value."""
    if not isinstance(result, dict) or "testIdx" not in result:
        raise unreadable(
            where, "is no result of promptfoo, or of an old one: it has no `testIdx`; export it again"
        )
    grading = result.get("gradingResult")
    parts = grading.get("componentResults") if isinstance(grading, dict) else None
    threw = {_metric(part) for part in (parts if isinstance(parts, list) else ()) if _threw(part)}
    # Without the assertions' own results the error's text alone tells that a grader threw, and not of which metric:
    # then none of them counts (`None`).
    if not isinstance(parts, list) and _threw({"reason": result.get("error")}):
        threw.add(None)
    whole = "grader_failed" if threw else None
    measures = {
        "score": _measure(result.get("score"), whole),
        "success": _measure(result.get("success"), whole),
    }
    named_scores = result.get("namedScores")
    for name, value in named_scores.items() if isinstance(named_scores, dict) else ():
        broken = name in threw or None in threw
        # A metric may be called `score` or `success` as well: these two names are the file's own.
        measures[name if name not in measures else f"namedScores.{name}"] = _measure(
            value, "grader_failed" if broken else None
        )
    # 2: no answer came; 1 is an assertion that did not hold, which is a result. Older files do not say it: there an
    # answer that never came has an error and was not graded.
    failed = result.get("failureReason") == 2 or (
        "failureReason" not in result and bool(result.get("error")) and not isinstance(grading, dict)
    )
    order, place = result["testIdx"], result.get("promptIdx")
    return Sample(
        where,
        {**result, "provider": _name_provider(result.get("provider"))},
        {} if failed else measures,
        ("error",) if failed else (),
        order if type(order) is int else 0,
        place if type(place) is int else 0,
    )


def _name_provider(provider: Any) -> Any:
    """Return a provider that nobody labelled is called by its id, as promptfoo's own tables do."""
    if isinstance(provider, str):
        return {"id": provider, "label": provider}
    if isinstance(provider, dict) and not provider.get("label") and isinstance(provider.get("id"), str):
        return {**provider, "label": provider["id"]}
    return provider


def _measure(value: Any, event: str | None) -> Measured:
    return Measured(value, event or ("unscored" if value is None else None))


def _metric(part: Any) -> str | None:
    assertion = part.get("assertion")
    metric = assertion.get("metric") if isinstance(assertion, dict) else None
    return metric if isinstance(metric, str) else ""


def _threw(part: Any) -> bool:
    if not isinstance(part, dict):
        return False
    reason, about = part.get("reason"), part.get("metadata")
    if isinstance(about, dict) and about.get("graderError") is True:  # of a grader that is a model
        return True
    return isinstance(reason, str) and reason.startswith(THREW)


def _table(document: Buffer) -> Iterator[Sample]:
    """Yield the table: a line per test, and for every prompt and provider its output, status, score and reason."""
    try:
        text = io.TextIOWrapper(io.BytesIO(document[:]), encoding="utf-8-sig", newline="")
        reader = csv.reader(text, strict=True)
        header = next(reader, [])
        blocks = _blocks(header)
        for number, cells in enumerate(reader, start=1):
            if not cells:
                continue
            if len(cells) != len(header):
                raise unreadable(f"row {number}", "has another number of cells than the header")
            yield from _make_samples(header, cells, blocks, number)
    except csv.Error:
        raise unreadable("", "the file is not CSV") from None
    except UnicodeDecodeError:
        raise unreadable("", "the file is not UTF-8") from None


def _blocks(header: list[str]) -> list[tuple[int, int, Mapping[str, int]]]:
    """The columns of every prompt and provider: that of its output, the one after its last, and the others by name."""
    # Before `Status` stands the output, in some files with its reasoning between them.
    starts = [
        at - 1 if header[at - 1] != "Reasoning" else at - 2
        for at, name in enumerate(header)
        if name == "Status" and at > 0
    ]
    if not starts:
        raise InvalidData.field(
            "",
            "the table has no column `Status`: it is no CSV of promptfoo",
            "export the results as JSON instead",
        )
    ends = [*starts[1:], len(header)]
    return [
        (start, end, {header[at]: at for at in range(start + 1, end)})
        for start, end in zip(starts, ends, strict=True)
    ]


def _make_samples(
    header: list[str], cells: list[str], blocks: list[tuple[int, int, Mapping[str, int]]], number: int
) -> Iterator[Sample]:
    """Make the samples of one row of promptfoo's CSV, one per prompt that has a status."""
    first = blocks[0][0]
    variables = dict(zip(header[:first], cells[:first], strict=True))
    description = variables.pop("Description", "")
    for index, (start, _, columns) in enumerate(blocks):
        status = cells[columns["Status"]]
        if not status:
            continue
        label = header[start]
        provider, _, prompt = label[1:].partition("] ") if label.startswith("[") else ("", "", label)
        fields = {
            "vars": variables,
            "testCase": {"description": description, "vars": variables},
            "provider": {"label": provider, "id": provider},
            "prompt": {"label": prompt},
            "promptIdx": index,
            "testIdx": number - 1,
        }
        where = f"row {number}"
        reason = cells[columns["Grader Reason"]] if "Grader Reason" in columns else ""
        event = "grader_failed" if any(mark in reason for mark in THREW) else None
        measures = {"success": Measured(status == "PASS", event)}
        measures["score"] = _round(cells[columns["Score"]] if "Score" in columns else "", event)
        for name, value in _read_named(
            cells[columns["Named Scores"]] if "Named Scores" in columns else "", where
        ):
            measures.setdefault(name, _round(str(value), event))
        failed = status == "ERROR"
        yield Sample(where, fields, {} if failed else measures, ("error",) if failed else (), number, index)


def _read_named(cell: str, where: str) -> Iterator[tuple[str, Any]]:
    scores = loads(cell.encode(), where) if cell else {}
    if not isinstance(scores, dict):
        raise unreadable(where, "has named scores that are no object")
    yield from scores.items()


def _round(cell: str, event: str | None) -> Measured:
    """Two digits are kept of a score: only 0 and 1 are certain, and not even they of a continuous one."""
    try:
        value = float(cell) if cell else None
    except ValueError:
        value = None
    return Measured(value, event or ("unscored" if value is None else "rounded"))


HARNESS = Harness(
    formats=("promptfoo",),
    open=lambda files, _form, _mapping: PromptfooResults(files),
    content=("vars",),
    row=Row(
        title="promptfoo",
        reads="`results.json`, its lines, CSV",
        by_itself="hash of `vars`; `--repeat` where the file says it",
        to_say=(
            "`arm` (`provider.label`, `prompt.label`) unless there is one; `grader_failed`: a grader that "
            "throws (JavaScript, Python, Ruby, a webhook, a model) reads as a failed assertion with score "
            "0; same vars twice; CSV rounds scores (`rounded`)"
        ),
    ),
    undecided={
        "grader_failed": FAILED_GRADER,
        "rounded": Undecided("have a score that the file rounds", 'export JSON, or write "rounded": "take"'),
        "error": SCORED_ERROR,
    },
    header="Grader Reason",
    marks=('"failureReason"', '"evalId"'),
    doubt=2,
    beside=frozenset(
        {
            "failureReason",
            "latencyMs",
            "cost",
            "score",
            "success",
            "tokenUsage",
            "provider",
            "prompt",
            "promptIdx",
            "promptId",
            "testIdx",
        }
    ),
    row_id="id",
    arms=("provider.label", "provider.id", "prompt.label", "promptIdx"),
)
