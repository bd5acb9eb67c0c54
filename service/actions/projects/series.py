"""Series: a run comes in and is judged against those before it; what a series shows so far."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from pydantic import Field
from sqlalchemy.orm import Session

from service.domain.access import Key
from service.domain.series import (
    MOST_SERIES,
    Content,
    NewRun,
    PackedRuns,
    Point,
    Series,
    SeriesSettings,
    is_discovered,
    is_reference,
    period_of,
)
from service.errors import Conflict, TooMany
from service.records import Record
from service.stats.shared.declaring.common import StatWarning
from service.stats.shared.methods.run_series import (
    Outcome,
    RunStanding,
    evidence_of,
    incomplete,
    tell,
    too_lasting,
    watch,
)
from service.store.projects import audit, series
from service.words import Language, say, speaking


@dataclass(frozen=True, slots=True, eq=False)
class PreparedRun:
    """A run with what it is compared with, read before anything is computed."""

    known: Series | None
    """The series; None before its first run."""
    before: tuple[Point, ...]
    """Runs of the newest period, in order."""
    runs: PackedRuns
    """The runs of that period and this one, as they are stored."""
    n_reference: int
    """How many of `runs`, the first ones, are the reference."""
    content: Content
    """The values of this run, packed for storing."""
    repeated: bool
    """True when this very run was stored before: there is nothing to judge or to add."""

    def settings(self, run: NewRun) -> SeriesSettings:
        """Return how the series is judged: as its first run said, which may be this one."""
        if self.known is not None:
            return self.known.settings
        return run.settings or SeriesSettings()


def prepare(session: Session, caller: Key, name: str, run: NewRun) -> PreparedRun:
    """Read what a run is compared with. No lock is taken; `add` sees whether another run came in since.

    Raises:
        Conflict: `run_differs`, a run of this name with other values is stored; `settings_differ`, the series was begun
            with others.
    """
    content, known = Content.of(run), series.find(session, caller.project_id, name)
    if known is None:
        return PreparedRun(None, (), PackedRuns().with_run(content), 1, content, repeated=False)
    if run.settings is not None and run.settings != known.settings:
        raise Conflict(
            "this series was begun with other settings, and a change of them would change what it has shown: leave "
            "settings out, or begin a series of another name",
            code="settings_differ",
        )
    same = series.find_point(session, known.id, run.name)
    if same is not None and (same.sha256 != content.sha256):
        raise Conflict(
            "a run of this name with other values is in this series, and runs stay as they came: name this one anew",
            code="run_differs",
        )
    last = series.find_last_point(session, known.id)
    before = series.read_points(session, known.id, period=last.period) if last is not None else []
    if same is not None or last is None:
        return PreparedRun(known, tuple(before), PackedRuns(), 0, content, repeated=same is not None)
    fresh = period_of(run, before) > last.period
    # a new period has nothing before it
    earlier = PackedRuns() if fresh else series.read_packed_runs(session, known.id, last.period)
    references = 0 if fresh else sum(point.reference for point in before)
    n_reference = references + int(is_reference(run, before))
    return PreparedRun(known, tuple(before), earlier.with_run(content), n_reference, content, repeated=False)


def add(
    session: Session,
    caller: Key,
    name: str,
    run: NewRun,
    ready: PreparedRun,
    standing: RunStanding,
    *,
    series_id: str,
    now: datetime,
) -> None:
    """Store a run that was judged, and with the first one its series.

    Raises:
        Conflict: `series_moved`, another run came in since it was made ready.
        TooMany: the project has as many series as it may.
    """
    series.hold(session, caller.project_id)
    known = ready.known
    if known is None:
        if series.count(session, caller.project_id) >= MOST_SERIES:
            raise TooMany(f"this project has {MOST_SERIES} series, as many as it may")
        known = Series(id=series_id, name=name, settings=ready.settings(run), created_at=now)
        series.insert(session, caller.project_id, known, caller.id)
        audit.record_act(session, caller, "series.create", known.id, {}, now=now)
    period = period_of(run, ready.before)
    fresh = not ready.before or period > ready.before[-1].period
    hypothesis = (
        series.count_hypotheses(session, caller.project_id) + 1 if fresh else ready.before[-1].hypothesis
    )
    discovered = not fresh and ready.before[-1].discovered
    # A drop that was discovered stays so until a new reference; only then its evidence is compared with the threshold.
    if not fresh and not discovered:
        standings = [*(point.standing for point in ready.before), standing]
        evidence = evidence_of(standings, ready.settings(run).nights).series
        if len(evidence):
            log_e = float(evidence[-1])
            # e-LOND shares one error rate over all periods of the project: earlier discoveries lower the threshold.
            others = series.count_discoveries(session, caller.project_id, hypothesis)
            discovered = is_discovered(log_e, hypothesis, others)
    point = Point(
        number=ready.before[-1].number + 1 if ready.before else 1,
        name=run.name,
        reference=is_reference(run, ready.before),
        period=period,
        hypothesis=hypothesis,
        sha256=ready.content.sha256,
        standing=standing,
        discovered=discovered,
        received_at=now,
    )
    series.insert_point(session, known.id, point, ready.content, caller.id)
    facts = {"series": known.id, "number": point.number, "reference": point.reference}
    audit.record_act(session, caller, "series.run", known.id, facts, now=now)


class SeriesRun(Record):
    """A run, and the evidence after it."""

    name: str = Field(description="What it is called.")
    number: int = Field(description="In the series, from 1.")
    reference: bool = Field(description="One of the runs that others are compared with.")
    standing: RunStanding
    evidence: float | None = Field(description="For a drop, after this run, a ratio; null for the reference.")
    received_at: datetime


class SeriesState(Record):
    """What a series shows since its reference."""

    name: str
    settings: SeriesSettings
    outcome: Outcome = Field(
        description="`dropped`: runs are lower than those before; it stays so until another reference is named."
    )
    since: str | None = Field(description="Since about which run; null without a drop.")
    alarm: str | None = Field(description="The run that showed it; null without a drop.")
    headline: str = Field(description="What is shown, in a line.")
    open: str = Field(description="What was not shown; empty: nothing is left to say.")
    sentence: str = Field(description="The same in plain English, with the distance from the reference.")
    among_all: bool = Field(
        description="Told among all series of the project too, where at most 1 drop in 20 is false on average."
    )
    e_value: float | None = Field(
        description="Evidence of the period, a ratio; null before the first run after the reference."
    )
    period: int = Field(description="How many references have been named, a count.")
    n_runs: int = Field(description="Runs since the reference, it included, a count.")
    warnings: list[StatWarning] = Field(description="What the reader of the newest run has to know.")
    next: str = Field(description="What to do, in a sentence.")
    runs: list[SeriesRun] = Field(description="Runs since the reference, it included, in order.")


def read_state(
    session: Session, known: Series, *, most: int | None = None, language: Language
) -> SeriesState:
    """Read what a series of the caller's project shows, in a language, with the last `most` of its runs, or all."""
    last = series.find_last_point(session, known.id)
    points = series.read_points(session, known.id, period=1 if last is None else last.period)
    return describe_state(known, points, most=most, language=language)


