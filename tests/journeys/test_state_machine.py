"""Anything that people may do to records, in any order, against a small model of what should come of it."""

from __future__ import annotations

import uuid
from dataclasses import dataclass, field
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    Bundle,
    RuleBasedStateMachine,
    initialize,
    invariant,
    multiple,
    rule,
    run_state_machine_as_test,
)

from service.store.ledger import ledger
from service.store.results import coverage
from tests.journeys.conftest import Service
from tests.journeys.filings import deviations, filing
from tests.journeys.plans import draft, idempotent, items, post, small_plan
from tests.pools import InlinePool

N = 6
"""The fewest with which the plan's rule can hold: lint refuses to lock another."""
CELLS = 2 * N
ARMS = st.sampled_from(["A", "B"])
PICKED = st.just(set(range(N))) | st.sets(st.integers(0, N - 1), min_size=1)
OPEN = ("locked", "collecting")
FILED = (*OPEN, "complete", "judged")


@dataclass
class Model:
    """What a record should be."""

    id: str
    registered: int
    """Its place among all records of the machine, by lock; 0 in a draft."""
    state: str = "draft"
    revision: int = 1
    version: int = 1
    title: str = "first"
    titles: list[str] = field(default_factory=list)
    """By version, once locked."""
    batches: list[tuple[str, frozenset[int]]] = field(default_factory=list)
    void: set[int] = field(default_factory=set)
    deviations: list[bool] = field(default_factory=list)
    """True: about the sample size."""
    runs: list[str] = field(default_factory=list)
    closed: bool = False
    before: str | None = None
    """The state that it was withdrawn in."""
    failed: bool = False
    verdict: bytes | None = None
    ledger: list[str] = field(default_factory=list)

    def covered(self) -> dict[str, set[int]]:
        """Which items are in, by arm."""
        found: dict[str, set[int]] = {"A": set(), "B": set()}
        for number, (arm, positions) in enumerate(self.batches, 1):
            if number not in self.void:
                found[arm] |= positions
        return found

    @property
    def received(self) -> int:
        """Results that are in."""
        return sum(map(len, self.covered().values()))

    def move(self, state: str) -> None:
        """To another state."""
        self.state, self.revision = state, self.revision + 1


class FailingPool(InlinePool):
    """A pool in which everything fails, while `broken`."""

    broken = False

    def submit(self, function: Any, *arguments: object) -> Any:
        if not self.broken:
            return super().submit(function, *arguments)
        return super().submit(_fail)


def _fail() -> None:
    raise ValueError("the outcome is 0.25")


