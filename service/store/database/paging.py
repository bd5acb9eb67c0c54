"""Keyset pages: a cursor names the last row seen, so pages stay right while rows arrive."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Sequence
from datetime import datetime
from functools import partial
from typing import Any, TypeVar

import sqlalchemy as sa
from sqlalchemy.orm import Session

from service.errors import InvalidData
from service.store.database.types import Timestamp, is_storable

T = TypeVar("T")

MAX_LIMIT = 200


def read_page(
    session: Session,
    statement: sa.Select[Any],
    keys: Sequence[sa.Column[Any]],
    read: Callable[[sa.RowMapping], T],
    *,
    cursor: str | None,
    limit: int,
) -> tuple[list[T], str | None]:
    """Return rows in descending order of `keys`, and the cursor of the next page.

    `keys` are columns of the statement, together unique.
    """
    limit = max(1, min(limit, MAX_LIMIT))
    if cursor is not None:
        statement = statement.where(_match_before(keys, _decode_keys(cursor, keys)))
    rows = (
        # One row more than asked tells whether there is a next page.
        session.execute(statement.order_by(*(key.desc() for key in keys)).limit(limit + 1)).mappings().all()
    )
    page_rows = rows[:limit]
    following = encode([page_rows[-1][key] for key in keys]) if len(rows) > limit else None
    return [read(row) for row in page_rows], following


def shorten(
    rows: Sequence[T], following: str | None, kept: int, keys_of: Callable[[T], Sequence[Any]]
) -> tuple[list[T], str | None]:
    """Return the first `kept` of a page's rows, and the cursor of what comes after these."""
    if kept >= len(rows):
        return list(rows), following
    return list(rows[:kept]), encode(keys_of(rows[kept - 1]))


def read_page_among(
    session: Session,
    statement: sa.Select[Any],
    among: sa.Select[Any],
    keys: Sequence[sa.Column[Any]],
    read: Callable[[sa.RowMapping], T],
    *,
    cursor: str | None,
    limit: int,
    most: int,
) -> tuple[list[T], str | None]:
    """Read a page of rows among the next `most` of `among`: few match, and not all are to be looked at for them.

    A page may hold less than `limit` rows and have a next one all the same, which goes on where the looking ended.
    """
    if cursor is not None:
        among = among.where(_match_before(keys, _decode_keys(cursor, keys)))
    window = among.with_only_columns(*keys).order_by(*(key.desc() for key in keys))
    end = session.execute(window.offset(most - 1).limit(1)).first()
    if end is None:
        return read_page(session, statement, keys, read, cursor=cursor, limit=limit)
    # Down to `end` itself; the next page begins strictly before it.
    statement = statement.where(sa.not_(_match_before(keys, end)))
    rows, following = read_page(session, statement, keys, read, cursor=cursor, limit=limit)
    return rows, following or encode(end)


def _match_before(keys: Sequence[sa.Column[Any]], values: Sequence[Any]) -> sa.ColumnElement[bool]:
    # (a, b) < (x, y) written out: a < x, or a = x and b < y. SQLite and Postgres both use the index for it.
    return sa.or_(
        *(sa.and_(*(keys[j] == values[j] for j in range(i)), keys[i] < values[i]) for i in range(len(keys)))
    )


def encode(values: Sequence[Any]) -> str:
    """Return a cursor that holds the values: times, numbers and texts."""
    plain = [value.isoformat() if isinstance(value, datetime) else value for value in values]
    return base64.urlsafe_b64encode(json.dumps(plain, separators=(",", ":")).encode()).rstrip(b"=").decode()


def decode(cursor: str, *readers: Callable[[Any], Any]) -> list[Any]:
    """Return the values of a cursor, each read by its reader, which raises ValueError or TypeError for what it is not.

    Raises:
        InvalidData: it is no cursor of that list.
    """
    try:
        # The padding was cut off so that a cursor needs no escaping in a URL.
        text = base64.b64decode(cursor + "=" * (-len(cursor) % 4), altchars=b"-_", validate=True)
        return [read(value) for value, read in zip(json.loads(text), readers, strict=True)]
    except (ValueError, TypeError, OverflowError, RecursionError) as error:
        fix = "use next_cursor of the previous page as it is, or leave cursor out to start over"
        raise InvalidData.field("cursor", "is not one that this list returned", fix) from error


def parse_moment(value: Any) -> datetime:
    """Return a time, with its offset, of years that a database can keep."""
    instant = datetime.fromisoformat(value)
    if instant.utcoffset() is None or not 1970 <= instant.year <= 9000:
        raise ValueError("not a time")
    return instant


def _decode_keys(cursor: str, keys: Sequence[sa.Column[Any]]) -> list[Any]:
    return decode(cursor, *(partial(_parse_value, key) for key in keys))


def _parse_value(key: sa.Column[Any], value: Any) -> Any:
    """Return a cursor's value as the type of its column; ValueError if the column cannot hold it."""
    if isinstance(key.type, Timestamp):
        return parse_moment(value)
    if isinstance(key.type, sa.Integer):
        if type(value) is not int or not 0 <= value < 2**63:
            raise ValueError("not a number")
        return value
    if not isinstance(value, str) or not is_storable(value):
        raise ValueError("not a text")
    return value
