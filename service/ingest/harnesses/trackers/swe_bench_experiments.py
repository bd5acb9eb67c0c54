"""Submissions to SWE-bench `experiments`: what each instance came to, or lists of those that were resolved."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from typing_extensions import override

from service.errors import InvalidData
from service.ingest.documents.files import Files
from service.ingest.documents.json_values import loads
from service.ingest.documents.limits import printable, unreadable
from service.ingest.harnesses.harness import Harness, Row, Undecided
from service.ingest.harnesses.samples import Measured, Reader, Sample
from service.ingest.harnesses.trackers.records import mapping

_EVENTS = ("no_generation", "no_logs")
_DETAILS = "per_instance_details.json"


class SweBenchSubmission(Reader):
    """One submission.

    `results/results.json` names what was resolved and what was lacking: what is in no list and was submitted was not
    resolved. `per_instance_details.json`, which newer ones have in its place or beside it, tells every instance.
    """

    def __init__(self, files: Files) -> None:
        self._details = _read_details(files)
        self._report: dict[str, Any] = {}
        if self._details is None or files.matching("results.json"):
            self._report = _read_report(files)
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
        if isinstance(predictions, dict):
            return list(predictions)
        if not isinstance(predictions, list):
            raise unreadable("", "the predictions are neither a list nor an object by instance")
        return _texts([mapping(result).get("instance_id") for result in predictions], "predictions")

    @override
    def samples(self) -> Iterator[Sample]:
        """Yield every instance that any list, the details or the predictions name."""
        resolved = set(_texts(self._report.get("resolved", []), "resolved"))
        lacking: dict[str, str] = {}
        for event in reversed(_EVENTS):
            for instance in _texts(self._report.get(event) or [], event):
                lacking[instance] = event
                if instance in resolved:
                    raise unreadable("", f"the results have an instance that is both resolved and in {event}")
        if self._details is None and self._submitted is None:
            raise InvalidData.field(
                "",
                "results.json does not name the instances that were tried and not resolved",
                f"send all_preds.jsonl (or preds.json, or {_DETAILS}) beside it",
            )
        details = self._details or {}
        if self._details is None and resolved.difference(self._submitted or ()):
            raise unreadable(
                "",
                "the results have an instance that is resolved and was not submitted: send the predictions of this "
                "submission, whole",
            )
        for instance in dict.fromkeys((*details, *(self._submitted or ()), *lacking, *sorted(resolved))):
            told = instance in resolved if self._details is None else details.get(instance, False)
            if self._report and told != (instance in resolved):  # which one would tell what it came to
                raise unreadable(
                    "", f"results.json and {_DETAILS} differ on what is resolved: send the one that is right"
                )
            lacks = lacking.get(instance)
            yield Sample(
                f"instance '{printable(instance)}'",
                {"id": instance, "repository": instance.rpartition("-")[0]},
                {"resolved": Measured(None if lacks else told, "unscored" if lacks else None)},
                (lacks,) if lacks else (),
            )


def _read_details(files: Files) -> dict[str, bool] | None:
    """Read for every instance whether it was resolved; None for older submissions, which have no such file."""
    names = files.matching(_DETAILS)
    if not names:
        return None  # as older submissions are
    details = loads(files.read(files.only(_DETAILS, what="the details", of="one submission")), _DETAILS)
    if not isinstance(details, dict) or not all(
        isinstance(told, dict) and isinstance(told.get("resolved"), bool) for told in details.values()
    ):
        raise unreadable("", f"{_DETAILS} does not say of every instance whether it was `resolved`")
    return {instance: told["resolved"] for instance, told in details.items()}


def _read_report(files: Files) -> dict[str, Any]:
    name = files.only(
        "results.json", what="the results", of="results/results.json, and metadata.yaml beside it"
    )
    report = loads(files.read(name), "results.json")
    if not isinstance(report, dict) or not isinstance(report.get("resolved"), list):
        raise unreadable("", "the file is no results.json of SWE-bench experiments: it has no `resolved`")
    return report


def _texts(ids: Any, name: str) -> list[str]:
    if not isinstance(ids, list) or not all(isinstance(item_id, str) for item_id in ids):
        raise unreadable("", f"`{name}` is not a list of ids")
    return ids


HARNESS = Harness(
    formats=("swe_bench_experiments",),
    open=lambda files, _form, _mapping: SweBenchSubmission(files),
    row=Row(
        title="SWE-bench `experiments`",
        reads=(
            "`per_instance_details.json`, or `results/results.json` with `all_preds.jsonl` or `preds.json`, and "
            "`metadata.yaml`"
        ),
        by_itself="resolved 1; what was submitted, has a log and was not resolved 0; `repository` as a path",
        to_say=(
            "`no_generation`, `no_logs` (`failure`, `missing` or `error`). Results with neither details nor "
            "predictions are refused, and so are details that the results contradict"
        ),
    ),
    undecided={
        "no_generation": Undecided(
            "have no patch", 'write "no_generation": "failure", "missing" or "error"', "failure"
        ),
        "no_logs": Undecided("have no log", 'write "no_logs": "failure", "missing" or "error"', "missing"),
    },
    together=True,
    names=(_DETAILS,),
    wanted=(
        _DETAILS,
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
