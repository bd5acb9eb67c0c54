"""Writes `client/forelock/async_client.pyi`: the calls of `Client`, as a type checker reads them of `AsyncClient`."""

from __future__ import annotations

import ast
from pathlib import Path

CLIENT = Path(__file__).resolve().parents[2] / "client" / "forelock"
STUB = CLIENT / "async_client.pyi"
SOURCES = ("client.py", "documents.py", "after.py", "outside.py")
"""Where the calls are: the class, and those that it is made of."""
CLASSES = ("Connection", "Client", "DocumentCalls", "AfterCalls", "OutsideCalls")
_HEAD = """# Made by `python -m tools.pages.async_client` from Client; change that.
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from typing import Any, BinaryIO, Literal, Self

import httpx

from forelock.client import Sendable
from forelock.connection import Json
from forelock.documents import ChartForm, ReportForm, StandardName
from forelock.results import OnDuplicate, Results

class AsyncClient:
"""
_OWN = """\
    async def __aenter__(self) -> Self: ...
    async def __aexit__(self, *_: object) -> None: ...
    @property
    def url(self) -> str: ...
    async def aclose(self) -> None: ...
"""


def stub() -> str:
    """The stub's text."""
    (made,) = (function for function in _functions("connection.py") if function.name == "__init__")
    calls = [
        function for source in SOURCES for function in _functions(source) if not function.name.startswith("_")
    ]
    return f"{_HEAD}    def {_signature(made)}: ...\n{_OWN}" + "".join(
        f"    {_call(call)}\n" for call in calls
    )


def _functions(source: str) -> list[ast.FunctionDef]:
    """Those of the classes of a file."""
    tree = ast.parse((CLIENT / source).read_text("utf-8"))
    kinds = [each for each in tree.body if isinstance(each, ast.ClassDef) and each.name in CLASSES]
    return [each for kind in kinds for each in kind.body if isinstance(each, ast.FunctionDef)]


def _call(function: ast.FunctionDef) -> str:
    said = _signature(function)
    if "-> Iterator[" in said:
        return f"def {said.replace('-> Iterator[', '-> AsyncIterator[')}: ..."
    return f"async def {said}: ..."


def _signature(function: ast.FunctionDef) -> str:
    """Name, arguments and answer."""
    function.args.defaults = [_default(default) for default in function.args.defaults]
    function.args.kw_defaults = [default and _default(default) for default in function.args.kw_defaults]
    answer = ast.unparse(function.returns) if function.returns else "None"
    return f"{function.name}({ast.unparse(function.args)}) -> {answer}"


def _default(value: ast.expr) -> ast.expr:
    """Constants as they are; what has a name elsewhere is left open."""
    return value if isinstance(value, ast.Constant) else ast.Constant(...)


if __name__ == "__main__":
    STUB.write_text(stub(), "utf-8")
