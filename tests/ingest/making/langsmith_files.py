"""Experiments of LangSmith, run without a server: `ExperimentResults.to_pandas()` as CSV and JSON lines."""

from __future__ import annotations

import os
import sys
import uuid
from datetime import UTC, datetime
from pathlib import Path

os.environ["LANGSMITH_TRACING"] = "false"
from langsmith import Client
from langsmith.schemas import Example

from tests.ingest.making import behaviour as b


def examples(arm: str) -> list[Example]:
    return [
        Example(
            id=uuid.uuid5(uuid.NAMESPACE_URL, b.item_id(index)),
            dataset_id=uuid.uuid5(uuid.NAMESPACE_URL, "products"),
            inputs={"question": b.question(index), "item_id": b.item_id(index), "topic": b.cluster(index)},
            outputs={"answer": b.answer(index)},
            metadata={"topic": b.cluster(index)},
            created_at=datetime(2026, 11, 1, tzinfo=UTC),
        )
        for index in b.asked(arm)
    ]


def frame(arm: str, repetitions: int = 1):
    times: dict[str, int] = {}

    def system(inputs: dict) -> dict:
        index = b.index_of(inputs["item_id"])
        if b.crashes(arm, index):
            raise RuntimeError("the provider answered 529")
        times[inputs["item_id"]] = times.get(inputs["item_id"], 0) + 1
        return {"answer": b.reply(arm, index, times[inputs["item_id"]])}

    def exact(outputs: dict, reference_outputs: dict) -> bool:
        return outputs["answer"] == reference_outputs["answer"]

    def digits(inputs: dict, outputs: dict) -> float:
        index = b.index_of(inputs["item_id"])
        if b.grader_crashes(arm, index):
            raise ValueError("the judge gave no number")
        return b.digits(outputs["answer"], index)

    client = Client(api_url="http://127.0.0.1:9", api_key="none", auto_batch_tracing=False)
    results = client.evaluate(
        system, data=examples(arm), evaluators=[exact, digits], upload_results=False, max_concurrency=0,
        num_repetitions=repetitions, blocking=True, experiment_prefix=arm,
    )  # fmt: skip
    made = results.to_pandas()
    made["error"] = made["error"].map(lambda text: b.without_paths(text) if isinstance(text, str) else text)
    return made


def main(out: Path) -> None:
    out.mkdir(parents=True, exist_ok=True)
    truth = b.Truth()
    for arm in b.ARMS:
        made = frame(arm)
        made.to_csv(out / f"{arm}.csv", index=False)
        made.to_json(
            out / f"{arm}.jsonl", orient="records", lines=True, force_ascii=False, default_handler=str
        )
        truth.add_run(f"{arm}.csv", arm)
        truth.add_run(f"{arm}.jsonl", arm)
    frame("candidate", 2).to_csv(out / "candidate_repeats.csv")
    truth.add_run("candidate_repeats.csv", "candidate", replicates=2)
    truth.write(out)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
