"""The level of a rule: its greatest chance to hold where its claim is false.

The truth is put where the claim only just fails: no difference for superiority, the margin for the
others. Independent binary pairs are enumerated over the plausible shares of discordant items; clusters
and scores are simulated over plausible spreads with a fixed seed.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from itertools import product

import numpy as np
from numpy.typing import NDArray

from service.domain.assertion import states
from service.domain.assertion_clauses import Reader, meaning_of
from service.domain.claim import WANTED, Target
from service.domain.enumerated_rule import EnumeratedRule
from service.domain.feeding import parameter
from service.domain.least_p import size_of
from service.domain.lint_rules import rule_findings
from service.domain.lint_settings import Setting, settings
from service.domain.lint_tests import parameter_findings, use_findings
from service.domain.plan import Plan
from service.domain.population import ManifestFacts
from service.domain.power_search import MOST_ITEMS
from service.domain.power_worlds import KNOWN, plausible
from service.domain.recent import remembered
from service.domain.rule import Excludes
from service.domain.rule_level_records import RuleLevel
from service.domain.rule_region import Region
from service.domain.simulated_fields import SimulatedSets
from service.domain.truth_sets import TRUE, combine_sets
from service.kernels import binomial
from service.kernels.simulated_pairs import SharedResamples, draw_binary, draw_continuous
from service.stats.common import Margin
from service.stats.shows import Covers, Finding, PValue, Share, by_alpha

DEFAULT_ALPHA = 0.05
GRID = 25
REFINED = 12
MOST_ROWS = 1500
"""Discordant counts that are enumerated in one piece; beyond, each share has rows of its own."""

FEW_SHARES = 9
ICCS = (0.05, 0.2)
SPREADS = (2.0, 10.0)
"""SD of the item differences in units of the SESOI."""

SHARES = (0.05, 0.3)
DATA_SETS, MOST_VALUES, FEWEST_SETS = 2000, 500_000, 100
SEED = 20_270_102
REMEMBERED = 256
MOST_HYPOTHESES = 20

Chance = Callable[[float], "float | None"]


def level_of(plan: Plan, facts: Mapping[str, ManifestFacts], setting: Setting) -> RuleLevel:
    """The level of one hypothesis' rule; null beside a reason where it is not worked out."""
    if setting.index >= MOST_HYPOTHESES:
        why = f"levels are worked out for the first {MOST_HYPOTHESES} hypotheses of a plan"
        return RuleLevel(hypothesis=setting.hypothesis.id, level=None, reason=why)
    manifest = facts.get(setting.hypothesis.population)
    slim = plan.model_copy(
        update={
            "hypotheses": (setting.hypothesis,),
            "populations": tuple(
                each for each in plan.populations or () if each.id == setting.hypothesis.population
            ),
            "thresholds": None,
            "title": None,
        }
    )
    return _remembered(slim.canonical_text(), "" if manifest is None else manifest.model_dump_json())


def levels(plan: Plan, facts: Mapping[str, ManifestFacts]) -> tuple[RuleLevel, ...]:
    """Of every hypothesis, in the plan's order."""
    return tuple(level_of(plan, facts, setting) for setting in settings(plan))


