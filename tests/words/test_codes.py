"""What the code says has its words, and a finding of lint has a meaning, a test and a place among the findings."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from service.domain.lint import lint
from service.words.catalogue import HOME, LANGUAGES, templates

ROOT = HOME.parents[1]
SAYING = {"say", "message", "speak"}
"""Functions whose first argument is the code of a text."""
IN_TEMPLATES = re.compile(r"""\bsay\(["']([a-z]+\.\w+)["']""")
FINDING = {"error", "warning"}
"""Functions of `domain/plans/findings.py` whose first argument is the code of a finding."""


@cache
def calls(name: str) -> list[tuple[Path, ast.Call]]:
    """Every call of a function of that name in the service."""
    return [
        (path.relative_to(ROOT), node)
        for path in sorted((ROOT / "service").rglob("*.py"))
        if f"{name}(" in (text := path.read_text("utf-8"))
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == name
    ]


def first_texts(call: ast.Call) -> Iterator[str]:
    """What a call has as its first argument, where that is spelt out; of a choice both."""
    for value in call.args[:1]:
        for one in (value.body, value.orelse) if isinstance(value, ast.IfExp) else (value,):
            if isinstance(one, ast.Constant) and isinstance(one.value, str):
                yield one.value


def read_codes() -> Iterator[tuple[str, str]]:
    """Every code that the service spells out, with where it does."""
    for name in sorted(SAYING):
        for path, call in calls(name):
            for code in first_texts(call):
                if "." in code:
                    yield f"{path}:{call.lineno}", code
    for path in sorted((ROOT / "service" / "web").rglob("*.html")):
        for code in IN_TEMPLATES.findall(path.read_text("utf-8")):
            yield str(path.relative_to(ROOT)), code


def test_every_code_that_is_said_has_its_words() -> None:
    rooms = {path.stem for path in (HOME / "en").glob("*.toml")}
    codes = [(where, *code.partition(".")[::2]) for where, code in read_codes()]
    assert len(codes) > 1000
    lacking = [
        f"{where} says {room}.{code}: write `{code}` into service/words/*/{room}.toml"
        for where, room, code in codes
        if room not in rooms or code not in templates("en", room)
    ]
    assert not lacking, "\n".join(lacking)


@cache
def finding_codes() -> dict[str, str]:
    """Every code of a finding that the service spells out, with the module that does; some are named `CODE` there."""
    codes = {
        code: str(path)
        for name in sorted(FINDING)
        for path, call in calls(name)
        if path.is_relative_to("service/domain")
        for code in first_texts(call)
    }
    for path in sorted((ROOT / "service" / "domain").rglob("*.py")):
        for code in re.findall(r'^CODE = "(\w+)"$', path.read_text("utf-8"), re.MULTILINE):
            codes[code] = str(path.relative_to(ROOT))
    return codes


def test_every_finding_has_a_meaning_in_every_language() -> None:
    lacking = [
        f"{path} gives {code}: say in service/words/{language}/codes.toml what it means of any plan, and the way out"
        for code, path in finding_codes().items()
        for language in LANGUAGES
        if code not in templates(language, "codes")
    ]
    assert not lacking, "\n".join(lacking)


def test_no_code_has_a_meaning_that_no_finding_gives() -> None:
    text = "".join(path.read_text("utf-8") for path in (ROOT / "service" / "domain").rglob("*.py"))
    unused = [code for code in templates("en", "codes") if json.dumps(code) not in text]
    assert not unused, f"service/words/*/codes.toml: nothing gives {', '.join(unused)}"


def test_every_finding_is_given_in_a_test() -> None:
    text = "".join(path.read_text("utf-8") for path in (ROOT / "tests").rglob("*.py"))
    untested = [f"{code} of {path}" for code, path in finding_codes().items() if code not in text]
    assert not untested, f"no test under tests/domain/lint names {', '.join(untested)}"


def test_every_module_of_findings_is_asked_for_them() -> None:
    text = "".join(path.read_text("utf-8") for path in (ROOT / "service").rglob("*.py"))
    for path in sorted(Path(lint.__file__).parent.glob("*.py")):
        module = f"service.domain.lint.{path.stem}"
        assert path.stem in ("__init__", "lint") or f"from {module} import" in text, (
            f"nothing asks {path.relative_to(ROOT)}: yield what it finds in `lint` of service/domain/lint/lint.py"
        )
