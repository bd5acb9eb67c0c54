"""What files say of the system whose results they hold, by the names that an arm's card has, and where cards differ."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from service.domain.canonical import canonical
from service.errors import InvalidData
from service.ingest.harnesses.samples import Reader, Sample

if TYPE_CHECKING:
    from service.domain.plans.sections.arms import ArmCard

_LINE = re.compile(r"[^\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]{1,300}")


class Compared:
    """Cards held against what files say, and by arm the fields that differed in any sample."""

    def __init__(self, cards: Mapping[str, ArmCard]) -> None:
        self.cards = cards
        self._differing: dict[str, set[str]] = {}
        self._seen: set[tuple[str, int]] = set()
        self._kept: list[Mapping[str, Any]] = []

    def see_sample(self, reader: Reader, arm: str, sample: Sample) -> None:
        """Return what the file says of the system of one sample, where it says it there."""
        if arm in self.cards and (system := reader.system_of(sample)) is not None:
            self.see(arm, system)

    def see(self, arm: str, facts: Mapping[str, Any]) -> None:
        """Compare once for every arm and system: samples of one system share one mapping."""
        if arm in self.cards and (arm, id(facts)) not in self._seen:
            self._seen.add((arm, id(facts)))
            self._kept.append(facts)  # so that no other mapping gets its identity
            self._differing.setdefault(arm, set()).update(self.cards[arm].differs(facts))

    def differing(self, reader: Reader, arms: Iterable[str]) -> dict[str, tuple[str, ...]]:
        """Return the fields that differed in the run or in any sample of it, by arm, in the order of the card."""
        system = reader.system() if self.cards else {}
        for arm in arms:
            self.see(arm, system)
        return {
            arm: tuple(name for name in self.cards[arm].facts() if name in names)
            for arm, names in self._differing.items()
            if names
        }


def facts(**named: Any) -> dict[str, Any]:
    """Return what a card could hold of it; `__` stands for a dot. Anything else, and what nobody said, is left out."""
    return {
        name.replace("__", "."): value
        for name, value in named.items()
        if (isinstance(value, str) and _LINE.fullmatch(value))
        or (isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < 2**53)
    }


def config_sha256(config: Any) -> str | None:
    """Return the SHA-256 of a configuration's canonical JSON (RFC 8785); None where there is none."""
    if not config:
        return None
    try:
        return hashlib.sha256(canonical(config)).hexdigest()
    except InvalidData:
        return None


def text_sha256(text: Any) -> str | None:
    """Return the SHA-256 of a text as UTF-8; of anything else that of its canonical JSON."""
    if isinstance(text, str):
        return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest() if text else None
    return config_sha256(text)


def argument(arguments: Any, name: str) -> Any:
    """Return one of a model's arguments, which are a mapping or `a=1,b=2`."""
    if isinstance(arguments, str):
        pairs = (pair.partition("=") for pair in arguments.split(","))
        return next((value.strip() for key, _, value in pairs if key.strip() == name), None)
    return arguments.get(name) if isinstance(arguments, dict) else None
