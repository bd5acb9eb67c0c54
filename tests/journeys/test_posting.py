"""Batches that wait are stored together: each as if it had come alone, and none disturbs another."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from threading import Event
from typing import Any

import pytest
import sqlalchemy as sa
from starlette.testclient import TestClient

from service.actions.results import group_commit
from service.app import create_app
from service.domain.ledger import Frontier, leaf_hash
from service.errors import Unavailable
from service.store.database import idempotency
from service.store.database.engine import Database
from service.store.database.tables import batches, ledger_entries, preregistrations
from service.store.database.tables import idempotency as kept_answers
from service.store.database.tables import jobs as jobs_table
from service.store.ledger import ledger
from service.store.results import posting_state
from tests.journeys.sequential import order
from tests.journeys.sequential import plan as plan_with_looks
from tests.journeys.views import seen

from .conftest import Service
from .plans import draft, items, locked, post, small_plan

N = 8
ON_POSTGRES = pytest.mark.parametrize("database_url", ["postgres"], indirect=True)
Call = Callable[[], Any]


class Gathering:
    """Makes posts wait for one another, so that they are stored as one group in the order they are given."""

    def __init__(self, service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
        self.service = service
        self.sizes: list[int] = []
        self.gathered = 0
        self._stuck, self._go = Event(), Event()
        self._refused = draft(service.client, small_plan(1))
        """A draft takes no results: what is posted to it is refused in its turn, and leaves no trace."""
        self._threads = ThreadPoolExecutor(32)
        whole = group_commit.store

        def store(database: Database, posts: Any, render: Any, *, wait: bool) -> Any:
            if not self._stuck.is_set():
                self._stuck.set()
                self._go.wait()
            else:
                self.sizes.append(len(posts))
            return whole(database, posts, render, wait=wait)

        monkeypatch.setattr(group_commit, "store", store)

    def begin(self, *calls: Call) -> list[Future[Any]]:
        """Let posts wait, in this order, behind one that is stuck."""
        self._stuck.clear()
        self._go.clear()
        self.sizes.clear()
        self._threads.submit(lambda: post(self.service.client, self._refused, "A", items(1), [1]))
        self._stuck.wait()
        answers: list[Future[Any]] = []
        for call in calls:
            answers.append(self._threads.submit(call))
            while self.waiting() < sum(not answer.done() for answer in answers):  # some need not wait
                time.sleep(0.001)
        self.gathered = self.waiting()
        return answers

    def end(self, answers: list[Future[Any]]) -> list[Any]:
        """Let go, and wait for the answers."""
        self._go.set()
        return [answer.result() for answer in answers]

    def __call__(self, *calls: Call) -> list[Any]:
        answers = self.end(self.begin(*calls))
        assert self.sizes[0] == self.gathered, "they were one group"
        return answers

    def waiting(self) -> int:
        lane = self.service.app.state.services.posting._common
        return sum(map(len, lane.waiting.values()))

    def close(self) -> None:
        self._go.set()
        self._threads.shutdown()


@pytest.fixture
def together(service: Service, monkeypatch: pytest.MonkeyPatch) -> Iterator[Gathering]:
    gathering = Gathering(service, monkeypatch)
    yield gathering
    gathering.close()


def batch(service: Service, prereg_id: str, arm: str, ids: list[str], **more: Any) -> Call:
    return lambda: post(service.client, prereg_id, arm, ids, [1] * len(ids), **more)


def count(service: Service, table: sa.Table) -> int:
    with service.database.read() as session:
        return session.scalar(sa.select(sa.func.count()).select_from(table)) or 0


def received(service: Service, prereg_id: str) -> int:
    return service.client.get(f"/v1/preregistrations/{prereg_id}/progress").json()["received"]


def test_a_refused_batch_in_the_middle_disturbs_nobody(service: Service, together: Gathering) -> None:
    prereg_id = locked(service.client, small_plan(N))
    ids = items(N)
    first, overlap, unknown, last = together(
        batch(service, prereg_id, "A", ids[:4]),
        batch(service, prereg_id, "A", ids[3:6]),
        batch(service, prereg_id, "A", ["nobody"]),
        batch(service, prereg_id, "A", ids[4:]),
    )
    assert [each.status_code for each in (first, overlap, unknown, last)] == [201, 409, 422, 201]
    assert [each.json()["batch"] for each in (first, last)] == [1, 2]
    assert [each.json()["received"] for each in (first, last)] == [4, 8]
    assert seen(overlap)[1].decode() == (
        '{"type":"urn:forelock:problem:duplicate_results","title":"The record\'s state does not allow this",'
        '"status":409,"detail":"1 of the items already have a result: \'item-3\'","code":"duplicate_results",'
        '"errors":[{"path":"item_id","message":"already has a result",'
        '"fix":"post every item once; void a wrong batch first"}]}'
    )
    assert seen(unknown) == seen(batch(service, prereg_id, "A", ["nobody"])()), "as alone"
    assert received(service, prereg_id) == N


def test_of_two_batches_that_claim_a_cell_the_first_wins(service: Service, together: Gathering) -> None:
    prereg_id = locked(service.client, small_plan(N))
    same = batch(service, prereg_id, "A", items(N)[:3])
    won, lost = together(same, same)
    assert (won.status_code, lost.status_code) == (201, 409)
    assert seen(lost) == seen(same()), "the answer that it gets when the first is stored already"
    assert received(service, prereg_id) == 3


def test_a_refused_batch_of_several_replicates_leaves_none_of_its_cells(
    service: Service, together: Gathering
) -> None:
    endpoints = [
        {"id": "accuracy", "kind": "binary", "role": "primary", "replicates": 2, "collapse": "first"}
    ]
    prereg_id = locked(service.client, small_plan(N, endpoints=endpoints))
    one, both = items(1), items(1) * 2
    first, half_free, rest = together(
        batch(service, prereg_id, "A", one, replicates=[2]),
        batch(service, prereg_id, "A", both, replicates=[1, 2]),
        batch(service, prereg_id, "A", one, replicates=[1]),
    )
    assert [each.status_code for each in (first, half_free, rest)] == [201, 409, 201]


def test_one_key_twice_in_a_group_is_stored_once(service: Service, together: Gathering) -> None:
    prereg_id = locked(service.client, small_plan(N))
    same = batch(service, prereg_id, "A", items(3), key="k")
    first, again = together(same, same)
    assert (first.status_code, first.content) == (again.status_code, again.content)
    assert "idempotency-replayed" not in first.headers
    assert seen(again) == seen(same()), "as a retry that comes later"
    assert again.headers["idempotency-replayed"] == "true"
    assert count(service, batches) == count(service, kept_answers) - 1 == 1, "the lock has its own answer"


def test_a_key_that_is_used_for_another_batch_is_refused(service: Service, together: Gathering) -> None:
    prereg_id = locked(service.client, small_plan(N))
    other = batch(service, prereg_id, "A", items(N)[4:], key="k")
    taken, reused = together(batch(service, prereg_id, "A", items(4), key="k"), other)
    assert (taken.status_code, reused.json()["code"]) == (201, "idempotency_key_reused")
    assert seen(reused) == seen(other())


def test_the_key_of_a_refused_batch_is_free_for_the_next(service: Service, together: Gathering) -> None:
    prereg_id = locked(service.client, small_plan(N))
    refused, taken = together(
        batch(service, prereg_id, "A", ["nobody"], key="k"), batch(service, prereg_id, "A", items(4), key="k")
    )
    assert (refused.status_code, taken.status_code) == (422, 201)


def test_a_plan_is_completed_within_a_group_once(service: Service, together: Gathering) -> None:
    prereg_id = locked(service.client, small_plan(N))
    late = batch(service, prereg_id, "A", items(1))
    answers = together(
        batch(service, prereg_id, "A", items(N)), batch(service, prereg_id, "B", items(N)), late, late
    )
    assert [each.status_code for each in answers] == [201, 201, 409, 409]
    assert [each.json()["state"] for each in answers[:2]] == ["collecting", "complete"]
    assert [seen(each) for each in answers[2:]] == [seen(late())] * 2, "refused for its state, as later"
    with service.database.read() as session:
        queued = session.execute(sa.select(jobs_table.c.kind, jobs_table.c.subject)).all()
    assert queued == [("verdict", prereg_id)]
    assert service.run_jobs() == 1
    assert service.client.get(f"/v1/preregistrations/{prereg_id}/verdict").status_code == 200


def test_a_plan_with_looks_has_a_lane_of_its_own_and_its_look_is_queued_once(
    service: Service, together: Gathering
) -> None:
    prereg_id, other = locked(service.client, plan_with_looks()), locked(service.client, small_plan(N))
    ids = order(service, prereg_id)
    waiting = together.begin(batch(service, other, "A", items(1)))
    posts = [batch(service, prereg_id, arm, ids[at : at + 10]) for at in (0, 10) for arm in "AB"]
    with ThreadPoolExecutor(4) as pool:
        assert {each.status_code for each in pool.map(lambda post: post(), posts)} == {201}
    assert not waiting[0].done()
    together.end(waiting)
    with service.database.read() as session:
        assert session.execute(sa.select(jobs_table.c.kind, jobs_table.c.subject)).all() == [
            ("look", f"{prereg_id}#1")
        ]


def test_a_group_of_several_projects_tells_none_of_another(service: Service, together: Gathering) -> None:
    ours, second = (locked(service.client, small_plan(n)) for n in (N, N + 1))
    other = {"Authorization": f"Bearer {service.key(project_id=service.project('other'))}"}
    with TestClient(service.app, headers=other) as stranger:
        theirs = locked(stranger, small_plan(N + 2))

        def foreign() -> Any:
            return post(stranger, ours, "A", items(2), [1, 1])

        answers = together(
            batch(service, ours, "A", items(2)),
            lambda: post(stranger, theirs, "A", items(3), [1] * 3),
            foreign,
            batch(service, second, "A", items(4)),
            batch(service, ours, "A", items(3)[2:]),
        )
        assert [each.status_code for each in answers] == [201, 201, 404, 201, 201]
        told = [
            (each.json()["batch"], each.json()["received"]) for each in answers if each.status_code == 201
        ]
        assert told == [(1, 2), (1, 3), (1, 4), (2, 3)]
        assert [each.json()["expected"] for each in answers if each.status_code == 201] == [16, 20, 18, 16]
        assert seen(answers[2]) == seen(foreign())
        assert str(N) not in answers[2].json()["detail"].replace(ours, "")


def test_nothing_is_summed_of_a_record_that_the_caller_cannot_see(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It would take longer than for one that nobody has."""
    ask, summed = posting_state.ask, []

    def watched(questions: Any, ids: Any) -> Any:
        summed.append(set(ids))
        return ask(questions, ids)

    monkeypatch.setattr(posting_state, "ask", watched)
    ours = locked(service.client, small_plan(N))
    other = {"Authorization": f"Bearer {service.key(project_id=service.project('other'))}"}
    with TestClient(service.app, headers=other) as stranger:
        assert post(stranger, ours, "A", items(1), [1]).status_code == 404
    assert batch(service, ours, "A", items(1))().status_code == 201
    assert batch(service, ours, "A", ["nobody"])().status_code == 422
    assert summed == [{ours}, set()]


