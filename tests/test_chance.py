"""The suite draws the same examples on every run, whatever ran before."""

from __future__ import annotations

import sys
import types
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st


def drawn() -> list[object]:
    """The examples a property test draws by default, in order."""
    found: list[object] = []

    @settings.get_profile("forelock")
    @given(st.lists(st.integers()))
    def remember(values: list[int]) -> None:
        found.append(values)

    remember()
    return found


def test_the_default_draws_alike() -> None:
    assert drawn() == drawn()


def test_what_is_drawn_does_not_depend_on_what_is_imported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = drawn()
    module = types.ModuleType("imported_meanwhile")
    module.__file__ = str(tmp_path / "imported_meanwhile.py")
    Path(module.__file__).write_text(f"NUMBERS = {list(range(100_000, 100_200))}\n")
    monkeypatch.setitem(sys.modules, module.__name__, module)
    assert drawn() == before
