"""Power and level of rules on these items alone, of which runs vary: items have chances of their own that stay.

Right and wrong: the items' chances are the quantiles of a beta distribution with the mean that is true, and runs are
drawn from them. Scores: runs of an item are normal around its mean. What items differ in has no part in either.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import product

import numpy as np
from numpy.typing import NDArray
from scipy import special

from service.domain.plans.manifest import ManifestFacts
from service.domain.plans.plan import Plan
from service.domain.plans.sections.assumptions import Assumed, missing_rates
from service.domain.plans.sections.endpoint import Endpoint
from service.domain.power.answers.level_records import RuleLevel
from service.domain.power.answers.records import LeadEffect, PowerAt, RulePower
from service.domain.power.attainable.least_p import size_of
from service.domain.power.divided import within_family
from service.domain.power.greatest_level import find_greatest_level
from service.domain.power.holding import rule_holds
from service.domain.power.lead_and_curve import about_lead, points
from service.domain.power.procedure.procedure import sign_of
from service.domain.power.worlds import LEADS, Corner
from service.domain.rules.claims.claim import good_direction
from service.domain.rules.feeding import of_these_items, parameter
from service.domain.rules.rule import Clause
from service.domain.rules.settings import Setting
from service.domain.rules.truth import HIGH, Sets, compare_sides, comparisons, join_truths, sides_of
from service.domain.verdicts.worst_case import extremes
from service.kernels.planning.cluster_power import simulated_power
from service.kernels.repeats.fixed_items import Cells, RunSets, cells_of_counts, cells_of_sets
from service.stats.shared.declaring.shows import TIE

Floats = NDArray[np.float64]

NOT_SIMULATED = "the rule has a field that is not simulated of these items"
NO_FILLING = "what is filled in for missing runs of these items is not simulated"
BETWEEN: Mapping[Corner, float] = {"low": 0.0, "reference": 0.5, "high": 0.9}
"""Share of the variance of a run that is between items."""
SHARES_OF_SCALE: Mapping[Corner, float] = {"low": 0.2, "reference": 0.1, "high": 0.05}
SPREADS: Mapping[Corner, float] = {"low": 5.0, "reference": 2.5, "high": 1.0}
"""SD of the runs of an item in units of the scale's length, or of the SESOI where the scale has no ends."""
CORNERS: tuple[Corner, Corner] = ("low", "high")
LEVEL_MEANS, LEVEL_BETWEEN = (0.5, 0.9, 0.98), (0.0, 0.8)
RUNS_APART = 0.01
"""SD of runs that are next to alike, in units of what they gain."""
UNSEEN_GAINS = (0.01, 0.1, 0.25, 0.5, 1.06, 2.0)
"""Of all runs but the few that lose everything, in SESOIs: what a rule asks to see beyond single runs is not known."""
SETS, LEVEL_SETS, FEWEST_SETS, MOST_CELLS = 400, 2000, 200, 1_500_000
"""Data sets of an entry and of a level, the fewest of a level, and the cells that may be drawn for either."""
SEEN_LENGTH = 6.0
"""SDs of a run that the scores seen span, where the scale has no ends."""
SEED = 20_270_107


def asks_these_items(setting: Setting) -> bool:
    """Tell whether a rule asks a test that speaks of these items alone."""
    return any(of_these_items(use.test) and not use.beside for use in setting.uses.values())


