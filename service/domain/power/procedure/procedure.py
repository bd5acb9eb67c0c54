"""A whole plan on simulated data: looks, missing results, the family, fallbacks; every data set gets its verdict.

Hypotheses on the same arms, population and endpoint see the same data; all others see data of their own.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from service.domain.plans.plan import GroupSequential, Plan
from service.domain.plans.population import ManifestFacts
from service.domain.plans.unit_order import look_units
from service.domain.power.enumerated.truth_sets import FALSE, TRUE, Sets, combine_sets
from service.domain.power.procedure.claim import BARE, FOLLOWS, shortfalls
from service.domain.power.procedure.data import Block, Side, World, draw
from service.domain.power.procedure.evidence import Evidence, FixedEvidence
from service.domain.power.procedure.family import Shares
from service.domain.power.procedure.sequential import Order, SequentialEvidence
from service.domain.rules.rule import Clause, clauses
from service.domain.rules.settings import Setting, settings
from service.domain.verdicts.family import is_secondary
from service.domain.verdicts.worst_case import extremes, favoured
from service.kernels.numeric.order import permutation
from service.kernels.planning.simulated_pairs import SharedResamples
from service.stats.shared.declaring.common import Margin

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]

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


@dataclass(frozen=True)
class Procedure:
    """A plan whose hypotheses are simulated together."""

    plan: Plan
    groups: tuple[Group, ...]

    @classmethod
    def of(cls, plan: Plan, facts: Mapping[str, ManifestFacts], wanted: Sequence[str]) -> Procedure:
        """The hypotheses named, grouped by the data they see."""
        families: dict[tuple[str, ...], list[Setting]] = {}
        for setting in settings(plan):
            hypothesis = setting.hypothesis
            if hypothesis.id in wanted:
                key = (hypothesis.population, hypothesis.baseline, hypothesis.candidate, hypothesis.endpoint)
                families.setdefault(key, []).append(setting)
        return cls(plan, tuple(_group(plan, facts, tuple(each)) for each in families.values()))

    @property
    def settings(self) -> tuple[Setting, ...]:
        """Every hypothesis that is simulated."""
        return tuple(setting for group in self.groups for setting in group.settings)

    def run(
        self, worlds: Mapping[str, World], n_sets: int, seed: int = SEED, *, only: str | None = None
    ) -> dict[str, Decided]:
        """The decisions by hypothesis, or on one of them, without those whose rule has a field that is not simulated.

        The same seed gives the same randomness whatever is true, so that worlds can be compared.
        """
        blocks = self.blocks(worlds, n_sets)
        blocks_ = [
            self._block(worlds, max(n_sets // blocks, 1), [seed, index], only) for index in range(blocks)
        ]
        return {
            name: Decided(
                *(np.concatenate([getattr(each[name], part) for each in blocks_]) for part in PARTS)
            )
            for name in blocks_[0]
        }

    def blocks(self, worlds: Mapping[str, World], n_sets: int) -> int:
        """Parts that so many data sets are drawn and judged in, one per pattern of missing items."""
        lacks = self.plan.missing == "exclude_pair" and any(each.complete < 1 for each in worlds.values())
        return min(PATTERNS, max(n_sets // PATTERN_SETS, 1)) if lacks else 1

    def _block(
        self, worlds: Mapping[str, World], n_sets: int, seed: list[int], only: str | None
    ) -> dict[str, Decided]:
        drawn = []
        for at, group in enumerate(self.groups):
            endpoint = group.settings[0].endpoint
            drawn.append(
                draw(
                    np.random.default_rng(np.random.SeedSequence([*seed, at])),
                    n_sets,
                    group.sizes,
                    worlds[group.settings[0].hypothesis.id],
                    policy=self.plan.missing,
                    binary=group.binary,
                    ends=None if endpoint is None else extremes(endpoint),
                )
            )
        return self.judge(drawn, seed[0], only)

    def judge(self, drawn: Sequence[Block], seed: int = SEED, only: str | None = None) -> dict[str, Decided]:
        """The decisions on data sets at hand, one block per group."""
        evidence: dict[str, Evidence] = {}
        for group, block in zip(self.groups, drawn, strict=True):
            evidence |= _evidence(self.plan, group, block, seed)
        items = self._stop(evidence, len(drawn[0].down.sums))
        return decide(self.plan, self.settings, evidence, items, only)

    def _stop(self, evidence: Mapping[str, Evidence], n_sets: int) -> dict[str, Floats]:
        """Ends the collection where every primary hypothesis has ended; items at the end by hypothesis."""
        groups = {setting.hypothesis.id: group for group in self.groups for setting in group.settings}
        running = {name: each for name, each in evidence.items() if isinstance(each, SequentialEvidence)}
        if not running:
            return {name: np.full(n_sets, float(group.sizes.sum())) for name, group in groups.items()}
        chosen = {
            setting.hypothesis.id
            for setting in self.settings
            if not is_secondary(self.plan, setting.hypothesis)
        }
        primary = [each for name, each in running.items() if name in chosen] or list(running.values())
        # readings of populations of other sizes are as far along in shares of their units
        share = np.maximum.reduce([_share(each) for each in primary])
        items = {}
        for name, each in running.items():
            last = len(each.order.looks) - 1
            at = np.ceil(share * (last + 1) - 1e-9).astype(np.int64) - 1
            each.stop = np.clip(at, 0, last)
            items[name] = each.order.items[each.stop].astype(np.float64)
        return items


PARTS = ("held", "equivalent", "unknown", "items")


def _share(evidence: SequentialEvidence) -> Floats:
    """How far along its order a hypothesis ends."""
    readings = len(evidence.order.looks)
    return np.asarray(np.minimum(evidence.ended + 1, readings) / readings)


def decide(
    plan: Plan,
    chosen: Sequence[Setting],
    evidence: Mapping[str, Evidence],
    items: Mapping[str, Floats],
    only: str | None = None,
) -> dict[str, Decided]:
    """Every rule on its adjusted p-values, and every fallback, as `verdict.judge` decides them.

    A hypothesis with a field that is not simulated is left out.
    """
    family = Shares.of(plan, chosen, evidence)
    found = {}
    for setting in chosen:
        name = setting.hypothesis.id
        if only not in (None, name):
            continue
        own = evidence[name]
        read = [_read(family, setting, own, side) for side in own.sides]
        known = [each for each in read if each is not None]
        if len(known) < len(read):
            continue
        true = np.logical_and.reduce([each.whole == TRUE for each in known])
        false = np.logical_or.reduce([each.whole == FALSE for each in known])
        far = np.argmax([np.abs(each.observed) for each in known], axis=0)
        follows, bare = true.copy(), np.zeros_like(true)
        for at, each in enumerate(known):
            missed = shortfalls(plan, setting, each.sets, own, each.side, true & (far == at))
            follows &= missed == FOLLOWS
            bare |= missed == BARE
        fallback = family.equivalent(name)
        shown = np.zeros_like(true) if fallback is None else fallback
        found[name] = Decided(follows, false & shown, bare | ~(true | false), items[name])
    return found


@dataclass(frozen=True)
class _Read:
    """A rule on one filling."""

    side: Side
    sets: Mapping[Clause, Sets]
    whole: Sets
    observed: Floats


def _read(family: Shares, setting: Setting, own: Evidence, side: Side) -> _Read | None:
    """None where a field is not simulated."""
    rule, sets = setting.rule, {}
    for clause in clauses(rule) if rule is not None else ():
        truths = family.truths(setting.hypothesis.id, clause, own, side)
        if truths is None:
            return None
        sets[clause] = truths
    if rule is None:
        return None
    return _Read(side, sets, combine_sets(rule, sets), own.observed(side, clusters_alike=False))


def _evidence(plan: Plan, group: Group, block: Block, seed: int) -> dict[str, Evidence]:
    found: dict[str, Evidence] = {}
    for setting in group.settings:
        equivalence = setting.hypothesis.claim == "equivalence"
        claimed = block.both if equivalence else (block.against(sign_of(plan, setting)),)
        if group.order is not None:
            found[setting.hypothesis.id] = SequentialEvidence(
                setting, group.sesoi, block, claimed, group.order
            )
            continue
        shared = group.shared.setdefault(tuple(block.sizes.tolist()), {})
        found[setting.hypothesis.id] = FixedEvidence(
            setting, group.sesoi, block, claimed, group.clustered, seed, shared
        )
    return found


def sign_of(plan: Plan, setting: Setting) -> int:
    """1 where the rule favours the candidate or neither arm, -1 where it favours the baseline."""
    return 1 if setting.rule is None else favoured(plan, setting.hypothesis) or 1


def cluster_sizes(setting: Setting, facts: Mapping[str, ManifestFacts]) -> Ints | None:
    """Items per cluster in the locked order: the manifest's, else nearly equal ones; None without clusters."""
    population = setting.population
    if population is None or population.clusters is None:
        return None
    known = facts.get(population.id)
    g = population.clusters.n
    sizes = np.full(g, population.n // g) + (np.arange(g) < population.n % g)
    if known is not None and known.cluster_sizes:
        sizes = np.array(known.cluster_sizes)
    if population.order_seed is not None:
        sizes = sizes[permutation(len(sizes), population.order_seed)]
    return np.asarray(sizes, dtype=np.int64)


def _group(plan: Plan, facts: Mapping[str, ManifestFacts], chosen: tuple[Setting, ...]) -> Group:
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
    return Group(chosen, sesoi, sizes, clusters is not None, binary, order)
