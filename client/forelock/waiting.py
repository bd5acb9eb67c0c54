"""What somebody at a terminal sees of a wait: what is waited for, and how far it is where that is known."""

from __future__ import annotations

from typing import TextIO

from forelock.words import ENGLISH, Say


class Waiting:
    """One line on a terminal that is drawn anew, and gone afterwards; silent where the stream is not a terminal."""

    WIDTH = 30

    def __init__(self, stream: TextIO, say: Say = ENGLISH) -> None:
        self._say = say
        self._stream = stream if stream.isatty() else None
        self._shown = 0

    def __call__(self, what: str, share: float | None) -> None:
        """Draw the line; `share` is from 0 to 1, None when it is not known, and 1 when the wait is over."""
        what = self._say.awaited(what)
        if share is not None and share >= 1:
            self.close()
        elif share is None:
            self._draw(self._say("waiting_for", what=what))
        else:
            full = int(self.WIDTH * max(share, 0.0))
            self._draw(f"{what} [{'#' * full}{'.' * (self.WIDTH - full)}] {100 * share:.0f} %")

    def close(self) -> None:
        """Take the line of progress off the terminal."""
        if self._shown:
            self._draw("")

    def _draw(self, line: str) -> None:
        if self._stream is None:
            return
        self._stream.write("\r" + line.ljust(self._shown) + ("" if line else "\r"))
        self._stream.flush()
        self._shown = len(line)
