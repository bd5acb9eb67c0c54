"""Markdown as far as a preregistration needs it: headings, list items two deep, paragraphs, with line numbers."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

_HEADING = re.compile(r"^ {0,3}(#{1,6})\s+(.*)$")
_MARKER = re.compile(r"^(\s*)(?:[-*+]|\d{1,9}[.)])\s+(\S.*)$")
_RULE = re.compile(r"^\s*([-*_])(?:\s*\1){2,}\s*$")
MAX_DEPTH = 6
"""Items nested deeper count as if they stood at this depth."""


@dataclass
class Item:
    """A list item or a paragraph, with what stands under it."""

    line: int
    indent: int
    parts: list[str]
    """Its lines; those but the last end in what joins them: a blank, or a line end for a hard break."""
    children: list[Item] = field(default_factory=list)

    @property
    def text(self) -> str:
        """Its lines joined."""
        return "".join(self.parts)

    def go_on(self, line: str) -> None:
        """Append a line. A backslash before the line end is a hard break, and the backslash goes."""
        last = self.parts[-1]
        if (len(last) - len(last.rstrip("\\"))) % 2:
            self.parts[-1] = f"{last[:-1]}\n"
        else:
            self.parts[-1] = f"{last} "
        self.parts.append(line)


@dataclass
class Block:
    """A heading and what follows it; level 0 before the first one."""

    line: int
    level: int
    heading: str
    items: list[Item] = field(default_factory=list)


def blocks(text: str) -> list[Block]:
    """The document in order. Comments, fences and horizontal rules are passed over."""
    found, open_items = [Block(1, 0, "")], list[Item]()
    blank, in_comment = True, False
    for number, raw in enumerate(text.replace("\r\n", "\n").split("\n"), start=1):
        stripped = raw.strip()
        if in_comment or stripped.startswith("<!--"):
            in_comment = "-->" not in stripped
        elif not stripped or _RULE.match(raw) or stripped.startswith(("```", "~~~")):
            blank = True
        elif heading := _HEADING.match(raw):
            found.append(Block(number, len(heading[1]), heading[2].rstrip().rstrip("#").rstrip()))
            open_items, blank = [], True
        else:
            _line(found[-1], open_items, raw, number, after_blank=blank)
            blank = False
    return found


def _line(block: Block, open_items: list[Item], raw: str, number: int, *, after_blank: bool) -> None:
    """Put a line where it belongs: a new item, or the continuation of the one before it."""
    marker = _MARKER.match(raw)
    indent = len(raw.expandtabs(4)) - len(raw.expandtabs(4).lstrip())
    if marker is None and open_items and (indent > 0 or not after_blank):
        open_items[-1].go_on(raw.strip())
        return
    item = Item(number, indent if marker else -1, [marker[2].rstrip() if marker else raw.strip()])
    while open_items and (open_items[-1].indent >= item.indent or item.indent == 0):
        open_items.pop()
    del open_items[MAX_DEPTH:]
    (open_items[-1].children if open_items else block.items).append(item)
    open_items.append(item)
