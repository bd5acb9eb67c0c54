"""Keys of people who sign in by a provider, on both databases."""

from __future__ import annotations

import threading
from datetime import timedelta

import pytest

from service.actions.projects.people import OpenedProject, Person, sign_in
from service.domain.access import Key
from service.domain.deviations.deviation import Person as Reviewer
from service.errors import NotFound
from service.store.projects import ended_sessions, keys

from .conftest import NOW, World

ADA = Person("https://id.example.org", "ada-1", "Ada")


def enter(world: World, person: Person = ADA, **granted: tuple[str, ...]) -> list[OpenedProject]:
    return world.write(
        sign_in, person, granted, ["project", "other"], sign=world.keyring.fingerprint, now=NOW
    )


def test_a_project_is_open_by_a_key_of_the_person(world: World) -> None:
    (opened,) = enter(world, project=("read",))
    key = opened.key
    assert (opened.project, key.project_id, key.name, key.scopes) == ("project", "project", "Ada", ("read",))
    assert world.audited(key.id) == ["key.create"]
    assert enter(world, project=("read",)) == [opened]
    assert "ada" not in key.id


def test_several_projects_are_open_by_keys_that_tell_nothing_of_each_other(world: World) -> None:
    one, two = enter(world, project=("read",), other=("read", "admin"))
    assert one.key.id.partition("-")[2][:32] != two.key.id.partition("-")[2][:32]


def test_what_is_not_granted_any_more_is_ended(world: World) -> None:
    one, two = enter(world, project=("read",), other=("read",))
    assert enter(world, other=("read",)) == [two]
    with world.database.read() as session:
        assert keys.get(session, "project", one.key.id).revoked_at == NOW
        assert keys.get(session, "other", two.key.id).revoked_at is None
    assert world.audited(one.key.id) == ["key.create", "key.revoke"]
    assert enter(world, ADA) == []


def test_keys_of_one_person_never_pass_for_two_people(world: World) -> None:
    """Whoever decides about a deviation may not be whoever filed it, under whatever name they came back."""
    made: list[Key] = []
    for number, scopes in enumerate([("read",), ("read", "admin"), ("read",), ("read", "unblind")]):
        (opened,) = enter(world, Person(ADA.issuer, ADA.subject, f"Ada {number}"), project=scopes)
        made.append(opened.key)
    with world.database.read() as session:
        people = [Reviewer(key.name, key.id, frozenset(keys.find_makers(session, key.id))) for key in made]
    assert len({key.id for key in made}) == 4
    assert all(one.may_be(other) for one in people for other in people)
    (bob,) = enter(world, Person(ADA.issuer, "bob-1", "Bob"), project=("read",))
    assert not Reviewer("Bob", bob.key.id).may_be(people[0])


def test_a_key_that_somebody_revoked_is_followed_by_another(world: World) -> None:
    (first,) = enter(world, project=("read",))
    world.write(keys.revoke, "project", first.key.id, NOW)
    (second,) = enter(world, project=("read",))
    assert (second.key.created_by, second.key.revoked_at) == (first.key.id, None)


def test_two_browsers_at_once_get_one_key(world: World) -> None:
    ids, start = [], threading.Barrier(4)

    def come() -> None:
        start.wait()
        ids.append(enter(world, project=("read",))[0].key.id)

    threads = [threading.Thread(target=come) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(ids) == 4
    assert len(set(ids)) == 1


def test_a_project_that_is_not_there_lets_nobody_in(world: World) -> None:
    with pytest.raises(NotFound, match="nowhere"):
        enter(world, nowhere=("read",))


def test_one_of_many_ends_a_text_that_is_good_once(world: World) -> None:
    ends = NOW + timedelta(minutes=10)
    done, start = [], threading.Barrier(4)

    def end() -> None:
        start.wait()
        done.append(world.write(ended_sessions.end, "text", ends))

    threads = [threading.Thread(target=end) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(done) == [False, False, False, True]
