"""Series of a project: what each shows, and the page of one with its runs over time."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from urllib.parse import quote, urlencode

from anyio import to_thread
from fastapi import APIRouter, Request
from starlette.responses import Response

from service.actions.projects import series as actions
from service.actions.projects.series import SeriesRun, SeriesState
from service.api.http.requests.deps import PageSession
from service.api.http.shared import get_services
from service.domain.access import Key
from service.reports.charts.runs import runs as runs_over_time
from service.reports.charts.style import Spec
from service.stats.shared.declaring.sentences import amount, level_text
from service.store.projects import series
from service.web.html.pictures import drawn_for_page
from service.web.html.rendering import PageRoute, html
from service.web.html.speech import Say, language_of
from service.web.html.times import TimeView, time_view
from service.web.visitors.sign_in import SERIES, Visitor, visitor_of

MOST_ROWS = 200
"""Runs in the table, the newest."""
OUTCOMES = {"no_drop_shown": "series.quiet", "dropped": "series.fallen"}

SMALL = 1e-4
"""A chance below this is told as a bound."""
MOST_WRITTEN_OUT = 1_000_000_000
routes = APIRouter(route_class=PageRoute, include_in_schema=False)


@dataclass(frozen=True, slots=True)
class Line:
    """A run in the table."""

    number: int
    name: str
    mean: str
    difference: str
    interval: str
    """Of the difference; empty where there is none."""
    chance: str
    evidence: str
    items: str
    received: TimeView
    fallen: bool
    """The drop is told since about this run, or before."""


@routes.get(SERIES)
def list_series(
    request: Request, session: PageSession, visitor: Visitor, cursor: str | None = None
) -> Response:
    """The project's series, newest first, each with what it shows."""
    say = Say(language_of(request))
    known, following = series.read_page(session, visitor.project_id, cursor=cursor)
    states = [actions.read_state(session, name, most=1, language=say.language) for name in known]
    lines = [
        (state, address_of(state.name), outcome_of(state), time_view("", state.runs[-1].received_at))
        for state in states
    ]
    older = f"{SERIES}?{urlencode({'cursor': following})}" if following else ""
    return html(request, "series_list.html", visitor=visitor, lines=lines, older=older)


@routes.get(SERIES + "/{name}")
async def one(request: Request, name: str) -> Response:
    """What one series shows, its runs since the reference in a picture and in numbers."""
    visitor, state = await to_thread.run_sync(_read, request, name)
    say = Say(language_of(request))
    spec = spec_of(state, say)
    picture = None if spec is None else await drawn_for_page(request, spec)
    return html(
        request,
        "series.html",
        visitor=visitor,
        state=state,
        outcome=outcome_of(state),
        margin=_margin(state, say),
        picture=picture,
        described="" if spec is None else str(spec["description"]),
        lines=list(_lines(state, say)),
        level=next((level_text(run.standing.ci.level) for run in state.runs if run.standing.ci), ""),
        every=f"{state.settings.false_alarm_every:.10g}",
        api=f"/v1{address_of(state.name)}",
    )


def address_of(name: str) -> str:
    """Say where the page of a series is."""
    return f"{SERIES}/{quote(name, safe='')}"


def outcome_of(state: SeriesState) -> str:
    """Return the code of what a series shows in two words."""
    return "series.no_run_after" if state.e_value is None else OUTCOMES[state.outcome]


def spec_of(state: SeriesState, say: Say) -> Spec | None:
    """Return the picture of its runs; None before the first one after the reference."""
    if all(run.evidence is None for run in state.runs):
        return None
    numbers = {run.name: run.number for run in state.runs}
    margin = state.settings.margin
    binary = _binary(state)
    if margin is None:
        accepted = None
    else:
        size = float(margin.exact())
        accepted = size if state.settings.better == "lower" else -size
    return runs_over_time(
        [run.model_dump() for run in state.runs],
        every=state.settings.false_alarm_every,
        binary=binary,
        since=None if state.since is None else numbers[state.since],
        alarm=None if state.alarm is None else numbers[state.alarm],
        accepted=accepted,
        subtitle=state.name,
        language=say.language,
    )


def _read(request: Request, name: str) -> tuple[Key, SeriesState]:
    with get_services(request).database.read() as session:
        visitor = visitor_of(request, session)
        known = series.get(session, visitor.project_id, name)
        return visitor, actions.read_state(session, known, language=language_of(request))


def _binary(state: SeriesState) -> bool:
    return all(run.standing.binary for run in state.runs)


def _margin(state: SeriesState, say: Say) -> str:
    margin = state.settings.margin
    if margin is None:
        return ""
    if margin.unit == "pp":
        return say("units.points", value=f"{margin.value:g}")
    return f"{margin.value:g}" if margin.unit == "score" else f"{margin.value:g} {margin.unit}"


def _lines(state: SeriesState, say: Say) -> Iterator[Line]:
    """Yield the newest runs, the newest first."""
    binary, names = _binary(state), [run.name for run in state.runs]
    since = names.index(state.since) if state.since is not None else len(names)
    for at in range(len(names) - 1, max(len(names) - 1 - MOST_ROWS, -1), -1):
        run = state.runs[at]
        standing = run.standing
        total = standing.n + standing.n_missing
        yield Line(
            number=run.number,
            name=run.name,
            mean=_level(standing.mean, say, binary=binary),
            difference=_difference(run, say, binary=binary),
            interval=_interval(run, say, binary=binary),
            chance=_chance(run, say),
            evidence="" if run.evidence is None else _evidence(run.evidence),
            items=str(standing.n) if standing.n_missing == 0 else f"{standing.n} / {total}",
            received=time_view("", run.received_at),
            fallen=at >= since,
        )


def _level(mean: float | None, say: Say, *, binary: bool) -> str:
    if mean is None:
        return say("series.undefined")
    return f"{mean:.2%}" if binary else f"{mean:.4g}"


def _difference(run: SeriesRun, say: Say, *, binary: bool) -> str:
    standing = run.standing
    if run.reference:
        return say("series.reference")
    if standing.delta is None:
        return say("series.undefined")
    return amount(standing.delta, binary=binary)


def _interval(run: SeriesRun, say: Say, *, binary: bool) -> str:
    if run.reference or run.standing.delta is None or run.standing.ci is None:
        return ""
    low, high = (
        say("series.unbounded") if end is None else amount(end, binary=binary)
        for end in (run.standing.ci.low, run.standing.ci.high)
    )
    return f"[{low}, {high}]"


def _chance(run: SeriesRun, say: Say) -> str:
    if run.standing.p_value is None:
        return ""
    p = run.standing.p_value
    text = f"{p:.3g}" if p == 0 or p >= SMALL else f"<{SMALL:f}".rstrip("0")
    return text if run.standing.exact else say("series.at_most", p=text)


def _evidence(value: float) -> str:
    """Evidence to three digits, without powers of ten; what nobody can imagine as a bound."""
    if value > MOST_WRITTEN_OUT:
        return f">{MOST_WRITTEN_OUT:,}"
    return f"{value:.3g}" if value < 1000 else f"{float(f'{value:.3g}'):,.0f}"
