"""Writes `client/forelock/async_client.pyi`: the calls of `Client`, as a type checker reads them of `AsyncClient`."""

from __future__ import annotations

import ast
from pathlib import Path

CLIENT = Path(__file__).resolve().parents[2] / "client" / "forelock"
STUB = CLIENT / "async_client.pyi"
SOURCES = ("client.py", "after.py", "outside.py")
"""Where the calls are: the class, and those that it is made of."""
_HEAD = """# Made by `python -m tools.pages.async_client` from Client; change that.
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from typing import Any, BinaryIO, Literal, Self

import httpx

from forelock.client import Sendable
from forelock.connection import Json
from forelock.results import OnDuplicate, Results

class AsyncClient:
    def __init__(
        self,
        url: str | None = None,
        api_key: str | None = None,
        timeout: float = 60.0,
        *,
        transport: httpx.BaseTransport | None = None,
        attempts: int = 6,
        sleep: Callable[[float], None] = ...,
        clock: Callable[[], float] = ...,
    ) -> None: ...
    async def __aenter__(self) -> Self: ...
    async def __aexit__(self, *_: object) -> None: ...
    @property
    def url(self) -> str: ...
    async def aclose(self) -> None: ...
"""


def stub() -> str:
    """The stub's text."""
    calls: list[str] = []
    for source in SOURCES:
        tree = ast.parse((CLIENT / source).read_text("utf-8"))
        for kind in tree.body:
            if isinstance(kind, ast.ClassDef) and kind.name in ("Client", "AfterCalls", "OutsideCalls"):
                calls += [_call(each) for each in kind.body if isinstance(each, ast.FunctionDef)]
    return _HEAD + "".join(f"    {each}\n" for each in calls if each)


def _call(function: ast.FunctionDef) -> str:
    if function.name.startswith("_"):
        return ""
    function.args.defaults = [_default(each) for each in function.args.defaults]
    function.args.kw_defaults = [each and _default(each) for each in function.args.kw_defaults]
    answer = ast.unparse(function.returns) if function.returns else "None"
    lists = answer.startswith("Iterator[")
    begins = "def" if lists else "async def"
    return (
        f"{begins} {function.name}({ast.unparse(function.args)}) -> {'Async' if lists else ''}{answer}: ..."
    )


def _default(value: ast.expr) -> ast.expr:
    """Constants as they are; what has a name elsewhere is left open."""
    return value if isinstance(value, ast.Constant) else ast.Constant(...)


if __name__ == "__main__":
    STUB.write_text(stub(), "utf-8")
