"""What every harness's file is read into: samples with their measures, in one shape."""

from __future__ import annotations

import hashlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from service.domain.canonical import canonical
from service.errors import InvalidData
from service.ingest.documents import limits


class Measured(NamedTuple):
    """One value as the file has it, and what stands beside it, if anything."""

    value: Any
    event: str | None = None
    """`edited`, `no_response`, `grader_failed`, `rounded`, `several` or `unscored`."""
    original: Any = None
    """Of an edited score, the one before."""


@dataclass(slots=True)
class Sample:
    """One item, once, in one arm. Its repr tells no outcome."""

    where: str
    fields: Mapping[str, Any] = field(repr=False)
    """What the mapping's paths look in."""
    measures: Mapping[str, Measured] = field(repr=False)
    """By the name that the format gives them."""
    events: tuple[str, ...] = field(default=(), repr=False)
    """What happened to the sample as a whole: `error`, `limit`, `invalidated` and the like."""
    order: int = 0
    """Where it stands among samples of its item, for replicates that nothing else tells."""
    place: int = 0
    """Where the run's configuration has its arm, among others; 0 where the file does not say it."""


class Reader(ABC):
    """A file of a harness, opened."""

    partial: str | None = None
    """Why the run is not a whole one; None: it is."""
    piece: bool = False
    """Samples of a run that goes on, as live hooks send them: neither a whole run nor one that was broken off."""
    several: bool = False
    """Lines of one sample may lack a measure that others of its lines have."""
    repeats: int | None = None
    """How often the run measured every item, where the file says so."""
    run: Mapping[str, Any] | None = None
    """What the arm's path looks in; None: in every sample."""

    @abstractmethod
    def samples(self) -> Iterator[Sample]:
        """Iterate over every sample of the file, once."""

    def about(self) -> Mapping[str, Any]:
        """Settings of the run, by names of `fingerprints.ASPECTS`, as far as the file says them."""
        return {}

    def system(self) -> Mapping[str, Any]:
        """Return what the file says of the system that ran, by the names of an arm card's fields (`plans.arms`)."""
        return {}

    def system_of(self, sample: Sample) -> Mapping[str, Any] | None:  # noqa: ARG002 - most runs are of one
        """Return the system of one sample, where a file holds several; one mapping for all samples of a system."""
        return None

    def lower(self) -> Iterable[str]:
        """Measures of which the file says that lower values are better."""
        return ()

    def read_also(self, places: Collection[str]) -> None:  # noqa: B027 - most readers read all there is
        """Have these places of samples read too, by a reader that passes over what nobody asked for."""

    def judges(self) -> Iterable[tuple[str, str | None]]:
        """Return every measure with the model that scored it, once each, where the file says which it was."""
        return ()


def bound_samples(samples: Iterator[Sample]) -> Iterator[Sample]:
    """Yield the samples, as many as one import may have, of whatever arm.

    Raises:
        TooLarge: there are more.
    """
    for number, sample in enumerate(samples, start=1):
        if number > limits.MOST_SAMPLES:
            raise limits.too_large("the run has more samples", f"{limits.MOST_SAMPLES:,} samples")
        yield sample


def look_up(fields: Any, path: str) -> Any:
    """Return what stands at a dotted path, None where there is nothing; keys may hold dots themselves.

    Text such as `arm=a,n=1`, as lm-evaluation-harness writes arguments, is looked into as well.

    Example:
        `look_up({"doc": {"a.b": 1}}, "doc.a.b")` is 1.
    """
    if isinstance(fields, (dict, Mapping)):
        if path in fields:
            return fields[path]
        head, dot, rest = path.partition(".")
        if dot and head in fields and "." not in rest:
            return look_up(fields[head], rest)
        end = path.rfind(".")
        while end > 0:
            if path[:end] in fields:
                return look_up(fields[path[:end]], path[end + 1 :])
            end = path.rfind(".", 0, end)
        return None
    if isinstance(fields, list):
        head, _, rest = path.partition(".")
        if not head.isdecimal() or len(head) > 9 or int(head) >= len(fields):
            return None
        return look_up(fields[int(head)], rest) if rest else fields[int(head)]
    if isinstance(fields, str):
        pairs = (pair.partition("=") for pair in fields.split(","))
        return next((value for name, _, value in pairs if name.strip() == path), None)
    return None


def finder(path: str) -> Callable[[Any], Any]:
    """Return `look_up` of one path, which takes a short way to where most of them lead."""
    head, _, rest = path.partition(".")
    is_short = rest != "" and "." not in rest
    is_name = "." not in path

    def find(fields: Any) -> Any:
        if type(fields) is dict:
            if is_name or path in fields:
                return fields.get(path)
            inner = fields.get(head) if is_short else None
            if type(inner) is dict and rest in inner:
                return inner[rest]
        return look_up(fields, path)

    return find


def id_finder(path: str) -> Callable[[Any], Any]:
    """Return what looks up the id at one path, as `look_up_id` does for any."""
    find, is_hashed = finder(path.removeprefix("sha256:")), path.startswith("sha256:")

    def find_id(fields: Any) -> Any:
        value = find(fields)
        if not is_hashed and (type(value) is str or type(value) is int):
            return value
        return look_up_id(fields, path)

    return find_id


def look_up_id(fields: Any, path: str) -> Any:
    """What stands at an id's path: objects, and what `sha256:` is written before, as their hash in hexadecimal."""
    hashed = path.startswith("sha256:")
    value = look_up(fields, path.removeprefix("sha256:"))
    if value is None or not (hashed or isinstance(value, dict | list)):
        return value
    try:
        data = value.encode() if isinstance(value, str) else canonical(value)
    except (InvalidData, UnicodeEncodeError):
        return None
    return hashlib.sha256(data).hexdigest()
