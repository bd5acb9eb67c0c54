"""The site of `docs/`, as mkdocs asks for it: four shelves, the README as its first page, no link out of the tree."""

from __future__ import annotations

import re
from pathlib import Path, PurePosixPath
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
SHELVES: dict[str, tuple[str, ...]] = {
    "Start": (
        "index", "quickstart", "questions", "score", "gate", "suites", "ranking", "unpaired", "items", "series",
        "hooks",
    ),
    "How to": (
        "imports", "prereg-markdown", "deviations", "charts", "sharing", "verifying", "code-hosts", "trackers",
        "webhooks", "deployment", "operations", "scale",
    ),
    "Concepts": (
        "blinding", "states", "verdicts", "what-a-rule-asserts", "one-arm", "power-of-a-rule", "stopping-rules",
        "calibration", "evidence", "wording", "ledger", "witness", "audit", "differences", "peers",
    ),
    "Reference": (
        "settings", "errors", "warnings", "reference/plan", "reference/files", "ingest", "performance", "simulations",
        "rare-losses", "score-coverage", "suites-coverage",
        "chaos", "soak", "map",
    ),
}  # fmt: skip
"""Pages by shelf; those of tests, decisions and contributors follow in the last one."""
_LINK = re.compile(r"(?<!!)\[([^\]]+)\]\(([^)\s]+)\)")


def nav() -> list[dict[str, Any]]:
    """Every page on its shelf."""
    shelves: list[dict[str, Any]] = [
        {name: [f"{page}.md" for page in pages]} for name, pages in SHELVES.items()
    ]
    shelves[-1]["Reference"] += [
        {"Statistical tests": ["tests/README.md", *_pages("tests")]},
        {"Contributing": _pages("contributing")},
        {"Decisions": _pages("decisions")},
    ]
    return shelves


def _pages(folder: str) -> list[str]:
    pages = (ROOT / "docs" / folder).glob("*.md")
    return sorted(f"{folder}/{page.name}" for page in pages if page.name != "README.md")


def inside(text: str, page: str) -> str:
    """The page's Markdown, where links to files outside of `docs/` are their words alone.

    Example:
        `inside("[the code](../service/app.py), [more](ledger.md)", "audit.md")` is `the code, [more](ledger.md)`.
    """

    def link(match: re.Match[str]) -> str:
        words, target = match[1], match[2]
        if "://" in target or target.startswith(("#", "mailto:")):
            return match[0]
        path, _, anchor = target.partition("#")
        place = _normal(PurePosixPath("docs", page).parent / path)
        if place == PurePosixPath("README.md"):
            up = "../" * (len(PurePosixPath(page).parts) - 1)
            return f"[{words}]({up}index.md{'#' + anchor if anchor else ''})"
        return match[0] if place.parts[:1] == ("docs",) and place.suffix == ".md" else words

    return _LINK.sub(link, text)


def _normal(path: PurePosixPath) -> PurePosixPath:
    parts: list[str] = []
    for part in path.parts:
        if part == ".." and parts:
            parts.pop()
        elif part not in (".", ".."):
            parts.append(part)
    return PurePosixPath(*parts)


def first_page(readme: str) -> str:
    """The README as a page of `docs/`: its links begin there.

    Example:
        `first_page("[the ledger](docs/ledger.md)")` is `[the ledger](ledger.md)`.
    """
    return re.sub(r"(\]\()(?!\w+://|#)([^)]+)\)", lambda match: f"{match[1]}{_from_docs(match[2])})", readme)


def _from_docs(target: str) -> str:
    return target.removeprefix("docs/") if target.startswith("docs/") else f"../{target}"


def on_config(config: Any) -> Any:
    """Put every page on its shelf."""
    config.nav = nav()
    return config


def on_files(files: Any, config: Any) -> Any:
    """Add the first page."""
    from mkdocs.structure.files import File

    text = first_page((ROOT / "README.md").read_text("utf-8"))
    files.append(File.generated(config, "index.md", content=text))
    return files


def on_page_markdown(markdown: str, page: Any, **_rest: Any) -> str:
    """Keep links inside of the tree."""
    return inside(markdown, page.file.src_uri)
