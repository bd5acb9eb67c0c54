"""What the bootstrap tests share: their answer, and how it is read off a distribution."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, model_validator

from service.errors import InvalidData
from service.kernels.bootstrap.bootstrap_draws import Draws
from service.kernels.bootstrap.metric_bootstrap import bca_ends, studentized_ends
from service.kernels.bootstrap.paired_bootstrap import BinaryPairs
from service.kernels.bootstrap.ratio_bootstrap import on_grid, ratio_bootstrap
from service.kernels.bootstrap.ratio_inversion import Inverted
from service.kernels.exact.inversion import SmoothMean, smooth_mean
from service.kernels.numeric.clusters import ClusterSums
from service.kernels.numeric.distributions import BootstrapDistribution
from service.kernels.randomization.sign_flip import sign_flip
from service.stats.shared.data.pairs import P_FLOOR, PairedCounts
from service.stats.shared.declaring import certainty, shows
from service.stats.shared.declaring.certainty import Range, Support
from service.stats.shared.declaring.common import (
    Alternative,
    Analysis,
    Interval,
    Request,
    Resampling,
    StatWarning,
)
from service.stats.shared.declaring.fields import Alpha, DrawCount, DrawSeed, Level
from service.stats.shared.declaring.sentences import bound_text, decision, disagreement
from service.stats.shared.declaring.warnings import (
    BEYOND_RESAMPLES,
    FEW_SIGNS,
    LOPSIDED_RESAMPLES,
    MC_UNRESOLVED,
    warn_if_unresolved,
)
from service.words import Value, list_values

Method = Literal["percentile", "basic", "bca", "studentized"]
Comparison = Literal[">=", "strict"]
Convention = Literal["standard", "seed"]

DEFAULT_DRAWS, MOST_DRAWS, SEED_DRAWS = 10_000, 100_000, 2000
"""Resamples by default, at most, and of the published recipe."""
DEFAULT_SEED = 42
TOLERATED = 0.005
"""Worst error of an inverted probability; beyond it drawing is as good."""

METHODS = "analyses.apart_resamples"
"""Why the two may tell different things."""

NO_SPREAD = "the data have too little spread to correct or studentize an interval"

DOMINANT = 0.15
"""Share of the items in one cluster, and more than twice an equal one, above which a resampled p is too small."""
UNTOLD = 1e-9
"""Transforms are accurate to less than this; a tail below it is given as a bound."""


def first_seed(seed: int | None) -> int:
    """Return the seed to draw from, where a request may name none."""
    return DEFAULT_SEED if seed is None else seed


class BootstrapOptions(Request):
    """What a caller may choose about a bootstrap of a difference."""

    method: Method = Field(
        "percentile",
        description="The interval in `ci`: quantiles of delta*; 2 delta minus them; `bca`, quantiles corrected "
        "for bias and skewness; `studentized`, from (delta* - delta) / SE*, which is always drawn.",
    )
    alternative: Alternative = Field(
        "greater",
        description="Direction of the p-value. `greater`: the candidate is better, P(delta* >= 2 delta); "
        "`less`: the baseline is; `two-sided`: P(|delta* - delta| >= |delta|).",
    )
    comparison: Comparison = Field(
        ">=", description="Whether the p-value counts resamples at exactly 2 delta; `strict` does not."
    )
    convention: Convention = Field(
        "standard",
        description="`seed`: 2000 draws of numpy's default_rng(42) with np.percentile and count/B, "
        "for reproducing published code; otherwise exact wherever possible.",
    )
    alpha: Alpha = 0.05
    level: Level = 0.95
    n_resamples: DrawCount | None = Field(
        None,
        description="Draws, a count; used only where no exact distribution is at hand. Default 10,000 "
        "(2000 under the seed convention), raised once when the p-value is unresolved.",
    )
    seed: DrawSeed = None

    @model_validator(mode="after")
    def _require_method_of_recipe(self) -> Self:
        if self.convention == "seed" and self.method == "studentized":
            raise InvalidData.field(
                "method", "the seed convention has no studentized interval", "use percentile"
            )
        return self

    @property
    def draws(self) -> int:
        """How many, where something is drawn."""
        return self.n_resamples or (SEED_DRAWS if self.convention == "seed" else DEFAULT_DRAWS)

    @property
    def first_seed(self) -> int:
        """The seed of the draws: as sent, or the default."""
        return first_seed(self.seed)


class BootstrapAnalysis(Analysis):
    """What a bootstrap of the difference found. `delta*` is the difference in a resample."""

    delta: float = Field(description="Observed candidate minus baseline, outcome units.")
    ci: Interval = Field(description="Interval of delta by the chosen method, outcome units.")
    intervals: dict[Method, Interval] = Field(
        description="Intervals by method, outcome units; bca and studentized only where asked for."
    )
    p_value: float = Field(description="P(delta* >= 2 delta) for `greater`; see `alternative`.")
    alternative: Alternative = Field(description="Direction of the p-value.")
    comparison: Comparison = Field(description="`>=`: resamples at exactly 2 delta count.")
    better: Literal["baseline", "candidate"] | None = Field(description="The arm with the higher mean.")
    p_better: float = Field(description="The p-value for the better arm, P(|delta|* >= 2 |delta|).")
    fraction_le_0: float = Field(description="P(delta* <= 0), a proportion of resamples.")
    fraction_lt_0: float = Field(description="P(delta* < 0), a proportion of resamples.")
    fraction_ge_0: float = Field(description="P(delta* >= 0), a proportion of resamples.")
    fraction_gt_0: float = Field(description="P(delta* > 0), a proportion of resamples.")
    bootstrap_mean: float = Field(description="Mean of delta*, outcome units.")
    bootstrap_se: float = Field(description="Standard deviation of delta*, outcome units.")
    method: Method = Field(description="The interval in `ci`.")
    convention: Convention = Field(description="How the distribution was to be obtained.")
    route: Literal["fft", "enumeration", "lattice", "inversion", "monte_carlo", "seed"] = Field(
        description="How the distribution was obtained: every resample weighed by a transform or listed, "
        "or resamples drawn."
    )
    p_mc_se: float | None = Field(description="Monte-Carlo standard error of p_value, a probability.")
    min_attainable_p: float | None = Field(
        description="Least p that draws can give: 1/(B + 1), 1/B under the seed convention."
    )


def _counts_ties(parameter: shows.Parameter) -> bool:
    """Strictly compared, resamples that all tie with the data count as a small p of no difference at all."""
    return bool(parameter("comparison") == ">=")


SHOWS: shows.Shows = {
    "delta": shows.Estimate(),
    "ci": shows.Covers(shows.by_level),
    "intervals.*": shows.Covers(shows.by_level),
    "p_value": shows.PValue(shows.against_zero, fixes=_counts_ties),
    "p_better": shows.PValue(shows.either_side, fixes=_counts_ties),
    "fraction_le_0": shows.Share(-1, with_zero=True),
    "fraction_lt_0": shows.Share(-1, with_zero=False),
    "fraction_ge_0": shows.Share(1, with_zero=True),
    "fraction_gt_0": shows.Share(1, with_zero=False),
    **shows.no_meaning("bootstrap_mean", "bootstrap_se", "p_mc_se", "min_attainable_p"),
}
"""What the fields of every bootstrap show of the difference."""


WARNED = 0.2
"""A p above this is no evidence by any test, so that nothing is said of how few there are."""


def _weigh_around_zero(distribution: BootstrapDistribution) -> dict[str, float]:
    """Return the shares of resamples on either side of 0, with those at 0 and without."""
    return {
        "fraction_le_0": distribution.at_most(0.0),
        "fraction_lt_0": distribution.at_most(0.0, strict=True),
        "fraction_ge_0": distribution.at_least(0.0),
        "fraction_gt_0": distribution.at_least(0.0, strict=True),
    }


@dataclass(frozen=True)
class Reading:
    """Turns a distribution into the fields of an analysis, collecting reasons, bounds and warnings."""

    options: BootstrapOptions
    delta: float
    resolution: float
    acceleration: float | None = None
    se: float | None = None
    support: Support | None = None
    """Where delta* can lie; None where the metric does not tell."""

    def fields(self, distribution: BootstrapDistribution) -> dict[str, Any]:
        """Return everything of a `BootstrapAnalysis` that comes from the distribution."""
        options, delta = self.options, self.delta
        reasons: dict[str, str] = {}
        bounds: dict[str, str] = {}
        side: Literal["greater", "less"] = "greater" if delta >= 0 else "less"
        shares = self._weigh_tails(distribution, side)
        mean, se = distribution.moments()
        if delta == 0 and se == 0:  # p is 1 by any test, also where resamples at 0 are not counted
            shares = dict.fromkeys(shares, 1.0)
        fractions = _weigh_around_zero(distribution)
        if distribution.route in ("lattice", "inversion"):
            fractions = {name: self._floor(share, name, bounds) for name, share in fractions.items()}
        p = self._floor(compute_p(shares[options.alternative], distribution), "p_value", bounds)
        drawn = distribution if isinstance(distribution, Draws) else None
        p_mc_se = None if drawn is None else (p * (1 - p) / len(drawn.estimates)) ** 0.5
        if drawn is None:
            reasons["p_mc_se"] = "nothing was drawn"
            reasons["min_attainable_p"] = "every resample is weighed: the design sets no least p"
        beyond = self._beyond(side)
        warnings = [*self._warn_of_p(p, p_mc_se, distribution), *([BEYOND_RESAMPLES()] if beyond else ())]
        if delta == 0:
            reasons["better"] = "the arms tie"
        intervals = self.intervals(distribution, reasons)
        chances = {"p_value": shares[options.alternative], "p_better": shares[side], **fractions}
        within = {} if drawn is None else self._within(drawn, chances, mean, se)
        ends = [f"{where}.{end}" for where in self._places(intervals) for end in ("low", "high")]
        unclear = [path for path in ends if path not in within and path not in reasons]
        p_better = self._floor(compute_p(shares[side], distribution), "p_better", bounds)
        # the other side of a two-sided p is no bound: p is not below it
        seen = {
            "p_value": 0.0 if "p_value" in bounds else p,
            "p_better": 0.0 if "p_better" in bounds else p_better,
        }
        within, few = self._open_up(within, beyond, seen)
        warnings += few
        return {
            "delta": delta,
            "ci": intervals[options.method],
            "intervals": intervals,
            "p_value": p,
            "alternative": options.alternative,
            "comparison": options.comparison,
            "better": None if delta == 0 else "candidate" if delta > 0 else "baseline",
            "p_better": p_better,
            **fractions,
            "bootstrap_mean": mean,
            "bootstrap_se": se,
            "method": options.method,
            "convention": options.convention,
            "route": distribution.route,
            "p_mc_se": p_mc_se,
            "min_attainable_p": None if drawn is None else max(compute_p(0.0, drawn), self.resolution),
            "reasons": reasons,
            "bounds": bounds,
            "within": within,
            "undecided": {} if drawn is None else dict.fromkeys(unclear, certainty.DRAWN),
            "warnings": tuple(warnings),
            "resampling": resampling_of(distribution, options.seed),
        }

    def _warn_of_p(
        self, p: float, mc_se: float | None, distribution: BootstrapDistribution
    ) -> Iterator[StatWarning]:
        """Warn that p is not told from alpha, by its Monte-Carlo error if it is drawn, else by that of computing it."""
        options = self.options
        if mc_se is None:
            tails = 2 if options.alternative == "two-sided" else 1
            # The error is that of one tail; a two-sided p adds two.
            yield from warn_if_unresolved(p, tails * (distribution.error or 0.0), options.alpha)
        elif abs(p - options.alpha) <= 3 * mc_se:
            yield MC_UNRESOLVED(p=p, se=mc_se, alpha=options.alpha)

    def _weigh_tails(
        self, distribution: BootstrapDistribution, side: Literal["greater", "less"]
    ) -> dict[str, float]:
        """Return the share of resamples in the tail of every alternative; `side` is the one that the data favour."""
        delta, strict = self.delta, self.options.comparison == "strict"
        shares = {
            "greater": distribution.at_least(2 * delta, strict=strict),
            "less": distribution.at_most(2 * delta, strict=strict),
        }
        other_end = (
            distribution.at_most(0.0, strict=strict)
            if delta >= 0
            else distribution.at_least(0.0, strict=strict)
        )
        # |delta* - delta| >= |delta|: at 2 delta or beyond it, or at 0 or beyond it on the other side.
        shares["two-sided"] = min(1.0, shares[side] + other_end) if delta else 1.0
        return shares

    def _open_up(
        self, within: Mapping[str, Range], beyond: Mapping[str, float], seen: Mapping[str, float]
    ) -> tuple[dict[str, Range], list[StatWarning]]:
        """Return what p-values are known to lie in once signs alone are asked, with a warning where they are few.

        Args:
            within: what they lie in by the draws.
            beyond: those beyond every resample, with the chance of signs so uneven.
            seen: both p-values, 0 where they are printed as a bound.
        """
        allowed, warnings = self._list_floors(), list[StatWarning]()
        opened = {
            **within,
            **{
                name: (within.get(name, (seen[name],))[0], max(most, allowed.get(name, 0.0), seen[name]))
                for name, most in beyond.items()
            },
        }
        for name, least in allowed.items():
            if name not in beyond and least > seen[name]:
                opened[name] = certainty.open_up(seen[name], least, opened.get(name))
                if self.support is not None and seen[name] < WARNED and not warnings:
                    warnings.append(
                        FEW_SIGNS(count=self.support.down + self.support.up, p=self.support.least_p)
                    )
        return opened, warnings

    def _beyond(self, side: Literal["greater", "less"]) -> dict[str, float]:
        """The p-values that lie beyond every resample, and the chance of signs so uneven: on both sides if asked so."""
        strict = self.options.comparison == "strict"
        signs = None if self.support is None else self.support.signs(self.delta, strict=strict)
        if signs is None:
            return {}
        sides = {side: 1, "two-sided": 2}.get(self.options.alternative)
        p_value = {} if sides is None else {"p_value": min(1.0, sides * signs)}
        return {**p_value, "p_better": signs}

    def _list_floors(self) -> dict[str, float]:
        """Return the least that so few units are taken to show of every p."""
        least = 0.0 if self.support is None else self.support.least_p
        tails = 2 if self.options.alternative == "two-sided" else 1
        return {"p_value": min(1.0, tails * least), "p_better": least} if least else {}

    def intervals(
        self, distribution: BootstrapDistribution, reasons: dict[str, str]
    ) -> dict[Method, Interval]:
        """Return percentile, basic, and the one asked for; an undefined end is null, its reason kept."""
        tail = (1 - self.options.level) / 2
        low, high = distribution.quantile(tail), distribution.quantile(1 - tail)
        ends: dict[Method, tuple[float | None, float | None]] = {
            "percentile": (low, high),
            # Quantiles of delta* - delta, turned around: delta* = 2 delta - end.
            "basic": (2 * self.delta - high, 2 * self.delta - low),
        }
        method = self.options.method
        if method == "bca":
            ends[method] = bca_ends(distribution, self.delta, self.acceleration, tail)
        elif method == "studentized":
            ends[method] = studentized_ends(distribution, self.delta, self.se, tail)
        if None in ends[method]:
            paths = [f"{name}.{end}" for name in ("ci", f"intervals.{method}") for end in ("low", "high")]
            reasons.update(dict.fromkeys(paths, NO_SPREAD))
        return Interval.by_method(ends, self.options.level)

    def _places(self, intervals: Iterable[Method]) -> dict[str, Method]:
        """Say where an answer keeps its intervals."""
        return {"ci": self.options.method, **{f"intervals.{name}": name for name in intervals}}

    def _within(self, drawn: Draws, chances: Mapping[str, float], mean: float, se: float) -> dict[str, Range]:
        """Return what drawn numbers are known to lie in."""
        count, tail = len(drawn.estimates), (1 - self.options.level) / 2
        # As many Monte-Carlo standard errors of a mean of `count` draws as ranges everywhere have.
        off = certainty.SURE * se / count**0.5
        ranges = {name: certainty.of_share(min(share, 1.0), count) for name, share in chances.items()}
        ranges["bootstrap_mean"] = mean - off, mean + off
        for where, method in self._places(("percentile", "basic", self.options.method)).items():
            ends = certainty.of_ends(drawn, self.delta, method, tail, self.acceleration, self.se)
            for end, range_ in zip(("low", "high"), ends, strict=True):
                if range_ is not None:
                    ranges[f"{where}.{end}"] = range_
        return ranges

    def _floor(self, p: float, path: str, bounds: dict[str, str]) -> float:
        if p < self.resolution:
            bounds[path] = bound_text(self.resolution)
            return self.resolution
        return p


def flat(fields: dict[str, Any], *, differs: bool) -> None:
    """Mark what a resampling without spread shows: nothing, whatever its intervals and shares.

    Without a difference (`differs` false) p is 1 by any test, and stays.
    """
    names = ["ci", "intervals", "bootstrap_se"]
    names += [name for name in fields if name.startswith("fraction_")]
    names += ["p_value", "p_better"] if differs else []
    fields["undecided"] = dict.fromkeys(names, certainty.FLAT)


def warn_if_dominated(fields: Mapping[str, Any], groups: ClusterSums) -> tuple[StatWarning, ...]:
    """Warn with LOPSIDED_RESAMPLES if one cluster holds much, and p then ranges up to that of the clusters' signs."""
    share, within = groups.sizes.max() / groups.sizes.sum(), fields["within"]
    # Of few clusters each holds much: one dominates that has twice an equal share.
    if share <= max(DOMINANT, 2 / groups.n_clusters):
        return ()
    flips = sign_flip(groups.sums)
    tails = {"greater": flips.at_least, "less": flips.at_most, "two-sided": flips.two_sided}
    side = "greater" if fields["delta"] >= 0 else "less"
    for name, chance in (("p_value", tails[fields["alternative"]]), ("p_better", tails[side])):
        if chance > fields[name]:
            seen = 0.0 if name in fields["bounds"] else fields[name]
            within[name] = certainty.open_up(seen, chance, within.get(name))
    return (LOPSIDED_RESAMPLES(share=share),)