def test_leaves_stand_in_the_order_of_the_batches_and_every_receipt_is_its_leaf(
    service: Service, together: Gathering
) -> None:
    prereg_id = locked(service.client, small_plan(N))
    answers = together(*(batch(service, prereg_id, "A", items(N)[at : at + 1]) for at in range(N)))
    receipts = [each.json()["receipt"] for each in answers]
    with service.database.read() as session:
        leaves = session.execute(
            sa.select(ledger_entries.c.sequence, ledger_entries.c.leaf).order_by(ledger_entries.c.sequence)
        ).all()
        head = ledger.read_head(session)
        public = service.client.get(f"/v1/preregistrations/{prereg_id}/batches").json()["items"]
    known = {sequence: leaf_hash(leaf.encode()) for sequence, leaf in leaves}
    assert [each["sequence"] for each in receipts] == list(range(1, N + 1))
    assert [each["leaf_sha256"] for each in receipts] == [known[at].hex() for at in range(1, N + 1)]
    log = Frontier()
    for sequence in range(len(known)):
        log = log.append(known[sequence])
    assert head == log
    assert [each["batch"] for each in public] == list(range(N, 0, -1))
    assert len({each["commitment_sha256"] for each in public}) == N, "each has a salt of its own"


def test_answers_are_the_same_together_and_alone(service: Service, together: Gathering) -> None:
    """But for the ledger's numbers and hashes."""
    ids = items(N)
    cuts = [ids[:3], ids[2:4], ids[3:5], ids[5:]]

    def told(answer: Any) -> Any:
        body = answer.json()
        body.pop("receipt", None)
        return answer.status_code, body, sorted(answer.headers)

    one, other = (locked(service.client, small_plan(N)) for _ in range(2))
    grouped = together(*(batch(service, one, "A", cut) for cut in cuts))
    alone = [batch(service, other, "A", cut)() for cut in cuts]
    assert [told(each) for each in grouped] == [told(each) for each in alone]
    assert [len(each.content) for each in grouped] == [len(each.content) for each in alone]
    assert service.client.get(f"/v1/preregistrations/{one}").headers["ETag"] == '"3"', "moved once"


