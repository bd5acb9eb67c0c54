"""Paths of the service's routes, with ids written into them."""

from __future__ import annotations

from urllib.parse import quote

from forelock.problem import ForelockError


def part(text: str) -> str:
    """Return an id or a name as one part of a path.

    Raises:
        ForelockError: it is empty, which would ask another route: a variable that was never set, perhaps.

    >>> part("a/b")
    'a%2Fb'
    """
    if not text:
        raise ForelockError("an id or a name is empty: the service was not asked")
    return quote(text, safe="")


def record(preregistration_id: str) -> str:
    """That of a preregistration.

    >>> record("0f3a")
    '/v1/preregistrations/0f3a'
    """
    return f"/v1/preregistrations/{part(preregistration_id)}"
