"""A disk without room: writes are refused as that, reads and health go on, and it gets well by itself."""

from __future__ import annotations

import io
import tempfile
import zipfile
from collections.abc import Callable, Iterator

import psycopg
import pytest
import sqlalchemy as sa
from sqlalchemy import event

from service.api.http.requests import uploads
from service.errors import ReadOnly, StorageFull
from service.ingest.documents import limits
from service.ingest.documents.archive import Archive
from service.keyring.keyring import Keyring
from service.operation.starting import CannotStart, require_opens
from service.store.database.engine import translate

from .conftest import Service
from .plans import items, locked, post, small_plan

N = 8
ON_SQLITE = pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)


@pytest.fixture
def room(service: Service) -> Iterator[Callable[[bool], None]]:
    """Take the disk's room away, or give it back: SQLite may then have no page more than it has."""
    engine = service.database.engine
    full = False

    def limit(connection: sa.Connection) -> None:
        pages = connection.exec_driver_sql("PRAGMA page_count").scalar() if full else 1_073_741_823
        connection.exec_driver_sql(f"PRAGMA max_page_count = {pages}")

    def set_room(there: bool) -> None:
        nonlocal full
        full = not there

    event.listen(engine, "begin", limit)
    yield set_room
    event.remove(engine, "begin", limit)


@ON_SQLITE
def test_a_full_disk_is_507_and_passes_by_itself(service: Service, room: Callable[[bool], None]) -> None:
    prereg_id = locked(service.client, small_plan(2000))
    room(False)
    ids = items(2000)
    refused = post(service.client, prereg_id, "A", ids, [1] * 2000)
    assert (refused.status_code, refused.json()["code"]) == (507, "storage_full")
    plan = small_plan(10, title="x" * 100)
    plan["hypotheses"][0]["statement"] = "at least 2 pp. " * 100
    created = [service.client.post("/v1/preregistrations", json=plan).status_code for _ in range(20)]
    assert set(created) <= {201, 507}
    assert created[-1] == 507
    assert service.client.get("/health/live").status_code == 200
    ready = service.client.get("/health/ready")
    assert (ready.status_code, "disk full" in ready.json()["detail"]) == (503, True)
    assert service.client.get(f"/v1/preregistrations/{prereg_id}/progress").json()["received"] == 0
    room(True)
    assert post(service.client, prereg_id, "A", ids, [1] * 2000).status_code == 201
    assert service.client.get("/health/ready").status_code == 200


@ON_SQLITE
def test_a_database_that_takes_no_writes_is_503_and_not_ready(service: Service) -> None:
    engine = service.database.engine

    def forbid(connection: sa.Connection) -> None:
        connection.exec_driver_sql("PRAGMA query_only = 1")

    def allow(connection: sa.Connection) -> None:
        connection.exec_driver_sql("PRAGMA query_only = 0")

    event.listen(engine, "begin", forbid)
    refused = service.client.post("/v1/preregistrations", json=small_plan(N))
    assert (refused.status_code, refused.json()["code"]) == (503, "unavailable")
    assert "takes no writes" in refused.json()["detail"]
    ready = service.client.get("/health/ready")
    assert (ready.status_code, "read-only" in ready.json()["detail"]) == (503, True)
    assert service.client.get("/v1/preregistrations").status_code == 200
    event.remove(engine, "begin", forbid)
    event.listen(engine, "begin", allow)
    assert service.client.post("/v1/preregistrations", json=small_plan(N)).status_code == 201
    assert service.client.get("/health/ready").status_code == 200
    event.remove(engine, "begin", allow)


def full_file(*_: object, **__: object) -> io.BufferedWriter:
    return io.BufferedWriter(io.FileIO("/dev/full", "w"))


@ON_SQLITE
@pytest.mark.parametrize("size", [40, 3_000_000])
def test_a_file_that_finds_no_room_is_507(
    service: Service, monkeypatch: pytest.MonkeyPatch, size: int
) -> None:
    monkeypatch.setattr(uploads, "_open_file", full_file)
    body = b"item_id,value\n" + b"q,1\n" * (size // 4)
    headers = {"Content-Type": "text/csv"}
    refused = service.client.post("/v1/imports/check?format=csv", content=body, headers=headers)
    assert (refused.status_code, refused.json()["code"]) == (507, "storage_full")


def test_a_member_that_finds_no_room_is_not_a_damaged_archive(monkeypatch: pytest.MonkeyPatch) -> None:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_STORED) as archive:
        archive.writestr("large.json", b"0" * (limits.IN_MEMORY + 1))
    monkeypatch.setattr(tempfile, "TemporaryFile", full_file)
    with pytest.raises(StorageFull):
        Archive(packed).read("large.json")


def test_postgres_says_it_in_its_own_way() -> None:
    assert isinstance(translate(psycopg.errors.DiskFull("no space left"), lost=False), StorageFull)
    assert isinstance(translate(psycopg.errors.ReadOnlySqlTransaction("standby"), lost=False), ReadOnly)


def test_keys_of_another_deployment_are_told(
    service: Service, tmp_path_factory: pytest.TempPathFactory
) -> None:
    other = Keyring.create(tmp_path_factory.mktemp("other") / "keys")
    require_opens(other, service.database)  # nothing is locked: nothing can fail to open
    prereg_id = locked(service.client, small_plan(N))
    with pytest.raises(CannotStart, match=f"does not open preregistration {prereg_id}"):
        require_opens(other, service.database)
    require_opens(service.keyring, service.database)
