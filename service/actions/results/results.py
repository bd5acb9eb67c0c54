"""Results around the posting of batches: checking one, and what makes a plan complete.

Nothing here may answer differently for different outcomes: faults name fields and items, never
values, and what is stored beside the sealed columns follows from item ids alone.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from sqlalchemy.orm import Session

from service.domain.access import Key
from service.domain.moment import Moment
from service.domain.plans.manifest import Manifest
from service.domain.plans.plan import Plan
from service.domain.plans.preregistration import Preregistration
from service.domain.recent import MOST_RECORDS, Recent
from service.domain.verdicts import stopping
from service.store.jobs import jobs
from service.store.plans import populations, preregistrations


@dataclass(frozen=True, slots=True)
class Terms:
    """What batches of one record are checked against. Its items stay; its plan may change while there is no result."""

    plan: Plan
    plan_sha256: str
    manifests: Mapping[str, Manifest] = field(repr=False)

    @property
    def sequential(self) -> bool:
        """The plan is read before the end: with each batch, whether a look is due has to be found out."""
        return stopping.is_sequential(self.plan)


class LockedPlans:
    """Plans that batches were checked against a moment ago, by project and record.

    Whether a record still takes results is asked when the batch is stored. A plan that can still be amended is read
    every time.
    """

    ROOM = 4_000_000
    """Characters of their text."""

    def __init__(self) -> None:
        self._known: Recent[tuple[str, str], tuple[Plan, str]] = Recent(self.ROOM, MOST_RECORDS)

    def at_hand(self, caller: Key, prereg_id: str) -> Terms | None:
        """Return the terms, when nothing has to be read or indexed for them."""
        known = self._known.get((caller.project_id, prereg_id))
        if known is None:
            return None
        plan, sha256 = known
        manifests: dict[str, Manifest] = {}
        for population in plan.populations or ():
            manifest = populations.find_recent(population.items_sha256 or "")
            if manifest is None or not manifest.indexed:
                return None
            manifests[population.id] = manifest
        return Terms(plan, sha256, manifests)

    def read(self, session: Session, caller: Key, prereg_id: str) -> Terms:
        """Return the terms from the database, for a record that is locked, whether or not it still takes results."""
        record = preregistrations.get(session, caller.project_id, prereg_id)
        if record.state in ("draft", "withdrawn"):
            record.require("locked", "collecting")
        terms = Terms(record.plan, record.plan_sha256 or "", populations.read_manifests(session, record))
        for manifest in terms.manifests.values():
            manifest.index()
        if record.state != "locked" and self._known.get((caller.project_id, prereg_id)) is None:
            known = record.plan, terms.plan_sha256
            self._known.add((caller.project_id, prereg_id), known, len(record.plan.model_dump_json()))
        return terms


def enqueue(
    session: Session, record: Preregistration, kind: str, moment: Moment, suffix: str = ""
) -> jobs.Job:
    """Queue a job that opens a record's rows, such as `verdict`; one that waits or runs is returned instead.

    `suffix` tells its subject from others of the kind.
    """
    new = jobs.NewJob(
        id=moment.new_id(),
        project_id=record.project_id,
        kind=kind,
        params={"preregistration_id": record.id},
        subject=record.id + suffix,
        created_at=moment.now,
    )
    return jobs.enqueue(session, new)
