"""Families: every registration of the project on the same items."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated

from fastapi import Path, Response
from pydantic import Field

from service.actions.plans import families as actions
from service.api.examples import states as examples
from service.api.http.answers.answers import Page, View, answer, shows
from service.api.http.requests.deps import MAX_ID, Cursor, Limit, Reader, ReadSession
from service.api.http.serving.route import audits, make_router, refuses
from service.domain.plans.preregistration import State

routes = make_router("preregistrations")
FamilyId = Annotated[
    str, Path(max_length=MAX_ID, description="Id of the family, as a record's `family` has it.")
]


class RegistrationView(View):
    """One registration on these items."""

    registration: int = Field(description="By the order of the locks, from 1.")
    preregistration_id: str
    title: str | None
    state: State
    version: int
    plan_sha256: str | None
    locked_at: datetime | None
    judged_at: datetime | None
    outcomes: dict[str, str] | None = Field(
        description="By hypothesis; empty before the verdict, null where it was altered."
    )
    altered: bool
    tried: int | None = Field(
        None,
        description="Variants that its plan says were tried on these items before; null: it says of none.",
    )


class FamilyView(Page[RegistrationView]):
    """Every registration of the project on the same items."""

    id: str
    items_sha256: list[str] = Field(description="The item manifests that all of them are locked to.")
    of: int = Field(description="How many registrations there are, in every state.")
    states: dict[str, int] = Field(description="How many are in which state.")
    tried: int = Field(
        0, description="Variants that these registrations say were tried on the items before they were made."
    )
    overlapping: int = Field(
        description="Registrations of the project that share some of these manifests, not all; they do not count."
    )


@routes.get(
    "/families/{family_id}", response_model=FamilyView, responses=shows(examples.FAMILY) | refuses(503)
)
@audits("family.read")
def get_family(
    caller: Reader, session: ReadSession, family_id: FamilyId, limit: Limit = 50, cursor: Cursor = None
) -> Response:
    """List every registration of the project on the same items, in the order of their locks.

    Whoever registers nine and publishes one is seen here: withdrawn, unfinished and invalid ones count. Two records
    belong together when they are locked to the same set of item manifests, whatever arms and rules they have.
    """
    family = actions.read_family(session, caller.project_id, family_id, cursor=cursor, limit=limit)
    return answer(
        FamilyView(
            id=family_id,
            items_sha256=list(family.items),
            of=family.n,
            states=family.states,
            tried=family.tried,
            overlapping=family.overlapping,
            items=[
                RegistrationView(
                    registration=registration.number,
                    preregistration_id=registration.line.id,
                    outcomes=registration.outcomes,
                    altered=registration.line.altered or registration.outcomes is None,
                    **{name: getattr(registration.line, name) for name in _OF_LINES},
                )
                for registration in family.registrations
            ],
            next_cursor=family.next_cursor,
        )
    )


_OF_LINES = ("title", "state", "tried", "version", "plan_sha256", "locked_at", "judged_at")
