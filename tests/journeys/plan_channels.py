"""Channels of what a plan may say: claims about one arm and about suites, and until when nobody else reads it."""

from __future__ import annotations

import uuid
from typing import Any

from service.actions.projects import embargoes
from service.domain.plans.embargo import end_of
from tests.chaos.blind_plans import DAY, one_arm, suite

from .channels import CARDS, ITEMS, ONE, OTHER, kept, name, pages, public, record, seen
from .conftest import Service
from .plans import locked, post


def claims(service: Service) -> None:
    """Records on one arm, and on several tasks, whose arms have a card or a criterion."""
    for plan in (one_arm(len(ONE), arms=CARDS[1:]), suite(len(ONE)) | {"arms": CARDS}):
        # receipts count who shares the items
        both = [_claimed(service, plan, values) for values in (ONE, OTHER)]
        one, other = (seen(service, prereg_id) for prereg_id in both)
        assert {part: one[part] for part in one if one[part] != other[part]} == {}


def _claimed(service: Service, plan: dict[str, Any], values: list[Any]) -> str:
    """A locked record with a part of its candidate's results, the arm being named before."""
    prereg_id = locked(service.client, plan)
    assert name(service, prereg_id).status_code == 200
    for endpoint in plan["endpoints"]:
        sent = post(service.client, prereg_id, "B", ITEMS, values, endpoint=endpoint["id"], population="p")
        assert sent.status_code == 201, sent.text
    return prereg_id


def embargoed(service: Service) -> None:
    """Before the day a stranger is told of no record, with results or without; from then on of none what came in."""
    one, other = (record(service, values, embargo_until=str(DAY)) for values in (ONE, OTHER))
    later = record(service, ONE, embargo_until=str(DAY.replace(year=DAY.year + 1)))
    strangers = [
        public(service, each) for each in (uuid.uuid4().hex, record(service, ONE), later, one, other)
    ]
    assert all(told == strangers[0] for told in strangers[1:])
    assert _own(service, one) == _own(service, other)
    assert embargoes.open_due(service.database, now=end_of(DAY)) == 2
    assert public(service, later) == strangers[0]
    assert public(service, one)["public"].startswith("200")
    assert _own(service, one) == _own(service, other)


def _own(service: Service, prereg_id: str) -> dict[str, str]:
    """All that anybody is told of a record."""
    return kept(service, prereg_id) | public(service, prereg_id) | pages(service, prereg_id)
