"""Fields of statistical tests on many simulated data sets at once, and the truth of clauses on them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from itertools import pairwise
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray
from scipy import special

from service.domain.enumerated_fields import line_of
from service.domain.enumerated_lines import (
    ABOVE,
    BELOW,
    EQUAL,
    UNDEFINED,
    EndLines,
    Line,
    Sides,
    exact_delta,
)
from service.domain.enumerated_tests import BinaryTest
from service.domain.feeding import parameter, takes_clusters
from service.domain.lint_settings import Setting, Use
from service.domain.rule import Clause, Comparison, Excludes, Is
from service.domain.rule_region import truths_of
from service.domain.rule_truth import TIE
from service.domain.truth_sets import Sets, both, compared, either
from service.kernels import simulated_pairs as kernel
from service.kernels.clustered_mcnemar import chi_squares
from service.stats.certainty import SIGNS
from service.stats.common import Margin

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Value = Floats | tuple[Floats, Floats]
Path = tuple[str, ...]

EXACT_WILCOXON = 50
CLUSTERED_CHI_SQUARES = ("obuchowski", "durkalski", "yang")


@dataclass(frozen=True)
class SimulatedSets:
    """T data sets: difference sums (T, G) over units, and where binary the items each arm alone wins."""

    setting: Setting
    sesoi: Margin | None
    sizes: Ints
    sums: Floats
    won: tuple[Ints, Ints] | None
    clustered: bool
    seed: int
    shared: dict[str, kernel.SharedResamples] = field(default_factory=dict, repr=False)
    """Resamples of the units by estimand: the same for all truths."""

    def truths(self, clause: Clause) -> Sets | None:
        """The clause's truth in every data set; None when its field is not simulated."""
        use = self.setting.uses.get(clause.field.test or "")
        if self.won is not None and (use is None or not self._by_cluster(use)):
            return self._by_counts(clause, use)
        value = self._delta if use is None else self.value_of(use, clause.field.path)
        return None if value is None else clause_truths(clause, value)

    def _by_counts(self, clause: Clause, use: Use | None) -> Sets | None:
        """From the total counts alone, as exactly as the test; alike data sets are asked once."""
        line = self._line(use, clause.field.path)
        if line is None:
            return None
        b, m, back = self._cells
        return truths_of(clause, line, b, m)[back]

    def _line(self, use: Use | None, path: Path) -> Line | EndLines | None:
        n = int(self.sizes.sum())
        if use is None:
            return exact_delta(n)
        if self.setting.endpoint is None:
            return None
        return line_of(BinaryTest(use, self.setting.endpoint, n, self.sesoi), path)

    @cached_property
    def _cells(self) -> tuple[Ints, Ints, NDArray[np.intp]]:
        """The distinct (b, m) among the data sets, and which of them each has."""
        won, lost = (each.sum(axis=1) for each in self.won or ())
        cells, back = np.unique(np.stack([won, won + lost], axis=1), axis=0, return_inverse=True)
        return cells[:, 0], cells[:, 1], back.reshape(-1)

    def p_value(self, use: Use, path: Path, steps: Sequence[Fraction]) -> Floats | None:
        """A p-value (T,); from counts it is only known between which of the `steps` (ascending) it lies.

        Whatever compares it with the steps gets the answer that the test's own p would get.
        """
        if self.won is None or self._by_cluster(use):
            found = self.value_of(use, path)
            return None if isinstance(found, tuple) else found
        line = self._line(use, path)
        if not isinstance(line, Line):
            return None
        b, m, back = self._cells
        ends = [0.0, *(float(each) for each in steps), 1.0]
        between = [(low + high) / 2 for low, high in pairwise(ends)]
        p = np.full(len(b), np.nan)

        def place(cells: NDArray[np.intp], low: int, high: int) -> None:
            """Cells whose p-values lie between the steps before `low` and from `high` on."""
            if low == high or not len(cells):
                p[cells] = between[low]
                return
            at = (low + high) // 2
            side = line.sides(b[cells], m[cells], steps[at], (0, 1))
            p[cells[side == EQUAL]] = float(steps[at])
            place(cells[side == BELOW], low, at)
            place(cells[side == ABOVE], at + 1, high)

        place(np.arange(len(b)), 0, len(steps))
        return p[back]

    def _by_cluster(self, use: Use) -> bool:
        population = self.setting.population
        return population is not None and takes_clusters(use.test, population)

    def value_of(self, use: Use, path: Path) -> Value | None:
        """A field of a test; None when it is not simulated."""
        if self.clustered and not self._by_cluster(use):
            return None  # it would see the items, and these are sums
        make = _FIELDS.get(use.test.name)
        found = None if make is None else make(self, use, path[:-1] if path[-1] in ("low", "high") else path)
        if isinstance(found, tuple):
            return found if path[-1] not in ("low", "high") else found[path[-1] == "high"]
        if found is None and path == ("delta",) and use.test.name != "wilcoxon":
            return self._delta
        return found

    @cached_property
    def _delta(self) -> Floats:
        return np.asarray(self.sums.sum(axis=1) / self.sizes.sum())

    def weighted(self, estimand: str) -> tuple[Floats, Ints]:
        """Sums and sizes under an estimand: clusters alike are items of their own."""
        if estimand == "cluster_weighted":
            return self.sums / self.sizes, np.ones_like(self.sizes)
        return self.sums, self.sizes

    def generator(self, stream: int) -> np.random.Generator:
        """Randomness of one kind of resample."""
        return np.random.default_rng(np.random.SeedSequence([self.seed, stream]))

    def resampled(self, estimand: str) -> tuple[kernel.SharedResamples, Floats]:
        """Shared resamples of the units and delta* of every data set."""
        if estimand not in self._resampled:
            sums, sizes = self.weighted(estimand)
            if estimand not in self.shared:
                self.shared[estimand] = kernel.SharedResamples(sizes, self.generator(1))
            shared = self.shared[estimand]
            self._resampled[estimand] = shared, shared.deltas(sums)
        return self._resampled[estimand]

    @cached_property
    def _resampled(self) -> dict[str, tuple[kernel.SharedResamples, Floats]]:
        return {}

    def flat(self) -> NDArray[np.bool_]:
        """Data sets in which no unit differs from another."""
        means = self.sums / self.sizes
        found: NDArray[np.bool_] = np.ptp(means, axis=1) == 0
        return found

    def decided(self, resampled: Floats) -> Floats:
        """A number read off resamples; undefined where they do not vary."""
        return np.where(self.flat(), np.nan, resampled)


