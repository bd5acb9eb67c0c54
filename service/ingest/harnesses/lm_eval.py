"""Samples of lm-evaluation-harness: one line per item and filter, beside the results file of the run."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from typing_extensions import override

from service.errors import InvalidData
from service.ingest.documents import json_slices
from service.ingest.documents.files import Files
from service.ingest.documents.json_values import Members, loads
from service.ingest.documents.limits import make_unmapped, unreadable
from service.ingest.harnesses.harness import Harness, Row
from service.ingest.harnesses.samples import Measured, Reader, Sample
from service.ingest.harnesses.systems import argument, config_sha256, facts

_SAMPLE = Members({"doc_id", "doc", "doc_hash", "filter", "metrics"})
_RESULTS = Members({"config", "configs", "n-samples", "results", "model_name", "lm_eval_version"} | {
    "versions", "higher_is_better", "git_hash", "task_hashes",
})  # fmt: skip


class LmEvalRun(Reader):
    """The samples of one task, and the results file when it is there."""

    several = True

    def __init__(self, files: Files) -> None:
        self._files = files
        samples = files.matching("samples_*.jsonl", "*.jsonl")
        if not samples and len(files.names) == 1:
            samples = list(files.names)
        if len(samples) != 1:
            raise InvalidData.field(
                "",
                f"the import has {len(samples)} files of samples",
                "send one samples_*.jsonl with its results_*.json",
            )
        self._samples = samples[0]
        self.run = {}
        self._results: Mapping[str, Any] = {}
        results = [
            name for name in files.matching("results*.json", "*_results.json") if name != self._samples
        ]
        if len(results) > 1:
            raise InvalidData.field(
                "", "the import has several results files", "send that of the samples alone"
            )
        if results:
            self._results = json_slices.pick(files.read(results[0]), _RESULTS, "the results file")
            config = self._results.get("config")
            self.run = config if isinstance(config, dict) else {}
        self._filters = _filters(self._results.get("results"), self._samples)
        self.partial = self._shortfall() if results else None

    @override
    def samples(self) -> Iterator[Sample]:
        """Yield the lines of the file of samples, one sample of each."""
        for where, line in self._lines():
            if "doc" not in line:
                raise unreadable(where, "is no sample of lm-evaluation-harness: it has no `doc`")
            used = line["filter"] if "filter" in line else self._only_filter(where)
            names = line.get("metrics")
            if not isinstance(names, list):  # files of older versions do not list them
                names = [name for name in line if name not in _MEMBERS]
            measures = {
                f"{name},{used}": Measured(line.get(name), "unscored" if line.get(name) is None else None)
                for name in names
                if isinstance(name, str)
            }
            yield Sample(where, line, measures)

    @override
    def about(self) -> Mapping[str, Any]:
        """Settings of the task that the samples are of, from the results file."""
        results = self._results
        config = _of_task(_mapping(results.get("configs")), self._samples)
        config = _mapping(config)
        loaded = _mapping(config.get("dataset_kwargs"))
        return {
            "task": config.get("task"),
            "task_version": _of_task(_mapping(results.get("versions")), self._samples),
            "dataset": [part for part in (config.get("dataset_path"), config.get("dataset_name")) if part],
            "dataset_version": loaded.get("revision"),
            "scorer": [part for part in (config.get("metric_list"), config.get("filter_list")) if part],
            "runs": config.get("repeats"),
            "limits": self.run.get("limit") if self.run else None,
            "harness_version": results.get("lm_eval_version"),
        }

    @override
    def system(self) -> Mapping[str, Any]:
        """The system, from the results file: model, its arguments, how answers are generated, harness and task."""
        results, arguments = self._results, self.run.get("model_args") if self.run else None
        generated = self.run.get("gen_kwargs") if self.run else None
        task_config = _mapping(_of_task(_mapping(results.get("configs")), self._samples))
        generated = generated or task_config.get("generation_kwargs")
        return facts(
            model__name=argument(arguments, "pretrained")
            or argument(arguments, "model")
            or results.get("model_name"),
            model__revision=argument(arguments, "revision"),
            decoding__temperature=argument(generated, "temperature"),
            decoding__top_p=argument(generated, "top_p"),
            decoding__max_tokens=argument(generated, "max_gen_toks"),
            harness__name="lm_eval" if results else None,
            harness__version=results.get("lm_eval_version"),
            harness__config_sha256=config_sha256(task_config),
            more__git_hash=results.get("git_hash"),
            more__task_hash=_of_task(_mapping(results.get("task_hashes")), self._samples),
        )

    @override
    def lower(self) -> Iterator[str]:
        """Return metrics of which `higher_is_better` says that they are not, under every filter."""
        better = _mapping(_of_task(_mapping(self._results.get("higher_is_better")), self._samples))
        filters = self._filters or {"none"}
        yield from (
            f"{name},{used}" for name, higher in better.items() if higher is False for used in filters
        )

    def _only_filter(self, where: str) -> str:
        """That of a line which does not say it, as older versions wrote it: the run's only one."""
        if len(self._filters) > 1:
            raise make_unmapped(
                "import.filter",
                f"{where} does not say which filter it is of, and the run had {len(self._filters)}",
                "run it with a newer lm-evaluation-harness, which says so",
            )
        return next(iter(self._filters), "none")

    def _lines(self) -> Iterator[tuple[str, dict[str, Any]]]:
        """Yield every sample and where it stands; older versions wrote an array, in spite of the file's name."""
        document = self._files.read(self._samples)
        if json_slices.begins_array(document):
            start = json_slices.whole(document, "the samples")
            samples = json_slices.objects(document, start, _SAMPLE, "samples")
            yield from ((f"samples[{number}]", content) for number, content in enumerate(samples, start=1))
            return
        for number, line in self._files.lines(self._samples):
            where = f"line {number}"
            content = loads(line, where)
            if not isinstance(content, dict):
                raise unreadable(where, "is no sample of lm-evaluation-harness: it is no object")
            yield where, content

    def _shortfall(self) -> str | None:
        """Fewer items than the results file says were run."""
        counts = self._results.get("n-samples")
        counted = self._files.names and isinstance(counts, dict) and _of_task(counts, self._samples)
        effective = counted.get("effective") if isinstance(counted, dict) else None
        if type(effective) is not int:
            return None
        per_filter: dict[Any, int] = {}
        for _, sample in self._lines():
            used = sample.get("filter")
            used = used if isinstance(used, str) else None
            per_filter[used] = per_filter.get(used, 0) + 1
        short = [n for n in per_filter.values() if n < effective]
        if short or not per_filter:
            return f"has {min(short, default=0)} samples where its results file says {effective}"
        return None


