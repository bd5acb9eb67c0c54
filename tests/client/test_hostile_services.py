"""Services that answer what none answers: every command ends with a sentence, a status, and an unharmed terminal."""

from __future__ import annotations

import argparse
import gzip
import json
import socket
import sys
import threading
import time
import tracemalloc
import unicodedata
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import Any

import httpx
import pytest

from forelock import Client, cli, incoming
from forelock.mlflow_runs import fetch_run
from forelock.problem import FileFault, ForelockError, ForelockProblem, Unreachable
from forelock.trackers.fetching import fetch_experiment

ROOT = Path(__file__).parents[2]
ESCAPES = "\x1b[31m\x9b2J\x07\x7f\u202e\u2028\ntext"
STATUSES = {0, 1, 2, 4, 10, 11, 12}

COMMANDS = """
tests | tests mcnemar | run mcnemar {request} | rank {rows} | gate {base} {cand} | noise {rows}
resolve --pilot {pilot} | audit -a 0.6 -b 0.7 -n 100
plan create {plan} | plan edit x {plan} | plan lint x | plan power x | plan lock x --acknowledge all | plan show x
plan list | plan delete x | plan from {rows} | lock x | report x | submit x {rows} --endpoint e | progress x | batches x
void x 1 --reason no | amend x {plan} --reason no | close x --reason no --deviation 1 | withdraw x --reason no
family x | verdict x | verdict x --wait --timeout 1 | wait x --timeout 1 | verdicts
unblind x --reason no --yes | erase x --reason no --yes
deviations x | looks x | looks x --take | run-token x --arm a | multiverse x | calibrate x --timeout 1
bundle x -o {out}/b.zip | receipts x | checkpoint {out}/kept | export x --format prml | stamps save x {out}/stamps
badge x | webhooks create http://x | webhooks list | webhooks rotate x | webhooks delete x
webhooks ping x | webhooks deliveries x | webhooks redeliver x y | mlflow set http://x | mlflow show | mlflow forget
mlflow link x r | mlflow unlink x r | mlflow runs x
links set x n http://x | links list x | links delete x n | keys create n --scope read | keys list | keys revoke x
log | runs x | import x {rows} | spool send | spool status
"""


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    folder = tmp_path_factory.mktemp("files")
    rows = "item_id,arm,value\n" + "".join(f"q{k},{arm},{k % 2}\n" for k in range(12) for arm in "ab")
    written = {
        "request.json": '{"both_correct": 9, "only_baseline": 1, "only_candidate": 7, "both_wrong": 4}',
        "rows.csv": rows,
        "base.csv": "item_id,value\n" + "".join(f"q{k},{k % 2}\n" for k in range(12)),
        "cand.csv": "item_id,value\n" + "".join(f"q{k},{k % 3 > 0:d}\n" for k in range(12)),
        "pilot.csv": "baseline,candidate\n" + "1,0\n0,1\n1,1\n" * 4,
        "plan.json": "{}",
    }
    for name, content in written.items():
        (folder / name).write_text(content)
    return {name.split(".")[0]: str(folder / name) for name in written} | {"out": str(folder)}


def lines() -> list[list[str]]:
    return [line.split() for row in COMMANDS.strip().splitlines() for line in row.split(" | ")]


class Answering:
    """A service that has one answer to everything."""

    def __init__(self, status: int, content: bytes, headers: dict[str, str]) -> None:
        self.status, self.content, self.headers = status, content, headers
        self.naps: list[float] = []

    def __call__(self, request: httpx.Request) -> httpx.Response:
        return httpx.Response(self.status, content=self.content, headers=self.headers)

    def client(self) -> Client:
        return Client(
            "http://service.test",
            "flk_key",
            transport=httpx.MockTransport(self),
            sleep=self.naps.append,
            clock=lambda: sum(self.naps),
        )


@cache
def member_names() -> set[str]:
    """Every name of a member that the API's document knows."""
    found: set[str] = set()

    def walk(value: Any) -> None:
        if isinstance(value, dict):
            properties = value.get("properties")
            found.update(properties if isinstance(properties, dict) else ())
            for inner in value.values():
                walk(inner)
        elif isinstance(value, list):
            for inner in value:
                walk(inner)

    walk(json.loads((ROOT / "openapi" / "openapi.json").read_text()))
    return found


