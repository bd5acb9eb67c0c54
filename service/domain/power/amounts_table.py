"""The table of a rule on amounts: the chance that all its parts hold, by true ratio."""

from __future__ import annotations

import math

from service.domain.decision.family import places, policy_of
from service.domain.decision.members import asks_small_p, members
from service.domain.plans.plan import Plan
from service.domain.power.amounts import Amounts, asks_amounts, beside_words
from service.domain.power.answers.records import LeadPower, PowerAt
from service.domain.power.search import CUT, Budget, OverBudgetError
from service.domain.power.worlds import Corner
from service.domain.rules.settings import Setting
from service.words import say


def adjust_for_family(plan: Plan, setting: Setting, parts: tuple[Amounts, ...]) -> tuple[Amounts, ...] | str:
    """Return the parts of a rule, each at the level its family leaves it; or why they cannot be weighed one by one.

    Bonferroni divides the level among the places of the family, whatever the others show, so that a part still stands
    alone. Other policies join the p-values of the family, which are not simulated together here.
    """
    policy = policy_of(plan)
    small_p = [clause for clause in setting.clauses if asks_small_p(clause) and setting.beside(clause)]
    own = asks_amounts(setting) and any(asks_small_p(clause) for clause in setting.clauses)
    if policy == "none" or setting.hypothesis.id not in members(plan) or places(plan) < 2:
        return parts
    if policy == "bonferroni":
        return tuple(part.share_out(places(plan)) for part in parts)
    if small_p:
        return (
            f"`{small_p[0].field}` of another endpoint is adjusted in the family by `{policy}`: not simulated"
        )
    return say("power.amounts_in_family", policy=policy) if own else parts


def compute_amounts_table(
    parts: tuple[Amounts, ...], nanoseconds: float, *, whole: bool
) -> dict[str, object]:
    """Return the fields of a `RulePower` of a rule on amounts, by name, from its power at true ratios.

    Args:
        parts: what the rule asks of each endpoint, its own first.
        nanoseconds: the time, by estimate, that a lock may wait; as much again for the rest of the table.
        whole: adds an entry for every true ratio and coefficient of variation.
    """
    budget = Budget(nanoseconds, nanoseconds if whole else 0.0)
    own = parts[0]
    reference = _compute_entry(parts, budget, "reference")
    lead = LeadPower(effect="ratio", reference=reference)
    changes: dict[str, object] = {"reference": reference, "reason": reference.reason}
    if reference.power is None:
        return changes | {"lead": lead}
    changes["method"] = "simulated"
    ends = [_compute_entry(parts, budget, "low"), _compute_entry(parts, budget, "high")]
    if all(row.power is not None for row in ends):
        ends.sort(key=lambda row: row.power or 0.0)
        changes |= {"low": ends[0], "high": ends[1]}
        lead = lead.model_copy(update={"low": ends[0], "high": ends[1]})
    changes["lead"] = lead
    if whole:
        ratios = dict.fromkeys((1.0, *own.boundaries(), own.goal()))
        changes["power"] = tuple(
            _compute_entry(parts, budget, "reference", ratio, cv)
            for cv in dict.fromkeys(own.cvs.values())
            for ratio in ratios
        )
        changes["assumptions"] = "; ".join(beside_words(part) for part in parts)
    return changes


def _compute_entry(
    parts: tuple[Amounts, ...],
    budget: Budget,
    corner: Corner,
    ratio: float | None = None,
    cv: float | None = None,
) -> PowerAt:
    """Return the chance that all parts hold: a product, since endpoints are taken as independent.

    `ratio` and `cv` are of the first part, its goal and the `corner`'s value by default; the other parts stay at the
    corner.
    """
    own = parts[0]
    true_ratio = own.goal() if ratio is None else ratio
    entry = PowerAt(
        discordance=None,
        truth=true_ratio - 1,
        ratio=true_ratio,
        cv=own.cvs[corner] if cv is None else cv,
        power=None,
    )
    power, error = 1.0, 0.0
    for part in parts:
        try:
            budget.spend(part.cost)
        except OverBudgetError:
            return entry.model_copy(update={"reason": CUT})
        chance = part.at(corner, ratio, cv) if part is own else part.at(corner)
        if chance.power is None:
            return entry.model_copy(update={"reason": chance.reason})
        # Of a product of independent estimates, to the first order: se(xy)^2 = (y se x)^2 + (x se y)^2.
        error = math.hypot(error * chance.power, power * chance.error)
        power *= chance.power
    return entry.model_copy(update={"power": power, "standard_error": error})
