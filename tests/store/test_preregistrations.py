from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from threading import Barrier

import pytest
import sqlalchemy as sa

from service.domain.plans.findings import error, warning
from service.domain.plans.manifest import Manifest
from service.errors import Conflict, ForelockError, InvalidData, NotFound, PreconditionFailed, Unavailable
from service.store.database import integrity
from service.store.database.tables import plans as plans_table
from service.store.plans import plan_keys, plans, populations, preregistrations, record_lists
from tests import records as made


def test_a_draft_comes_back_as_it_was(world):
    with world.database.write() as session:
        draft = world.draft(session, title="naïve 日本語")
    with world.database.read() as session:
        assert preregistrations.get(session, "project", draft.id) == draft


def test_a_locked_record_comes_back_as_it_was(world):
    with world.database.write() as session:
        draft = world.draft(session)
        plan = draft.plan.with_items(populations.read_facts(session, draft.id))
        locked = made.locked(
            session,
            draft,
            findings=(warning("FEW_CLUSTERS", "populations[0]", "few"), error("X", "", "y")),
            acknowledged=("FEW_CLUSTERS",),
            plan_public_key=b"public",
            wrapped_private_key=b"wrapped",
            now=world.now,
        )
        world.leaf(session, locked, "plan_locked", version=1, plan_sha256=plan.sha256())
    with world.database.read() as session:
        assert preregistrations.get(session, "project", draft.id) == locked
        assert plans.read_canonical(session, draft.id) == (plan.canonical_text(), plan.sha256())
        assert plan_keys.read_public(session, draft.id) == b"public"
        newest = plan_keys.find_newest(session)
        assert newest == plan_keys.WrappedKey(draft.id, plan.sha256(), b"wrapped")
    assert locked.revision == draft.revision + 1
    assert locked.plan.populations[0].items_sha256 == Manifest.create(("a", "b", "c", "d")).sha256()


def test_a_database_that_is_away_or_an_odd_id_alters_no_record(world, monkeypatch):
    def away(*_):
        raise Unavailable("away")

    with world.database.write() as session:
        record = world.locked(session)
        with pytest.raises(InvalidData):
            preregistrations.get(session, "project", "\ud800")
        monkeypatch.setattr(session, "execute", away)
        with pytest.raises(Unavailable):
            preregistrations.get(session, "project", record.id)
    with world.database.read() as session:
        assert integrity.read_standing(session) == []


def test_the_record_walks_through_its_states(world):
    with world.database.write() as session:
        judged = world.judged(session)
    with world.database.read() as session:
        assert preregistrations.get(session, "project", judged.id) == judged
    assert judged.complete_at == world.now + timedelta(hours=2)
    assert judged.judged_at == world.now + timedelta(hours=3)
    with world.database.write() as session:
        withdrawn = preregistrations.move(session, judged, "withdrawn", world.now)
    assert withdrawn.judged_at == judged.judged_at


def test_a_move_that_is_not_listed_is_refused(world):
    with world.database.write() as session:
        locked = world.locked(session)
        with pytest.raises(Conflict, match="may move to"):
            preregistrations.move(session, locked, "judged", world.now)


def test_a_stale_record_is_not_moved(world):
    with world.database.write() as session:
        locked = world.locked(session)
        preregistrations.move(session, locked, "collecting", world.now)
        with pytest.raises(Conflict):
            preregistrations.move(session, locked, "collecting", world.now)


def test_a_draft_is_edited_on_its_present_revision_only(world):
    with world.database.write() as session:
        draft = world.draft(session)
        edited = preregistrations.replace_draft(session, draft, world.plan("Second"))
        assert edited.revision == 2
        assert edited.etag != draft.etag
        for act in (
            lambda: preregistrations.replace_draft(session, draft, world.plan("Third")),
            lambda: preregistrations.delete_draft(session, draft),
            lambda: world.lock(session, draft),
        ):
            with pytest.raises(PreconditionFailed):
                act()
        assert preregistrations.get(session, "project", draft.id) == edited


def test_a_locked_record_is_neither_edited_deleted_nor_locked(world):
    with world.database.write() as session:
        draft = world.draft(session)
        locked = world.lock(session, draft)
        for record in (draft, locked):
            for act in (
                lambda record=record: preregistrations.replace_draft(session, record, world.plan("Third")),
                lambda record=record: preregistrations.delete_draft(session, record),
                lambda record=record: world.lock(session, record),
            ):
                with pytest.raises(Conflict) as refusal:
                    act()
                assert refusal.value.problem_code == "already_locked"
        assert preregistrations.get(session, "project", draft.id) == locked