def test_a_group_that_fails_leaves_nothing_and_is_tried_one_by_one(
    service: Service, together: Gathering, monkeypatch: pytest.MonkeyPatch
) -> None:
    prereg_id = locked(service.client, small_plan(N))
    keep = idempotency.keep

    def fail(session: Any, answers: Any, now: Any) -> None:
        keep(session, answers, now)
        if len(answers) > 1 or answers[0][0].idempotency_key == "bad":
            raise RuntimeError("canary")

    monkeypatch.setattr(idempotency, "keep", fail)
    good, bad, last = together(
        batch(service, prereg_id, "A", items(N)[:1]),
        batch(service, prereg_id, "A", items(N)[1:2], key="bad"),
        batch(service, prereg_id, "A", items(N)[2:3]),
    )
    assert together.sizes == [3, 1, 1, 1]
    assert [each.status_code for each in (good, bad, last)] == [201, 500, 201]
    assert "canary" not in bad.text
    assert [each.json()["batch"] for each in (good, last)] == [1, 2]
    assert (received(service, prereg_id), count(service, batches)) == (2, 2)
    with service.database.read() as session:
        assert ledger.read_head(session).size == count(service, ledger_entries) == 3, (
            "the lock, and two batches"
        )


def test_a_database_that_is_away_is_said_to_everybody_at_once(
    service: Service, together: Gathering, monkeypatch: pytest.MonkeyPatch
) -> None:
    prereg_id = locked(service.client, small_plan(N))

    def busy(*_arguments: Any) -> None:
        raise Unavailable("the database is busy")

    with monkeypatch.context() as away:
        away.setattr(idempotency, "keep", busy)
        answers = together(*(batch(service, prereg_id, "A", [name], key=name) for name in items(3)))
    assert together.sizes == [3], "nobody is tried again: it would wait as long once more"
    assert {(each.status_code, each.json()["code"]) for each in answers} == {(503, "unavailable")}
    assert count(service, batches) == 0
    assert batch(service, prereg_id, "A", items(1), key=items(1)[0])().status_code == 201


