"""Files on disk: their bytes, their text, and plans and requests as JSON."""

from __future__ import annotations

import hashlib
import json
import math
import os
import re
import sys
from pathlib import Path
from typing import Any

from forelock.problem import FileFault

TYPES = {
    ".csv": "text/csv",
    ".tsv": "text/csv",
    ".json": "application/json",
    ".jsonl": "application/x-ndjson",
    ".ndjson": "application/x-ndjson",
}

MARKDOWN = (".md", ".markdown")
_HEADING = re.compile(r"^ {0,3}#{1,6} |^(?:=+|-+)[ ]*$", re.MULTILINE)


def read_bytes(path: str) -> bytes:
    """Return a file's bytes; `-` is standard input."""
    if path == "-":
        return sys.stdin.buffer.read()
    try:
        return Path(path).read_bytes()
    except OSError as error:
        raise FileFault(f"{path}: {error.strerror or 'cannot be read'}") from error


def file_sha256(path: str) -> str:
    """SHA-256 of a file's bytes, in hexadecimal."""
    return hashlib.sha256(read_bytes(path)).hexdigest()


def write_bytes(path: str | Path, content: bytes) -> None:
    """A file that is made, or written over."""
    try:
        Path(path).write_bytes(content)
    except OSError as error:
        raise unwritten(path, error) from error


def write_secret(path: Path, secret: str) -> None:
    """A new file that its owner alone reads.

    Raises:
        OSError: it is there already, or cannot be made: what becomes of the secret is the caller's.
    """
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "w") as file:
        file.write(secret + "\n")


def sync(path: Path) -> None:
    """Wait until the disk has a file, or of a folder the names in it."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def require_new(path: Path | None) -> None:
    """Refuse a file that is there, before anything is made that it should hold."""
    if path is not None and path.exists():
        raise FileFault(f"{path}: is there already; choose another name")


def unwritten(path: str | Path, error: OSError, then: str = "") -> FileFault:
    """Return why a file could not be written."""
    return FileFault(f"{path}: {error.strerror or 'cannot be written'}{then}")


def read_text(path: str) -> str:
    """Return a file's text in UTF-8, with or without a byte-order mark."""
    body = read_bytes(path)
    try:
        return body.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = body.count(b"\n", 0, error.start) + 1
        raise FileFault(f"{path} line {line}: is not UTF-8; save the file in UTF-8") from None


def read_plan(path: str) -> dict[str, Any] | str:
    """A plan: a JSON object whatever its name, or Markdown, told by the suffix or else by how the text begins."""
    text, suffix = read_text(path), Path(path).suffix.lower()
    begins = text.lstrip()[:1]
    if begins == "{":  # no Markdown of a plan begins so, and read as such it would be a plan of gaps
        return _parse_object(text, path)
    if suffix in MARKDOWN:
        return text
    if suffix == ".json" or begins == "[":
        return _parse_object(text, path)
    if _HEADING.search(text) is None:
        raise FileFault(f"{path}: is neither a JSON object nor Markdown with headings")
    return text


def read_object(path: str) -> dict[str, Any]:
    """Return a JSON object, such as a plan or a test's request."""
    return _parse_object(read_text(path), path)


def _parse_object(text: str, path: str) -> dict[str, Any]:
    """Parse a file's text as one JSON object whose strings UTF-8 can encode."""
    document = read_json(text, path, constants=False)
    if not isinstance(document, dict):
        raise FileFault(f"{path}: does not hold a JSON object")
    try:
        json.dumps(document, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        raise FileFault(
            f"{path}: holds half of a surrogate pair (\\ud800 to \\udfff), which is no text"
        ) from None
    return document


def content_type(path: str) -> str:
    """Say how a file is sent as it is, told by its suffix."""
    try:
        return TYPES[Path(path).suffix.lower()]
    except KeyError:
        raise FileFault(f"{path}: name it {', '.join(TYPES)}, so that its format is known") from None


def read_json(text: str, path: str, *, first_line: int = 1, constants: bool = True) -> Any:
    """Text as JSON; a fault names the line. NaN and infinities are read only where `constants` lets them."""

    def constant(name: str) -> float:
        if not constants:
            raise FileFault(f"{path}: holds {name}, which is no JSON number; write null or leave it out")
        return math.nan

    def number(digits: str) -> float:
        value = float(digits)
        if math.isinf(value):
            raise FileFault(f"{path}: holds {digits}, which is too large for a number")
        return value

    try:
        return json.loads(text, parse_constant=constant, parse_float=None if constants else number)
    except json.JSONDecodeError as error:
        line = first_line + error.lineno - 1
        raise FileFault(f"{path} line {line}, column {error.colno}: is not JSON ({error.msg})") from None
    except (ValueError, RecursionError):
        raise FileFault(f"{path}: is not JSON") from None
