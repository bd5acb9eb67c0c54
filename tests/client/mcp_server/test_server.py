"""`forelock mcp`, asked by the SDK's own client: over a pipe as an agent asks, and in this process."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

import anyio
import pytest

pytest.importorskip("mcp", reason="the package mcp (extra `mcp`) is not installed")

from mcp import Client, StdioServerParameters, stdio_client
from mcp_types import CallToolResult, ElicitRequestFormParams, ElicitResult

from tests.client.mcp_server.asking import ask, make

READS = {"score", "gate", "rank", "verify", "plan_lint", "progress", "verdict"}
DRAFT = {
    "id": "p1",
    "state": "draft",
    "plan": {"title": "Caches", "hypotheses": [{"id": "H1", "rule": "delta >= 2 pp"}]},
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "results"
    made.mkdir()
    for name, gained in (("old", 0), ("new", 12)):
        rows = [f"item-{i},{int(i % 2 == 0 or i < 2 * gained)}" for i in range(60)]
        (made / f"{name}.csv").write_text("item_id,value\n" + "\n".join(rows) + "\n", encoding="utf-8")
    (tmp_path / "secret.csv").write_text("item_id,value\na,1\n", encoding="utf-8")
    return made


def words(result: CallToolResult) -> str:
    return "\n".join(block.text for block in result.content)


def test_an_agent_asks_over_a_pipe(folder: Path) -> None:
    """One process for all of it: the tools, answers for people and programs, and refusals with a way out."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("FORELOCK_")}
    server = StdioServerParameters(
        command=sys.executable, args=["-m", "forelock.cli", "mcp"], cwd=folder, env=environment
    )

    async def talk() -> None:
        async with Client(stdio_client(server)) as client:
            tools = {tool.name: tool for tool in (await client.list_tools()).tools}
            assert set(tools) == READS
            assert all(tool.annotations.read_only_hint for tool in tools.values())
            assert "exploratory" in client.instructions
            files = ["old.csv", "new.csv"]
            gate = await client.call_tool("gate", {"files": files, "margin": "2pp"})
            assert not gate.is_error, words(gate)
            assert words(gate).startswith(gate.structured_content["headline"].split(" ")[0])
            assert gate.structured_content["answer"]["outcome"] == "better"
            score = await client.call_tool("score", {"files": ["new.csv"], "at_least": "50%"})
            assert score.structured_content["answer"]["outcome"] == "meets"
            rank = await client.call_tool("rank", {"files": files})
            assert rank.structured_content["question"] == "rank"
            for name, asked, said in (
                ("gate", {"files": ["../secret.csv", "new.csv"]}, "lies outside of"),
                ("gate", {"files": ["none.csv", "new.csv"]}, "none.csv"),
                ("gate", {"files": files, "margin": "two"}, "2pp"),
                ("verify", {"bundle": "none.zip"}, "none.zip"),
                ("verify", {"bundle": "old.csv", "keys": ["x"]}, "name+id+base64"),
                ("score", {"files": ["new.csv"], "format": "--svg=x"}, "format"),
            ):
                refused = await client.call_tool(name, asked)
                assert refused.is_error
                assert said in words(refused)
                assert "Traceback" not in words(refused)
                assert "Error executing" not in words(refused)

    anyio.run(talk)


def server_of(service: Any, folder: Path, *, locks: bool = False) -> Any:
    return make(service.client, folder, locks=locks)


def test_a_record_is_read(service: Any, folder: Path) -> None:
    server = server_of(service, folder)
    service.will_answer(200, {"findings": [{"severity": "error", "code": "NO_N", "message": "n is missing"}]})
    lint = ask(server, "plan_lint", {"id": "p1"})
    assert words(lint) == "error   NO_N: n is missing"
    assert lint.structured_content["findings"][0]["code"] == "NO_N"
    service.will_answer(200, {"state": "collecting", "received": 3, "expected": 8})
    assert words(ask(server, "progress", {"id": "p1"})) == "collecting: 3 of 8 results are in"


def test_before_the_verdict_there_is_a_sentence(service: Any, folder: Path) -> None:
    service.will_refuse(409, "blinded")
    early = ask(server_of(service, folder), "verdict", {"id": "p1"})
    assert early.is_error
    assert words(early) == "blinded: it is blinded"
    service.will_answer(200, {"hypotheses": [{"what": "is this"}]})
    service.will_answer(200, {})
    odd = ask(server_of(service, folder), "verdict", {"id": "p1"})
    assert "does not answer as a Forelock service" in words(odd)


def test_no_plan_is_locked_unless_that_is_allowed(service: Any, folder: Path) -> None:
    assert "Unknown tool" in words(ask(server_of(service, folder), "lock", {"id": "p1"}))
    assert service.requests == []


def answers_of_a_draft(service: Any, times: int) -> None:
    for _ in range(times):
        service.will_answer(200, DRAFT, ETag='"7"')
        service.will_answer(200, DRAFT)
        service.will_answer(
            200, {"findings": [{"severity": "warning", "code": "FEW", "message": "few items"}]}
        )


@pytest.mark.parametrize("mode", ["auto", "legacy"])
@pytest.mark.parametrize("agrees", [True, False])
def test_a_person_is_asked_before_a_lock(service: Any, folder: Path, agrees: bool, mode: str) -> None:
    shown: list[str] = []

    async def person(_context: Any, question: ElicitRequestFormParams) -> ElicitResult:
        shown.append(question.message)
        return (
            ElicitResult(action="accept", content={"lock": True})
            if agrees
            else ElicitResult(action="decline")
        )

    answers_of_a_draft(service, 1 if mode == "legacy" else 2)  # the later protocol asks in two rounds
    locked = DRAFT | {"state": "locked", "plan_sha256": "5" * 64, "locked_at": "2026-11-24T10:00:00Z"}
    service.will_answer(200, locked)
    asked = {"id": "p1", "acknowledge": ["FEW"]}
    result = ask(
        server_of(service, folder, locks=True), "lock", asked, elicitation_callback=person, mode=mode
    )
    (question,) = shown
    assert "for good" in question
    for part in ("Caches", "H1: delta >= 2 pp", "FEW: few items", 'revision "7"'):
        assert part in question
    sent = [request for request in service.requests if request.url.path.endswith("/lock")]
    if agrees:
        assert not result.is_error, words(result)
        assert "locked 2026-11-24" in words(result)
        assert sent[0].headers["If-Match"] == '"7"'
        assert service.sent() == {"acknowledge": ["FEW"]}
    else:
        assert result.is_error
        assert "nothing was locked" in words(result)
        assert sent == []


def test_a_client_that_cannot_ask_locks_nothing(service: Any, folder: Path) -> None:
    refused = ask(server_of(service, folder, locks=True), "lock", {"id": "p1"})
    assert refused.is_error
    assert "run `forelock lock p1` yourself" in words(refused)
    assert service.requests == []


def test_without_the_package_the_command_says_what_to_install(
    shell: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in [name for name in sys.modules if name.startswith("forelock.mcp_server.server")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "mcp", None)
    monkeypatch.setitem(sys.modules, "mcp.server", None)
    monkeypatch.setitem(sys.modules, "mcp.server.elicitation", None)
    status, _, error = shell("mcp")
    assert status == 2
    assert "install forelock[mcp]" in error
    assert shell("mcp", "--folder", "nowhere")[0] == 2