def test_a_lock_sees_that_items_changed_after_lint(world):
    with world.database.write() as session:
        draft = world.draft(session)
        linted = draft.plan.with_items(populations.read_facts(session, draft.id))
        populations.put(session, draft.id, "p", Manifest.create(("d", "c", "b", "a")))
        with pytest.raises(PreconditionFailed, match="items"):
            preregistrations.lock(
                session,
                draft,
                plan=linted,
                canonical_text=linted.canonical_text(),
                sha256=linted.sha256(),
                findings=(),
                acknowledged=(),
                plan_public_key=b"",
                wrapped_private_key=b"",
                now=world.now,
            )


def test_a_deleted_draft_is_gone_with_its_items(world):
    with world.database.write() as session:
        draft = world.draft(session)
        preregistrations.delete_draft(session, draft)
        assert populations.read_facts(session, draft.id) == {}
        with pytest.raises(NotFound):
            preregistrations.get(session, "project", draft.id)


def test_another_projects_record_is_not_found(world):
    with world.database.write() as session:
        foreign = world.draft(session, project_id="other")
        taken = foreign.model_copy(update={"project_id": "project"})
        for act in (
            lambda: preregistrations.get(session, "project", foreign.id),
            lambda: preregistrations.get(session, "project", foreign.id, for_update=True),
            lambda: preregistrations.replace_draft(session, taken, world.plan("Mine")),
            lambda: preregistrations.delete_draft(session, taken),
            lambda: world.lock(session, taken),
        ):
            with pytest.raises(NotFound):
                act()
        assert record_lists.read_page(session, "project")[0] == []
        assert preregistrations.get(session, "other", foreign.id) == foreign


def test_pages_are_filtered_by_state(world):
    with world.database.write() as session:
        draft, locked = world.draft(session), world.locked(session)
        for state, wanted in (("draft", [draft.id]), ("locked", [locked.id]), ("judged", [])):
            assert [each.id for each in record_lists.read_page(session, "project", state=state)[0]] == wanted


def together(threads, act):
    """What `act(number)` returned or raised in each of the threads, started at once."""
    barrier = Barrier(threads)

    def run(number):
        barrier.wait()
        try:
            return act(number)
        except ForelockError as error:
            return error

    with ThreadPoolExecutor(threads) as pool:
        return list(pool.map(run, range(threads)))


def test_of_many_locks_at_once_exactly_one_wins(world):
    with world.database.write() as session:
        draft = world.draft(session)

    def lock(_number):
        with world.database.write() as session:
            return world.lock(session, draft)

    outcomes = together(16, lock)
    won = [each for each in outcomes if not isinstance(each, ForelockError)]
    lost = [each for each in outcomes if isinstance(each, ForelockError)]
    assert len(won) == 1
    assert {each.problem_code for each in lost} == {"already_locked"}
    with world.database.read() as session:
        assert preregistrations.get(session, "project", draft.id) == won[0]
        assert session.scalar(sa.select(sa.func.count()).select_from(plans_table)) == 1


def test_a_lock_and_an_edit_at_once_do_not_mix(world):
    with world.database.write() as session:
        draft = world.draft(session)

    def act(number):
        with world.database.write() as session:
            if number % 2:
                return world.lock(session, draft)
            return preregistrations.replace_draft(session, draft, world.plan(f"Edit {number}"))

    outcomes = together(8, act)
    won = [each for each in outcomes if not isinstance(each, ForelockError)]
    assert len(won) == 1
    with world.database.read() as session:
        assert preregistrations.get(session, "project", draft.id) == won[0]


def test_items_put_while_the_plan_is_locked_are_in_it_or_refused(world):
    with world.database.write() as session:
        draft = world.draft(session)
    manifests = [Manifest.create(tuple("abcd"[number:] + "abcd"[:number])) for number in range(4)]

    def act(number):
        with world.database.write() as session:
            record = preregistrations.get(session, "project", draft.id, for_update=True)
            record.require("draft")
            if number == 5:
                return world.lock(session, record)
            return populations.put(session, draft.id, "p", manifests[number % 4])

    together(8, act)
    with world.database.read() as session:
        locked = preregistrations.get(session, "project", draft.id)
        stored = populations.find(session, draft.id, "p")
    assert locked.state == "locked"
    assert locked.plan.populations[0].items_sha256 == stored.sha256()


def test_who_waited_for_a_lock_reads_what_it_locked(world):
    """The plan is joined to the head: read before the wait, it would be missing."""
    with world.database.write() as session:
        draft = world.draft(session)

    def wait_and_read():
        with world.database.write() as session:
            return preregistrations.get(session, "project", draft.id, for_update=True)

    with ThreadPoolExecutor(1) as pool:
        with world.database.write() as session:
            locked = world.lock(session, draft)
            waiting = pool.submit(wait_and_read)
            while world.database.dialect == "postgresql" and not somebody_waits(world.database):
                pass
        assert waiting.result(30) == locked


def somebody_waits(database):
    with database.read() as session:
        return session.scalar(sa.text("SELECT count(*) FROM pg_locks WHERE NOT granted")) > 0