def every_member(odd: Any) -> bytes:
    """An object with every member there is, each of this value, and lists of such objects where lists stand."""
    inner = dict.fromkeys(member_names(), odd)
    lists = {
        name: [inner]
        for name in ("items", "hypotheses", "findings", "signers", "batches", "looks", "universes")
    }
    return json.dumps(inner | lists | {"next_cursor": None}).encode()


ANSWERS: dict[str, tuple[int, bytes]] = {
    "nothing": (200, b""),
    "an empty object": (200, b"{}"),
    "a list": (200, b"[]"),
    "null": (200, b"null"),
    "text": (200, ESCAPES.encode()),
    "not a number": (200, b'{"items": [NaN], "n": Infinity, "x": 1e999}'),
    "too deep": (200, b'{"items":' + b"[" * 200_000 + b"]" * 200_000 + b"}"),
    "deep objects": (201, b'{"items":' * 100_000 + b"0" + b"}" * 100_000),
    "items that are none": (200, b'{"items": [7, null, "x", []]}'),
    "items that are no list": (200, b'{"items": 7, "findings": 7, "hypotheses": 7}'),
    "members of text": (200, every_member(ESCAPES)),
    "members of null": (200, every_member(None)),
    "members that are lists": (200, every_member([ESCAPES])),
    "members that are objects": (201, every_member({"a": ESCAPES})),
    "members that are numbers": (200, every_member(7)),
    "taken on": (202, every_member(ESCAPES)),
    "a refusal": (409, every_member(ESCAPES)),
    "a refusal of lists": (422, json.dumps({"errors": [7, {"path": [ESCAPES]}], "status": "x"}).encode()),
    "a refusal of numbers": (400, b'{"errors": 7, "status": 1e308, "code": {}, "detail": []}'),
    "elsewhere": (302, b""),
    "no gzip": (200, b"no gzip"),
    "another charset": (200, b"text "),
}
HEADERS: dict[str, dict[str, str]] = {
    "elsewhere": {"Location": "http://169.254.169.254/"},
    "no gzip": {"Content-Encoding": "br"},
    "another charset": {"Content-Type": "text/plain; charset=hex"},
    "taken on": {"Location": "/v1/jobs/1"},
    "members of text": {"ETag": '"1"', "Retry-After": "9" * 400, "Location": "/v1/jobs/1"},
}


def unfit(text: str) -> set[str]:
    return {
        char for char in text if char not in "\n\t" and unicodedata.category(char) in ("Cc", "Cf", "Zl", "Zp")
    }


UNTRIED = {("spool", "discard")}
"""It asks no service."""


