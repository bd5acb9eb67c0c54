"""lm-evaluation-harness: a tracker that posts the samples of every task besides writing them where it is told.

    from forelock.hooks.lm_eval import ForelockTracker

    tracker = ForelockTracker(output_path="results")
    results = simple_evaluate(..., log_samples=True, evaluation_tracker=tracker)
    samples = results.pop("samples")
    tracker.save_results_aggregated(results=results, samples=samples)
    for task, lines in samples.items():
        tracker.save_results_samples(task_name=task, samples=lines)

The harness has no hook for a single sample, so the rows of a task come together, as its own file does, and the
service's reader of such files maps them by the plan's `import` section.
"""

from __future__ import annotations

import json
from typing import Any

from lm_eval.loggers import EvaluationTracker
from lm_eval.utils import handle_non_serializable

from forelock.hooks.session import Session, Target
from forelock.spool import Head

LARGE = frozenset({"arguments", "resps", "filtered_resps"})
"""What a sample has besides, and no mapping looks at."""
RESULTS = ("config", "n-samples", "lm_eval_version")


class ForelockTracker(EvaluationTracker):
    """A tracker of the harness, with the harness's arguments."""

    def __init__(self, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        self._results: dict[str, Any] = {}

    def save_results_aggregated(self, results: dict[str, Any], samples: dict[str, Any] | None = None) -> None:
        """Remember what the run was, and save as the harness does."""
        self._results = {name: results[name] for name in RESULTS if name in results}
        super().save_results_aggregated(results, samples)

    def save_results_samples(self, task_name: str, samples: Any) -> None:
        """Keep and send the samples of a task, and save them as the harness does."""
        target = Target.of()
        if target is not None:
            run = {"task": task_name, "results": self._results}
            head = Head("lm_eval", target.query(), _plain(run), whole=True)
            session = Session(target, live=False)
            for sample in samples:
                row = {name: value for name, value in sample.items() if name not in LARGE}
                session.append(task_name, lambda: head, _plain(row))
            session.end()
        super().save_results_samples(task_name, samples)


def _plain(sample: dict[str, Any]) -> dict[str, Any]:
    """Return what the harness would write of it."""
    plain: dict[str, Any] = json.loads(json.dumps(sample, default=handle_non_serializable))
    return plain
