"""Proofs of OpenTimestamps: the reference client's own examples, a block of Bitcoin, and hostile files."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from forelock.witness import opentimestamps as ots
from forelock.witness.bitcoin import read_header
from forelock.witness.checking import verify
from forelock.witness.proof_tree import BITCOIN, PENDING, Node, Operation, parse_tree, write_tree
from forelock.witness.stamp import Stamp, WitnessFault
from tests.calendar import in_block, pending_at

EXAMPLES = Path(__file__).parent / "ots"
NAMES = sorted(path.name.removesuffix(".ots") for path in EXAMPLES.glob("*.ots"))
ALICE = "https://alice.btc.calendar.opentimestamps.org"
BOB = "https://bob.btc.calendar.opentimestamps.org"
BLOCK_358391 = bytes.fromhex(
    "02000000b96394585a281b7e5f438fd1c9ed492645a1fd61cb3802040000000000000000007ee445d23ad061af4a36b809501fab"
    "1ac4f2d7e7a739817dd0cbb7ec661b8a1e376755f58616186272def6"
)


def example(name: str) -> tuple[bytes, bytes]:
    return (EXAMPLES / name).read_bytes(), (EXAMPLES / f"{name}.ots").read_bytes()


@pytest.mark.parametrize("name", NAMES)
def test_against_files_of_the_reference_client(name: str) -> None:
    """Read and written again they are the same bytes, and they start from their file's hash."""
    data, proof = example(name)
    kind, root = ots.read_file(proof)
    assert kind == "sha256"
    assert root.message == hashlib.sha256(data).digest()
    assert ots.write_file(root) == proof


def test_a_pending_proof_names_its_calendar() -> None:
    """Figures: incomplete.txt.ots.info of the reference client."""
    data, proof = example("incomplete.txt")
    found = ots.verify(proof, data)
    assert (found.state, found.time) == ("pending", None)
    assert found.sentences == (f"pending at the calendar {ALICE}: it proves nothing yet, upgrade it later",)
    message = hashlib.sha256(data).digest()
    for nonce in ("e754bf93806a7ebaa680ef7bd0114bf4", "b573e8850cfd9e63d1f043fbb6fc250e"):
        message = hashlib.sha256(message + bytes.fromhex(nonce)).digest()
    commitment = bytes.fromhex("57cfa5c4") + message + bytes.fromhex("6fb1ac8d4e4eb0e7")
    assert ots.pending(proof) == [(ALICE, commitment)]


def test_two_calendars() -> None:
    data, proof = example("two-calendars.txt")
    assert {uri for uri, _ in ots.pending(proof)} == {ALICE, BOB}
    assert len(ots.verify(proof, data).sentences) == 2


def test_a_block_is_named_and_not_believed() -> None:
    data, proof = example("hello-world.txt")
    found = ots.verify(proof, data)
    assert (found.state, found.time) == ("claimed", None)
    assert "block 358391" in found.sentences[0]
    assert "8a1b66ecb7cbd07d8139a7e7d7f2c41aab1f5009b8364aaf61d03ad245e47e00" in found.sentences[0]
    assert ots.is_complete(proof)
    assert ots.pending(proof) == []


@pytest.mark.parametrize("header", [BLOCK_358391, BLOCK_358391.hex().encode() + b"\n"])
def test_against_block_358391(header: bytes) -> None:
    data, proof = example("hello-world.txt")
    found = verify(Stamp("opentimestamps", proof), data, headers=[header])
    assert found.state == "verified"
    assert found.time is not None
    assert found.time.isoformat() == "2015-05-28T15:41:18+00:00"
    assert "000000000000000003e892881a8cdcdc117c06d444057c98b6f04a9ee75a2319" in found.sentences[0]


@pytest.mark.parametrize("place", range(80))
def test_a_changed_header_lacks_its_work(place: int) -> None:
    changed = bytearray(BLOCK_358391)
    changed[place] ^= 1
    with pytest.raises(WitnessFault, match="lacks the work"):
        read_header(bytes(changed))


def test_another_block_says_nothing_of_this_one() -> None:
    """The first block of all, whose header anybody knows."""
    genesis = bytes.fromhex(
        "01000000"
        + "00" * 32
        + "3ba3edfd7a7b12b27ac72c3e67768f617fc81bc3888a51323a9fb8aa4b1e5e4a"
        + "29ab5f49ffff001d1dac2b7c"
    )
    assert read_header(genesis).hash == "000000000019d6689c085ae165831e934ff763ae46a2a6c172b3f1b60a8ce26f"
    data, proof = example("hello-world.txt")
    assert ots.verify(proof, data, [genesis]).state == "claimed"


@pytest.mark.parametrize("given", [b"", bytes(79), b"zz" * 80, BLOCK_358391 + b"\x00"])
def test_what_is_no_header(given: bytes) -> None:
    with pytest.raises(WitnessFault, match="80 bytes"):
        read_header(given)


def test_unknown_attestations_are_kept_and_prove_nothing() -> None:
    data, proof = example("unknown-notary.txt")
    with pytest.raises(WitnessFault, match="no attestation that is known"):
        ots.verify(proof, data)
    data, proof = example("known-and-unknown-notary.txt")
    assert ots.verify(proof, data).state == "pending"


