"""Series of a project and their runs: insert-only, numbered from 1, with the items that runs share kept once."""

from __future__ import annotations

import hashlib
import json
import zlib

import sqlalchemy as sa
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import Session

from service.domain.canonical import canonical
from service.domain.series import MOST_TEXT, Content, PackedRuns, Point, Series, SeriesSettings, digest, full
from service.errors import Conflict, NotFound
from service.stats.shared.methods.run_series import RunStanding
from service.store.database import integrity, paging, scope
from service.store.database.series_tables import series, series_points, series_rosters
from service.words import message

MOST_LOOKED_AT = 2000
"""Runs that one page of series reads at most: as many as one series may have since its reference."""
_SHOWN = sa.select(series.c.id, series.c.name, series.c.settings, series.c.created_at)
_POINTS = sa.select(
    *(
        series_points.c[name]
        for name in (
            "number", "name", "reference", "period", "hypothesis", "sha256", "standing", "discovered", "received_at",
        )
    )
)  # fmt: skip


def find(session: Session, project_id: str, name: str) -> Series | None:
    """Find the project's series of that name; None when it has none."""
    statement = scope.select_of_project(_SHOWN.where(series.c.name == name), series, project_id)
    row = session.execute(statement).mappings().one_or_none()
    return None if row is None else _read(row)


def get(session: Session, project_id: str, name: str) -> Series:
    """Read the project's series of that name; NotFound when it has none."""
    known = find(session, project_id, name)
    if known is None:
        raise NotFound(message("refusals.no_series"))
    return known


def read_page(
    session: Session, project_id: str, *, cursor: str | None, limit: int = 50
) -> tuple[list[Series], str | None]:
    """Read a page of the project's series, newest first, and the cursor of the next.

    A page is shorter than `limit` where its series have many runs since their reference. What a series shows follows
    from all of these, and a page reads no more than `MOST_LOOKED_AT` of them, or those of one series.
    """
    statement = scope.select_of_project(_SHOWN, series, project_id)
    rows, following = paging.read_page(
        session, statement, (series.c.created_at, series.c.id), _read, cursor=cursor, limit=limit
    )
    counts = _count_newest(session, [known.id for known in rows])
    runs = n_listed = 0
    for known in rows:
        runs += counts.get(known.id, 0)
        if n_listed and runs > MOST_LOOKED_AT:
            break
        n_listed += 1
    return paging.shorten(rows, following, n_listed, lambda known: (known.created_at, known.id))


def _count_newest(session: Session, ids: list[str]) -> dict[str, int]:
    """Count by series the runs since its newest reference."""
    mine = series_points.c.series_id.in_(ids)
    newest = (
        sa.select(series_points.c.series_id, sa.func.max(series_points.c.period).label("period"))
        .where(mine)
        .group_by(series_points.c.series_id)
        .subquery()
    )
    of_newest = sa.and_(
        series_points.c.series_id == newest.c.series_id, series_points.c.period == newest.c.period
    )
    counted = (
        sa.select(series_points.c.series_id, sa.func.count())
        .select_from(series_points)
        .join(newest, of_newest)
        .group_by(series_points.c.series_id)
    )
    return {series_id: int(number) for series_id, number in session.execute(counted)}


def count(session: Session, project_id: str) -> int:
    """Count the series that a project has at the moment; there is a limit to them."""
    counted = sa.select(sa.func.count()).select_from(series)
    return int(session.scalar(scope.select_of_project(counted, series, project_id)) or 0)


def hold(session: Session, project_id: str) -> None:
    """Let no other transaction add runs to the project's series until this one ends.

    Periods are numbered over all series of a project, and their error is shared by these numbers: two that begin at
    once must not have the same. SQLite lets one transaction write at a time by itself.
    """
    if session.get_bind().dialect.name == "postgresql":
        number = int.from_bytes(hashlib.sha256(b"series of " + project_id.encode()).digest()[:8], signed=True)
        session.execute(sa.select(sa.func.pg_advisory_xact_lock(number)))


def insert(session: Session, project_id: str, made: Series, key_id: str) -> None:
    """Add a series.

    Raises:
        Conflict: another request has added one of that name meanwhile.
    """
    settings = canonical(made.settings.model_dump(mode="json")).decode()
    row = made.model_dump() | {"settings": settings, "project_id": project_id, "key_id": key_id}
    _add(session, sa.insert(series).values(row))


def read_points(session: Session, series_id: str, *, period: int | None = None) -> list[Point]:
    """Read the runs of a series that was read in its project, in order; those of one period, or all."""
    statement = _POINTS.where(series_points.c.series_id == series_id).order_by(series_points.c.number)
    if period is not None:
        statement = statement.where(series_points.c.period == period)
    return [_read_point(row) for row in session.execute(statement).mappings()]


def find_last_point(session: Session, series_id: str) -> Point | None:
    """Find the newest run of a series; None before the first."""
    statement = _POINTS.where(series_points.c.series_id == series_id).order_by(series_points.c.number.desc())
    row = session.execute(statement.limit(1)).mappings().one_or_none()
    return None if row is None else _read_point(row)


