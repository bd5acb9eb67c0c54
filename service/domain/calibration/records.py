"""What a calibration finds: how often a locked rule holds when nothing can tell the arms apart."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from service.domain.plans.sections.hypothesis import Claim
from service.domain.verdicts.records import Role
from service.records import Record
from service.stats.shared.declaring.common import Interval

Reading = Literal["liberal", "as_stated", "conservative"]


class LeftOut(Record):
    """A hypothesis that could not be calibrated."""

    hypothesis: str
    reason: str


class CalibratedHypothesis(Record):
    """How often one hypothesis' rule holds under flipped labels."""

    hypothesis: str
    claim: Claim
    role: Role
    tells: Literal["type_one_error", "power_at_zero"] = Field(
        description="An equivalence or non-inferiority claim is true when there is no difference: for these the "
        "rate is power."
    )
    flipped: Literal["items", "clusters"]
    units: int = Field(description="Items or clusters, whose labels are flipped as one.")
    units_that_differ: int = Field(
        description="Those in which the arms differ: flipping the others changes nothing."
    )
    passed: int = Field(description="Runs in which the rule holds.")
    undecided: int = Field(
        description="Runs in which it is unknown, or the plan is broken; counted as not passing."
    )
    rate: float
    mc_ci: Interval | None = Field(
        description="Monte-Carlo error of the rate, given these data; null where every flip was run."
    )
    exact_rate: float | None = Field(description="Over all flips; null where they cannot all be counted.")
    nominal_alpha: float | None = Field(description="What the rule states; null when it states none.")
    reading: Reading | None = Field(
        description="The rate against the stated alpha; null without one, and for power."
    )
    sentence: str


class CalibratedFamily(Record):
    """How often at least one hypothesis of the family passes."""

    hypotheses: tuple[str, ...]
    passed: int
    rate: float
    mc_ci: Interval | None
    sentence: str


class Calibration(Record):
    """A plan's whole procedure on data whose arm labels are flipped at random."""

    preregistration_id: str
    plan_sha256: str
    version: int
    data: Literal["record", "pilot"]
    runs: int = Field(description="Flips that were run.")
    enumerated: bool = Field(description="These are all the flips there are; nothing was drawn.")
    seed: int | None = Field(description="Null when nothing was drawn.")
    bit_generator: str | None
    hypotheses: tuple[CalibratedHypothesis, ...]
    family: CalibratedFamily | None = Field(description="Null with fewer than two claims of a difference.")
    left_out: tuple[LeftOut, ...]
    assumes: str
    versions: dict[str, str] = Field(description="Of the libraries the numbers depend on.")
