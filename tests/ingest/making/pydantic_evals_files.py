"""Reports of pydantic-evals: `EvaluationReportAdapter.dump_json` of a report, and one as YAML."""

from __future__ import annotations

import asyncio
import sys
from dataclasses import dataclass
from pathlib import Path

import yaml
from pydantic_evals import Case, Dataset
from pydantic_evals.evaluators import Evaluator, EvaluatorContext
from pydantic_evals.reporting import EvaluationReportAdapter

from tests.ingest.making import behaviour as b


@dataclass
class Exact(Evaluator):
    def evaluate(self, ctx: EvaluatorContext):
        return {
            "exact": ctx.output == ctx.expected_output,
            "kind": "number" if ctx.output.isdigit() else "words",
        }


@dataclass
class Graded(Evaluator):
    arm: str

    def evaluate(self, ctx: EvaluatorContext):
        index = ctx.metadata["index"]
        if b.grader_crashes(self.arm, index):
            raise ValueError("the judge gave no number")
        return {"digits": b.digits(ctx.output, index)}


def report(arm: str, repeat: int):
    asked: dict[int, int] = {}
    cases = [
        Case(
            name=b.item_id(index),
            inputs={"question": b.question(index)},
            expected_output=b.answer(index),
            metadata={"topic": b.cluster(index), "index": index},
        )
        for index in b.asked(arm)
    ]

    async def system(inputs):
        index = next(index for index in b.INDICES if b.question(index) == inputs["question"])
        if b.crashes(arm, index):
            raise RuntimeError("the provider answered 529")
        asked[index] = asked.get(index, 0) + 1
        return b.reply(arm, index, asked[index])

    dataset = Dataset(name="products", cases=cases, evaluators=[Exact(), Graded(arm)])
    return asyncio.run(
        dataset.evaluate(
            system,
            name=arm,
            progress=False,
            repeat=repeat,
            max_concurrency=1,
            metadata={"arm": arm, "model": "mock"},
        )
    )


def main(out: Path) -> None:
    out.mkdir(parents=True, exist_ok=True)
    truth = b.Truth()
    for arm in b.ARMS:
        for repeat, name in ((1, f"{arm}.json"), (2, f"{arm}_repeats.json")):
            made = EvaluationReportAdapter.dump_json(report(arm, repeat), indent=1)
            (out / name).write_text(b.without_paths(made.decode()) + "\n", "utf-8")
            truth.add_run(name, arm, replicates=repeat)
    whole = EvaluationReportAdapter.dump_python(report("candidate", 1), mode="json")
    made = yaml.safe_dump(whole, allow_unicode=True, sort_keys=False, width=10_000)
    (out / "candidate.yaml").write_text(b.without_paths(made), "utf-8")
    truth.add_run("candidate.yaml", "candidate")
    truth.write(out)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
