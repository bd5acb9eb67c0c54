from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from threading import Barrier, BrokenBarrierError

import pytest

from service.domain.plans.manifest import Manifest
from service.domain.recent import Recent
from service.store.plans import populations

PLAIN = Manifest.create(("a", "b/c", "日本", "nul \x00", "😀"))
CLUSTERED = Manifest.create(("a", "b", "c"), ("x", "y", "x"), ("1", "1", "2"))


@pytest.fixture
def draft(world):
    with world.database.write() as session:
        return world.draft(session)


@pytest.fixture(autouse=True)
def nothing_cached(monkeypatch):
    monkeypatch.setattr(populations, "_recent", Recent(10))


@pytest.mark.parametrize("manifest", [PLAIN, CLUSTERED])
def test_a_manifest_comes_back_as_it_was(world, draft, manifest, monkeypatch):
    with world.database.write() as session:
        assert populations.put(session, draft.id, "q", manifest) == manifest.facts()
    with world.database.read() as session:
        read = populations.find(session, draft.id, "q")
        again = populations.find(session, draft.id, "q")
        assert populations.read_facts(session, draft.id)["q"] == manifest.facts()
    assert read == manifest
    assert read.sha256() == manifest.sha256()
    assert again is read


def test_a_second_manifest_takes_the_place_of_the_first(world, draft):
    with world.database.write() as session:
        for manifest in (PLAIN, CLUSTERED):
            populations.put(session, draft.id, "p", manifest)
            assert populations.find(session, draft.id, "p") == manifest
        assert populations.read_facts(session, draft.id) == {"p": CLUSTERED.facts()}


def test_what_is_not_there_is_none(world, draft):
    with world.database.read() as session:
        assert populations.find(session, draft.id, "q") is None
        assert populations.read_facts(session, "nobody") == {}


def test_manifests_of_populations_that_left_the_plan_are_removed(world, draft):
    with world.database.write() as session:
        for name in ("q", "r"):
            populations.put(session, draft.id, name, PLAIN)
        populations.remove_others(session, draft.id, {"q", "s"})
        assert list(populations.read_facts(session, draft.id)) == ["q"]
        populations.remove_others(session, draft.id, set())
        assert populations.read_facts(session, draft.id) == {}


def test_the_memory_of_manifests_is_bounded():
    recent = Recent(10)
    manifests = [Manifest.create([f"{number}-{item}" for item in range(4)]) for number in range(4)]
    for manifest in manifests[:2]:
        recent.add(manifest.sha256(), manifest, manifest.n)
    assert recent.get(manifests[0].sha256()) is manifests[0]
    recent.add(manifests[2].sha256(), manifests[2], 4)
    assert recent.get(manifests[1].sha256()) is None
    assert recent.get(manifests[0].sha256()) is manifests[0]
    large = Manifest.create([str(item) for item in range(100)])
    recent.add(large.sha256(), large, large.n)
    assert recent.get(large.sha256()) is large
    assert recent.get(manifests[0].sha256()) is None


def test_eval_jobs_that_start_together_read_a_manifest_once(world, draft, monkeypatch):
    with world.database.write() as session:
        populations.put(session, draft.id, "q", CLUSTERED)
    jobs, at_hand, unpack = 4, populations.find_recent, populations._expand
    missed, unpacked = Barrier(jobs), []

    def asked(sha256):
        found = at_hand(sha256)
        if found is None and not unpacked:
            with suppress(BrokenBarrierError):
                missed.wait()
            missed.abort()  # who asks again does not wait for the others
        return found

    monkeypatch.setattr(populations, "find_recent", asked)
    monkeypatch.setattr(populations, "_expand", lambda content: unpacked.append(1) or unpack(content))

    def read(_job):
        with world.database.read() as session:
            return populations.find(session, draft.id, "q")

    with ThreadPoolExecutor(jobs) as threads:
        found = list(threads.map(read, range(jobs)))
    assert found == [CLUSTERED] * jobs
    assert len(unpacked) == 1