class States(RuleBasedStateMachine):
    """Everything over HTTP, with a runner that works when it is told to."""

    service: Service
    pool: FailingPool
    records = Bundle("records")

    def __init__(self) -> None:
        super().__init__()
        self.models: list[Model] = []
        self.project = self.service.project(uuid.uuid4().hex)
        self.headers = {"Authorization": f"Bearer {self.service.key(project_id=self.project)}"}

    # What may be done

    @initialize(target=records)
    def begin(self) -> Any:
        return self.made()

    @rule(target=records)
    def create(self) -> Any:
        return multiple() if len(self.models) >= 4 else self.made()

    def made(self) -> Model:
        self.service.client.headers.update(self.headers)
        model = Model(draft(self.service.client, small_plan(N, title="first")), 0)
        self.models.append(model)
        return model

    @rule(model=records, stale=st.booleans())
    def edit(self, model: Model, stale: bool) -> None:
        tag = f'"{model.revision - stale}"'
        title = f"draft {model.revision}"
        answer = self.call("PATCH", model, "", {"title": title}, {"If-Match": tag})
        if self.done(model, answer, "draft", stale=stale):
            model.title, model.revision = title, model.revision + 1

    @rule(model=records, stale=st.booleans())
    def lock(self, model: Model, stale: bool) -> None:
        tag = f'"{model.revision - stale}"'
        answer = self.call("POST", model, "/lock", {"acknowledge": "all"}, idempotent(**{"If-Match": tag}))
        if self.done(model, answer, "draft", stale=stale):
            model.registered = 1 + sum(each.registered > 0 for each in self.models)
            model.move("locked")
            model.titles.append(model.title)
            model.ledger.append("plan_locked")

    @rule(model=records, stale=st.booleans())
    def amend(self, model: Model, stale: bool) -> None:
        tag = f'"{model.revision - stale}"'
        title = f"version {model.version + 1}"
        body = {"reason": "r", "changes": {"title": title}, "acknowledge": "all"}
        answer = self.call("POST", model, "/amendments", body, idempotent(**{"If-Match": tag}))
        if self.done(model, answer, "locked", stale=stale):
            model.title, model.version, model.revision = title, model.version + 1, model.revision + 1
            model.titles.append(title)
            model.ledger.append("plan_amended")

    @rule(model=records, arm=ARMS, positions=PICKED, again=st.booleans())
    def submit(self, model: Model, arm: str, positions: set[int], again: bool) -> None:
        ids = [items(N)[each] for each in sorted(positions)]
        more = {"on_duplicate": "skip"} if again else {}
        answer = post(self.service.client, model.id, arm, ids, [1.0] * len(ids), **more)
        had = model.covered()[arm]
        new = positions - had if again else positions
        if again and not new and model.state not in ("draft", "withdrawn"):
            assert (answer.status_code, answer.json()["batch"]) == (201, None), answer.text
            return
        if model.state not in OPEN:
            self.refused(model, answer)
            return
        if new & had:
            assert answer.json()["code"] == "duplicate_results"
            return
        assert answer.status_code == 201, answer.text
        model.batches.append((arm, frozenset(new)))
        model.ledger.append("batch")
        if model.state == "locked":
            model.move("collecting")
        if model.received == CELLS:
            model.move("complete")
        told = {name: answer.json()[name] for name in ("batch", "n", "received", "state")}
        assert told == {
            "batch": len(model.batches),
            "n": len(new),
            "received": model.received,
            "state": model.state,
        }

    @rule(model=records, number=st.integers(1, 4))
    def void(self, model: Model, number: int) -> None:
        answer = self.call("POST", model, f"/batches/{number}/void", {"reason": "r"})
        if model.state != "collecting":
            self.refused(model, answer)
        elif number > len(model.batches):
            assert answer.status_code == 404
        elif number in model.void:
            assert answer.status_code == 409
        else:
            assert answer.status_code == 200, answer.text
            model.void.add(number)
            model.ledger.append("batch_voided")

    @rule(model=records, smaller=st.booleans())
    def deviate(self, model: Model, smaller: bool) -> None:
        change = (
            {"kind": "n", "population": "p", "n": 2, "dropped_favour": "neither"}
            if smaller
            else {"kind": "missing_policy", "missing": "exclude_pair"}
        )
        answer = self.service.client.post(deviations(model.id), json=filing(change))
        if self.done(model, answer, *FILED, status=201):
            model.deviations.append(smaller)
            assert answer.json()["deviation"] == len(model.deviations)
            model.ledger.append("deviation")

    @rule(model=records, number=st.integers(1, 3))
    def close(self, model: Model, number: int) -> None:
        answer = self.call("POST", model, "/close", {"reason": "r", "deviation": number})
        if model.state != "collecting":
            self.refused(model, answer)
        elif number > len(model.deviations) or not model.deviations[number - 1]:
            assert answer.json()["code"] == "deviation_required"
        else:
            assert answer.status_code == 200, answer.text
            model.closed = True
            model.move("complete")
            model.ledger.append("close")

    @rule(model=records)
    def withdraw(self, model: Model) -> None:
        answer = self.call("POST", model, "/withdrawal", {"reason": "r"})
        if self.done(model, answer, *FILED):
            model.before = model.state
            model.move("withdrawn")
            model.ledger.append("withdrawal")

    @rule(model=records, arm=ARMS)
    def bind(self, model: Model, arm: str) -> None:
        name = f"run-{len(model.runs)}"
        answer = self.call("POST", model, "/runs", {"arm": arm, "run": name})
        if self.done(model, answer, *OPEN, status=201):
            model.runs.append(name)
            model.ledger.append("run")
            again = self.call("POST", model, "/runs", {"arm": arm, "run": name})
            assert again.json()["code"] == "run_exists"

    @rule(breaks=st.booleans())
    def work(self, breaks: bool) -> None:
        """The runner does what is queued; where it breaks, verdicts wait to be queued again."""
        self.pool.broken = breaks
        self.service.run_jobs()
        self.pool.broken = False
        for model in self.models:
            if model.state != "complete" or model.failed:
                continue
            if breaks:
                model.failed = True
            else:
                self.judged(model)

    @rule(model=records)
    def retry(self, model: Model) -> None:
        answer = self.call("POST", model, "/verdict", None)
        if self.done(model, answer, "complete", status=202):
            model.failed = False

    def judged(self, model: Model) -> None:
        answer = self.call("GET", model, "/verdict")
        assert answer.status_code == 200, answer.text
        told = answer.json()
        outcome = told["hypotheses"][0]["outcome"]
        assert (outcome == "invalid") == (model.received < CELLS)
        assert [each["code"] for each in told.get("marks", [])] == (["closed_early"] if model.closed else [])
        assert [each["batch"] for each in told["voided_batches"]] == sorted(model.void)
        model.verdict = answer.content
        model.move("judged")
        model.ledger.append("verdict")

    # What must hold

    @invariant()
    def records_are_as_the_model_says(self) -> None:
        for model in self.models:
            answer = self.call("GET", model, "")
            record = answer.json()
            assert answer.headers["ETag"] == f'"{model.revision}"'
            assert (record["state"], record["version"]) == (model.state, model.version)
            assert record["plan"]["title"] == model.title
            assert (record["closed"] is not None) == model.closed
            assert (record["withdrawn"] or {}).get("state") == model.before
            assert (record["complete_at"] is None) == ("complete" not in self.passed(model))
            assert (record["judged_at"] is None) == (model.verdict is None)
            known = sum(each.registered > 0 for each in self.models)
            place = record["family"]
            assert (place and (place["registration"], place["of"])) == (
                (model.registered, known) if model.registered else None
            )

    @invariant()
    def what_is_in_is_what_the_batches_hold(self) -> None:
        with self.service.database.read() as session:
            for model in self.models:
                counts = {each.arm: each.received for each in coverage.read_counts(session, model.id)}
                assert {arm: counts.get(arm, 0) for arm in "AB"} == {
                    arm: len(positions) for arm, positions in model.covered().items()
                }

    @invariant()
    def the_ledger_has_everything_that_happened_in_its_order(self) -> None:
        with self.service.database.read() as session:
            for model in self.models:
                assert [each.kind for each in ledger.read_receipts(session, model.id)] == model.ledger

    @invariant()
    def a_verdict_is_never_hidden_and_never_another(self) -> None:
        for model in self.models:
            answer = self.call("GET", model, "/verdict")
            if model.verdict is not None:
                assert answer.content == model.verdict
                continue
            expected = {"complete": "verdict_failed" if model.failed else "verdict_pending"}
            code = expected.get(model.state, "withdrawn" if model.state == "withdrawn" else "blinded")
            assert (answer.status_code, answer.json()["code"]) == (409, code)
            assert "0.25" not in answer.text

    @invariant()
    def versions_and_runs_are_all_there(self) -> None:
        for model in self.models:
            if model.state == "draft":
                continue
            versions = self.call("GET", model, "/versions").json()["items"]
            assert len(versions) == model.version == len(model.titles)
            for each, title in zip(versions, model.titles, strict=True):
                assert self.call("GET", model, f"/versions/{each['version']}").json()["title"] == title
            found = self.call("GET", model, "/runs").json()["items"]
            assert [each["run"] for each in found] == model.runs[::-1]

    # How it is asked

    def call(
        self, method: str, model: Model, path: str, body: Any = None, headers: dict[str, str] | None = None
    ) -> Any:
        given = {} if body is None else {"json": body}
        where = f"/v1/preregistrations/{model.id}{path}"
        return self.service.client.request(method, where, headers=headers, **given)

    def done(self, model: Model, answer: Any, *states: str, stale: bool = False, status: int = 200) -> bool:
        """Whether it was done: it has to be in these states, and with a tag that is not stale."""
        if model.state not in states:
            self.refused(model, answer)
            return False
        assert answer.status_code == (412 if stale else status), answer.text
        return not stale

    def refused(self, model: Model, answer: Any) -> None:
        """By its state, which the answer names."""
        assert answer.status_code == 409, answer.text
        assert answer.json()["code"] in ("conflict", "already_locked"), answer.text
        assert f"is {model.state}" in answer.json()["detail"]

    @staticmethod
    def passed(model: Model) -> tuple[str, ...]:
        """The states that a record has been in, as far as its times tell."""
        if model.state in ("complete", "judged") or model.before in ("complete", "judged"):
            return ("complete",)
        return ()


def machine(service: Service) -> type[States]:
    """The machine on a service whose runner can be broken."""
    pool = FailingPool()
    service.runner._pool = pool
    return type("Run", (States,), {"service": service, "pool": pool})


def explore(service: Service, examples: int, steps: int) -> None:
    limits = settings(
        max_examples=examples,
        stateful_step_count=steps,
        deadline=None,
        suppress_health_check=list(HealthCheck),
        print_blob=True,
    )
    run_state_machine_as_test(machine(service), settings=limits)  # type: ignore[arg-type]


def test_records_go_where_the_model_says(service: Service) -> None:
    explore(service, examples=5, steps=24)


@pytest.mark.slow
def test_records_go_where_the_model_says_whatever_is_done(service: Service) -> None:
    explore(service, examples=150, steps=50)
