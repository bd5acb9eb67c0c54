"""Which warnings a statistical test can give, read from what its code can reach."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import fields
from functools import cached_property
from types import CodeType, FunctionType, ModuleType
from typing import Any

from service.stats.shared.declaring.registry import Blocks, StatTest
from service.stats.shared.declaring.warnings import WarningKind

OURS = "service.stats"


def given_warnings(test: StatTest[Any, Any]) -> tuple[WarningKind, ...]:
    """Every warning named by a function or class that the test's function can reach, by code.

    Names and closures are followed, not values: a class that is reached counts with all its methods.
    """
    seen: set[int] = set()
    given: dict[str, WarningKind] = {}
    open_: list[object] = [test.compute, test.request]
    while open_:
        thing = open_.pop()
        if isinstance(thing, WarningKind):
            given[thing.code] = thing
        elif id(thing) not in seen:
            seen.add(id(thing))
            open_ += _named_by(thing)
    return tuple(given[code] for code in sorted(given))


def _named_by(thing: object) -> Iterator[object]:
    match thing:
        case FunctionType(__module__=module) if module.startswith(OURS):
            names = set(_names(thing.__code__))
            yield from _known(names, thing.__globals__)
            yield from (cell.cell_contents for cell in thing.__closure__ or ())
        case type(__module__=module) if module.startswith(OURS):
            yield from vars(thing).values()
            yield from thing.__bases__
        case property(fget=inner) | cached_property(func=inner):
            yield inner
        case classmethod(__func__=inner) | staticmethod(__func__=inner):
            yield inner
        case Blocks():
            yield from (getattr(thing, field.name) for field in fields(thing))
        case {**values}:
            yield from values.values()
        case tuple():
            yield from thing
        case _ if hasattr(type(thing), "cache_clear"):  # functools.cache
            yield getattr(thing, "__wrapped__", None)


def _known(names: set[str], within: Mapping[str, object]) -> Iterator[object]:
    """What these names stand for, and for a module of ours what they stand for inside it: `boards.told_best`."""
    for name in names & within.keys():
        match within[name]:
            case ModuleType(__name__=module) as ours if module.startswith(OURS):
                yield from (vars(ours)[each] for each in names & vars(ours).keys())
            case thing:
                yield thing


def _names(code: CodeType) -> Iterator[str]:
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _names(constant)
