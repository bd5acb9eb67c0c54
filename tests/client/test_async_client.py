"""The asynchronous client: the calls of the other one, awaited."""

from __future__ import annotations

import asyncio
import inspect
import re
from pathlib import Path
from typing import Any

import httpx
import pytest

from forelock import AsyncClient, Client
from forelock.problem import ForelockProblem
from tools.pages.async_client import STUB, stub

README = Path(__file__).parents[2] / "client" / "README.md"


def asked(service) -> AsyncClient:
    return AsyncClient(
        "http://service.test", "flk_key", transport=httpx.MockTransport(service), sleep=service.naps.append
    )


def test_calls_are_awaited_and_lists_are_read_page_by_page(service) -> None:
    async def use() -> tuple[object, list[object]]:
        async with asked(service) as client:
            return await client.preregistration("p1"), [
                each async for each in client.preregistrations(state="draft")
            ]

    service.will_answer(200, {"id": "p1"})
    service.will_answer(200, {"items": [{"id": "a"}], "next_cursor": "c"})
    service.will_answer(200, {"items": [{"id": "b"}], "next_cursor": None})
    assert asyncio.run(use()) == ({"id": "p1"}, [{"id": "a"}, {"id": "b"}])
    assert [each.url.query.decode() for each in service.requests] == [
        "",
        "state=draft",
        "state=draft&cursor=c",
    ]
    assert service.header("Authorization") == ["Bearer flk_key"] * 3


def test_a_write_is_repeated_under_one_key_and_a_refusal_is_raised(service) -> None:
    async def use() -> object:
        async with asked(service) as client:
            return await client.create_plan({"title": "x"})

    service.will_refuse(503, "unavailable")
    service.will_answer(201, {"id": "p1"})
    assert asyncio.run(use()) == {"id": "p1"}
    first, second = service.header("Idempotency-Key")
    assert first == second is not None
    service.will_refuse(422, "validation_failed")
    with pytest.raises(ForelockProblem, match="validation_failed"):
        asyncio.run(use())


def test_many_wait_at_once(service) -> None:
    async def use() -> list[object]:
        async with asked(service) as client:
            return await asyncio.gather(*(client.evidence(f"p{number}") for number in range(8)))

    for _ in range(8):
        service.will_answer(200, {"pieces": []})
    assert asyncio.run(use()) == [{"pieces": []}] * 8


def test_what_a_type_checker_reads_is_what_there_is() -> None:
    assert STUB.read_text("utf-8") == stub()
    public = {
        name for name, each in inspect.getmembers(Client, inspect.isfunction) if not name.startswith("_")
    }
    read = {line.split("def ")[1].split("(")[0] for line in stub().splitlines() if "def " in line}
    assert public - {"close"} == {each for each in read if not each.startswith("__")} - {"url", "aclose"}


def test_the_examples_of_the_package_run(service, monkeypatch, capsys) -> None:
    monkeypatch.setenv("FORELOCK_URL", "http://service.test")
    monkeypatch.setenv("FORELOCK_API_KEY", "flk_key")
    plain = httpx.Client
    monkeypatch.setattr(
        httpx, "Client", lambda **given: plain(**given | {"transport": httpx.MockTransport(service)})
    )
    first, second = re.findall(r"^```python\n(.*?)^```$", README.read_text("utf-8"), re.MULTILINE | re.DOTALL)
    service.will_answer(201, {"batch": 1})
    service.will_answer(200, {"hypotheses": [{"outcome": "supported"}]})
    exec(first, {})
    assert capsys.readouterr().out == "1 is in\nsupported\n"
    named: dict[str, Any] = {}
    exec(second, named)
    service.will_answer(200, {"items": [{"outcome": "equivalent"}], "next_cursor": None})
    assert asyncio.run(named["outcomes"]()) == ["equivalent"]


def test_the_commands_of_the_package_are_there() -> None:
    from forelock.cli import whole

    (block,) = (
        each
        for each in re.findall(r"^```sh\n(.*?)^```$", README.read_text("utf-8"), re.MULTILINE | re.DOTALL)
        if "forelock verdict" in each
    )
    lines = [line.split("#")[0].split() for line in block.splitlines() if line.startswith("forelock ")]
    assert len(lines) == 6
    for line in lines:
        assert callable(whole().parse_args(line[1:]).handler)


@pytest.mark.parametrize("name", ["close", "_send", "nothing"])
def test_no_other_call_is_there(service, name) -> None:
    with pytest.raises(AttributeError):
        getattr(asked(service), name)
