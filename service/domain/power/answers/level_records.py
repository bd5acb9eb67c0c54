"""The level of a rule as lint answers it."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from service.domain.power.answers.records import absent
from service.domain.power.distributions.shapes import ShapeName
from service.records import Record

SLACK = 1.1
"""A level up to a tenth above alpha passes: exact tests of counts cannot meet alpha more closely."""

SURE = 3
"""Monte-Carlo standard errors that are given the benefit of the doubt."""


def exceeds(level: float, standard_error: float | None, alpha: float) -> bool:
    """Tell whether a level is more than a tenth above alpha, simulation error aside."""
    return level - SURE * (standard_error or 0.0) > SLACK * alpha


USUAL, LARGEST_USUAL = 0.05, 0.1
"""The level that a rule is held against where its own alpha lies above the largest that is usual."""


def limit_of(alpha: float) -> float:
    """Return what a level is held against: the alpha that the rule's tests are set to, or .05 where that is above .1.

    A test that is set to an alpha of .4 does what it says, and what it says is no evidence.
    """
    return alpha if alpha <= LARGEST_USUAL + 1e-12 else USUAL


class RuleLevel(Record):
    """How often at most the rule of one hypothesis holds where its claim is false."""

    hypothesis: str
    level: float | None = Field(
        description="The greatest chance over the conditions looked at; null where it is not known."
    )
    alpha: float = Field(0.05, description="What the rule's tests and intervals are set to.")
    standard_error: float | None = Field(None, description="Monte-Carlo standard error; null when computed.")
    method: Literal["exact", "simulated", "bound"] | None = Field(
        None, description="`bound`: the error of a test that keeps its level whatever the scores are like."
    )
    reason: str | None = Field(None, description="Why the level is null.")
    truth: float | None = Field(
        None, description="True difference at which it is reached: a proportion, or score units."
    )
    mean: float | None = Field(
        None, exclude_if=absent, description="True value of one arm at which it is reached; else not present."
    )
    discordance: float | None = Field(
        None, description="True share of discordant items at which it is reached (binary endpoints)."
    )
    spread: float | None = Field(
        None, description="True SD of the item differences at which it is reached, score units."
    )
    ratio: float | None = Field(
        None,
        exclude_if=absent,
        description="True ratio of the means at which it is reached; else not present.",
    )
    cv: float | None = Field(
        None, exclude_if=absent, description="Coefficient of variation of an arm's amounts, beside `ratio`."
    )
    endpoint: str | None = Field(
        None,
        exclude_if=absent,
        description="The endpoint whose part it is, where the rule speaks of several.",
    )
    icc: float | None = Field(None, description="Correlation of items of a cluster at which it is reached.")
    world: ShapeName | None = Field(
        None, exclude_if=absent, description="The shape of the differences of scores at which it is reached."
    )
    worlds: dict[str, float] | None = Field(
        None,
        exclude_if=absent,
        description="The level by shape; roughly, from fewer data sets, but where it is greatest.",
    )
