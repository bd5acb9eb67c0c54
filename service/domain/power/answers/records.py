"""What lint says of a rule before there are data: what it can reach, and how often it would hold."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from service.domain.power.distributions.shapes import ShapeName
from service.records import Record


def absent(value: object) -> bool:
    """Return True for a later field that is null: it stays out, so that what was answered before keeps its bytes."""
    return value is None


class LeastP(Record):
    """The least p-value one of the rule's tests can reach."""

    test: str = Field(description="Test id.")
    p_value: float | None = Field(description="Null where none is known.")
    reason: str = Field(description="What sets it, or why none is known.")


class EquivalenceReach(Record):
    """What an equivalence test can still show with this many items."""

    test: str = Field(description="Test id.")
    margin: float = Field(description="Effects beyond plus or minus this are to be rejected, a proportion.")
    most_discordant: int | None = Field(
        description="Most discordant items, evenly split, at which it is shown; null: it cannot be shown."
    )
    most_discordant_share: float | None = Field(description="The same as a share of the items.")


class PowerAt(Record):
    """The chance that the rule holds, as the verdict decides it, when this is true."""

    discordance: float | None = Field(
        description="True share of items on which the arms differ (binary endpoints)."
    )
    spread: float | None = Field(
        None, description="True SD of the item differences, score units (continuous endpoints)."
    )
    icc: float | None = Field(None, description="True correlation within a cluster; null without clusters.")
    missing: float | None = Field(
        None, description="Share of all results that are not ok; null: all of them are in."
    )
    agreement: float | None = Field(
        None,
        exclude_if=absent,
        description="Where people label some items: share of answers on which the judge says what they say; of scores "
        "the correlation of its differences with theirs. Else not present.",
    )
    others: Literal["stated", "not_true", "at_goal"] | None = Field(
        None,
        description="What is true of the hypotheses this one shares a family or a stopping rule with; null: none.",
    )
    shape: ShapeName | None = Field(
        None, exclude_if=absent, description="Of the differences of scores, where it is not normal."
    )
    truth: float = Field(
        description="True difference: a proportion, or score units; beside `ratio` in units of the baseline's mean."
    )
    mean: float | None = Field(
        None,
        exclude_if=absent,
        description="True value of one arm, which `truth` counts from its reference; else not present.",
    )
    ratio: float | None = Field(
        None,
        exclude_if=absent,
        description="True ratio of the means, where a rule asks for one; else not present.",
    )
    cv: float | None = Field(
        None, exclude_if=absent, description="Coefficient of variation of an arm's amounts, beside `ratio`."
    )
    power: float | None = Field(description="A probability; null where it is not known.")
    standard_error: float | None = Field(None, description="Monte-Carlo standard error; null when computed.")
    equivalent: float | None = Field(
        None, description="The chance that the rule is false and `equivalence` finds equivalence."
    )
    invalid: float | None = Field(
        None, description="The chance that a missing result breaks the plan, under `fail`."
    )
    expected_n: float | None = Field(
        None, description="Items at which the collection ends, on average, under a stopping rule."
    )
    reason: str | None = Field(None, description="Why power is null.")


LeadEffect = Literal["sesoi", "twice_sesoi", "no_difference", "assumed", "ratio", "halfway"]
"""What the true difference is that power is told at first."""


class LeadPower(Record):
    """Power at the one true difference that warnings, cards, pages and terminals tell first."""

    effect: LeadEffect = Field(
        description="`sesoi` for superiority, whatever the plan assumes; `twice_sesoi` for a minimum effect, which is "
        "false at the SESOI; `no_difference` for equivalence and non-inferiority. Of these three the plan's `effect` "
        "goes before the last two: `assumed`. `ratio`: of amounts. `halfway`: of one arm without either, between its "
        "reference and the best there can be."
    )
    reference: PowerAt = Field(description="Under what is assumed or else plausible.")
    low: PowerAt | None = Field(None, description="The least power over the plausible values, and at which.")
    high: PowerAt | None = Field(None, description="The greatest.")
    curve: tuple[PowerAt, ...] = Field(
        (),
        description="At other true differences, under the same reference: none, one and two SESOIs, the plan's.",
    )
    asks_observed: float | None = Field(
        None,
        description="The least observed difference with which the rule holds, where that is no less than this true "
        "one: about half of all studies observe less, however many items they have.",
    )

    @property
    def least(self) -> PowerAt:
        """The least power that is told."""
        return self.low or self.reference


