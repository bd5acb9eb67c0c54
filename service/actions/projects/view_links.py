"""Sharing a record: its visibility, and view-only links, which are made once and revoked."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from sqlalchemy.orm import Session

from service.domain.access import (
    LINK_LASTS,
    LINK_LASTS_AT_MOST,
    Key,
    ViewLink,
    Visibility,
    parse_token,
    secret_sha256,
)
from service.domain.plans.preregistration import ONCE_LOCKED, Preregistration
from service.errors import Conflict, InvalidData, NotFound, TooMany
from service.store.database import clock
from service.store.plans import preregistrations
from service.store.projects import audit, view_links
from service.store.projects.view_links import Sharing
from service.words import message

MOST_LINKS = 200
"""Open links that one record may have."""
_DAY = timedelta(days=1)


@dataclass(frozen=True, slots=True)
class OpenedRecord:
    """A record that somebody without a key may read."""

    record: Preregistration
    link: ViewLink | None
    """The link by which it is read; None for a public record."""

    @property
    def anonymous(self) -> bool:
        """True when the reader is not told whose record it is: the link was made for anonymous review."""
        return self.link is not None and self.link.anonymous


def share(
    session: Session, caller: Key, record: Preregistration, visibility: Visibility, *, now: datetime
) -> Sharing:
    """Set who may read a locked record. The caller holds a lock on it. To set what is set changes nothing.

    Raises:
        Conflict: it is a draft, or under an embargo (`embargoed`).
    """
    record.require(*ONCE_LOCKED, action="sharing")
    before = view_links.read_sharing(session, record.id)
    if before.visibility == visibility:
        return before
    _require_no_embargo(record, before)
    facts = {"visibility": visibility, "before": before.visibility}
    audit.record_act(session, caller, "visibility.set", record.id, facts, now=now)
    return view_links.share(session, record.id, visibility, now)


def create(
    session: Session,
    caller: Key,
    record: Preregistration,
    *,
    name: str,
    anonymous: bool,
    expires_at: datetime | None,
    link_id: str,
    token: str,
    now: datetime,
) -> ViewLink:
    """Create a view-only link to a record, which ends with its maker's key at the latest.

    The caller holds a lock on the record. Only the token's hash is kept.

    Raises:
        Conflict: the record is a draft, private, or under an embargo (`embargoed`).
        InvalidData: the link would end in the past, or after more than a year.
        TooMany: as many links are open as there may be.
    """
    record.require(*ONCE_LOCKED, action="sharing")
    sharing = view_links.read_sharing(session, record.id)
    _require_no_embargo(record, sharing)
    if sharing.visibility == "private":
        raise Conflict(
            f"preregistration {record.id} is private, and a link would open nothing; first "
            f'PUT /v1/preregistrations/{record.id}/visibility with {{"visibility": "link"}}'
        )
    most = caller.expires_at
    # Without a time of its own the link lasts as long as links do, and no longer than its maker's key.
    ends = expires_at or min(now + LINK_LASTS, most or now + LINK_LASTS)
    if ends <= now:
        raise InvalidData.field("expires_at", "is in the past", "name a later time, or leave it out")
    if ends > now + LINK_LASTS_AT_MOST:
        days = LINK_LASTS_AT_MOST // _DAY
        raise InvalidData.field("expires_at", f"is more than {days} days away", "name an earlier time")
    if most is not None and ends > most:
        message = "is later than the end of the API key that asks"
        raise InvalidData.field("expires_at", message, "name an earlier time, or leave it out")
    if view_links.count(session, record.id, now) >= MOST_LINKS:
        raise TooMany(f"this record has {MOST_LINKS} open links, as many as it may; revoke some")
    link = ViewLink(
        id=link_id,
        preregistration_id=record.id,
        name=name,
        anonymous=anonymous,
        created_at=now,
        expires_at=ends,
    )
    view_links.insert(session, link, secret_sha256(token), caller.id)
    facts = {"link": link.id, "anonymous": anonymous, "expires_at": ends.isoformat()}
    audit.record_act(session, caller, "viewlink.create", record.id, facts, now=now)
    return link


def revoke(
    session: Session, caller: Key, record: Preregistration, link_id: str, *, now: datetime
) -> ViewLink:
    """Revoke a link. To revoke it again changes nothing, and is not recorded."""
    before = view_links.get(session, record.id, link_id)
    if before.revoked_at is not None:
        return before
    audit.record_act(session, caller, "viewlink.revoke", record.id, {"link": link_id}, now=now)
    return view_links.revoke(session, record.id, link_id, now)


def open_by_token(session: Session, token: str) -> OpenedRecord:
    """Return the record that the view-only link with this token opens.

    Raises:
        NotFound: no such link; or it has ended, or its record is private: nobody is told which.
    """
    # A mistyped token fails its checksum, and costs no look at the database.
    opened = view_links.find_by_token(session, secret_sha256(token)) if parse_token(token) else None
    if opened is None or not opened.link.valid(clock.read_now(session)) or opened.visibility == "private":
        raise NotFound(message("refusals.link_opens_nothing"))
    record = preregistrations.get(session, opened.project_id, opened.link.preregistration_id)
    return OpenedRecord(record, opened.link)


def _require_no_embargo(record: Preregistration, sharing: Sharing) -> None:
    if sharing.opens_at is not None:
        raise Conflict(
            f"preregistration {record.id} is under an embargo until {sharing.opens_at.date()}, when it becomes "
            "public by itself; until then nobody outside the project reads it. While it has no results an "
            "amendment may name another day, or none",
            code="embargoed",
        )


def open_public(session: Session, preregistration_id: str) -> OpenedRecord:
    """Return a record that everybody may read.

    Raises:
        NotFound: there is none of that id, or it is not public: nobody is told which.
    """
    project_id = view_links.find_public_project(session, preregistration_id)
    if project_id is None:
        raise NotFound("no public preregistration has such an id")
    return OpenedRecord(preregistrations.get(session, project_id, preregistration_id), None)
