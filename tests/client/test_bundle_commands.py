"""`forelock bundle`, `checkpoint` and `verify` on a terminal: exit statuses, files, and hostile input."""

from __future__ import annotations

import io
import json
import zipfile
from pathlib import Path
from typing import Any

import httpx
import pytest

from forelock import Client
from forelock.cli import main
from forelock.commands import bundles
from tests.client.bundles.making import OTHER, SIGNER, World, judged, locked
from tests.rfc6962 import subproof


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "bundle.zip"
    path.write_bytes(judged().bundle())
    return path


@pytest.fixture(autouse=True)
def without_server(monkeypatch: pytest.MonkeyPatch) -> None:
    """As where the client alone is installed."""
    monkeypatch.setattr(bundles, "entry_points", lambda **_: ())


def kept(tmp_path: Path, note: str, name: str = "kept") -> str:
    path = tmp_path / name
    path.write_text(note, encoding="utf-8", newline="\n")
    return str(path)


def test_verify_prints_what_was_checked(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["verify", str(file)]) == 0
    said = capsys.readouterr()
    assert "pass  inclusion: 4 entries" in said.out
    assert "H1: SUPPORTED" in said.out
    assert "not checked  recomputed" in said.out
    assert "No check can show" in said.out
    assert said.err == ""


