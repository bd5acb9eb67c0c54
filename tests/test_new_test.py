"""`./do new-test` begins a statistical test: three files, which say themselves what is left to write."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tools import new_test

ROOT = Path(__file__).resolve().parents[1]
FILES = ["docs/tests/words/sign-test.md", "service/stats/sign_test.py", "tests/stats/test_sign_test.py"]


def written(root):
    return sorted(str(path.relative_to(root)) for path in root.rglob("*") if path.is_file())


def test_it_writes_the_module_the_tests_and_the_words(tmp_path, capsys):
    assert new_test.main(["sign-test"], tmp_path) == 0
    assert written(tmp_path) == FILES
    told = capsys.readouterr().out
    assert all(path in told for path in FILES)
    assert all("WRITE" in (tmp_path / path).read_text() for path in FILES)


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

    assert tuple(line[3:] for line in new_test.WORDS.splitlines() if line.startswith("## ")) == (
        test_pages.HEADINGS
    )
