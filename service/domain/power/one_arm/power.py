"""How often a rule about one arm holds, and how often at most where its claim is false.

Independent items that are right or wrong are enumerated: a data set is told by how many are right, and its chance is
the binomial's. Clusters, scores, runs and what is filled in are simulated with a fixed seed.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import product

import numpy as np

from service.domain.plans.manifest import ManifestFacts
from service.domain.plans.plan import Plan
from service.domain.plans.sections.assumptions import Assumed, MissingByArm
from service.domain.power.answers.level_records import RuleLevel
from service.domain.power.answers.records import LabelledPower, LeadEffect, PowerAt, RequiredN, RulePower
from service.domain.power.attainable.level_bound import bound_level
from service.domain.power.divided import within_family
from service.domain.power.greatest_level import World, find_greatest_level
from service.domain.power.lead_and_curve import about_lead, points
from service.domain.power.one_arm.arm import SPREADS, Arm, counts_runs
from service.domain.power.one_arm.attainability import Best, can_pass
from service.domain.power.one_arm.truths import asks_for_more, holding
from service.domain.power.procedure.labelled_sets import AGREEMENTS, label_budgets
from service.domain.power.search import MOST_ITEMS, find_reached, steady
from service.domain.power.worlds import ICCS, Corner
from service.domain.rules.settings import Setting
from service.kernels.planning.cluster_power import simulated_power
from service.stats.shared.declaring.one_arm import OneArmSets
from service.words import say

NOT_SIMULATED = "the rule has a field that is not simulated of one arm"
TOO_FAR = "no number of items within reach"
NEVER = "no outcome makes the rule true"
NO_ENDS = "power of one arm needs the least and the greatest value of its endpoint: declare `bounds`"
LEVEL_ICCS = (0.05, 0.3)
SETS, LEVEL_SETS, MOST_VALUES = 400, 2000, 4_000_000
"""Data sets of an entry and of a level, and the most values that are drawn of either."""
SEED = 20_270_103
TOOTH = 30
"""Items between two teeth of exact power, about."""


@dataclass(frozen=True)
class OneArmPower:
    """One hypothesis about one arm, within its plan."""

    plan: Plan
    facts: Mapping[str, ManifestFacts]
    setting: Setting
    arm: Arm
    assumed: Assumed
    _exact: dict[int, np.ndarray[tuple[int], np.dtype[np.bool_]] | None] = field(
        default_factory=dict, repr=False
    )

    def at(self, mean: float, corner: Corner = "reference") -> PowerAt:
        """Return the chance that the rule holds where this is true."""
        arm, missing = self.arm, self._missing
        icc = self.icc(corner)
        spread = None if arm.right_or_wrong else self._spread(mean, corner)
        agreement = self._agreement(corner)
        where = PowerAt(
            discordance=None,
            spread=None if spread is None else spread * _room(arm, mean),
            icc=icc,
            missing=missing or None,
            agreement=agreement,
            truth=mean - arm.reference,
            mean=mean,
            power=None,
        )
        intact = (1 - missing) ** (arm.n * arm.endpoint.replicates) if self.plan.missing == "fail" else 1.0
        if arm.counted and not (missing and self.plan.missing == "worst_case"):
            held = self._holds_by_count(self._n_judged)
            if held is None:
                return where.model_copy(update={"reason": NOT_SIMULATED})
            return where.model_copy(update={"power": intact * self._chance(held, mean)})
        generator = np.random.default_rng([SEED, 1])
        n_sets = int(min(SETS, max(MOST_VALUES // (arm.n * arm.endpoint.replicates), 40)))
        judged_arm = replace(arm, n=self._n_judged, sizes=self._kept_sizes, labels=self._labels_judged)
        drawn = judged_arm.draw(generator, n_sets, mean, icc or 0.0, spread or 0.0, agreement or 1.0)
        held_at = holding(self.setting, self._fill_missing(generator, drawn))
        if held_at is None:
            return where.model_copy(update={"reason": NOT_SIMULATED})
        share, error = simulated_power(held_at)
        return where.model_copy(update={"power": intact * share, "standard_error": intact * error})

    def _holds_by_count(self, n: int) -> np.ndarray[tuple[int], np.dtype[np.bool_]] | None:
        if n not in self._exact:
            self._exact[n] = holding(self.setting, self.arm.of_counts(n))
        return self._exact[n]

    @staticmethod
    def _chance(held: np.ndarray[tuple[int], np.dtype[np.bool_]], mean: float) -> float:
        from scipy import stats

        n = len(held) - 1
        return float(stats.binom.pmf(np.flatnonzero(held), n, mean).sum())

    def icc(self, corner: Corner) -> float | None:
        """Return the intraclass correlation as the plan assumes it, or a plausible one; None without clusters."""
        if self.arm.sizes is None:
            return None
        return ICCS[corner] if self.assumed.icc is None else self.assumed.icc

    def _agreement(self, corner: Corner) -> float | None:
        """Return how often the judge agrees with people, as assumed or plausible; None where people label nothing."""
        if self.arm.labels is None:
            return None
        return AGREEMENTS[corner] if self.assumed.agreement is None else self.assumed.agreement

    def _spread(self, mean: float, corner: Corner) -> float:
        room = _room(self.arm, mean)
        if self.assumed.sd is None or room == 0:
            return SPREADS[corner]
        return float(np.clip(self.assumed.sd / room, 0.02, 0.98))

    @property
    def _missing(self) -> float:
        stated = self.assumed.missing
        return (stated.candidate if isinstance(stated, MissingByArm) else stated) or 0.0

    @property
    def _n_judged(self) -> int:
        """How many items are judged, after those left out as missing."""
        left_out = self._missing if self.plan.missing == "exclude_pair" else 0.0
        return max(round(self.arm.n * (1 - left_out)), 1) if self.arm.sizes is None else self.arm.n

    @property
    def _labels_judged(self) -> int | None:
        """How many labels are left, where items lack results in the same share as others."""
        labels = self.arm.labels
        return None if labels is None else max(min(round(labels * self._n_judged / self.arm.n), labels), 2)

    @property
    def _kept_sizes(self) -> np.ndarray[tuple[int], np.dtype[np.int64]] | None:
        return self.arm.sizes

    def _fill_missing(self, generator: np.random.Generator, sets: OneArmSets) -> OneArmSets:
        """Under `worst_case` what is missing has the worst value there is."""
        if self.plan.missing != "worst_case" or not self._missing or sets.values is None:
            return sets
        worst = self.arm.scale.low if self.arm.good > 0 else self.arm.scale.high
        lost = generator.random(sets.values.shape) < self._missing
        runs = None if sets.runs is None else np.where(lost[:, :, None], worst, sets.runs)
        return replace(sets, values=np.where(lost, worst, sets.values), runs=runs, memo={})

    @property
    def lead(self) -> tuple[LeadEffect, float]:
        """The true value at which power is told first, and why there."""
        arm, endpoint = self.arm, self.arm.endpoint
        room = arm.best - arm.reference
        effect: LeadEffect = "halfway"
        truth = room / 2
        sesoi = self.setting.sesoi
        if self.assumed.effect is not None:
            effect, truth = "assumed", self.assumed.effect.for_endpoint(binary=endpoint.kind == "binary")
        elif sesoi is not None and float(sesoi.exact()) <= abs(room):
            effect, truth = "sesoi", arm.good * float(sesoi.exact())
        return effect, min(max(arm.reference + truth, arm.scale.low), arm.scale.high)

    def means(self) -> tuple[float, ...]:
        """Return the true values that the table tells power at: from the reference to the best there can be."""
        arm, room = self.arm, self.arm.best - self.arm.reference
        shares = (0.0, 0.2, 0.4, 0.5, 0.6, 0.8, 1.0)
        listed = {round(arm.reference + share * room, 12) for share in shares} | {self.lead[1]}
        return tuple(sorted(listed, reverse=arm.good < 0))

    @property
    def stated(self) -> bool:
        """The plan's assumptions leave nothing to a range."""
        spread = self.arm.right_or_wrong or self.assumed.sd is not None
        judge = self.arm.labels is None or self.assumed.agreement is not None
        return spread and judge and (self.arm.sizes is None or self.assumed.icc is not None)


