"""The site of the docs: every page on a shelf, found by search, and nothing from elsewhere."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tomllib
from html.parser import HTMLParser
from pathlib import Path

import pytest

from tools.pages import site

ROOT = Path(__file__).parents[2]


BUILD = ("-m", "mkdocs", "build", "--strict", "--site-dir")
"""What `./do docs` runs. `--quiet` would keep mkdocs from counting the warnings that end it."""


def build(target: Path, *options: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, *BUILD, str(target), *options]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site, made as `./do docs` makes it: any warning ends it."""
    target = tmp_path_factory.mktemp("site")
    done = build(target)
    assert done.returncode == 0, done.stdout + done.stderr
    return target


def test_the_command_of_the_docs_is_the_one_that_is_tried_here() -> None:
    assert f'"$venv/bin/python" {" ".join(BUILD)} ' in (ROOT / "do").read_text("utf-8")


@pytest.mark.parametrize(
    ("link", "is_dead"),
    [("#nowhere", True), ("other.md#nowhere", True), ("none.md", True), ("other.md#other", False)],
)
def test_a_dead_link_ends_the_build(tmp_path: Path, link: str, is_dead: bool) -> None:
    pages = tmp_path / "docs"
    pages.mkdir()
    (pages / "index.md").write_text(f"# First\n\n[away]({link})\n")
    (pages / "other.md").write_text("# Other\n")
    config = tmp_path / "mkdocs.yml"
    config.write_text(f"INHERIT: {ROOT / 'mkdocs.yml'}\ndocs_dir: {pages}\nhooks: []\nplugins: []\n")
    done = build(tmp_path / "site", "--config-file", str(config))
    assert (done.returncode != 0) == is_dead
    assert (link in done.stderr) == is_dead


class Loads(HTMLParser):
    """What a page loads by itself."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        if tag in ("script", "img", "iframe", "source"):
            self.found.append(given.get("src") or "")
        if tag == "link" and given.get("rel") not in ("canonical", "next", "prev"):
            self.found.append(given.get("href") or "")


def test_every_page_stands_on_one_shelf() -> None:
    shelved: list[str] = []

    def walk(node: object) -> None:
        if isinstance(node, str):
            shelved.append(node)
        elif isinstance(node, list):
            for each in node:
                walk(each)
        elif isinstance(node, dict):
            walk(list(node.values()))

    walk(site.nav())
    docs = ROOT / "docs"
    pages = {str(each.relative_to(docs)) for each in docs.rglob("*.md") if each.parent.name != "words"}
    assert sorted(shelved) == sorted(pages)
    assert [next(iter(shelf)) for shelf in site.nav()] == ["Learn", "Do", "Look up", "Understand"]
    assert shelved[0] == "README.md"


def test_the_front_page_shows_the_shelves_as_they_are_declared() -> None:
    assert site.FRONT.read_text("utf-8") == site.front(), "run ./do pages"
    for purposes in site.SHELVES.values():
        assert all(purpose and not purpose.endswith(".") for purpose in purposes.values())


def test_the_glossary_calls_a_thing_what_the_catalogues_call_it() -> None:
    """Where the page's word is one that `service/words/glossary.toml` binds, both say the same Chinese."""
    bound = tomllib.loads((ROOT / "service" / "words" / "glossary.toml").read_text("utf-8"))
    page = (ROOT / "docs" / "glossary.md").read_text("utf-8")
    rows = dict(re.findall(r"^\| ([^|]+) \| ([^|]+) \| [^|]+ \|$", page, re.MULTILINE))
    shared = {
        word: chinese
        for word, chinese in rows.items()
        for name, entry in bound.items()
        if word.lower() in {name, *(form.lower() for form in entry["en"])}
        and entry["zh"] not in chinese
        and not any(other in chinese for other in entry.get("or", ()))
    }
    assert shared == {}
    assert len(rows) > 40


def test_the_site_is_searched_and_asks_nobody_else(built: Path) -> None:
    index = json.loads((built / "search" / "search_index.json").read_text("utf-8"))
    texts = {each["location"].split("#")[0] for each in index["docs"] if "ledger_refused" in each["text"]}
    assert {"ledger.html", "errors.html", "operations.html"} <= texts
    pages = list(built.rglob("*.html"))
    assert len(pages) > 80
    for page in pages:
        loads = Loads()
        loads.feed(page.read_text("utf-8"))
        assert [each for each in loads.found if re.match(r"(\w+:)?//", each)] == [], page
    for style in built.rglob("*.css"):
        assert not re.search(r"url\(['\"]?(\w+:)?//|@import\s+['\"]?(\w+:)?//", style.read_text("utf-8")), (
            style
        )


def test_links_out_of_the_tree_are_their_words() -> None:
    assert site.inside(
        "[a](../service/app.py) [b](ledger.md#x) [c](https://x.test) [d](README.md)", "audit.md"
    ) == ("a [b](ledger.md#x) [c](https://x.test) [d](README.md)")
    assert site.inside(
        "[a](../../CONTRIBUTING.md) [b](../ledger.md) [c](../../README.md#start)", "decisions/x.md"
    ) == ("a [b](../ledger.md) c")
