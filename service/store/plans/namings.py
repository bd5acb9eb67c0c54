"""Which arms that were locked by a criterion have been named: asked while results of a record are taken."""

from __future__ import annotations

import sqlalchemy as sa

from service.store.database.pipeline import Later, Questions
from service.store.database.tables import ledger_entries
from service.store.ledger import ledger


def ask(questions: Questions, preregistration_id: str) -> Later[frozenset[str]]:
    """Return the arms of a record that were named. Only while the record is held does it stay so."""
    return questions.ask(
        _LEAVES,
        {"of_id": preregistration_id},
        lambda rows: frozenset(ledger.parse_body(leaf)["arm"] for (leaf,) in rows),
    )


_LEAVES = sa.select(ledger_entries.c.leaf).where(
    ledger_entries.c.preregistration_id == sa.bindparam("of_id"), ledger_entries.c.kind == "arm_named"
)