def _room(arm: Arm, mean: float) -> float:
    """Return the largest SD that scores of this mean can have."""
    return math.sqrt(max((mean - arm.scale.low) * (arm.scale.high - mean), 0.0))


def _build_power(plan: Plan, facts: Mapping[str, ManifestFacts], setting: Setting) -> OneArmPower | str:
    arm = Arm.of(setting, facts)
    if arm is None or arm.n < 1 or (arm.sizes is not None and (len(arm.sizes) < 2 or arm.sizes.min() < 1)):
        return NO_ENDS if arm is None else "fewer than two clusters with items"
    within = within_family(plan, setting, "one arm")
    if isinstance(within, str):
        return within
    assumed = plan.assumptions.of(setting.hypothesis.id) if plan.assumptions else Assumed()
    return OneArmPower(plan, facts, within, arm, assumed)


def one_arm_power(
    base: RulePower, plan: Plan, facts: Mapping[str, ManifestFacts], setting: Setting, *, whole: bool
) -> RulePower:
    """Return what the rule of a hypothesis about one arm can show."""
    power = _build_power(plan, facts, setting)
    if isinstance(power, str):
        return base.model_copy(update={"reason": power})
    passes = can_pass(Best(power.setting, power.arm))
    if passes is False:
        return base.model_copy(update={"can_pass": False, "reason": NEVER})
    base = base.model_copy(update={"can_pass": passes})
    answer = about_lead(base, power.lead, power.at, power.means(), stated=power.stated)
    if not whole or answer.method is None:
        return answer
    mean = power.lead[1]
    changes: dict[str, object] = {"power": points(answer), "required": tuple(_compute_required(power, mean))}
    if power.arm.labels is not None:
        changes["labels"] = tuple(_by_budget(power, mean))
    return answer.model_copy(update={**changes, "assumptions": _describe_assumptions(power)})


