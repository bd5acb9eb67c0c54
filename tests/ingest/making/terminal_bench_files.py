"""Results of a run of terminal-bench, by the records that its harness writes them from: no container is run."""

from __future__ import annotations

import sys
from pathlib import Path

from terminal_bench.agents.failure_mode import FailureMode
from terminal_bench.harness.models import BenchmarkResults, TrialResults
from terminal_bench.parsers.base_parser import UnitTestStatus

from tests.ingest.making import behaviour as b


def main(out: Path) -> None:
    out.mkdir(parents=True, exist_ok=True)
    truth = b.Truth()
    for arm in b.ARMS:
        trials = []
        for index in b.asked(arm):
            for attempt in (1, 2):
                name = f"item-{index:03d}"
                right = b.is_right(arm, index, attempt)
                crashed = b.crashes(arm, index)
                mode = FailureMode.AGENT_TIMEOUT if crashed else FailureMode.UNSET
                trials.append(
                    TrialResults(
                        trial_name=f"{name}.{attempt}-of-2.{arm}",
                        task_id=name,
                        instruction=b.question(index),
                        is_resolved=False if crashed else right,
                        failure_mode=mode,
                        parser_results={
                            "test_answer": UnitTestStatus.PASSED if right else UnitTestStatus.FAILED
                        },
                    )
                )
                shown, status = ("", "error") if crashed else (repr(float(right)), "ok")
                truth.rows.append((arm, arm, "resolved", name, attempt, "", shown, status, ""))
        made = BenchmarkResults(results=trials).model_dump_json(indent=4)
        (out / arm).mkdir(exist_ok=True)
        (out / arm / "results.json").write_text(made + "\n", "utf-8")
    truth.write(out)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
