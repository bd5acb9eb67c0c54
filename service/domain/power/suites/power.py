"""How often a rule about a suite holds, and how often at most where its claim is false.

Simulated with a fixed seed, the tasks with the sizes that they have. In power every task has the same true difference,
or mean, on the scale of the suite. A claim about every task is false as soon as one task is: its level is that of each
task at the margin while no other comes near it (intersection-union: Berger 1982, Technometrics 24:295).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from service.domain.decision.family import places, policy_of
from service.domain.decision.members import members, p_clauses
from service.domain.plans.manifest import ManifestFacts
from service.domain.plans.plan import Plan
from service.domain.plans.sections.assumptions import Assumed, MissingByArm
from service.domain.power.answers.level_records import RuleLevel
from service.domain.power.answers.records import LeadEffect, PowerAt, RulePower
from service.domain.power.distributions.shapes import every_shape
from service.domain.power.divided import share_out
from service.domain.power.lead_and_curve import about_lead, points
from service.domain.power.suites.simulated_suite import SimulatedSuite
from service.domain.power.suites.truths import asks_for_more, holding
from service.domain.power.worlds import ICCS, Corner, Worlds, worlds_of
from service.domain.rules.settings import Setting
from service.kernels.planning.cluster_power import simulated_power
from service.stats.shared.declaring.suite_sets import SuiteSets
from service.words import say

NOT_SIMULATED = "the rule has a field that is not simulated of suites"
NEVER = "no outcome makes the rule true"
FILLED = "what is filled in of the tasks of a suite is not simulated"
COUNTED, SETS, LEVEL_SETS, FEWEST, MOST_VALUES = 4000, 1000, 2000, 200, 2_000_000
"""Data sets of counts and of items, the same of a level, the fewest, and the most values that are drawn."""
SPREADS: Mapping[Corner, float] = {"low": 0.9, "reference": 0.5, "high": 0.25}
"""SD of one arm's scores in units of the largest there can be."""
LEVEL_ICCS = (0.05, 0.2)
LEVEL_SHARES = (0.05, 0.3)
LEVEL_SPREADS = (0.1, 0.3)
"""SD of the differences of scores in units of the scale."""
MOST_TASKS = 6, 3
"""Tasks that are put at the margin one by one, where counts are drawn and where items are: those of the least and the
most items, and some between."""
TENTH, ANEW = 10, 2
"""Of the data sets every world is drawn with first, and worlds that are drawn anew with all of them."""
FAMILIES = ("none", "bonferroni", "holm")
SEED = 20_270_301


