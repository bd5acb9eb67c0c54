"""How many examples a build tries: of a property few, drawn alike every time; of a list of cases the first."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest
from hypothesis import settings

FEWEST = 5


def draws(searched: int) -> int:
    """So many where `./do test --all` searches; a third in a build, where a second run would show nothing new."""
    if settings.get_current_profile_name() == "search":
        return searched
    return min(searched, max(FEWEST, searched // 3))


def _slow(case: Any) -> Any:
    if hasattr(case, "marks"):  # a case made by pytest.param, with its name
        return pytest.param(*case.values, marks=[*case.marks, pytest.mark.slow], id=case.id)
    return pytest.param(*(case if isinstance(case, tuple) else (case,)), marks=pytest.mark.slow)


def one_in(step: int, cases: Iterable[Any]) -> list[Any]:
    """Parameters of a test, in their order: every so many-th in every build, the others where what is slow runs."""
    return [_slow(case) if number % step else case for number, case in enumerate(cases)]


def mostly_slow(cases: Iterable[Any], quick: int = 1) -> list[Any]:
    """Parameters of a test: the first so many in every build, the others where `./do test --all` runs what is slow."""
    return [case if number < quick else _slow(case) for number, case in enumerate(cases)]