def test_from_the_first_question_to_the_block() -> None:
    data, nonce = b"a checkpoint\n", bytes(range(16))
    submitted = ots.digest_to_submit(data, nonce)
    assert submitted == hashlib.sha256(hashlib.sha256(data).digest() + nonce).digest()
    proof = ots.new_proof(
        data, nonce, [b"\xf0\x01a\x08" + pending_at(ALICE), b"\xf0\x01b\x08" + pending_at(BOB)]
    )
    waiting = dict(ots.pending(proof))
    assert waiting == {
        ALICE: hashlib.sha256(submitted + b"a").digest(),
        BOB: hashlib.sha256(submitted + b"b").digest(),
    }
    upgraded = ots.upgrade(proof, waiting[ALICE], b"\xf1\x01c\x08" + in_block(800_000))
    assert ots.is_complete(upgraded)
    assert [uri for uri, _ in ots.pending(upgraded)] == [BOB]
    found = ots.verify(upgraded, data)
    assert found.state == "claimed"
    assert hashlib.sha256(b"c" + waiting[ALICE]).digest()[::-1].hex() in found.sentences[0]
    both = ots.merge(ots.upgrade(proof, waiting[BOB], b"\x08" + in_block(800_001)), upgraded)
    assert len(ots.verify(both, data).sentences) == 2
    assert ots.merge(both, proof) == both


def test_what_does_not_belong_together_is_not_merged() -> None:
    data, nonce = b"a checkpoint\n", bytes(16)
    proof = ots.new_proof(data, nonce, [pending_at(ALICE)])
    with pytest.raises(WitnessFault, match="no such commitment"):
        ots.upgrade(proof, bytes(32), in_block(1))
    with pytest.raises(WitnessFault, match="not of the same"):
        ots.merge(proof, ots.new_proof(b"other", nonce, [pending_at(ALICE)]))
    with pytest.raises(WitnessFault, match="no calendar"):
        ots.new_proof(data, nonce, [])
    with pytest.raises(WitnessFault, match="other bytes"):
        ots.verify(proof, b"other")


@pytest.mark.parametrize(
    ("tag", "message", "result"),
    [
        (0x08, b"", hashlib.sha256(b"").digest()),
        (0x02, b"abc", bytes.fromhex("a9993e364706816aba3e25717850c26c9cd0d89d")),
        (0x03, b"abc", bytes.fromhex("8eb208f7e05d987a9b044a8e98c6b087f15a0bfc")),
        (0xF2, b"abc", b"cba"),
        (0xF3, b"\xab\x01", b"ab01"),
    ],
)
def test_operations(tag: int, message: bytes, result: bytes) -> None:
    try:
        assert Operation(tag).apply(message) == result
    except WitnessFault as lacking:
        assert tag == 0x03
        assert "OpenSSL lacks" in str(lacking)


@pytest.mark.parametrize("name", ["hello-world.txt", "merkle1.txt", "known-and-unknown-notary.txt"])
def test_every_truncation_and_changed_byte_is_refused_or_says_nothing_new(name: str) -> None:
    data, proof = example(name)
    honest = ots.verify(proof, data, [BLOCK_358391])
    for place in range(len(proof)):
        with pytest.raises(WitnessFault):
            ots.read_file(proof[:place])
        changed = bytearray(proof)
        changed[place] ^= 1
        try:
            found = ots.verify(bytes(changed), data, [BLOCK_358391])
        except WitnessFault as said:
            assert "\n" not in str(said)
        else:
            assert found.state != "verified" or found.time == honest.time
    with pytest.raises(WitnessFault, match="after its end"):
        ots.read_file(proof + b"\x00")


@pytest.mark.parametrize(
    ("tree", "said"),
    [
        (b"\x67" + in_block(1), "operation 0x67"),
        (b"\xf0\x00" + in_block(1), "nothing"),
        (b"\xf0\xff\x7f" + in_block(1), "limit"),
        (b"\xf3" * 12 + in_block(1), "4096 is the limit"),
        (b"\x08" * 3000 + in_block(1), "operations"),
        (b"\x00" + PENDING + b"\x02\x01\n", "no address"),
        (b"\x00" + BITCOIN + b"\x02\x01\x01", "after its end"),
        (b"\x00" + BITCOIN + b"\x0a" + b"\xff" * 10, "63 bits"),
        (b"\xff\xff" + in_block(1), "0xff"),
        (b"\xff" + in_block(1), "cut short"),
    ],
)
def test_hostile_trees(tree: bytes, said: str) -> None:
    with pytest.raises(WitnessFault, match=said):
        parse_tree(tree, bytes(32), "proof")


def test_a_tree_without_an_attestation_is_not_written() -> None:
    with pytest.raises(WitnessFault, match="says nothing"):
        write_tree(Node(bytes(32)))


@given(st.binary(max_size=300))
def test_any_bytes_end_in_one_sentence(data: bytes) -> None:
    for given_bytes in (data, ots.MAGIC + b"\x01\x08" + data):
        try:
            ots.verify(given_bytes, b"x")
        except WitnessFault as said:
            assert "\n" not in str(said)


@given(
    st.recursive(
        st.just(in_block(7)),
        lambda inner: st.tuples(st.sampled_from([b"\x08", b"\xf0\x01x", b"\xf2"]), inner).map(b"".join),
    )
)
def test_what_is_written_is_read_again(tree: bytes) -> None:
    assert write_tree(parse_tree(tree, bytes(32), "proof")) == tree
