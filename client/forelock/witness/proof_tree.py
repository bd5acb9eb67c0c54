"""The tree of an OpenTimestamps proof: messages, the operations between them, and what attests a message."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import total_ordering

from forelock.witness.stamp import MAX_STAMP_BYTES, WitnessFault

MAX_MESSAGE = 4096
MAX_PAYLOAD = 8192
MAX_URI = 1000
MAX_OPERATIONS = 2_000
"""A path through a calendar and a block has about a hundred."""

ATTESTATION, FORK = 0x00, 0xFF
APPEND, PREPEND, REVERSE, HEXLIFY = 0xF0, 0xF1, 0xF2, 0xF3
DIGESTS = {0x02: "sha1", 0x03: "ripemd160", 0x08: "sha256"}

PENDING = bytes.fromhex("83dfe30d2ef90c8e")
BITCOIN = bytes.fromhex("0588960d73d71901")
URI = re.compile(rb"[A-Za-z0-9._/:-]{1,1000}")


@dataclass(frozen=True, slots=True, order=True)
class Operation:
    """One step from a message to the next."""

    tag: int
    argument: bytes = b""

    def apply(self, message: bytes) -> bytes:
        """Return the message that the operation makes of this one.

        Raises:
            WitnessFault: an operation that is not known, or a message beyond the format's limits.
        """
        match self.tag:
            case t if t == APPEND:
                result = message + self.argument
            case t if t == PREPEND:
                result = self.argument + message
            case t if t == REVERSE:
                result = message[::-1]
            case t if t == HEXLIFY:
                result = message.hex().encode()
            case _:
                result = self._digest(message)
        if not 0 < len(result) <= MAX_MESSAGE:
            raise WitnessFault(
                f"the proof makes a message of {len(result)} bytes, and {MAX_MESSAGE} is the limit"
            )
        return result

    def _digest(self, message: bytes) -> bytes:
        if self.tag not in DIGESTS:
            raise WitnessFault(f"the proof has the operation 0x{self.tag:02x}, which is not known here")
        try:
            return hashlib.new(DIGESTS[self.tag], message, usedforsecurity=False).digest()
        except ValueError:
            raise WitnessFault(
                f"the proof uses {DIGESTS[self.tag]}, which this computer's OpenSSL lacks"
            ) from None


@total_ordering
@dataclass(frozen=True, slots=True)
class Attestation:
    """Who attests a message: a calendar by its address, a Bitcoin block by its height, or somebody unknown here."""

    tag: bytes
    payload: bytes
    calendar: str | None = None
    block: int | None = None

    def __lt__(self, other: Attestation) -> bool:
        return self._key() < other._key()

    def _key(self) -> tuple[bytes, int, bytes]:
        return (self.tag, -1 if self.block is None else self.block, self.payload)


@dataclass(slots=True)
class Node:
    """A message, what attests it, and the operations that lead on."""

    message: bytes
    attestations: set[Attestation] = field(default_factory=set)
    steps: dict[Operation, Node] = field(default_factory=dict)

    def follow(self, operation: Operation) -> Node:
        """Return the node that an operation leads to; made where it is not there."""
        if operation not in self.steps:
            self.steps[operation] = Node(operation.apply(self.message))
        return self.steps[operation]

    def nodes(self) -> Iterator[Node]:
        """This node and all nodes below it, in the order in which a proof is written."""
        waiting = [self]
        while waiting:
            node = waiting.pop()
            yield node
            waiting += [node.steps[step] for step in sorted(node.steps, reverse=True)]

    def attested_by_block(self) -> bool:
        """Tell whether a Bitcoin block attests this very message."""
        return any(attestation.block is not None for attestation in self.attestations)

    def merge(self, other: Node) -> None:
        """Add everything that another tree of the same message has."""
        waiting = [(self, other)]
        while waiting:
            mine, theirs = waiting.pop()
            if mine.message != theirs.message:
                raise WitnessFault("two proofs of different messages cannot be merged")
            mine.attestations |= theirs.attestations
            waiting += [(mine.follow(operation), node) for operation, node in theirs.steps.items()]


class Reader:
    """Reads the binary format; whatever is missing, too long or left over is a fault."""

    def __init__(self, data: bytes, what: str, at: int = 0) -> None:
        if len(data) > MAX_STAMP_BYTES:
            raise WitnessFault(f"the {what} has {len(data)} bytes, and none has more than {MAX_STAMP_BYTES}")
        self._data, self._what, self._at = data, what, at

    def take(self, size: int) -> bytes:
        """Take the next so many bytes of the proof."""
        taken = self._data[self._at : self._at + size]
        if len(taken) != size:
            raise WitnessFault(f"the {self._what} is cut short")
        self._at += size
        return taken

    def byte(self) -> int:
        """Take the next byte of the proof."""
        return self.take(1)[0]

    def number(self) -> int:
        """Return an unsigned number in base 128, least significant first."""
        value = 0
        for shift in range(0, 63, 7):
            byte = self.byte()
            value |= (byte & 0x7F) << shift
            if not byte & 0x80:
                return value
        raise WitnessFault(f"the {self._what} has a number of more than 63 bits")

    def take_counted(self, limit: int) -> bytes:
        """Take bytes that stand behind their number."""
        size = self.number()
        if size > limit:
            raise WitnessFault(f"the {self._what} has a field of {size} bytes, and {limit} is the limit")
        return self.take(size)

    def require_end(self) -> None:
        """Refuse a proof that has bytes behind its end."""
        if self._at != len(self._data):
            raise WitnessFault(f"the {self._what} goes on after its end")

    def tree(self, message: bytes) -> Node:
        """Return the tree that starts from a message, and with it the data's end."""
        root = Node(message)
        waiting, operations = [root], 0
        while waiting:
            node = waiting.pop()
            tag = self.byte()
            if tag == FORK:
                waiting.append(node)
                tag = self.byte()
            if tag == ATTESTATION:
                node.attestations.add(self._attestation())
                continue
            operations += 1
            if operations > MAX_OPERATIONS:
                raise WitnessFault(f"the {self._what} has more than {MAX_OPERATIONS} operations")
            waiting.append(node.follow(self._operation(tag)))
        self.require_end()
        return root

    def _operation(self, tag: int) -> Operation:
        if tag not in {APPEND, PREPEND}:
            return Operation(tag)
        argument = self.take_counted(MAX_MESSAGE)
        if not argument:
            raise WitnessFault(f"the {self._what} appends or prepends nothing")
        return Operation(tag, argument)

    def _attestation(self) -> Attestation:
        """Return the attestation that stands next, with its calendar's address or its block's height."""
        tag, payload = self.take(8), self.take_counted(MAX_PAYLOAD)
        if tag not in {PENDING, BITCOIN}:
            return Attestation(tag, payload)
        inner = Reader(payload, self._what)
        if tag == BITCOIN:
            height = inner.number()
            inner.require_end()
            return Attestation(tag, payload, block=height)
        uri = inner.take_counted(MAX_URI)
        inner.require_end()
        if not URI.fullmatch(uri):
            raise WitnessFault(f"the {self._what} names a calendar by what is no address")
        return Attestation(tag, payload, calendar=uri.decode("ascii"))


