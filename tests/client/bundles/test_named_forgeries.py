"""Every forgery that has a name is refused, with the server package and without it; what is whole is not."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from forelock.bundles.verifying import Kept, Opened, Recomputed
from service.offline import recomputing

from .forging import LOCK, Forger, closed_early, honest
from .making import SIGNER, checked, failures, status
from .owners import OF_PLAN, OWNERS, REWRITERS
from .strangers import STRANGERS, forged, note


@pytest.fixture(autouse=True, scope="module")
def judged_once() -> Iterator[None]:
    """The same rows judged by the same plan are judged once."""
    real, known = recomputing._judged, {}

    def judge(opened: Opened, recorded: Any) -> str:
        rows = tuple(bytes(batch.block) for batch in opened.batches())
        begun = json.dumps(
            [recorded.get(name) for name in ("marks", "voided_batches", "judged_at", "plan_sha256")]
        )
        key = opened.plan, rows, begun, opened.closed
        if key not in known:
            known[key] = real(opened, recorded)
        return known[key]

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(recomputing, "_judged", judge)
        yield


def read(data: bytes, *, server: bool, kept: bytes | None = None) -> int:
    """The status for somebody who trusts the key, and kept the checkpoint of the lock or another one."""
    recompute = recomputing.recompute if server else None
    return status(
        data, kept=[Kept("kept", kept or note(LOCK + 1))], keys=[SIGNER.verifier], recompute=recompute
    )


@pytest.mark.parametrize("server", [False, True])
@pytest.mark.parametrize("make", [honest, closed_early])
def test_what_is_whole_is_accepted(make: Any, server: bool) -> None:
    assert read(make().bundle(), server=server) in (0, 4, 10, 11, 12)


@pytest.mark.parametrize("name", STRANGERS)
def test_a_stranger_s_forgery_is_refused(name: str) -> None:
    data = forged(name)
    assert [read(data, server=server) for server in (False, True)] == [3, 3]


@pytest.mark.parametrize("name", OWNERS)
def test_a_verdict_that_the_owner_of_the_key_changed_is_refused(name: str) -> None:
    """By whoever kept its checkpoint, or judges again, or, of what is copied from plan and log, by anybody."""
    made = OWNERS[name]()
    data, newest = made.bundle(), note()
    assert read(data, server=True) == 3, failures(checked(data, recompute=recomputing.recompute))
    assert read(data, server=False, kept=newest) == 3
    if name in OF_PLAN:
        assert status(data) == 3


@pytest.mark.parametrize("name", REWRITERS)
def test_what_was_rewritten_is_seen_by_whoever_kept_a_checkpoint_of_the_end(name: str) -> None:
    data, newest = REWRITERS[name]().bundle(), note()
    assert [read(data, server=server, kept=newest) for server in (False, True)] == [3, 3]


def test_there_are_many() -> None:
    assert len({*STRANGERS, *OWNERS, *REWRITERS}) > 120


def test_a_later_release_is_told_where_its_plan_or_marks_are_not_known_here() -> None:
    """Status 5 where nothing else is wrong: a test that is not known, which the plan asks for."""
    made = Forger()
    opened = Opened(
        plan=json.dumps(made.plan).replace('"mcnemar"', '"later"').encode(),
        manifests={},
        verdict=json.dumps({"versions": {"forelock-server": "99.0.0"}}).encode(),
        closed=False,
        batches=lambda: (),
    )
    found: Recomputed = recomputing.recompute(opened)
    assert (found.same, found.explained) == (False, True)
