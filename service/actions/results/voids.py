"""Voiding a batch: the repair for a wrong upload."""

from __future__ import annotations

import numpy as np
from sqlalchemy.orm import Session

from service.actions.results.coverage import read_held_cells, save
from service.actions.results.look_requests import require_unread
from service.domain.access import Key
from service.domain.ledger import Receipt
from service.domain.moment import Moment
from service.domain.plans.preregistration import Preregistration
from service.store.ledger import ledger
from service.store.projects import audit
from service.store.results import batches


def void(
    session: Session, caller: Key, record: Preregistration, sequence: int, reason: str, moment: Moment
) -> Receipt:
    """Void a whole batch, freeing its cells: the repair for a wrong upload, printed in the verdict."""
    record.require("collecting")
    sealed = batches.get(session, record.id, sequence).sealed
    positions = np.frombuffer(sealed.positions, dtype="<i4")
    require_unread(session, record, sealed.head.population, positions)
    batches.void(session, record.id, sequence, reason, caller.id, moment.now)
    replicates = np.unique(np.frombuffer(sealed.replicates, dtype="<u2"))
    cells = [(*sealed.head.cell, int(replicate)) for replicate in replicates]
    save(session, record, read_held_cells(session, record), cells)
    audit.record_act(session, caller, "batch.void", record.id, {"batch": sequence}, now=moment.now)
    body = {"batch": sequence, "reason": reason}
    return ledger.append(session, record, "batch_voided", body, moment)
