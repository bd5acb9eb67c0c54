"""What the rule of each hypothesis can show with the planned data, in the whole procedure of its plan.

Independent binary pairs are enumerated, every possible outcome weighed; clusters, other endpoints, families
and looks are simulated with a fixed seed. What cannot be worked out is null beside its reason.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from service.domain.checks.claim import claim_findings
from service.domain.decision.family import policy_of, two_places
from service.domain.decision.members import is_secondary, members
from service.domain.plans.items.suite_items import find_population
from service.domain.plans.manifest import ManifestFacts
from service.domain.plans.plan import Plan
from service.domain.plans.sections.endpoint import Endpoint
from service.domain.power.amounts import Amounts, amounts_of, asks_amounts
from service.domain.power.amounts_table import adjust_for_family, compute_amounts_table
from service.domain.power.answers.records import EquivalenceReach, LeastP, RulePower
from service.domain.power.attainable.attainability import attainable, field_bounds
from service.domain.power.attainable.least_family import LeastFamily
from service.domain.power.attainable.least_p import Size, least_p, size_of
from service.domain.power.divided import not_drawn
from service.domain.power.enumerated.enumerated_rule import EnumeratedRule
from service.domain.power.enumerated.enumerated_tests import BinaryTest
from service.domain.power.fixed_items import asks_these_items, these_items_power
from service.domain.power.hypothesis_numbers import NOT_READY, compute_on_part, ready
from service.domain.power.one_arm.power import one_arm_power
from service.domain.power.search import MOST_ITEMS, Budget
from service.domain.power.suites.power import suite_power
from service.domain.power.two_arms.equivalence_reach import equivalence_reach
from service.domain.power.two_arms.hypothesis import HypothesisPower
from service.domain.power.two_arms.slices import slices_power
from service.domain.power.two_arms.table import compute_table
from service.domain.power.worlds import Worlds, list_discordances, worlds_of
from service.domain.rules.feeding import takes_clusters
from service.domain.rules.settings import ResolvedPlan, Setting, other_endpoints, own_part, parts_of, resolve
from service.words import say

MOST_HYPOTHESES = 20
"""A lock waits for the power of so many rules and not for more."""

TOO_MANY = f"power is worked out for the first {MOST_HYPOTHESES} hypotheses of a plan"

REFUSED = "the rule can hold without its claim, so that lint refuses it: mend that first"

LINT_BUDGET, TABLE_BUDGET = 1.15e9, 1.6e9
"""Nanoseconds of simulation for all hypotheses together: what a lock needs, and the rest of the table."""

NO_OUTCOME = "no outcome makes the rule true"


def rule_powers(plan: Plan, facts: Mapping[str, ManifestFacts]) -> tuple[RulePower, ...]:
    """Return the whole table, one entry per hypothesis."""
    return tuple(_with_slices(plan, facts, setting) for setting in resolve(plan).settings)


def _with_slices(plan: Plan, facts: Mapping[str, ManifestFacts], setting: Setting) -> RulePower:
    """Return the power of a rule, with that of its slices where the plan asks for slices."""
    power = _power(plan, facts, setting, whole=True)
    if setting.index >= MOST_HYPOTHESES or not ready(plan, setting):
        return power
    slices = slices_power(plan, facts, setting)
    return power if slices is None else power.model_copy(update={"slices": slices})


def power_at_reference(plan: Plan, facts: Mapping[str, ManifestFacts], setting: Setting) -> RulePower:
    """Return what a lock needs to know: whether the rule can pass, and its power where the claim should come out."""
    return _power(plan, facts, setting, whole=False)


def _power(plan: Plan, facts: Mapping[str, ManifestFacts], setting: Setting, *, whole: bool) -> RulePower:
    """Return the power of one rule, from the cache where the same part of a plan was asked about before."""
    name = setting.hypothesis.id
    if setting.index >= MOST_HYPOTHESES:
        return RulePower(hypothesis=name, method=None, reason=TOO_MANY)
    share = min(len(plan.hypotheses or ()), MOST_HYPOTHESES)
    refused = any(claim_finding.severity == "error" for claim_finding in claim_findings(plan, setting))
    together = _list_deciders(plan, setting)
    return compute_on_part(_compute_on_part, plan, facts, together, name, share, whole=whole, refused=refused)


def _list_deciders(plan: Plan, setting: Setting) -> set[str]:
    """Return the hypotheses that decide with this one: its family under a policy, and all that hold up its end."""
    name = setting.hypothesis.id
    together = {name}
    policy = policy_of(plan)
    family = members(plan)
    # Bonferroni with one place each leaves a member a level of its own, whatever the others show.
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
    """Whose power is asked for."""

    plan: Plan
    facts: Mapping[str, ManifestFacts]
    setting: Setting
    share: int
    """How many hypotheses divide the budget."""
    whole: bool
    """Whether the rest of the table is wanted beside what a lock needs."""
    refused: bool
    """Whether lint refuses the rule, so that its power is of no use."""

    @property
    def lint_budget(self) -> float:
        """Nanoseconds for what a lock needs of this hypothesis."""
        return LINT_BUDGET / self.share


def _compute_on_part(
    plan: Plan,
    facts: Mapping[str, ManifestFacts],
    setting: Setting,
    share: int,
    *,
    whole: bool,
    refused: bool,
) -> RulePower:
    """Return the power of a hypothesis in the part of a plan that decides with it, as `compute_on_part` asks for it."""
    return _compute(_Request(plan, facts, setting, share, whole, refused))


def _compute(request: _Request, beside: tuple[Amounts, ...] = ()) -> RulePower:
    """Return the power of one rule; `beside` is what it asks of other endpoints, whose chance multiplies its own."""
    plan, facts, setting, whole = request.plan, request.facts, request.setting, request.whole
    if setting.suite is None and (other_endpoints(setting) or asks_amounts(setting)):
        return _compute_by_parts(request)
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
        least_p=tuple(_least_p_values(setting, size)) if whole else (),
    )
    if setting.suite is not None or setting.reference is not None or asks_these_items(setting):
        return _compute_other_design(base, request)
    changes: dict[str, object] = {}
    if endpoint.collapsed_kind == "binary":
        changes |= _compute_reach(plan, setting, EnumeratedRule(setting, sesoi), size.n)
    if _is_unattainable(request, size):
        changes["can_pass"] = False
    if changes.get("can_pass") is False:
        return base.model_copy(update={**changes, "reason": NO_OUTCOME})
    if request.refused:
        return base.model_copy(update={**changes, "reason": REFUSED})
    worlds = _known_worlds(plan, setting)
    if (reason := _why_not_simulated(request, endpoint, tuple(worlds))) is not None:
        return base.model_copy(update={**changes, "reason": reason})
    budget = Budget(request.lint_budget, TABLE_BUDGET / request.share if whole else 0.0)
    power = HypothesisPower(plan, facts, setting, worlds, size.n, budget, beside)
    return base.model_copy(update={**changes, **compute_table(power, whole=whole)})


def _compute_other_design(base: RulePower, request: _Request) -> RulePower:
    """The power of a rule on a suite, on one arm, or on these very items: of designs other than two paired arms."""
    plan, facts, setting, whole = request.plan, request.facts, request.setting, request.whole
    if request.refused:
        return base.model_copy(update={"reason": REFUSED})
    if setting.suite is not None:
        return suite_power(base, plan, facts, setting, whole=whole)
    if asks_these_items(setting):
        return these_items_power(base, plan, facts, setting, whole=whole)
    return one_arm_power(base, plan, facts, setting, whole=whole)


def _is_unattainable(request: _Request, size: Size) -> bool:
    """Tell whether the bounds of the rule's fields, with so much data, leave no outcome in which it holds."""
    setting = request.setting
    family = LeastFamily.of(request.plan, setting.within.settings, request.facts)
    bounds = field_bounds(setting, size, family)
    return setting.rule is not None and attainable(setting.rule, bounds) is False