def state_decision(fields: Mapping[str, Any], alpha: float, warnings: Iterable[StatWarning]) -> Value:
    """Return what p makes of a difference of zero, and why the interval tells another thing where it does.

    Nothing, where p is of the resamples alone, as some of the warnings say, and the chance it stands for may be above
    alpha.
    """
    bound, most, p = fields["bounds"].get("p_value"), None, fields["p_value"]
    if "p_value" in fields["undecided"]:
        most = 1.0
    elif {BEYOND_RESAMPLES.code, FEW_SIGNS.code, LOPSIDED_RESAMPLES.code} & {
        warning.code for warning in warnings
    }:
        most = fields["within"].get("p_value", (p, p))[1]
    text = decision(p, alpha, "analyses.zero_difference", bound=bound, most=most)
    if "ci" in fields["undecided"] or (most is not None and p < alpha <= most):
        return text
    apart = disagreement(fields["ci"], p, alpha, fields["alternative"], METHODS)
    return list_values((text, apart))


def compute_p(share: float, distribution: BootstrapDistribution) -> float:
    """Return a share of resamples as a p-value: draws count the data as one more, the seed convention does not."""
    if isinstance(distribution, Draws) and distribution.route != "seed":
        count = len(distribution.estimates)
        # (1 + count) / (B + 1): Davison & Hinkley (1997), 4.2.
        return (1 + share * count) / (count + 1)
    return share


