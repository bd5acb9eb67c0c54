"""What follows from the declared harnesses and events: lists of the client, and tables of the docs.

`python -m tools.pages.registers` writes them; a test compares them.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from service.domain.outgoing import EVENTS, WEBHOOK_FORMATS, Event
from service.domain.plans.importing.imports import FORMATS
from service.ingest.harnesses.registry import every

ROOT = Path(__file__).resolve().parents[2]
CLIENT = ROOT / "client" / "forelock"
IMPORTS, WEBHOOKS = ROOT / "docs" / "imports.md", ROOT / "docs" / "webhooks.md"
MADE = "Made by `python -m tools.pages.registers`; change what is declared in the service, not this module."
_LONGEST = 120
"""Characters of a line of code."""


def made() -> Mapping[Path, str]:
    """Every file as the declarations say it now."""
    return {
        CLIENT / "formats.py": _formats(),
        CLIENT / "events.py": _events(),
        IMPORTS: _filled(IMPORTS, {"harnesses": _harness_rows(), "contents": _content_rows()}),
        WEBHOOKS: _filled(WEBHOOKS, {"events": _event_rows()}),
    }


def _formats() -> str:
    """How the command knows a file's format: it has no server to ask before it sends one."""
    surest = sorted(every(), key=lambda harness: harness.doubt)
    marks = {_bytes(mark): harness.formats[0] for harness in surest for mark in harness.marks}
    patterns = [(pattern, harness.formats[0]) for harness in every() for pattern in harness.names]
    # A whole name is surer than a pattern.
    names = {_quoted(pattern): form for pattern, form in sorted(patterns, key=lambda pair: "*" in pair[0])}
    headers = {_bytes(harness.header): harness.formats[0] for harness in every() if harness.header}
    suffixes = {_quoted(suffix): form for harness in every() for suffix, form in harness.suffixes.items()}
    together = [form for harness in every() if harness.together for form in harness.formats]
    wanted = {_quoted(harness.formats[0]): " ".join(harness.wanted) for harness in every() if harness.wanted}
    fields = {form: list(mapping.model_fields) for form, mapping in FORMATS.items()}
    shared = [name for name in next(iter(fields.values())) if all(name in each for each in fields.values())]
    own = {
        _quoted(form): " ".join(name for name in names if name not in shared)
        for form, names in fields.items()
    }
    return "\n".join(
        [
            f'"""Formats of result files, and what tells them apart.\n\n{MADE}\n"""',
            "",
            "from __future__ import annotations",
            "",
            *_tuple("FORMATS", FORMATS),
            *_tuple("TOGETHER", together),
            '"""Formats of which one run is several files."""',
            *_dict("WANTED", wanted),
            '"""Names of the files that are read of a folder, where it holds many others."""',
            *_tuple("LINES", shared),
            '"""Lines that the `import` section of every format may have."""',
            *_dict("OWN_LINES", own),
            '"""Those of one format beside them."""',
            *_dict("NAMES", names),
            '"""Patterns of names: one such file tells what all are."""',
            *_dict("SUFFIXES", suffixes),
            *_dict("HEADERS", headers),
            '"""Columns that the first line of a CSV has."""',
            *_dict("MARKS", marks),
            '"""What the first bytes of a JSON file hold, the surest first."""',
            "",
        ]
    )


def _events() -> str:
    head = [
        f'"""Events that a webhook may ask for, and shapes of its messages.\n\n{MADE}\n"""',
        "",
        "from __future__ import annotations",
        "",
    ]
    return "\n".join([*head, *_tuple("EVENTS", EVENTS), *_tuple("FORMATS", WEBHOOK_FORMATS), ""])


def _tuple(name: str, texts: Iterable[str]) -> list[str]:
    return [f"{name} = (", *(f"    {_quoted(text)}," for text in texts), ")"]


def _dict(name: str, entries: Mapping[str, str]) -> list[str]:
    return [f"{name} = {{", *(line for key, form in entries.items() for line in _entry(key, form)), "}"]


def _entry(key: str, text: str) -> list[str]:
    """One entry; a text that makes its line too long stands on several."""
    whole = f"    {key}: {_quoted(text)},"
    if len(whole) <= _LONGEST:
        return [whole]
    lines = textwrap.wrap(text, _LONGEST - len('        " "'), break_on_hyphens=False)
    parts = [_quoted(line + " " * (number < len(lines))) for number, line in enumerate(lines, start=1)]
    return [f"    {key}: (", *(f"        {part}" for part in parts), "    ),"]


def _quoted(text: str) -> str:
    return f'"{text}"'


def _bytes(text: str) -> str:
    return f"b'{text}'" if '"' in text else f'b"{text}"'


def _harness_rows() -> Iterator[str]:
    yield "| Format | Reads | By itself | The plan has to say |"
    yield "|---|---|---|---|"
    for harness in every():
        row, names = harness.row, ", ".join(f"`{name}`" for name in harness.formats)
        yield f"| {row.title}: {names} | {row.reads} | {row.by_itself} | {row.to_say} |"


def _content_rows() -> Iterator[str]:
    yield "| Format | Input | Target |"
    yield "|---|---|---|"
    for harness in every():
        places = [", else ".join(f"`{name}`" for name in place.split("|")) for place in harness.content]
        if places:
            yield f"| {harness.row.title} | {places[0]} | {places[1] if len(places) > 1 else ''} |"
    others = [harness.row.title for harness in every() if not harness.content]
    yield f"| {', '.join(others)} | does not tell it | |"


def _event_rows() -> Iterator[str]:
    yield "| Event | Beside id, title, address and receipt |"
    yield "|---|---|"
    for event in Event:
        members = ", ".join(f"`{name}`" for name in event.value.repeats)
        yield f"| `{event.value.name}` | {'; '.join(filter(None, (members, event.value.adds))) or 'nothing'} |"


def _filled(page: Path, parts: Mapping[str, Iterator[str]]) -> str:
    """A page with the lines of each name between its marks of that name."""
    text = page.read_text("utf-8")
    for name, lines in parts.items():
        begin, end = f"<!-- {name}: made by `./do pages` -->", f"<!-- end of {name} -->"
        inside = re.compile(f"{re.escape(begin)}\n.*?{re.escape(end)}", re.DOTALL)
        if not inside.search(text):
            raise ValueError(f"{page.name} has no place for its {name}: write {begin} and {end} there")
        before, after = inside.split(text, maxsplit=1)
        text = "\n".join([before + begin, *lines, end + after])
    return text


def main() -> None:
    """Write them."""
    for path, text in made().items():
        path.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
