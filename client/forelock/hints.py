"""Ways out of a refusal: options of the command line are printed after they gave an answer on the file at hand."""

from __future__ import annotations

import shlex
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from forelock.problem import FileFault, ForelockError

T = TypeVar("T")
SHOWN = 3
"""Ways out that a sentence names."""
MOST_TRIED = 24
MOST_STEPS = 3
"""Options that one way out may take together."""


@dataclass(frozen=True, slots=True)
class Way(Generic[T]):
    """What to add to the command line, and the request that it would make."""

    option: str
    choices: T
    when: str = ""
    """What has to be so of the data, which no file tells."""


def spell_option(option: str, value: str) -> str:
    """Return an option as a shell takes it: a value that begins with a dash would be read as another option."""
    joint = "=" if value.startswith("-") else " "
    return f"--{option}{joint}{shlex.quote(value)}"


class Refused(FileFault, Generic[T]):
    """A refusal that knows options which may help. Its text names none of them: nobody has tried them yet."""

    def __init__(self, fault: str, ways: Sequence[Way[T]], otherwise: str = "", *, beside: str = "") -> None:
        """`beside`: what is left to say where every way out meets another refusal, which then is the one to mend."""
        super().__init__(f"{fault}; {otherwise}" if otherwise else fault)
        self.fault, self.ways, self.beside = fault, tuple(ways), beside


def try_ways(attempt: Callable[[T], object], refused: Refused[T], most: int) -> FileFault:
    """Try the ways out of a refusal; the refusal with those that lead to an answer, as few options as there need be.

    A way that meets another refusal is followed further. `most` bounds the attempts.
    """
    working: list[str] = []
    met: ForelockError | None = None
    steps = MOST_STEPS
    open_ = deque((way.option, way, 1) for way in refused.ways)
    while open_ and most > 0 and len(working) < SHOWN:
        option, way, step = open_.popleft()
        if step > steps:
            break
        most -= 1
        try:
            attempt(way.choices)
        except Refused as further:
            met = met or further
            open_.extend((f"{option} {way.option}", way, step + 1) for way in further.ways)
        except ForelockError as further:
            met = met or further
        else:
            working.append(f"{option} ({way.when})" if way.when else option)
            steps = step  # longer ways are not needed
    if working:
        return FileFault(f"{refused.fault}: add {' or '.join(working)}")
    return FileFault(f"{met}; then {refused.beside}") if refused.beside and met is not None else refused