_MEMBERS = frozenset(
    {
        "doc_id", "doc", "target", "arguments", "resps", "filtered_resps", "filter", "metrics", "doc_hash",
        "prompt_hash", "target_hash",
    }
)  # fmt: skip


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def _filters(results: Any, name: str) -> set[str]:
    """Return the filters of the task's metrics, which the results file calls `METRIC,FILTER`."""
    counts = _of_task(results, name) if isinstance(results, dict) else None
    return {key.partition(",")[2] for key in counts if "," in key} if isinstance(counts, dict) else set()


def _of_task(counts: Mapping[str, Any], name: str) -> Any:
    """Return the count of the task that the file of samples is named after; the only one, where there is no other."""
    base = name.rpartition("/")[2].removeprefix("samples_")
    tasks = [task for task in counts if base.startswith(f"{task}_")]
    # The longest: `samples_arc_easy_…` begins with `arc` as well.
    if tasks:
        return counts[max(tasks, key=len)]
    return next(iter(counts.values())) if len(counts) == 1 else None


HARNESS = Harness(
    formats=("lm_eval",),
    open=lambda files, _form, _mapping: LmEvalRun(files),
    row=Row(
        title="lm-evaluation-harness",
        reads="`samples_*.jsonl` with its `results_*.json`",
        by_itself="`doc_hash` (older files have none: write `item_id`)",
        to_say=(
            "`metric` and `filter`; lists (corpus metrics) are refused; so are lines that do not say their "
            "filter, of a run that had several; `partial` for fewer lines than the results file says"
        ),
    ),
    together=True,
    content=("doc", "target"),
    names=("samples_*.jsonl",),
    marks=('"doc_hash"', '"doc_id"'),
    doubt=4,
    beside=frozenset({"filter"}),
)
