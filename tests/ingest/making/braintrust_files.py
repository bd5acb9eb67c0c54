"""Evaluations of Braintrust, run without its service: `EvalResultWithSummary.as_json()`, and its rows as JSON lines."""

from __future__ import annotations

import sys
from pathlib import Path

from braintrust import Eval, EvalCase

from tests.ingest.making import behaviour as b


def run(arm: str, trials: int = 1):
    times: dict[int, int] = {}

    def system(input, hooks):
        index = b.index_of(hooks.metadata["item_id"])
        if b.crashes(arm, index):
            raise RuntimeError("the provider answered 529")
        times[index] = times.get(index, 0) + 1
        return b.reply(arm, index, times[index])

    def exact(output, expected):
        return 1 if output == expected else 0

    def digits(input, output, metadata):
        index = b.index_of(metadata["item_id"])
        if b.grader_crashes(arm, index):
            raise ValueError("the judge gave no number")
        return b.digits(output, index)

    return Eval(
        "products",
        data=[
            EvalCase(
                input=b.question(index),
                expected=b.answer(index),
                metadata={"item_id": b.item_id(index), "topic": b.cluster(index)},
            )
            for index in b.asked(arm)
        ],
        task=system,
        scores=[exact, digits],
        experiment_name=arm,
        no_send_logs=True,
        trial_count=trials,
        max_concurrency=1,
    )


def main(out: Path) -> None:
    out.mkdir(parents=True, exist_ok=True)
    truth = b.Truth()
    for arm in b.ARMS:
        for trials, name in ((1, f"{arm}.json"), (2, f"{arm}_trials.json")):
            result = run(arm, trials)
            made = b.without_paths(result.as_json(default=str, ensure_ascii=False, indent=1))
            (out / name).write_text(made + "\n", "utf-8")
            truth.add_run(name, arm, replicates=trials)
    truth.write(out)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
