"""What a stranger's MLflow may answer: looked through once, within limits, and never at the cost of others."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from typing import Any

import pytest

from service.publish.addresses import read_allowed
from service.publish.faults import Unanswered
from service.publish.http import Outgoing
from service.publish.mlflow import LIMIT, MOST_CONTAINERS, MlflowServer, Push, _artifacts_of, with_part
from tests.loopback import Asked, Loopback, Reply, serving

OPENING, CLOSING = "<!-- forelock r -->", "<!-- /forelock r -->"
OURS = f"{OPENING}\nnew\n{CLOSING}"


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("", OURS),
        ("notes", f"notes\n\n{OURS}"),
        (f"a {OPENING}old{CLOSING} b", f"a {OURS} b"),
        (f"{OPENING}1{CLOSING}{OPENING}2{CLOSING}", f"{OURS}{OPENING}2{CLOSING}"),
        (f"{CLOSING} {OPENING}{OPENING}x{CLOSING}", f"{CLOSING} {OPENING}{OURS}"),
        (f"{CLOSING}{OPENING}", f"{CLOSING}{OPENING}\n\n{OURS}"),
        (f"a {OPENING}", f"a {OPENING}\n\n{OURS}"),
        (r"\1 \g<0>", rf"\1 \g<0>{chr(10)}{chr(10)}{OURS}"),
    ],
)
def test_our_part_of_a_description_stands_in_its_place(before: str, after: str) -> None:
    assert with_part(before, "r", "new") == after
    assert with_part(after, "r", "new") == after


@pytest.mark.parametrize("marks", [OPENING, CLOSING, OPENING[:-1], f"{OPENING}{CLOSING[:-1]}"])
def test_a_description_full_of_marks_is_looked_through_once(marks: str) -> None:
    """Looked through once for every mark, a megabyte took seven minutes."""
    began = time.process_time()
    assert with_part(marks * (LIMIT // len(marks)), "r", "new").endswith(OURS)
    assert time.process_time() - began < 1


@pytest.mark.parametrize(
    ("uri", "place"),
    [
        ("mlflow-artifacts:/1/abc/artifacts", "1/abc/artifacts"),
        ("mlflow-artifacts://host:5000/1/abc/artifacts/", "1/abc/artifacts"),
        ("mlflow-artifacts:////1/a", "1/a"),
        ("mlflow-artifacts:/1/../2", None),
        ("mlflow-artifacts:/1/a b", None),
        ("mlflow-artifacts:", None),
        ("mlflow-artifacts://host", None),
        ("mlflow-artifacts:" + "/" * 1_000_000 + "!", None),
        ("s3://bucket/1", None),
        (7, None),
        (None, None),
    ],
)
def test_where_artifacts_go(uri: object, place: str | None) -> None:
    assert _artifacts_of({"info": {"artifact_uri": uri}}) == place


@pytest.fixture
def loopback() -> Iterator[Loopback]:
    with serving() as server:
        yield server


def run_with(**data: Any) -> bytes:
    return json.dumps({"run": {"info": {"lifecycle_stage": "active"}, "data": data}}).encode()


@pytest.mark.parametrize(
    "body",
    [
        b"[" * 100_000,
        b'{"run":' + b"[]," * MOST_CONTAINERS,
        b'{"run":' * 30_000,
        run_with(tags="x" * LIMIT),
        b'{"run": {"info": ' + b"9" * 10_000 + b"}}",
        b"\xff",
        b"",
    ],
)
def test_an_answer_that_is_no_run_is_one_fault(loopback: Loopback, body: bytes) -> None:
    def answer(_asked: Asked) -> Reply:
        return 200, {"Content-Type": "application/json"}, body

    loopback.reply = answer
    server = MlflowServer(loopback.url(""), Outgoing(allowed=read_allowed("127.0.0.1")))
    with pytest.raises(Unanswered):
        server.push("run", Push("r", {"a": "b"}))
