"""Every regular expression of service and client takes steps that grow no faster than the text it reads.

What strangers send is read by many of them, and while Python's engine works nobody else in the process goes on.
`tests/backtracking.py` counts the steps.
"""

from __future__ import annotations

import ast
import importlib
import re
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from forelock.counting import count_values
from tests.backtracking import Counter, TooManySteps, parsed, pumps

ROOT = Path(__file__).resolve().parents[1]
METHODS = ("match", "fullmatch", "search", "sub", "split", "findall", "finditer", "subn")
SHORT, LEAST_REPEATS, FASTER = 48, 16, 2.8
"""Characters, and repeats, of the shorter of two texts; growth to twice as many that no linear pattern has."""
FEW_STEPS = 6
"""Of a character: what takes no more of a text is not tried on a longer one; a quadratic pattern takes far more."""
ENDINGS = ("", "\x00")
FOLDED = ("service/domain/wording/", "service/reports/prereg/")
"""Rooms whose patterns read text in which runs of blanks are one; whole texts are tried in tests/journeys."""
TAKEN: Mapping[str, str] = {
    "service/domain/rules/claims/margins.py": "a statement has 2,000 characters at most",
    "service/ingest/documents/json_slices.py": "the first quote that nothing closes ends the reading",
    "service/store/database/guards.py": "it reads the statements of our own migrations",
}
"""Modules whose patterns may grow faster, and why no text is long enough for that to matter."""


@dataclass(frozen=True, slots=True)
class Site:
    """A pattern where it stands, and how it is used."""

    place: str
    pattern: str | bytes
    flags: int
    methods: frozenset[str]

    def __str__(self) -> str:
        return f"{self.place}: {self.pattern!r}"


def steps(counter: Counter, text: str, methods: frozenset[str]) -> int:
    """The most that any of the uses takes."""
    taken = []
    if methods & {"match"}:
        taken.append(counter.match(text))
    if methods & {"fullmatch"}:
        taken.append(counter.match(text, full=True))
    if methods - {"match", "fullmatch"}:
        taken.append(counter.search(text))
    return max(taken)


def fault(pattern: str | bytes, flags: int, methods: frozenset[str]) -> str | None:
    """A text whose double takes far more than twice the steps; None where there is none."""
    nodes, flags = parsed(pattern, flags)
    counter = Counter(nodes, flags)
    for begin, body in sorted(pumps(nodes, flags)):
        for ending in ENDINGS:
            times = max(SHORT // len(body), LEAST_REPEATS)
            texts = [begin + body * n + ending for n in (times, 2 * times)]
            try:
                short = steps(counter, texts[0], methods)
                if short > FEW_STEPS * len(texts[0]) and steps(counter, texts[1], methods) > FASTER * short:
                    return texts[0]
            except TooManySteps:
                return texts[0]
    return None


@pytest.fixture(autouse=True)
def _deep() -> Iterator[None]:
    """Matching a text takes a few frames for each of its characters."""
    before = sys.getrecursionlimit()
    sys.setrecursionlimit(50_000)
    yield
    sys.setrecursionlimit(before)


@pytest.mark.parametrize(
    ("pattern", "method"),
    [
        (r"(a+)+$", "match"),
        (r"(a|a)*b", "match"),
        (r"\s*\s*x", "match"),
        (r".*?,.*?,.*?,x", "match"),
        (r"\s+$", "search"),
        (r"<!-- mark -->.*?<!-- end -->", "search"),
        (r"(?:\w+\s?)+:", "match"),
        (r"(\w+)\s*=\1", "search"),
    ],
)
def test_a_pattern_that_grows_faster_is_seen(pattern: str, method: str) -> None:
    assert fault(pattern, re.DOTALL, frozenset({method})) is not None


@pytest.mark.parametrize(
    ("pattern", "method"),
    [
        (r"a+b", "match"),
        (r"(?:[^,]*+,)*+x", "match"),
        (r"\s++$", "match"),
        (r"[a-z]{1,64}(?:\.[a-z]{1,64}){0,3}", "search"),
        (r'"(?:[^"\\]++|\\.)*+"', "match"),
        (r"^ {0,3}(#{1,6})\s+(.*)$", "match"),
    ],
)
def test_a_pattern_that_is_linear_is_let_be(pattern: str, method: str) -> None:
    assert fault(pattern, 0, frozenset({method})) is None


def test_steps_are_those_of_the_definition() -> None:
    """`a*b` on n letters a: n + 1 starts, of which the k-th takes k letters and gives each back."""

    def taken(n: int) -> int:
        nodes, flags = parsed("a*b", 0)
        return Counter(nodes, flags).search("a" * n)

    # second differences of a quadratic are constant
    seconds = [taken(n + 2) - 2 * taken(n + 1) + taken(n) for n in (10, 20, 40)]
    assert seconds[0] == seconds[1] == seconds[2] > 0


@cache
def sites() -> tuple[Site, ...]:
    """Every pattern that the source compiles or uses, as far as it is known before a text is read."""
    found: dict[tuple[str | bytes, int], Site] = {}
    for path in sorted([*(ROOT / "service").rglob("*.py"), *(ROOT / "client" / "forelock").rglob("*.py")]):
        base = ROOT / "client" if "client" in path.relative_to(ROOT).parts[:1] else ROOT
        text = path.read_text("utf-8")
        if not re.search(r"\bre\.", text):
            continue
        parts = path.relative_to(base).with_suffix("").parts
        module = importlib.import_module(".".join(parts).removesuffix(".__init__"))
        tree = ast.parse(text)
        for pattern, flags, methods in _of_module(module, tree):
            key = pattern, flags
            before = found[key].methods if key in found else frozenset()
            found[key] = Site(str(path.relative_to(ROOT)), pattern, flags, before | methods)
    return tuple(found.values())


def _of_module(module: ModuleType, tree: ast.Module) -> Iterator[tuple[str | bytes, int, frozenset[str]]]:
    used: dict[str, set[str]] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and node.attr in METHODS:
            used.setdefault(ast.unparse(node.value), set()).add(node.attr)
    for name, value in vars(module).items():
        for pattern in _compiled(value):
            yield pattern.pattern, pattern.flags, frozenset(used.get(name, {"search"}))
    for node in ast.walk(tree):
        is_call = isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)
        if is_call and ast.unparse(node.func.value) == "re" and node.func.attr in METHODS:
            pattern = _evaluated(node.args[0], module)
            if isinstance(pattern, str | bytes):
                yield pattern, _flags(node, module), frozenset({node.func.attr})