@dataclass(frozen=True)
class SuitePower:
    """One hypothesis about a suite, within its plan."""

    plan: Plan
    setting: Setting
    suite: SimulatedSuite
    assumed: Assumed
    worlds: Worlds | None
    """Of two arms."""

    def sets(self, most: int) -> int:
        """Return how many data sets of `most` are drawn within the bound on values."""
        return int(
            min(most, max(MOST_VALUES // max(self.suite.n * self.suite.endpoint.replicates, 1), FEWEST))
        )

    @property
    def n_sets(self) -> int:
        """How many data sets are drawn for an entry."""
        return COUNTED if self.suite.by_counts else self.sets(SETS)

    @cached_property
    def _missing(self) -> tuple[float, float]:
        stated = self.assumed.missing or 0.0
        return (stated.baseline, stated.candidate) if isinstance(stated, MissingByArm) else (stated, stated)

    @property
    def _complete(self) -> float:
        """The chance that an item has all of its results."""
        before, after = self._missing
        whole = (1 - after) * ((1 - before) if self.suite.paired else 1.0)
        return float(whole**self.suite.endpoint.replicates)

    def icc(self, corner: Corner) -> float | None:
        """Return the intraclass correlation as the plan assumes it, or a plausible one; None without clusters."""
        if not any(self.suite.clustered):
            return None
        return ICCS[corner] if self.assumed.icc is None else self.assumed.icc

    def at(self, truth: float, corner: Corner = "reference") -> PowerAt:
        """Return the chance that the rule holds where every task has this true difference, or of one arm this mean."""
        suite, icc = self.suite, self.icc(corner)
        scale = self._scale(corner, truth)
        missing = sum(self._missing) / (2 if suite.paired else 1)
        where = PowerAt(
            discordance=scale if suite.paired and suite.right_or_wrong else None,
            spread=None if suite.right_or_wrong else scale if suite.paired else scale * self._room(truth),
            icc=icc,
            missing=missing or None,
            truth=truth - suite.threshold,
            mean=None if suite.paired else truth,
            power=None,
        )
        if missing and self.plan.missing == "worst_case":
            return where.model_copy(update={"reason": FILLED})
        thinned = suite.thin(self._complete) if missing and self.plan.missing == "exclude_pair" else suite
        intact = self._complete**suite.n if self.plan.missing == "fail" else 1.0
        generator, truths = np.random.default_rng([SEED, 1]), [truth] * len(suite.sizes)
        draw = thinned.two_arms if suite.paired else thinned.one_arm
        held = holding(self.setting, draw(generator, self.n_sets, truths, icc or 0.0, scale))
        if held is None:
            return where.model_copy(update={"reason": NOT_SIMULATED})
        share, error = simulated_power(held)
        return where.model_copy(update={"power": intact * share, "standard_error": intact * error})

    def _scale(self, corner: Corner, truth: float) -> float:
        if self.worlds is not None:
            return self.worlds.at(corner, truth).scale
        if self.assumed.sd is not None and (room := self._room(truth)) > 0:
            return float(np.clip(self.assumed.sd / room, 0.02, 0.98))
        return SPREADS[corner]

    def _room(self, mean: float) -> float:
        """Return the largest SD that scores of this mean can have, in the middle task's own units."""
        scale = self.suite.scale
        raw = float(np.clip(mean, scale.low, scale.high))
        return math.sqrt(max((raw - scale.low) * (scale.high - raw), 0.0))

    @property
    def best(self) -> float:
        """The greatest mean there can be of one arm, or the least where less is better."""
        ends = self.suite.high if self.suite.good > 0 else self.suite.low
        return float(self.suite.weights @ ends)

    @property
    def lead(self) -> tuple[LeadEffect, float]:
        """The true value at which power is told first, and what it is."""
        if self.worlds is not None:
            return self.worlds.lead
        reference, good, sesoi = self.suite.threshold, self.suite.good, self.suite.margin
        room = self.best - reference
        effect, gap = "halfway", room / 2
        if self.assumed.effect is not None:
            effect = "assumed"
            gap = self.assumed.effect.for_endpoint(binary=self.suite.endpoint.kind == "binary")
        elif sesoi is not None and sesoi <= abs(room):
            effect, gap = "sesoi", good * sesoi
        return effect, reference + gap  # type: ignore[return-value]

    def list_truths(self) -> tuple[float, ...]:
        """List the true values that power is told at beside the first."""
        if self.worlds is not None:
            return tuple(truth for truth in self.worlds.listed if abs(truth) <= 1 or not self.worlds.binary)
        room = self.best - self.suite.threshold
        return tuple(round(self.suite.threshold + share * room, 12) for share in (0.0, 0.2, 0.5, 0.8))

    @property
    def stated(self) -> bool:
        """The plan's assumptions leave nothing to a range."""
        known = self.suite.right_or_wrong or self.assumed.sd is not None
        if self.worlds is not None:
            known = self.worlds.scale_stated
        return known and (not any(self.suite.clustered) or self.assumed.icc is not None)

    def words(self) -> str:
        """Return what the numbers take for granted."""
        suite = self.suite
        phrases = [say("power.assumed_same_difference" if suite.paired else "power.assumed_same_mean")]
        if any(suite.clustered):
            phrases.append(say("power.assumed_no_spanning"))
        if not suite.right_or_wrong:
            phrases.append(say("power.assumed_normal" if suite.paired else "power.assumed_beta"))
        policy = policy_of(self.plan)
        if policy == "holm" and self.setting.hypothesis.id in members(self.plan):
            phrases.append(say("power.assumed_bonferroni"))
        phrases.append(say("power.assumed_sets", sets=self.n_sets))
        return "; ".join(phrases)


def _build_power(plan: Plan, facts: Mapping[str, ManifestFacts], setting: Setting) -> SuitePower | str:
    """Return what is needed for the power of a rule on a suite; or why it is not simulated."""
    suite = SimulatedSuite.of(setting, facts)
    if isinstance(suite, str):
        return suite
    worlds = worlds_of(plan, setting) if suite.paired else None
    if suite.paired and worlds is None:
        return say("power.no_sesoi")
    assumed = plan.assumptions.of(setting.hypothesis.id) if plan.assumptions else Assumed()
    return SuitePower(plan, setting, suite, assumed, worlds)


def suite_power(
    base: RulePower, plan: Plan, facts: Mapping[str, ManifestFacts], setting: Setting, *, whole: bool
) -> RulePower:
    """Return what the rule of a hypothesis about a suite can show."""
    power = _build_power(plan, facts, setting)
    if isinstance(power, str):
        return base.model_copy(update={"reason": power})
    best = holding(setting, power.suite.best())
    if best is not None and not best.any() and asks_for_more(setting):
        return base.model_copy(update={"can_pass": False, "reason": NEVER})
    policy = policy_of(plan)
    shared = setting.hypothesis.id in members(plan) and places(plan) > 1
    if setting.rule is not None and shared and p_clauses(setting):
        if policy not in FAMILIES:
            why = f"p-values of suites are not simulated in a family that `{policy}` adjusts"
            return base.model_copy(update={"reason": why})
        if policy != "none":
            setting = replace(setting, rule=share_out(setting.rule, places(plan)))
            power = replace(power, setting=setting)
    answer = about_lead(base, power.lead, power.at, power.list_truths(), stated=power.stated)
    if not whole or answer.method is None:
        return answer
    return answer.model_copy(update={"power": points(answer), "assumptions": power.words()})


@dataclass(frozen=True, slots=True)
class _Null:
    """A world in which the claim only just fails."""

    truths: Sequence[float]
    truth: float
    """Where it fails."""
    scale: float
    icc: float | None
    shape: str | None = None


def suite_level(
    base: RuleLevel, plan: Plan, facts: Mapping[str, ManifestFacts], setting: Setting, truths: Sequence[float]
) -> RuleLevel:
    """Return the greatest chance that the rule of a hypothesis about a suite holds where its claim is false.

    `truths`: the differences at which a claim about two arms only just fails; of one arm it is the reference.
    """
    power = _build_power(plan, facts, setting)
    if isinstance(power, str):
        return base.model_copy(update={"reason": power})
    suite, known = power.suite, []
    nulls = list(_list_nulls(power, truths if suite.paired else (suite.threshold,)))
    n_sets = COUNTED if suite.by_counts else power.sets(LEVEL_SETS)
    few = n_sets if suite.by_counts else max(n_sets // TENTH, min(FEWEST, n_sets))
    for null in nulls:
        held = holding(setting, _draw(suite, null, few, 0))
        if held is None:
            return base.model_copy(update={"reason": NOT_SIMULATED})
        known.append((simulated_power(held), null))
    known.sort(key=lambda row: row[0][0], reverse=True)
    if few < n_sets:  # the worst anew, so that the level that is told is not the luckiest of many
        anew = [(holding(setting, _draw(suite, null, n_sets, 1)), null) for _, null in known[:ANEW]]
        known = [(simulated_power(held), null) for held, null in anew if held is not None]
    (level, error), null = max(known, key=lambda row: row[0][0])
    paired = suite.paired
    spread = null.scale if paired else null.scale * power._room(null.truth)
    return base.model_copy(
        update={
            "level": level,
            "method": "simulated",
            "standard_error": error,
            "discordance": null.scale if paired and suite.right_or_wrong else None,
            "spread": None if suite.right_or_wrong else spread,
            "icc": null.icc,
            "truth": null.truth - suite.threshold,
            "mean": None if paired else null.truth,
            "world": null.shape,
        }
    )


def _draw(suite: SimulatedSuite, null: _Null, n_sets: int, stream: int) -> SuiteSets:
    generator = np.random.default_rng([SEED, 2, stream])
    if suite.paired:
        return suite.two_arms(generator, n_sets, null.truths, null.icc or 0.0, null.scale, null.shape)  # type: ignore[arg-type]
    return suite.one_arm(generator, n_sets, null.truths, null.icc or 0.0, null.scale)


def _list_nulls(power: SuitePower, truths: Sequence[float]) -> Iterator[_Null]:
    """Yield the worlds of a level: which tasks have a difference, and every scale, correlation and shape."""
    suite = power.suite
    iccs: tuple[float | None, ...] = LEVEL_ICCS if any(suite.clustered) else (None,)
    shapes: tuple[str | None, ...] = (None,)
    if not suite.paired:
        scales: tuple[float, ...] = (0.0,) if suite.right_or_wrong else (0.5, 0.9)
    elif suite.right_or_wrong:
        # arms that differ by a truth differ on as many items at least; twice that leaves either arm some to win
        least = 2 * max(suite.margin or 0.0, *map(abs, truths))
        scales = tuple(dict.fromkeys(min(max(share, least), 1.0) for share in LEVEL_SHARES))
    else:
        scales = tuple(share * suite.scale.length for share in LEVEL_SPREADS)
        shapes = tuple(shape.name for shape in every_shape())
    every = power.setting.hypothesis.about == "every_task"
    for truth in truths:
        task_truths = _one_by_one(suite, truth) if every else ([truth] * len(suite.sizes),)
        for tasks in task_truths:
            for scale in scales:
                for icc in iccs:
                    for shape in shapes:
                        yield _Null(tasks, truth, scale, icc, shape)


def _one_by_one(suite: SimulatedSuite, truth: float) -> Iterator[list[float]]:
    """One task at the margin and every other as good as can be; tasks of like sizes are alike."""
    count, far, most = (
        len(suite.sizes),
        0.5 if suite.paired else None,
        MOST_TASKS[0 if suite.by_counts else 1],
    )
    by_size = sorted(range(count), key=lambda at: len(suite.sizes[at]))
    chosen = dict.fromkeys(by_size[round(at)] for at in np.linspace(0, count - 1, min(most, count)))
    ends = suite.high if suite.good > 0 else suite.low
    for place in chosen:
        others = [suite.good * far * suite.scale.length / length for length in suite.lengths] if far else ends
        tasks = [float(other) for other in others]
        tasks[place] = truth
        yield tasks
