"""Checkpoints against C2SP's example, Go's tlog and transparency-dev/formats, and a live log's tree head."""

from __future__ import annotations

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from forelock.transparency.checkpoints import Checkpoint, open_checkpoint, read_checkpoint
from forelock.transparency.faults import Malformed, Unproven
from forelock.transparency.merkle import EMPTY_ROOT, leaf_hash
from forelock.transparency.notes import Signer, VerifierKey

GO_TREE = "go.sum database tree\n123456789012\nTszzRgjTG6xce+z2AG31kAXYKBgQVtCSCE40HmuwBb0=\n"
"""golang.org/x/mod/sumdb/tlog, note_test.go: the root is the hash of the leaf "hello world"."""
SUM_KEY = VerifierKey.parse("sum.golang.org+033de0ae+Ac4zctda0e5eza+HJyk9SxEdh+s3Ux18htTTAD8OuAn8")
"""Of Go's module checksum database, from the go command's source."""
SUM_NOTE = (
    "go.sum database tree\n6476701\nmb8QLQIs0Z0yP5Cstq6guj87oXWeC9gEM8oVikmm9Wk=\n\n"
    "— sum.golang.org "
    "Az3grsLX85Gz+s1SiTbgkuqxgItqFq7gsMUEyVnrsa9LM7Us9S+1xbFIGu95949rj4nPRYfvimWEPWL+o3GeoWwOoAw=\n"
)
WITNESSED = (
    "go.sum database tree\n15067302\ngJyioq6dwR9n+NjEWORfYmH+ubeYm3kH42BBQ0bTpYI=\n\n"
    "— sum.golang.org "
    "Az3grp1rvWOs5NKlr/xR4GLN/CDyzzakmt1o61uSxYKpK1SerqOP2ClbX/peKUZjYnyomH5Xz7GZG3TpB7OeKn4E2ww=\n"
    "— test.example.com "
    "qTGhC/xIPQ0AXKHK6Y+9ypRfuvMZWPjRXM8NiOg5M1WREn07VQXyuIXM3NRNav3ieVFLUqDRK77PWDmL6w8w84UqeAw=\n"
)
"""The same log a year and a half later, with a witness' signature beside its own."""
SOFA = (
    "example.com/behind-the-sofa\n20852163\nCsUYapGGPo4dkMgIAUqom/Xajj7h2fB2MPA3j2jxq2I=\n\n"
    "— example.com/behind-the-sofa "
    "Az3grlgtzPICa5OS8npVmf1Myq/5IZniMp+ZJurmRDeOoRDe4URYN7u5/Zhcyv2q1gGzGku9nTo+zyWE+xeMcTOAYQ8=\n"
)
"""C2SP tlog-checkpoint's example."""
ROOT = "dGhlIHZpZXcgZnJvbSB0aGUgdHJlZSB0b3BzIGlzIHM="


def test_a_tree_against_go() -> None:
    checkpoint = Checkpoint("go.sum database tree", 123456789012, leaf_hash(b"hello world"))
    assert checkpoint.text == GO_TREE
    assert Checkpoint.parse(GO_TREE) == checkpoint


@pytest.mark.parametrize(("note", "size"), [(SUM_NOTE, 6_476_701), (WITNESSED, 15_067_302)])
def test_tree_heads_of_a_live_log_open(note: str, size: int) -> None:
    checkpoint = open_checkpoint(note, [SUM_KEY], origin="go.sum database tree")
    assert checkpoint.size == size
    with pytest.raises(Unproven):
        open_checkpoint(note.replace(str(size), str(size + 1)), [SUM_KEY])
    with pytest.raises(Unproven, match="another log"):
        open_checkpoint(note, [SUM_KEY], origin="example.com/behind-the-sofa")


def test_the_example_of_c2sp_is_read() -> None:
    checkpoint = read_checkpoint(SOFA)
    assert (checkpoint.origin, checkpoint.size) == ("example.com/behind-the-sofa", 20_852_163)
    assert checkpoint.root.hex() == "0ac5186a91863e8e1d90c808014aa89bf5da8e3ee1d9f07630f0378f68f1ab62"
    assert SOFA.startswith(checkpoint.text + "\n")


def test_extension_lines_are_kept() -> None:
    """transparency-dev/formats, checkpoint_test.go, with a root of the size that RFC 6962 has."""
    text = f"Log\n9944\n{ROOT}\nlots\nof\nlines\n"
    assert Checkpoint.parse(text).extensions == ("lots", "of", "lines")
    assert Checkpoint.parse(text).text == text


@pytest.mark.parametrize(
    "text",
    [
        "Head\n9944\n",
        f"\n9944\n{ROOT}\n",
        f"Log\n123\n{ROOT}",
        f"Log\nbananas\n{ROOT}\n",
        f"Log\n-34\n{ROOT}\n",
        f"Log\n3438945738945739845734895735\n{ROOT}\n",
        "Log\n123\nThisIsn'tBase64\n",
        "Log\n123\nYmFuYW5hcw==\n",  # formats takes any length
        f"Log\n9944\n{ROOT}\n\n\n\n",
        f"Log\n0123\n{ROOT}\n",
        f"Log\n+123\n{ROOT}\n",
        f"Log\n1_000\n{ROOT}\n",
        f"Log\n١٢٣\n{ROOT}\n",
        f"Log\n 123\n{ROOT}\n",
        f"Log\n9223372036854775808\n{ROOT}\n",
        f"Log\n123\n{ROOT[:-2]}t=\n",  # bits left over
        f"Log\n0\n{ROOT}\n",
        "go.sum database tree\n0xabcdef\nTszzRgjTG6xce+z2AG31kAXYKBgQVtCSCE40HmuwBb0=\n",
        "go.sum database tree\n123456789012\nTszzRgjTG6xce+z2AG31kAXYKBgQVtCSCE40HmuwBTOOBIG=\n",
        "",
        "\n",
    ],
)
def test_malformed_checkpoints_are_refused(text: str) -> None:
    with pytest.raises(Malformed):
        Checkpoint.parse(text)


def test_signed_and_opened_is_the_same() -> None:
    signer = Signer("log.example", Ed25519PrivateKey.generate())
    for checkpoint in (
        Checkpoint("log.example", 0, EMPTY_ROOT),
        Checkpoint("log.example", 2**63 - 1, bytes(32), ("time 5",)),
    ):
        assert open_checkpoint(checkpoint.sign(signer), [signer.verifier], origin="log.example") == checkpoint
