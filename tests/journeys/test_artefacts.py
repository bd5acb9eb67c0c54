"""Files of imports: kept sealed, known to nobody before the verdict, then given back byte for byte or not at all."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from forelock.cli import main
from service.actions.results import artefacts
from service.app import create_app
from service.config import Settings
from service.domain.results.sealed_files import LEAST
from service.keyring.keyring import Keyring
from service.objects.objects import ObjectsAway
from service.operation import objects
from service.operation.starting import CannotStart
from service.store.database.backups import BackupFailed
from service.store.database.import_tables import artefacts as table
from tests.journeys.imported import send
from tests.object_storage import BUCKET, ObjectStorage, make_bucket, storing

from .channels import masked, stored
from .conftest import Service, only_sqlite
from .plans import draft, locked, small_plan

pytestmark = pytest.mark.any_database
N = 8
NEEDLE = "a word of an answer"


def file(*values: int, more: str = "") -> bytes:
    lines = [f"item-{at},{value},{more}" for at, value in enumerate(values)]
    return "\n".join(["item_id,value,answer", *lines]).encode()


ONE, OTHER = file(*[1] * N, more=NEEDLE), file(*[0, 1] * (N // 2), more=NEEDLE)


def plan(service: Service) -> str:
    return locked(service.client, small_plan(N) | {"import": {"format": "csv"}})


def path(prereg_id: str, number: int | str = "") -> str:
    return f"/v1/preregistrations/{prereg_id}/artefacts" + (f"/{number}" if number else "")


def imported(service: Service, prereg_id: str, arms: str = "AB") -> None:
    for arm, content in zip(arms, (ONE, OTHER), strict=False):
        answer = send(service, prereg_id, content, arm=arm)
        assert answer.status_code == 201, answer.text


def judged(service: Service) -> str:
    prereg_id = plan(service)
    imported(service, prereg_id)
    service.run_jobs()
    return prereg_id


def on_disk(service: Service) -> list[Path]:
    return sorted(each for each in (service.settings.data_dir / "artefacts").rglob("*") if each.is_file())


def rows(service: Service, prereg_id: str) -> list[dict[str, Any]]:
    return [row for row in stored(service, "artefacts") if row["preregistration_id"] == prereg_id]


def test_after_the_verdict_the_very_file_is_given_back(service: Service) -> None:
    prereg_id = judged(service)
    second, first = service.client.get(path(prereg_id)).json()["items"]
    assert (first["number"], first["kept"], first["size"]) == (1, True, len(ONE))
    assert (second["number"], second["sha256"]) == (2, hashlib.sha256(OTHER).hexdigest())
    for number, content in ((1, ONE), (2, OTHER)):
        answer = service.client.get(path(prereg_id, number))
        assert (answer.status_code, answer.content) == (200, content)
        assert answer.headers["cache-control"] == "no-store"
    assert service.client.get(path(prereg_id, 3)).status_code == 404
    assert service.client.get(path(prereg_id, "one")).status_code == 404


def test_before_the_verdict_nothing_is_known_whether_or_not_there_is_any(service: Service) -> None:
    empty, half = plan(service), plan(service)
    imported(service, half, "A")
    answers = set()
    for prereg_id in (empty, half):
        for number in ("", 1, 2):
            answer = service.client.get(path(prereg_id, number))
            assert (answer.status_code, answer.json()["code"]) == (409, "blinded")
            answers.add(masked(answer, prereg_id))
    assert len(answers) == 1
    reason = {"reason": "An emergency."}
    assert service.client.post(f"/v1/preregistrations/{half}/unblinding", json=reason).status_code == 201
    service.run_jobs()
    # rows were opened, and files were not
    assert service.client.get(path(half, 1)).json()["code"] == "blinded"
    assert service.client.get(path(draft(service.client, small_plan()))).status_code == 409


def test_what_lies_there_tells_no_outcome(service: Service) -> None:
    lengths, names = set(), set()
    for content in (ONE, OTHER, file(*[1] * N, more=NEEDLE * 300)):
        prereg_id = plan(service)
        assert send(service, prereg_id, content, arm="A").status_code == 201
        (row,) = rows(service, prereg_id)
        lengths.add(row["stored_bytes"])
        names.add(row["object_sha256"])
        assert hashlib.sha256(content).hexdigest() not in str(row)
    kept = on_disk(service)
    assert (len(lengths), {each.stat().st_size for each in kept}) == (1, lengths)
    assert {each.name for each in kept} == names
    for each in kept:
        whole = each.read_bytes()
        assert not re.search(rb"item-|value|a word", whole)
        assert hashlib.sha256(whole).hexdigest() == each.name


def test_nobody_else_reads_them(service: Service) -> None:
    prereg_id = judged(service)
    others = service.key(project_id=service.project("others"))
    writer = service.key("results:write")
    for key, status in ((others, 404), (writer, 403), ("nobody", 401)):
        for number in ("", 1):
            answer = service.client.get(path(prereg_id, number), headers={"Authorization": f"Bearer {key}"})
            assert answer.status_code == status
    shared = f"/v1/preregistrations/{prereg_id}/visibility"
    assert service.client.put(shared, json={"visibility": "public"}).status_code in (200, 404)
    assert service.client.get(path(prereg_id), headers={"Authorization": ""}).status_code == 401


def test_an_erasure_closes_them_for_good(service: Service) -> None:
    prereg_id = judged(service)
    erased = service.client.post(
        f"/v1/preregistrations/{prereg_id}/erasure", json={"reason": "Personal data."}
    )
    assert erased.status_code == 201, erased.text
    for number in ("", 1):
        assert service.client.get(path(prereg_id, number)).json()["code"] == "erased"
    assert all(NEEDLE.encode() not in each.read_bytes() for each in on_disk(service))


def test_missing_altered_and_swapped_files_are_clear_problems(service: Service) -> None:
    prereg_id = judged(service)
    by_number = {row["number"]: row["object_sha256"] for row in rows(service, prereg_id)}
    places = {
        number: service.settings.data_dir / "artefacts" / name[:2] / name
        for number, name in by_number.items()
    }
    whole = {number: place.read_bytes() for number, place in places.items()}

    def answer(number: int) -> tuple[int, str]:
        problem = service.client.get(path(prereg_id, number))
        return problem.status_code, problem.json()["code"]

    for content in (b"", whole[1][:-1], whole[1] + b"x", whole[1][:500] + b"?" + whole[1][501:], whole[2]):
        places[1].write_bytes(content)
        assert answer(1) == (410, "artefact_altered")
    places[1].unlink()
    assert answer(1) == (410, "artefact_missing")
    standing = objects.compare(_at(service), read=True, remove=False)
    assert [row.number for row in standing.missing] == [1]
    # both of one record, each sealed to its plan: the import itself says which file it was
    places[1].write_bytes(whole[1])
    _rename(service, prereg_id, {1: by_number[2], 2: by_number[1]})
    assert answer(1) == answer(2) == (410, "artefact_altered")


def _rename(service: Service, prereg_id: str, names: dict[int, str]) -> None:
    with service.database.write() as session:
        for number, name in (*((n, f"{n}" * 64) for n in names), *names.items()):
            where = (table.c.preregistration_id == prereg_id) & (table.c.number == number)
            session.execute(table.update().where(where).values(object_sha256=name))


def _at(service: Service, **more: Any) -> Settings:
    url = service.database.url.render_as_string(hide_password=False)
    return service.settings.model_copy(update={"database_url": url} | more)


def test_an_import_that_comes_to_nothing_leaves_no_file(service: Service) -> None:
    prereg_id = plan(service)
    assert send(service, prereg_id, ONE, arm="A", key="once").status_code == 201
    assert service.app.state.services.keeping.scratch.stat().st_mode & 0o077 == 0  # of nobody else
    before = on_disk(service)
    assert len(before) == 1
    assert send(service, prereg_id, ONE, arm="A", key="once").status_code == 201  # the same answer again
    assert send(service, prereg_id, ONE, arm="A").status_code == 409
    skipped = send(service, prereg_id, ONE, arm="A", on_duplicate="skip")
    assert (skipped.status_code, skipped.json()["number"]) == (201, None)
    assert send(service, prereg_id, b"item_id,value\nnobody,1\n", arm="B").status_code == 422
    assert on_disk(service) == before


def test_where_files_cannot_be_put_nothing_is_stored(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    prereg_id = plan(service)

    def away(*_: object) -> None:
        raise ObjectsAway("bucket evidence does not answer as one does")

    with monkeypatch.context() as context:
        context.setattr("service.objects.directory.Directory.put", away)
        refused = send(service, prereg_id, ONE, arm="A", key="again")
    assert (refused.status_code, refused.json()["code"]) == (503, "artefacts_away")
    assert "evidence" not in refused.text
    assert refused.headers["retry-after"]
    assert stored(service, "imports") == stored(service, "artefacts") == []
    assert send(service, prereg_id, ONE, arm="A", key="again").status_code == 201


def test_a_file_without_a_row_is_found_and_removed(
    service: Service, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    """Killed between the file and the row."""
    prereg_id = plan(service)

    def killed(*_: object) -> None:
        raise RuntimeError

    with monkeypatch.context() as context:
        context.setattr(artefacts, "keep", killed)
        context.setattr(artefacts, "take_back", lambda *_: None)
        assert send(service, prereg_id, ONE, arm="A").status_code == 500
    (orphan,) = on_disk(service)
    # it may be an import's that goes on
    assert objects.compare(_at(service), read=False, remove=True).orphans == []
    monkeypatch.setattr(objects, "GRACE", -objects.GRACE)
    standing = objects.compare(_at(service), read=False, remove=False)
    assert standing.orphans == [orphan.name]
    assert send(service, prereg_id, ONE, arm="A").status_code == 201
    monkeypatch.setenv("FORELOCK_ARTEFACTS", "directory")
    monkeypatch.setenv("FORELOCK_DATABASE_URL", service.database.url.render_as_string(hide_password=False))
    assert main(["objects", "--read", "--remove", "--data", str(service.settings.data_dir)]) == 0
    assert "1 files that no import names: removed" in capsys.readouterr().out
    assert [each.name for each in on_disk(service)] == [
        row["object_sha256"] for row in rows(service, prereg_id)
    ]


@pytest.mark.parametrize("limit", ["artefact_bytes", "project_artefact_bytes"])
def test_what_is_too_much_is_imported_and_not_kept(service: Service, limit: str) -> None:
    object.__setattr__(
        service.app.state.services.keeping, {"artefact_bytes": "most_bytes"}.get(limit, "project_bytes"), 100
    )
    prereg_id = judged(service)
    assert on_disk(service) == []
    assert [line["kept"] for line in service.client.get(path(prereg_id)).json()["items"]] == [False, False]
    refused = service.client.get(path(prereg_id, 1))
    assert (refused.status_code, refused.json()["code"]) == (410, "artefact_missing")


def test_files_whose_time_is_over_are_forgotten(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    prereg_id = judged(service)
    keeping = service.app.state.services.keeping
    assert artefacts.forget_old(service.database, keeping) == 0
    monkeypatch.setattr(artefacts, "FORGOTTEN_AT_ONCE", 1)
    object.__setattr__(keeping, "days", 1e-9)
    assert artefacts.forget_old(service.database, keeping) == 2
    assert (on_disk(service), rows(service, prereg_id)) == ([], [])
    assert service.client.get(path(prereg_id, 1)).json()["code"] == "artefact_missing"


def test_the_command_lists_and_fetches(
    service: Service, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    prereg_id = judged(service)
    monkeypatch.setattr(
        "forelock.client.Client.artefacts",
        lambda _self, of: iter(service.client.get(path(of)).json()["items"]),
    )

    def artefact(_self: object, of: str, number: int, target: Any) -> int:
        return int(target.write(service.client.get(path(of, number)).content))

    monkeypatch.setattr("forelock.client.Client.artefact", artefact)
    monkeypatch.setenv("FORELOCK_URL", "http://127.0.0.1:9")
    monkeypatch.setenv("FORELOCK_API_KEY", "k")
    assert main(["artefacts", prereg_id]) == 0
    assert hashlib.sha256(ONE).hexdigest() in capsys.readouterr().out
    target = tmp_path / "baseline.csv"
    assert main(["artefacts", prereg_id, "--fetch", "1", "-o", str(target)]) == 0
    assert target.read_bytes() == ONE
    monkeypatch.setattr("forelock.client.Client.artefact", lambda *args: int(args[-1].write(b"another")))
    assert main(["artefacts", prereg_id, "--fetch", "2", "-o", str(tmp_path / "b")]) == 1
    assert not (tmp_path / "b").exists()
    assert main(["artefacts", prereg_id, "-o", "x"]) == 2


def test_copies_are_made_and_put_back(service: Service, tmp_path_factory: pytest.TempPathFactory) -> None:
    prereg_id = judged(service)
    copies = tmp_path_factory.mktemp("copies")
    assert objects.back_up(_at(service), copies)[0].endswith("(2 files, 2 of them new)")
    assert objects.back_up(_at(service), copies)[0].endswith("(2 files, 0 of them new)")
    lost, _ = on_disk(service)
    lost.unlink()
    with pytest.raises(BackupFailed, match="1 kept files are missing"):
        objects.back_up(_at(service), tmp_path_factory.mktemp("late"))
    assert objects.restore(_at(service), copies) == ["artefacts   2 files are there, 1 of them put back"]
    assert service.client.get(path(prereg_id, 1)).content == ONE
    lost.unlink()
    with pytest.raises(BackupFailed, match="lacks 1 files"):
        objects.restore(_at(service), tmp_path_factory.mktemp("empty"))
    with pytest.raises(BackupFailed, match="no directory"):
        objects.restore(_at(service), copies / "none")


@pytest.fixture(scope="module")
def server() -> Iterator[ObjectStorage]:
    with storing() as storage:
        yield storage


def test_in_a_bucket_it_is_the_same(
    service: Service, server: ObjectStorage, monkeypatch: pytest.MonkeyPatch, caplog: Any
) -> None:
    make_bucket(server)
    for name, value in server.environment.items():
        monkeypatch.setenv(name, value)
    settings = _at(service, artefacts=f"s3://{BUCKET}/forelock")
    app = create_app(settings, service.database, Keyring.load(settings.data_dir / "keys"))
    client = TestClient(app, headers=dict(service.client.headers), raise_server_exceptions=False)
    monkeypatch.setattr(service, "client", client)
    prereg_id = judged(service)
    assert client.get(path(prereg_id, 1)).content == ONE
    names = {row["object_sha256"] for row in rows(service, prereg_id)}
    kept = server.objects()
    assert {each.rpartition("/")[2] for each in kept} == names
    assert all(each.startswith("forelock/") for each in kept)
    assert {len(content) for content in kept.values()} == {
        row["stored_bytes"] for row in rows(service, prereg_id)
    }
    assert not any(NEEDLE.encode() in content for content in kept.values())
    assert on_disk(service) == []
    standing = objects.compare(settings, read=True, remove=True)
    assert (standing.named, standing.missing, standing.altered, standing.orphans) == (2, [], [], [])
    one = next(iter(kept))
    server.put(one, b"x" * 70_000)
    assert len(objects.compare(settings, read=False, remove=False).altered) == 1
    server.remove(one)
    statuses = sorted(
        (answer.status_code, answer.json()["code"]) if answer.status_code != 200 else (200, "")
        for answer in (client.get(path(prereg_id, n)) for n in (1, 2))
    )
    assert statuses == [(200, ""), (410, "artefact_missing")]
    assert "a secret" not in caplog.text
    assert kept[one][:8] == b"forelock"


@only_sqlite
def test_what_does_not_fit_is_refused_at_the_start(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    keyring = service.keyring
    assert objects.keeping_of(_at(service, artefacts="off"), keyring) is None
    monkeypatch.setattr(objects, "find_spec", lambda _name: None)
    with pytest.raises(CannotStart, match=r"forelock-server\[s3\]"):
        objects.keeping_of(_at(service, artefacts=f"s3://{BUCKET}"), keyring)
    with pytest.raises(CannotStart, match="is off"):
        objects.compare(_at(service, artefacts="off"), read=False, remove=False)


@pytest.mark.parametrize(
    "setting", ["", "on", "S3://x", "s3://", "s3://x", "s3://bucket/a//b", "s3://bucket?x", "gs://bucket/a"]
)
def test_places_that_are_none_are_no_setting(setting: str) -> None:
    if setting:
        with pytest.raises(ValueError, match="artefacts"):
            Settings(artefacts=setting)
    assert Settings(artefacts="s3://bucket/a/b/").artefacts


def test_a_small_file_takes_as_much_as_the_page_says() -> None:
    assert LEAST == 64 * 1024
