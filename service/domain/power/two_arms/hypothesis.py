"""The power of one hypothesis within its plan: exact where every outcome can be weighed, simulated elsewhere.

Independent right/wrong pairs under one look that share no error budget are enumerated. Clusters, scores,
families, looks, and missing results that tests and fallbacks see differently are simulated, the whole plan at
once. Costs are estimated before anything is drawn.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Literal

from service.domain.decision.family import places, policy_of
from service.domain.decision.members import members
from service.domain.plans.manifest import ManifestFacts
from service.domain.plans.plan import Plan
from service.domain.power.amounts import Amounts, Chance, beside_words
from service.domain.power.answers.records import PowerAt
from service.domain.power.distributions.shapes import ShapeName, every_shape
from service.domain.power.divided import not_drawn, share_out
from service.domain.power.enumerated.enumerated_rule import EnumeratedRule
from service.domain.power.procedure.cost import nanoseconds, overhead
from service.domain.power.procedure.data import World
from service.domain.power.procedure.fields import NOT_SIMULATED
from service.domain.power.procedure.labelled_sets import with_budget
from service.domain.power.procedure.procedure import Procedure
from service.domain.power.search import MOST_ITEMS, Budget
from service.domain.power.two_arms.exact import UNKNOWN_POWER, ExactPower, intact_chance
from service.domain.power.worlds import KNOWN, LEAST_GAP, Corner, Worlds
from service.domain.rules.claims.margins import fallback_is_wider
from service.domain.rules.rule import All, FieldName, Is, Not, Rule
from service.domain.rules.settings import Setting, resolve
from service.kernels.planning.cluster_power import simulated_power
from service.kernels.planning.simulated_pairs import RESAMPLES
from service.stats.shared.declaring.common import Margin
from service.words import say

Others = Literal["not_true", "at_goal"]

LINT_SETS, TABLE_SETS, SEARCH_SETS, FEWEST_SETS = 4000, 1000, 500, 100
"""Data sets of an entry that the lock needs, of one of the table, of a step of a search, and the fewest of any."""
CORNERS, ENTRIES, STEPS_OF_SEARCH = 3.3, 15, 60
"""About how many entries the lock needs, a table has, and its searches ask for."""

CURVE_SHARE = 4
"""An entry of what stands beside has so many times fewer data sets."""

LONGEST = 5e8
"""Nanoseconds that one entry may take where fewer data sets would tell nothing."""

TOO_LARGE = "too many units to simulate within the bound on lint's cost"
IMPOSSIBLE = "a difference this large needs at least as large a share of discordant items"


@dataclass(frozen=True)
class HypothesisPower:
    """`worlds` holds the hypothesis and those it interacts with, by id."""

    plan: Plan
    facts: Mapping[str, ManifestFacts]
    setting: Setting
    worlds: Mapping[str, Worlds]
    n: int
    budget: Budget
    beside: tuple[Amounts, ...] = ()
    """What the rule asks of other endpoints, which is independent of its own."""
    _known: dict[object, PowerAt] = field(default_factory=dict, repr=False)
    _chances: dict[tuple[str, Corner], Chance] = field(default_factory=dict, repr=False)

    @property
    def name(self) -> str:
        """The id of the hypothesis in the plan."""
        return self.setting.hypothesis.id

    @property
    def own(self) -> Worlds:
        """What may be true of it."""
        return self.worlds[self.name]

    @property
    def sesoi(self) -> Margin | None:
        """The SESOI of the hypothesis' endpoint, as the plan states it."""
        return (self.plan.sesoi or {}).get(self.setting.hypothesis.endpoint)

    @property
    def stated(self) -> bool:
        """True when the plan leaves nothing to a range, here or in what it interacts with."""
        others = [world for name, world in self.worlds.items() if name != self.name]
        return self.own.stated and all(other.stated and other.effect_stated for other in others)

    def enumerable(self, world: World) -> bool:
        """Tell whether the counts of independent items decide all there is to decide."""
        policy, corrected = self.plan.missing, self._corrected
        sees_filling = self.setting.hypothesis.claim == "equivalence" or self._falls_back
        return (
            self.own.binary
            and not self.own.clustered
            and self.plan.stopping is not None
            and self.plan.stopping.kind == "fixed_n"
            and self.n <= MOST_ITEMS
            and self.own.labels is None
            and (corrected in ("none", "bonferroni"))
            and not (corrected == "bonferroni" and self._falls_back)
            and (world.complete == 1 or policy == "fail" or (policy == "worst_case" and not sees_filling))
        )

    @property
    def lint_sets(self) -> int:
        """Data sets of what the lock needs."""
        shapes = 0 if self.own.binary else len(every_shape()) - 1
        beside = shapes + len(self.own.listed) - 1 + (0 if self.own.goal == self.own.lead[1] else 3)
        return self._affordable(LINT_SETS, self.budget.lint / (CORNERS + beside / CURVE_SHARE))

    @property
    def curve_sets(self) -> int:
        """Data sets per entry of what stands beside: the curve, and the SESOI where the plan assumes another."""
        return max(self.lint_sets // CURVE_SHARE, FEWEST_SETS)

    def curve(self) -> tuple[float, ...]:
        """List true differences beside the one that power is told at first, as far as the reference has room."""
        own = self.own
        return tuple(
            truth
            for truth in own.listed
            if abs(truth - own.lead[1]) > LEAST_GAP
            and (not own.binary or abs(truth) <= own.reference + KNOWN)
        )

    @property
    def table_sets(self) -> int:
        """Data sets per entry of the table; it gets half of what the lock leaves."""
        return self._affordable(TABLE_SETS, self.budget.rest / 2 / ENTRIES)

    @property
    def search_sets(self) -> int:
        """Data sets per step of a search; all of them get the other half."""
        return self._affordable(SEARCH_SETS, self.budget.rest / 2 / STEPS_OF_SEARCH)

    def _affordable(self, most: int, share: float) -> int:
        return min(max(int(share / nanoseconds(self.procedure)), FEWEST_SETS), most)

    def with_labels(self, n: int) -> HypothesisPower:
        """Return this power where people label another number of items."""
        plan = with_budget(self.plan, self.setting.hypothesis.endpoint, n)
        setting = resolve(plan).require(self.name)
        worlds = {name: known for name in self.worlds if (known := self._set_labels(name, n)) is not None}
        return replace(self, plan=plan, setting=setting, worlds=worlds, _known={}, _chances={})

    def _set_labels(self, name: str, n: int) -> Worlds:
        """Return the worlds of an end with n labelled items, if people label any there."""
        world = self.worlds[name]
        return world if world.labels is None else replace(world, labels=n)

    @property
    def exact_only(self) -> bool:
        """True when the table is enumerated, so that what is not known there has a reason of its own."""
        return self.enumerable(self.own.at("reference"))

    def words(self) -> str:
        """Return what the numbers take for granted."""
        own, world = self.own, self.own.at("reference")
        phrases = []
        if not own.binary:
            phrases.append(say("power.assumed_shapes"))
        if own.clustered:
            phrases.append(say("power.assumed_icc", icc=f"{world.icc:g}"))
        else:
            phrases.append(say("power.assumed_independent"))
        if any(world.missing):
            before, after = (f"{100 * share:g}" for share in world.missing)
            phrases.append(say("power.assumed_missing", baseline=before, candidate=after))
        else:
            phrases.append(say("power.assumed_all_in"))
        if own.labels is not None and world.agreement is not None:
            agreement = f"{world.agreement:.0%}" if own.binary else f"{world.agreement:g}"
            said = "power.assumed_labels" if own.binary else "power.assumed_labels_of_scores"
            phrases.append(say(said, n=own.labels, agreement=agreement))
        if len(self.worlds) > 1:
            phrases.append(_describe_shared(self.settings_together))
        if never := not_drawn(self.plan, self.settings_together):
            phrases.append(say("power.assumed_count_as_one", names=", ".join(never)))
        phrases += [beside_words(power) for power in self.beside]
        if not self.exact_only:
            sets = {"sets": self.table_sets, "resamples": RESAMPLES}
            phrases.append(say("power.assumed_sets_and_resamples", **sets))
        return "; ".join(phrases)

    @property
    def settings_together(self) -> tuple[Setting, ...]:
        """The hypothesis and those it interacts with."""
        return self.procedure.settings

    def at(
        self,
        corner: Corner,
        others: Others = "not_true",
        *,
        truth: float | None = None,
        scale: float | None = None,
        n_sets: int | None = None,
        shape: ShapeName | None = None,
    ) -> PowerAt:
        """Return one entry of the table, on `lint_sets` data sets unless said otherwise.

        Raises:
            OverBudgetError: it would have to be simulated, and the budget is spent.
        """
        world = replace(self.own.at(corner, truth, scale), shape=shape)
        n_sets = self.lint_sets if n_sets is None else n_sets
        alone = len(self.worlds) == 1
        key = (world, corner, others if not alone else None, n_sets)
        if key not in self._known:
            self._known[key] = self._with_others(self._compute_at(world, corner, others, n_sets), corner)
        return self._known[key]

    def _with_others(self, power_at: PowerAt, corner: Corner) -> PowerAt:
        """Return the chance that every part of the rule holds: a product, since endpoints are taken as independent."""
        power, error = power_at.power, power_at.standard_error or 0.0
        if power is None or not self.beside:
            return power_at
        for part in self.beside:
            chance = self._chance(part, corner)
            if chance.power is None:
                return power_at.model_copy(
                    update={"power": None, "standard_error": None, "reason": chance.reason}
                )
            error = math.hypot(error * chance.power, power * chance.error)
            power *= chance.power
        return power_at.model_copy(update={"power": power, "standard_error": error, "equivalent": None})

    def _chance(self, part: Amounts, corner: Corner) -> Chance:
        key = part.endpoint, corner
        if key not in self._chances:
            self.budget.spend(part.cost)
            self._chances[key] = part.at(corner)
        return self._chances[key]

    def _compute_at(self, world: World, corner: Corner, others: Others, n_sets: int) -> PowerAt:
        """One entry in one world of this hypothesis, with the others where `others` puts them."""
        rest = {name: other for name, other in self.worlds.items() if name != self.name}
        stated = all(other.effect_stated for other in rest.values())
        where = PowerAt(
            discordance=world.scale if self.own.binary else None,
            spread=None if self.own.binary else world.scale,
            icc=world.icc if self.own.clustered else None,
            missing=sum(world.missing) / 2 if any(world.missing) else None,
            agreement=world.agreement,
            others=None if not rest else "stated" if stated else others,
            shape=world.shape,
            truth=world.truth,
            power=None,
        )
        if self.own.binary and abs(world.truth) > world.scale + KNOWN:
            return where.model_copy(update={"reason": IMPOSSIBLE})
        if self.enumerable(world):
            return self._enumerate(where, world)
        worlds = {
            name: other.at(corner, other.goal if others == "at_goal" else other.not_true)
            for name, other in rest.items()
        }
        return self._simulate(where, {**worlds, self.name: world}, n_sets)

    def _enumerate(self, where: PowerAt, world: World) -> PowerAt:
        """Return the entry with its power by weighing every outcome."""
        power = self.exact.power(world)
        changes: dict[str, object] = {
            "power": power,
            "reason": None if power is not None else UNKNOWN_POWER,
            "invalid": self._invalid(world, self.n),
        }
        if self.exact_fallback is not None:
            changes["equivalent"] = self.exact_fallback.power(world)
        return where.model_copy(update=changes)

    def _simulate(self, where: PowerAt, worlds: Mapping[str, World], n_sets: int) -> PowerAt:
        """Return the entry with its power by simulation of the whole plan, if the budget allows it."""
        cost = nanoseconds(self.procedure)
        if FEWEST_SETS * cost > LONGEST:
            return where.model_copy(update={"reason": TOO_LARGE})
        blocks = self.procedure.blocks(worlds, n_sets)
        self.budget.spend(n_sets * cost + blocks * overhead(self.procedure))
        simulated = self.procedure.run(worlds, n_sets, only=self.name).get(self.name)
        if simulated is None:
            return where.model_copy(update={"reason": NOT_SIMULATED})
        world = worlds[self.name]
        items = float(simulated.items.mean())
        # what is missing may end a plan before its rule is read: independent of the data, so that the chances multiply
        intact = intact_chance(world, items, self.plan.missing)
        held, error = simulated_power(simulated.held)
        changes: dict[str, object] = {
            "power": intact * held,
            "standard_error": intact * error,
            "invalid": self._invalid(world, items),
        }
        if self._falls_back:
            changes["equivalent"] = intact * float(simulated.equivalent.mean())
        if self.plan.stopping is not None and self.plan.stopping.kind != "fixed_n":
            changes["expected_n"] = items
        return where.model_copy(update=changes)

    def _invalid(self, world: World, n: float) -> float | None:
        return (
            1 - intact_chance(world, n, "fail")
            if self.plan.missing == "fail" and world.complete < 1
            else None
        )

    @property
    def _falls_back(self) -> bool:
        return self.setting.hypothesis.equivalence is not None

    @property
    def _corrected(self) -> str:
        """The policy that adjusts the hypothesis' p-values; `none` where there is nothing to share."""
        policy = policy_of(self.plan)
        return policy if self.name in members(self.plan) and places(self.plan) > 1 else "none"

    @cached_property
    def procedure(self) -> Procedure:
        """The hypothesis and those it interacts with."""
        return Procedure.of(self.setting.within, self.facts, tuple(self.worlds))

    @cached_property
    def exact(self) -> ExactPower:
        """The rule over every outcome, its thresholds divided where the family shares them by Bonferroni."""
        rule = self.setting.rule
        if rule is not None and self._corrected == "bonferroni":
            rule = share_out(rule, places(self.plan))
        return self._exact(rule)

    @cached_property
    def exact_fallback(self) -> ExactPower | None:
        """The rule is false, and the equivalence test finds equivalence."""
        name, rule = self.setting.hypothesis.equivalence, self.setting.rule
        if name is None or rule is None or name not in self.setting.uses:
            return None
        if fallback_is_wider(self.setting):
            return None
        equivalent = Is(field=FieldName(test=name, path=("equivalent",)), value=True)
        return self._exact(All(parts=(Not(part=rule), equivalent)))

    def _exact(self, rule: Rule | None) -> ExactPower:
        enumerated = EnumeratedRule(replace(self.setting, rule=rule), self.sesoi)
        return ExactPower(enumerated, self.n, self.own.scales, self.plan.missing, self.own.sign)


def _describe_shared(together: Sequence[Setting]) -> str:
    """Say which of the hypotheses are taken to be independent although they share an arm."""
    arms = [{(setting.hypothesis.population, arm) for arm in setting.hypothesis.arms} for setting in together]
    crossed = any(0 < len(one & other) < 2 for at, one in enumerate(arms) for other in arms[:at])
    if crossed:
        return say("power.assumed_share_an_arm")
    return say("power.assumed_other_data")
