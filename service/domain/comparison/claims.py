"""What the interval of a comparison carries."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from service.domain.comparison.records import Outcome
from service.domain.comparison.weighing import Evidence


@dataclass(frozen=True, slots=True)
class Claims:
    """Which claims the interval of a difference bears out; `no_worse` is None where no margin was given."""

    better: bool
    no_worse: bool | None
    worse: bool

    @property
    def outcome(self) -> Outcome:
        """No worse goes before worse: a loss that is shown to be below the margin is what the margin allows."""
        if self.better:
            return "better"
        if self.no_worse:
            return "no_worse"
        return "worse" if self.worse else "cannot_tell"


def claims_of(evidence: Evidence, margin: float | None) -> Claims:
    """Claim better, no worse and worse, as the interval and the exact tests have it."""
    low = -np.inf if evidence.ci.low is None else evidence.ci.low
    high = np.inf if evidence.ci.high is None else evidence.ci.high
    tie = evidence.tie
    return Claims(
        better=bool(low > tie) and evidence.differs,
        no_worse=None if margin is None else bool(low > -margin + tie) and evidence.loss_excluded,
        worse=bool(high < -tie) and evidence.differs,
    )
