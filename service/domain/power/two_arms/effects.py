"""The smallest difference a rule finds, and the items it takes, by search along its power in the whole plan."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np

from service.domain.plans.manifest import ManifestFacts
from service.domain.plans.sections.population import Population
from service.domain.power.answers.lead import find_least_observed
from service.domain.power.answers.records import Detectable, RequiredN
from service.domain.power.search import MOST_ITEMS, OverBudgetError, find_reached, smallest, steady
from service.domain.power.two_arms.hypothesis import HypothesisPower
from service.domain.power.worlds import LEAST_GAP
from service.words import say

TARGETS = (0.8, 0.9)

EXACT_STEPS, STEPS = 24, 8
"""Of a search for a difference, where power is computed and where each step is simulated."""
EXACTNESS = 1e-5
"""Of a detectable difference that is computed, a proportion; a simulated one is told to 1/64 of the search."""

ROUGH = 0.02
"""Of a simulated n."""

CHANCE, REGION = 0.7e6, 10e6
"""Nanoseconds of weighing all outcomes, at the planned n and at another one."""

ROOMY = 0.5e9
"""With less than this for the table, differences are sought at the reference alone."""

LONG = "lint may not take as long as the search does"
HALF = (
    "no number: the rule asks for an observed difference of this size, which about half of all studies miss"
)
LEAST_MASS = 1e-9
"""How far a difference may exceed the discordance by rounding."""


def compute_detectable(power: HypothesisPower) -> Iterator[Detectable]:
    """Yield the least differences that reach the targets of power: by scale where computed, else at the reference."""
    own = power.own
    exact = _is_exact(power)
    for target in TARGETS:
        for scale in own.scales if exact and power.budget.rest >= ROOMY else (own.reference,):
            yield _compute_detectable(power, scale, target, exact=exact)


def _compute_detectable(power: HypothesisPower, scale: float, target: float, *, exact: bool) -> Detectable:
    """Return the least difference that reaches the target at one scale, or why there is none."""
    own = power.own
    sign = own.sign if own.goal == 0 else int(np.sign(own.goal))
    detectable = Detectable(
        discordance=scale if own.binary else None,
        spread=None if own.binary else scale,
        target=target,
        effect=None,
    )
    if power.setting.hypothesis.claim in ("equivalence", "non_inferiority"):
        return detectable.model_copy(update={"reason": "the rule is to hold without a difference"})
    if exact and power.exact.rule.unknown:
        return detectable.model_copy(
            update={"reason": "the rule has a field that these counts do not decide"}
        )
    # A difference of shares is no larger than the discordance; one of scores has no end, and is searched up to here.
    largest = scale if own.binary else max(scale, 4 * own.sesoi, 2 * abs(own.goal))

    def at(size: float) -> float | None:
        if exact:
            power.budget.spend(CHANCE)
            return power.exact.power(own.at("reference", sign * size, scale))
        return power.at("reference", truth=sign * size, scale=scale, n_sets=power.search_sets).power

    steps, exactness = (EXACT_STEPS, EXACTNESS) if exact else (STEPS, largest / 64)
    try:
        effect = smallest(at, largest, target, steps=steps, exactness=exactness)
    except OverBudgetError:
        return detectable.model_copy(update={"reason": LONG})
    if effect is None:
        within = "at this discordance" if own.binary else f"up to {largest:g}"
        return detectable.model_copy(update={"reason": f"no difference {within} reaches {target:.0%}"})
    rough = (
        None if exact else f"simulated, {power.search_sets} data sets a step: to within about {exactness:.2g}"
    )
    return detectable.model_copy(update={"effect": sign * effect, "reason": rough})


def compute_required(power: HypothesisPower) -> Iterator[RequiredN]:
    """Yield items needed where the claim should come out; for superiority at the SESOI and at twice that."""
    own = power.own
    if _is_exact(power) and power.exact.rule.unknown:
        return
    effect, lead = own.lead
    yield _compute_required(power, lead, TARGETS[0])
    other = own.goal if own.effect_stated else 2 * lead if effect == "sesoi" else lead
    if abs(other - lead) > LEAST_GAP:
        yield _compute_required(power, other, TARGETS[0])
    yield _compute_required(power, other, TARGETS[1])


def _compute_required(power: HypothesisPower, truth: float, target: float) -> RequiredN:
    """Return the items that reach the target at one true difference, or why they are not sought."""
    own = power.own
    world = own.at("reference", truth)
    required = RequiredN(
        discordance=own.reference if own.binary else None,
        spread=None if own.binary else own.reference,
        target=target,
        truth=truth,
        n=None,
    )
    if not _is_exact(power) and find_least_observed(power.setting, truth) is not None:
        return required.model_copy(update={"reason": HALF})
    if own.binary and abs(truth) > own.reference + LEAST_MASS:
        return required.model_copy(update={"reason": "not possible together"})
    if power.enumerable(world) and not power.beside:
        return _compute_exact_n(power, required, truth, target)
    return _simulate_n(power, required, truth, target)


def _compute_exact_n(power: HypothesisPower, required: RequiredN, truth: float, target: float) -> RequiredN:
    """Return the items by exact power, which is a saw of n: the size from which it stays at the target."""
    world = power.own.at("reference", truth)

    def bound_power(n: int) -> float:
        power.budget.spend(REGION)
        return power.exact.bounds(world, n)[0]

    at = _once(bound_power)
    try:
        least = find_reached(at, power.n, MOST_ITEMS, target)
        if least is None:
            why = say("power.rule_sets_the_limit", n=MOST_ITEMS, power=f"{at(MOST_ITEMS):.2g}")
            return required.model_copy(update={"searched_to": MOST_ITEMS, "reason": why})
        # the saw-tooth of a threshold on the difference is 1 / SESOI items long
        n, sizes = steady(at, least, max(int(1 / power.own.sesoi), 8), target)
    except OverBudgetError:
        return required.model_copy(update={"reason": LONG})
    why = f"exact power saw-tooths: {len(sizes)} larger sizes were looked at"
    return required.model_copy(update={"n": n, "searched_to": sizes[-1], "reason": why})


def _simulate_n(power: HypothesisPower, required: RequiredN, truth: float, target: float) -> RequiredN:
    """In units, items or clusters of the planned sizes; other populations stay as they are."""
    population = power.setting.population
    if population is None:
        return required
    clustered = population.clusters is not None
    planned = population.n if population.clusters is None else population.clusters.n
    most = max(MOST_ITEMS * planned // power.n, 8 * planned)
    reached = planned

    def at(units: int) -> float:
        nonlocal reached
        grown = _grow(power, population, max(units, 2))
        entry = grown.at("reference", truth=truth, n_sets=power.search_sets)
        if entry.power is None:
            raise OverBudgetError
        reached = max(reached, units)
        return entry.power

    once = _once(at)
    try:
        units = find_reached(once, planned, most, target, share=ROUGH)
    except OverBudgetError:
        searched = _items(power, reached)
        return required.model_copy(update={"searched_to": searched, "reason": LONG})
    if units is None:
        limit = "the rule itself or the clusters set" if power.own.labels is None else "the labels set"
        why = f"at {_items(power, most)} items power is {once(most):.2g}: {limit} the limit"
        return required.model_copy(update={"searched_to": _items(power, most), "reason": why})
    return required.model_copy(
        update={
            "n": _items(power, units),
            "n_clusters": units if clustered else None,
            "searched_to": _items(power, reached),
            "reason": f"simulated, {power.search_sets} data sets a step: to within some per cent",
        }
    )


def _items(power: HypothesisPower, units: int) -> int:
    population = power.setting.population
    if population is None or population.clusters is None:
        return units
    return round(power.n * units / population.clusters.n)


def _grow(power: HypothesisPower, population: Population, units: int) -> HypothesisPower:
    """Return the plan with that many units in the hypothesis' population, the planned cluster sizes over and over."""
    known = power.facts.get(population.id)
    update: dict[str, object] = {"n": units}
    sizes: tuple[int, ...] = ()
    if population.clusters is not None:
        planned = known.cluster_sizes if known and known.cluster_sizes else ()
        g = population.clusters.n
        planned_sizes = planned or tuple(population.n // g + (at < population.n % g) for at in range(g))
        sizes = tuple(int(size) for size in np.resize(np.array(planned_sizes), units))
        update = {"n": sum(sizes), "clusters": population.clusters.model_copy(update={"n": units})}
    larger = population.model_copy(update=update)
    facts = ManifestFacts(
        n=larger.n,
        items_sha256="",
        n_clusters=units if population.clusters is not None else None,
        cluster_sizes=sizes,
    )
    populations = tuple(
        larger if population.id == larger.id else population for population in power.plan.populations or ()
    )
    hypothesis = power.setting.hypothesis
    setting = replace(power.setting, hypothesis=hypothesis, population=larger)
    return HypothesisPower(
        power.plan.model_copy(update={"populations": populations}),
        {**power.facts, larger.id: facts},
        setting,
        power.worlds,
        larger.n,
        power.budget,
        tuple(beside.enlarge_to(larger, {**power.facts, larger.id: facts}) for beside in power.beside),
    )


def _is_exact(power: HypothesisPower) -> bool:
    """Tell whether no data are drawn."""
    return power.enumerable(power.own.at("reference")) and not power.beside


def _once(power: Callable[[int], float]) -> Callable[[int], float]:
    """Return the function with its answers kept, so that it computes every size once."""
    known: dict[int, float] = {}

    def at(n: int) -> float:
        if n not in known:
            known[n] = power(n)
        return known[n]

    return at