def _compiled(value: Any, depth: int = 0) -> Iterator[re.Pattern[Any]]:
    """Patterns in a value of a module, also in its tuples, tables and records."""
    if isinstance(value, re.Pattern):
        yield value
    elif depth < 4 and isinstance(value, tuple | list | set | frozenset):
        for part in value:
            yield from _compiled(part, depth + 1)
    elif depth < 4 and isinstance(value, Mapping):
        for part in value.items():
            yield from _compiled(part, depth + 1)
    elif depth < 4 and not isinstance(value, type) and hasattr(value, "__dataclass_fields__"):
        for name in value.__dataclass_fields__:
            yield from _compiled(getattr(value, name, None), depth + 1)


def _evaluated(node: ast.expr, module: ModuleType) -> Any:
    """What an expression is by the names of its module; a part that is not known there stands for a word."""
    if isinstance(node, ast.JoinedStr):
        known = [
            _evaluated(part.value, module) if isinstance(part, ast.FormattedValue) else part.value
            for part in node.values
            if isinstance(part, ast.FormattedValue | ast.Constant)
        ]
        return "".join(part if isinstance(part, str) else "unit" for part in known)
    try:
        return eval(compile(ast.Expression(node), "pattern", "eval"), dict(vars(module)))
    except (NameError, AttributeError, TypeError):
        return None


def _flags(call: ast.Call, module: ModuleType) -> int:
    given = [each.value for each in call.keywords if each.arg == "flags"]
    given += [each for each in call.args[1:] if ast.unparse(each).startswith("re.")]
    return int(_evaluated(given[0], module)) if given else 0


def test_most_patterns_of_the_source_are_found() -> None:
    """That what follows looks at something: those that the source names are there."""
    known = {site.place for site in sites()}
    assert {"service/ingest/documents/json_slices.py", "client/forelock/counting.py"} <= known
    assert len(sites()) > 100


STRANGERS = [site for site in sites() if not site.place.startswith(FOLDED) and site.place not in TAKEN]


@pytest.mark.parametrize("site", STRANGERS, ids=str)
def test_no_pattern_takes_steps_that_grow_faster_than_its_text(site: Site) -> None:
    text = fault(site.pattern, site.flags, site.methods)
    assert text is None, f"{site} on {text!r}"


def broken_before_3_11_5(nodes: Any, *, inside: bool = False) -> bool:
    """Whether a possessive repeat or an atomic group holds a repeat with something behind it that may not match.

    CPython 3.11.0 to 3.11.4 end such a repeat within its last, broken turn (gh-106052), and Debian 12 has 3.11.2.
    """
    nodes = list(nodes)
    for at, (op, value) in enumerate(nodes):
        name = str(op)
        repeat = name in ("MAX_REPEAT", "MIN_REPEAT", "POSSESSIVE_REPEAT")
        if inside and repeat and at < len(nodes) - 1:
            return True
        within = inside or name == "ATOMIC_GROUP" or (name == "POSSESSIVE_REPEAT" and not _is_one(value[2]))
        if any(broken_before_3_11_5(each, inside=within) for each in _bodies(name, value)):
            return True
    return False


def _is_one(body: Any) -> bool:
    return len(body) == 1 and str(body[0][0]) in ("LITERAL", "NOT_LITERAL", "IN", "ANY")


def _bodies(name: str, value: Any) -> list[Any]:
    if name.endswith("_REPEAT"):
        return [value[2]]
    if name == "SUBPATTERN":
        return [value[3]]
    if name == "BRANCH":
        return list(value[1])
    if name in ("ASSERT", "ASSERT_NOT"):
        return [value[1]]
    return [value] if name == "ATOMIC_GROUP" else []


@pytest.mark.parametrize(
    ("pattern", "broken"),
    [
        ("(?:ab?c)++", True),
        ("(?:ab?c){1,3}+", True),
        ("(?>(?:ab?c)+)", True),
        ("(?:ab?c)+", False),
        ("(?:[ab]++|c.)*+", False),
        ("[ab]*+c", False),
    ],
)
def test_repeats_that_an_old_python_breaks_are_seen(pattern: str, broken: bool) -> None:
    assert broken_before_3_11_5(parsed(pattern, 0)[0]) is broken


def test_no_pattern_has_a_repeat_that_the_python_of_debian_12_breaks() -> None:
    assert [str(site) for site in sites() if broken_before_3_11_5(parsed(site.pattern, site.flags)[0])] == []


def test_nobody_is_kept_waiting_by_a_string_that_nothing_ends() -> None:
    """Quotes of it were looked at as beginnings of strings, each to the end."""
    assert count_values(b"[" * 3 + b'"' + b'\\"' * 200_000, 2) == 3
