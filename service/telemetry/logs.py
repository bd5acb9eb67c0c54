"""JSON lines on stdout. An exception is logged as its type and place: its text could hold an outcome."""

from __future__ import annotations

import logging
import sys
import time
import traceback
from datetime import UTC, datetime

from pydantic_core import to_json
from typing_extensions import override

ACCESS = logging.getLogger("forelock.access")
ERRORS = logging.getLogger("forelock.error")


class JsonLines(logging.Formatter):
    """One JSON object per record; `extra={"fields": {...}}` adds members."""

    @override
    def format(self, record: logging.LogRecord) -> str:
        """Return the record as one line."""
        line = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
            **getattr(record, "fields", {}),
        }
        if record.exc_info and record.exc_info[1] is not None:
            line |= location(record.exc_info[1])
        return to_json(line, fallback=str).decode()


def location(error: BaseException) -> dict[str, object]:
    """Return the type of an exception and the places it came through, innermost last; never its text."""
    frames = traceback.extract_tb(error.__traceback__)[-8:]
    cause = error.__cause__ or error.__context__
    return {
        "exception": f"{type(error).__module__}.{type(error).__qualname__}",
        "at": [f"{frame.filename}:{frame.lineno} {frame.name}" for frame in frames],
        **({"cause": f"{type(cause).__module__}.{type(cause).__qualname__}"} if cause else {}),
    }


_ANSWERED = vars(logging.LogRecord(ACCESS.name, logging.INFO, __file__, 0, "request", None, None))


def log_access(fields: dict[str, object]) -> None:
    """Log one line of an answered request. Its record is a copy: what a logger would find out is always the same."""
    if ACCESS.isEnabledFor(logging.INFO):
        record = logging.LogRecord.__new__(logging.LogRecord)
        now = time.time()
        record.__dict__ = {**_ANSWERED, "created": now, "msecs": now % 1 * 1000, "fields": fields}
        ACCESS.handle(record)


def configure() -> None:
    """Send every logger of the process through `JsonLines`."""
    # a line names neither thread nor process, so no record has to find them out
    logging.logThreads = logging.logProcesses = logging.logMultiprocessing = False
    handler = logging.StreamHandler(sys.stdout)
    handler.setFormatter(JsonLines())
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(logging.INFO)
    for name in ("uvicorn", "uvicorn.error", "uvicorn.access"):
        logger = logging.getLogger(name)
        logger.handlers.clear()
        logger.propagate = True
    quiet_libraries()


def quiet_libraries() -> None:
    """Leave out what other libraries say that is no news, or that could quote a value."""
    # else a line for every look at it
    logging.getLogger("alembic.runtime.migration").setLevel(logging.WARNING)
    logging.getLogger("psycopg").disabled = True  # prints the server's text, which may quote a row
    logging.getLogger("uvicorn.access").disabled = True  # ours says more, and no query values
