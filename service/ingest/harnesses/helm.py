"""Runs of HELM: `per_instance_stats.json`, `run_spec.json`, and `scenario_state.json`, which tells failed requests."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from typing_extensions import override

from service.domain.plans.importing.imports import HelmImport
from service.domain.plans.importing.mapping import Readable
from service.errors import InvalidData
from service.ingest.documents import json_slices
from service.ingest.documents.files import Files
from service.ingest.documents.json_values import Buffer, Members, loads
from service.ingest.documents.limits import make_unmapped, unreadable
from service.ingest.harnesses.harness import SCORED_ERROR, Harness, Row
from service.ingest.harnesses.samples import Measured, Reader, Sample

_STATS = Members({"instance_id", "train_trial_index", "stats", "perturbation"})
_STATE = Members({"instance", "train_trial_index", "result"})


class HelmRun(Reader):
    """One run of HELM: the folder with its `per_instance_stats.json`, or that file alone."""

    def __init__(self, files: Files) -> None:
        names = {name.rpartition("/")[2]: name for name in files.names}
        if len([name for name in files.names if name.endswith("per_instance_stats.json")]) > 1:
            raise InvalidData.field("", "the import has several runs", "send the folder of one run")
        stats = names.get("per_instance_stats.json") or (files.names[0] if len(files.names) == 1 else None)
        if stats is None:
            raise InvalidData.field(
                "", "the import has no per_instance_stats.json", "send the folder of one run"
            )
        self._stats = files.read(stats)
        self.run = {}
        if "run_spec.json" in names:
            spec = loads(files.read(names["run_spec.json"]), "run_spec.json")
            self.run = spec if isinstance(spec, dict) else {}
        self._instances: dict[tuple[str, int], tuple[bool, Any]] | None = None
        if "scenario_state.json" in names:
            self._instances = dict(_requests(files.read(names["scenario_state.json"])))

    @property
    def tells_failures(self) -> bool:
        """Whether a failed request can be told from a wrong answer."""
        return self._instances is not None

    @override
    def about(self) -> Mapping[str, Any]:
        """Settings of the run, from `run_spec.json` where it was sent."""
        run = self.run or {}
        adapter = run.get("adapter_spec")
        adapter = adapter if isinstance(adapter, dict) else {}
        return {
            "task": run.get("scenario_spec"),
            "scorer": run.get("metric_specs"),
            "runs": adapter.get("num_train_trials"),
            "limits": adapter.get("max_eval_instances"),
        }

    @override
    def samples(self) -> Iterator[Sample]:
        """Yield every instance and trial, without its perturbed copies; a measure is a statistic in one split."""
        start = json_slices.whole(self._stats, "per_instance_stats.json")
        rows = json_slices.objects(self._stats, start, _STATS, "per_instance_stats.json")
        for number, row in enumerate(rows, start=1):
            where = f"per_instance_stats.json[{number}]"
            trial = row.get("train_trial_index", 0)
            instance = row.get("instance_id")
            if type(trial) is not int or not isinstance(row.get("stats"), list):
                raise unreadable(where, "is no instance of HELM")
            # HELM asks an instance again in other words under the same id: a copy is no second result of the item.
            if row.get("perturbation"):
                continue
            request = (self._instances or {}).get((str(instance), trial))
            if request is None and self._instances is not None:
                raise unreadable(where, "is an instance and trial that scenario_state.json does not have")
            ok, about = request or (True, None)
            measures, split, sub_split = _read_measures(row["stats"], where)
            fields = {
                "id": instance,
                "train_trial": trial + 1,
                "split": split,
                "sub_split": sub_split,
                "instance": about,
            }
            yield Sample(where, fields, measures, () if ok else ("error",))


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) else None


def _read_measures(stats: list[Any], where: str) -> tuple[dict[str, Measured], str | None, str | None]:
    """Read the unperturbed statistics of one request by name, with its split and sub-split."""
    measures: dict[str, Measured] = {}
    split = sub_split = None
    for stat in stats:
        name = stat.get("name") if isinstance(stat, dict) else None
        if not isinstance(name, dict) or name.get("perturbation") or not isinstance(name.get("name"), str):
            continue
        split, sub_split = _text(name.get("split")) or split, _text(name.get("sub_split")) or sub_split
        # A statistic of several values is already a summary: its mean is not what one request was worth.
        once = stat.get("count") == 1
        value = stat.get("mean") if once else None
        if name["name"] in measures:
            raise unreadable(where, "has one statistic twice")
        measures[name["name"]] = Measured(value, None if once and value is not None else "unscored")
    return measures, split, sub_split


def _requests(document: Buffer) -> Iterator[tuple[tuple[str, int], tuple[bool, Any]]]:
    """Yield whether each request succeeded, in all its parts, and what it was about."""
    where = "scenario_state.json"
    failed: dict[tuple[str, int], bool] = {}
    for key, begin, _ in json_slices.top(document, where):
        if key != "request_states":
            continue
        for state in json_slices.objects(document, begin, _STATE, where):
            about, result, trial = (
                state.get("instance"),
                state.get("result"),
                state.get("train_trial_index", 0),
            )
            if not isinstance(about, dict) or about.get("perturbation") or type(trial) is not int:
                continue
            place = str(about.get("id")), trial
            ok = isinstance(result, dict) and result.get("success") is True
            # An instance may have several requests, such as one per answer to choose from. All are given, in
            # their order, and the caller's `dict` keeps the last, which tells of those before it too.
            failed[place] = failed.get(place, False) or not ok
            yield (
                place,
                (not failed[place], {name: about.get(name) for name in ("split", "sub_split", "extra_data")}),
            )


def _open(files: Files, _form: str, mapping: Readable | None) -> HelmRun:
    run = HelmRun(files)
    if isinstance(mapping, HelmImport) and not run.tells_failures and mapping.error != "score":
        raise make_unmapped(
            "import.error",
            "the import has no scenario_state.json, without which a failed request reads as a wrong answer",
            'send it too, or write "error": "score" to take failed requests for wrong answers',
        )
    return run


HARNESS = Harness(
    formats=("helm",),
    open=_open,
    row=Row(
        title="HELM",
        reads="folder of a run",
        by_itself="instance and train trial; rows without perturbation",
        to_say=(
            "`metric`; `split` of several. Without `scenario_state.json`, whole, a failed request reads as "
            '0: refused unless `"error": "score"`'
        ),
    ),
    undecided={"error": SCORED_ERROR},
    together=True,
    names=("per_instance_stats.json",),
    marks=('"instance_id"',),
    doubt=6,
)
