"""What a terminal shows of a wait, and that nothing else is shown it."""

from __future__ import annotations

import io
import json

from forelock.import_files import OneImport, Packed
from forelock.waiting import Waiting


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def seen(terminal: io.StringIO) -> str:
    """The line as it stands after everything was written."""
    line = ""
    for part in terminal.getvalue().split("\r"):
        line = part + line[len(part) :]
    return line.rstrip()


def test_a_wait_is_one_line_that_goes_away() -> None:
    terminal = Terminal()
    waiting = Waiting(terminal)
    waiting("verdict", None)
    assert seen(terminal) == "waiting for the verdict ..."
    waiting("job", 0.5)
    assert seen(terminal) == f"job [{'#' * 15}{'.' * 15}] 50 %"
    waiting("job", 1.0)
    assert seen(terminal) == ""
    assert "\n" not in terminal.getvalue()
    written = terminal.getvalue()
    waiting.close()
    assert terminal.getvalue() == written


def test_elsewhere_nothing_is_written() -> None:
    stream = io.StringIO()
    waiting = Waiting(stream)
    for share in (None, 0.5, 1.0):
        waiting("job", share)
    waiting.close()
    assert stream.getvalue() == ""


def test_a_client_tells_how_far_its_job_is(service) -> None:
    told: list[tuple[str, float | None]] = []
    service.will_answer(202, {}, Location="/v1/jobs/j1")
    for state, progress in (("queued", None), ("running", 0.25)):
        service.will_answer(200, {"id": "j1", "state": state, "progress": progress})
    service.will_answer(200, {"id": "j1", "state": "succeeded", "progress": 1.0, "result": {"n": 1}})
    with service.client() as client:
        client.on_wait = lambda what, share: told.append((what, share))
        assert client.run("mcnemar", {}) == {"n": 1}
    assert told == [("job", None), ("job", 0.25), ("job", 1.0)]


def test_a_client_tells_that_it_waits_for_a_verdict(service) -> None:
    told: list[tuple[str, float | None]] = []
    service.will_refuse(409, "verdict_pending")
    service.will_answer(200, {"hypotheses": []})
    with service.client() as client:
        client.on_wait = lambda what, share: told.append((what, share))
        client.verdict("p1", wait=True)
    assert told == [("verdict", None), ("verdict", 1.0)]


def test_a_file_tells_how_much_of_it_is_sent_and_begins_again(tmp_path) -> None:
    path = tmp_path / "results.csv"
    path.write_bytes(b"x" * 3_000_000)
    told: list[float] = []
    with Packed(OneImport((path,)), lambda sent, of: told.append(sent / of)) as body:
        for _ in range(2):
            assert sum(map(len, body)) == len(body) == 3_000_000
    half = len(told) // 2
    assert told[:half] == told[half:] == sorted(told[:half])
    assert told[-1] == 1.0


def test_the_answer_on_stdout_holds_nothing_of_the_wait(service, command, monkeypatch) -> None:
    terminal = Terminal()
    monkeypatch.setattr("forelock.commands.common.Waiting", lambda _stream, _say: Waiting(terminal))
    service.will_refuse(409, "verdict_pending")
    service.will_answer(200, {"hypotheses": []})
    _status, output, _errors = command("verdict", "p1", "--wait", "--json")
    assert json.loads(output) == {"hypotheses": []}
    assert "waiting for the verdict" in terminal.getvalue()
    assert seen(terminal) == ""
