"""Whether a rule about one arm can hold at all: on data of which every result is the best there is.

With all of n right, Clopper and Pearson's lower bound at a one-sided alpha is alpha^(1/n): 3 of 3 can never show 90 %,
29 of 29 do at .05 and 36 of 36 at .025. Items in clusters count for less than independent ones: what those cannot show,
clusters cannot either.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

from pydantic import ValidationError

from service.domain.plans.plan import TestUse
from service.domain.power.one_arm.arm import Arm
from service.domain.power.one_arm.truths import asks_for_more
from service.domain.power.search import MOST_ITEMS
from service.domain.rules.answers import Answer, Observation
from service.domain.rules.feeding import build_request, design_of, reads_runs
from service.domain.rules.labelled import takes_labels
from service.domain.rules.rule import Clause
from service.domain.rules.settings import Setting
from service.domain.rules.truth import combine, holds
from service.errors import ForelockError
from service.kernels.planning.more_units import first_that_shows


@dataclass(frozen=True)
class Best:
    """A rule on the best data of so many items; answers of tests are kept."""

    setting: Setting
    arm: Arm
    _answers: dict[tuple[str, int], Any] = field(default_factory=dict, repr=False)

    def holds(self, n: int) -> bool:
        """Tell whether the rule holds where every result is the best there is."""
        rule = self.setting.rule
        truths = {clause: holds(clause, self.observe(clause, n).value) for clause in self.setting.clauses}
        return rule is not None and combine(rule, truths) is True

    def fails(self, n: int) -> tuple[Clause, ...]:
        """Return the clauses that do not hold there."""
        return tuple(
            clause
            for clause in dict.fromkeys(self.setting.clauses)
            if holds(clause, self.observe(clause, n).value) is not True
        )

    def observe(self, clause: Clause, n: int) -> Observation:
        """Return a field on the best data of n items."""
        use = self.setting.plan.test(clause.field.test or "")
        return Observation(None) if use is None else Answer(self._answer(use, n)).observe(*clause.field.path)

    def _answer(self, use: TestUse, n: int) -> Any:
        key = use.id, n
        if key not in self._answers:
            self._answers[key] = self._compute(use, n)
        return self._answers[key]

    def _compute(self, use: TestUse, n: int) -> Any:
        """Return a test's answer when every result is the best one there is; empty where the test refuses such data."""
        setting, arm = self.setting, self.arm
        test, population = setting.uses[use.id].test, setting.population
        assert population is not None  # noqa: S101 - there is an arm
        labels = None
        if takes_labels(test):  # so many labels, and two items that the judge alone scores
            asked = [arm.best] * n + [math.nan] * 2
            labels, n = (asked, asked), n + 2
        column: list[Any] = [arm.best] * n
        if reads_runs(test, arm.endpoint):
            column = [[arm.best] * arm.endpoint.runs] * n
        try:
            request = build_request(
                test,
                use,
                baseline=column,
                candidate=column,
                clusters=None,
                design=design_of(setting.plan, test, use, arm.endpoint, population, None, setting.reference),
                margin=None,
                one_arm=True,
                labels=labels,
            )
            return test.answer(request).model_dump(mode="json")
        except (ForelockError, ValidationError):
            return {}


def can_pass(best: Best) -> bool | None:
    """Return False where no data make the rule true; None where that is not known."""
    if best.holds(best.arm.units):
        return True
    return False if asks_for_more(best.setting) else None


def least_units(best: Best) -> int | None:
    """Return the fewest items that can make the rule true, all the best there are; None: no number within reach."""
    return first_that_shows(best.holds, best.arm.units, MOST_ITEMS)
