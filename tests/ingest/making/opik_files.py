"""Evaluations of Opik: `evaluate_on_dict_items`, its `test_results` as `dataclasses.asdict` writes them."""

from __future__ import annotations

import dataclasses
import json
import os
import sys
from pathlib import Path

os.environ.update(
    OPIK_URL_OVERRIDE="http://127.0.0.1:9/api", OPIK_TRACK_DISABLE="true", OPIK_SENTRY_ENABLE="false",
    OPIK_ANALYTICS_ENABLE="false", OPIK_CHECK_TLS_CERTIFICATE="false",
)  # fmt: skip
from opik.evaluation import evaluate_on_dict_items
from opik.evaluation.metrics import base_metric, score_result

from tests.ingest.making import behaviour as b


class Exact(base_metric.BaseMetric):
    def __init__(self):
        super().__init__(name="exact", track=False)

    def score(self, output, expected, **_):
        return score_result.ScoreResult(name="exact", value=1.0 if output == expected else 0.0)


class Digits(base_metric.BaseMetric):
    def __init__(self, arm):
        super().__init__(name="digits", track=False)
        self.arm = arm

    def score(self, output, item_id, **_):
        index = b.index_of(item_id)
        if b.grader_crashes(self.arm, index):
            raise ValueError("the judge gave no number")
        return score_result.ScoreResult(name="digits", value=b.digits(output, index))


def run(arm: str):
    items = [
        {
            "item_id": b.item_id(index),
            "question": b.question(index),
            "expected": b.answer(index),
            "topic": b.cluster(index),
        }
        for index in b.asked(arm)
        if not b.crashes(arm, index)  # a task that raises ends the whole evaluation
    ]
    return evaluate_on_dict_items(
        items, lambda item: {"output": b.reply(arm, b.index_of(item["item_id"]))},
        scoring_metrics=[Exact(), Digits(arm)], scoring_threads=1,
    )  # fmt: skip


def main(out: Path) -> None:
    out.mkdir(parents=True, exist_ok=True)
    truth = b.Truth()
    for arm in b.ARMS:
        made = json.dumps(dataclasses.asdict(run(arm)), indent=1, ensure_ascii=False, default=str)
        (out / f"{arm}.json").write_text(b.without_paths(made) + "\n", "utf-8")
        truth.add_run(f"{arm}.json", arm, crashed="missing")
    truth.write(out)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
