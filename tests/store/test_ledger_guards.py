"""The ledger only grows, whatever is sent to the database past the service."""

from __future__ import annotations

from service.store.ledger import ledger, ledger_signers
from tests.store.conftest import NOW


def test_the_ledger_takes_the_next_leaf_only(database, judged, attacker):
    for sequence in ("sequence", "sequence + 2", "-1"):
        attacker.try_to(
            f"INSERT INTO ledger_entries SELECT {sequence}, kind, project_id, preregistration_id, leaf, "
            "leaf_sha256, created_at FROM ledger_entries"
        )
    for size in ("size + 1", "size", "size - 1", "NULL"):
        attacker.try_to(f"UPDATE ledger_head SET size = {size}")
    attacker.try_to("INSERT INTO ledger_head SELECT 2, size, peaks FROM ledger_head")


def test_the_ledger_grows_with_the_hashes_of_its_subtrees_only(database, world, judged, attacker):
    """The leaf before the last one of eight is there: the eighth makes subtrees of two, of four and of eight whole."""
    with database.write() as session:
        while (size := ledger.read_head(session).size) % 8 != 6:
            world.leaf(session, judged, "close")
    eighth = size + 1
    leaf = (
        "INSERT INTO ledger_entries SELECT max(sequence) + 1, 'close', NULL, NULL, 'x', 'x', max(created_at) "
        "FROM ledger_entries"
    )
    some = "zeroblob({})" if database.dialect == "sqlite" else "decode(repeat('00', {}), 'hex')"
    nodes = "INSERT INTO ledger_nodes VALUES ({}, {})"
    whole = 32 * ((eighth + 1) & -(eighth + 1)).bit_length() - 32
    for sequence in (eighth, eighth - 1, eighth - 2, 0):
        attacker.try_to(nodes.format(sequence, some.format(whole)))
    attacker.succeed(leaf)
    attacker.succeed(leaf)
    for length in (0, 32, whole - 32, whole - 1, whole + 1, whole + 32):
        attacker.try_to(nodes.format(eighth, some.format(length)))
    attacker.try_to(f"UPDATE ledger_head SET size = {eighth + 1}")  # without the hashes
    attacker.succeed(nodes.format(eighth, some.format(whole)))
    attacker.succeed(f"UPDATE ledger_head SET size = {eighth + 1}")


def test_a_signer_follows_from_a_leaf(database, world, judged, attacker):
    row = "INSERT INTO ledger_signers SELECT {}, origin, vkey, {}, created_at FROM ledger_signers WHERE number = 1"
    for number, sequence in ((2, "NULL"), (2, "0"), (2, "99"), (3, "0"), (1, "NULL")):
        attacker.try_to(row.format(number, sequence))
    with database.write() as session:
        rotation = world.leaf(session, judged, "key_rotation")
    attacker.try_to(row.format(3, rotation.sequence))
    attacker.succeed(row.format(2, rotation.sequence))


def test_a_checkpoint_is_of_the_log_as_it_is_by_who_signs_now(database, world, judged, attacker):
    row = "INSERT INTO ledger_checkpoints SELECT {}, {}, note, created_at FROM ledger_checkpoints WHERE signer = 1"
    with database.write() as session:
        rotation = world.leaf(session, judged, "key_rotation")
        ledger_signers.add(session, origin="log", vkey="x", sequence=rotation.sequence, now=NOW)
    for size, signer in (
        ("size", 1),
        ("size + 1", 1),
        ("size - 1", 2),
        ("size + 2", 2),
        ("size", 3),
        ("NULL", 2),
    ):
        attacker.try_to(row.format(size, signer))
    attacker.succeed(row.format("size + 1", 2))


def test_a_stamp_is_the_next_of_its_checkpoint_until_one_waits_for_nothing(database, judged, attacker):
    row = (
        "INSERT INTO stamps SELECT size + {}, signer, {}, {}, root, {}, {}, {}, obtained_at FROM stamps "
        "WHERE number = 1"
    )
    empty = "x''" if database.dialect == "sqlite" else "''::bytea"
    as_it_is = (0, "kind", 2, "note_sha256", "content", 1)
    for place, other in ((0, 1), (1, "'notary'"), (2, 1), (2, 3), (3, "'x'"), (4, empty), (5, 2)):
        values = list(as_it_is)
        values[place] = other
        attacker.try_to(row.format(*values))
    attacker.succeed(row.format(0, "kind", 2, "note_sha256", "content", 0))
    attacker.try_to(row.format(0, "kind", 3, "note_sha256", "content", 0))
    attacker.succeed(row.format(0, "'rfc3161'", 1, "note_sha256", "content", 0))
