"""The level of a rule: its greatest chance to hold where its claim is false.

The truth is put where the claim only just fails: no difference for superiority, the margin for the
others. Independent binary pairs under one look are enumerated over the plausible shares of discordant items;
clusters, scores and plans with looks are simulated over plausible spreads with a fixed seed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial

import numpy as np

from service.domain.plans.manifest import ManifestFacts
from service.domain.plans.plan import Plan
from service.domain.power.amounts import amounts_of, asks_amounts
from service.domain.power.answers.level_records import RuleLevel
from service.domain.power.attainable.least_p import size_of
from service.domain.power.attainable.level_bound import bound_level
from service.domain.power.distributions.shapes import shape_of_pilot
from service.domain.power.enumerated.enumerated_rule import EnumeratedRule
from service.domain.power.enumerated.region import Region
from service.domain.power.fixed_items import asks_these_items, these_items_level
from service.domain.power.hypothesis_numbers import NOT_READY, compute_on_part, ready
from service.domain.power.levels.simulated_level import fixed_level, sequential_level
from service.domain.power.one_arm.power import one_arm_level
from service.domain.power.search import MOST_ITEMS
from service.domain.power.suites.power import suite_level
from service.domain.power.worlds import KNOWN, list_discordances
from service.domain.rules.claims.assertion import states
from service.domain.rules.claims.claim import WANTED, Target
from service.domain.rules.claims.clauses import Reader, meaning_of
from service.domain.rules.feeding import parameter
from service.domain.rules.labelled import asks_labels
from service.domain.rules.rule import Excludes
from service.domain.rules.settings import Setting, other_endpoints, own_part, parts_of, resolve
from service.kernels.numeric import binomial
from service.stats.shared.declaring.shows import Bounded, Covers, Finding, PValue, Share, by_alpha

DEFAULT_ALPHA = 0.05
GRID = 25
"""Shares of discordant items that are looked at where the whole is asked for."""
REFINED = 12
"""Further looks about the worst of them."""
MOST_ROWS = 1500
"""Discordant counts that are enumerated in one piece; beyond, each share has rows of its own."""

FEW_SHARES = 9
"""Shares that are looked at for a warning."""
FEW_ITEMS = 30
"""Up to that many items any share of them may turn out discordant; with more, the plausible ones."""

MOST_HYPOTHESES = 20

NO_PILOTS: Mapping[str, tuple[float, ...]] = {}
Chance = Callable[[float], "float | None"]


def level_of(
    plan: Plan, facts: Mapping[str, ManifestFacts], setting: Setting, pilot: tuple[float, ...] | None = None
) -> RuleLevel:
    """Return the level of one hypothesis' rule; null beside a reason where it is not worked out.

    `pilot`: differences of its items, whose shape is taken in the place of those that are plausible.
    """
    name = setting.hypothesis.id
    if setting.index >= MOST_HYPOTHESES:
        why = f"levels are worked out for the first {MOST_HYPOTHESES} hypotheses of a plan"
        return RuleLevel(hypothesis=name, level=None, reason=why)
    return compute_on_part(_compute_level, plan, facts, {name}, name, pilot)


def levels(
    plan: Plan, facts: Mapping[str, ManifestFacts], pilots: Mapping[str, tuple[float, ...]] = NO_PILOTS
) -> tuple[RuleLevel, ...]:
    """Return every hypothesis' level, in the plan's order; `pilots`: differences of a pilot's items, by hypothesis."""
    return tuple(
        level_of(plan, facts, setting, pilots.get(setting.hypothesis.id))
        for setting in resolve(plan).settings
    )


