"""A whole plan on simulated data: looks, missing results, the family, fallbacks; every data set gets its verdict.

Hypotheses on the same arms, population and endpoint see the same data; all others see data of their own.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from service.domain.decision.decide import EQUIVALENT, HELD, INCONCLUSIVE, Decision, decide
from service.domain.decision.evidence import Bools, Evidence, Floats
from service.domain.decision.family import Family, places, policy_of
from service.domain.decision.members import holding_up, members
from service.domain.plans.items.unit_order import look_units
from service.domain.plans.manifest import ManifestFacts
from service.domain.plans.plan import GroupSequential, Plan
from service.domain.power.procedure.data import Block, World, draw
from service.domain.power.procedure.fields import looks_at_items
from service.domain.power.procedure.labelled_sets import draw_labelled, label_budget
from service.domain.power.procedure.sequential import Order, SequentialEvidence
from service.domain.power.procedure.simulated_evidence import FixedEvidence
from service.domain.power.procedure.steps import steps_of
from service.domain.rules.rule import Clause
from service.domain.rules.settings import ResolvedPlan, Setting
from service.domain.rules.truth import Sets
from service.domain.verdicts.worst_case import extremes, favoured
from service.kernels.numeric.order import permutation
from service.kernels.planning.simulated_pairs import SharedResamples
from service.stats.shared.declaring.common import Margin

Ints = NDArray[np.int64]

SEED = 20_270_101
PATTERNS, PATTERN_SETS = 10, 100
"""Patterns of missing items that data sets share under `exclude_pair`, and how many at least share one."""


@dataclass(frozen=True)
class Group:
    """The data that some hypotheses share."""

    settings: tuple[Setting, ...]
    sesoi: Margin | None
    sizes: Ints
    """Items per unit that is drawn: clusters, items, or items between two looks."""
    clustered: bool
    binary: bool
    order: Order | None
    labels: int | None = None
    """Items that people label, where a test takes labels."""
    shared: dict[tuple[int, ...], dict[str, SharedResamples]] = field(default_factory=dict, repr=False)


@dataclass(frozen=True)
class Decided:
    """What happened to one hypothesis in each of T data sets."""

    held: Bools
    """The rule is true, and the claim follows."""
    equivalent: Bools
    """The rule is false, and the fallback shows equivalence."""
    unknown: Bools
    items: Floats
    """Items at the end of the collection."""

    @classmethod
    def of(cls, decision: Decision, items: Floats) -> Decided:
        """Return what is counted of a decision."""
        outcome = decision.outcome
        return cls(outcome == HELD, outcome == EQUIVALENT, outcome == INCONCLUSIVE, items)


@dataclass(frozen=True)
class Procedure:
    """A plan whose hypotheses are simulated together."""

    plan: Plan
    groups: tuple[Group, ...]

    @classmethod
    def of(
        cls, resolved: ResolvedPlan, facts: Mapping[str, ManifestFacts], wanted: Sequence[str]
    ) -> Procedure:
        """Return the hypotheses named, grouped by the data they see."""
        families: dict[tuple[str | None, ...], list[Setting]] = {}
        for setting in resolved.settings:
            hypothesis = setting.hypothesis
            if hypothesis.id in wanted:
                key = (hypothesis.population, hypothesis.baseline, hypothesis.candidate, hypothesis.endpoint)
                families.setdefault(key, []).append(setting)
        plan = resolved.plan
        return cls(plan, tuple(_build_group(plan, facts, tuple(alike)) for alike in families.values()))

    @property
    def settings(self) -> tuple[Setting, ...]:
        """Every hypothesis that is simulated."""
        return tuple(setting for group in self.groups for setting in group.settings)

    def run(
        self, worlds: Mapping[str, World], n_sets: int, seed: int = SEED, *, only: str | None = None
    ) -> dict[str, Decided]:
        """Return decisions by hypothesis, or on one of them, without those whose rule has a field not simulated.

        The same seed gives the same randomness whatever is true, so that worlds can be compared.
        """
        blocks = self.blocks(worlds, n_sets)
        blocks_ = [
            self._draw_and_judge(worlds, max(n_sets // blocks, 1), [seed, index], only)
            for index in range(blocks)
        ]
        return {
            name: Decided(
                *(np.concatenate([getattr(block[name], part) for block in blocks_]) for part in PARTS)
            )
            for name in blocks_[0]
        }

    def blocks(self, worlds: Mapping[str, World], n_sets: int) -> int:
        """Return the parts that so many data sets are drawn and judged in, one per pattern of missing items."""
        lacks = self.plan.missing == "exclude_pair" and any(world.complete < 1 for world in worlds.values())
        return min(PATTERNS, max(n_sets // PATTERN_SETS, 1)) if lacks else 1

    def _draw_and_judge(
        self, worlds: Mapping[str, World], n_sets: int, seed: list[int], only: str | None
    ) -> dict[str, Decided]:
        """Draw a block of data sets of every group in its world, and judge them."""
        drawn = []
        for at, group in enumerate(self.groups):
            endpoint = group.settings[0].endpoint
            generator = np.random.default_rng(np.random.SeedSequence([*seed, at]))
            world = worlds[group.settings[0].hypothesis.id]
            if group.labels is not None and not group.clustered and group.order is None:
                drawn.append(self._draw_labelled(generator, n_sets, group, group.labels, world))
                continue
            drawn.append(
                draw(
                    generator,
                    n_sets,
                    group.sizes,
                    world,
                    policy=self.plan.missing,
                    binary=group.binary,
                    ends=None if endpoint is None else extremes(endpoint),
                    items=group.clustered and group.order is None and _looks_at_items(group),
                )
            )
        return self.judge(drawn, seed[0], only)

    def _draw_labelled(
        self, generator: np.random.Generator, n_sets: int, group: Group, labels: int, world: World
    ) -> Block:
        """Data sets of which people label some items; of scores their own differences are drawn first."""
        people = None
        if not group.binary:
            endpoint = group.settings[0].endpoint
            ends = None if endpoint is None else extremes(endpoint)
            every = draw(
                generator,
                n_sets,
                group.sizes,
                replace(world, missing=(0.0, 0.0)),
                policy=None,
                binary=False,
                ends=ends,
            )
            people = every.down.sums
        n = int(group.sizes.sum())
        return draw_labelled(generator, n_sets, n, labels, world, policy=self.plan.missing, people=people)

    def judge(self, drawn: Sequence[Block], seed: int = SEED, only: str | None = None) -> dict[str, Decided]:
        """Return the decisions on data sets at hand, one block per group."""
        steps = steps_of(self.settings, policy_of(self.plan), places(self.plan))
        evidence: dict[str, FixedEvidence | SequentialEvidence] = {}
        for group, block in zip(self.groups, drawn, strict=True):
            evidence |= _build_evidence(group, block, steps, seed)
        items = self._stop(evidence, len(drawn[0].down.sums))
        family = Family.of(self.plan, evidence, data=_data(self.plan))
        decided = {}
        for name, part in evidence.items():
            rule = part.setting.rule
            if rule is None or only not in (None, name):
                continue
            truths = _read_truths(part, family)
            if truths is not None:
                decided[name] = Decided.of(decide(rule, part, truths, family), items[name])
        return decided

    def _stop(self, evidence: Mapping[str, Evidence], n_sets: int) -> dict[str, Floats]:
        """Ends the collection where every primary hypothesis has ended; items at the end by hypothesis."""
        groups = {setting.hypothesis.id: group for group in self.groups for setting in group.settings}
        running = {name: part for name, part in evidence.items() if isinstance(part, SequentialEvidence)}
        if not running:
            return {name: np.full(n_sets, float(group.sizes.sum())) for name, group in groups.items()}
        primary = [running[name] for name in holding_up(self.plan) if name in running]
        # readings of populations of other sizes are as far along in shares of their units
        share = np.maximum.reduce([_share(part) for part in primary or running.values()])
        items = {}
        for name, part in running.items():
            last = len(part.order.looks) - 1
            # The first reading that is at least so far along; 1e-9 keeps 3 * (1 / 3) at reading 1. Readings count
            # from 0.
            at = np.ceil(share * (last + 1) - 1e-9).astype(np.int64) - 1
            part.stop = np.clip(at, 0, last)
            items[name] = part.order.items[part.stop].astype(np.float64)
        return items


def _read_truths(
    evidence: FixedEvidence | SequentialEvidence, family: Family
) -> list[dict[Clause, Sets]] | None:
    """Read the truths of the clauses by way; None where one of them is not simulated."""
    hypothesis, by_way = evidence.setting.hypothesis.id, []
    for way in range(evidence.ways):
        truths: dict[Clause, Sets] = {}
        for clause in dict.fromkeys(evidence.setting.clauses):
            adjusted = None
            if family.corrects(hypothesis, clause):
                p = evidence.p_value(clause, way)
                if p is None:
                    return None
                adjusted = family.adjust(hypothesis, p)
            known = evidence.truths(clause, way, adjusted)
            if known is None:
                return None
            truths[clause] = known
        by_way.append(truths)
    return by_way


PARTS = ("held", "equivalent", "unknown", "items")
"""The arrays of `Decided`, which blocks of data sets are joined by."""


def _share(evidence: SequentialEvidence) -> Floats:
    """Return how far along its order a hypothesis ends."""
    readings = len(evidence.order.looks)
    return np.asarray(np.minimum(evidence.ended + 1, readings) / readings)


def _build_evidence(
    group: Group, block: Block, steps: Sequence[Fraction], seed: int
) -> dict[str, FixedEvidence | SequentialEvidence]:
    """Return what the tests of every hypothesis of a group answer on a block of data sets."""
    evidence: dict[str, FixedEvidence | SequentialEvidence] = {}
    for setting in group.settings:
        equivalence = setting.hypothesis.claim == "equivalence"
        sides = block.both if equivalence else (block.against(sign_of(setting)),)
        if group.order is not None:
            evidence[setting.hypothesis.id] = SequentialEvidence(setting, block, sides, group.order)
            continue
        shared = group.shared.setdefault(tuple(block.sizes.tolist()), {})
        evidence[setting.hypothesis.id] = FixedEvidence(
            setting, block, sides, group.clustered, steps, seed, shared
        )
    return evidence


def _looks_at_items(group: Group) -> bool:
    return any(looks_at_items(use) for setting in group.settings for use in setting.uses.values())


def _data(plan: Plan) -> NDArray[np.intp]:
    """Return which data a member of the family sees, (m,): the same population, arms and endpoint see the same."""
    keys = []
    for name in members(plan):
        hypothesis = plan.hypothesis(name)
        keys.append(
            hypothesis
            and (hypothesis.population, hypothesis.baseline, hypothesis.candidate, hypothesis.endpoint)
        )
    # Backwards, so that the first member of a kind is what stays.
    first = {key: at for at, key in reversed(list(enumerate(keys)))}
    return np.array([first[key] for key in keys], dtype=np.intp)


def sign_of(setting: Setting) -> int:
    """Return 1 where the rule favours the candidate or neither arm, -1 where it favours the baseline."""
    return 1 if setting.rule is None else favoured(setting) or 1


def cluster_sizes(setting: Setting, facts: Mapping[str, ManifestFacts]) -> Ints | None:
    """Return items per cluster (G,) in the locked order: the manifest's, else about equal; None without clusters."""
    population = setting.population
    if population is None or population.clusters is None:
        return None
    known = facts.get(population.id)
    g = population.clusters.n
    # Where no manifest is known yet: sizes that differ by one item at most.
    sizes = np.full(g, population.n // g) + (np.arange(g) < population.n % g)
    if known is not None and known.cluster_sizes:
        sizes = np.array(known.cluster_sizes)
    if population.order_seed is not None:
        sizes = sizes[permutation(len(sizes), population.order_seed)]
    return np.asarray(sizes, dtype=np.int64)


def _build_group(plan: Plan, facts: Mapping[str, ManifestFacts], chosen: tuple[Setting, ...]) -> Group:
    """Hypotheses on the same data, with the sizes of its units and the order and looks in which it comes in."""
    first = chosen[0]
    population, endpoint = first.population, first.endpoint
    assert population is not None  # noqa: S101 - callers have looked both up
    assert endpoint is not None  # noqa: S101
    known = facts.get(population.id)
    n = population.n if known is None else known.n
    clusters = cluster_sizes(first, facts)
    binary = endpoint.collapsed_kind == "binary"
    sesoi = (plan.sesoi or {}).get(endpoint.id)
    rule = plan.stopping
    sizes = np.ones(n, dtype=np.int64) if clusters is None else clusters
    order = None
    if rule is None or rule.kind == "fixed_n":
        if binary and clusters is None:
            sizes = np.array([n])
    else:
        ends = extremes(endpoint)
        looks = np.arange(1, len(sizes) + 1)
        design: tuple[int, ...] = ()
        spending = None
        if isinstance(rule, GroupSequential):
            design = look_units(population, rule.looks or 1)
            spending = rule.spending or "obrien_fleming"
            looks = np.array(design)
            if binary and clusters is None:  # only the counts at a look are read
                sizes, looks = np.diff([0, *design]), np.arange(1, len(design) + 1)
        bound = 1.0 if ends is None else ends.high - ends.low
        order = Order(sizes, looks, design, spending, bound, clusters is not None, binary)
    labels = next((budget for one in chosen if (budget := label_budget(plan, one)) is not None), None)
    return Group(chosen, sesoi, sizes, clusters is not None, binary, order, labels)
