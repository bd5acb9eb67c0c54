"""What a command prints: its answer, as text or JSON, and what is said beside it."""

from __future__ import annotations

import argparse
import sys

from forelock.text import json_text, mask, plain
from forelock.words import say_of


def show(options: argparse.Namespace, answer: object, readable: str) -> int:
    """Print an answer: as JSON where that is asked for, else as text. Returns the exit status of what is done."""
    print(json_text(answer) if options.json else mask(readable))
    return 0


def show_ended(options: argparse.Namespace, ending: str) -> int:
    """Say that what has the id is no more: it is deleted, or revoked."""
    said = say_of(options)(f"is_{ending}", name=plain(options.id))
    return show(options, {"id": options.id, ending: True}, said)


def tell(sentence: str) -> None:
    """Say something beside the answer."""
    print(mask(sentence), file=sys.stderr)


def put_out(content: bytes) -> int:
    """Write a file's content to standard output: byte for byte into a pipe or a file, fit for it on a terminal."""
    if sys.stdout.isatty():
        sys.stdout.write(mask(content.decode(errors="replace")))
    else:
        sys.stdout.flush()
        sys.stdout.buffer.write(content)
    return 0
