"""The documentation pages of the statistical tests, made from the register and hand-written words.

`python -m tools.pages.tests` writes docs/tests/*.md and docs/warnings.md; `--check` says which
of them differ from what it would write. Words that no code holds (when to use a test, its formula) live
in docs/tests/words/<name>.md under the headings of `HEADINGS`.
"""

from __future__ import annotations

import argparse
import json
import re
import string
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from service.domain.comparison import warning_kinds
from service.domain.rules.feeding import DATA_FIELDS, order_of
from service.domain.rules.fields import choices
from service.stats.shared.declaring import registry, warnings
from service.stats.shared.declaring.registry import StatTest
from service.stats.shared.declaring.warnings import WarningKind
from service.words import say
from tools.pages.given_warnings import given_warnings
from tools.pages.schema_tables import plain, tables

DOCS = Path(__file__).resolve().parents[2] / "docs"
HEADINGS = (
    "When to use", "When not to use", "Minimum", "Formula", "Variants", "Reading the example",
)  # fmt: skip
MADE = "<!-- Made by `python -m tools.pages.tests`; change the words or the code, not this page. -->"
DIGITS = 6
LONGEST_LIST = 8

Words = Mapping[str, str]


def pages(docs: Path = DOCS) -> dict[str, str]:
    """Every generated page: its path below `docs`, and its text."""
    tests = registry.latest()
    words = {name: read_words(docs / "tests" / "words" / f"{name}.md") for name in tests}
    made = {f"tests/{name}.md": page(test, words[name]) for name, test in tests.items()}
    return {
        **made,
        "tests/README.md": index(tests),
        "warnings.md": warnings_page(tests),
    }


def read_words(path: Path) -> Words:
    """The hand-written words of a test by heading; every heading is there, in order, with something below."""
    parts = re.split(r"^## (.+)\n", path.read_text("utf-8"), flags=re.MULTILINE)
    words = dict(zip(parts[1::2], (part.strip() for part in parts[2::2]), strict=True))
    if tuple(words) != HEADINGS or parts[0].strip():
        raise ValueError(f"{path.name} needs the headings {', '.join(HEADINGS)}, in that order")
    empty = [heading for heading, text in words.items() if not text]
    if empty:
        raise ValueError(f"{path.name} says nothing under {', '.join(empty)}")
    return words


def page(test: StatTest[Any, Any], words: Words) -> str:
    """The page of one test."""
    model = test.words.split("\n\nReturns:")[0].partition("\n\n")[2]
    request = test.request.model_json_schema()
    analysis = test.analysis.model_json_schema(mode="serialization")
    sections = {
        "When to use it": words["When to use"],
        "When not to use it": words["When not to use"],
        "How much data it needs": words["Minimum"],
        "The model and the formula": f"{_paragraphs(model)}\n\n{words['Formula']}",
        "Variants that go by the same name": words["Variants"],
        "Example": _example(test, words["Reading the example"]),
        "How to call it": _calls(test),
        "Request": tables(request, defaults=True),
        "Answer": _answer_words(analysis),
        "Warnings it can give": _warning_list(given_warnings(test)),
        "Refused": _bullets(test.section("Raises").replace("InvalidData: ", "")),
        "Edge cases": _bullets(test.section("Edge cases")),
        "Sources": _bullets(test.section("Sources")),
    }
    body = "\n\n".join(f"## {title}\n\n{text}" for title, text in sections.items())
    return (
        f"{MADE}\n\n# {test.title}\n\n`{test.name}`, version {test.version}. {plain(test.summary)}\n\n"
        f"{body}\n\n[All statistical tests](README.md) · [All warnings](../warnings.md)\n"
    )


def index(tests: Mapping[str, StatTest[Any, Any]]) -> str:
    """The list of tests by what they are asked."""
    parts = [
        MADE,
        "# Statistical tests",
        "Each test is an endpoint, `POST /v1/tests/{name}`, a command, `forelock run NAME FILE` (`forelock tests "
        "NAME` shows it), and, where its page says so, something a locked plan can name. How often each one errs "
        "in simulated worlds is in [simulations](../simulations.md); what its warnings mean, in "
        "[warnings](../warnings.md).",
    ]
    for question, members in registry.by_question(tests.values()).items():
        rows = "\n".join(
            f"| [`{test.name}`]({test.name}.md) | {plain(test.summary)} |".replace("\\|", "|")
            for test in members
        )
        heading = say(f"pages.tests_{question}", "en")
        parts.append(f"## {heading}\n\n| test | what it does |\n| --- | --- |\n{rows}")
    return "\n\n".join(parts) + "\n"


