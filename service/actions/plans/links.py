"""Links of a record to places outside: put one, remove one. They are no part of the plan, nor of any hash."""

from __future__ import annotations

from datetime import datetime

from sqlalchemy.orm import Session

from service.domain.access import Key
from service.domain.outgoing import MOST_LINKS, Link, LinkKind
from service.domain.plans.preregistration import ONCE_LOCKED, Preregistration
from service.errors import Conflict, InvalidData, NotFound
from service.publish.targets import UnusableAddress, require_link
from service.store.plans import links
from service.store.projects import audit


def put(
    session: Session,
    caller: Key,
    record: Preregistration,
    *,
    name: str,
    kind: LinkKind,
    url: str,
    external_id: str | None,
    now: datetime,
) -> Link:
    """Set the link of that name, in place of an earlier one. The caller holds a lock on the record.

    Raises:
        Conflict: the record is a draft; `too_many_links`.
        InvalidData: the address is none that a page may link to.
    """
    record.require(*ONCE_LOCKED, action="a link")
    try:
        require_link(url)
    except UnusableAddress as fault:
        raise InvalidData.field("url", fault.message, fault.fix) from None
    names = {link.name for link in links.read_all(session, record.id)}
    if name not in names and len(names) >= MOST_LINKS:
        raise Conflict(f"preregistration {record.id} has {MOST_LINKS} links", code="too_many_links")
    link = Link(name=name, kind=kind, url=url, external_id=external_id, put_at=now)
    links.put(session, record.id, link)
    audit.record_act(session, caller, "link.put", record.id, {"link": name}, now=now)
    return link


def delete(session: Session, caller: Key, record: Preregistration, name: str, *, now: datetime) -> None:
    """Remove the link of that name from a record.

    Raises:
        NotFound: the record has no link of that name.
    """
    if not links.delete(session, record.id, name):
        raise NotFound("this preregistration has no link of that name")
    audit.record_act(session, caller, "link.delete", record.id, {"link": name}, now=now)