def _compute_level(
    plan: Plan, facts: Mapping[str, ManifestFacts], setting: Setting, pilot: tuple[float, ...] | None = None
) -> RuleLevel:
    """Return the level of one rule: the greatest chance that it holds though its claim is false.

    `pilot`: differences whose shape is drawn in place of the shapes that are tried otherwise.
    """
    shape = None if pilot is None else shape_of_pilot(pilot)
    shapes = None if shape is None else (shape,)
    base = RuleLevel(hypothesis=setting.hypothesis.id, level=None, alpha=read_alpha(setting))
    endpoint, population = setting.endpoint, setting.population
    if endpoint is None or population is None or not ready(plan, setting):
        return base.model_copy(update={"reason": NOT_READY})
    if setting.suite is not None:
        return _compute_suite_level(base, plan, facts, setting)
    if setting.reference is not None:
        if asks_these_items(setting):
            return these_items_level(base, plan, facts, setting, (0.0,))
        return one_arm_level(base, plan, facts, setting)
    if other_endpoints(setting) or asks_amounts(setting):
        return _compute_level_of_parts(base, plan, facts, setting)
    truths = tuple(_truths(setting))
    if not truths:
        return base.model_copy(update={"reason": "the claim needs a margin: give the endpoint a SESOI"})
    if asks_these_items(setting):
        return these_items_level(base, plan, facts, setting, truths)
    size, sesoi = size_of(population, facts), (plan.sesoi or {}).get(endpoint.id)
    if plan.stopping is not None and plan.stopping.kind != "fixed_n":
        return sequential_level(base, plan, facts, setting, truths, shapes)
    if endpoint.collapsed_kind == "binary" and population.clusters is None and not asks_labels(setting):
        return _compute_exact(base, EnumeratedRule(setting, sesoi), size.n, truths)
    known = facts.get(population.id)
    # what is proven of every shape goes before what is drawn from a few of them
    proven = bound_level(base, setting, known, truths)
    return proven or fixed_level(base, setting, sesoi, size, known, truths, shapes)


def _compute_suite_level(
    base: RuleLevel, plan: Plan, facts: Mapping[str, ManifestFacts], setting: Setting
) -> RuleLevel:
    if other_endpoints(setting):
        return base.model_copy(update={"reason": "the rule speaks of several endpoints of a suite"})
    truths = () if setting.reference is not None else tuple(_truths(setting))
    if setting.reference is None and not truths:
        return base.model_copy(update={"reason": "the claim needs a margin: give the endpoint a SESOI"})
    return suite_level(base, plan, facts, setting, truths)


def _compute_level_of_parts(
    base: RuleLevel, plan: Plan, facts: Mapping[str, ManifestFacts], setting: Setting
) -> RuleLevel:
    """Return the level of parts on several endpoints, which must all hold: that of the part that errs most.

    Source: Berger (1982), Technometrics 24:295.
    """
    parts = parts_of(setting)
    amounts = amounts_of(plan, facts, setting, parts)
    if isinstance(amounts, str) or parts is None:
        return base.model_copy(update={"reason": amounts})
    levels = [
        amount.level(
            base.model_copy(update={"alpha": read_alpha(amount.setting), "endpoint": amount.endpoint})
        )
        for amount in amounts
    ]
    if parts.own is not None and not asks_amounts(setting):
        own = own_part(setting, parts.own)
        levels.append(_compute_level(own.plan, facts, own))
    unknown = next((level for level in levels if level.level is None), None)
    return unknown or max(levels, key=lambda level: (level.level or 0.0) / level.alpha)


def read_alpha(setting: Setting) -> float:
    """Return the error that the tests and intervals of the rule are set to, as they are written; the largest counts."""
    return max(_list_alphas(setting), default=DEFAULT_ALPHA)


def _list_alphas(setting: Setting) -> Iterator[float]:
    """Yield the error that every clause of a rule states, one-sided where it looks to one side."""
    for clause in setting.clauses:
        use = setting.uses.get(clause.field.test or "")
        if use is None:
            continue
        value = partial(parameter, use.use)
        match meaning_of(use, clause.field.path)[0]:
            case PValue() | Share():
                yield by_alpha(value)
            case Covers(error=error):
                yield round((2 if isinstance(clause, Excludes) else 1) * error(value), 12)
            case Bounded(error=error):
                yield round(error(value), 12)
            case Finding(ways=ways, error=error):
                yield round(len(ways) * error(value), 12)


