"""What was read a moment ago, kept within a limit: for rows that never change under their key."""

from __future__ import annotations

import hashlib
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager
from functools import wraps
from threading import Lock
from typing import Generic, ParamSpec, TypeVar
from weakref import WeakValueDictionary

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")
P = ParamSpec("P")


MOST_RECORDS = 128
"""How many records of one kind a process remembers: small ones, whose size says little of what they hold."""


class Recent(Generic[K, V]):
    """The last used values, as long as their sizes fit in `room`, and `most` of them; the newest always fits."""

    def __init__(self, room: int, most: int | None = None) -> None:
        self._room, self._most = room, most
        self._held = 0
        self._known: OrderedDict[K, tuple[V, int]] = OrderedDict()
        self._guard = Lock()
        self._turns: WeakValueDictionary[K, Lock] = WeakValueDictionary()
        """Each lives as long as somebody reads under its key, or waits to."""

    def get(self, key: K) -> V | None:
        """Return the value, which is now the last used one."""
        with self._guard:
            value = self._known.get(key)
            if value is None:
                return None
            self._known.move_to_end(key)
            return value[0]

    def add(self, key: K, value: V, size: int) -> None:
        """Keep a value; what was not used for longest goes."""
        with self._guard:
            _, earlier = self._known.pop(key, (None, 0))
            self._known[key] = (value, size)
            self._held += size - earlier
            while len(self._known) > 1 and self._is_full():
                _, (_, gone) = self._known.popitem(last=False)
                self._held -= gone

    def _is_full(self) -> bool:
        return self._held > self._room or (self._most is not None and len(self._known) > self._most)

    @contextmanager
    def alone(self, key: K) -> Iterator[None]:
        """Let one at a time in for a key: who waited finds what the first has read. Take no other lock inside."""
        with self._guard:
            turn = self._turns.setdefault(key, Lock())
        with turn:
            yield


def remember(most: int) -> Callable[[Callable[P, V]], Callable[P, V]]:
    """Keep the last `most` answers of a function of texts and numbers, by a hash: its texts may be long."""

    def decorate(function: Callable[P, V]) -> Callable[P, V]:
        known: Recent[bytes, tuple[V]] = Recent(most)

        @wraps(function)
        def answer(*args: P.args, **kwargs: P.kwargs) -> V:
            key = hashlib.sha256(
                repr((args, sorted(kwargs.items()))).encode("utf-8", "surrogatepass")
            ).digest()
            value = known.get(key)
            if value is None:
                value = (function(*args, **kwargs),)
                known.add(key, value, 1)
            return value[0]

        return answer

    return decorate
