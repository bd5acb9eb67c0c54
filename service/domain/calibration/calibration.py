"""Self-calibration: how often a plan's whole locked procedure passes when the arms' labels are flipped by chance.

For every item, or every cluster where the population has them, a fair coin decides whether baseline
and candidate change places, missing results with the rest. The whole rule of every hypothesis is
then judged as the verdict judges it: missing policy, tests, multiplicity and stopping rule included.
If labels are exchangeable within items (or clusters), flipped data are as likely as those at hand,
and the share of flips in which a claim of a difference passes is its type-I error given these data.

Runs come in blocks with a generator each, so any number of workers gives the same bytes. Where all
flips are no more than the runs that were asked for, each is run once. Flips that a rule cannot tell
apart are judged once.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from service.domain.calibration import words
from service.domain.calibration.case import Bools, Case
from service.domain.calibration.flipped_rule import by_counts, discordant, nominal_alpha, over_all_flips
from service.domain.calibration.records import (
    CalibratedFamily,
    CalibratedHypothesis,
    Calibration,
    LeftOut,
    Reading,
)
from service.domain.decision.members import is_secondary, members
from service.domain.deviations.as_run import seconds
from service.domain.plans.sections.hypothesis import Hypothesis
from service.domain.power.enumerated.enumerated_rule import EnumeratedRule
from service.domain.rules.settings import ResolvedPlan, resolve
from service.domain.verdicts.analyses import analyse
from service.domain.verdicts.hypotheses import judge_hypotheses
from service.domain.verdicts.outcomes import Outcomes, Rows
from service.domain.verdicts.stopping import is_sequential, up_to_stop
from service.kernels.numeric import binomial
from service.kernels.numeric.streams import BIT_GENERATOR, generator, octets
from service.stats.shared.declaring.common import Interval
from service.stats.shared.declaring.registry import Drawn, library_versions

VERSION = 1
BLOCK = 50
"""Runs per generator; part of the version, since it decides the numbers."""
LEVEL = 0.95
FAILS, PASSES, UNDECIDED = 0, 1, 2
PER_RUN = 3e-4
"""Seconds a run takes beside its judgements."""
DIFFERENCE = ("superiority", "minimum_effect")
"""Claims that are false when there is no difference."""


@dataclass(eq=False)
class Calibrator:
    """Judges one case under flips, each kind of flip once."""

    case: Case
    _known: dict[tuple[int, object], tuple[int, ...]] = field(default_factory=dict, repr=False)

    @property
    def hypotheses(self) -> tuple[Hypothesis, ...]:
        """The hypotheses of the case."""
        return tuple(self.case.plan.hypotheses or ())

    @cached_property
    def resolved(self) -> ResolvedPlan:
        """The plan of the case, looked up."""
        return resolve(self.case.plan)

    @cached_property
    def counted(self) -> tuple[EnumeratedRule | None, ...]:
        """The rules that counts of discordant items decide."""
        return tuple(by_counts(self.case, setting) for setting in self.resolved.settings)

    @cached_property
    def groups(self) -> tuple[tuple[int, ...], ...]:
        """Hypotheses that are judged together, by index: all where they share p-values or an end."""
        every = tuple(range(len(self.hypotheses)))
        policy = self.case.plan.multiplicity
        shared = (policy is not None and policy.policy != "none") or is_sequential(self.case.plan)
        return (every,) if shared else tuple((index,) for index in every)

    @cached_property
    def _discordant(self) -> tuple[tuple[np.ndarray, np.ndarray, int] | None, ...]:
        return tuple(
            None if rule is None else discordant(self.case, setting)
            for rule, setting in zip(self.counted, self.resolved.settings, strict=True)
        )

    def draw(self, which: range) -> Drawn:
        """Return what became of every hypothesis in the runs of consecutive blocks, shape (runs, hypotheses)."""
        truths = [self.run(flips) for block in which for flips in flips_of(self.case, block)]
        return {"truths": np.array(truths, dtype=np.uint8).reshape(len(truths), len(self.hypotheses))}

    def run(self, flips: Mapping[str, Bools]) -> list[int]:
        """Return every hypothesis with these items' labels flipped: `PASSES`, `FAILS` or `UNDECIDED`."""
        truths = [FAILS] * len(self.hypotheses)
        for number, group in enumerate(self.groups):
            alike = self._alike(group, flips)
            known = self._known.get((number, alike)) if alike is not None else None
            if known is None:
                known = self._judge(group, flips)
                if alike is not None:
                    self._known[number, alike] = known
            for index, truth in zip(group, known, strict=True):
                truths[index] = truth
        return truths

    def seconds(self) -> float:
        """Return about how long all runs take, from the costs that the tests state."""
        rows = Rows(self.resolved, self.case.manifests, Outcomes(self.case.cells))
        runs, total = self.case.looked_at, self.case.looked_at * PER_RUN
        for group in self.groups:
            known = [self._discordant[index] for index in group]
            kinds = 1.0
            for columns in known:  # wins that come up by chance: some eight standard deviations
                kinds *= float("inf") if columns is None else 4 * np.sqrt(len(columns[0])) + 1
            total += seconds(rows, [self.hypotheses[index] for index in group]) * min(runs, kinds)
        return float(total)

    def _alike(self, group: Sequence[int], flips: Mapping[str, Bools]) -> tuple[int, ...] | None:
        """Return what flips have in common that the group's rules cannot tell apart; None: nothing is known."""
        wins = []
        for index in group:
            known = self._discordant[index]
            if known is None:
                return None
            where, won, _ = known
            wins.append(int(np.count_nonzero(won ^ flips[self.hypotheses[index].population][where])))
        return tuple(wins)

    def _judge(self, group: Sequence[int], flips: Mapping[str, Bools]) -> tuple[int, ...]:
        hypotheses = tuple(self.hypotheses[index] for index in group)
        plan = resolve(self.case.plan.model_copy(update={"hypotheses": hypotheses}))
        rows, _ = up_to_stop(Rows(plan, self.case.manifests, self.case.flip(flips, hypotheses)))
        judged = judge_hypotheses(rows, analyse(rows))
        truth = {None: UNDECIDED, True: PASSES, False: FAILS}
        return tuple(truth[verdict.rule_holds] for verdict in judged)