def resampling_of(distribution: BootstrapDistribution, seed: int | None) -> Resampling:
    """Say how resamples were made: exact with its error, or drawn with its seed."""
    if not isinstance(distribution, Draws):
        return Resampling(exact=True, error_bound=distribution.error)
    return Resampling.drawn(len(distribution.estimates), first_seed(seed))


def resolution_of(distribution: BootstrapDistribution, n_units: int) -> float:
    """Return the least probability that can be told from 0, for a bootstrap of `n_units` items or clusters."""
    if isinstance(distribution, Draws):
        return compute_p(0.0, distribution) or 1 / len(distribution.estimates)
    if distribution.route in ("enumeration", "fft"):  # no resample is rarer than one unit drawn every time
        return max(float(n_units) ** -n_units, P_FLOOR)
    if isinstance(distribution, SmoothMean):
        return max(distribution.error, UNTOLD)
    if isinstance(distribution, Inverted):  # its tails are as far out as an effect of zero
        return max(distribution.error_at(0.0), distribution.error_at(2 * distribution.estimate), UNTOLD)
    return UNTOLD


def exact_ratio(sums: NDArray[np.float64], sizes: NDArray[np.float64]) -> BootstrapDistribution | None:
    """Return the exact distribution of a ratio of sums over clusters (or items of size 1), if its error allows it."""
    if np.all(sizes == sizes[0]):
        smooth = smooth_mean(sums / sizes[0])
        if smooth is not None:
            return smooth
    distribution = ratio_bootstrap(sums, sizes)
    return (
        on_grid(sums, sizes)
        if isinstance(distribution, Inverted) and distribution.error > TOLERATED
        else distribution
    )


def find_exact_paired(
    counts: PairedCounts | None, difference: NDArray[np.float64]
) -> BootstrapDistribution | None:
    """Return the exact distribution of a paired difference: of binary pairs, and of scores where they allow it."""
    if counts is not None:
        return BinaryPairs(counts.only_candidate, counts.only_baseline, counts.n)
    return exact_ratio(difference, np.ones(len(difference)))


BOOTSTRAP_WORDS = r"bootstrap|自助"
"""What prose calls a bootstrap."""


def level_of_text(text: str) -> dict[str, float]:
    """Return the 0.95 of `95% CI`, as a parameter."""
    match = re.search(r"(\d{2}(?:\.\d{1,9})?)\s*%", text)
    return {} if match is None else {"level": round(float(match[1]) / 100, 6)}
