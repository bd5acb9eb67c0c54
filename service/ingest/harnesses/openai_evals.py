"""Logs of OpenAI evals: one event a line; the data file beside them gives ids and clusters."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from typing_extensions import override

from service.errors import InvalidData
from service.ingest.documents.files import Files
from service.ingest.documents.json_values import loads
from service.ingest.documents.limits import unreadable
from service.ingest.harnesses.harness import Harness, Row, Undecided
from service.ingest.harnesses.samples import Measured, Reader, Sample


class OpenAIEvalsLog(Reader):
    """One log, and the data file when it is sent with it."""

    def __init__(self, files: Files) -> None:
        self.run = {}
        self.partial = "has no final report: the run was broken off"
        self._matches: dict[str, list[Any]] = {}
        self._metrics: dict[str, dict[str, list[Any]]] = {}
        logs = [name for name in files.names if _is_log(files, name)]
        if len(logs) != 1:
            raise InvalidData.field(
                "",
                f"the import has {len(logs)} logs of OpenAI evals",
                "send one log, and its data file beside it",
            )
        data = [name for name in files.matching("*.jsonl", "*.json") if name != logs[0]]
        if len(data) > 1:
            raise InvalidData.field(
                "", "the import has several data files", "send the one that was evaluated"
            )
        self._data = (
            [loads(line, f"line {number}") for number, line in files.lines(data[0])] if data else None
        )
        for number, line in files.lines(logs[0]):
            self._take_event(loads(line, f"line {number}"), number)

    def _take_event(self, event: Any, number: int) -> None:
        """Note what one event tells: the run's spec, its end, or a match or metrics of a sample."""
        if not isinstance(event, dict):
            raise unreadable(f"line {number}", "is not an object")
        if isinstance(event.get("spec"), dict):
            self.run = event["spec"]
        elif "final_report" in event:
            self.partial = None
        sample, data = event.get("sample_id"), event.get("data")
        if not isinstance(sample, str) or not isinstance(data, dict):
            return
        self._metrics.setdefault(sample, {})
        if event.get("type") == "match":
            self._matches.setdefault(sample, []).append(data.get("correct"))
        elif event.get("type") == "metrics":
            for name, value in data.items():
                self._metrics[sample].setdefault(name, []).append(value)

    @override
    def about(self) -> Mapping[str, Any]:
        """Settings of the run, from the log's `spec`."""
        run = self.run or {}
        config = run.get("run_config")
        return {
            "task": run.get("base_eval") or run.get("eval_name"),
            "dataset": run.get("split"),
            "limits": config.get("max_samples") if isinstance(config, dict) else None,
        }

    @override
    def samples(self) -> Iterator[Sample]:
        """Yield every sample of which any event tells."""
        for sample, metrics in self._metrics.items():
            measures = {name: _measure(values) for name, values in metrics.items()}
            matches = self._matches.get(sample, [])
            if matches:
                measures["correct"] = _measure(matches)
            yield Sample(f"sample '{sample}'", {"sample_id": sample, "data": self._line_of(sample)}, measures)

    def _line_of(self, sample: str) -> Any:
        """Return the sample's line of the data file: its id ends in the number."""
        number = sample.rpartition(".")[2]
        if self._data is None or not number.isdecimal() or len(number) > 9:
            return None
        return self._data[int(number)] if int(number) < len(self._data) else None


def _measure(values: list[Any]) -> Measured:
    if len(values) > 1:
        return Measured(values, "several")
    return Measured(values[0], "unscored" if values[0] is None else None)


def _is_log(files: Files, name: str) -> bool:
    # By its first line, the run's spec: lines of the data file are objects too.
    for _number, line in files.lines(name):
        return line.lstrip().startswith(b"{") and (b'"spec"' in line[:200] or b'"run_id"' in line[:200])
    return False


HARNESS = Harness(
    formats=("openai_evals",),
    open=lambda files, _form, _mapping: OpenAIEvalsLog(files),
    row=Row(
        title="OpenAI evals",
        reads="log, and the data file beside it",
        by_itself="`sample_id`",
        to_say=(
            "`item_id` in the data, as `data.FIELD`; `several` matches or metrics of a sample; `partial` "
            "without final report"
        ),
    ),
    undecided={
        "several": Undecided(
            "have several events", 'write "several": "first", "last", "any" or "all"', "first"
        )
    },
    together=True,
    marks=('"completion_fns"',),
    doubt=5,
)
