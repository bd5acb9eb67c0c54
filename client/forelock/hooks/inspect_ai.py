"""Inspect AI: every sample that was scored is kept as it ends, and the finished log is compared at the end of the run.

Inspect finds this module by its entry point. Samples go to the service as they are in the log, so that the reader of
logs maps them by the plan's `import` section, as it would map the file.

A sample with an error is left to the end: `eval-retry` runs it again, and the first row of an item stays. Errors are
posted when a log has ended well with them, since nobody is to run them again.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

import anyio.to_thread
from inspect_ai.hooks import Hooks, RunEnd, SampleEnd, TaskStart, hooks
from inspect_ai.log import EvalLog, EvalSample, EvalSpec, read_eval_log_sample, read_eval_log_sample_summaries
from pydantic_core import to_jsonable_python

from forelock.hooks.session import Session, Target
from forelock.spool import Head

LARGE = {"messages", "events", "store", "attachments", "output"}
"""What a sample has besides, and no mapping of a plan should look at."""
Place = tuple[str, str | int, int]
"""Of a sample: its run, id and epoch."""


@hooks(name="forelock", description="posts scored samples to a preregistration (FORELOCK_RECORD)")
class ForelockHooks(Hooks):
    """One instance for every run of the process."""

    def __init__(self) -> None:
        self._sessions: dict[str, Session] = {}
        self._specs: dict[str, EvalSpec] = {}
        self._kept: set[Place] = set()

    def enabled(self) -> bool:
        """Tell whether the environment names a preregistration that rows are kept for."""
        return Target.of() is not None

    async def on_task_start(self, data: TaskStart) -> None:
        """Remember what the log will say of the run."""
        self._specs[data.eval_id] = data.spec

    async def on_sample_end(self, data: SampleEnd) -> None:
        """Keep a sample that was scored."""
        if data.sample.error is None and data.sample.scores:
            self._keep(data.run_id, self._specs[data.eval_id], data.sample)

    async def on_run_end(self, data: RunEnd) -> None:
        """Keep what ended logs have besides, and send."""
        try:
            for log in data.logs:
                if log.status == "success":
                    await anyio.to_thread.run_sync(partial(self._reconcile, data.run_id, log))
        finally:
            session = self._sessions.pop(data.run_id, None)
            if session is not None:
                await anyio.to_thread.run_sync(session.end)

    def _reconcile(self, run_id: str, log: EvalLog) -> None:
        """Keep samples that this run did not see: those of the log that it goes on from, and errors that stay."""
        spec = log.eval
        for summary in read_eval_log_sample_summaries(log.location):
            if (spec.eval_id, summary.id, summary.epoch) not in self._kept:
                sample = read_eval_log_sample(log.location, summary.id, summary.epoch, exclude_fields=LARGE)
                if sample.scores or sample.error:
                    self._keep(run_id, spec, sample)
        self._kept = {place for place in self._kept if place[0] != spec.eval_id}
        self._specs.pop(spec.eval_id, None)

    def _keep(self, run_id: str, spec: EvalSpec, sample: EvalSample) -> None:
        session = self._sessions.get(run_id)
        if session is None:
            target = Target.of()
            if target is None:
                return
            session = self._sessions[run_id] = Session(target)
        session.append(spec.eval_id, lambda: _make_head(session.target, spec), fields_of(sample))
        self._kept.add((spec.eval_id, sample.id, sample.epoch))


def fields_of(sample: EvalSample) -> Mapping[str, Any]:
    """Return a sample as the log has it, without what is large."""
    fields: Mapping[str, Any] = to_jsonable_python(
        {name: getattr(sample, name) for name in type(sample).model_fields if name not in LARGE},
        exclude_none=True,
        inf_nan_mode="constants",
        fallback=lambda _: None,
    )
    return {name: value for name, value in fields.items() if value is not None}


def _make_head(target: Target, spec: EvalSpec) -> Head:
    run = to_jsonable_python(spec, exclude_none=True, inf_nan_mode="constants", fallback=lambda _: None)
    run.get("dataset", {}).pop("sample_ids", None)  # of the whole run, and there may be many
    return Head("inspect", target.query(), run)
