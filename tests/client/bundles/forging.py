"""A record that is judged as the service judges it, in a bundle made by hand: what named forgeries begin with.

Its log holds, after others' entries, the lock, who arm B is, a deviation and its decision, a batch that was struck, the
batches that count, and the verdict, which `service.offline` computes from them.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

from forelock.bundles.draws import draw_items
from forelock.bundles.log import path_text
from forelock.bundles.rows import Batch, OpenBatch
from forelock.bundles.verifying import Opened
from service.domain.canonical import canonical
from service.domain.plans.plan import Plan
from service.offline.recomputing import _judged
from service.stats.shared.declaring.registry import library_versions
from tests.rfc6962 import subproof

from .making import ID, World, batch_body, block, sha256

SIZES = {"p": 24, "q": 12}
RIGHT = {"A": 4, "B": 20}
"""Of twenty-four items those that an arm is right on, the first ones."""
CARD = {"model": {"name": "x-2"}}
EVIDENCE = {"text": "released on 2027-02-11"}
STRUCK = "a wrong file"
LOCK = 3
"""Index of the lock's entry."""


def text(value: Any) -> bytes:
    """Canonical JSON, of any numbers."""
    return canonical(value)


def placed(value: Any, path: str, new: Any) -> Any:
    """The value with what stands at a dotted path changed; None takes it away."""
    name, _, rest = path.partition(".")
    key: Any = int(name) if isinstance(value, list) else name
    if rest:
        placed(value[key], rest, new)
    elif new is None:
        del value[key]
    else:
        value[key] = new
    return value


@cache
def canonical_text(plan: bytes) -> str:
    """The text that the service would lock of a plan."""
    return Plan.from_json(plan).canonical_text()


