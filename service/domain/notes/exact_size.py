"""The size of a next study by its rule's exact power, where every outcome of so few items can be weighed."""

from __future__ import annotations

from service.domain.notes.next_size import TARGET, Spread
from service.domain.plans.plan import Plan
from service.domain.power.enumerated.enumerated_rule import EnumeratedRule
from service.domain.recent import remember
from service.domain.rules.settings import resolve
from service.domain.verdicts.records import HypothesisVerdict

EXACT_UP_TO, GROWTH_STEPS, REMEMBERED = 1_000, 12, 256
"""Items up to which the rule's exact power is asked, and how often the size may grow by a tenth."""


def refine_size(plan: Plan, verdict: HypothesisVerdict, spread: Spread, size: int, truth: float) -> int:
    """Return a small size by the rule's exact power, where every outcome can be weighed."""
    if (
        spread.discordance is None
        or size > EXACT_UP_TO
        or any(clause.unadjusted is not None for clause in verdict.clauses)
    ):
        return size
    return _find_exact_size(plan.canonical_text(), verdict.id, size, spread.discordance, truth)


@remember(REMEMBERED)
def _find_exact_size(plan_text: str, name: str, size: int, discordance: float, truth: float) -> int:
    """Find the size, from `size` up in steps of a tenth, at which the rule's exact power reaches the target."""
    plan = Plan.from_json(plan_text)
    setting = resolve(plan).of(name)
    if setting is None:
        return size
    rule = EnumeratedRule(setting, (plan.sesoi or {}).get(setting.hypothesis.endpoint))
    if setting.rule is None or rule.unknown:
        return size
    for step in range(GROWTH_STEPS):
        grown = round(size * 1.1**step)
        ahead, behind = (discordance + truth) / 2, (discordance - truth) / 2
        if rule.around(grown, discordance).chance(max(ahead, 0.0), max(behind, 0.0))[0] >= TARGET:
            return grown
    return size