class _Sought(Record):
    """What is taken to be true where something is sought that gives the target power."""

    discordance: float | None = Field(description="True share of items on which the arms differ.")
    spread: float | None = Field(None, description="True SD of the item differences, score units.")
    target: float = 0.8


class Detectable(_Sought):
    """The smallest true difference at which the rule holds with the target power."""

    effect: float | None = Field(
        description="Signed like the claim, a proportion or score units; null where there is none."
    )
    reason: str | None = None


class RequiredN(_Sought):
    """Items needed for the target power."""

    truth: float = Field(description="True difference, a proportion or score units.")
    n: int | None = Field(description="From here on power stays at the target at every size looked at.")
    n_clusters: int | None = Field(None, description="The same in clusters of the planned sizes.")
    searched_to: int | None = Field(None, description="The largest size looked at, in items.")
    reason: str | None = Field(None, description="Why n is null, or how it was looked for.")


class LabelledPower(Record):
    """Power with another number of items that people label."""

    labels: int = Field(description="Items that people label, in each arm.")
    power: float | None = Field(
        description="Under the reference, where power is told first; null: not known."
    )
    standard_error: float | None = None


class SlicesPowerAt(Record):
    """The chance that every slice passes when this is true of each."""

    discordance: float = Field(description="True share of items on which the arms differ.")
    truth: float = Field(description="True difference, candidate minus baseline, a proportion.")
    power: float = Field(description="Every slice passes, a probability.")
    weakest: str = Field(description="The slice that passes least often.")
    weakest_power: float = Field(description="How often that one does, a probability.")


class SlicesPower(Record):
    """What the slices of a hypothesis can show. Its outcome does not rest on them, and its power leaves them out."""

    power: tuple[SlicesPowerAt, ...] = ()
    assumptions: str | None = Field(None, description="What the numbers take for granted.")
    reason: str | None = Field(None, description="Why nothing is told.")


class RulePower(Record):
    """What the whole rule of one hypothesis can show."""

    hypothesis: str
    method: Literal["exact", "simulated"] | None = Field(
        description="`exact`: every possible outcome is weighed; `simulated`: see the standard errors."
    )
    reason: str | None = Field(None, description="Why there is no power, or not for the whole rule.")
    assumptions: str | None = Field(None, description="What the numbers take for granted.")
    n: int | None = Field(None, description="Items planned.")
    n_clusters: int | None = None
    can_pass: bool | None = Field(
        None, description="False: no outcome with all items in makes the rule true; null: not known."
    )
    least_p: tuple[LeastP, ...] = ()
    least_discordant: int | None = Field(None, description="Fewest discordant items with which it can hold.")
    equivalence: tuple[EquivalenceReach, ...] = ()
    sesoi: float | None = Field(None, description="A proportion, or score units.")
    target_power: float = 0.8
    cut: str | None = Field(None, description="What was left out to keep the cost of lint bounded.")
    stated: bool = Field(False, description="The plan's assumptions leave nothing to a range.")
    reference: PowerAt | None = Field(
        None, description="Where the claim should come out, under what is assumed or else plausible."
    )
    low: PowerAt | None = Field(None, description="The least power over the plausible values, and at which.")
    high: PowerAt | None = Field(None, description="The greatest.")
    lead: LeadPower | None = Field(
        None,
        exclude_if=absent,
        description="At the true difference that is told first: the SESOI, for superiority.",
    )
    power: tuple[PowerAt, ...] = ()
    detectable: tuple[Detectable, ...] = ()
    required: tuple[RequiredN, ...] = ()
    labels: tuple[LabelledPower, ...] | None = Field(
        None,
        exclude_if=absent,
        description="By the number of items that people label; not present where no test takes labels.",
    )
    slices: SlicesPower | None = Field(
        None,
        exclude_if=absent,
        description="Of the plan's `slices`, beside the rule; not present where they are not asked of it.",
    )