def test_verify_as_json(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["verify", str(file), "--json", "--key", str(SIGNER.verifier)]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["outcomes"] == {"H1": "supported"}
    assert found["exit_status"] == 0
    assert {each["state"] for each in found["checks"]} == {"pass", "not_checked"}


@pytest.mark.parametrize(
    ("outcome", "status"), [("not_supported", 10), ("equivalent", 11), ("inconclusive", 12)]
)
def test_the_outcome_is_the_exit_status(tmp_path: Path, outcome: str, status: int) -> None:
    path = tmp_path / "bundle.zip"
    path.write_bytes(judged(outcome).bundle())
    assert main(["verify", str(path)]) == status


def test_a_bundle_before_the_verdict_ends_with_1(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "bundle.zip"
    path.write_bytes(locked().bundle())
    assert main(["verify", str(path)]) == 1
    assert "There is no verdict in it" in capsys.readouterr().out


def test_an_unknown_key_fails(file: Path) -> None:
    assert main(["verify", str(file), "--key", str(OTHER.verifier)]) == 3


def test_usage_errors_end_with_2(file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["verify", str(tmp_path / "nothing.zip")]) == 2
    assert main(["verify", str(tmp_path)]) == 2
    assert main(["verify", str(file), "--checkpoint", str(tmp_path / "nothing")]) == 2
    with pytest.raises(SystemExit) as stopped:
        main(["verify", str(file), "--key", "no-key"])
    assert stopped.value.code == 2
    assert "Traceback" not in capsys.readouterr().err


def compressed() -> bytes:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as out:
        out.writestr("bundle.json", bytes(20_000_000))
    return made.getvalue()


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"PK",
        b"no zip" * 100,
        compressed(),
        judged().bundle()[:-1],
        judged().bundle()[100:],
        bytes(100_000),
    ],
    ids=["empty", "short", "text", "compressed", "cut", "beheaded", "noughts"],
)
def test_hostile_files_end_with_3_and_a_sentence(
    tmp_path: Path, data: bytes, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "bundle.zip"
    path.write_bytes(data)
    assert main(["verify", str(path)]) == 3
    said = capsys.readouterr()
    assert "DOES NOT HOLD: 1 of 1 checks failed" in said.out
    assert "Traceback" not in said.out + said.err


def test_kept_checkpoints_are_compared(
    file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    own = kept(tmp_path, judged().note())
    assert main(["verify", str(file), "--checkpoint", own]) == 0
    older = kept(tmp_path, judged().note(5), "older")
    assert main(["verify", str(file), "--checkpoint", own, "--checkpoint", older]) == 3
    assert f"--checkpoint {older}" in " ".join(capsys.readouterr().out.split())


# With a service


class Ledger:
    """A service that answers what a world has."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.asked: list[httpx.Request] = []

    def __call__(self, request: httpx.Request) -> httpx.Response:
        self.asked.append(request)
        query = request.url.params
        if request.url.path == "/v1/ledger/checkpoint":
            return httpx.Response(200, text=self.world.note())
        if request.url.path == "/v1/ledger/consistency":
            hashes = subproof(int(query["from"]), self.world.hashes(int(query["to"])))
            return httpx.Response(200, json={"hashes": [each.hex() for each in hashes]})
        if request.url.path == "/v1/preregistrations/refused/bundle":
            return httpx.Response(409, json={"status": 409, "code": "conflict", "detail": "it is a draft"})
        return httpx.Response(200, content=self.world.bundle())


@pytest.fixture
def ledger(monkeypatch: pytest.MonkeyPatch) -> Ledger:
    service = Ledger(judged())

    def client(url: Any, key: Any) -> Client:
        return Client("http://service.test", "flk_key", transport=httpx.MockTransport(service))

    monkeypatch.setattr("forelock.client.Client", client)
    monkeypatch.setattr(bundles, "Client", client)
    return service


def test_a_bundle_is_downloaded_whole(ledger: Ledger, tmp_path: Path) -> None:
    path = tmp_path / "mine.zip"
    older = kept(tmp_path, judged().note(5))
    assert main(["bundle", "of-a-record", "-o", str(path), "--checkpoint", older]) == 0
    assert path.read_bytes() == judged().bundle()
    assert ledger.asked[0].url.params["checkpoint"] == "5"
    assert main(["verify", str(path)]) == 0


def test_a_refused_bundle_leaves_no_file(ledger: Ledger, tmp_path: Path) -> None:
    path = tmp_path / "mine.zip"
    path.write_bytes(b"the one from before")
    assert main(["bundle", "refused", "-o", str(path)]) == 1
    assert path.read_bytes() == b"the one from before"
    assert [each.name for each in tmp_path.iterdir()] == ["mine.zip"]


def test_proofs_may_be_asked_for(ledger: Ledger, file: Path, tmp_path: Path) -> None:
    older = kept(tmp_path, judged().note(5))
    assert main(["verify", str(file), "--checkpoint", older, "--url", "http://service.test"]) == 0


def test_a_checkpoint_is_kept_and_replaced_by_one_that_goes_on(ledger: Ledger, tmp_path: Path) -> None:
    path = tmp_path / "ledger.checkpoint"
    assert main(["checkpoint", str(path), "--key", str(SIGNER.verifier)]) == 0
    assert path.read_text() == judged().note()
    path.write_text(judged().note(5), newline="\n")
    assert main(["checkpoint", str(path)]) == 0
    assert path.read_text() == judged().note()


def test_a_checkpoint_of_a_rewritten_log_is_not_kept(ledger: Ledger, tmp_path: Path) -> None:
    path = tmp_path / "ledger.checkpoint"
    honest = judged()
    path.write_text(honest.note(5), newline="\n")
    ledger.world.leaves[1] = ledger.world.leaves[1].replace(b"other-1", b"other-2")
    assert main(["checkpoint", str(path)]) == 1
    assert main(["checkpoint", str(tmp_path / "new"), "--key", str(OTHER.verifier)]) == 1
    assert path.read_text() == honest.note(5)
    assert [each.name for each in tmp_path.iterdir()] == ["ledger.checkpoint"]


def test_a_shorter_log_than_the_kept_one_is_not_kept(ledger: Ledger, tmp_path: Path) -> None:
    longer = judged()
    longer.log("plan_locked", {"preregistration_id": "another"}, own=False)
    path = tmp_path / "ledger.checkpoint"
    path.write_text(longer.note(), newline="\n")
    assert main(["checkpoint", str(path)]) == 1
    assert path.read_text() == longer.note()
