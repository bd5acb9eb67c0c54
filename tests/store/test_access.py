from __future__ import annotations

from datetime import timedelta

import pytest

from service.domain.access import Key, new_secret, secret_sha256
from service.errors import Conflict, NotFound
from service.store.projects import keys, projects


def more_keys(session, world, count, project_id="project"):
    made = []
    for number in range(count):
        secret = new_secret(bytes([number]) * 32 if project_id == "project" else bytes([number, 1] * 16))
        key = world.key.model_copy(
            update={"id": f"{project_id}-{number}", "project_id": project_id, "prefix": secret[:12]}
        )
        made.append(keys.insert(session, key, secret_sha256(secret)))
    return made


def test_a_key_comes_back_by_its_secret(world):
    with world.database.read() as session:
        assert keys.find_by_secret(session, secret_sha256(world.secret)) == world.key
        assert keys.find_by_secret(session, secret_sha256(new_secret(bytes(32)))) is None


def test_every_field_of_a_key_is_kept(world):
    whole = Key(
        id="whole",
        project_id="project",
        name="CI",
        kind="job",
        scopes=("results:write", "read"),
        prefix="flk_abc",
        created_at=world.now,
        expires_at=world.now + timedelta(days=1),
        revoked_at=world.now + timedelta(hours=1),
        last_used_at=world.now + timedelta(minutes=1),
    )
    with world.database.write() as session:
        keys.insert(session, whole, "hash")
    with world.database.read() as session:
        assert keys.get(session, "project", "whole") == whole


def test_a_revoked_key_keeps_its_first_time(world):
    later = world.now + timedelta(days=1)
    with world.database.write() as session:
        revoked = keys.revoke(session, "project", "key", world.now)
        assert not revoked.valid(world.now)
        assert keys.revoke(session, "project", "key", later) == revoked


def test_last_use_is_written_once_a_minute(world):
    times = [world.now + timedelta(seconds=seconds) for seconds in (0, 59, 60, 61, 120)]
    with world.database.write() as session:
        assert [keys.touch(session, "key", moment) for moment in times] == [True, False, True, False, True]
        assert keys.get(session, "project", "key").last_used_at == times[-1]


def test_another_projects_keys_are_not_found(world):
    with world.database.write() as session:
        more_keys(session, world, 1, "other")
        for action in (keys.get, lambda *where: keys.revoke(*where, world.now)):
            with pytest.raises(NotFound):
                action(session, "project", "other-0")
        assert keys.get(session, "other", "other-0").revoked_at is None
        assert [key.id for key in keys.read_page(session, "project")[0]] == ["key"]


def test_a_projects_name_is_its_own(world):
    with world.database.write() as session:
        with pytest.raises(Conflict) as conflict:
            projects.create(session, world.project.model_copy(update={"id": "third"}))
        assert conflict.value.problem_code == "name_taken"
        assert len(projects.read_page(session)[0]) == 2


def test_an_unknown_project_is_not_found(world):
    with world.database.read() as session, pytest.raises(NotFound):
        projects.get(session, "nowhere")


def test_pages_hold_every_key_once(world):
    with world.database.write() as session:
        more_keys(session, world, 11)
    seen, cursor = [], None
    with world.database.read() as session:
        while True:
            found, cursor = keys.read_page(session, "project", cursor=cursor, limit=5)
            seen += [key.id for key in found]
            if cursor is None:
                break
    assert len(seen) == len(set(seen)) == 12
    assert seen == sorted(seen, reverse=True)