@remembered(REMEMBERED)
def _remembered(plan_text: str, facts_text: str) -> RuleLevel:
    """Of the only hypothesis of a plan. The same text has the same number."""
    plan = Plan.from_json(plan_text)
    setting = settings(plan)[0]
    manifest = ManifestFacts.model_validate_json(facts_text) if facts_text else None
    base = RuleLevel(hypothesis=setting.hypothesis.id, level=None, alpha=stated_alpha(setting))
    endpoint, population = setting.endpoint, setting.population
    if setting.rule is None or endpoint is None or population is None or not _ready(plan, setting):
        return base.model_copy(update={"reason": "the plan is not complete here"})
    truths = tuple(_truths(plan, setting))
    if not truths:
        return base.model_copy(update={"reason": "the claim needs a margin: give the endpoint a SESOI"})
    size = size_of(population, {population.id: manifest} if manifest else {})
    sesoi = (plan.sesoi or {}).get(endpoint.id)
    binary = endpoint.collapsed_kind == "binary"
    if binary and population.clusters is None:
        return _exact(base, EnumeratedRule(setting, sesoi), size.n, truths)
    if endpoint.kind == "binary" and not binary:
        why = "a mean of replicates is neither right or wrong nor a free score: not simulated"
        return base.model_copy(update={"reason": why})
    sizes = np.ones(size.n, dtype=np.int64)
    if population.clusters is not None:
        g = size.n_clusters or 1
        equal = np.full(g, size.n // g) + (np.arange(g) < size.n % g)
        sizes = np.array(manifest.cluster_sizes) if manifest and manifest.cluster_sizes else equal
    if sesoi is None or len(sizes) < 2 or sizes.min() < 1:
        return base.model_copy(update={"reason": "it is simulated from a SESOI and at least two units"})
    return _simulated(base, setting, sesoi, sizes, truths, binary=binary)


def _ready(plan: Plan, setting: Setting) -> bool:
    """True when the rule and its tests have no error of their own."""
    if not {clause.field.test for clause in setting.clauses} - {None} <= set(setting.uses):
        return False
    found = (*rule_findings(setting), *parameter_findings(plan), *use_findings(plan, setting))
    kinds = setting.endpoint is not None and setting.endpoint.kind != "counts"
    return kinds and not any(each.severity == "error" for each in found)


def stated_alpha(setting: Setting) -> float:
    """The error that the tests and intervals of the rule are set to, as they are written; the largest counts."""
    return max(_alphas(setting), default=DEFAULT_ALPHA)


def _alphas(setting: Setting) -> Iterator[float]:
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
            case Finding(ways=ways, error=error):
                yield round(len(ways) * error(value), 12)


def _truths(plan: Plan, setting: Setting) -> Iterator[float]:
    """Where the claim only just fails: true differences, candidate minus baseline."""
    target = Target.of(plan, setting.hypothesis)
    if target.claim == "superiority":
        yield 0.0
        return
    assert setting.rule is not None  # noqa: S101 - callers have one
    shown = {each for facts in states(setting.rule, Reader.of(plan, setting)) for each in facts.shown}
    margins = [margin for each in shown if (margin := each.margin or target.sesoi) is not None]
    margin = max(margins, default=target.sesoi)
    if margin is not None:
        yield from (float(target.good * k * margin) for _, k in WANTED[target.claim])


def _exact(base: RuleLevel, rule: EnumeratedRule, n: int, truths: tuple[float, ...]) -> RuleLevel:
    if n > MOST_ITEMS:
        return base.model_copy(update={"reason": f"levels are worked out up to {MOST_ITEMS} items"})
    shares = plausible(None if rule.sesoi is None else float(rule.sesoi.exact()))
    low, high = shares[0], shares[-1]
    first, last = binomial.window(n, low)[0], binomial.window(n, high)[1]
    whole = rule.on(n, np.arange(first, last + 1)) if last - first < MOST_ROWS else None
    best: tuple[float, float, float] | None = None
    for truth in truths:

        def chance(share: float, truth: float = truth) -> float | None:
            return _chance(whole or rule.around(n, share), share, truth)

        least = min(max(low, abs(truth) + KNOWN), high)
        found = _greatest(chance, least, high, GRID if whole else FEW_SHARES)
        if found is None:
            why = "; ".join(dict.fromkeys(rule.unknown.values())) or "a field is not decided by the counts"
            return base.model_copy(update={"reason": why})
        best = max(best or (-1.0, 0.0, 0.0), (found[0], found[1], truth))
    assert best is not None  # noqa: S101 - there is a truth
    level, share, truth = best
    return base.model_copy(update={"level": level, "method": "exact", "discordance": share, "truth": truth})


def _chance(region: Region, share: float, truth: float) -> float | None:
    truth = min(max(truth, -share), share)
    least, most = region.chance((share + truth) / 2, (share - truth) / 2)
    return most if most - least < KNOWN else None


def _greatest(chance: Chance, low: float, high: float, steps: int) -> tuple[float, float] | None:
    """The greatest value on an even grid and between its neighbours, and where; None where one is not known."""
    grid = [low + (high - low) * step / max(steps - 1, 1) for step in range(steps)]
    values = [chance(each) for each in grid]
    known = [(value, each) for value, each in zip(values, grid, strict=True) if value is not None]
    if len(known) < len(grid):
        return None
    best = max(known)
    width = (high - low) / max(steps - 1, 1)
    for _ in range(REFINED // 2):
        width /= 2
        for each in (best[1] - width, best[1] + width):
            value = chance(each) if low <= each <= high else None
            if value is not None:
                best = max(best, (value, each))
    return best


def _simulated(
    base: RuleLevel,
    setting: Setting,
    sesoi: Margin,
    sizes: NDArray[np.int64],
    truths: tuple[float, ...],
    *,
    binary: bool,
) -> RuleLevel:
    n_sets = min(DATA_SETS, MOST_VALUES // len(sizes))
    if n_sets < FEWEST_SETS:
        return base.model_copy(update={"reason": "too many units to simulate at lint"})
    clustered = (
        bool((sizes > 1).any()) or setting.population is None or setting.population.clusters is not None
    )
    unit = float(sesoi.exact())
    scales = [max(each, 2 * unit) for each in SHARES] if binary else [each * unit for each in SPREADS]
    shared: dict[str, SharedResamples] = {}
    best: RuleLevel | None = None
    for scale, icc, truth in product(scales, ICCS if clustered else (0.0,), truths):
        generator = np.random.default_rng(SEED)
        won = None
        if binary:
            shares = (scale + truth) / 2, (scale - truth) / 2
            won = draw_binary(generator, n_sets, sizes, shares, icc)
            sums = (won[0] - won[1]).astype(np.float64)
        else:
            sums = draw_continuous(generator, n_sets, sizes, truth, scale, icc)
        sets = SimulatedSets(setting, sesoi, sizes, sums, won, clustered, SEED, shared)
        level = _held(setting, sets)
        if level is None:
            return base.model_copy(update={"reason": "the rule has a field that is not simulated here"})
        found = base.model_copy(
            update={
                "level": level,
                "method": "simulated",
                "standard_error": math.sqrt(max(level * (1 - level), 1 / n_sets) / n_sets),
                "discordance": scale if binary else None,
                "spread": None if binary else scale,
                "icc": icc if clustered else None,
                "truth": truth,
            }
        )
        best = found if best is None or (best.level or 0.0) < level else best
    assert best is not None  # noqa: S101 - there is a truth
    return best


def _held(setting: Setting, sets: SimulatedSets) -> float | None:
    assert setting.rule is not None  # noqa: S101 - callers have one
    found = {}
    for clause in dict.fromkeys(setting.clauses):
        truths = sets.truths(clause)
        if truths is None:
            return None
        found[clause] = truths
    return float((combine_sets(setting.rule, found) == TRUE).mean())
