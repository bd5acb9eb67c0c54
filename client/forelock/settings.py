"""Where the service is and with which key: the environment, or what the caller says."""

from __future__ import annotations

import os
from pathlib import Path

from forelock.problem import FileFault

DEFAULT_URL = "http://127.0.0.1:8321"


def service_url(given: str | None = None) -> str:
    """Return the service's address: the caller's, `FORELOCK_URL`, or this machine."""
    return (given or os.environ.get("FORELOCK_URL") or DEFAULT_URL).rstrip("/")


def api_key(given: str | None = None, key_file: Path | None = None) -> str | None:
    """Return the API key: the caller's, the key file's content, or `FORELOCK_API_KEY`."""
    key = given or (_read(key_file) if key_file else os.environ.get("FORELOCK_API_KEY")) or None
    if key is not None and not (key.isascii() and key.isprintable() and " " not in key):
        raise FileFault("the API key holds characters that no key has; copy it again")
    return key


def _read(key_file: Path) -> str:
    try:
        return key_file.read_text(encoding="utf-8").strip()
    except (OSError, ValueError) as error:
        raise FileFault(f"{key_file}: no API key can be read from it") from error
