"""A call whose arguments and error nobody may read in a log."""

from __future__ import annotations


def fail(argument: str, data: str) -> None:
    raise ValueError(f"error-0.73 of {argument} and {data}")
