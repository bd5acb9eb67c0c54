"""A hypothesis of a plan: a claim about arms, and the rule that decides it."""

from __future__ import annotations

from typing import Literal, Self

from pydantic import Field, model_validator
from pydantic_core import PydanticCustomError

from service.domain.plans.sections.reference import Reference
from service.domain.plans.strings import Name, Paragraph, Token
from service.records import StrictRecord

Claim = Literal["superiority", "non_inferiority", "equivalence", "minimum_effect", "at_least"]
About = Literal["mean", "median", "quantile", "rank", "pass_hat_k", "every_item", "every_task", "labels"]
MAX_RULE_LENGTH = 2000


class Hypothesis(StrictRecord):
    """A claim about two arms of a population, or about one and a number, and the rule that decides it."""

    id: Name = Field(description="What the verdict and the family call it.")
    claim: Claim = Field(description="What kind of claim the rule decides.")
    statement: Paragraph = Field(description="The claim in words.")
    about: About | None = Field(
        None,
        description="What the claim is about: the `mean` difference; the `median` or another `quantile`; or the `rank` "
        "of items; or the `labels`, the mean difference as people label the items, for whom a judge stands in. Of "
        "one arm: its `mean`; `pass_hat_k`, how often all of k runs are right; or `every_item`, how often the least "
        "of them is. On a suite also `every_task`: each of its tasks by itself. Tests of that bear it out, and "
        "sentences name it; null: `mean`.",
    )
    population: Token = Field(description="`id` of the population, or of a suite of them.")
    baseline: Token | None = Field(
        None, description="Arm that is compared with; null for the claim `at_least`, which has a `reference`."
    )
    candidate: Token = Field(
        description="Arm that the claim is about; differences are candidate minus baseline, or minus the reference."
    )
    reference: Reference | None = Field(
        None, description="The number that the arm of a claim `at_least` is to reach; null for the others."
    )
    endpoint: Token = Field(description="`id` of the endpoint.")
    rule: str = Field(
        min_length=1, max_length=MAX_RULE_LENGTH, description="One sentence of the rule language."
    )
    equivalence: Name | None = Field(
        None, description="Test that may find equivalence where the rule is false."
    )
    falsified_if: Paragraph | None = Field(
        None, description="What would refute it, in words; no rule reads this."
    )

    @model_validator(mode="after")
    def _require_comparison(self) -> Self:
        """Require a baseline for claims about two arms, and a reference instead for claims about one."""
        one_arm = self.claim == "at_least"
        if (self.baseline is None) != one_arm:
            raise PydanticCustomError(
                "baseline",
                "a claim '{claim}' {has}",
                {
                    "claim": self.claim,
                    "has": "is about one arm and has no `baseline`" if one_arm else "needs a `baseline`",
                    "fix": "leave it out and give the number as `reference`"
                    if one_arm
                    else "name the arm that is compared with, or claim `at_least` with a `reference`",
                },
            )
        if (self.reference is None) == one_arm:
            raise PydanticCustomError(
                "reference",
                "a claim '{claim}' {has}",
                {
                    "claim": self.claim,
                    "has": "needs a `reference`" if one_arm else "compares two arms and has no `reference`",
                    "fix": "write what the arm is to reach, e.g. {'value': 95, 'unit': '%'}"
                    if one_arm
                    else "leave it out, or claim `at_least` of one arm",
                },
            )
        return self

    @property
    def arms(self) -> tuple[str, ...]:
        """The arms that it is about: baseline and candidate, or the candidate alone."""
        return (self.candidate,) if self.baseline is None else (self.baseline, self.candidate)

    @property
    def pair(self) -> tuple[str, str]:
        """Baseline and candidate of a claim that compares two arms.

        Raises:
            ValueError: it is about one arm.
        """
        if self.baseline is None:
            raise ValueError(f"{self.id} is about one arm")
        return self.baseline, self.candidate