def find_point(session: Session, series_id: str, name: str) -> Point | None:
    """Find the run of that name in a series; None when it has none."""
    statement = _POINTS.where(series_points.c.series_id == series_id, series_points.c.name == name)
    row = session.execute(statement).mappings().one_or_none()
    return None if row is None else _read_point(row)


def read_packed_runs(session: Session, series_id: str, period: int) -> PackedRuns:
    """Read the runs of a period in order, packed as they are stored.

    Every run is inflated to check its hash, one at a time, and let go again: all of them inflated would not fit.

    Raises:
        RecordAltered: a run is not what was stored.
        Conflict: with code `series_full`, where their item names take more memory than a process may hold.
    """
    wanted = series_points.c.series_id == series_id
    of_period = sa.select(series_points.c.roster_sha256).where(wanted, series_points.c.period == period)
    held = sa.select(series_rosters.c.sha256, series_rosters.c.content).where(
        series_rosters.c.series_id == series_id, series_rosters.c.sha256.in_(of_period)
    )
    rosters: dict[str, bytes] = {}
    size = 0
    for sha256, content in session.execute(held.execution_options(yield_per=1)):
        with integrity.reading("series roster", series_id):
            text = zlib.decompress(content)
            integrity.require("series roster", series_id, holds=integrity.is_same(text, sha256))
        rosters[sha256], size = content, size + len(text)
        if size > MOST_TEXT:
            raise full()
    order = series_points.c.number
    statement = sa.select(
        order, series_points.c.roster_sha256, series_points.c.content, series_points.c.sha256
    ).where(wanted, series_points.c.period == period)
    runs = []
    for number, roster, content, sha256 in session.execute(statement.order_by(order)):
        subject = f"{series_id}/{number}"
        with integrity.reading("series run", subject):
            values = zlib.decompress(content)
            integrity.require("series run", subject, holds=digest(roster, values) == sha256)
            integrity.require("series run", subject, holds=roster in rosters)
        runs.append((roster, content))
    return PackedRuns(rosters, tuple(runs), size)


def insert_point(session: Session, series_id: str, point_: Point, content: Content, key_id: str) -> None:
    """Add a run.

    Raises:
        Conflict: another request has added one meanwhile.
    """
    known = sa.select(sa.literal(1)).where(
        series_rosters.c.series_id == series_id, series_rosters.c.sha256 == content.roster_sha256
    )
    if session.execute(known).first() is None:
        roster = {"series_id": series_id, "sha256": content.roster_sha256, "content": content.roster}
        _add(session, sa.insert(series_rosters).values(roster))
    row = point_.model_dump() | {
        "series_id": series_id,
        "reference": int(point_.reference),
        "discovered": int(point_.discovered),
        "standing": canonical(point_.standing.model_dump(mode="json")).decode(),
        "roster_sha256": content.roster_sha256,
        "content": content.values,
        "key_id": key_id,
    }
    _add(session, sa.insert(series_points).values(row))


def count_hypotheses(session: Session, project_id: str) -> int:
    """Count the periods that all series of the project have had: the number of the newest."""
    return int(session.scalar(_select_of_project(sa.func.max(series_points.c.hypothesis), project_id)) or 0)


def count_discoveries(session: Session, project_id: str, before: int) -> int:
    """Count the periods of the project, of those numbered below `before`, in which a drop was discovered."""
    counted = sa.func.count(sa.distinct(series_points.c.hypothesis))
    statement = _select_of_project(counted, project_id).where(
        series_points.c.discovered == 1, series_points.c.hypothesis < before
    )
    return int(session.scalar(statement) or 0)


def _select_of_project(selected: sa.ColumnElement[int], project_id: str) -> sa.Select[tuple[int]]:
    joined = sa.select(selected).join_from(series_points, series, series.c.id == series_points.c.series_id)
    return scope.select_of_project(joined, series, project_id)


def _add(session: Session, statement: sa.Insert) -> None:
    """Execute an insert; Conflict with code `series_moved` where another request was first."""
    try:
        # A savepoint: the constraint says that another was first, and the caller's transaction goes on to answer so.
        with session.begin_nested():
            session.execute(statement)
    except IntegrityError as error:
        raise Conflict(
            "another run of this series came in meanwhile: send this one again", code="series_moved"
        ) from error


def _read(row: sa.RowMapping) -> Series:
    with integrity.reading("series", row["id"]):
        # a series that was begun before nights could vary is judged as it was
        settings = {"nights": "alike", **json.loads(row["settings"])}
        return Series.model_validate({**row, "settings": SeriesSettings.model_validate(settings)})


def _read_point(row: sa.RowMapping) -> Point:
    with integrity.reading("series run", str(row["name"])):
        standing = RunStanding.model_validate_json(row["standing"])
        flags = {name: bool(row[name]) for name in ("reference", "discovered")}
        return Point.model_validate({**row, **flags, "standing": standing})
