"""A language that is a folder beside the others: reports and pages speak it, and no line of code knows."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from typing import Any

import pytest

from service.words.catalogue import HOME, LANGUAGES

pytestmark = pytest.mark.xdist_group("another_language")  # one service for all

ROOT = HOME.parent.parent
TAG = "eo"
SPOKEN = ["en", *sorted({*LANGUAGES, TAG} - {"en"})]
BEGINS, ENDS = "⟦", "⟧"
SPEAK = """
import json, sys
from pathlib import Path
from starlette.testclient import TestClient
import service
from service.api.examples.made import read_json
from service.app import create_app
from service.config import Settings
from service.domain.notes.said import Words, in_words
from service.keyring.keyring import Keyring
from service.reports.verdict.content import Report
from service.reports.verdict.latex import print_latex
from service.reports.verdict.markdown import print_markdown
from service.store.database.engine import Database
from service.words import LANGUAGES, message

here, language = Path.cwd(), sys.argv[1]
assert Path(service.__file__).is_relative_to(here)

def with_words(value):
    # the example's sentences are stored in the languages of the day: a report that is made now has all of them
    if isinstance(value, dict):
        texts = {name: with_words(member) for name, member in value.items()}
        is_said = {"en", "zh"} <= set(texts) <= set(LANGUAGES)
        return dict.fromkeys(LANGUAGES, texts["en"]) | texts if is_said else texts
    return [with_words(member) for member in value] if isinstance(value, list) else value

report = Report.model_validate(with_words(read_json("report")))
database = Database(f"sqlite:///{here}/forelock.db")
browser = TestClient(create_app(Settings(data_dir=here), database, Keyring.create(here / "keys")))
document = browser.get("/openapi.json").json()
path = next(path for path in document["paths"] if path.endswith("/prereg.md"))
lang = next(one for one in document["paths"][path]["get"]["parameters"] if one["name"] == "lang")
print(json.dumps({
    "markdown": print_markdown(report, language),
    "latex": print_latex(report, language),
    "words": in_words(message("pages.sign_in")).model_dump(),
    "page": browser.get("/login", params={"lang": language}).text,
    "english_page": browser.get("/login", params={"lang": "en"}).text,
    "lang": lang["schema"]["enum"],
}))
database.dispose()
"""


@pytest.fixture(scope="module")
def spoken(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What a service says that has a folder more: the English texts between brackets.

    Its words are a copy; the other rooms are links, so that they are compiled already.
    """
    root = tmp_path_factory.mktemp("another_language")
    words = root / "service" / "words"
    shutil.copytree(HOME, words, ignore=shutil.ignore_patterns("__pycache__"))
    for path in HOME.parent.iterdir():
        if path.name not in (HOME.name, "__pycache__"):
            (root / "service" / path.name).symlink_to(path)
    (words / TAG).mkdir()
    for room in (words / "en").glob("*.toml"):
        lines = room.read_text("utf-8").splitlines()
        (words / TAG / room.name).write_text("\n".join(map(bracketed, lines)) + "\n", "utf-8")
    (words / TAG / "fonts.tex").write_text("% fonts of another language\n", "utf-8")
    ran = subprocess.run(
        [sys.executable, "-c", SPEAK, TAG],
        cwd=root,
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(root), str(ROOT / "client")])},
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr[-3000:]
    spoken: dict[str, Any] = json.loads(ran.stdout.splitlines()[-1])
    return spoken


def bracketed(line: str) -> str:
    """A line of a room with its text between brackets; texts of several lines, marks and comments stay."""
    name, equals, text = line.partition(' = "')
    whole = equals and text.endswith('"') and any(letter.isalpha() for letter in text)
    return f'{name}{equals}{BEGINS}{text[:-1]}{ENDS}"' if whole and " " not in name else line


def test_a_report_is_in_the_language(spoken: dict[str, Any]) -> None:
    assert spoken["markdown"].count(BEGINS) > 20
    assert "% fonts of another language" in spoken["latex"]


def test_a_page_is_in_the_language_and_others_lead_to_it(spoken: dict[str, Any]) -> None:
    assert f'<html lang="{TAG}">' in spoken["page"]
    assert spoken["page"].count(BEGINS) > 3
    assert f'hreflang="{TAG}" lang="{TAG}">{BEGINS}English{ENDS}<' in spoken["english_page"]


def test_records_of_words_and_the_document_have_it(spoken: dict[str, Any]) -> None:
    assert list(spoken["words"]) == SPOKEN
    assert spoken["words"][TAG] == f"{BEGINS}{spoken['words']['en']}{ENDS}"
    assert spoken["lang"] == SPOKEN
