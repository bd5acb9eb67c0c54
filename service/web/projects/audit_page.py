"""What was done in the project, for its admins: writes, refused edits, and reads of what follows from outcomes."""

from __future__ import annotations

import json
import re
from datetime import datetime
from typing import Any
from urllib.parse import urlencode

from fastapi import APIRouter, Request
from starlette.responses import Response

from service.api.http.shared import get_services
from service.errors import InvalidData
from service.store.projects import audit
from service.web.html.rendering import PageRoute, html
from service.web.html.speech import Say, language_of
from service.web.html.times import time_view
from service.web.visitors.sign_in import Admin
from service.words import message

PATH = "/audit"
MOST_SEARCH = 64
_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:\d\d)")
NAMES = {
    "times": "pages.fact_times",
    "last_at": "pages.fact_last_at",
    "kind": "pages.fact_kind",
    "scopes": "pages.fact_scopes",
    "by": "pages.fact_by",
    "name": "pages.fact_name",
    "batch": "pages.fact_batch",
    "look": "pages.fact_look",
    "visibility": "pages.fact_visibility",
    "before": "pages.fact_before",
    "embargo_until": "pages.fact_embargo_until",
    "acknowledged": "pages.fact_acknowledged",
    "arm": "pages.fact_arm",
    "reason": "pages.fact_reason",
    "cells": "pages.fact_cells",
    "twice": "pages.fact_twice",
    "delivery": "pages.fact_delivery",
    "deviation": "pages.fact_deviation",
    "events": "pages.fact_events",
    "link": "pages.fact_link",
    "population": "pages.fact_population",
    "n": "pages.fact_n",
    "revision": "pages.fact_revision",
    "run": "pages.fact_run",
    "version": "pages.fact_version",
    "plan_sha256": "pages.fact_plan_sha256",
    "of": "pages.fact_of",
}
"""The words of facts that the project's own actions record; others go by the names that the API gives them."""

routes = APIRouter(route_class=PageRoute, include_in_schema=False)


@routes.get(PATH)
def list_events(
    request: Request, visitor: Admin, action: str = "", subject: str = "", cursor: str | None = None
) -> Response:
    """Events, newest first, narrowed to an action or to what it was done to."""
    query = {name: text.strip() for name, text in (("action", action), ("subject", subject)) if text.strip()}
    for name, text in query.items():
        if len(text) > MOST_SEARCH:
            raise InvalidData.field(
                name, message("refusals.longer_than", most=MOST_SEARCH), message("refusals.copy_from_list")
            )
    shared = get_services(request)
    shared.reads.note(visitor, "audit.read", None)
    shared.reads.write(everything=True)  # whoever looks sees what they have read themselves
    with shared.database.read() as session:
        events, following = audit.read_page(
            session,
            visitor.project_id,
            action=query.get("action"),
            subject=query.get("subject"),
            cursor=cursor,
        )
    say = Say(language_of(request))
    lines = [
        (
            event,
            time_view("", event.created_at),
            [
                (say(NAMES[name]) if name in NAMES else name, *_format_fact(fact))
                for name, fact in (event.facts or {}).items()
            ],
        )
        for event in events
    ]
    return html(
        request,
        "audit.html",
        visitor=visitor,
        lines=lines,
        asked=query,
        older=f"{PATH}?{urlencode({**query, 'cursor': following})}" if following else "",
    )


def _format_fact(fact: Any) -> tuple[str, str]:
    """Return a fact as it stands behind its name, and where it is a time that once more for machines."""
    if isinstance(fact, str) and _TIME.fullmatch(fact):
        at = time_view("", datetime.fromisoformat(fact))
        return at.text, at.iso
    return _format_value(fact), ""


def _format_value(fact: Any) -> str:
    """Return a fact as text: a list by its parts, what is deeper as JSON."""
    if isinstance(fact, list) and all(isinstance(part, str) for part in fact):
        return ", ".join(fact)
    return fact if isinstance(fact, str) else json.dumps(fact, ensure_ascii=False)
