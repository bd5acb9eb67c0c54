"""A plan as EXPERIMENTS_PREREG.md, in English or Chinese: for people, and read back without loss."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from service.domain.plans.plan import Plan
from service.reports.prereg.labels import FIELDS, NO_SECTION, SECTIONS, TITLE, gloss
from service.reports.prereg.text import code, json_span, write_item
from service.words import Language, say
from service.words.punctuation import colon, in_parentheses

_DEFAULTS = {
    "replicates": 1,
    "parameters": {},
    "visibility": "private",
    "family": [],
    "on_difference": "flag",
    "estimand": "these_tasks",
}
_HEADS = {"authors": ("name",), "hypotheses": ("id", "statement", "rule"), "thresholds": ("name",)}
"""Members that stand in an entry's first line, or in a section of their own."""


def print_plan(plan: Plan, language: Language = "en") -> str:
    """Return the plan as Markdown. Absent sections are left out; `parse_plan` gives back the same plan."""
    parts = [f"# {TITLE.of(language)}", say("prereg.note", language), *front_of(plan, language)]
    for key, heading in SECTIONS.items():
        body = section_of_plan(plan, key, language)
        if body is not None:
            parts += [f"## {heading.of(language)}", body]
    parts += rest_of(plan)
    return "\n\n".join(parts) + "\n"


_FRONT = {name.partition(".")[0] for name in FIELDS[NO_SECTION]}


def front_of(plan: Plan, language: Language) -> Iterator[str]:
    """Yield what stands before the sections: the title and days, labelled."""
    value = plan.as_dict()
    front = {name: value[name] for name in value if name in _FRONT}
    lines = [*_fields(NO_SECTION, front, language, "")]
    if lines:
        yield "\n".join(lines)


def section_of_plan(plan: Plan, key: str, language: Language) -> str | None:
    """Return the body of a section; None where the plan has none, and a word where it says that there is nothing."""
    body = _print_section(key, plan.as_dict(), language)
    return None if body is None else body or say("prereg.none", language)


def rest_of(plan: Plan) -> list[str]:
    """Return parts of a plan that have no section, as JSON."""
    known = {*_FRONT, *SECTIONS}
    return [
        f"- {code(name)}: {json_span(rest)}" for name, rest in plan.as_dict().items() if name not in known
    ]


def _print_section(key: str, value: Mapping[str, Any], language: Language) -> str | None:
    """Print a section of a plan in Markdown; None where the plan lacks it."""
    content = value.get("hypotheses" if key == "rules" else key)
    if content is None or (key == "rules" and not content):
        return None
    if key == "rules":
        return "\n".join(
            f"- **{hypothesis['id']}**{colon(language)}{code(hypothesis['rule'])}" for hypothesis in content
        )
    if key == "sesoi":
        return "\n".join(
            f"- **{write_item(name)}**{colon(language)}{_margin(margin)}" for name, margin in content.items()
        )
    if key == "missing":
        content = {"missing": content}
    if not SECTIONS[key].listed:
        return "\n".join(_fields(key, content, language, ""))
    return "\n".join(line for entry in content for line in _entry(key, entry, language))


def _entry(key: str, entry: Mapping[str, Any], language: Language) -> Iterator[str]:
    heads = _HEADS.get(key, ("id",))
    statement = f"{colon(language)}{write_item(entry['statement'])}" if key == "hypotheses" else ""
    yield f"- **{write_item(entry[heads[0]])}**{statement}"
    rest = {name: value for name, value in entry.items() if name not in heads}
    yield from _fields(key, rest, language, "  ")


def _fields(key: str, values: Mapping[str, Any], language: Language, indent: str) -> Iterator[str]:
    """Labelled lines in the order of the labels; what has no label keeps the name it has in JSON."""
    flat = _flat(key, values)
    for name in [
        *(known for known in FIELDS[key] if known in flat),
        *(n for n in flat if n not in FIELDS[key]),
    ]:
        value, label = flat[name], FIELDS[key].get(name)
        if name in _DEFAULTS and value == _DEFAULTS[name]:
            continue
        if label is None or value == []:  # an empty list has no code span to be read back from
            yield f"{indent}- {code(name)}{colon(language)}{json_span(value)}"
        else:
            yield f"{indent}- {label.of(language)}{colon(language)}{_print_value(label.kind, name, value, language)}"


def _flat(key: str, values: Mapping[str, Any]) -> dict[str, Any]:
    """Members of nested parts that have labels, by dotted name."""
    flat: dict[str, Any] = {}
    for name, value in values.items():
        inner = (
            {f"{name}.{part}": member for part, member in value.items()} if isinstance(value, dict) else {}
        )
        if inner and set(inner) <= set(FIELDS[key]):
            flat |= inner
        else:
            flat[name] = value
    return flat


def _print_value(kind: str, name: str, value: Any, language: Language) -> str:
    """Print a value of a plan in Markdown, by the kind of its field."""
    match kind:
        case "text":
            return write_item(value)
        case "token":
            if isinstance(value, dict):  # weights by task stand where a word may
                return json_span(value)
            meaning = gloss(name, value, language)
            return code(value) if meaning is None else f"`{value}`{in_parentheses(meaning, language)}"
        case "tokens":
            return say("lists.comma", language).join(map(code, value))
        case "numbers":
            return say("lists.comma", language).join(json_span(number) for number in value)
        case _:
            return json_span(value)


def _margin(margin: Mapping[str, Any]) -> str:
    value = margin["value"]
    return f"±{int(value) if float(value).is_integer() else value} {margin['unit']}"