def _compute_required(power: OneArmPower, mean: float) -> Iterator[RequiredN]:
    """Yield items that show it with a chance of 80 and 90 %, where that is computed."""
    if not power.arm.counted or counts_runs(power.setting) or power.plan.missing == "worst_case":
        return

    def at(n: int) -> float:
        held = power._holds_by_count(n)
        return 0.0 if held is None else power._chance(held, mean)

    for target in (0.8, 0.9):
        required = RequiredN(discordance=None, target=target, truth=mean - power.arm.reference, n=None)
        least = find_reached(at, power.arm.n, MOST_ITEMS // 2, target)
        if least is None:
            yield required.model_copy(update={"searched_to": MOST_ITEMS // 2, "reason": TOO_FAR})
            continue
        n, sizes = steady(at, least, TOOTH, target)
        why = f"exact power saw-tooths: {len(sizes)} larger sizes were looked at"
        yield required.model_copy(update={"n": n, "searched_to": sizes[-1], "reason": why})


def _by_budget(power: OneArmPower, mean: float) -> Iterator[LabelledPower]:
    """Power with a quarter of the labels that are planned, half, twice and four times as many."""
    arm = power.arm
    for budget in label_budgets(arm.labels or 2, arm.n - 2):
        at = replace(power, arm=replace(arm, labels=budget)).at(mean)
        yield LabelledPower(labels=budget, power=at.power, standard_error=at.standard_error)


def _describe_assumptions(power: OneArmPower) -> str:
    """Return what the numbers take for granted, as a sentence."""
    arm = power.arm
    if arm.labels is not None:
        agreement = power._agreement("reference") or 0.0
        return say("power.assumed_labels", n=arm.labels, agreement=f"{agreement:.0%}")
    if counts_runs(power.setting):
        return say("power.assumed_these_runs")
    if arm.counted:
        return say("power.assumed_binomial")
    if arm.about == "every_item":
        return say("power.assumed_same_chance")
    if not arm.right_or_wrong:
        return say("power.assumed_beta_in_bounds")
    if arm.endpoint.replicates > 1:
        return say("power.assumed_half_of_variance")
    return say("power.assumed_clusters_differ")


def one_arm_level(
    base: RuleLevel, plan: Plan, facts: Mapping[str, ManifestFacts], setting: Setting
) -> RuleLevel:
    """Return the greatest chance that the rule of a hypothesis about one arm holds where its claim is false."""
    power = _build_power(plan, facts, setting)
    if isinstance(power, str):
        return base.model_copy(update={"reason": power})
    # by itself, as it is written, with all results in
    power = replace(power, setting=setting, assumed=Assumed())
    arm = power.arm
    if arm.counted:
        held = power._holds_by_count(arm.n)
        if held is None:
            return base.model_copy(update={"reason": NOT_SIMULATED})
        bad = arm.scale.low if arm.good > 0 else arm.scale.high
        shares = (1.0,) if asks_for_more(setting) else np.linspace(0, 1, 41)[1:]
        chances = [
            (power._chance(held, float(mean)), float(mean))
            for mean in bad + np.asarray(shares) * (arm.reference - bad)
        ]
        level, mean = max(chances)
        return base.model_copy(
            update={"level": level, "method": "exact", "truth": mean - arm.reference, "mean": mean}
        )
    known = facts.get(setting.hypothesis.population)
    proven = bound_level(base, setting, known, (0.0,))
    if proven is not None and arm.sizes is None:
        return proven.model_copy(update={"mean": arm.reference})
    return find_greatest_level(base, _draw_null_worlds(power), NOT_SIMULATED)


def _draw_null_worlds(power: OneArmPower) -> Iterator[World]:
    """Data sets at the reference by correlation within clusters, spread of scores and agreement of the judge."""
    arm = power.arm
    n_sets = int(min(LEVEL_SETS, max(MOST_VALUES // (arm.n * arm.endpoint.replicates), 200)))
    iccs = LEVEL_ICCS if arm.sizes is not None else (None,)
    spreads = (0.9, 0.5) if not arm.right_or_wrong else (None,)
    judges = (1.0,) if arm.labels is None else tuple(AGREEMENTS.values())
    for icc, spread, agreement in product(iccs, spreads, judges):
        # The same numbers in every world, so that worlds differ by what is true in them and not by luck.
        generator = np.random.default_rng([SEED, 2])
        drawn = arm.draw(generator, n_sets, arm.reference, icc or 0.0, spread or 0.0, agreement)
        sd = None if spread is None else spread * _room(arm, arm.reference)
        yield holding(power.setting, drawn), {"icc": icc, "spread": sd, "truth": 0.0, "mean": arm.reference}
