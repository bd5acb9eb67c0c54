"""Families: the registrations of one project on the same items, so that registering nine and publishing one shows.

Two records belong together when they were locked to the same set of item manifests, by hash; which arms, endpoints or
rules they have does not matter. Every record that was ever locked counts, withdrawn, unfinished and invalid ones too.
Drafts promise nothing and do not count. An amendment keeps a record's items, and so its family.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from pydantic import Field

from service.domain.canonical import canonical, sha256_hex
from service.records import Record


class FamilyPlace(Record):
    """Which registration on its items a record is, in its project."""

    id: str = Field(description="Of the family.")
    registration: int = Field(description="Its number by the order of the locks, from 1.")
    of: int = Field(description="How many there are by now, withdrawn and unfinished ones included.")

    def says(self) -> str:
        """Say it in a sentence of its own, without the full stop."""
        return f"registration {self.registration} of {self.of} on these items in this project"


@dataclass(frozen=True, slots=True)
class Member:
    """A locked record and the items it is locked to."""

    preregistration_id: str
    items: frozenset[str]
    """Hashes of its manifests."""
    lock_sequence: int
    """Of the leaf of its first lock."""


def family_id(project_id: str, items: Iterable[str]) -> str:
    """Return the family of a set of manifests in a project: another project with the same items has another one.

    The first 32 hexadecimal digits of the SHA-256 of the canonical JSON of project and items. Sorted, so that the
    order in which a plan names its populations makes no other family.
    """
    return sha256_hex(canonical({"project_id": project_id, "items_sha256": sorted(set(items))}))[:32]


def select_family(members: Iterable[Member], items: frozenset[str]) -> list[Member]:
    """Return the members of one family: those locked to just these items, in the order of their locks."""
    return sorted(
        (member for member in members if member.items == items), key=lambda entry: entry.lock_sequence
    )
