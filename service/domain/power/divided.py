"""Rules in a corrected family: thresholds that it shares out, and members whose p-values are not simulated."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from service.domain.decision.family import places, policy_of
from service.domain.decision.members import asks_small_p, members, p_clauses
from service.domain.plans.plan import Plan
from service.domain.rules.rule import All, AnyOf, Comparison, Not, Quantity, Rule
from service.domain.rules.settings import Setting
from service.words import say


def share_out(rule: Rule, by: int) -> Rule:
    """Divide every threshold of a small p-value of a rule by `by`, as Bonferroni's correction divides alpha."""
    match rule:
        case All() | AnyOf():
            return rule.model_copy(update={"parts": tuple(share_out(part, by) for part in rule.parts)})
        case Not():
            return rule.model_copy(update={"part": share_out(rule.part, by)})
        case Comparison() if asks_small_p(rule):
            share = rule.value.exact() / by
            return rule.model_copy(update={"value": Quantity(text=f"{float(share):.18f}")})
        case _:
            return rule


def within_family(plan: Plan, setting: Setting, what: str) -> Setting | str:
    """Return the hypothesis with its share of the family's error; a sentence where that needs the others' p-values.

    Bonferroni's share is the same whatever the others show. `what` the p-values are of stands in the sentence.
    """
    rule, policy = setting.rule, policy_of(plan)
    if rule is None or policy == "none" or setting.hypothesis.id not in members(plan) or places(plan) == 1:
        return setting
    if p_clauses(setting) and policy != "bonferroni":
        return say("power.p_values_in_family", what=what, policy=policy)
    return replace(setting, rule=share_out(rule, places(plan)))


def not_drawn(plan: Plan, chosen: Sequence[Setting]) -> tuple[str, ...]:
    """List members whose p-values are not simulated and count as 1, so that the others' power is a lower bound.

    Such are p-values of amounts or of another endpoint than the member's own, and members that are not among those
    `chosen`. Bonferroni's policy does not look at them.
    """
    policy = policy_of(plan)
    if policy in ("none", "bonferroni"):
        return ()
    known = {setting.hypothesis.id: setting for setting in chosen}
    return tuple(name for name in members(plan) if name not in known or _unseen(known[name]))


def _unseen(setting: Setting) -> bool:
    uses = [setting.use_of(clause) for clause in setting.clauses if asks_small_p(clause)]
    return any(
        use is not None and (use.beside or (use.test.plan is not None and use.test.plan.positive))
        for use in uses
    )
