"""Calibrating a plan: on the rows of its record once it is judged, or on the caller's pilot data at any time.

Before the verdict nothing of the record but its plan is read. The rows of a judged record are open;
they wait with the job's other input until it ends.
"""

from __future__ import annotations

from sqlalchemy.orm import Session

from service.actions.verdicts.jobs import Computation
from service.actions.verdicts.opening import MAX_ROWS, open_rows
from service.domain.calibration.calibration import VERSION, Calibrator, block_count
from service.domain.calibration.case import Case, case_of, pack
from service.domain.calibration.pilot import Pilot, pilot_case
from service.domain.plans.preregistration import Preregistration
from service.errors import InvalidData
from service.stats.shared.declaring.registry import MOST_SECONDS

KIND = "calibration"


def of_record(session: Session, record: Preregistration, *, runs: int, seed: int) -> Case:
    """Return the case of a judged record.

    Raises:
        Conflict: `blinded`, `erased`, too many rows, or rows that an early stop left out.
    """
    rows = open_rows(session, record)
    about = _about(record, "record") | {"left_out": []}
    return case_of(rows.plan, rows.manifests, rows.outcomes.cells, runs=runs, seed=seed, about=about)


def of_pilot(record: Preregistration, pilots: tuple[Pilot, ...], *, runs: int, seed: int) -> Case:
    """Return the case of the caller's own data under the record's plan."""
    if sum(len(pilot.baseline) for pilot in pilots) > MAX_ROWS:
        raise InvalidData.field("pilot", f"has more than {MAX_ROWS} items", "send fewer items")
    return pilot_case(record.plan, pilots, runs=runs, seed=seed, about=_about(record, "pilot"))


def affordable(case: Case) -> float:
    """About how many seconds the case computes.

    Raises:
        InvalidData: `too_long`.
    """
    seconds = Calibrator(case).seconds()
    if seconds > MOST_SECONDS:
        raise InvalidData(
            f"the calibration would compute for about {seconds / 3600:.1f} hours, and {MOST_SECONDS / 3600:g} is the "
            "most; ask for fewer runs",
            code="too_long",
        )
    return seconds


def computation(case: Case, seconds: float) -> Computation:
    """Return what the job of this case computes."""
    return Computation(kind=KIND, version=VERSION, body=pack(case), work=lambda: (block_count(case), seconds))


def _about(record: Preregistration, data: str) -> dict[str, object]:
    return {
        "preregistration_id": record.id,
        "plan_sha256": record.plan_sha256 or record.plan.sha256(),
        "data": data,
    }