def _bootstrap(sets: SimulatedSets, use: Use, path: Path) -> Value | None:
    method, level = parameter(use.use, "method"), float(parameter(use.use, "level"))  # type: ignore[arg-type]
    estimand = str(parameter(use.use, "estimand") or "item_weighted")
    if parameter(use.use, "convention") != "standard":
        return None
    name = method if path == ("ci",) else path[1] if path[0] == "intervals" else None
    shared, deltas = sets.resampled(estimand)
    sums, sizes = sets.weighted(estimand)
    delta = sums.sum(axis=1) / sizes.sum()
    if path == ("delta",):
        return np.asarray(delta)
    if name in ("percentile", "basic"):
        low, high = shared.quantiles(deltas, ((1 - level) / 2, (1 + level) / 2))
        if name == "basic":
            low, high = 2 * delta - high, 2 * delta - low
        return sets.decided(low), sets.decided(high)
    if path == ("p_value",) and parameter(use.use, "comparison") == ">=":
        p = shared.p_value(deltas, delta, parameter(use.use, "alternative"))  # type: ignore[arg-type]
        p = np.maximum(p, _beyond(sums, sizes, delta, str(parameter(use.use, "alternative"))))
        return np.where(delta == 0, p, sets.decided(p))
    return None


def _beyond(sums: Floats, sizes: Ints, delta: Floats, alternative: str) -> Floats:
    """The chance of such signs alone where p lies beyond every resample, which it then counts as; else 0."""
    up = delta > 0
    means, signs = sums / sizes, np.sign(sums)
    end = np.where(up, means.max(axis=1), -means.min(axis=1))
    most = np.where(up, (signs > 0).sum(axis=1), (signs < 0).sum(axis=1))
    differ = (signs != 0).sum(axis=1)
    chance = np.where(most > 0, special.bdtrc(np.maximum(most - 1.0, 0.0), np.maximum(differ, 1), 0.5), 1.0)
    asked = {"greater": up, "less": delta < 0}.get(alternative, delta != 0)
    tails = 2 if alternative == "two-sided" else 1
    far = asked & (2 * np.abs(delta) > (1 + 1e-9) * end) & (chance >= SIGNS)
    return np.where(far, np.minimum(tails * chance, 1.0), 0.0)


