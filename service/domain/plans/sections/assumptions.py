"""What a plan takes to be true before there are data: the numbers that power rests on.

Lint tells power under these. They decide nothing: no verdict reads them.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Annotated, Literal

from pydantic import Field

from service.domain.plans.strings import Line, Name, Token
from service.errors import InvalidData
from service.stats.shared.declaring.common import Request

Rate = Annotated[float, Field(ge=0, lt=1, allow_inf_nan=False)]


class Effect(Request):
    """A true difference, candidate minus baseline, with its unit."""

    value: Annotated[float, Field(ge=-1e9, le=1e9, allow_inf_nan=False, description="Signed; 0 is none.")]
    unit: Literal["pp", "proportion", "score"] = Field(
        description="`pp`: percentage points; `proportion`: 0.02 is 2 pp; `score`: the endpoint's own unit."
    )

    def for_endpoint(self, *, binary: bool, path: str = "effect") -> float:
        """Return the effect in the endpoint's unit; refuse a unit or size that cannot belong to it."""
        if binary == (self.unit == "score"):
            fix = "use unit 'pp' or 'proportion'" if binary else "use unit 'score'"
            kind = "binary" if binary else "continuous"
            raise InvalidData.field(path, f"unit '{self.unit}' does not go with a {kind} endpoint", fix)
        value = Fraction(repr(self.value)) / (100 if self.unit == "pp" else 1)
        if binary and abs(value) >= 1:
            raise InvalidData.field(
                path, "a difference of proportions is below 1", "did you mean percentage points, unit 'pp'?"
            )
        return float(value)


class MissingByArm(Request):
    """Shares of each arm's results that are not ok."""

    baseline: Rate = Field(0.0, description="Of the baseline arm.")
    candidate: Rate = Field(0.0, description="Of the candidate arm.")


class AssumedAmounts(Request):
    """What is taken to be true of a positive endpoint, whose amounts are simulated as log-normal."""

    ratio: Annotated[float, Field(gt=0, le=1e6, allow_inf_nan=False)] | None = Field(
        None, description="True ratio of the means, candidate over baseline; null: what the rule is to find."
    )
    cv: Annotated[float, Field(gt=0, le=100, allow_inf_nan=False)] | None = Field(
        None, description="Coefficient of variation of an arm's amounts, SD over mean; null: 0.5 to 2."
    )
    correlation: Annotated[float, Field(ge=0, le=0.999, allow_inf_nan=False)] | None = Field(
        None, description="Of both arms' log amounts at the same item; null: 0.5."
    )


class Assumed(Request):
    """What is taken to be true. What is not stated is shown over a range of plausible values."""

    discordance: Annotated[float, Field(gt=0, le=1, allow_inf_nan=False)] | None = Field(
        None, description="Share of items on which one arm alone is right (binary endpoints), a proportion."
    )
    sd: Annotated[float, Field(gt=0, le=1e9, allow_inf_nan=False)] | None = Field(
        None, description="SD of the item differences, candidate minus baseline (continuous), score units."
    )
    icc: Rate | None = Field(
        None, description="Intraclass correlation of the item differences within a cluster."
    )
    missing: Rate | MissingByArm | None = Field(
        None, description="Share of the results that are not ok: one number for either arm, or one per arm."
    )
    baseline_mean: Annotated[float, Field(ge=-1e9, le=1e9, allow_inf_nan=False)] | None = Field(
        None,
        description="Mean of the baseline arm, e.g. its accuracy; asked for by `worst_case` where the arms "
        "miss results unequally. Null: the middle of the scale.",
    )
    effect: Effect | None = Field(
        None,
        description="True difference; null: what the claim is to find, the SESOI (twice that for a minimum effect) "
        "or none. Of a claim of superiority power is told at the SESOI as well.",
    )
    agreement: Annotated[float, Field(gt=0, le=1, allow_inf_nan=False)] | None = Field(
        None,
        description="Of a judge whom people's labels correct: share of answers on which it says what they say; of "
        "scores the correlation of its differences with theirs. Null: 0.8 to 0.95.",
    )
    amounts: dict[Token, AssumedAmounts] | None = Field(
        None, max_length=200, description="By positive endpoint: its true ratio and spread."
    )
    source: Line | None = Field(None, description="Where the numbers are from, e.g. a pilot or a paper.")


class Assumptions(Assumed):
    """For all hypotheses; `hypotheses` says what differs for some."""

    hypotheses: dict[Name, Assumed] | None = Field(
        None, max_length=200, description="By hypothesis: what is stated here goes before the rest."
    )

    def of(self, hypothesis: str) -> Assumed:
        """Return what is assumed of one hypothesis."""
        own = (self.hypotheses or {}).get(hypothesis)
        # A null that a hypothesis writes out leaves what is stated for all.
        stated = {} if own is None else {name: getattr(own, name) for name in own.model_fields_set}
        shared = {name: getattr(self, name) for name in Assumed.model_fields}
        return Assumed(
            **{**shared, **{name: number for name, number in stated.items() if number is not None}}
        )


def missing_rates(assumed: Assumed) -> tuple[float, float] | None:
    """Return the shares of results that baseline and candidate lack; None where nothing is stated."""
    stated = assumed.missing
    if isinstance(stated, MissingByArm):
        return stated.baseline, stated.candidate
    return None if stated is None else (stated, stated)