def _known_worlds(plan: Plan, setting: Setting) -> dict[str, Worlds]:
    """Return what may be true of this hypothesis and of those that decide with it, by id; without a SESOI, nothing."""
    return {
        other.hypothesis.id: worlds
        for other in setting.within.settings
        if other.reference is None
        and other.suite is None
        and ready(plan, other)
        and (worlds := worlds_of(plan, other)) is not None
    }


def _why_not_simulated(request: _Request, endpoint: Endpoint, drawn: tuple[str, ...]) -> str | None:
    """Say why the rule has no power here, where only the hypotheses `drawn` can be simulated; None where it has."""
    name = request.setting.hypothesis.id
    if name not in drawn:
        return say("power.no_sesoi")
    if endpoint.replicates > 1 and endpoint.kind == "binary" and endpoint.collapsed_kind != "binary":
        return say("power.of_runs")
    if any(_has_too_few_clusters(request.plan, request.facts, other) for other in drawn):
        return say("power.too_few_clusters")
    first = _find_undrawn_before(request.setting.within, name, drawn)
    if first is not None:
        return say("power.tested_before", name=first)
    return None


def _find_undrawn_before(resolved: ResolvedPlan, name: str, drawn: tuple[str, ...]) -> str | None:
    """The member that a fixed sequence tests before this one and that is never shown here; None where there is none."""
    plan = resolved.plan
    if plan.multiplicity is None or plan.multiplicity.policy != "fixed_sequence":
        return None
    simulated = [setting for setting in resolved.settings if setting.hypothesis.id in drawn]
    family, never = members(plan), not_drawn(plan, simulated)
    before = family[: family.index(name)] if name in family else ()
    return next((member for member in before if member in never), None)


