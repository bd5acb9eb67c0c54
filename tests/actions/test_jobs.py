"""Jobs of statistical tests: one for equal computations, within a project's share."""

from __future__ import annotations

from typing import Any

import pytest

from service.actions.results.results import enqueue
from service.actions.verdicts import jobs as actions
from service.errors import Conflict, TooMany
from service.store.jobs import job_leases, job_work
from service.store.jobs.jobs import Job

from .conftest import MOMENT, World


def ask(world: World, body: bytes, *, quota: Any = (10, 1000), **changes: Any) -> Job:
    asked = actions.Computation(
        **{"kind": "mcnemar", "version": 1, "body": body, "work": lambda: (3, 2.0)} | changes
    )
    about = {"project_id": "project", "keyring": world.keyring, "quota": actions.Quota(*quota)}
    return world.write(actions.enqueue_once, asked, MOMENT, **about)


def test_equal_computations_are_one_job(world: World) -> None:
    first = ask(world, b"one")
    assert first.params == {"version": 1, "blocks": 3, "seconds": 2.0}
    assert world.write(job_work.find_input, first.id) == b"one"

    def unasked() -> tuple[int, float]:
        raise AssertionError("what it takes is known")

    assert ask(world, b"one", work=unasked).id == first.id
    others = {ask(world, b"two").id, ask(world, b"one", version=2).id}
    assert len(others - {first.id}) == 2


def test_the_body_is_told_to_nobody_who_knows_the_subject(world: World) -> None:
    assert b"one".hex() not in str(ask(world, b"one").subject)
    assert "one" not in repr(actions.Computation(kind="k", version=1, body=b"one", work=lambda: (0, 0.0)))


def test_a_project_has_so_many_jobs_and_so_many_bytes(world: World) -> None:
    ask(world, b"12345", quota=(2, 8))
    with pytest.raises(TooMany) as bytes_:
        ask(world, b"1234", quota=(2, 8))
    second = ask(world, b"123", quota=(2, 8))
    with pytest.raises(TooMany) as jobs_:
        ask(world, b"", quota=(2, 8))
    assert (bytes_.value.problem_code, jobs_.value.problem_code) == ("too_many_job_bytes", "too_many_jobs")
    assert ask(world, b"123", quota=(2, 8)).id == second.id, "one that is there takes nothing"


def test_a_job_that_failed_is_no_answer(world: World) -> None:
    failed = ask(world, b"one")

    def fail(session: Any) -> None:
        claimed = job_leases.claim(session, runner="r", lease_seconds=60)
        assert claimed is not None
        job_leases.fail(session, claimed, {"code": "internal_error"})

    world.write(fail)
    assert ask(world, b"one").id != failed.id


def test_a_test_is_called_off_once_and_a_verdict_never(world: World) -> None:
    job = ask(world, b"one")
    world.write(actions.cancel, job)
    with pytest.raises(Conflict, match="already"):
        world.write(actions.cancel, job)
    verdict = world.write(enqueue, world.locked(), "verdict", MOMENT)
    with pytest.raises(Conflict) as refused:
        world.write(actions.cancel, verdict)
    assert refused.value.problem_code == "not_cancellable"
