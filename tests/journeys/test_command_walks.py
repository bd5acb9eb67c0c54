"""What a plan can say, walked by command: from Markdown to the verified bundle, on both databases."""

from __future__ import annotations

import copy
import csv
import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from forelock import cli
from tests.drawing import mostly_slow

from .conftest import Service
from .killed import dies
from .plans import LABELLED, draft, items, small_plan

pytestmark = pytest.mark.any_database

Rows = Iterator[tuple[str, str, str, int, float]]
"""Population, arm, item, replicate and value of every result."""
Run = Callable[..., str]


@dataclass(frozen=True)
class Walk:
    """A plan, what it takes on the way, and what is said at the end."""

    plan: dict[str, Any]
    told: str
    """A part of the verdict's sentence."""
    exit_status: int
    """Of `verdict` and of `verify`."""
    better: float = 0.0
    """How much more often the candidate is right than the 70 % of the baseline."""
    cards: tuple[str, ...] = ()
    """What names the arm that the plan locks by a criterion."""
    sizes: Mapping[str, int] = field(default_factory=lambda: {"p": 120})


def claim(base: dict[str, Any], **changes: Any) -> dict[str, Any]:
    """The plan's one hypothesis with these members; None takes one out."""
    hypothesis = {**base["hypotheses"][0], **changes}
    base["hypotheses"] = [{name: value for name, value in hypothesis.items() if value is not None}]
    base["hypotheses"][0].pop("equivalence", None)
    base["multiplicity"] = {"policy": "none", "family": [base["hypotheses"][0]["id"]]}
    return base


def at_least(base: dict[str, Any], rule: str, **changes: Any) -> dict[str, Any]:
    """A claim about B alone, which is to reach 60 %."""
    one = {"claim": "at_least", "statement": "B is right at least 60 % of the time", "baseline": None}
    return claim(base, **one, reference={"value": 60, "unit": "%"}, rule=rule, **changes)


def walks() -> Iterator[tuple[str, Walk]]:
    """Each kind of claim, what an arm is, and which items are meant."""
    score = [{"id": "score", "test": "one-sample-mean", "version": 1}]
    one = at_least(small_plan(120, tests=score), "score.ci.low >= 60%")
    yield "one_arm", Walk(one, "lies above 60.00%", 0, better=0.1)
    short = copy.deepcopy(one)
    yield "one_arm_short", Walk(short, "lies below 60.00%", 10, better=-0.4)
    runs = [{"id": "runs", "test": "reliability", "version": 1, "parameters": {"k": [2]}}]
    reliable = at_least(small_plan(120, tests=runs), "runs.pass_hat_k.ci.low >= 60%", about="pass_hat_k")
    reliable["endpoints"][0]["replicates"] = 4
    yield "reliability", Walk(reliable, "all of k", 0, better=0.25)
    suite = claim(
        small_plan(tests=[{"id": "suite", "test": "suite", "version": 1}]),
        population="bench",
        statement="B is more often right than A over the tasks",
        rule="suite.ci.low > 0",
    )
    tasks = {"large": 120, "small": 60}
    suite["populations"] = [
        {"id": name, "dataset": f"{name} 1.0", "n": n, "independence": "drawn one by one"}
        for name, n in tasks.items()
    ]
    suite["suites"] = [{"id": "bench", "populations": list(tasks), "weights": {"large": 1, "small": 2}}]
    yield "suite", Walk(suite, "on bench", 0, better=0.25, sizes=tasks)
    cards = claim(small_plan(120), rule="delta >= 2.0 pp and mcnemar.p_value < 0.05")
    cards["arms"] = [
        {"id": "A", "model": {"name": "old", "revision": "2026-11"}, "decoding": {"temperature": 0}},
        {"id": "B", "criterion": "the first model of its family that is released after the lock"},
    ]
    named = ("--model", "new", "--revision", "2027-01", "--evidence", "released on 2027-01-02")
    yield "criterion", Walk(cards, "is supported", 0, better=0.25, cards=named)
    ppi = [{"id": "ppi", "test": "prediction-powered", "version": 1}]
    people = {"about": "labels", "statement": "B is better than A, as people judge answers"}
    two = claim(
        small_plan(240, tests=ppi, endpoints=copy.deepcopy(LABELLED), missing="exclude_pair"),
        rule="ppi.ci.low > 0", **people,
    )  # fmt: skip
    yield "labels", Walk(two, "by people's labels", 0, better=0.28, sizes={"p": 240})
    alone = at_least(
        small_plan(240, tests=ppi, endpoints=copy.deepcopy(LABELLED), missing="exclude_pair"),
        "ppi.ci.low >= 60%",
        about="labels",
    )
    yield "labels_one_arm", Walk(alone, "by people's labels", 0, better=0.25, sizes={"p": 240})
    fixed = [{"id": "fixed", "test": "fixed-items", "version": 2}]
    these = claim(small_plan(60, tests=fixed), rule="delta >= 2.0 pp and fixed.ci.low > 0")
    these["endpoints"][0] |= {"replicates": 4, "estimand": "these_items"}
    yield "these_items", Walk(these, "these 60 items alone", 0, better=0.28, sizes={"p": 60})
    told = claim(small_plan(120), rule="delta >= 2.0 pp and mcnemar.p_value < 0.05")
    told["tried"] = {"n": 12, "on": told["populations"][0]["dataset"]}
    yield "tried", Walk(told, "12 variants", 0, better=0.28)


