"""`./do new-test` begins a statistical test: files and lines that say themselves what is left to write."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from tools import new_test

ROOT = Path(__file__).resolve().parents[1]
FILES = ["docs/tests/words/sign-test.md", "service/stats/sign_test.py", "tests/stats/test_sign_test.py"]

ANSWERS = """
import sys, tomllib
import service.stats
from service.stats.shared.declaring import registry
from service.words import catalogue

folder, line = sys.argv[1:]
service.stats.__path__.append(folder)
((code, text),) = tomllib.loads(line).items()
catalogue.templates("en", "analyses")[code] = catalogue.Template(text)
test = registry.find("one-more-test")
print(test.answer(test.request.model_validate(dict(test.example))).analysis.sentence)
"""
"""Prints the sentence of a test that is in a folder of its own, with the line that its sentence is."""


def written(root):
    return sorted(str(path.relative_to(root)) for path in root.rglob("*") if path.is_file())


def test_it_writes_the_module_the_tests_and_the_words(tmp_path, capsys):
    assert new_test.main(["sign-test"], tmp_path) == 0
    assert written(tmp_path) == FILES
    told = capsys.readouterr().out
    assert all(path in told for path in FILES)
    assert all("WRITE" in (tmp_path / path).read_text() for path in FILES)


def test_every_language_has_a_line_that_waits(tmp_path, capsys):
    """The rooms are those in which every test has to have words; its sentence goes to `analyses`."""
    rooms = [
        tmp_path / new_test.CATALOGUES / language / f"{room}.toml"
        for language in ("en", "zh")
        for room in new_test.SAID
    ]
    for room in rooms:
        room.parent.mkdir(parents=True, exist_ok=True)
        room.write_text('there = "Before"\n')
    assert new_test.main(["sign-test"], tmp_path) == 0
    told = capsys.readouterr().out
    for room in rooms:
        there, (code, words) = list(tomllib.loads(room.read_text()).items())
        assert there == ("there", "Before")
        assert code == ("sign_test" if room.stem == "analyses" else "sign-test")
        assert words.startswith("WRITE") or (room.parent.name, words) == ("en", "Sign test")
        assert str(room.relative_to(tmp_path)) in told


def test_what_it_writes_answers_as_soon_as_it_has_a_number(tmp_path):
    new_test.main(["one-more-test"], tmp_path)
    module = tmp_path / "service" / "stats" / "one_more_test.py"
    module.write_text(module.read_text("utf-8").replace('float("nan")', "1.0"), "utf-8")
    line = new_test.SAID["analyses"].substitute(function="one_more_test")
    command = [sys.executable, "-c", ANSWERS, str(module.parent), line]
    ran = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout.startswith("WRITE: of 3 pairs, p = 1")


def test_nothing_that_was_begun_is_left_to_write():
    begun = (
        "service/stats/**/*.py",
        "tests/stats/test_*.py",
        "docs/tests/words/*.md",
        "service/words/*/*.toml",
    )
    left = [
        f"{path.relative_to(ROOT)}:{number}: {line.strip()}"
        for pattern in begun
        for path in sorted(ROOT.glob(pattern))
        for number, line in enumerate(path.read_text("utf-8").splitlines(), start=1)
        if re.search(r"\bWRITE\b", line)
    ]
    assert not left, "replace what waits to be written:\n" + "\n".join(left)


def test_what_it_writes_is_formatted_and_lint_has_nothing_to_say(tmp_path):
    new_test.main(["one-more-test"], tmp_path)
    for command in (
        ["check", "--ignore", "I001"],
        ["format", "--check"],
    ):  # imports sort by what is beside them
        ruff = [
            sys.executable,
            "-m",
            "ruff",
            *command,
            "--no-cache",
            "--config",
            str(ROOT / "pyproject.toml"),
        ]
        ran = subprocess.run([*ruff, "."], cwd=tmp_path, capture_output=True, text=True, check=False)
        assert ran.returncode == 0, ran.stdout


def test_nothing_is_overwritten(tmp_path, capsys):
    there = tmp_path / "service" / "stats" / "sign_test.py"
    there.parent.mkdir(parents=True)
    there.write_text("mine")
    assert new_test.main(["sign-test"], tmp_path) == 2
    assert "nothing was written" in capsys.readouterr().err
    assert written(tmp_path) == ["service/stats/sign_test.py"]
    assert there.read_text() == "mine"


@pytest.mark.parametrize("name", ["Sign-Test", "sign_test", "-sign", "../sign", "sign test"])
def test_a_name_that_cannot_be_is_refused(tmp_path, name, capsys):
    assert new_test.main(["--", name], tmp_path) == 2
    assert "lower-case words with hyphens" in capsys.readouterr().err
    assert written(tmp_path) == []


def test_the_words_have_the_headings_that_pages_need():
    from tools.pages import tests as test_pages

    assert tuple(line[3:] for line in new_test.PAGE.splitlines() if line.startswith("## ")) == (
        test_pages.HEADINGS
    )
