"""The report of a verdict as LaTeX, through LaTeX itself."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from service.api.examples.made import read_json
from service.reports.verdict.content import Report
from service.reports.verdict.latex import print_latex
from service.words import Language
from tests.reports.hostile import CORPUS, hostile

LONG = "claude-sonnet-with-a-name-that-is-long"


def compiled(engine: str, directory: Path, text: str) -> str:
    """The log of a run that made a PDF, without leave to run or read anything else."""
    if shutil.which(engine) is None:
        pytest.skip(
            f"{engine} is not installed (Debian: texlive-latex-recommended texlive-xetex texlive-lang-chinese)"
        )
    (directory / "report.tex").write_text(text, "utf-8")
    command = [engine, "-interaction=nonstopmode", "-halt-on-error", "-no-shell-escape", "report.tex"]
    ran = subprocess.run(command, cwd=directory, capture_output=True, timeout=300, check=False)
    log = (directory / "report.log").read_text("utf-8", "replace")
    assert ran.returncode == 0, log[-3000:]
    assert (directory / "report.pdf").read_bytes().startswith(b"%PDF")
    return log


@pytest.mark.slow
@pytest.mark.parametrize("engine", ["pdflatex", "xelatex"])
@pytest.mark.parametrize("text", [*CORPUS, "x", LONG])
def test_whatever_others_write_compiles(engine: str, text: str, tmp_path: Path) -> None:
    log = compiled(engine, tmp_path, print_latex(hostile(text)))
    if text in ("x", LONG):
        assert "Overfull" not in log


@pytest.mark.slow
@pytest.mark.parametrize(("engine", "language"), [("pdflatex", "en"), ("xelatex", "en"), ("xelatex", "zh")])
def test_an_ordinary_report_compiles_within_its_margins_and_lacks_no_letter(
    engine: str, language: Language, tmp_path: Path
) -> None:
    log = compiled(engine, tmp_path, print_latex(Report.model_validate(read_json("report")), language))
    assert not re.findall(r"Overfull.*|Missing character.*|No font for a letter.*", log)
