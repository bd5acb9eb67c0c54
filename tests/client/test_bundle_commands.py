"""`forelock bundle`, `checkpoint` and `verify` on a terminal: exit statuses, files, and hostile input."""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import pytest

from forelock import Client
from forelock.cli import main
from forelock.commands import bundles
from forelock.transparency.handovers import Handover
from forelock.transparency.notes import Signer, sign
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
    monkeypatch.setattr(bundles, "offers", lambda _group: ())


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
        self.note: str | None = None
        """A checkpoint other than the world's newest."""
        self.signers: list[dict[str, Any]] = [{"vkey": str(world.signer.verifier), "handover": None}]

    def __call__(self, request: httpx.Request) -> httpx.Response:
        self.asked.append(request)
        query = request.url.params
        if request.url.path == "/v1/ledger/checkpoint":
            return httpx.Response(200, text=self.note or self.world.note())
        if request.url.path == "/.well-known/forelock-keys.json":
            return httpx.Response(200, json={"vkey": self.signers[-1]["vkey"], "signers": self.signers})
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


def test_where_the_key_of_a_first_checkpoint_is_from_is_told(
    ledger: Ledger, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["checkpoint", str(tmp_path / "first")]) == 0
    said = capsys.readouterr().err
    assert "the service itself named the key" in said
    assert str(SIGNER.verifier) in said
    assert main(["checkpoint", str(tmp_path / "second"), "--key", str(SIGNER.verifier)]) == 0
    assert capsys.readouterr().err == ""


STRANGE = Signer("log.example/2", OTHER.private)


def handover(before: Signer, after: Signer, size: int, **resumption: Any) -> dict[str, Any]:
    said = Handover(before.verifier, after.verifier, size=size, root=bytes(32), **resumption)
    return {"vkey": str(after.verifier), "handover": said.sign(before, after)}


def by_another_key(ledger: Ledger) -> None:
    ledger.world.signer = OTHER
    ledger.signers = [{"vkey": str(OTHER.verifier), "handover": None}]


def of_another_origin(ledger: Ledger) -> None:
    ledger.world.signer = STRANGE
    ledger.signers = [{"vkey": str(STRANGE.verifier), "handover": None}]


def by_a_key_that_nothing_leads_to(ledger: Ledger) -> None:
    """Named behind the one that is trusted, and signed by itself alone."""
    ledger.world.signer = OTHER
    said = Handover(SIGNER.verifier, OTHER.verifier, size=3, root=bytes(32))
    ledger.signers.append({"vkey": str(OTHER.verifier), "handover": sign(said.text, OTHER)})


def by_a_key_before(ledger: Ledger) -> None:
    """A stranger's key that claims to have been replaced by the one that is trusted."""
    ledger.world.signer = OTHER
    said = Handover(OTHER.verifier, SIGNER.verifier, size=3, root=bytes(32))
    ledger.signers = [
        {"vkey": str(OTHER.verifier), "handover": None},
        {"vkey": str(SIGNER.verifier), "handover": sign(said.text, OTHER)},
    ]


def under_a_borrowed_name(ledger: Ledger) -> None:
    """The kept log's name over a signature of another one's."""
    ledger.world.signer = STRANGE
    ledger.note = ledger.world.note(origin=SIGNER.name)
    ledger.signers = [{"vkey": str(STRANGE.verifier), "handover": None}]


def by_nobody(ledger: Ledger) -> None:
    whole = ledger.world.note()
    stranger = World(leaves=ledger.world.leaves, signer=OTHER).note()
    ledger.note = whole.split("\n\n")[0] + "\n\n" + stranger.split("\n\n")[1]


def with_a_false_signature(ledger: Ledger) -> None:
    text, signature = ledger.world.note().split("\n\n")
    ledger.note = text + "\n\n" + ledger.world.note(3).split("\n\n")[1]
    assert ledger.note != f"{text}\n\n{signature}"


@pytest.mark.parametrize(
    "stranger",
    [
        by_another_key, of_another_origin, by_a_key_that_nothing_leads_to, by_a_key_before,
        under_a_borrowed_name, by_nobody, with_a_false_signature,
    ],
)  # fmt: skip
@pytest.mark.parametrize("size", [5, 9])
@pytest.mark.parametrize("named", [False, True])
def test_a_kept_checkpoint_is_not_replaced_by_a_stranger(
    ledger: Ledger,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    stranger: Callable[[Ledger], None],
    size: int,
    named: bool,
) -> None:
    """Also where the log of the stranger goes on from the one that was kept, or is the very same."""
    assert len(ledger.world.leaves) in (9, 10)
    kept_note = judged().note(size)
    path = Path(kept(tmp_path, kept_note))
    stranger(ledger)
    options = ["--key", str(ledger.world.signer.verifier)] if named else []
    assert main(["checkpoint", str(path), *options]) == 1
    assert path.read_text() == kept_note
    said = capsys.readouterr()
    assert "was not kept" in said.err
    assert "stays as it is" in said.err
    assert said.out == ""


def test_a_kept_checkpoint_follows_handovers(ledger: Ledger, tmp_path: Path) -> None:
    path = Path(kept(tmp_path, judged().note(5)))
    ledger.world.signer = OTHER
    ledger.signers.append(handover(SIGNER, OTHER, 6))
    assert main(["checkpoint", str(path), "--key", str(SIGNER.verifier)]) == 0
    assert path.read_text() == ledger.world.note()
    ledger.world.signer = STRANGE
    ledger.signers.append(handover(OTHER, STRANGE, 8, reason="disk lost", lost=None))
    path.write_text(World(ledger.world.leaves, signer=OTHER).note(8), newline="\n")
    assert main(["checkpoint", str(path)]) == 0
    assert path.read_text() == ledger.world.note()


def test_a_checkpoint_of_what_was_given_up_is_not_replaced(
    ledger: Ledger, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = Path(kept(tmp_path, judged().note(7)))
    ledger.world.signer = STRANGE
    ledger.signers.append(handover(SIGNER, STRANGE, 6, reason="disk lost", lost=None))
    assert main(["checkpoint", str(path)]) == 1
    assert path.read_text() == judged().note(7)
    assert "were given up: disk lost" in capsys.readouterr().err


def test_names_of_logs_are_fit_for_a_terminal(
    ledger: Ledger, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    ledger.world.signer = Signer("log\x9b31m\u202e\x7f", OTHER.private)
    ledger.signers = [{"vkey": str(ledger.world.signer.verifier), "handover": None}]
    assert main(["checkpoint", str(tmp_path / "kept")]) == 0
    assert main(["checkpoint", str(tmp_path / "kept"), "--json"]) == 0
    said = capsys.readouterr()
    assert not {"\x9b", "\u202e", "\x7f"} & set(said.out + said.err)


@pytest.mark.parametrize(
    "signers", [[], [{}], [{"vkey": 7}], [7], [{"vkey": "x"}, {"vkey": "y"}], [{"vkey": "no-key"}]]
)
def test_keys_that_are_none_end_in_a_sentence(ledger: Ledger, tmp_path: Path, signers: list[Any]) -> None:
    ledger.signers = signers
    ledger_answer = {"vkey": "x", "signers": signers}
    whole = Ledger.__call__

    def answer(self: Ledger, request: httpx.Request) -> httpx.Response:
        if request.url.path.startswith("/.well-known"):
            return httpx.Response(200, json=ledger_answer)
        return whole(self, request)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Ledger, "__call__", answer)
        assert main(["checkpoint", str(tmp_path / "kept")]) == 1
    assert not (tmp_path / "kept").exists()


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