WALKS = dict(walks())


def results(walk: Walk) -> Rows:
    """Every run of every item, in the plan's arms; items differ, and more of them are right in the candidate."""
    rng = np.random.default_rng(11)
    hypothesis, replicates = walk.plan["hypotheses"][0], walk.plan["endpoints"][0].get("replicates", 1)
    arms = ("A", "B") if "baseline" in hypothesis else ("B",)
    for population, n in walk.sizes.items():
        for item in items(n):
            hard = rng.random(replicates)
            for arm in arms:
                right = hard < 0.7 + (walk.better if arm == "B" else 0.0)
                yield from (
                    (population, arm, item, run, float(value)) for run, value in enumerate(right, start=1)
                )


def write(path: Path, header: tuple[str, ...], rows: Iterator[tuple[Any, ...]]) -> str:
    """A CSV of these rows; returns its path."""
    with path.open("w", newline="", encoding="utf-8") as file:
        table = csv.writer(file)
        table.writerow(header)
        table.writerows(rows)
    return str(path)


@pytest.fixture
def forelock(service: Service, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """Run the command, which is to end with this status; returns what it printed."""

    def run(*arguments: str, status: int = 0) -> str:
        dies(monkeypatch, service, at=0, answered=False)
        ended = cli.main(arguments)
        told = capsys.readouterr()
        assert ended == status, (arguments, told.out, told.err)
        return told.out

    return run


def label(forelock: Run, prereg_id: str, folder: Path, values: Mapping[tuple[str, str], float]) -> None:
    """People label what the list asks for, and find what the judge finds but for one in fifty."""
    (folder / "labels.csv").write_text(forelock("labels", prereg_id), encoding="utf-8")
    with (folder / "labels.csv").open(newline="", encoding="utf-8") as file:
        asked = list(csv.DictReader(file))
    assert not any(row["value"] for row in asked)
    for at, row in enumerate(asked):
        said = values[row["arm"], row["item_id"]]
        row["value"] = str(1 - said if at % 50 == 49 else said)
    header = tuple(asked[0])
    filled = write(folder / "filled.csv", header, (tuple(row[name] for name in header) for row in asked))
    forelock("labels", prereg_id, "--post", filled)


@pytest.mark.parametrize("name", mostly_slow(WALKS, 3))
def test_from_markdown_to_the_verified_bundle(
    service: Service, forelock: Run, tmp_path: Path, name: str
) -> None:
    walk = WALKS[name]
    first = draft(service.client, walk.plan)
    plan = tmp_path / "EXPERIMENTS_PREREG.md"
    plan.write_text(service.client.get(f"/v1/preregistrations/{first}/prereg.md").text, encoding="utf-8")
    lists = [
        f"{population}={write(tmp_path / f'{population}.csv', ('item_id',), ((item,) for item in items(n)))}"
        for population, n in walk.sizes.items()
    ]
    prereg_id = forelock("plan", "create", str(plan), *(f"--items={one}" for one in lists)).split()[-1]
    forelock("plan", "lint", prereg_id)
    forelock("plan", "lock", prereg_id, "--acknowledge", "all")
    if walk.cards:
        forelock("name-arm", prereg_id, "B", *walk.cards)
    rows = list(results(walk))
    header = ("population", "arm", "endpoint", "item_id", "replicate", "value")
    sent = write(
        tmp_path / "results.csv",
        header,
        ((population, arm, "accuracy", item, run, value) for population, arm, item, run, value in rows),
    )
    forelock("submit", prereg_id, sent)
    if len(walk.plan["endpoints"]) > 1:
        label(
            forelock,
            prereg_id,
            tmp_path,
            {(arm, item): value for _population, arm, item, _run, value in rows},
        )
    assert service.run_jobs() >= 1
    printed = forelock("verdict", prereg_id, status=walk.exit_status)
    # more items would be other items
    assert "estimand" not in walk.plan["endpoints"][0] or "a new plan of about" not in printed, printed
    told = forelock("verdict", prereg_id, "--json", status=walk.exit_status)
    (judged,) = json.loads(told)["hypotheses"]
    assert walk.told in judged["sentence"], judged["sentence"]
    assert ("released on 2027-01-02" in told) == bool(walk.cards)
    bundle = str(tmp_path / "bundle.zip")
    forelock("bundle", prereg_id, "-o", bundle)
    forelock("verify", bundle, status=walk.exit_status)
