"""How a deviation is classified: an ordered list of rules, of which the first that matches decides.

The facts come from the record: what had been received when the deviation was filed, and whether any
outcome could be read. The author's word counts where it is against the author, and nowhere else.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Literal

from pydantic import Field

from service.domain.deviations.changes import (
    ArmRemoved,
    Change,
    EndpointChange,
    HypothesisChange,
    RuleChange,
    SesoiChange,
    ThresholdChange,
)
from service.domain.deviations.direction import Direction
from service.domain.plans.plan import Plan
from service.domain.plans.preregistration import State
from service.records import Record
from service.words import say

Classification = Literal["accept", "needs_review", "new_registration", "reject"]
STRICTNESS: tuple[Classification, ...] = ("accept", "needs_review", "new_registration", "reject")
"""From the gentlest on."""


class Facts(Record):
    """What the record says of the moment a deviation was filed."""

    state: State
    results_received: int = Field(description="Results that were in, over all arms and endpoints.")
    results_expected: int
    judged: bool = Field(description="A verdict existed.")
    unblinded: bool = Field(
        description="The rows had been opened before the verdict, or a planned look had answered."
    )
    outcomes_seen: bool = Field(
        description="The author's word that an outcome had been seen, here or elsewhere."
    )

    @property
    def readable(self) -> bool:
        """Some outcome could be read, or had been seen by the author's own word."""
        return self.judged or self.unblinded or self.outcomes_seen

    @property
    def after_results(self) -> bool:
        """Some result existed, read or not."""
        return self.results_received > 0 or self.readable


@dataclass(frozen=True, slots=True)
class Case:
    """What the rules look at."""

    plan: Plan
    change: Change
    facts: Facts
    directions: Collection[Direction]
    """One for every hypothesis the change touches, by its claim."""


class RuleApplied(Record):
    """The rule that decided."""

    ruleset: int = Field(description="Version of the rule list.")
    id: str
    says: str


@dataclass(frozen=True, slots=True)
class DeviationRule:
    """One rule: when it matches, what it decides, and why."""

    id: str
    decides: Classification
    says: str
    matches: Callable[[Case], bool]


def _switches_primary_endpoint(case: Case) -> bool:
    if not isinstance(case.change, EndpointChange):
        return False
    hypothesis = case.plan.hypothesis(case.change.hypothesis)
    planned = None if hypothesis is None else case.plan.endpoint(hypothesis.endpoint)
    return planned is None or planned.role == "primary"


def _drops_a_comparison(case: Case) -> bool:
    change = case.change
    dropped = isinstance(change, HypothesisChange) and change.how == "dropped"
    return case.facts.after_results and (dropped or isinstance(change, ArmRemoved))


def _reshapes_the_hypothesis(case: Case) -> bool:
    return case.facts.after_results and isinstance(case.change, HypothesisChange | RuleChange | SesoiChange)


def _tunes_on_the_evaluation(case: Case) -> bool:
    return isinstance(case.change, ThresholdChange) and case.change.chosen_on == "evaluation_items"


def _recalibrates_openly(case: Case) -> bool:
    change = case.change
    return (
        isinstance(change, ThresholdChange)
        and not case.facts.readable
        and change.chosen_on == "separate_split"
        and sweep_spans(case.plan, change)
    )


def _lacks_a_sweep(case: Case) -> bool:
    return isinstance(case.change, ThresholdChange) and not sweep_spans(case.plan, case.change)


def _is_aggressive_and_seen(case: Case) -> bool:
    return case.facts.readable and "aggressive" in case.directions


def _conservative_and_blind(case: Case) -> bool:
    return (
        not case.facts.readable
        and bool(case.directions)
        and all(direction in ("conservative", "neutral") for direction in case.directions)
    )


RULESET = 1
RULES: tuple[DeviationRule, ...] = (
    DeviationRule(
        "primary-endpoint-switched",
        "reject",
        say("reports.rule_primary_endpoint_switched"),
        _switches_primary_endpoint,
    ),
    DeviationRule(
        "comparison-dropped-after-results",
        "reject",
        say("reports.rule_comparison_dropped_after_results"),
        _drops_a_comparison,
    ),
    DeviationRule(
        "hypothesis-reshaped-after-results",
        "new_registration",
        say("reports.rule_hypothesis_reshaped_after_results"),
        _reshapes_the_hypothesis,
    ),
    DeviationRule(
        "threshold-tuned-on-evaluation-items",
        "reject",
        say("reports.rule_threshold_tuned_on_evaluation_items"),
        _tunes_on_the_evaluation,
    ),
    DeviationRule(
        "threshold-recalibrated-with-sweep",
        "accept",
        say("reports.rule_threshold_recalibrated_with_sweep"),
        _recalibrates_openly,
    ),
    DeviationRule(
        "threshold-without-sweep", "needs_review", say("reports.rule_threshold_without_sweep"), _lacks_a_sweep
    ),
    DeviationRule(
        "aggressive-after-outcomes",
        "reject",
        say("reports.rule_aggressive_after_outcomes"),
        _is_aggressive_and_seen,
    ),
    DeviationRule(
        "conservative-and-blind",
        "accept",
        say("reports.rule_conservative_and_blind"),
        _conservative_and_blind,
    ),
    DeviationRule("otherwise", "needs_review", say("reports.rule_otherwise"), lambda _case: True),
)
"""First match wins. A changed rule or order is a new `RULESET`."""


def classify(case: Case) -> tuple[Classification, RuleApplied]:
    """Return the first rule that matches, and what it decides."""
    rule = next(rule for rule in RULES if rule.matches(case))
    return rule.decides, RuleApplied(ruleset=RULESET, id=rule.id, says=rule.says)


def gentler(wanted: Classification, standing: Classification) -> bool:
    """Tell whether a decision would take back some of the one that stands."""
    return STRICTNESS.index(wanted) < STRICTNESS.index(standing)


def sweep_spans(plan: Plan, change: ThresholdChange) -> bool:
    """Tell whether the sweep has several values, from no more than the smaller of both thresholds to the larger."""
    values = [point.value for point in change.sweep or ()]
    both = [change.value, *planned_values(plan, change)]
    return len(values) > 1 and values[0] <= min(both) and values[-1] >= max(both)


def planned_values(plan: Plan, change: ThresholdChange) -> tuple[float, ...]:
    """Return the plan's values of that threshold: on the change's population, else everywhere it is named."""
    thresholds = [threshold for threshold in plan.thresholds or () if threshold.name == change.name]
    own = [
        threshold
        for threshold in thresholds
        if change.population is not None and threshold.population == change.population
    ]
    return tuple(threshold.value for threshold in own or thresholds)