def _clustered_mcnemar(sets: SimulatedSets, use: Use, path: Path) -> Value | None:
    method, alternative = str(parameter(use.use, "method")), parameter(use.use, "alternative")
    level = float(parameter(use.use, "level"))  # type: ignore[arg-type]
    sums, sizes = sets.weighted("cluster_weighted" if method == "durkalski" else "item_weighted")
    error = method[:3] if method in ("cr1_t", "cv3_t") else "cr2"
    delta, se, df = kernel.robust(error, sums, sizes)
    nothing = (sets.won[0] + sets.won[1]).sum(axis=1) == 0 if sets.won else (sets.sums == 0).all(axis=1)
    if path == ("delta",):
        return delta
    if path == ("ci",):
        return kernel.t_interval(delta, se, df, level)
    if path != ("p_value",):
        return None
    if method == "sign_flip":
        p = kernel.swap_p(sets.sums, alternative, sets.generator(2))  # type: ignore[arg-type]
    elif method in CLUSTERED_CHI_SQUARES:
        root = np.sqrt(chi_squares(method, sets.sums, sets.sizes))  # type: ignore[arg-type]
        p = kernel.normal_tail(np.copysign(root, delta), alternative)  # type: ignore[arg-type]
    elif method in ("cr1_t", "cr2_t", "cv3_t"):
        t = np.where(se > 0, delta / np.where(se > 0, se, 1.0), np.nan)
        p = kernel.t_tail(t, df, alternative)  # type: ignore[arg-type]
    else:
        return None
    return np.where(nothing, 1.0, p)


def _randomization(sets: SimulatedSets, use: Use, path: Path) -> Value | None:
    if parameter(use.use, "convention") != "standard" or parameter(use.use, "metric") not in (
        "mean",
        "accuracy",
    ):
        return None
    if path != ("p_value",):
        return None
    return kernel.swap_p(sets.sums, parameter(use.use, "alternative"), sets.generator(2))  # type: ignore[arg-type]


def _equivalence(sets: SimulatedSets, use: Use, path: Path) -> Value | None:
    alpha = float(parameter(use.use, "alpha"))  # type: ignore[arg-type]
    method, margin = parameter(use.use, "method"), _margin(use, sets.sesoi)
    if margin is None or parameter(use.use, "design") != "paired":
        return None
    if method == "bootstrap_ci":
        shared, deltas = sets.resampled("item_weighted")
        if path == ("ci",):
            low, high = shared.quantiles(deltas, (alpha, 1 - alpha))
            return sets.decided(low), sets.decided(high)
        slack = -TIE if parameter(use.use, "bounds") == "seed" else TIE
        lower = shared.share(deltas <= -margin + slack)
        upper = shared.share(deltas >= margin - slack)
        undecided = sets.flat()
    else:
        error = str(parameter(use.use, "cluster_variance")) if sets.clustered else "cr1"
        delta, se, df = kernel.robust(error, sets.sums, sets.sizes)
        if path == ("ci",):
            return kernel.t_interval(delta, se, df, 1 - 2 * alpha)
        undecided = se <= 0
        safe = np.where(undecided, 1.0, se)
        lower = kernel.t_tail((delta + margin) / safe, df, "greater")
        upper = kernel.t_tail((delta - margin) / safe, df, "less")
    found = {"p_lower": lower, "p_upper": upper, "p_value": np.maximum(lower, upper)}.get(path[0])
    if found is None:
        low, high = cast("tuple[Floats, Floats]", _equivalence(sets, use, ("ci",)))
        slack = -TIE if method == "bootstrap_ci" and parameter(use.use, "bounds") == "seed" else TIE
        above, below = low > -margin + slack, high < margin - slack
        if method == "tango":
            above, below = above & (lower < alpha), below & (upper < alpha)
        truths = {
            "equivalent": above & below,
            "noninferior": above,
            "superior": low > TIE,
            "minimum_effect": low > margin + TIE,
        }.get(path[0])
        found = None if truths is None else truths.astype(np.float64)
    return None if found is None else np.where(undecided, np.nan, found)


