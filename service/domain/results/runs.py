"""Runs: what an eval job binds before it runs, and what of it contradicts the locked plan.

A run is bound to its arm, its environment, its models and the judges of its endpoints, and the ledger has when. Batches
name it. What a run says is its author's word; that it was said before the results came in is on record.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Literal, get_args

from pydantic import AwareDatetime, Field

from service.domain.canonical import canonical, sha256_hex
from service.domain.plans.plan import MAX_ENVIRONMENT, Plan
from service.domain.plans.sections.endpoint import MAX_LIST, Judge
from service.domain.plans.strings import Line, Token
from service.records import Record, StrictRecord

Violation = Literal[
    "run_missing",
    "run_unknown",
    "run_of_another_arm",
    "run_before_lock",
    "judge_differs",
    "environment_differs",
]
VIOLATIONS: tuple[Violation, ...] = get_args(Violation)
MAX_RUNS = 10_000
"""Of one record."""
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class Binding(StrictRecord):
    """What a run is bound to before it begins."""

    run: Token | None = Field(None, description="What results will call it; made here when left out.")
    arm: Token = Field(description="The arm of the plan that it runs.")
    models: dict[Token, Line] = Field(
        default_factory=dict,
        max_length=MAX_ENVIRONMENT,
        description='Models by their role, each with its version, such as `{"generator": "m-2027-01-04"}`.',
    )
    environment: dict[Token, Line] = Field(
        default_factory=dict,
        max_length=MAX_ENVIRONMENT,
        description="Whatever else tells this run from others: harness, commit, image.",
    )
    judges: dict[Token, Judge] = Field(
        default_factory=dict, max_length=MAX_LIST, description="Who judges, by endpoint."
    )
    started_at: AwareDatetime | None = Field(
        None, description="When it began, with its UTC offset; null: it has not begun."
    )


class Run(Record):
    """A run as it was bound; what is stored and hashed."""

    preregistration_id: str
    run: str
    number: int = Field(description="Of the run in its preregistration, from 1.")
    arm: str
    models: dict[str, str]
    environment: dict[str, str]
    judges: dict[str, Judge]
    started_at: AwareDatetime | None
    plan_sha256: str = Field(description="Of the plan as it was locked when the run was bound.")
    bound_by: str = Field(description="Name of the key that bound it.")
    bound_at: AwareDatetime

    def sha256(self) -> str:
        """Return the SHA-256 of its canonical text."""
        return sha256_hex(canonical(self.model_dump(mode="json")))


@dataclass(frozen=True, slots=True)
class NamedBatch:
    """A batch that counts, and the run that it names."""

    batch: int
    sequence: int
    """Of its leaf."""
    population: str
    arm: str
    endpoint: str
    run: str | None
    card_differs: tuple[str, ...] = ()
    """Fields of the arm's card of which the imported file said something else."""
    content_differs: int = 0
    """Items of the imported file of other content than the locked list names, as its import allowed."""


@dataclass(frozen=True, slots=True)
class BoundRun:
    """A run, the leaf that bound it, and the earliest time of a row that names it, where rows have one."""

    run: Run
    sequence: int
    observed: int | None = None
    """Microseconds since 1970 UTC."""


def violations(
    plan: Plan, locked_at: datetime, batches: Sequence[NamedBatch], runs: Mapping[str, BoundRun]
) -> dict[Violation, list[NamedBatch]]:
    """Return the batches that break what the plan asks of runs, by what they break, in the order of `VIOLATIONS`.

    Without a section `runs` nothing is asked, and only what a bound run says itself can contradict the plan.
    """
    batches_by_kind: dict[Violation, list[NamedBatch]] = {}
    for batch in batches:
        for violation in _find_violations(plan, locked_at, batch, runs):
            batches_by_kind.setdefault(violation, []).append(batch)
    return {violation: batches_by_kind[violation] for violation in VIOLATIONS if violation in batches_by_kind}


def find_concerned(plan: Plan, batches: Iterable[NamedBatch]) -> tuple[str, ...] | None:
    """Return the hypotheses that rest on these batches; None where all of the plan do."""
    cells = {(batch.population, batch.arm, batch.endpoint) for batch in batches}
    hypotheses = plan.hypotheses or ()
    concerned_ids = tuple(
        hypothesis.id
        for hypothesis in hypotheses
        if cells
        & {
            (population, arm, endpoint)
            for population in plan.tasks(hypothesis.population)
            for arm in hypothesis.arms
            for endpoint in plan.endpoints_asked(hypothesis)
        }
    )
    return None if len(concerned_ids) == len(hypotheses) else concerned_ids


def resting_on(plan: Plan, arm: str) -> tuple[str, ...] | None:
    """Return the hypotheses about an arm; None where all of the plan are."""
    hypotheses = plan.hypotheses or ()
    resting_ids = tuple(hypothesis.id for hypothesis in hypotheses if arm in hypothesis.arms)
    return None if len(resting_ids) == len(hypotheses) else resting_ids


def _find_violations(
    plan: Plan, locked_at: datetime, batch: NamedBatch, runs: Mapping[str, BoundRun]
) -> Iterator[Violation]:
    """Find what a batch breaks of the plan's rules for runs: its run, arm, time, judge and environment."""
    section = plan.runs
    if batch.run is None:
        if section is not None and section.required:
            yield "run_missing"
        return
    bound = runs.get(batch.run)
    if bound is None or bound.sequence > batch.sequence:
        if section is not None:
            yield "run_unknown"
        if bound is None:
            return
    run = bound.run
    if run.arm != batch.arm:
        yield "run_of_another_arm"
    if _began(bound) is not None and _began(bound) < locked_at:  # type: ignore[operator]
        yield "run_before_lock"
    if _other_judge(plan, run, batch.endpoint):
        yield "judge_differs"
    locked = {} if section is None else section.environment or {}
    if any(run.environment.get(name) != value for name, value in locked.items()):
        yield "environment_differs"


def _began(bound: BoundRun) -> datetime | None:
    """Return when a run began, by its own word and by its rows."""
    started = [] if bound.run.started_at is None else [bound.run.started_at]
    seen = [] if bound.observed is None else [_EPOCH + timedelta(microseconds=bound.observed)]
    return min([*started, *seen], default=None)


def _other_judge(plan: Plan, run: Run, endpoint_id: str) -> bool:
    """The run names another judge than the locked one, or none where the plan asks for runs."""
    endpoint = plan.endpoint(endpoint_id)
    locked = None if endpoint is None else endpoint.judge
    if endpoint_id in run.judges:
        return run.judges[endpoint_id] != locked
    return locked is not None and plan.runs is not None and plan.runs.required
