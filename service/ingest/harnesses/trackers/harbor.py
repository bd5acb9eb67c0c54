"""Jobs of Harbor (`result.json` of every trial), and runs of terminal-bench (`results.json`)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from typing_extensions import override

from service.ingest.documents import json_slices
from service.ingest.documents.files import Files
from service.ingest.documents.limits import IN_MEMORY, unreadable
from service.ingest.harnesses.harness import Harness, Row, Undecided
from service.ingest.harnesses.samples import Measured, Reader, Sample
from service.ingest.harnesses.trackers.records import add, mapping, measure_score, objects, record

_NO_FAILURE = (None, "none", "unset")


class HarborJob(Reader):
    """The trials of one job, each of a file, and the job's own; or the results of a run of terminal-bench."""

    def __init__(self, files: Files) -> None:
        self._trials: list[tuple[str, dict[str, Any] | int, Any]] = []
        job: dict[str, Any] | None = None
        n_trials = 0
        names = files.matching("result.json", "results.json", "*.result.json") or list(files.names)
        for name in sorted(names):
            document = files.read(name)
            if len(document) > IN_MEMORY or not json_slices.begins_object(document):
                members = {key: begin for key, begin, _ in json_slices.top(document, name)}
                if "results" not in members:
                    raise unreadable(name, "is no result of a trial")
                self._trials.append((name, members["results"], document))
                n_trials += 1
                continue
            result = record(bytes(document[: len(document)]), name)
            if isinstance(result.get("results"), list):
                self._trials.append((name, result, document))
                n_trials += 1
            elif "n_total_trials" in result:
                job = result
            elif "trial_name" in result and "task_name" in result:
                self._trials.append((name, result, document))
                n_trials += 1
        if not n_trials:
            raise unreadable("", "the import holds no result of a trial of Harbor or terminal-bench")
        if job is not None:
            self._require_whole(job, n_trials)

    def _require_whole(self, job: Mapping[str, Any], n_trials: int) -> None:
        total = job.get("n_total_trials")
        if job.get("finished_at") is None:
            self.partial = "is not finished"
        elif type(total) is int and n_trials < total:
            self.partial = f"has results of {n_trials} of its {total} trials"

    @override
    def samples(self) -> Iterator[Sample]:
        """Yield the trials of the run, one sample of each."""
        for name, trial, document in self._trials:
            if isinstance(trial, int):
                for number, (begin, end) in enumerate(json_slices.elements(document, trial, name), start=1):
                    yield _sample_of_terminal_bench(
                        f"results[{number}]", record(bytes(document[begin:end]), f"results[{number}]")
                    )
            elif isinstance(trial.get("results"), list):
                for number, result in enumerate(trial["results"], start=1):
                    if not isinstance(result, dict):
                        raise unreadable(f"results[{number}]", "is not an object")
                    yield _sample_of_terminal_bench(f"results[{number}]", result)
            else:
                yield _make_sample(trial)


def _make_sample(trial: Mapping[str, Any]) -> Sample:
    """Make a sample of a trial of Harbor; rewards of its steps are measures named after the step."""
    agent = mapping(trial.get("agent_info"))
    model = mapping(agent.get("model_info"))
    rewards = mapping(mapping(trial.get("verifier_result")).get("rewards"))
    measures = {name: measure_score(value) for name, value in rewards.items()}
    steps = objects(trial.get("step_results"))
    for step in steps:
        for name, value in mapping(mapping(step.get("verifier_result")).get("rewards")).items():
            add(measures, f"{step.get('step_name')}.{name}", measure_score(value))
    failed = trial.get("exception_info") or any(step.get("exception_info") for step in steps)
    fields = {
        "task": trial.get("task_name"),
        "trial": trial.get("trial_name"),
        "source": trial.get("source"),
        "task_checksum": trial.get("task_checksum"),
        "agent": agent.get("name"),
        "agent_version": agent.get("version"),
        "model": model.get("name"),
        "started_at": trial.get("started_at"),
    }
    return Sample(f"trial '{fields['trial']}'", fields, measures, ("error",) if failed else ())


def _sample_of_terminal_bench(where: str, trial: Mapping[str, Any]) -> Sample:
    """Make the sample of a trial of terminal-bench: whether it was resolved, and each of its tests."""
    resolved, mode = trial.get("is_resolved"), trial.get("failure_mode")
    fields = {
        "task": trial.get("task_id"),
        "trial": trial.get("trial_name"),
        "instruction": trial.get("instruction"),
        "failure_mode": mode,
        "started_at": trial.get("trial_started_at"),
    }
    measures: dict[str, Measured] = {"resolved": measure_score(resolved)}
    tests = mapping(trial.get("parser_results"))
    measures.update({f"tests.{name}": measure_score(value) for name, value in tests.items()})
    return Sample(where, fields, measures, () if mode in _NO_FAILURE else ("error",))


HARNESS = Harness(
    formats=("harbor",),
    open=lambda files, _form, _mapping: HarborJob(files),
    content=("task_checksum|instruction",),
    row=Row(
        title="Harbor, terminal-bench",
        reads="folder of a job (`result.json` of every trial); `results.json` of a run",
        by_itself="the task's name, its trials as replicates in the order of their names; rewards by name; `resolved`",
        to_say=(
            "`metric`; `error`: a trial with an exception (Harbor) or a failure mode (terminal-bench, such as "
            "`agent_timeout`) may have a reward beside it; `partial` where trials are lacking"
        ),
    ),
    undecided={
        "error": Undecided(
            "have an error and a reward", 'write "error": "error", "missing", "failure" or "score"', "error"
        )
    },
    together=True,
    wanted=("result.json", "results.json"),
    marks=('"is_resolved"', '"verifier_result"', '"n_total_trials"'),
    doubt=0,
    arms=("model", "agent"),
    beside=frozenset({"trial", "started_at", "failure_mode"}),
)
