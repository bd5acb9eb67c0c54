"""Everything that a reader of a record can see of it."""

from __future__ import annotations


def seen(answer) -> tuple[int, bytes, dict[str, str]]:
    """Everything of an answer but the id of its request."""
    headers = {k: v for k, v in answer.headers.items() if k not in ("x-request-id", "date")}
    return answer.status_code, answer.content, headers
