"""Frames of Ragas: `EvaluationResult.to_pandas()` as CSV, with and without its index, and as JSON lines."""

from __future__ import annotations

import sys
import warnings
from dataclasses import dataclass, field
from pathlib import Path

from ragas import EvaluationDataset, SingleTurnSample, evaluate
from ragas.metrics.base import MetricType, SingleTurnMetric

from tests.ingest.making import behaviour as b


def _columns():
    return {MetricType.SINGLE_TURN: {"user_input", "response", "reference"}}


@dataclass
class Exact(SingleTurnMetric):
    name: str = "exact"
    _required_columns: dict = field(default_factory=_columns)

    def init(self, run_config):
        pass

    async def _single_turn_ascore(self, sample, callbacks):
        if sample.response == "crashed":
            raise RuntimeError("no answer")
        return float(sample.response == sample.reference)


@dataclass
class Digits(Exact):
    name: str = "digits"
    arm: str = ""

    async def _single_turn_ascore(self, sample, callbacks):
        index = next(index for index in b.INDICES if b.question(index) == sample.user_input)
        if sample.response == "crashed" or b.grader_crashes(self.arm, index):
            raise ValueError("the judge gave no number")
        return b.digits(sample.response, index)


def frame(arm: str):
    samples = [
        SingleTurnSample(
            user_input=b.question(index),
            response="crashed" if b.crashes(arm, index) else b.reply(arm, index),
            reference=b.answer(index),
            retrieved_contexts=["a table, of products", 'and "quotes"'],
        )
        for index in b.asked(arm)
    ]
    scored = evaluate(EvaluationDataset(samples), metrics=[Exact(), Digits(arm=arm)], show_progress=False)
    return scored.to_pandas()


def main(out: Path) -> None:
    warnings.filterwarnings("ignore")
    out.mkdir(parents=True, exist_ok=True)
    truth = b.Truth()
    for arm in b.ARMS:
        made = frame(arm)
        made.to_csv(out / f"{arm}.csv", index=False)
        made.to_json(out / f"{arm}.jsonl", orient="records", lines=True, force_ascii=False)
        truth.add_run(f"{arm}.csv", arm)
        truth.add_run(f"{arm}.jsonl", arm)
    frame("candidate").to_csv(out / "candidate_index.csv")
    truth.add_run("candidate_index.csv", "candidate")
    truth.write(out)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