@dataclass(frozen=True)
class FixedRule:
    """The rule of a hypothesis on these very items, with what is assumed of their runs."""

    setting: Setting
    endpoint: Endpoint
    n: int
    assumed: Assumed

    @property
    def ends(self) -> tuple[float, float] | None:
        """The least and the greatest outcome; None where no scale is declared."""
        ends = extremes(self.endpoint)
        return None if ends is None else (ends.low, ends.high)

    @property
    def binary(self) -> bool:
        """Runs are right or wrong, each by itself."""
        return self.endpoint.kind == "binary" and self.endpoint.judgements is None

    @property
    def columns(self) -> int:
        """Numbers that are drawn of an item: of right and wrong how many runs are right, of scores all of them."""
        return 1 if self.binary else self.endpoint.runs

    @property
    def reference(self) -> float | None:
        """What one arm is held against; None where two are compared."""
        known = self.setting.reference
        return None if known is None else float(known)

    @property
    def sesoi(self) -> float | None:
        """The smallest difference of interest, in outcome units."""
        known = self.setting.sesoi
        return None if known is None else float(known.exact())

    @property
    def lead(self) -> tuple[LeadEffect, float] | None:
        """The true difference, or distance from the reference, at which the claim should come out."""
        effect = self.assumed.effect
        assumed = None if effect is None else effect.for_endpoint(binary=self.endpoint.kind == "binary")
        if self.reference is None:
            if self.sesoi is None:
                return None
            name, times = LEADS[self.setting.hypothesis.claim]
            if assumed is not None and name != "sesoi":
                return "assumed", assumed
            return name, times * self.sesoi * sign_of(self.setting)
        good = good_direction(self.endpoint)
        if assumed is not None:
            return "assumed", assumed
        if self.ends is not None:
            room = (self.ends[1] if good > 0 else self.ends[0]) - self.reference
            if self.sesoi is None or self.sesoi > abs(room):
                return "halfway", room / 2
        return None if self.sesoi is None else ("sesoi", good * self.sesoi)

    def at(self, truth: float, corner: Corner = "reference") -> PowerAt:
        """Return the chance that the rule holds where this is true."""
        mean = self._means(truth)
        where = PowerAt(
            discordance=self.discordance(truth, mean, BETWEEN[corner]),
            spread=None if self.binary else self.spread(corner),
            truth=truth,
            mean=None if self.reference is None else self.reference + truth,
            power=None,
        )
        sets = int(min(SETS, max(MOST_CELLS // (2 * self.n * self.columns), 40)))
        held = self.holds(self.draw(np.random.default_rng([SEED, 1]), sets, truth, mean, corner))
        if held is None:
            return where.model_copy(update={"reason": NOT_SIMULATED})
        share, error = simulated_power(held)
        return where.model_copy(update={"power": share, "standard_error": error})

    def discordance(self, truth: float, mean: float, between: float) -> float | None:
        """Return how often a run of either arm ends unlike, of an item; None of scores and of one arm."""
        if not self.binary or self.reference is not None:
            return None
        before, after = (_chances(self.n, one, between) for one in (mean, mean + truth))
        return float((before * (1 - after) + after * (1 - before)).mean())

    def spread(self, corner: Corner) -> float:
        """Return the SD of the runs of an item; of two arms of the difference of a run of either."""
        return self._sd(corner) * (1.0 if self.reference is not None else math.sqrt(2))

    def _means(self, truth: float) -> float:
        """Return the baseline's mean, with room for the difference."""
        low, high = self.ends or (0.0, 0.0)
        mean = self.assumed.baseline_mean
        mean = (low + high) / 2 if mean is None else mean
        return min(max(mean, low, low - truth), high, high - truth)

    def draw(
        self,
        generator: np.random.Generator,
        n_sets: int,
        truth: float,
        mean: float,
        corner: Corner,
        between: float | None = None,
    ) -> RunSets:
        """Draw data sets in which the arm, or the arms from this mean of the baseline on, differ by the truth."""
        means = [mean, mean + truth] if self.reference is None else [self.reference + truth]
        runs = self.endpoint.runs
        if not self.binary:
            sd = self._sd(corner)
            low, high = self.ends or (0.0, SEEN_LENGTH * sd)
            arms = tuple(_scores(generator, (n_sets, self.n), one, sd, runs) for one in means)
            return RunSets(arms, low, high)
        share = BETWEEN[corner] if between is None else between
        counts = [generator.binomial(runs, _chances(self.n, one, share), (n_sets, self.n)) for one in means]
        return RunSets(tuple(cells_of_counts(right, runs) for right in counts), 0.0, 1.0)

    def draw_unseen(
        self, generator: np.random.Generator, n_sets: int, truth: float, gain: float, side: int
    ) -> RunSets | None:
        """Draw scores of which few runs lose all they can and every other gains; None where that has no room.

        Two arms: every run of the baseline lies that gain below the end of the range.
        """
        if self.ends is None or self.binary:
            return None
        low, high = self.ends
        at, end = side * truth, high if side > 0 else low
        start = end - side * gain if self.reference is None else self.reference
        loss = abs(start - (low if side > 0 else high))
        # Of a share p of runs lost the mean is (1 - p) gain - p loss, which is to be `at`.
        share = (gain - at) / (loss + gain) if loss + gain > 0 else 1.0
        if not 0 < share < 1 or not low <= start + side * gain <= high:
            return None
        runs, shape = self.endpoint.runs, (n_sets, self.n)
        lost = generator.binomial(runs, share, shape)
        means = start + side * (gain - lost / runs * (loss + gain))
        # The variance of an item's mean is s^2 / r; k of r runs lost: s^2 = (loss + gain)^2 k (r - k) / (r (r - 1)).
        variances = (loss + gain) ** 2 * lost * (runs - lost) / (runs * (runs - 1)) / runs
        counts = np.full(self.n, float(runs))
        # the others are next to alike, and not quite: of runs that are, the test knows no error, and holds back
        little = np.full(shape, (RUNS_APART * gain) ** 2 / runs)
        gained = np.where(lost < runs, start + side * gain, start - side * loss)
        fallen = np.where(lost > 0, start - side * loss, start + side * gain)
        arm = Cells(means, variances + little, counts, np.minimum(gained, fallen), np.maximum(gained, fallen))
        if self.reference is not None:
            return RunSets((arm,), low, high)
        same = np.full(shape, start)
        return RunSets((Cells(same, little, counts, same, same), arm), low, high)

    def _sd(self, corner: Corner) -> float:
        """Return the SD of an item's runs, as the plan assumes or a plausible one."""
        if self.assumed.sd is not None:
            # A plan assumes the SD of the difference of two runs, which is sqrt(2) times that of one.
            return self.assumed.sd / math.sqrt(2)
        if self.ends is not None:
            return SHARES_OF_SCALE[corner] * (self.ends[1] - self.ends[0])
        return SPREADS[corner] * (self.sesoi or 1.0)

    def holds(self, sets: RunSets) -> NDArray[np.bool_] | None:
        """Tell where the rule holds, (T,); None where one of its fields is not known on such data."""
        return rule_holds(self.setting, lambda clause: self._compute_truth(clause, sets))

    def _compute_truth(self, clause: Clause, sets: RunSets) -> Sets | None:
        """Return in which sets a clause holds; None where it is not simulated."""
        use = self.setting.use_of(clause)
        path = clause.field.path
        end = path[-1] if path and path[-1] in ("low", "high") else None
        value: Floats | tuple[Floats, Floats] | None
        if clause.field.test is None:
            value = None if self.reference is not None else sets.estimate
        elif use is None or use.beside or use.test.plan is None or use.test.plan.of_fixed is None:
            return None
        else:
            of_fixed = use.test.plan.of_fixed
            value = of_fixed(sets, lambda name: parameter(use.use, name), path if end is None else path[:-1])
        if value is None:
            return None
        sides: list[Sets] = []
        for which, limit, operator in comparisons(clause):
            number = value
            if isinstance(number, tuple):
                number = number[(end or ("high" if which == HIGH else "low")) == "high"]
            tie = 0.0 if path and path[-1] == "p_value" else TIE
            sides.append(compare_sides(sides_of(number, limit, tie), operator))
        return join_truths(clause, sides)


def _chances(n: int, mean: float, between: float) -> Floats:
    """Return the chances of n items to be right, with this mean: quantiles of a beta distribution.

    `between`: share of the variance of a run that lies between items, which a beta of total 1 / between - 1 has.
    """
    mean = min(max(mean, 0.0), 1.0)
    if between <= 0 or not 0 < mean < 1:
        return np.full(n, mean)
    total = (1 - between) / between
    chances = special.betaincinv(mean * total, (1 - mean) * total, (np.arange(n) + 0.5) / n)
    # n quantiles do not have the mean exactly: drawn towards 0, or their distances from 1 likewise, they do
    seen = float(chances.mean())
    return np.asarray(chances * mean / seen if seen > mean else 1 - (1 - chances) * (1 - mean) / (1 - seen))


def _scores(
    generator: np.random.Generator, shape: tuple[int, int], mean: float, sd: float, runs: int
) -> Cells:
    return cells_of_sets(mean + sd * generator.standard_normal((*shape, runs)))


def _build_power(plan: Plan, facts: Mapping[str, ManifestFacts], setting: Setting) -> FixedRule | str:
    """Return what is needed for the power of a rule on these items alone; or why it is not simulated."""
    population, endpoint = setting.population, setting.endpoint
    if population is None or endpoint is None or endpoint.runs < 2:
        return NOT_SIMULATED
    within = within_family(plan, setting, "these items")
    if isinstance(within, str):
        return within
    assumed = plan.assumptions.of(setting.hypothesis.id) if plan.assumptions else Assumed()
    lacking = missing_rates(assumed) or (0.0, 0.0)
    if plan.missing == "worst_case" and any(lacking):
        return NO_FILLING
    n = size_of(population, facts).n
    if plan.missing == "exclude_pair":
        n = max(round(n * (1 - lacking[0]) * (1 - lacking[1])), 1)
    return FixedRule(within, endpoint, n, assumed)


def these_items_power(
    base: RulePower, plan: Plan, facts: Mapping[str, ManifestFacts], setting: Setting, *, whole: bool
) -> RulePower:
    """Return what the rule of a hypothesis on these items can show."""
    rule = _build_power(plan, facts, setting)
    if isinstance(rule, str):
        return base.model_copy(update={"reason": rule})
    lead = rule.lead
    if lead is None:
        return base.model_copy(update={"reason": "power needs a SESOI: give the endpoint one"})
    answer = about_lead(base, lead, rule.at, _truths(rule, lead[1]), stated=False)
    if not whole or answer.method is None:
        return answer
    words = (
        "these items alone: runs of an item and arm are independent, and items differ in their chance by half of "
        "the variance of a run (none to nine tenths)"
        if rule.binary
        else "these items alone: runs of an item and arm are normal around its own mean"
    )
    return answer.model_copy(update={"power": points(answer), "assumptions": words})


def _truths(rule: FixedRule, lead: float) -> Iterator[float]:
    """Yield where else power is told: none, one and two SESOIs; of one arm the reference and twice as far."""
    unit = (
        rule.sesoi * (1 if lead >= 0 else -1) if rule.reference is None and rule.sesoi is not None else lead
    )
    ends = rule.ends
    for times in (0, 1, 2):
        truth = times * unit
        if rule.reference is not None and ends is not None:
            truth = min(max(truth, ends[0] - rule.reference), ends[1] - rule.reference)
        if abs(truth - lead) > TIE:
            yield truth


def these_items_level(
    base: RuleLevel,
    plan: Plan,
    facts: Mapping[str, ManifestFacts],
    setting: Setting,
    truths: tuple[float, ...],
) -> RuleLevel:
    """Return the greatest chance that the rule holds where its claim just fails, over what may be true of the items."""
    rule = _build_power(plan, facts, setting)
    if isinstance(rule, str):
        return base.model_copy(update={"reason": rule})
    # by itself, as it is written, with all results in
    rule = replace(rule, setting=setting, assumed=Assumed())
    sets = int(min(LEVEL_SETS, max(MOST_CELLS // (2 * rule.n * rule.columns), FEWEST_SETS)))
    worlds = (
        (rule.holds(drawn), {**where, "truth": truth, "mean": rule.reference})
        for truth in truths
        for drawn, where in _level_worlds(rule, truth, sets)
    )
    return find_greatest_level(base, worlds, NOT_SIMULATED)


def _level_worlds(rule: FixedRule, truth: float, sets: int) -> Iterator[tuple[RunSets, dict[str, object]]]:
    """Data sets by means of the baseline, shares of variance between items, and spreads of scores; what is true."""
    if not rule.binary:
        for corner in CORNERS:
            drawn = rule.draw(np.random.default_rng([SEED, 2]), sets, truth, 0.0, corner)
            yield drawn, {"spread": rule.spread(corner)}
        for side, gain in product((1, -1), UNSEEN_GAINS):
            unseen = rule.draw_unseen(
                np.random.default_rng([SEED, 3]), sets, truth, gain * (rule.sesoi or 0.0), side
            )
            if unseen is not None:
                spread = float(np.sqrt(unseen.arms[-1].variances.mean() * rule.endpoint.runs))
                yield unseen, {"spread": spread, "world": "unseen_losses" if side > 0 else "unseen_gains"}
        return
    means = LEVEL_MEANS if rule.reference is None else (rule.reference,)
    for mean, between in product(means, LEVEL_BETWEEN):
        room = min(max(mean, -truth), 1 - truth) if rule.reference is None else mean
        drawn = rule.draw(np.random.default_rng([SEED, 2]), sets, truth, room, "reference", between)
        yield drawn, {"discordance": rule.discordance(truth, room, between)}
