"""What the rule of each hypothesis can show with the planned data, in the whole procedure of its plan.

Independent binary pairs are enumerated, every possible outcome weighed; clusters, other endpoints, families
and looks are simulated with a fixed seed. What cannot be worked out is null beside its reason.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TypeVar

from service.domain.checks.claim import claim_findings
from service.domain.decision.family import places, policy_of, two_places
from service.domain.decision.members import asks_small_p, is_secondary, members
from service.domain.plans.items.suite_items import find_population
from service.domain.plans.manifest import ManifestFacts
from service.domain.plans.plan import Plan
from service.domain.power.amounts import Amounts, amounts_of, asks_amounts, beside_words
from service.domain.power.answers.lead import least_observed
from service.domain.power.answers.records import (
    EquivalenceReach,
    LabelledPower,
    LeadPower,
    LeastP,
    PowerAt,
    RulePower,
)
from service.domain.power.attainable.attainability import attainable, field_bounds
from service.domain.power.attainable.least_family import LeastFamily
from service.domain.power.attainable.least_p import Size, least_p, size_of
from service.domain.power.distributions.shapes import ShapeName, every_shape
from service.domain.power.divided import not_drawn
from service.domain.power.enumerated.enumerated_rule import EnumeratedRule
from service.domain.power.enumerated.enumerated_tests import BinaryTest
from service.domain.power.fixed_items import asks_these_items, these_items_power
from service.domain.power.hypothesis_numbers import NOT_READY, ready, work_out
from service.domain.power.one_arm.power import one_arm_power
from service.domain.power.procedure.labelled import label_budgets
from service.domain.power.search import MOST_ITEMS, Budget, OverBudgetError
from service.domain.power.suites.power import suite_power
from service.domain.power.two_arms.effects import detectable, required
from service.domain.power.two_arms.equivalence_reach import equivalence_reach
from service.domain.power.two_arms.hypothesis import HypothesisPower
from service.domain.power.two_arms.slices import slices_power
from service.domain.power.worlds import LEAST_GAP, Corner, list_discordances, worlds_of
from service.domain.rules.feeding import takes_clusters
from service.domain.rules.settings import ResolvedPlan, Setting, other_endpoints, own_part, parts_of, resolve

MOST_HYPOTHESES = 20
"""A lock waits for the power of so many rules and not for more."""

TOO_MANY = f"power is worked out for the first {MOST_HYPOTHESES} hypotheses of a plan"

REFUSED = "the rule can hold without its claim, so that lint refuses it: mend that first"

LINT_BUDGET, TABLE_BUDGET = 1.15e9, 1.6e9
"""Nanoseconds of simulation for all hypotheses together: what a lock needs, and the rest of the table."""

CUT = "the rest of the table would take longer than lint may"

Entry = TypeVar("Entry")


def rule_powers(plan: Plan, facts: Mapping[str, ManifestFacts]) -> tuple[RulePower, ...]:
    """The whole table, one entry per hypothesis."""
    return tuple(_with_slices(plan, facts, setting) for setting in resolve(plan).settings)


def _with_slices(plan: Plan, facts: Mapping[str, ManifestFacts], setting: Setting) -> RulePower:
    power = _power(plan, facts, setting, whole=True)
    if setting.index >= MOST_HYPOTHESES or not ready(plan, setting):
        return power
    slices = slices_power(plan, facts, setting)
    return power if slices is None else power.model_copy(update={"slices": slices})


def power_at_reference(plan: Plan, facts: Mapping[str, ManifestFacts], setting: Setting) -> RulePower:
    """What a lock needs to know: whether the rule can pass, and its power where the claim should come out."""
    return _power(plan, facts, setting, whole=False)


def _power(plan: Plan, facts: Mapping[str, ManifestFacts], setting: Setting, *, whole: bool) -> RulePower:
    name = setting.hypothesis.id
    if setting.index >= MOST_HYPOTHESES:
        return RulePower(hypothesis=name, method=None, reason=TOO_MANY)
    share = min(len(plan.hypotheses or ()), MOST_HYPOTHESES)
    refused = any(claim_finding.severity == "error" for claim_finding in claim_findings(plan, setting))
    together = _together(plan, setting)
    return work_out(_of, plan, facts, together, name, share, whole=whole, refused=refused)


def _together(plan: Plan, setting: Setting) -> set[str]:
    """The hypotheses that decide with this one: its family under a policy, and all that hold up its end."""
    name = setting.hypothesis.id
    together = {name}
    policy = policy_of(plan)
    family = members(plan)
    apart = policy == "bonferroni" and not setting.hypothesis.equivalence and not two_places(plan)
    if policy != "none" and name in family and not apart:
        together |= set(family)
    if plan.stopping is not None and plan.stopping.kind != "fixed_n":
        together |= {
            hypothesis.id for hypothesis in plan.hypotheses or () if not is_secondary(plan, hypothesis)
        }
    return together


@dataclass(frozen=True, slots=True)
class _Request:
    """Whose power is asked for, with the share of the budget that it may spend."""

    plan: Plan
    facts: Mapping[str, ManifestFacts]
    setting: Setting
    share: int
    whole: bool
    refused: bool


def _of(
    plan: Plan,
    facts: Mapping[str, ManifestFacts],
    setting: Setting,
    share: int,
    *,
    whole: bool,
    refused: bool,
) -> RulePower:
    return _compute(_Request(plan, facts, setting, share, whole, refused))


def _compute(request: _Request, beside: tuple[Amounts, ...] = ()) -> RulePower:
    plan, facts, setting, whole = request.plan, request.facts, request.setting, request.whole
    if setting.suite is None and (other_endpoints(setting) or asks_amounts(setting)):
        return _several(request)
    hypothesis, population, endpoint = setting.hypothesis, setting.population, setting.endpoint
    if population is None or endpoint is None or not ready(plan, setting):
        return RulePower(hypothesis=hypothesis.id, method=None, reason=NOT_READY)
    size = size_of(population, facts)
    sesoi = (plan.sesoi or {}).get(hypothesis.endpoint)
    base = RulePower(
        hypothesis=hypothesis.id,
        method=None,
        n=size.n,
        n_clusters=size.n_clusters,
        sesoi=None if sesoi is None else float(sesoi.exact()),
        least_p=tuple(_least(setting, size)) if whole else (),
    )
    if setting.suite is not None or setting.reference is not None or asks_these_items(setting):
        if request.refused:
            return base.model_copy(update={"reason": REFUSED})
        if setting.suite is None and asks_these_items(setting):
            return these_items_power(base, plan, facts, setting, whole=whole)
        of_rule = one_arm_power if setting.suite is None else suite_power
        return of_rule(base, plan, facts, setting, whole=whole)
    changes: dict[str, object] = {}
    if endpoint.collapsed_kind == "binary":
        changes |= _reached(plan, setting, EnumeratedRule(setting, sesoi), size.n)
    bounds = field_bounds(setting, size, LeastFamily.of(plan, setting.within.settings, facts))
    if setting.rule is not None and attainable(setting.rule, bounds) is False:
        changes["can_pass"] = False
    if changes.get("can_pass") is False:
        why = "no outcome makes the rule true"
        return base.model_copy(update={**changes, "reason": why})
    if request.refused:
        return base.model_copy(update={**changes, "reason": REFUSED})
    worlds = {
        one.hypothesis.id: known
        for one in setting.within.settings
        if one.reference is None
        and one.suite is None
        and ready(plan, one)
        and (known := worlds_of(plan, one)) is not None
    }
    if hypothesis.id not in worlds:
        return base.model_copy(update={**changes, "reason": "power needs a SESOI: give the endpoint one"})
    if endpoint.replicates > 1 and endpoint.kind == "binary" and endpoint.collapsed_kind != "binary":
        changes["reason"] = "a mean of replicates is neither right or wrong nor a free score: not simulated"
        return base.model_copy(update=changes)
    if any(_too_few(plan, facts, name) for name in worlds):
        return base.model_copy(update={**changes, "reason": "fewer than two clusters with items"})
    if (first := _not_reached(setting.within, hypothesis.id, tuple(worlds))) is not None:
        why = f"the family's sequence tests {first} before, whose p-values are not simulated"
        return base.model_copy(update={**changes, "reason": why})
    budget = Budget(LINT_BUDGET / request.share, TABLE_BUDGET / request.share if whole else 0.0)
    power = HypothesisPower(plan, facts, setting, worlds, size.n, budget, beside)
    return base.model_copy(update={**changes, **_table(power, whole=whole)})


def _not_reached(resolved: ResolvedPlan, name: str, drawn: tuple[str, ...]) -> str | None:
    """The member that a fixed sequence tests before this one and that is never shown here; None where there is none."""
    plan = resolved.plan
    if plan.multiplicity is None or plan.multiplicity.policy != "fixed_sequence":
        return None
    simulated = [setting for setting in resolved.settings if setting.hypothesis.id in drawn]
    family, never = members(plan), not_drawn(plan, simulated)
    before = family[: family.index(name)] if name in family else ()
    return next((member for member in before if member in never), None)


def _several(request: _Request) -> RulePower:
    """The power of a rule that speaks of several endpoints, or of amounts: part by part."""
    plan, facts, setting = request.plan, request.facts, request.setting
    hypothesis, population, parts = setting.hypothesis, setting.population, parts_of(setting)
    base = RulePower(hypothesis=hypothesis.id, method=None)
    if population is None or not ready(plan, setting):
        return base.model_copy(update={"reason": NOT_READY})
    size = size_of(population, facts)
    base = base.model_copy(update={"n": size.n, "n_clusters": size.n_clusters})
    amounts = amounts_of(plan, facts, setting, parts)
    if not isinstance(amounts, str):
        amounts = _in_family(plan, setting, amounts)
    if isinstance(amounts, str) or parts is None:
        return base.model_copy(update={"reason": amounts})
    bounds = field_bounds(setting, size, LeastFamily.of(plan, setting.within.settings, facts))
    if setting.rule is not None and attainable(setting.rule, bounds) is False:
        return base.model_copy(update={"can_pass": False, "reason": "no outcome makes the rule true"})
    if request.refused:
        return base.model_copy(update={"reason": REFUSED})
    if asks_amounts(setting):
        return base.model_copy(
            update=_amounts_table(amounts, LINT_BUDGET / request.share, whole=request.whole)
        )
    if parts.own is None:
        return base.model_copy(update={"reason": "the rule asks nothing of the hypothesis' own endpoint"})
    own = own_part(setting, parts.own)
    return _compute(replace(request, plan=own.plan, setting=own), beside=amounts)


def _in_family(plan: Plan, setting: Setting, parts: tuple[Amounts, ...]) -> tuple[Amounts, ...] | str:
    """The parts as the family reads them; why they cannot be weighed one by one, where a policy joins them."""
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
    return f"amounts are not simulated in a family that `{policy}` adjusts" if own else parts


def _amounts_table(parts: tuple[Amounts, ...], budget: float, *, whole: bool) -> dict[str, object]:
    """Reference and range of a rule on amounts, and where asked its entries by ratio; the first part is its own."""
    spent = Budget(budget, budget if whole else 0.0)
    own = parts[0]

    def entry(corner: Corner, ratio: float | None = None, cv: float | None = None) -> PowerAt:
        where = PowerAt(
            discordance=None,
            truth=(own.goal() if ratio is None else ratio) - 1,
            ratio=own.goal() if ratio is None else ratio,
            cv=own.cvs[corner] if cv is None else cv,
            power=None,
        )
        power, error = 1.0, 0.0
        for part in parts:
            try:
                spent.spend(part.cost)
            except OverBudgetError:
                return where.model_copy(update={"reason": CUT})
            chance = part.at(corner, ratio, cv) if part is own else part.at(corner)
            if chance.power is None:
                return where.model_copy(update={"reason": chance.reason})
            error = math.hypot(error * chance.power, power * chance.error)
            power *= chance.power
        return where.model_copy(update={"power": power, "standard_error": error})

    reference = entry("reference")
    changes: dict[str, object] = {"reference": reference, "reason": reference.reason}
    if reference.power is None:
        return changes | {"lead": LeadPower(effect="ratio", reference=reference)}
    changes["method"] = "simulated"
    ends = [row for row in (entry("low"), entry("high")) if row.power is not None]
    lead = LeadPower(effect="ratio", reference=reference)
    if len(ends) == 2:
        ends.sort(key=lambda row: row.power or 0.0)
        changes |= {"low": ends[0], "high": ends[1]}
        lead = lead.model_copy(update={"low": ends[0], "high": ends[1]})
    changes["lead"] = lead
    if whole:
        ratios = dict.fromkeys((1.0, *own.boundaries(), own.goal()))
        changes["power"] = tuple(
            entry("reference", ratio, cv) for cv in dict.fromkeys(own.cvs.values()) for ratio in ratios
        )
        changes["assumptions"] = "; ".join(beside_words(part) for part in parts)
    return changes


def _too_few(plan: Plan, facts: Mapping[str, ManifestFacts], name: str) -> bool:
    hypothesis = plan.hypothesis(name)
    population = None if hypothesis is None else find_population(plan, hypothesis.population)
    if population is None or population.clusters is None:
        return False
    known = facts.get(population.id)
    sizes = known.cluster_sizes if known else ()
    return (len(sizes) < 2 or min(sizes) < 1) if sizes else not 2 <= population.clusters.n <= population.n


def _table(power: HypothesisPower, *, whole: bool) -> dict[str, object]:
    """The entries that a lock needs, then the others as far as the budget goes."""

    def within(entry: Callable[[], Entry], otherwise: Entry) -> Entry:
        try:
            return entry()
        except OverBudgetError:
            return otherwise

    own, nothing = power.own, PowerAt(discordance=None, truth=power.own.goal, power=None, reason=CUT)

    def over(truth: float, n_sets: int) -> dict[str, PowerAt]:
        """The reference, and the ends of what is left open, at one true difference."""
        cut = nothing.model_copy(update={"truth": truth})
        rows = {"reference": within(lambda: power.at("reference", truth=truth, n_sets=n_sets), cut)}
        if rows["reference"].power is None:
            return rows
        shaped = _over_shapes(power, within, cut)
        if power.stated:
            known = sorted([rows["reference"], *shaped], key=lambda row: row.power or 0.0)
            return rows | ({"low": known[0], "high": known[-1]} if shaped else {})
        ends = (
            within(lambda: power.at("low", truth=truth, n_sets=n_sets), cut),
            within(lambda: power.at("high", "at_goal", truth=truth, n_sets=n_sets), cut),
        )
        if any(end.power is None for end in ends):
            return rows
        # with few items power does not fall with the spread: what lies between the ends counts as well
        inner = [
            power.at("reference", truth=truth, scale=scale)
            for scale in (own.scales if power.exact_only else ())
            if abs(truth) <= scale + LEAST_GAP
        ]
        known = [end for end in (*ends, rows["reference"], *inner, *shaped) if end.power is not None]
        known.sort(key=lambda row: row.power or 0.0)
        return rows | {"low": known[0], "high": known[-1]}

    effect, truth = own.lead
    at_goal = over(own.goal, power.lint_sets)
    lead = at_goal if own.goal == truth else over(truth, power.curve_sets)
    reference = at_goal["reference"]
    changes: dict[str, object] = {"stated": power.stated, "reason": reference.reason, **at_goal}
    if reference.power is not None:
        changes["method"] = "exact" if reference.standard_error is None else "simulated"
    curve = _curve(power, within, nothing) if lead["reference"].power is not None else ()
    changes["lead"] = LeadPower(
        effect=effect,
        reference=lead["reference"],
        low=lead.get("low"),
        high=lead.get("high"),
        curve=tuple(row for row in curve if row.power is not None),
        asks_observed=least_observed(power.setting, truth),
    )
    if power.budget.cut:
        changes["cut"] = CUT
    if power.exact_only:
        unknown = "; ".join(dict.fromkeys(power.exact.rule.unknown.values()))
        changes["reason"] = unknown or reference.reason
    if not whole or (reference.power is None and not power.exact_only):
        return changes
    changes["assumptions"] = power.words()
    # the table first: a search may take all that is left
    changes["power"] = tuple(_entries(power, within, nothing))
    if reference.power is not None and own.labels is not None:
        changes["labels"] = tuple(_by_budget(power, within, nothing))
    if reference.power is not None:
        changes |= {"detectable": tuple(detectable(power)), "required": tuple(required(power))}
    if power.budget.cut:
        changes["cut"] = CUT
    return changes


def _over_shapes(
    power: HypothesisPower, within: Callable[[Callable[[], PowerAt], PowerAt], PowerAt], otherwise: PowerAt
) -> list[PowerAt]:
    """Power of scores at the least favourable spread, with differences that are not normal."""
    if power.own.binary:
        return []
    powers = []
    for shape in every_shape()[1:]:

        def entry(name: ShapeName = shape.name) -> PowerAt:
            return power.at("low", truth=otherwise.truth, n_sets=power.curve_sets, shape=name)

        powers.append(within(entry, otherwise))
    return [power for power in powers if power.power is not None]


def _curve(
    power: HypothesisPower, within: Callable[[Callable[[], PowerAt], PowerAt], PowerAt], otherwise: PowerAt
) -> Iterator[PowerAt]:
    """At other true differences than the one that is told first."""
    for truth in power.curve():

        def entry(truth: float = truth) -> PowerAt:
            return power.at("reference", truth=truth, n_sets=power.curve_sets)

        yield within(entry, otherwise)


def _entries(
    power: HypothesisPower, within: Callable[[Callable[[], PowerAt], PowerAt], PowerAt], otherwise: PowerAt
) -> Iterator[PowerAt]:
    """Without a difference, at the SESOI, at twice the SESOI and where the claim should come out, by scale."""
    own = power.own
    for scale in own.scales:
        for truth in own.listed:
            where = {"truth": truth, "discordance" if own.binary else "spread": scale}

            def entry(truth: float = truth, scale: float = scale) -> PowerAt:
                return power.at("reference", truth=truth, scale=scale, n_sets=power.table_sets)

            yield within(entry, otherwise.model_copy(update=where))


def _by_budget(
    power: HypothesisPower, within: Callable[[Callable[[], PowerAt], PowerAt], PowerAt], otherwise: PowerAt
) -> Iterator[LabelledPower]:
    """Where power is told first, with a quarter of the labels that are planned up to all that leave the judge a few."""
    for budget in label_budgets(power.own.labels or 2, power.n - 2):
        other = power.with_labels(budget)

        def entry(other: HypothesisPower = other) -> PowerAt:
            return other.at("reference", truth=power.own.lead[1], n_sets=power.table_sets)

        row = within(entry, otherwise)
        yield LabelledPower(labels=budget, power=row.power, standard_error=row.standard_error)


def _reached(plan: Plan, setting: Setting, rule: EnumeratedRule, n: int) -> dict[str, object]:
    """Whether some outcome passes, by the counts alone, and with how many discordant items."""
    likely = list_discordances(None if rule.sesoi is None else float(rule.sesoi.exact()))
    can_pass, least = rule.reach(n, likely if n <= MOST_ITEMS else ())
    return {
        "can_pass": can_pass,
        "least_discordant": least,
        "equivalence": tuple(_reach(plan, setting, n)),
    }


def enumerated(plan: Plan, setting: Setting) -> EnumeratedRule | None:
    """The rule over every outcome; None for an endpoint that is not right or wrong."""
    if setting.endpoint is None or setting.endpoint.collapsed_kind != "binary":
        return None
    sesoi = (plan.sesoi or {}).get(setting.hypothesis.endpoint)
    return EnumeratedRule(setting, sesoi)


def _least(setting: Setting, size: Size) -> Iterator[LeastP]:
    for test_id, use in setting.uses.items():
        least, why = least_p(use, size, setting.population)
        if least > 0:
            yield LeastP(test=test_id, p_value=float(least), reason=why)
        elif "p_value" in use.test.analysis.model_fields:
            yield LeastP(test=test_id, p_value=None, reason="the design sets no least p that is known here")


def _reach(plan: Plan, setting: Setting, n: int) -> Iterator[EquivalenceReach]:
    sesoi = (plan.sesoi or {}).get(setting.hypothesis.endpoint)
    for use in setting.uses.values():
        if (
            setting.endpoint is None
            or setting.population is None
            or takes_clusters(use.test, setting.population)
        ):
            continue
        reach = equivalence_reach(BinaryTest(use, setting.endpoint, n, sesoi))
        if reach is not None:
            yield reach