def _compute_by_parts(request: _Request) -> RulePower:
    """Return the power of a rule that speaks of several endpoints, or of amounts: part by part."""
    plan, facts, setting = request.plan, request.facts, request.setting
    hypothesis, population, parts = setting.hypothesis, setting.population, parts_of(setting)
    base = RulePower(hypothesis=hypothesis.id, method=None)
    if population is None or not ready(plan, setting):
        return base.model_copy(update={"reason": NOT_READY})
    size = size_of(population, facts)
    base = base.model_copy(update={"n": size.n, "n_clusters": size.n_clusters})
    amounts = amounts_of(plan, facts, setting, parts)
    if not isinstance(amounts, str):
        amounts = adjust_for_family(plan, setting, amounts)
    if isinstance(amounts, str) or parts is None:
        return base.model_copy(update={"reason": amounts})
    if _is_unattainable(request, size):
        return base.model_copy(update={"can_pass": False, "reason": NO_OUTCOME})
    if request.refused:
        return base.model_copy(update={"reason": REFUSED})
    if asks_amounts(setting):
        table = compute_amounts_table(amounts, request.lint_budget, whole=request.whole)
        return base.model_copy(update=table)
    if parts.own is None:
        return base.model_copy(update={"reason": "the rule asks nothing of the hypothesis' own endpoint"})
    own = own_part(setting, parts.own)
    return _compute(replace(request, plan=own.plan, setting=own), beside=amounts)


def _has_too_few_clusters(plan: Plan, facts: Mapping[str, ManifestFacts], name: str) -> bool:
    """Tell whether the population of a hypothesis has clusters, and fewer than two with items."""
    hypothesis = plan.hypothesis(name)
    population = None if hypothesis is None else find_population(plan, hypothesis.population)
    if population is None or population.clusters is None:
        return False
    known = facts.get(population.id)
    sizes = known.cluster_sizes if known else ()
    return (len(sizes) < 2 or min(sizes) < 1) if sizes else not 2 <= population.clusters.n <= population.n


def _compute_reach(plan: Plan, setting: Setting, rule: EnumeratedRule, n: int) -> dict[str, object]:
    """Tell whether some outcome passes, by the counts alone, and with how many discordant items."""
    likely = list_discordances(None if rule.sesoi is None else float(rule.sesoi.exact()))
    can_pass, least = rule.reach(n, likely if n <= MOST_ITEMS else ())
    return {
        "can_pass": can_pass,
        "least_discordant": least,
        "equivalence": tuple(_equivalence_reaches(plan, setting, n)),
    }


def build_enumerated_rule(plan: Plan, setting: Setting) -> EnumeratedRule | None:
    """Return the rule over every outcome; None for an endpoint that is not right or wrong."""
    if setting.endpoint is None or setting.endpoint.collapsed_kind != "binary":
        return None
    sesoi = (plan.sesoi or {}).get(setting.hypothesis.endpoint)
    return EnumeratedRule(setting, sesoi)


def _least_p_values(setting: Setting, size: Size) -> Iterator[LeastP]:
    """The least p that the tests of a rule can give with so much data; null beside a reason where none is known."""
    for test_id, use in setting.uses.items():
        least, why = least_p(use, size, setting.population)
        if least > 0:
            yield LeastP(test=test_id, p_value=float(least), reason=why)
        elif "p_value" in use.test.analysis.model_fields:
            yield LeastP(test=test_id, p_value=None, reason="the design sets no least p that is known here")


def _equivalence_reaches(plan: Plan, setting: Setting, n: int) -> Iterator[EquivalenceReach]:
    """Yield how far equivalence tests of independent right and wrong items can reach with `n` of them, test by test."""
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
