"""Submissions to SWE-bench `experiments`: `results/results.json`, and `metadata.yaml` beside it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from service.errors import InvalidData
from service.ingest.documents.files import Files
from service.ingest.documents.json_values import loads
from service.ingest.documents.limits import unreadable
from service.ingest.harnesses.harness import Harness, Row, Undecided
from service.ingest.harnesses.samples import Measured, Reader, Sample
from service.ingest.harnesses.trackers.records import mapping

_EVENTS = ("no_generation", "no_logs")


class SweBenchSubmission(Reader):
    """One submission. Its results name what was resolved and what was lacking; what is in no list was not resolved."""

    def __init__(self, files: Files) -> None:
        name = files.only(
            "results.json", what="the results", of="results/results.json, and metadata.yaml beside it"
        )
        report = loads(files.read(name), "results.json")
        if not isinstance(report, dict) or not isinstance(report.get("resolved"), list):
            raise unreadable("", "the file is no results.json of SWE-bench experiments: it has no `resolved`")
        self._report = report
        self.run = {}
        about = files.matching("metadata.yaml", "metadata.yml")
        if len(about) == 1:
            from service.ingest.documents.yaml_values import load_yaml  # most files are no YAML

            self.run = mapping(load_yaml(files.read(about[0]), "metadata.yaml"))
        self._submitted = self._predictions(files)

    def _predictions(self, files: Files) -> list[str] | None:
        """Ids of what was submitted: the results do not name what failed plainly."""
        names = files.matching("all_preds.jsonl", "preds.json", "all_preds.json")
        if not names:
            return None
        if len(names) > 1:
            raise InvalidData.field("", "the import has several files of predictions", "send one")
        if names[0].endswith(".jsonl"):
            lines = [loads(line, f"line {number}") for number, line in files.lines(names[0])]
            return _texts([mapping(line).get("instance_id") for line in lines], "predictions")
        predictions = loads(files.read(names[0]), "predictions")
        listed = isinstance(predictions, list)
        ids = (
            [mapping(result).get("instance_id") for result in predictions]
            if listed
            else list(mapping(predictions))
        )
        return _texts(ids, "predictions")

    def samples(self) -> Iterator[Sample]:
        """Every instance that any list or the predictions name."""
        resolved = set(_texts(self._report["resolved"], "resolved"))
        lacking: dict[str, str] = {}
        for event in reversed(_EVENTS):
            for instance in _texts(self._report.get(event) or [], event):
                lacking[instance] = event
                if instance in resolved:
                    raise unreadable("", f"the results have an instance that is both resolved and in {event}")
        if self._submitted is None:
            raise InvalidData.field(
                "",
                "results.json does not name the instances that were tried and not resolved",
                "send all_preds.jsonl (or preds.json) beside it",
            )
        for instance in dict.fromkeys((*self._submitted, *lacking, *sorted(resolved))):
            lacks = lacking.get(instance)
            yield Sample(
                f"instance '{instance}'",
                {"id": instance, "repository": instance.rpartition("-")[0]},
                {
                    "resolved": Measured(
                        None if lacks else instance in resolved, "unscored" if lacks else None
                    )
                },
                (lacks,) if lacks else (),
            )


def _texts(ids: Any, name: str) -> list[str]:
    if not isinstance(ids, list) or not all(isinstance(item_id, str) for item_id in ids):
        raise unreadable("", f"`{name}` is not a list of ids")
    return ids


HARNESS = Harness(
    formats=("swe_bench_experiments",),
    open=lambda files, _form, _mapping: SweBenchSubmission(files),
    row=Row(
        title="SWE-bench `experiments`",
        reads="`results/results.json` with `all_preds.jsonl` or `preds.json`, and `metadata.yaml`",
        by_itself="resolved 1; what was submitted, has a log and was not resolved 0; `repository` as a path",
        to_say="`no_generation`, `no_logs` (`failure`, `missing` or `error`). Results without predictions are refused",
    ),
    undecided={
        "no_generation": Undecided(
            "have no patch", 'write "no_generation": "failure", "missing" or "error"', "failure"
        ),
        "no_logs": Undecided("have no log", 'write "no_logs": "failure", "missing" or "error"', "missing"),
    },
    together=True,
    wanted=(
        "results.json",
        "metadata.yaml",
        "metadata.yml",
        "all_preds.jsonl",
        "all_preds.json",
        "preds.json",
    ),
    marks=('"no_generation"', '"no_logs"'),
    doubt=1,
)
