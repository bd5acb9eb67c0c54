"""Both places of objects do the same: keep whole files by name, give them back, list them, and say what is wrong."""

from __future__ import annotations

import hashlib
import io
import os
import stat
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from service.objects.bucket import bucket_of
from service.objects.directory import Directory
from service.objects.objects import ObjectMissing, Objects, ObjectsAway
from tests.object_storage import BUCKET, ObjectStorage, make_bucket, storing

CONTENT = b"sealed" * 1000
NAME = hashlib.sha256(CONTENT).hexdigest()


@pytest.fixture(scope="module")
def server() -> Iterator[ObjectStorage]:
    with storing() as storage:
        yield storage


@pytest.fixture
def storage(server: ObjectStorage, monkeypatch: pytest.MonkeyPatch) -> ObjectStorage:
    make_bucket(server)
    for name, value in server.environment.items():
        monkeypatch.setenv(name, value)
    return server


@pytest.fixture(params=["directory", "bucket"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Objects:
    if request.param == "directory":
        return Directory(tmp_path / "artefacts")
    request.getfixturevalue("storage")
    return bucket_of(BUCKET, "a/b")


def test_what_was_put_is_read_listed_and_removed(place: Objects) -> None:
    assert list(place.every()) == []
    file = io.BytesIO(CONTENT)
    file.read(10)  # wherever it stands
    place.put(NAME, file)
    place.put(NAME, file)
    assert b"".join(place.read(NAME)) == CONTENT
    (stored,) = place.every()
    assert (stored.name, stored.size) == (NAME, len(CONTENT))
    assert abs(stored.modified_at - datetime.now(UTC)) < timedelta(minutes=5)
    place.remove(NAME)
    place.remove(NAME)
    with pytest.raises(ObjectMissing):
        b"".join(place.read(NAME))
    assert list(place.every()) == []


@pytest.mark.parametrize("name", ["", "../../etc/passwd", NAME.upper(), NAME + "0", NAME[:-1] + "\n"])
def test_names_that_are_none_lead_nowhere(place: Objects, name: str) -> None:
    for act in (
        lambda: place.put(name, io.BytesIO()),
        lambda: list(place.read(name)),
        lambda: place.remove(name),
    ):
        with pytest.raises(ValueError, match="SHA-256"):
            act()


def test_a_directory_is_its_users_alone_and_knows_drafts(tmp_path: Path) -> None:
    place = Directory(tmp_path / "artefacts")
    place.put(NAME, io.BytesIO(CONTENT))
    path = tmp_path / "artefacts" / NAME[:2] / NAME
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) & 0o077 == 0
    killed = path.with_name(".abcd.0.draft")
    killed.write_bytes(b"half")
    (path.parent / "notes.txt").write_bytes(b"a stranger's")
    assert [stored.name for stored in place.every()] == [NAME]
    now = datetime.now(UTC)
    assert place.tidy(now - timedelta(hours=1)) == 0
    os.utime(killed, (0, 0))
    assert place.tidy(now - timedelta(hours=1)) == 1
    assert sorted(left.name for left in path.parent.iterdir()) == sorted([NAME, "notes.txt"])


def test_a_file_that_cannot_be_read_to_its_end_is_not_put(tmp_path: Path) -> None:
    class Broken(io.BytesIO):
        def read(self, size: int | None = -1, /) -> bytes:
            raise OSError("the disk is gone")

    place = Directory(tmp_path / "artefacts")
    with pytest.raises(OSError, match="gone"):
        place.put(NAME, Broken(CONTENT))
    assert list(place.every()) == []
    assert list((tmp_path / "artefacts" / NAME[:2]).iterdir()) == []


def test_folders_of_a_bucket_do_not_see_one_another(storage: ObjectStorage) -> None:
    one, other = bucket_of(BUCKET, "a"), bucket_of(BUCKET, "b")
    one.put(NAME, io.BytesIO(CONTENT))
    assert list(other.every()) == []
    assert set(storage.objects()) == {f"a/{NAME[:2]}/{NAME}"}
    storage.put("a/readme.txt", b"a stranger's")
    storage.put(f"a/zz/{NAME}", b"in another place")
    assert [stored.name for stored in one.every()] == [NAME]


def test_a_large_object_goes_in_parts(storage: ObjectStorage) -> None:
    content = os.urandom(1 << 16) * 180  # more than one part
    name = hashlib.sha256(content).hexdigest()
    place = bucket_of(BUCKET, "a")
    place.put(name, io.BytesIO(content))
    assert hashlib.sha256(b"".join(place.read(name))).hexdigest() == name


def test_a_bucket_that_is_none_or_away_is_one_sentence(
    storage: ObjectStorage, monkeypatch: pytest.MonkeyPatch
) -> None:
    for place, says in (
        (bucket_of("nobodys", "a"), "no bucket nobodys"),
        (_away(monkeypatch), "does not answer"),
    ):
        for act in (lambda at=place: at.put(NAME, io.BytesIO(b"x")), lambda at=place: list(at.every())):
            with pytest.raises(ObjectsAway, match=says) as raised:
                act()
            assert "secret" not in str(raised.value)
            assert len(str(raised.value).splitlines()) == 1


def _away(monkeypatch: pytest.MonkeyPatch) -> Objects:
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:9")
    return bucket_of(BUCKET, "a")
