"""Receipts of a record: every entry that the ledger has of it, with the proof that it has it."""

from __future__ import annotations

from datetime import datetime

from fastapi import Response
from pydantic import Field

from service.actions.ledger import proofs
from service.api.examples import common as examples
from service.api.http.answers.answers import Page, View, answer, shows
from service.api.http.requests.deps import Cursor, Limit, Reader, ReadSession, RecordId
from service.api.http.serving.route import audits, make_router
from service.domain.ledger import Receipt
from service.store.ledger import ledger
from service.store.plans import preregistrations

routes = make_router("ledger")
UNTIL_THE_VERDICT = ("look", "reading")
"""Kinds of entries whose leaves say what was decided: before the verdict they are told by hash alone."""


class EntryView(Receipt, View):
    """An entry of a record: where it stands in the ledger, and when it was added."""

    at: datetime = Field(description="When it was added.")


@routes.get(
    "/preregistrations/{prereg_id}/receipts",
    response_model=Page[EntryView],
    responses=shows(
        {"items": [examples.RECEIPT | {"leaf": None, "at": "2027-01-04T09:00:00Z"}], "next_cursor": None}
    ),
)
@audits("receipts.read")
def list_receipts(
    caller: Reader, session: ReadSession, prereg_id: RecordId, limit: Limit = 50, cursor: Cursor = None
) -> Response:
    """List the receipts of a record, newest first: of its lock, batches, deviations, verdict and all else.

    A leaf with its `proof` and the log's verifier key is checked offline. The leaves of looks before the end are shown
    once there is a verdict.
    """
    record = preregistrations.get(session, caller.project_id, prereg_id)
    page, following = ledger.read_page(session, record.id, cursor=cursor, limit=limit)
    proven = proofs.prove(session, [listed.receipt for listed in page])
    items = []
    for entry, receipt in zip(page, proven, strict=True):
        is_told = record.judged_at is not None or receipt.kind not in UNTIL_THE_VERDICT
        fields = receipt.model_dump() | ({} if is_told else {"leaf": None})
        items.append(EntryView(**fields, at=entry.created_at))
    return answer(Page[EntryView](items=items, next_cursor=following))