def parse_tree(data: bytes, message: bytes, what: str) -> Node:
    """Return a tree without a file around it, as calendars answer it."""
    return Reader(data, what).tree(message)


def write_tree(root: Node) -> bytes:
    """Return the bytes of a tree, in the order in which everybody writes it."""
    written = bytearray()
    waiting: list[tuple[bytes, Node | None]] = [(b"", root)]
    while waiting:
        prefix, node = waiting.pop()
        written += prefix
        if node is None:
            continue
        parts: list[tuple[bytes, Node | None]] = [
            (bytes([ATTESTATION]) + attestation.tag + _with_length(attestation.payload), None)
            for attestation in sorted(node.attestations)
        ]
        parts += [(_operation_bytes(step), node.steps[step]) for step in sorted(node.steps)]
        if not parts:
            raise WitnessFault("a proof without an attestation says nothing")
        parts = [(bytes([FORK]) + part, below) for part, below in parts[:-1]] + parts[-1:]
        waiting += reversed(parts)
    return bytes(written)


def _operation_bytes(operation: Operation) -> bytes:
    head = bytes([operation.tag])
    return head + _with_length(operation.argument) if operation.tag in {APPEND, PREPEND} else head


def _with_length(data: bytes) -> bytes:
    return _number(len(data)) + data


def _number(value: int) -> bytes:
    parts = bytearray()
    while value > 0x7F:
        parts.append(value & 0x7F | 0x80)
        value >>= 7
    parts.append(value)
    return bytes(parts)
