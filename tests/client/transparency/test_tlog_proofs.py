"""Proof files against C2SP's example and transparency-dev/formats (proof/tlog_proof_test.go)."""

from __future__ import annotations

import base64
import hashlib

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from forelock.transparency.checkpoints import Checkpoint
from forelock.transparency.faults import Malformed, Unproven
from forelock.transparency.merkle import leaf_hash, node_hash
from forelock.transparency.notes import Signer
from forelock.transparency.tlog_proofs import TlogProof

ONE, TWO = (hashlib.sha256(each).digest() for each in (b"hash1", b"hash2"))
ONE64, TWO64 = (base64.b64encode(each).decode() for each in (ONE, TWO))


@pytest.mark.parametrize(
    ("proof", "text"),
    [
        (
            TlogProof(5, (ONE, TWO), "test checkpoint\n"),
            f"c2sp.org/tlog-proof@v1\nindex 5\n{ONE64}\n{TWO64}\n\ntest checkpoint\n",
        ),
        (
            TlogProof(10, (ONE,), "checkpoint data\n", b"extra information"),
            f"c2sp.org/tlog-proof@v1\nextra ZXh0cmEgaW5mb3JtYXRpb24=\nindex 10\n{ONE64}\n\ncheckpoint data\n",
        ),
        (TlogProof(0, (), "checkpoint\n"), "c2sp.org/tlog-proof@v1\nindex 0\n\ncheckpoint\n"),
    ],
)
def test_proofs_against_transparency_dev(proof: TlogProof, text: str) -> None:
    assert str(proof) == text
    assert TlogProof.parse(text) == proof
    assert TlogProof.parse(text.encode()) == proof


@pytest.mark.parametrize(
    "text",
    [
        "wrong-header\nindex 0\n\ncheckpoint\n",
        "c2sp.org/tlog-proof@v1\nextra !!notbase64!!\nindex 0\n\ncheckpoint\n",
        "c2sp.org/tlog-proof@v1\n\n\ncheckpoint\n",
        "c2sp.org/tlog-proof@v1\nindex notanumber\n\ncheckpoint\n",
        "c2sp.org/tlog-proof@v1\nindex -5\n\ncheckpoint\n",
        "c2sp.org/tlog-proof@v1\nindex 05\n\ncheckpoint\n",
        "c2sp.org/tlog-proof@v1\nindex 0\n!!notbase64!!\n\ncheckpoint\n",
        f"c2sp.org/tlog-proof@v1\nindex 0\n{base64.b64encode(bytes(64)).decode()}\n\ncheckpoint\n",
        "c2sp.org/tlog-proof@v1\nindex 0\n" + "a" * 65 * 1024 + "\n",
        "c2sp.org/tlog-proof@v1\nextra \nindex 0\n\ncheckpoint\n",
        f"c2sp.org/tlog-proof@v1\nindex 0\nextra AAAA\n{ONE64}\n\ncheckpoint\n",
        "c2sp.org/tlog-proof@v1\nindex 0\n" + f"{ONE64}\n" * 64 + "\ncheckpoint\n",
        "c2sp.org/tlog-proof@v1\r\nindex 0\r\n\r\ncheckpoint\n",
        "",
    ],
)
def test_malformed_proofs_are_refused(text: str) -> None:
    with pytest.raises(Malformed):
        TlogProof.parse(text)


def test_the_example_of_c2sp_is_read() -> None:
    """Its signatures and extra data are abridged there: a line of ours stands for the first, the second is left out."""
    proof = TlogProof.parse(
        "c2sp.org/tlog-proof@v1\n"
        "index 73894\n"
        "gSKyXoYZUgZ6jduWYrkDOARinOMGJveXjgMkBTcdPlQ=\n"
        "B95lDa8R83lS8n0eG+o0buTxRKQTYFi//1U8anccXmA=\n"
        "EKNzoDWG8LGC0Yp9o+sv3qllpMP9uHQ9B20KNL+Q1zs=\n"
        "RoopEkOdqkYqMB4MJXrbt/hMjOxsVn0IrWjpz1ZMMes=\n"
        "AHCioX9nLjsrse6YhjRRmk1WUEirVOLLRoOQ6vfO5vk=\n"
        "\nexample.com/fancylog\n109482\nsFodV/vSp5O8n9a8QpW6PRY97tfOSW5bsc2Xl/EQi08=\n"
        "\n— example.com/fancylog AAAAAAAA\n"
    )
    assert (proof.index, len(proof.hashes)) == (73_894, 5)
    assert proof.checkpoint.startswith("example.com/fancylog\n109482\n")


def test_a_proof_shows_its_leaf_and_no_other() -> None:
    signer = Signer("log.example", Ed25519PrivateKey.generate())
    left, right = leaf_hash(b"left"), leaf_hash(b"right")
    note = Checkpoint("log.example", 2, node_hash(left, right)).sign(signer)
    proof = TlogProof.parse(str(TlogProof(1, (left,), note)))
    assert proof.verify(right, [signer.verifier], origin="log.example").size == 2
    with pytest.raises(Unproven, match="another root"):
        proof.verify(left, [signer.verifier])
    with pytest.raises(Unproven, match="another root"):
        TlogProof(0, (left,), note).verify(right, [signer.verifier])
    with pytest.raises(Unproven, match="no known key"):
        proof.verify(right, [Signer("log.example", Ed25519PrivateKey.generate()).verifier])
    with pytest.raises(Unproven, match="another log"):
        proof.verify(right, [signer.verifier], origin="log.test")