def _t_test(sets: SimulatedSets, use: Use, path: Path) -> Value | None:
    if parameter(use.use, "method") != "paired":
        return None
    delta, se, df = kernel.robust("cr1", sets.sums, sets.sizes)
    level, alternative = float(parameter(use.use, "level")), parameter(use.use, "alternative")  # type: ignore[arg-type]
    if path == ("ci",):
        return kernel.t_interval(delta, se, df, level)
    if path == ("p_value",):
        t = np.where(se > 0, delta / np.where(se > 0, se, 1.0), np.nan)
        return kernel.t_tail(t, df, alternative)  # type: ignore[arg-type]
    return None


def _wilcoxon(sets: SimulatedSets, use: Use, path: Path) -> Value | None:
    if path != ("p_value",):
        return None
    method, n = parameter(use.use, "method"), sets.sums.shape[1]
    exact = method == "exact" or (method == "auto" and n <= EXACT_WILCOXON)
    step = 0.5 if method == "corrected" else 0.0
    return kernel.signed_rank_p(sets.sums, parameter(use.use, "alternative"), exact=exact, step=step)  # type: ignore[arg-type]


def _margin(use: Use, sesoi: Margin | None) -> float | None:
    given: Any = use.use.parameters.get("margin")
    margin = sesoi if given is None else Margin.model_validate(given)
    return None if margin is None else float(margin.exact())


_FIELDS: dict[str, Callable[[SimulatedSets, Use, Path], Value | None]] = {
    "cluster-bootstrap": _bootstrap,
    "paired-bootstrap": _bootstrap,
    "clustered-mcnemar": _clustered_mcnemar,
    "randomization": _randomization,
    "equivalence": _equivalence,
    "t-test": _t_test,
    "wilcoxon": _wilcoxon,
}


def clause_truths(clause: Clause, value: Value) -> Sets | None:
    """The truth of a clause on the values (T,) of its field, or on both ends of an interval."""
    low, high = value if isinstance(value, tuple) else (value, value)
    interval = isinstance(value, tuple)
    tie = TIE if interval or clause.field.path[-1] in ("delta", "low", "high") else 0.0
    if isinstance(clause, Comparison):
        if interval:
            return None
        return compared(_sides(low, float(clause.value.exact()), tie), clause.operator)
    if isinstance(clause, Excludes):
        limit = float(clause.value.exact())
        return either(compared(_sides(low, limit, tie), ">"), compared(_sides(high, limit, tie), "<"))
    if isinstance(clause, Is):
        return compared(_sides(low, 0.5, 0.0), ">" if clause.value else "<")
    above = compared(_sides(low, float(clause.low.exact()), tie), ">=" if clause.closed else ">")
    below = compared(_sides(high, float(clause.high.exact()), tie), "<=" if clause.closed else "<")
    return both(above, below)


def _sides(value: Floats, limit: float, tie: float) -> Sides:
    with np.errstate(invalid="ignore"):
        gap = value - limit
        side = np.where(np.abs(gap) <= tie, EQUAL, np.where(gap > 0, ABOVE, BELOW))
    return np.where(np.isnan(value), UNDEFINED, side).astype(np.int8)