def warnings_page(tests: Mapping[str, StatTest[Any, Any]]) -> str:
    """Every warning: its severity, sentence, citation, and the tests that can give it."""
    givers: dict[str, list[str]] = {}
    for test in tests.values():
        for kind in given_warnings(test):
            givers.setdefault(kind.code, []).append(test.name)
    parts = [
        MADE,
        "# Warnings",
        "An answer carries the warnings a reader of its number has to know, each with a code that stays, a "
        "severity and a sentence. `info` says how the number was made, `caution` asks to look twice, `serious` "
        "says that the number may mislead. Names in code stand for what the answer fills in.",
    ]
    others = {kind.code: kind for kind in warning_kinds.KINDS}
    for code, kind in sorted({**warnings.kinds(), **others}.items()):
        cited = f"\n\nShown by: {kind.citation}." if kind.citation else ""
        links = ", ".join(f"[{name}](tests/{name}.md)" for name in givers.get(code, ()))
        links = links or "[the gate](gate.md), [the score](score.md)"
        given = f"\n\nGiven by: {links}." if links else ""
        parts.append(f"## {code}\n\n**{kind.severity}.** {message(kind)}{cited}{given}")
    return "\n\n".join(parts) + "\n"


def message(kind: WarningKind) -> str:
    """The warning's sentence with the names of its values in code."""
    return "".join(
        text + (f"`{name}`" if name is not None else "")
        for text, name, _, _ in string.Formatter().parse(kind.message)
    )


def shortened(value: object) -> object:
    """An answer for the page: numbers to six digits, long lists cut, nothing that is null or empty."""
    if isinstance(value, float):
        return float(f"{value:.{DIGITS}g}")
    if isinstance(value, dict):
        return {name: shortened(inner) for name, inner in value.items() if inner not in (None, [], {})}
    if isinstance(value, list):
        shown = [shortened(inner) for inner in value[:LONGEST_LIST]]
        return [*shown, f"and {len(value) - LONGEST_LIST} more"] if len(value) > LONGEST_LIST else shown
    return value


def answer_to_example(test: StatTest[Any, Any]) -> dict[str, Any]:
    """The whole answer to the test's example, as JSON gives it."""
    request = test.request.model_validate_json(json.dumps(test.example))
    answer: dict[str, Any] = json.loads(test.answer(request).model_dump_json())
    return answer


def _example(test: StatTest[Any, Any], reading: str) -> str:
    answer = answer_to_example(test)
    analysis = {name: value for name, value in answer["analysis"].items() if name != "reasons"}
    made = ("exact", "n_resamples", "seed")
    shown = {
        "analysis": shortened(analysis),
        "warnings": [{"code": each["code"], "message": each["message"]} for each in answer["warnings"]],
        "provenance": {name: answer["provenance"][name] for name in made},
    }
    return (
        f"{reading}\n\n`request.json`:\n\n```json\n{_json(dict(test.example))}\n```\n\n"
        f"The answer, shortened (nulls, reasons and versions left out, numbers to {DIGITS} digits):\n\n"
        f"```json\n{json.dumps(shown, indent=2, ensure_ascii=False)}\n```\n\n"
        f"Where it can be checked: {plain(test.section('Example'))}"
    )


def _json(value: Mapping[str, Any]) -> str:
    """An object with one field per line."""
    fields = ",\n".join(f"  {json.dumps(name)}: {json.dumps(inner)}" for name, inner in value.items())
    return f"{{\n{fields}\n}}"


