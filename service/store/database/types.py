"""Column types that mean the same on SQLite and Postgres."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import TIMESTAMP
from sqlalchemy.engine import Dialect
from sqlalchemy.exc import DontWrapMixin
from sqlalchemy.types import TypeDecorator, TypeEngine
from typing_extensions import override

from service.errors import InvalidData


class UnstorableText(InvalidData, DontWrapMixin):
    """A text that Postgres cannot keep; refused on SQLite too, so that both behave alike."""

    code, title = "unstorable_text", "A text cannot be stored"


class UnstorableTime(InvalidData, DontWrapMixin):
    """A time that UTC has no year for."""

    code, title = "unstorable_time", "A time cannot be stored"


class Words(TypeDecorator[str]):
    """Text from outside, without NUL characters and lone surrogates."""

    impl = sa.Text
    cache_ok = True

    @override
    def process_bind_param(self, value: str | None, dialect: Dialect) -> str | None:
        """Refuse what the databases would answer with an error of their own."""
        if value is not None and not is_storable(value):
            raise UnstorableText("a text holds a NUL character or half a surrogate pair: remove it")
        return value


class Timestamp(TypeDecorator[datetime]):
    """An aware time in UTC: `timestamptz` on Postgres, sortable text of fixed width on SQLite."""

    impl = sa.Text
    cache_ok = True

    @override
    def load_dialect_impl(self, dialect: Dialect) -> TypeEngine[Any]:
        """Store as `timestamptz` on Postgres, as text on SQLite."""
        return dialect.type_descriptor(
            TIMESTAMP(timezone=True) if dialect.name == "postgresql" else sa.Text()
        )

    @override
    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> datetime | str | None:
        """Take aware times only: a naive one would be read in the server's zone."""
        if value is None:
            return None
        if value.tzinfo is None:
            raise ValueError("times are stored in UTC: pass an aware datetime")
        try:
            moment = value.astimezone(UTC)
        except OverflowError:
            raise UnstorableTime("a time lies outside the years 1 to 9999 in UTC") from None
        # Always six digits after the point: text of one width sorts as time does.
        return moment if dialect.name == "postgresql" else moment.isoformat(timespec="microseconds")

    @override
    def process_result_value(self, value: datetime | str | None, dialect: Dialect) -> datetime | None:
        """Return the stored time as an aware one in UTC, whatever zone the connection speaks."""
        if value is None:
            return None
        return (datetime.fromisoformat(value) if isinstance(value, str) else value).astimezone(UTC)


def is_storable(value: str) -> bool:
    """Tell whether a text has neither NUL characters nor lone surrogates."""
    try:
        value.encode()
    except UnicodeEncodeError:
        return False
    return "\x00" not in value
