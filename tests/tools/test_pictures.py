"""The README's picture says what the command says."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree

from tools.pages import pictures

ROOT = Path(__file__).parents[2]


def test_the_files_to_compare_are_those_of_the_shipped_evaluation(tmp_path: Path) -> None:
    pictures.write_arms(tmp_path)
    for made in sorted(tmp_path.iterdir()):
        assert (pictures.FILES / made.name).read_bytes() == made.read_bytes()


def test_the_terminal_in_the_readme_shows_what_the_command_prints(monkeypatch) -> None:
    for name in ("FORELOCK_URL", "FORELOCK_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    drawn = pictures.PICTURE.read_text("utf-8")
    words = [each.text for each in ElementTree.fromstring(drawn).iter("{http://www.w3.org/2000/svg}text")]
    printed = pictures.answer()
    assert words == ["$ forelock " + " ".join(pictures.COMMAND), *filter(None, printed)]
    assert printed[0].startswith("Cannot tell whether bm25.csv is ")
    assert len(drawn) < 10_000
    assert pictures.PAGE.read_text("utf-8") == pictures.page_with(printed)
    assert "(docs/pictures/gate.svg)" in (ROOT / "README.md").read_text("utf-8")
