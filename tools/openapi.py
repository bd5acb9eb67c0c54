"""Writes the OpenAPI document: `python -m tools.openapi FILE`, or without a file to standard output."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from pathlib import Path

from service.api import openapi
from service.app import routes


def main(arguments: Iterable[str]) -> None:
    """Write the document to the file that is named, or to standard output."""
    written, target = openapi.format_document(routes()), next(iter(arguments), None)
    if target is None:
        sys.stdout.write(written)
    else:
        Path(target).write_text(written, encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
