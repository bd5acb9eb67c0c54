"""How many examples a property is tried with: many in a search, few in a build, which draws the same every time."""

from __future__ import annotations

from hypothesis import settings

FEWEST = 5


def draws(searched: int) -> int:
    """So many where `./do test --all` searches; a third in a build, where a second run would show nothing new."""
    if settings.get_current_profile_name() == "search":
        return searched
    return min(searched, max(FEWEST, searched // 3))
