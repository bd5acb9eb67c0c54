"""OpenTimestamps: detached proofs (.ots) that bytes are committed to by a Bitcoin block, or soon will be.

A proof starts from the bytes' hash and applies operations, in a tree, until it comes to what attests a message: a
calendar that promised to put it into a block, or the block whose Merkle root the message is. Format: version 1 of
the detached file of opentimestamps.org; limits are those of its reference implementation.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

from forelock.witness.bitcoin import Header, read_header
from forelock.witness.proof_tree import Attestation, Node, Operation, Reader, parse_tree, write_tree
from forelock.witness.stamp import StampResult, WitnessFault

MAGIC = b"\x00OpenTimestamps\x00\x00Proof\x00\xbf\x89\xe2\xe8\x84\xe8\x92\x94"
VERSION = 1
FILE_HASHES = {0x02: "sha1", 0x03: "ripemd160", 0x08: "sha256"}
SHA256, APPEND = 0x08, 0xF0
MEDIA_TYPE = "application/vnd.opentimestamps.v1"


def digest_to_submit(data: bytes, nonce: bytes) -> bytes:
    """Return what calendars are sent: 32 bytes that tell nothing of `data`, thanks to the nonce of 16 random bytes."""
    return hashlib.sha256(hashlib.sha256(data).digest() + nonce).digest()


def new_proof(data: bytes, nonce: bytes, answers: Sequence[bytes]) -> bytes:
    """Return the .ots file of `data` from what calendars answered to `digest_to_submit`.

    Raises:
        WitnessFault: no answer, or one that is no proof.
    """
    if not answers:
        raise WitnessFault("no calendar answered")
    root = Node(hashlib.sha256(data).digest())
    submitted = root.follow(Operation(APPEND, nonce)).follow(Operation(SHA256))
    for answer in answers:
        submitted.merge(parse_tree(answer, submitted.message, "calendar's answer"))
    return write_file(root)


def write_file(root: Node) -> bytes:
    """Return a tree that starts from a SHA-256 as a detached file."""
    return MAGIC + bytes([VERSION, SHA256]) + root.message + write_tree(root)


def read_file(proof: bytes) -> tuple[str, Node]:
    """Return the file's hash by name, and the tree that starts from it.

    Raises:
        WitnessFault: not a detached proof of this version.
    """
    if not proof.startswith(MAGIC):
        raise WitnessFault("the proof is not an OpenTimestamps file: it does not begin like one")
    reader = Reader(proof, "proof", len(MAGIC))
    version = reader.number()
    if version != VERSION:
        raise WitnessFault(f"the proof is of version {version}, and {VERSION} is known")
    kind = reader.byte()
    if kind not in FILE_HASHES:
        raise WitnessFault(f"the proof starts from a hash of unknown kind 0x{kind:02x}")
    name = FILE_HASHES[kind]
    return name, reader.tree(reader.take(32 if name == "sha256" else 20))


def pending(proof: bytes) -> list[tuple[str, bytes]]:
    """Calendars that promised a block, each with the commitment it is asked for; none that a block attests already."""
    root = read_file(proof)[1]
    return [
        (attestation.calendar, node.message)
        for node in root.nodes()
        if not any(below.attested_by_block() for below in node.nodes())
        for attestation in sorted(node.attestations)
        if attestation.calendar is not None
    ]


def upgrade(proof: bytes, commitment: bytes, answer: bytes) -> bytes:
    """Return the proof with what a calendar answers for one of its commitments. What stood in it stays.

    Raises:
        WitnessFault: the answer is no proof, or the commitment is not one of this proof.
    """
    name, root = read_file(proof)
    if name != "sha256":
        raise WitnessFault(f"the proof starts from {name}, and SHA-256 is asked for")
    further = parse_tree(answer, commitment, "calendar's answer")
    nodes = [node for node in root.nodes() if node.message == commitment]
    if not nodes:
        raise WitnessFault("the proof has no such commitment")
    for node in nodes:
        node.merge(further)
    return write_file(root)


def merge(proof: bytes, other: bytes) -> bytes:
    """Two proofs of the same bytes as one.

    Raises:
        WitnessFault: they are of different bytes.
    """
    (name, root), (other_name, further) = read_file(proof), read_file(other)
    if (name, root.message) != (other_name, further.message) or name != "sha256":
        raise WitnessFault("the two proofs are not of the same SHA-256")
    root.merge(further)
    return write_file(root)


def is_complete(proof: bytes) -> bool:
    """True when a block attests the bytes and nothing more is to be asked for."""
    return any(node.attested_by_block() for node in read_file(proof)[1].nodes())


def verify(proof: bytes, data: bytes, headers: Sequence[bytes] = ()) -> StampResult:
    """Return what a proof of `data` says: the blocks that commit to it, else the calendars that promised one.

    A block counts as verified where its header is among `headers`, which the reader got himself.

    Raises:
        WitnessFault: the proof is of other bytes, or says nothing that is known here.
    """
    name, root = read_file(proof)
    if name != "sha256" or root.message != hashlib.sha256(data).digest():
        raise WitnessFault("the proof is of other bytes than these")
    given = [read_header(header) for header in headers]
    attestations: list[tuple[Attestation, Node]] = [
        (attestation, node) for node in root.nodes() for attestation in sorted(node.attestations)
    ]
    blocks = [(leaf.block, node) for leaf, node in attestations if leaf.block is not None]
    if blocks:
        return _verify_blocks(blocks, given)
    calendars = sorted({leaf.calendar for leaf, _ in attestations if leaf.calendar is not None})
    if calendars:
        claims = tuple(
            f"pending at the calendar {uri}: it proves nothing yet, upgrade it later" for uri in calendars
        )
        return StampResult("opentimestamps", "pending", None, claims)
    raise WitnessFault(
        "the proof holds no attestation that is known here: neither a calendar nor a Bitcoin block"
    )


def _verify_blocks(blocks: Sequence[tuple[int, Node]], given: Sequence[Header]) -> StampResult:
    """Return what Bitcoin blocks attest: verified by the earliest header that was given, else claims to compare."""
    checked, claims = [], []
    for height, node in blocks:
        if len(node.message) != 32:
            raise WitnessFault("the proof takes what is no Merkle root for one")
        root = node.message[::-1].hex()
        header = next((candidate for candidate in given if candidate.merkle_root == node.message), None)
        if header is None:
            claims.append(
                f"Bitcoin block {height} has to have the Merkle root {root} for this to hold: compare it with a block "
                "explorer, or give its header"
            )
        else:
            sentence = (
                f"the Bitcoin block header that was given, {header.hash}, commits to these bytes; its time is "
                f"{header.time:%Y-%m-%d %H:%M} UTC, which may be two hours off. The proof calls it block {height}: "
                "whether that hash is in the chain, a block explorer tells"
            )
            checked.append((header.time, sentence))
    if checked:
        time, sentence = min(checked)
        return StampResult("opentimestamps", "verified", time, (sentence, *claims))
    return StampResult("opentimestamps", "claimed", None, tuple(dict.fromkeys(claims)))