def block_count(case: Case) -> int:
    """Return the number of blocks that hold all runs."""
    return -(-case.looked_at // BLOCK)


def flips_of(case: Case, block: int) -> Iterator[dict[str, Bools]]:
    """Yield the flips of a block's runs: which items of each population change their labels."""
    rng = generator(case.seed, block)
    for run in range(block * BLOCK, min((block + 1) * BLOCK, case.looked_at)):
        flips, at = {}, 0
        for name, units in case.units.items():
            count = len(units.differ)
            if case.enumerated:
                coins = (run >> np.arange(at, at + count) & 1).astype(np.bool_)
            else:
                coins = np.unpackbits(octets(rng, -(-count // 8)), count=count).astype(np.bool_)
            flips[name] = units.flip(coins)
            at += count
        yield flips


def conclude(case: Case, drawn: Drawn) -> Calibration:
    """Return the calibration from every run's truths."""
    made, truths = Calibrator(case), drawn["truths"]
    about = case.about
    return Calibration(
        preregistration_id=about["preregistration_id"],
        plan_sha256=about["plan_sha256"],
        version=VERSION,
        data=about["data"],
        runs=len(truths),
        enumerated=case.enumerated,
        seed=None if case.enumerated else case.seed,
        bit_generator=None if case.enumerated else BIT_GENERATOR,
        hypotheses=tuple(_calibrate(made, index, truths[:, index]) for index in range(truths.shape[1])),
        family=_family(made, truths),
        left_out=tuple(LeftOut.model_validate(item) for item in about["left_out"]),
        assumes=words.ASSUMES,
        versions=library_versions(),
    )


def clopper_pearson(passed: int, runs: int) -> Interval:
    """Return the exact interval of a share of runs: Monte-Carlo error alone."""
    low, high = binomial.clopper_pearson(passed, runs, LEVEL)
    return Interval(low=low, high=high, level=LEVEL, method="clopper-pearson, Monte-Carlo error")


def _calibrate(made: Calibrator, index: int, truths: NDArray[np.uint8]) -> CalibratedHypothesis:
    """Calibrate a hypothesis: how often its rule held in runs in which nothing differs, beside its level."""
    case, setting, hypothesis = made.case, made.resolved.settings[index], made.hypotheses[index]
    passed, runs = int(np.count_nonzero(truths == PASSES)), len(truths)
    undecided = int(np.count_nonzero(truths == UNDECIDED))
    mc_ci = None if case.enumerated else clopper_pearson(passed, runs)
    differing = case.units[hypothesis.population].codes[case.differing(hypothesis)]
    clustered = setting.population is not None and setting.population.clusters is not None
    error = hypothesis.claim in DIFFERENCE
    alpha, exact = nominal_alpha(setting), passed / runs if case.enumerated else _exact(made, index)
    calibrated = CalibratedHypothesis(
        hypothesis=hypothesis.id,
        claim=hypothesis.claim,
        role="secondary" if is_secondary(case.plan, hypothesis) else "primary",
        tells="type_one_error" if error else "power_at_zero",
        flipped="clusters" if clustered else "items",
        units=case.units[hypothesis.population].total,
        units_that_differ=len(np.unique(differing)),
        passed=passed,
        undecided=undecided,
        rate=passed / runs,
        mc_ci=mc_ci,
        exact_rate=exact,
        nominal_alpha=alpha,
        reading=_read_rate(alpha, exact, mc_ci) if error else None,
        sentence="",
    )
    return calibrated.model_copy(
        update={"sentence": words.sentence(calibrated, runs, enumerated=case.enumerated)}
    )


def _exact(made: Calibrator, index: int) -> float | None:
    """Over all flips, where the hypothesis is judged alone and counts decide its rule."""
    rule = made.counted[index]
    alone = (index,) in made.groups
    return (
        over_all_flips(made.case, made.resolved.settings[index], rule) if rule is not None and alone else None
    )


def _read_rate(alpha: float | None, exact: float | None, mc_ci: Interval | None) -> Reading | None:
    """Compare a procedure's rate, exact or by its Monte Carlo interval, with its alpha; 1e-12 allows for rounding."""
    if alpha is None:
        return None
    if exact is not None:
        low = high = exact
    elif mc_ci is None or mc_ci.low is None or mc_ci.high is None:
        return None
    else:
        low, high = mc_ci.low, mc_ci.high
    if low > alpha + 1e-12:
        return "liberal"
    return "conservative" if high < alpha - 1e-12 else "as_stated"


def _family(made: Calibrator, truths: NDArray[np.uint8]) -> CalibratedFamily | None:
    """Return how often some claim of a difference in the family passes."""
    family = members(made.case.plan)
    where = [
        index
        for index, hypothesis in enumerate(made.hypotheses)
        if hypothesis.id in family and hypothesis.claim in DIFFERENCE
    ]
    if len(where) < 2:
        return None
    passed, runs = int(np.count_nonzero(np.any(truths[:, where] == PASSES, axis=1))), len(truths)
    names = tuple(made.hypotheses[index].id for index in where)
    mc_ci = None if made.case.enumerated else clopper_pearson(passed, runs)
    policy = made.case.plan.multiplicity
    return CalibratedFamily(
        hypotheses=names,
        passed=passed,
        rate=passed / runs,
        mc_ci=mc_ci,
        sentence=words.family(names, passed, runs, mc_ci, "none" if policy is None else policy.policy),
    )
