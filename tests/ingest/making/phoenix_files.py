"""Experiments of Phoenix: `run_experiment` against a server here, then `GET /v1/experiments/ID/json` and `/csv`.

The server is `phoenix serve` of the package arize-phoenix; its address is the second argument.
"""

from __future__ import annotations

import json
import sys
import urllib.request
from pathlib import Path

import httpx
from phoenix.client import Client

from tests.ingest.making import behaviour as b


def main(out: Path, server: str) -> None:
    out.mkdir(parents=True, exist_ok=True)
    client = Client(base_url=server, http_client=httpx.Client(base_url=server, timeout=300))
    truth = b.Truth()
    for arm in b.ARMS:
        for repetitions in (1, 2):
            name = arm if repetitions == 1 else f"{arm}_repetitions"
            dataset = client.datasets.create_dataset(
                name=f"products-{name}-{b.unit(str(out))}",
                inputs=[
                    {"question": b.question(index), "item_id": b.item_id(index)} for index in b.asked(arm)
                ],
                outputs=[{"answer": b.answer(index)} for index in b.asked(arm)],
                metadata=[{"topic": b.cluster(index)} for index in b.asked(arm)],
            )
            times: dict[str, int] = {}

            def system(input, arm=arm, times=times):
                index = b.index_of(input["item_id"])
                if b.crashes(arm, index):
                    raise RuntimeError("the provider answered 529")
                times[input["item_id"]] = times.get(input["item_id"], 0) + 1
                return b.reply(arm, index, times[input["item_id"]])

            def exact(output, expected):
                return output == expected["answer"]

            def digits(input, output, arm=arm):
                index = b.index_of(input["item_id"])
                if b.grader_crashes(arm, index):
                    raise ValueError("the judge gave no number")
                return b.digits(output, index)

            ran = client.experiments.run_experiment(
                dataset=dataset, task=system, evaluators={"exact": exact, "digits": digits}, experiment_name=arm,
                experiment_metadata={"arm": arm}, repetitions=repetitions, retries=0, print_summary=False,
            )  # fmt: skip
            experiment = ran["experiment_id"]
            for suffix, path in (
                ("json", f"{experiment}/json"),
                ("csv", f"{experiment}/csv"),
                ("about", experiment),
            ):
                with urllib.request.urlopen(f"{server}/v1/experiments/{path}") as answer:
                    body = answer.read().decode()
                if suffix == "json":
                    body = json.dumps(json.loads(body), indent=1, ensure_ascii=False) + "\n"
                if suffix == "about":
                    suffix = "experiment.json"
                (out / f"{name}.{suffix}").write_text(b.without_paths(body), "utf-8")
            truth.add_run(f"{name}.json", arm, replicates=repetitions)
    truth.write(out)


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2])
