"""The site of `docs/`, as mkdocs asks for it: four shelves, each page with what it is for, no link out of the tree.

`python -m tools.pages.site` writes the shelves into the front page, `docs/README.md`; a test compares them.
"""

from __future__ import annotations

import re
from pathlib import Path, PurePosixPath
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
FRONT = ROOT / "docs" / "README.md"
SHELVES: dict[str, dict[str, str]] = {
    "Learn": {
        "questions": "what result files answer by themselves, question by question: read this first",
        "quickstart": "from an empty file to a verdict, in ten minutes",
        "leaderboards": "three public evaluations, and what their tables tell and leave open",
        "glossary": "every word used here, in English and Chinese",
    },
    "Do": {
        "score": "one system, one file: meets, falls short or cannot tell",
        "gate": "two files: better, no worse, worse or cannot tell, and how many more would",
        "suites": "`--suite task`: the mean of the tasks, who lost, no task loses more than so much",
        "ranking": "tiers, the ranks that data leave open, gaps",
        "resolution": "before a run, or of two published accuracies: how large a difference so many items show",
        "unpaired": "online traffic, another draw, two halves of a log",
        "items": "which items measure nothing",
        "series": "looked at as often as you like, and one comparison that grows",
        "imports": "each harness, what its files leave open, and the line to write",
        "hooks": "rows that post themselves while an evaluation runs",
        "prereg-markdown": "`EXPERIMENTS_PREREG.md` in and out, in English or Chinese",
        "labels": "which items people label, drawn by the plan, and how their labels come in",
        "one-arm": "at least so much, with a reference in the place of a baseline",
        "arms": "model, prompt, decoding and harness of every arm, and results of another system",
        "deviations": "departing from a locked plan",
        "sharing": "private, by link, public: who sees what",
        "verifying": "one file, one command, no network",
        "standards": "NIST, the EU code, NeurIPS, REFORMS: checklists filled from the record",
        "charts": "SVG, PNG, PDF, LaTeX, light and dark, English and Chinese",
        "code-hosts": "checks, comments, exit status",
        "trackers": "verdicts on MLflow runs, links elsewhere, badges",
        "webhooks": "events, signed, to an address or a chat",
        "typescript": "types made from the description, and ten lines that were run",
        "r": "ten lines with httr2 that were run",
        "mcp": "an agent asks and reads, and a person locks",
        "deployment": "containers, Postgres, the proxy in front",
        "sign-in": "OpenID Connect for the pages: groups to projects and scopes",
        "artefacts": "files of imports, kept sealed in the data directory or a bucket",
        "operations": "backup, restore, systemd",
        "scale": "more machines, and how far the design goes",
    },
    "Look up": {
        "reference/plan": "every field of a plan",
        "questions-for-programs": "JSON, exit status, Every Eval Ever, HTTP",
        "bundle": "members of the zip, and how much of a stranger's file is read",
        "reference/files": "CSV, NDJSON and JSON, column by column",
        "tests/README": "every statistical test: when to use it, when not, what it computes",
        "warnings": "what each warning means",
        "errors": "every refusal, by code, with its way out",
        "settings": "environment variables",
        "ingest": "limits of size",
        "performance": "how fast it is, beside other packages",
        "simulations": "how often each test errs where the truth is known",
        "rare-losses": "how often a loss that was not seen passes",
        "score-coverage": "how often it holds the truth, beside what others print",
        "suites-coverage": "how often it holds the truth",
        "chaos": "what kills do to it",
        "soak": "what an hour of load does",
        "map": "a line for every module",
    },
    "Understand": {
        "blinding": "how outcomes stay sealed, and what that does not cover",
        "states": "amendments, run tokens, closing early, withdrawing, families",
        "verdicts": "missing results, exclusions, slices, repeats, what stands against it",
        "what-a-rule-asserts": "what follows from a rule, and what does not",
        "power-of-a-rule": "attainable p, level and power, before the lock",
        "stopping-rules": "looking before the end",
        "calibration": "flipped labels and reversed choices",
        "evidence": "the five-evidence card",
        "wording": "claims that go beyond their statistics",
        "ledger": "one log of all that happened",
        "witness": "time stamps from outside",
        "audit": "who did what, and when",
        "differences": "scipy, statsmodels, mlxtend, sacrebleu, row by row",
        "peers": "how often each calls equal systems different",
    },
}
"""Pages by shelf, with what each is for; those of single tests, decisions and contributors follow in nav."""
_LINK = re.compile(r"(?<!!)\[([^\]]+)\]\(([^)\s]+)\)")
_SHELVES = re.compile(r"(?<=<!-- shelves -->\n).*(?=<!-- end -->)", re.DOTALL)


def nav() -> list[dict[str, Any]]:
    """Every page on its shelf."""
    shelves: list[dict[str, Any]] = [
        {name: [f"{page}.md" for page in pages]} for name, pages in SHELVES.items()
    ]
    shelves[0]["Learn"].insert(0, "README.md")
    shelves[2]["Look up"].append({"One statistical test": _pages("tests")})
    shelves[3]["Understand"] += [
        {"Decisions": _pages("decisions")},
        {"Contributing": _pages("contributing")},
    ]
    return shelves


def _pages(folder: str) -> list[str]:
    pages = (ROOT / "docs" / folder).glob("*.md")
    return sorted(f"{folder}/{page.name}" for page in pages if page.name != "README.md")


def front() -> str:
    """The front page with its shelves as declared here; what stands around them is written by hand."""
    lines: list[str] = []
    for name, pages in SHELVES.items():
        lines += ["", f"### {name}", ""]
        lines += [f"- [{_title(page)}]({page}.md): {purpose}" for page, purpose in pages.items()]
    shelves = "\n".join([*lines, "", ""])
    return _SHELVES.sub(lambda _: shelves, FRONT.read_text("utf-8"))


def _title(page: str) -> str:
    text = (ROOT / "docs" / f"{page}.md").read_text("utf-8")
    heading = re.search(r"^# (.+)$", text, re.MULTILINE)
    if heading is None:
        raise LookupError(f"docs/{page}.md has no title")
    return heading[1]


def inside(text: str, page: str) -> str:
    """The page's Markdown, where links to files outside of `docs/` are their words alone.

    Example:
        `inside("[the code](../service/app.py), [more](ledger.md)", "audit.md")` is `the code, [more](ledger.md)`.
    """

    def link(match: re.Match[str]) -> str:
        words, target = match[1], match[2]
        if "://" in target or target.startswith(("#", "mailto:")):
            return match[0]
        path = target.partition("#")[0]
        place = _normal(PurePosixPath("docs", page).parent / path)
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


def on_config(config: Any) -> Any:
    """Put every page on its shelf."""
    config.nav = nav()
    return config


def on_page_markdown(markdown: str, page: Any, **_rest: Any) -> str:
    """Keep links inside of the tree."""
    return inside(markdown, page.file.src_uri)


def main() -> None:
    """Write the front page's shelves."""
    FRONT.write_text(front(), "utf-8")


if __name__ == "__main__":
    main()
