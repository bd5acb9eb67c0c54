"""The plugin of pytest, in a pytest of its own: rows go to a service, and none without being asked."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import httpx
import pytest

from forelock.spool import Spool
from tests.client.spool.conftest import Keeper

TESTS = """
import pytest

@pytest.mark.forelock("right")
def test_right(): pass

@pytest.mark.forelock("wrong")
def test_wrong(): assert False

@pytest.mark.forelock("failed", replicate=2)
def test_failed(): pytest.fail("no")

@pytest.mark.forelock("broken")
def test_broken(): raise OSError

@pytest.fixture
def nothing(): raise OSError

@pytest.mark.forelock("without")
def test_without(nothing): pass

@pytest.mark.forelock("skipped")
def test_skipped(): pytest.skip("later")

@pytest.mark.parametrize("name", ["größe", "a b"])
def test_named(forelock_record, name):
    forelock_record(name)
    assert name == "a b"

def test_measured(forelock_record):
    forelock_record("measured", value=0.25, endpoint="grade")

def test_of_no_item(): pass
"""
ALONE = ("-p", "forelock.hooks.pytest_plugin", "-p", "no:cacheprovider")
"""Other plugins take seconds to load."""
KNOWN = {"right": 1, "wrong": 0, "größe": 0, "a b": 1, "measured": 0.25}


@pytest.fixture
def served(keeper: Keeper) -> Iterator[str]:
    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            answer = keeper(
                httpx.Request("POST", "http://s" + self.path, headers=dict(self.headers), content=body)
            )
            self.send_response(answer.status_code)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(answer.content)))
            self.end_headers()
            self.wfile.write(answer.content)

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


@pytest.fixture
def keeper() -> Keeper:
    return Keeper()


@pytest.fixture
def run(served: str, tmp_path):
    """Run a pytest; answers its status and output."""

    def go(text: str, *arguments: str, found: bool = False) -> tuple[int, str]:
        (tmp_path / "test_it.py").write_text(text)
        (tmp_path / "pytest.ini").write_text("[pytest]\nfilterwarnings = error\n")
        named = {
            name: value for name, value in os.environ.items() if not name.startswith(("FORELOCK_", "PYTEST_"))
        }
        ran = subprocess.run(
            [sys.executable, "-m", "pytest", "-q", *(() if found else ALONE), *arguments],
            cwd=tmp_path,
            env=named
            | ({} if found else {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"})
            | {"FORELOCK_URL": served, "FORELOCK_API_KEY": "k", "FORELOCK_SPOOL": str(tmp_path / "spool")},
            capture_output=True,
            text=True,
            timeout=120,
        )
        return ran.returncode, ran.stdout + ran.stderr

    return go


TO = ("--forelock", "p1", "--forelock-arm", "A", "--forelock-endpoint", "accuracy")


def test_tests_that_name_an_item_are_rows(run, keeper, tmp_path) -> None:
    status, output = run(TESTS, *TO)
    assert status == 1
    assert "the rows of this run are with the service (p1)" in output
    told = {item_id: value for (_, item_id, _), value in keeper.rows.items()}
    assert told == KNOWN | {"failed": 0, "broken": None, "without": None}
    assert ("A", "failed", 2) in keeper.rows
    errors = [
        dict(zip(body["item_ids"], body["status"], strict=True))
        for body in keeper.posted
        if body["endpoint"] == "accuracy"
    ]
    assert {name for body in errors for name, word in body.items() if word == "error"} == {
        "broken",
        "without",
    }
    assert {body["endpoint"] for body in keeper.posted} == {"accuracy", "grade"}
    assert not Spool(tmp_path / "spool").files("p1")


def test_session_that_is_stopped_keeps_its_errors_back(run, keeper) -> None:
    status, _ = run(TESTS.replace("test_broken", "test_again"), *TO, "--maxfail", "3")
    assert status in (1, 2)
    assert {item_id for _, item_id, _ in keeper.rows} == {"right", "wrong", "failed"}


def test_nothing_happens_unless_asked(run, keeper, tmp_path) -> None:
    status, _ = run(TESTS)
    assert status == 1
    assert not keeper.posted
    assert not (tmp_path / "spool").exists()


@pytest.mark.parametrize(
    ("text", "arguments", "told"),
    [
        pytest.param(
            TESTS, TO[:2], "say whose results these are: --forelock-arm ARM", marks=pytest.mark.slow
        ),
        (
            '@__import__("pytest").mark.forelock("a")\ndef test_a(): pass\n'
            '@__import__("pytest").mark.forelock("a")\ndef test_b(): pass\n',
            TO,
            "item 'a' is measured by test_it.py::test_a already",
        ),
        pytest.param(
            '@__import__("pytest").mark.forelock(7)\ndef test_a(): pass\n',
            TO,
            "an item id is a text",
            marks=pytest.mark.slow,
        ),
    ],
)
def test_what_cannot_be_rows_is_said_before_a_test_runs(run, keeper, text, arguments, told) -> None:
    status, output = run(text, *arguments)
    assert (status, told in output) == (4, True), output
    assert not keeper.posted


@pytest.mark.slow
def test_workers_keep_their_rows_and_the_process_that_started_them_sends(run, keeper) -> None:
    status, output = run(TESTS, *TO, "-n", "2", "-p", "no:randomly", found=True)
    assert status == 1
    told = {item_id: value for (_, item_id, _), value in keeper.rows.items()}
    assert told == KNOWN | {"failed": 0, "broken": None, "without": None}, output
