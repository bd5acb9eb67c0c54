"""`forelock export`, `stamps save` and `stamps check`."""

from __future__ import annotations

import base64
from pathlib import Path

import httpx
import pytest
from cryptography.hazmat.primitives.serialization import Encoding

from forelock.witness import rfc3161
from tests.authority import Authority

EXAMPLES = Path(__file__).parent / "witness" / "ots"
NOTE = "forelock/x\n7\nroot\n\n— forelock/x AAAA\n"
HEADER = (
    "02000000b96394585a281b7e5f438fd1c9ed492645a1fd61cb3802040000000000000000007ee445d23ad061af4a36b809501fab"
    "1ac4f2d7e7a739817dd0cbb7ec661b8a1e376755f58616186272def6"
)


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority.create(tmp_path_factory.mktemp("authority"))


def stamp(**changes: object) -> dict[str, object]:
    return {
        "of": "plan_locked",
        "sequence": 3,
        "kind": "rfc3161",
        "stamp": base64.b64encode(b"stamp").decode(),
        "checkpoint": NOTE,
        "proof": "c2sp.org/tlog-proof@v1\n",
    } | changes


def test_an_export_is_printed_or_saved(service, command, tmp_path):
    for _ in range(2):
        service.answers.append(httpx.Response(200, content=b"version: prml/0.1\n"))
    assert command("export", "p1", "--format", "prml", "--hypothesis", "H1")[:2] == (0, "version: prml/0.1\n")
    assert service.requests[0].url.raw_path == b"/v1/preregistrations/p1/prml?hypothesis=H1"
    saved = tmp_path / "claim.prml.yaml"
    assert command("export", "p1", "--format", "intoto", "--output", str(saved))[:2] == (0, "")
    assert service.requests[1].url.raw_path == b"/v1/preregistrations/p1/lock.intoto.json"
    assert saved.read_bytes() == b"version: prml/0.1\n"


@pytest.mark.parametrize(("name", "file"), [("cff", "citation.cff"), ("bibtex", "citation.bib")])
def test_a_citation_is_printed(service, command, name, file):
    service.answers.append(httpx.Response(200, content=b"cited\n"))
    assert command("export", "p1", "--format", name)[:2] == (0, "cited\n")
    assert service.requests[0].url.raw_path == f"/v1/preregistrations/p1/{file}".encode()


def test_stamps_are_saved_with_what_they_are_of(service, command, tmp_path):
    service.will_answer(200, {"items": [stamp(), stamp(kind="opentimestamps")]})
    directory = tmp_path / "new" / "stamps"
    status, output, _ = command("stamps", "save", "p1", str(directory))
    assert status == 0
    assert len(output.splitlines()) == 6
    assert (directory / "plan_locked-3.rfc3161.tsr").read_bytes() == b"stamp"
    assert (directory / "plan_locked-3.opentimestamps.ots").read_bytes() == b"stamp"
    assert (directory / "plan_locked-3.rfc3161.checkpoint").read_bytes() == NOTE.encode()
    assert (directory / "plan_locked-3.rfc3161.tlog-proof").exists()
    assert not [path for path in directory.iterdir() if path.name.startswith(".")]


def test_no_stamp_yet(service, command, tmp_path):
    service.will_answer(200, {"items": []})
    assert (
        command("stamps", "save", "p1", str(tmp_path / "none"))[1]
        == "no witness has stamped this record yet\n"
    )
    assert not (tmp_path / "none").exists()


@pytest.mark.parametrize(
    "changes", [{"kind": "../x"}, {"sequence": "../x"}, {"stamp": "%"}, {"checkpoint": None}, {"of": 3}]
)
def test_a_service_does_not_choose_file_names(service, command, tmp_path, changes):
    service.will_answer(200, {"items": [stamp(**changes)]})
    assert command("stamps", "save", "p1", str(tmp_path / "stamps"))[0] == 1
    assert not (tmp_path / "stamps").exists()


def test_the_words_of_a_service_stay_in_the_directory(service, command, tmp_path):
    service.will_answer(200, {"items": [stamp(of="../../plan_locked")]})
    assert command("stamps", "save", "p1", str(tmp_path / "stamps"))[0] == 0
    assert {path.parent for path in tmp_path.rglob("*.tsr")} == {tmp_path / "stamps"}


