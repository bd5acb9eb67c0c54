"""The pages of the repository as tests read them: their text, their blocks, the commands in them."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def page(name: str) -> str:
    """A page's text."""
    return (ROOT / name).read_text("utf-8")


def blocks(name: str) -> list[tuple[str, str]]:
    """A page's fenced blocks in order: language and text."""
    return re.findall(r"^```(\w+)\n(.*?)^```$", page(name), re.MULTILINE | re.DOTALL)


def shell_lines(name: str) -> list[str]:
    """Every command of a page's blocks, one a line, without comments and here-documents."""
    text = page(name)
    fenced = re.findall(r"^```(\w*)\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    found = [
        body
        for language, body in fenced
        if language in ("sh", "console", "bash") or (not language and re.match(r"(\./do|forelock)\b", body))
    ]
    found += re.findall(r"^    (?:\$ )?(forelock .*)$", text, re.MULTILINE)
    joined = "\n".join(found).replace("\\\n", " ")
    joined = re.sub(r"<<'(\w+)'\n.*?^\1$", "", joined, flags=re.MULTILINE | re.DOTALL)
    return [
        line.strip() for line in joined.splitlines() if line.strip() and not line.lstrip().startswith("#")
    ]