class Forger:
    """A record that came about in turn, and may be changed where it stands before it is signed."""

    def __init__(self, plan: Mapping[str, Any] | None = None, *, right: Mapping[str, int] = RIGHT) -> None:
        """Lock a plan and collect its results; `seal` judges them."""
        self.world = World()
        self.rows: dict[int, bytes] = {}
        self.facts: dict[int, dict[str, Any]] = {}
        self.struck: list[int] = []
        self.closed: tuple[int, int] | None = None
        for number in range(LOCK):
            self.world.log("plan_locked", {"preregistration_id": f"other-{number}"}, own=False)
        for at, (name, n) in enumerate(SIZES.items()):
            items = {"item_ids": [f"{name}{number}" for number in range(n)]}
            self.world.members[f"manifests/{at}.json"] = text(items)
        self.plan = self.lock(plan or rich_plan())
        self.log("arm_named", arm="B", card=CARD, evidence=EVIDENCE)
        self.file(title="fewer items than were planned")
        self.collect(right)

    def log(self, kind: str, **body: Any) -> int:
        """An entry of this record."""
        return self.world.log(kind, {"preregistration_id": ID, **body})

    def lock(self, plan: Mapping[str, Any]) -> dict[str, Any]:
        """The plan as the service would hold it, in the log."""
        said = json.loads(canonical_text(text(plan)))
        for at, population in enumerate(said["populations"]):
            population["items_sha256"] = sha256(self.world.members[f"manifests/{at}.json"])
        self.world.members["plans/1.json"] = text(said)
        self.log("plan_locked", version=1, plan_sha256=sha256(text(said)))
        return dict(said)

    def file(self, **said: Any) -> None:
        """A deviation and the decision about it."""
        filed, decided = text({"number": 1, **said}), text({"number": 1, "classification": "accept"})
        self.world.members |= {"deviations/1.json": filed, "deviations/1-decision-1.json": decided}
        self.log("deviation", deviation=1, deviation_sha256=sha256(filed))
        self.log("deviation", deviation=1, decision=1, decision_sha256=sha256(decided))

    def collect(self, right: Mapping[str, int]) -> None:
        """A batch that is struck, then those that count: every cell of the plan."""
        self.batch("p", "A", "accuracy", range(SIZES["p"]), right["B"])
        self.log("batch_voided", batch=1, reason=STRUCK)
        self.struck.append(1)
        for arm in "AB":
            for population, n in SIZES.items():
                self.batch(population, arm, "accuracy", range(n), right[arm] * n // SIZES["p"])
            hashed = self.plan["populations"][0]["items_sha256"]
            draw = self.plan["endpoints"][1]["labels"]
            drawn = draw_items(hashed, draw["seed"], SIZES["p"], draw["n"])
            self.batch("p", arm, "accuracy.audit", drawn, right[arm])

    def batch(
        self, population: str, arm: str, endpoint: str, positions: Any, right: int, **more: Any
    ) -> None:
        """Results of an arm, which is right on the first items."""
        number = len(self.rows) + 1
        data = block(bytes([number] * 16), list(positions), [float(at < right) for at in positions])
        self.rows[number] = data
        self.facts[number] = (
            batch_body(number, arm, data, len(positions), population) | {"endpoint": endpoint} | more
        )
        self.world.log("batch", self.facts[number])

    def judge(self, **more: Any) -> dict[str, Any]:
        """What the rows give by the plan, with more members of the verdict that judging begins with."""
        plan_text = text(self.plan)
        said = f"arm 'B' is {CARD['model']['name']} ({EVIDENCE['text']})"
        recorded = {
            "preregistration_id": ID,
            "plan_sha256": sha256(plan_text),
            "judged_at": "2027-03-01T00:00:00Z",
            "voided_batches": [{"batch": number, "reason": STRUCK} for number in self.struck],
            "marks": [
                {"code": "arm_named", "effect": "note", "says": said, "at": None, "batches": [], "runs": []}
            ],
        } | more
        opened = Opened(
            plan=plan_text,
            manifests={name: self.world.members[f"manifests/{at}.json"] for at, name in enumerate(SIZES)},
            verdict=b"",
            closed=self.closed is not None,
            batches=lambda: [
                OpenBatch(Batch.of(self.facts[number], ""), self.rows[number])
                for number in self.rows
                if number not in self.struck
            ],
        )
        judged = json.loads(_judged(opened, recorded))
        return {**judged, "versions": library_versions()}

    def seal(self, verdict: Mapping[str, Any] | None = None) -> Forger:
        """Record a verdict, by default the one that the rows give, and an entry of somebody else behind it."""
        said = dict(verdict or self.judge())
        self.world.members["rows.bin"] = b"".join(self.rows.values())
        self.world.members["verdict.json"] = text(said)
        plan_sha256 = sha256(self.world.members["plans/1.json"])
        self.log("verdict", plan_sha256=plan_sha256, verdict_sha256=sha256(text(said)))
        self.world.log("plan_locked", {"preregistration_id": "another"}, own=False)
        return self

    def bundle(self, **other: bytes | None) -> bytes:
        """The file, with the proof that its log goes on from the checkpoint of the lock."""
        proof = path_text(subproof(LOCK + 1, self.world.hashes()))
        return self.world.bundle(**{f"checkpoints/{LOCK + 1}.consistency": proof, **other})


@cache
def honest_verdict() -> str:
    """The text of the verdict that the rows of the rich plan give."""
    return text(Forger().judge()).decode()


def honest() -> Forger:
    """The record as it came about, signed."""
    return Forger().seal(json.loads(honest_verdict()))


def retold(change: Callable[[dict[str, Any]], Any]) -> Forger:
    """The same record with another verdict, signed with the log's key: whatever `change` does to it."""
    said = json.loads(honest_verdict())
    change(said)
    return Forger().seal(said)


def rich_plan() -> dict[str, Any]:
    """Two arms on a list and on a suite, one against a number; labels, a choice, an open arm, an embargo."""
    compared = {"baseline": "A", "candidate": "B", "endpoint": "accuracy"}
    return {
        "title": "Forged in every way",
        "populations": [
            {"id": name, "dataset": f"{name} 1.0", "n": n, "independence": "drawn one by one"}
            for name, n in SIZES.items()
        ],
        "suites": [{"id": "bench", "populations": ["p", "q"], "weights": {"p": 1, "q": 2}}],
        "hypotheses": [
            {
                "id": "H1",
                "claim": "superiority",
                "statement": "B is more often right than A",
                "population": "p",
                "rule": "delta >= 2 pp and m.p_value < 0.05",
            }
            | compared,
            {
                "id": "H2",
                "claim": "at_least",
                "statement": "B reaches half",
                "population": "p",
                "candidate": "B",
                "endpoint": "accuracy",
                "reference": {"value": 50, "unit": "%"},
                "rule": "share.ci.low > 50%",
            },
            {
                "id": "H3",
                "claim": "superiority",
                "statement": "B is more often right than A, over the tasks",
                "population": "bench",
                "rule": "suite.ci.low > 0",
            }
            | compared,
        ],
        "arms": [
            {"id": "A", "model": {"name": "x-1"}, "on_difference": "flag"},
            {"id": "B", "criterion": "the first model of the family X that is released after the lock"},
        ],
        "endpoints": [
            {"id": "accuracy", "kind": "binary", "role": "primary", "judge": {"model": "judge-1"}},
            {
                "id": "accuracy.audit",
                "kind": "binary",
                "role": "secondary",
                "populations": ["p"],
                "labels": {"n": 6, "seed": 7},
            },
        ],
        "tests": [
            {"id": "m", "test": "mcnemar", "version": 1, "parameters": {"method": "exact"}},
            {"id": "share", "test": "one-sample-mean", "version": 1},
            {"id": "suite", "test": "suite", "version": 1},
        ],
        "sesoi": {"accuracy": {"value": 2, "unit": "pp"}},
        "thresholds": [],
        "stopping": {"kind": "fixed_n"},
        "missing": "exclude_pair",
        "multiplicity": {"policy": "none", "family": ["H1"]},
        "tried": {"n": 10, "on": "p 1.0"},
        "embargo_until": "2027-03-31",
    }


def closed_early() -> Forger:
    """A record whose collection was closed by hand before the last batches of arm B."""
    made = Forger()
    made.world.leaves, made.world.own = made.world.leaves[:-2], made.world.own[:-2]
    for number in (6, 7):
        del made.rows[number], made.facts[number]
    made.closed = (66, 84)
    made.log("close", received=66, expected=84, deviation=1)
    named = json.loads(text({"says": f"arm 'B' is x-2 ({EVIDENCE['text']})"}))["says"]
    marks = [
        {"code": "closed_early", "effect": "flag", "says": CLOSED},
        {"code": "arm_named", "effect": "note", "says": named},
    ]
    return made.seal(made.judge(marks=marks))


CLOSED = "the collection was closed early, with 66 of 84 planned results in (deviation 1)"
