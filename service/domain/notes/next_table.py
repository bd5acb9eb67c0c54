"""The sizes of a next study as a small table: a goal in each row, with what it needs and how often it then succeeds.

A sentence of several sizes, chances and true differences has to be read twice; a table of the same is read once.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from pydantic import Field

from service.domain.notes.next_size import TARGET, Spread, about
from service.domain.notes.said import Words, in_words
from service.domain.verdicts.words.numbers import percentage
from service.records import Record
from service.words import Message, Value, message

SELDOM, MOSTLY = 0.01, 0.99
"""A chance below or above is told as a bound: one study of a hundred."""


@dataclass(frozen=True, slots=True)
class Goal:
    """What a next study may be for, with the units that it takes if a certain difference is true."""

    says: Message
    truth: Value
    here: float | None
    """How often studies as large as this one reach it; None where that is not known."""
    units: int | None
    """Items, or clusters, with which 80 of 100 studies reach it, before rounding; None: no number is known to."""


@dataclass(frozen=True, slots=True)
class Step:
    """What can be done next, as a sentence and as rows of the table."""

    says: Message
    goals: tuple[Goal, ...] = ()
    notes: tuple[Message, ...] = ()
    """What stands below the table of it; of a step without a row that is the sentence itself."""
    at_least: float | None = None
    """The share of items on which the arms differ, where the true difference asks for more than were seen."""


class NextGoal(Record):
    """A goal of a next study, and what it takes."""

    goal: Words
    units: int | None = Field(
        description="Items, or clusters where the plan has them, rounded up; null: no number is known to do."
    )
    items: int | None = Field(description="Items in all, rounded up; null as `units` is.")
    needed: Words = Field(description="Both as a cell of a table.")
    chance_here: float | None = Field(description="How often studies as large as this one reach it.")
    here: Words
    chance_then: float | None = Field(description="How often studies of the size needed reach it.")
    truth: Words = Field(description="The true difference for which all this is worked out.")

    @property
    def cells(self) -> tuple[Words, ...]:
        """The row of the table, cell by cell, as `head` names them."""
        return self.goal, self.truth, self.here, self.needed


class NextSizes(Record):
    """What a new plan needs, goal by goal."""

    lead: Words = Field(description="The sentence before the table.")
    head: tuple[Words, ...] = Field(description="Names of goal, truth, chance here, and need.")
    goals: tuple[NextGoal, ...]
    notes: tuple[Words, ...] = Field(description="What stands below the table, a sentence each.")


def tabulate(steps: Sequence[Step], spread: Spread, key: str | None) -> NextSizes | None:
    """Return the table of what can be done next; None where no number of items is known for any of it.

    Args:
        key: what items of a cluster share; None where items stand alone.
    """
    goals = [goal for step in steps for goal in step.goals]
    if all(goal.units is None for goal in goals):
        return None
    clusters = {} if key is None else {"key": key}
    of = "items" if key is None else "clusters"
    head: tuple[Value, ...] = (
        message("notes.head_goal"),
        message("notes.head_truth"),
        message(f"notes.head_here_{of}", n=f"{spread.units:,}"),
        message(f"notes.head_{of}", **clusters),
    )
    return NextSizes(
        lead=in_words(message("notes.sizes_lead", given=_describe_given(spread))),
        head=tuple(map(in_words, head)),
        goals=tuple(_row(goal, spread) for goal in goals),
        notes=tuple(map(in_words, _notes(steps, goals, spread))),
    )


def _describe_given(spread: Spread) -> Message:
    """Return what is taken to be in a next study as it was in this one."""
    if spread.clustered:
        return message("notes.given_clusters")
    if spread.discordance is not None:
        return message("notes.given_items_discordant", share=_share(spread.discordance))
    return message("notes.given_items")


def _share(discordance: float) -> Value:
    return percentage(float(f"{discordance:.3g}"))


def _row(goal: Goal, spread: Spread) -> NextGoal:
    """Make a row: the need rounded up to two digits, chances in studies of a hundred."""
    units = None if goal.units is None else about(goal.units)
    items = None if units is None else about(round(units * spread.items)) if spread.clustered else units
    needed: Value = message("notes.no_number")
    if units is not None:
        counts = {"units": f"{units:,}", "items": f"{items:,}"}
        needed = message(f"notes.needed_{'clusters' if spread.clustered else 'items'}", **counts)
    return NextGoal(
        goal=in_words(goal.says),
        units=units,
        items=items,
        needed=in_words(needed),
        chance_here=goal.here,
        here=in_words(_chance(goal.here)),
        chance_then=None if units is None else TARGET,
        truth=in_words(goal.truth),
    )


def _chance(share: float | None) -> Value:
    """In how many studies of a hundred, and never in none or all of them."""
    if share is None:
        return "–"
    if share < SELDOM:
        return message("notes.fewer_than_1_of_100")
    if share > MOSTLY:
        return message("notes.more_than_99_of_100")
    return message("notes.n_of_100", n=f"{100 * share:.0f}")


def _notes(steps: Sequence[Step], goals: Sequence[Goal], spread: Spread) -> Iterable[Message]:
    """Yield what stands below the table, from the steps' own to whether there are as many items."""
    for step in steps:
        yield from step.notes
        if step.at_least is not None:
            yield message("notes.note_discordant", share=_share(step.at_least))
    if any(goal.units is not None and goal.units > spread.units for goal in goals):
        yield message(f"notes.note_more_{'clusters' if spread.clustered else 'items'}")
