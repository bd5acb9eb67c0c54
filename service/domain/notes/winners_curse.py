"""How much estimates exaggerate among studies that pass a rule, if the truth is the smallest effect of interest.

The type M error of Gelman & Carlin (2014), Perspect Psychol Sci 9:641, for the whole rule on independent
binary pairs: every outcome in which it holds is weighed, at the discordance that was observed.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import special

from service.domain.plans.plan import Plan
from service.domain.power.enumerated.enumerated_rule import EnumeratedRule
from service.domain.power.enumerated.region import Region
from service.domain.recent import remember
from service.domain.rules.answers import Answer
from service.domain.rules.settings import resolve
from service.domain.rules.truth import TRUE
from service.domain.verdicts.records import HypothesisVerdict
from service.kernels.numeric import binomial

MOST_ITEMS = 20_000
REMEMBERED = 256


@dataclass(frozen=True, slots=True)
class Exaggeration:
    """Of one rule at the SESOI."""

    truth: float
    """The SESOI in the direction of the estimate, a proportion."""
    discordance: float
    """As observed, but at least as large as the SESOI needs; a proportion."""
    power: float
    """How often the rule holds."""
    mean: float
    """Mean estimate where it holds, a proportion."""
    smaller: float
    """How often a study of the same size has a smaller estimate than this one, whether the rule holds or not."""

    @property
    def factor(self) -> float:
        """Of the mean estimate over the truth: type M."""
        return self.mean / self.truth


def exaggeration(plan: Plan, verdict: HypothesisVerdict) -> Exaggeration | None:
    """Estimate the exaggeration; None where it cannot be weighed: clusters, scores, drawn tests, many items."""
    counts = (Answer(stored).analysis.count("n_discordant") for stored in verdict.analyses.values())
    discordant = next((count for count in counts if count), None)
    if discordant is None or verdict.delta is None or verdict.delta == 0 or not 0 < verdict.n <= MOST_ITEMS:
        return None
    return _estimate_exaggeration(plan.canonical_text(), verdict.id, verdict.n, discordant, verdict.delta)


@remember(REMEMBERED)
def _estimate_exaggeration(
    plan_text: str, hypothesis: str, n: int, discordant: int, delta: float
) -> Exaggeration | None:
    """Estimate how far supported results exceed a true effect of the SESOI; None where that is unknown."""
    plan = Plan.from_json(plan_text)
    setting = resolve(plan).of(hypothesis)
    if setting is None or setting.suite is not None:
        return None
    sesoi = (plan.sesoi or {}).get(setting.hypothesis.endpoint)
    population, endpoint = setting.population, setting.endpoint
    if setting.rule is None or sesoi is None or endpoint is None or endpoint.collapsed_kind != "binary":
        return None
    if population is None or population.clusters is not None or float(sesoi.exact()) <= 0:
        return None
    size = float(sesoi.exact())
    rule = EnumeratedRule(setting, sesoi)
    if rule.unknown:
        return None
    share = max(discordant / n, size)
    truth = size if delta > 0 else -size
    ahead, behind = (share + truth) / 2, (share - truth) / 2
    region = rule.around(n, share)
    power, _ = region.chance(ahead, behind)
    if power <= 0:
        return None
    mean = _mean_where_true(region, ahead, behind) / power
    return Exaggeration(truth, share, power, mean, _smaller(n, share, ahead / share, delta))


def _mean_where_true(region: Region, ahead: float, behind: float) -> float:
    """Return the sum over outcomes in which the rule holds of their chance times the difference they show."""
    share, n = ahead + behind, region.n
    win = ahead / share
    low, high = binomial.window(n, min(share, 1.0))
    rows = np.flatnonzero((region.m >= low) & (region.m <= high))
    weight = binomial.pmf(region.m[rows], n, min(share, 1.0))
    row, piece = np.nonzero((region.truths[rows] == TRUE) & (region.cuts[rows, 1:] > region.cuts[rows, :-1]))
    at = rows[row]
    start, end, m = region.cuts[at, piece], region.cuts[at, piece + 1], region.m[at]
    chance = binomial.between(start, end, m, win)
    # b times its chance among m is m times the share times the chance of b - 1 among m - 1
    wins = m * win * binomial.between(start - 1, end - 1, np.maximum(m - 1, 0), win)
    return float(weight[row] @ (2 * wins - m * chance)) / n


def _smaller(n: int, share: float, win: float, delta: float) -> float:
    """Return the chance of a difference nearer to 0, or beyond it, than the observed one."""
    low, high = binomial.window(n, min(share, 1.0))
    m = np.arange(low, high + 1)
    edge = (m + abs(delta) * n) / 2  # wins of the arm that is ahead, at that difference
    below = np.ceil(edge - 1e-9) - 1
    toward = win if delta > 0 else 1 - win
    chance = np.where(below < 0, 0.0, special.bdtr(np.clip(below, 0, m), m, toward))
    return float(binomial.pmf(m, n, min(share, 1.0)) @ chance)
