"""Markdown as far as a preregistration needs it: headings, list items two deep, paragraphs, with line numbers."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

_HEADING = re.compile(r"^ {0,3}(#{1,6})\s+(.*)$")
_MARKER = re.compile(r"^(\s*)(?:[-*+]|\d{1,9}[.)])\s+(\S.*)$")
_RULE = re.compile(r"^\s*([-*_])(?:\s*\1){2,}\s*$")
_UNDERLINE = re.compile(r"^ {0,3}([=-])\1*\s*$")
_FENCE = re.compile(r"^\s*(?:`{3,}|~{3,})\s*(?:[A-Za-z0-9_+\-]{0,20}\s*$)?(.*)$")
"""The marks of a fence and the name of a language; what else stands there is a line like any other."""
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
        """The lines of the item, joined to one text."""
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
    unclosed: int = 0
    """The line of a comment in it that never ends, or 0."""


def blocks(text: str) -> list[Block]:
    """Return the document in order. Comments, the marks of fences and horizontal rules are passed over."""
    document, open_items = [Block(1, 0, "")], list[Item]()
    blank, comment = True, 0
    for number, line in enumerate(text.replace("\r\n", "\n").split("\n"), start=1):
        raw, comment = _drop_comments(line, number, comment)
        stripped = raw.strip()
        if not stripped:
            blank = blank or not line.strip()
        elif underline := _find_underlined(open_items, raw, after_blank=blank):
            item = open_items[0]
            document[-1].items.remove(item)
            document.append(Block(item.line, underline, item.text))
            open_items, blank = [], True
        elif _RULE.match(raw):
            blank = True
        elif fence := _FENCE.match(raw):
            blank = True
            if fence[1]:
                open_items = []
                _line(document[-1], open_items, fence[1], number, after_blank=True)
        elif heading := _HEADING.match(raw):
            document.append(Block(number, len(heading[1]), heading[2].rstrip().rstrip("#").rstrip()))
            open_items, blank = [], True
        else:
            _line(document[-1], open_items, raw, number, after_blank=blank)
            blank = False
    document[-1].unclosed = comment
    return document


def _drop_comments(line: str, number: int, comment: int) -> tuple[str, int]:
    """Return the line without its comments, and the number of the line where the one began that is still open, or 0."""
    if not comment and not line.lstrip().startswith("<!--"):
        return line, 0
    pieces = []
    while line:
        if comment:
            _, ends, line = line.partition("-->")
            comment = 0 if ends else comment
        else:
            before, begins, line = line.partition("<!--")
            pieces.append(before)
            comment = number if begins else 0
    return "".join(pieces), comment


def _find_underlined(open_items: list[Item], raw: str, *, after_blank: bool) -> int:
    """Return the level of the heading that this line makes of the paragraph of one line above it; 0: of none."""
    mark = _UNDERLINE.match(raw)
    alone = len(open_items) == 1 and open_items[0].indent < 0 and len(open_items[0].parts) == 1
    return (1 if mark[1] == "=" else 2) if mark and alone and not after_blank else 0


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