def test_what_was_saved_is_not_taken_away(service, command, tmp_path):
    """Whoever answers later cannot put another checkpoint, or a promise, in the place of what somebody kept."""
    proof = base64.b64encode((EXAMPLES / "hello-world.txt.ots").read_bytes()).decode()
    promise = base64.b64encode((EXAMPLES / "incomplete.txt.ots").read_bytes()).decode()
    kept = [stamp(), stamp(kind="opentimestamps", stamp=proof)]
    service.will_answer(200, {"items": kept})
    assert command("stamps", "save", "p1", str(tmp_path))[0] == 0
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    for later in (
        [stamp(checkpoint=NOTE.replace("7", "8"))],
        [stamp(proof="c2sp.org/tlog-proof@v1\nindex 9\n")],
        [kept[0], stamp(kind="opentimestamps", stamp=promise)],
    ):
        service.will_answer(200, {"items": later})
        status, _, error = command("stamps", "save", "p1", str(tmp_path))
        assert (status, "stays as it is" in error) == (1, True)
    service.will_answer(200, {"items": [stamp(stamp=base64.b64encode(b"another").decode()), kept[1]]})
    assert command("stamps", "save", "p1", str(tmp_path))[0] == 0
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before


def test_checking_a_time_stamp(command, authority, tmp_path):
    note, tsr, roots = tmp_path / "note", tmp_path / "a.tsr", tmp_path / "roots.pem"
    note.write_text(NOTE)
    tsr.write_bytes(authority.answer(rfc3161.make_request(NOTE.encode(), 5)))
    roots.write_bytes(authority.root.public_bytes(Encoding.PEM))
    status, output, _ = command("stamps", "check", str(tsr), "--of", str(note), "--roots", str(roots))
    assert status == 0
    assert "saw these bytes on" in output
    chinese = command("stamps", "check", str(tsr), "--of", str(note), "--roots", str(roots), "--lang", "zh")
    assert "见到这些字节" in chinese[1]
    status, output, _ = command("stamps", "check", str(tsr), "--of", str(note))
    assert status == 1
    assert "was not checked" in output
    chinese = command("stamps", "check", str(tsr), "--of", str(note), "--lang", "zh")
    assert "未核实密钥的归属" in chinese[1]
    note.write_text(NOTE + "x")
    status, _, error = command("stamps", "check", str(tsr), "--of", str(note), "--roots", str(roots))
    assert status == 3
    assert error == "forelock: the time stamp is of other bytes than these\n"
    roots.write_text("nothing")
    assert command("stamps", "check", str(tsr), "--of", str(note), "--roots", str(roots))[0] == 3


def test_checking_a_proof(command, tmp_path):
    header = tmp_path / "header"
    header.write_text(HEADER + "\n")
    proof = [str(EXAMPLES / "hello-world.txt.ots"), "--of", str(EXAMPLES / "hello-world.txt")]
    status, output, _ = command("stamps", "check", *proof, "--bitcoin-header", str(header))
    assert status == 0
    assert "2015-05-28 15:41" in output
    status, output, _ = command("stamps", "check", *proof)
    assert status == 1
    assert "block explorer" in output
    assert "区块浏览器" in command("stamps", "check", *proof, "--lang", "zh")[1]
    chinese = command("stamps", "check", *proof, "--bitcoin-header", str(header), "--lang", "zh")
    assert "2015-05-28 15:41，可能相差两小时" in chinese[1]


def test_a_file_that_is_not_there_is_named(command):
    status, _, error = command("stamps", "check", "/nowhere.tsr", "--of", "/nowhere")
    assert status == 2
    assert "/nowhere.tsr" in error


def test_a_file_of_the_hub_names_its_data_set(service, command):
    service.answers.append(httpx.Response(200, content=b"- dataset:\n"))
    hub = ["export", "p1", "--format", "eval-results"]
    assert command(*hub, "--dataset", "cais/hle", "--task", "default")[0] == 0
    assert service.requests[0].url.params == httpx.QueryParams(dataset="cais/hle", task="default")
    assert service.requests[0].url.path == "/v1/preregistrations/p1/verdict.eval-results.yaml"
    status, _, error = command(*hub, "--dataset", "cais/hle")
    assert (status, "needs --task" in error) == (2, True)
    status, _, error = command("export", "p1", "--format", "otlp", "--model", "m")
    assert (status, "leave it out" in error) == (2, True)