def test_what_waits_at_the_end_is_stored(service: Service, together: Gathering) -> None:
    prereg_id = locked(service.client, small_plan(N))
    waiting = together.begin(*(batch(service, prereg_id, "A", [name]) for name in items(5)))
    with ThreadPoolExecutor(1) as other:
        closing = other.submit(service.app.state.services.posting.close)
        answers = together.end(waiting)
        closing.result()
    assert [each.status_code for each in answers] == [201] * 5
    assert received(service, prereg_id) == 5


def test_a_batch_whose_caller_is_gone_before_its_turn_is_not_stored(
    service: Service, together: Gathering
) -> None:
    prereg_id = locked(service.client, small_plan(N))
    stays, goes = items(2)
    waiting = together.begin(*(batch(service, prereg_id, "A", [name]) for name in (stays, goes)))
    (queue,) = service.app.state.services.posting._common.waiting.values()
    assert queue[1].answered.cancel()
    assert together.end(waiting[:1])[0].status_code == 201
    assert together.sizes == [1]
    assert received(service, prereg_id) == 1


@ON_POSTGRES
def test_a_record_that_is_held_elsewhere_holds_up_its_own_batches_alone(
    service: Service, together: Gathering
) -> None:
    held, free = (locked(service.client, small_plan(N)) for _ in range(2))
    with service.database.write() as session:
        session.execute(
            sa.select(preregistrations.c.id).where(preregistrations.c.id == held).with_for_update()
        )
        waiting = together.begin(
            batch(service, held, "A", items(1)),
            batch(service, free, "A", items(1)),
            batch(service, held, "A", items(2)[1:]),
        )
        assert together.end(waiting[1:2])[0].status_code == 201
        assert batch(service, free, "B", items(1))().status_code == 201, "and those that come later"
        assert not waiting[0].done()
    assert [waiting[at].result().json()["received"] for at in (0, 2)] == [1, 2]


def test_a_large_batch_has_a_lane_of_its_own(
    service: Service, together: Gathering, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(group_commit, "LARGE_BYTES", 1500)
    prereg_id = locked(service.client, small_plan(N))
    waiting = together.begin(batch(service, prereg_id, "A", items(1)))
    assert batch(service, prereg_id, "B", items(N))().status_code == 201, "it does not wait in the common one"
    assert together.end(waiting)[0].json()["received"] == N + 1


def test_processes_on_one_database_lose_and_double_nothing(service: Service, database_url: str) -> None:
    n = 120
    prereg_id = locked(service.client, small_plan(n))
    others = [Database(database_url) for _ in range(2)]
    clients = [
        TestClient(create_app(service.settings, database, service.keyring), headers=service.client.headers)
        for database in others
    ]
    ids = items(n)
    cuts = [ids[at : at + 5] for at in range(0, n - 2, 3)]
    with clients[0], clients[1], ThreadPoolExecutor(12) as pool:
        answers = list(
            pool.map(
                lambda at: post(clients[at % 2], prereg_id, "A", cuts[at], [1] * len(cuts[at])),
                range(len(cuts)),
            )
        )
    taken = [name for cut, each in zip(cuts, answers, strict=True) if each.status_code == 201 for name in cut]
    assert {each.status_code for each in answers} <= {201, 409}
    assert len(taken) == len(set(taken)) == received(service, prereg_id)
    numbers = sorted(each.json()["batch"] for each in answers if each.status_code == 201)
    assert numbers == list(range(1, len(numbers) + 1))
    for database in others:
        database.dispose()