def test_every_command_that_asks_a_service_is_tried() -> None:
    def leaves(parser: argparse.ArgumentParser, name: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
        groups = [each for each in parser._actions if isinstance(each, argparse._SubParsersAction)]
        if not groups and any("--key-file" in each.option_strings for each in parser._actions):
            yield name
        for group in groups:
            for said, inner in group.choices.items():
                yield from leaves(inner, (*name, said))

    tried = {tuple(line[:depth]) for line in lines() for depth in (1, 2)}
    assert set(leaves(cli._parser(("verify",)))) - tried - UNTRIED == set()


QUICK = {"too deep", "members of text", "a refusal of lists"}


@pytest.mark.parametrize(
    "answer", [pytest.param(each, marks=() if each in QUICK else pytest.mark.slow) for each in ANSWERS]
)
def test_every_command_ends_in_a_sentence(
    answer: str,
    files: dict[str, str],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
) -> None:
    status, content = ANSWERS[answer]
    service = Answering(status, content, HEADERS.get(answer, {"ETag": '"1"'}))
    monkeypatch.setattr("forelock.client.Client", lambda *_: service.client())
    monkeypatch.setattr("forelock.commands.bundles.Client", lambda *_: service.client())
    monkeypatch.setenv("FORELOCK_URL", "http://service.test")
    monkeypatch.setenv("FORELOCK_SPOOL", str(tmp_path / "spool"))
    monkeypatch.chdir(tmp_path)
    for line in lines():
        arguments = [each.format_map(files | {"out": str(tmp_path)}) for each in line]
        try:
            ended = cli.main(arguments)
        except SystemExit as stopped:
            ended = int(stopped.code or 0)
            assert ended == 2, arguments
        said = capsys.readouterr()
        assert ended in STATUSES, arguments
        assert "Traceback" not in said.err, arguments
        as_it_is = not sys.stdout.isatty() and arguments[0] in ("export", "badge")  # a file, into a pipe
        assert not unfit(said.err if as_it_is else said.out + said.err), (arguments, said)
        if ended == 1:
            assert said.err or said.out, arguments


@pytest.mark.parametrize("line", ["export x --format prml", "badge x", "report x"])
def test_documents_are_fit_for_a_terminal(
    line: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    service = Answering(200, ESCAPES.encode() + b"\xff", {})
    monkeypatch.setattr("forelock.client.Client", lambda *_: service.client())
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    assert cli.main(line.split()) == 0
    said = capsys.readouterr().out
    assert not unfit(said)
    assert said.splitlines()[1].startswith("text")


# On the wire


@contextmanager
def serving(answer: Callable[[socket.socket], None]) -> Iterator[str]:
    """A server of one answer on a port of this machine."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(0.2)
        ended = threading.Event()

        def serve() -> None:
            while not ended.is_set():
                with suppress(TimeoutError):
                    connection, _ = server.accept()
                    with connection, suppress(OSError):
                        connection.settimeout(10)
                        connection.recv(65536)
                        answer(connection)

        thread = threading.Thread(target=serve)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.getsockname()[1]}"
        finally:
            ended.set()
            thread.join()


def asked(url: str) -> Unreachable | ForelockProblem:
    with Client(url, "flk_key", attempts=1, timeout=10) as client, pytest.raises(ForelockError) as caught:
        client.progress("x")
    assert isinstance(caught.value, Unreachable | ForelockProblem)
    return caught.value


def test_a_body_without_end_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(incoming, "MAX_BYTES", 1 << 20)
    sent = 0

    def answer(connection: socket.socket) -> None:
        nonlocal sent
        connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n")
        while True:
            sent += connection.send(b" " * 65536)

    with serving(answer) as url:
        assert "longer than" in str(asked(url))
    assert sent < 32 << 20


def bomb(layers: int) -> bytes:
    """64 kB of gzip that is 64 MB."""
    made = zlib.compressobj(9, zlib.DEFLATED, zlib.MAX_WBITS | 16)
    data = b"".join(made.compress(bytes(1 << 20)) for _ in range(64)) + made.flush()
    return data if layers == 1 else gzip.compress(data)


@pytest.mark.parametrize(
    ("coding", "said"), [("gzip", "longer than"), ("gzip, gzip", "nobody asked"), ("br", "nobody")]
)
def test_a_bomb_is_not_unpacked(monkeypatch: pytest.MonkeyPatch, coding: str, said: str) -> None:
    monkeypatch.setattr(incoming, "MAX_BYTES", 8 << 20)
    body = bomb(2 if "," in coding else 1)

    def answer(connection: socket.socket) -> None:
        head = f"HTTP/1.1 200 OK\r\nContent-Encoding: {coding}\r\nContent-Length: {len(body)}\r\n\r\n"
        connection.sendall(head.encode() + body)

    with serving(answer) as url:
        assert said in str(asked(url))


def test_a_gzip_stream_that_is_cut_or_none_is_a_sentence() -> None:
    whole = gzip.compress(b'{"state": "locked"}')
    for body in (whole[:-4], b"no gzip", b""):

        def answer(connection: socket.socket, body: bytes = body) -> None:
            head = f"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: {len(body)}\r\n\r\n"
            connection.sendall(head.encode() + body)

        with serving(answer) as url:
            assert "gzip" in str(asked(url))


def test_a_redirect_is_not_followed() -> None:
    seen = 0

    def answer(connection: socket.socket) -> None:
        nonlocal seen
        seen += 1
        connection.sendall(b"HTTP/1.1 307 Elsewhere\r\nLocation: /other\r\nContent-Length: 0\r\n\r\n")

    with serving(answer) as url:
        problem = asked(url)
    assert isinstance(problem, ForelockProblem)
    assert (problem.status, seen) == (307, 1)


def test_pages_that_lead_to_themselves_end() -> None:
    service = Answering(200, b'{"items": [], "next_cursor": "again"}', {})
    with service.client() as client, pytest.raises(ForelockProblem, match="leads from a page to itself"):
        list(client.keys())


def test_an_answer_that_takes_for_ever_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    ticks = iter(range(0, 10**9, 100))
    response = httpx.Response(200, stream=_Dripping())
    with pytest.raises(Unreachable, match="did not end within"):
        list(incoming.pieces(response, 1 << 20, lambda: next(ticks)))


class _Dripping(httpx.SyncByteStream):
    def __iter__(self) -> Iterator[bytes]:
        while True:
            yield b" "


def goes_on(piece: bytes, pause: float = 0.0, *, head: bytes = b"") -> Callable[[socket.socket], None]:
    """A server that says the same for ever, until nobody listens."""

    def answer(connection: socket.socket) -> None:
        connection.sendall(head)
        while True:
            connection.sendall(piece)
            time.sleep(pause)

    return answer


GZIP_HEAD = b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\n\r\n"
ENDLESS = {
    "a header that drips": (goes_on(b"x", 0.02, head=b"HTTP/1.1 200 OK\r\nX-Long: "), "did not end within"),
    "continue, continue": (goes_on(b"HTTP/1.1 100 Continue\r\n\r\n", 0.01), "did not end within"),
    "processing, processing": (
        goes_on(b"HTTP/1.1 102 Processing\r\nA: b\r\n\r\n" * 50),
        "did not end within",
    ),
    "headers without end": (goes_on(b"A: b\r\n" * 9999, head=b"HTTP/1.1 200 OK\r\n"), "does not answer"),
    "more than its gzip": (goes_on(bytes(65536), head=GZIP_HEAD + gzip.compress(b"{}")), "longer than"),
    "gzip that stands for nothing": (
        goes_on(b"\0\0\0\xff\xff" * 9999, head=GZIP_HEAD + gzip.compress(b"")[:10]),
        "longer than",
    ),
}


@pytest.mark.parametrize("name", ENDLESS)
@pytest.mark.parametrize("who", ["service", "mlflow", "tracker"])
def test_an_answer_without_end_is_left_by_everybody_who_asks(
    name: str, who: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    answer, sentence = ENDLESS[name]
    monkeypatch.setattr(incoming, "MAX_BYTES", 1 << 20)
    monkeypatch.setattr(incoming, "LONGEST", 0.1 if sentence == "did not end within" else 10.0)
    with serving(answer) as url:
        if who == "service":
            assert sentence in str(asked(url))
            return
        pulls: dict[str, Callable[[], object]] = {
            "mlflow": lambda: fetch_run("r", tmp_path, url, environment={}),
            "tracker": lambda: fetch_experiment("phoenix", "x", tmp_path, url, environment={}),
        }
        with pytest.raises(FileFault, match=sentence):
            pulls[who]()


@pytest.mark.parametrize("status", [b"302 Elsewhere", b"200 OK"])
def test_headers_of_any_bytes_end_in_a_sentence(status: bytes, tmp_path: Path) -> None:
    head = b"HTTP/1.1 " + status + b"\r\nLocation: \xff\xfe\r\nETag: \xff\r\nSet-Cookie: a=\xff\r\n"

    def answer(connection: socket.socket) -> None:
        connection.sendall(head + b"Content-Length: 2\r\n\r\n{}")

    with serving(answer) as url:
        with Client(url, "flk_key", attempts=1) as client:
            for _ in range(2):
                with pytest.raises(ForelockProblem):
                    client.lock("x")
        with pytest.raises(FileFault, match=r"answers|MLflow tracking"):
            fetch_run("r", tmp_path, url, environment={})


def test_pieces_of_two_bytes_take_no_more_than_their_bytes() -> None:
    class Pieces(httpx.SyncByteStream):
        def __iter__(self) -> Iterator[bytes]:
            yield from (b"%02x" % (number % 256) for number in range(20_000))

    tracemalloc.start()
    try:
        incoming.read(
            httpx.Response(200, stream=Pieces(), request=httpx.Request("GET", "http://x")), lambda: 0
        )
        assert tracemalloc.get_traced_memory()[1] < 300_000
    finally:
        tracemalloc.stop()


def test_lines_of_a_tracker_are_counted_together_before_they_are_read(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(incoming, "MAX_VALUES", 1000)
    answers = httpx.MockTransport(lambda _: httpx.Response(200, content=b"{}\n \r\n" * 2000))
    with pytest.raises(FileFault, match="not answered as"):
        fetch_experiment("weave", "e/p/c", tmp_path, environment={"WANDB_API_KEY": "k"}, transport=answers)


def test_values_are_counted_before_they_are_read() -> None:
    assert incoming.read_document(b"[" + b"[]," * 5_000_000 + b"[]]") is None
    assert incoming.read_document(b'{"a":[1,2.5,"b"]}') == {"a": [1, 2.5, "b"]}