def describe_state(
    known: Series, points: Sequence[Point], *, most: int | None, language: Language
) -> SeriesState:
    """Describe what a series shows, from `points`, the runs of its newest period in order; at least one.

    The evidence rests on all of them, also where only the last `most` are listed.
    """
    names, standings = [point.name for point in points], [point.standing for point in points]
    watched = watch(standings, known.settings.false_alarm_every, known.settings.nights)
    newest = points[-1]
    # A drop looks like a swing that lasts. So after one, how lasting swings are is taken from the run before the drop.
    # `since` counts from 1.
    steady = newest if watched.since is None else points[watched.since - 2]
    binary = all(standing.binary for standing in standings)
    runs = [
        SeriesRun(
            name=point.name,
            number=point.number,
            reference=point.reference,
            standing=point.standing,
            evidence=evidence,
            received_at=point.received_at,
        )
        for point, evidence in zip(points, watched.evidence, strict=True)
    ]
    with speaking(language):
        warnings = [
            *incomplete(newest.name, newest.standing),
            *too_lasting(steady.standing.lasting, binary=binary),
        ]
    return SeriesState(
        name=known.name,
        settings=known.settings,
        outcome=watched.outcome,
        since=None if watched.since is None else names[watched.since - 1],
        alarm=None if watched.alarm is None else names[watched.alarm - 1],
        **tell(
            watched,
            names,
            standings,
            every=known.settings.false_alarm_every,
            binary=binary,
            lower_is_better=known.settings.better == "lower",
        ).texts(language),
        among_all=newest.discovered,
        e_value=watched.e_value,
        period=newest.period,
        n_runs=len(points),
        warnings=warnings,
        next=say(_NEXT[watched.outcome if watched.e_value is not None else "no_run"], language),
        runs=runs if most is None else runs[len(runs) - most :],
    )


_NEXT = {
    "no_run": "series.next_no_run",
    "no_drop_shown": "series.next_no_drop_shown",
    "dropped": "series.next_dropped",
}