def _truths(setting: Setting) -> Iterator[float]:
    """Yield where the claim only just fails: true differences, candidate minus baseline."""
    target = Target.of(setting)
    if target.claim == "superiority":
        yield 0.0
        return
    assert setting.rule is not None  # noqa: S101 - callers have one
    facts_shown = {fact for facts in states(setting.rule, Reader.of(setting)) for fact in facts.shown}
    # the least loss that the claim denies is where it first fails: the statement's, where it asks for more
    margins = [margin for fact in facts_shown if (margin := target.held_to(fact)) is not None]
    margin = max(margins, default=target.margin)
    if margin is not None:
        yield from (float(target.good * k * margin) for _, k in WANTED[target.claim])


def _compute_exact(base: RuleLevel, rule: EnumeratedRule, n: int, truths: tuple[float, ...]) -> RuleLevel:
    """Return the level by weighing every outcome, at the share of discordant items where it is greatest."""
    if n > MOST_ITEMS:
        return base.model_copy(update={"reason": f"levels are worked out up to {MOST_ITEMS} items"})
    shares = list_discordances(None if rule.sesoi is None else float(rule.sesoi.exact()))
    low, high = shares[0], shares[-1] if n > FEW_ITEMS else 1.0
    first, last = binomial.window(n, low)[0], binomial.window(n, high)[1]
    # One enumeration serves every share where the rows of all of them are few enough.
    whole = rule.on(n, np.arange(first, last + 1)) if last - first < MOST_ROWS else None
    best: tuple[float, float, float] | None = None
    for truth in truths:

        def chance(share: float, truth: float = truth) -> float | None:
            return _compute_chance(whole or rule.around(n, share), share, truth)

        least = min(max(low, abs(truth) + KNOWN), high)
        greatest = _greatest(chance, least, high, GRID if whole else FEW_SHARES)
        if greatest is None:
            why = "; ".join(dict.fromkeys(rule.unknown.values())) or "a field is not decided by the counts"
            return base.model_copy(update={"reason": why})
        best = max(best or (-1.0, 0.0, 0.0), (greatest[0], greatest[1], truth))
    assert best is not None  # noqa: S101 - there is a truth
    level, share, truth = best
    return base.model_copy(update={"level": level, "method": "exact", "discordance": share, "truth": truth})


def _compute_chance(region: Region, share: float, truth: float) -> float | None:
    """The chance of a region where (share + truth) / 2 of the items are gains and (share - truth) / 2 are losses.

    None where counts alone leave the rule open: the chances of its least and its greatest region then differ.
    """
    # A truth beyond the share is cut to it: neither gains nor losses are fewer than none.
    truth = min(max(truth, -share), share)
    least, most = region.chance((share + truth) / 2, (share - truth) / 2)
    return most if most - least < KNOWN else None


def _greatest(chance: Chance, low: float, high: float, steps: int) -> tuple[float, float] | None:
    """Return the greatest value on an even grid and between its neighbours, and where; None where one is not known."""
    grid = [low + (high - low) * step / max(steps - 1, 1) for step in range(steps)]
    values = [chance(at) for at in grid]
    known = [(value, at) for value, at in zip(values, grid, strict=True) if value is not None]
    if len(known) < len(grid):
        return None
    best = max(known)
    width = (high - low) / max(steps - 1, 1)
    for _ in range(REFINED // 2):
        width /= 2
        # Both sides of the best so far, at half the distance of the last look.
        for at in (best[1] - width, best[1] + width):
            value = chance(at) if low <= at <= high else None
            if value is not None:
                best = max(best, (value, at))
    return best
