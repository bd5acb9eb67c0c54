"""What somebody reads on a page: its texts, without code and without what they wrote themselves."""

from __future__ import annotations

import re
from collections.abc import Collection
from html.parser import HTMLParser

VOID = {"meta", "link", "input", "br", "img", "hr", "source"}
UNREAD = {"script", "style", "code", "pre", "textarea", "time"}
"""Code, and what somebody typed."""
INLINE = {"a", "b", "em", "strong", "span", "small", "i", "sup", "sub", "abbr", "tspan", *UNREAD}
SPOKEN = ("aria-label", "alt", "placeholder", "title", "data-label", "label")
"""Attributes that are read aloud, or shown by a style sheet."""
WORD = r"[A-Za-z][A-Za-z'’]*(?:-[A-Za-z]+)*"
RUN = re.compile(rf"{WORD}(?:[ ,;:()/]+{WORD})*")


class Visible(HTMLParser):
    """The texts of a page, a line for every block and for every attribute that is spoken.

    Works that are cited stand in the language that they were written in.
    """

    def __init__(self, html: str) -> None:
        super().__init__()
        self.text = ""
        self.marked: list[str] = []
        """Texts of elements that say that they are English, but for the link to the page in English."""
        self.open: list[tuple[str, bool, bool]] = []
        """Elements that are open: their tag, whether their text is not read, and whether they are silent."""
        self.feed(html)

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        known = dict(attributes)
        unread = tag in UNREAD or known.get("class") == "sources" or (bool(self.open) and self.open[-1][1])
        silent = known.get("aria-hidden") == "true" or (bool(self.open) and self.open[-1][2])
        if not silent:
            self.text += "".join(f"\n{known[name]}\n" for name in SPOKEN if known.get(name))
        self.text += "·" if tag in UNREAD else "" if tag in INLINE else "\n"
        if known.get("lang") == "en" and not unread and "hreflang" not in known:
            self.marked.append("")
        if tag not in VOID:
            self.open.append((tag, unread, silent))

    def handle_endtag(self, tag: str) -> None:
        while self.open and self.open.pop()[0] != tag:
            pass
        self.text += "" if tag in INLINE else "\n"

    def handle_data(self, data: str) -> None:
        if not (self.open and self.open[-1][1]):
            self.text += data.replace("\n", " ")
            if self.marked and not self.marked[-1]:
                self.marked[-1] = data


def english_runs(html: str, names: Collection[str], least: int = 3) -> list[str]:
    """Runs of so many English words on a page, or more, that are not made of proper names alone; and every text that
    is marked as English.
    """
    page = Visible(html)
    runs = [run[0] for run in RUN.finditer(page.text)]
    told = [
        run
        for run in runs
        if len(words := re.findall(WORD, run)) >= least and not names >= {word.lower() for word in words}
    ]
    return [*told, *(f"en: {text}" for text in page.marked)]
