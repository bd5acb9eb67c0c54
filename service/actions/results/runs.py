"""Binding a run before it begins, so that the ledger has it before its results."""

from __future__ import annotations

from datetime import datetime

from sqlalchemy.orm import Session

from service.actions.plans import namings
from service.domain.access import Key
from service.domain.ledger import Receipt
from service.domain.moment import Moment
from service.domain.plans.naming import require_named
from service.domain.plans.preregistration import Preregistration
from service.domain.results.runs import MAX_RUNS, Binding, Run
from service.errors import Conflict, InvalidData
from service.store.ledger import ledger
from service.store.projects import audit
from service.store.results import runs


def bind(
    session: Session, caller: Key, record: Preregistration, binding: Binding, moment: Moment
) -> tuple[Run, Receipt]:
    """Store a run of a record that takes results; one that the binding does not name has a fresh id for a name.

    Raises:
        Conflict: the record takes no results; `arm_unnamed`; `run_exists`; `too_many_runs`.
        InvalidData: the arm or an endpoint is not one of the plan's, or the run began later than now.
    """
    record.require("locked", "collecting", action="binding a run")
    _check_binding(record, binding, moment.now)
    require_named(record.plan, namings.read_named_arms(session, record), binding.arm)
    name = binding.run or moment.new_id()
    if runs.exists(session, record.id, name):
        raise Conflict(
            f"preregistration {record.id} has a run of this name already, and a run stays as it was bound: "
            "bind another name",
            code="run_exists",
        )
    number = runs.next_number(session, record.id)
    if number > MAX_RUNS:
        raise Conflict(f"preregistration {record.id} has {MAX_RUNS} runs", code="too_many_runs")
    run = Run(
        preregistration_id=record.id,
        run=name,
        number=number,
        arm=binding.arm,
        models=binding.models,
        environment=binding.environment,
        judges=binding.judges,
        started_at=binding.started_at,
        plan_sha256=record.plan_sha256 or "",
        bound_by=caller.name,
        bound_at=moment.now,
    )
    runs.insert(session, run, caller.id)
    audit.record_act(session, caller, "run.bind", record.id, {"run": name}, now=moment.now)
    body = {"plan_sha256": record.plan_sha256, "run": name, "arm": run.arm, "run_sha256": run.sha256()}
    return run, ledger.append(session, record, "run", body, moment)


def _check_binding(record: Preregistration, binding: Binding, now: datetime) -> None:
    """Refuse a binding of an arm or a judged endpoint that the plan does not have, or one that starts in the future."""
    arms = {arm for hypothesis in record.plan.hypotheses or () for arm in hypothesis.arms}
    if binding.arm not in arms:
        raise InvalidData.field("arm", "is not one of the plan's", f"the plan has {', '.join(sorted(arms))}")
    endpoints = [endpoint.id for endpoint in record.plan.endpoints or ()]
    for name in binding.judges:
        if name not in endpoints:
            raise InvalidData.field(
                "judges",
                "names an endpoint that the plan does not have",
                f"the plan has {', '.join(endpoints)}",
            )
    if binding.started_at is not None and binding.started_at > now:
        raise InvalidData.field(
            "started_at", "is later than now", "leave it out for a run that has not begun"
        )