def _calls(test: StatTest[Any, Any]) -> str:
    curl = (
        f"curl -s http://127.0.0.1:8321/v1/tests/{test.name} \\\n"
        '     -H "Authorization: Bearer $FORELOCK_API_KEY" -H "Content-Type: application/json" -d @request.json'
    )
    return (
        f"Over HTTP:\n\n```sh\n{curl}\n```\n\n"
        f"On the command line:\n\n```sh\nforelock run {test.name} request.json\n```\n\n{_in_a_plan(test)}"
    )


def plan_use(test: StatTest[Any, Any]) -> dict[str, Any]:
    """An entry of a plan's `tests`, with the parameters of the example."""
    ordered = order_of(test)
    fills = () if test.plan is None else test.plan.fills
    of_plan = {*DATA_FIELDS, *(() if ordered is None else ordered.fills), *fills, "margin"}
    given = {name: value for name, value in test.example.items() if name not in of_plan}
    given |= {} if test.plan is None else test.plan.example
    name = test.name.replace("-", "_")
    return {"id": name, "test": test.name, "version": test.version, "parameters": given}


def plan_rule(test: StatTest[Any, Any]) -> str:
    """A clause that a rule could ask of the test."""
    clause = "p_value < 0.05" if test.plan is None else test.plan.clause
    return f"{plan_use(test)['id']}.{clause}"


def _in_a_plan(test: StatTest[Any, Any]) -> str:
    if test.plan is None:
        return "In a plan: it cannot be named there, so no rule rests on it."
    endpoints = " and ".join(sorted(test.plan.endpoints))
    clusters = {
        "never": "It takes items as independent: lint asks for another test where the population has clusters.",
        "required": "The population must have clusters.",
        "when_planned": "Where the population has clusters, they are used.",
    }[test.plan.clusters]
    margin = " The margin is the endpoint's SESOI." if "margin" in test.request.model_fields else ""
    comparable = ", ".join(f"`{field}`" for field in choices(test.analysis))
    return (
        f"In a plan, as an entry of `tests` (for {endpoints} endpoints):\n\n"
        f"```json\n{json.dumps(plan_use(test))}\n```\n\n"
        f"and in a rule, for example, `{plan_rule(test)}`. {clusters}{margin} "
        f"A rule can compare {comparable}."
    )


def _answer_words(schema: dict[str, Any]) -> str:
    return (
        "Every answer has `test`, `version`, `analysis`, `warnings` and `provenance` (exact or drawn, seed, "
        "library versions, SHA-256 of the input). A null field of `analysis` has its reason in `reasons`, and a "
        "number that is only a bound is named in `bounds`. `analysis` holds:\n\n"
        + tables(schema, defaults=False)
    )


def _warning_list(kinds: Sequence[WarningKind]) -> str:
    if not kinds:
        return "None."
    return "\n".join(
        f"- [`{kind.code}`](../warnings.md#{kind.code.lower()}) ({kind.severity}): {message(kind)}"
        for kind in kinds
    )


def _paragraphs(text: str) -> str:
    return "\n\n".join(plain(part) for part in text.split("\n\n"))


def _bullets(section: str) -> str:
    """A docstring section as a list: an entry ends with a full stop at the end of a line."""
    entries = re.split(r"(?<=\.)\n(?! )", section)
    return "\n".join(f"- {plain(entry)}" for entry in entries)


def stale(docs: Path = DOCS) -> list[str]:
    """Paths below `docs` that differ from what would be written, and pages of tests that are no more."""
    made = pages(docs)
    present = {f"tests/{path.name}" for path in (docs / "tests").glob("*.md")}
    differ = [
        path
        for path, text in made.items()
        if not (docs / path).is_file() or (docs / path).read_text("utf-8") != text
    ]
    return sorted({*differ, *(present - set(made))})


def main(arguments: Sequence[str] | None = None, docs: Path = DOCS) -> int:
    """Write the pages, or check them."""
    parser = argparse.ArgumentParser(prog="python -m tools.pages.tests", description=__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing; status 1 when a page is stale")
    options = parser.parse_args(arguments)
    if options.check:
        paths = stale(docs)
        sys.stdout.write("".join(f"docs/{path} is stale\n" for path in paths))
        return int(bool(paths))
    for path, text in pages(docs).items():
        (docs / path).write_text(text, "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
