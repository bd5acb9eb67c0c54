"""What tests on runs and seeds share: columns of their own length, and standardized effects."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, model_validator

from service.errors import Fault, InvalidData
from service.kernels.bootstrap.independent_bootstrap import Drawn, resamples
from service.kernels.effects.effect_sizes import (
    LARGEST_EFFECT,
    Effect,
    pooled_sd,
    small_sample_factor,
    standardize,
)
from service.kernels.exact.multisets import MOST
from service.kernels.numeric.distributions import BootstrapDistribution
from service.kernels.numeric.moments import Moments, difference_noise, moments
from service.records import Record
from service.stats.shared.declaring.columns import require_equal_lengths, require_size
from service.stats.shared.declaring.common import Column, Interval, Request, Resampling
from service.stats.shared.declaring.warnings import define

CONSTANT_DATA = define("CONSTANT_DATA", "serious")

BOOTSTRAP_FEW_RUNS = define(
    "BOOTSTRAP_FEW_RUNS", "serious", "Colas, Sigaud & Oudeyer (2018), arXiv:1806.08295"
)
LabelScheme = Literal["cohen_1988", "sawilowsky_2009", "seed4_code"]

_SCHEMES: dict[LabelScheme, tuple[tuple[float, str], ...]] = {
    "cohen_1988": ((0.2, "negligible"), (0.5, "small"), (0.8, "medium"), (np.inf, "large")),
    "sawilowsky_2009": (
        (0.01, "negligible"),
        (0.2, "very small"),
        (0.5, "small"),
        (0.8, "medium"),
        (1.2, "large"),
        (2.0, "very large"),
        (np.inf, "huge"),
    ),
    "seed4_code": ((0.5, "small"), (0.8, "medium"), (np.inf, "large")),
}


class TwoSamples(Request):
    """Two arms, each with its own number of runs; nothing pairs a run with another."""

    baseline: Column = Field(description="Baseline arm, one value per run, score units.")
    candidate: Column = Field(description="Candidate arm, one value per run, score units; any length.")

    @model_validator(mode="after")
    def _require_usable(self) -> Self:
        for name, column in (("baseline", self.baseline), ("candidate", self.candidate)):
            require_values(column, name)
        return self

    def arrays(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return baseline (n0,) and candidate (n1,) as float arrays."""
        return np.asarray(self.baseline, dtype=np.float64), np.asarray(self.candidate, dtype=np.float64)


class OneSample(Request):
    """The request of a test on one column of values, one of each run or item."""

    values: Column = Field(description="One value per run or item, score units.")

    @model_validator(mode="after")
    def _require_usable(self) -> Self:
        require_values(self.values, "values")
        return self

    def array(self) -> NDArray[np.float64]:
        """Return the values as a float array (n,)."""
        return np.asarray(self.values, dtype=np.float64)


def require_values(column: list[float], name: str) -> None:
    """Refuse an empty column and values whose squares overflow."""
    if not column:
        raise InvalidData(f"{name} holds no values", [Fault(name, "is empty", "send at least one value")])
    require_size(np.asarray(column, dtype=np.float64), name)


class EffectSizes(Record):
    """Standardized differences; positive when the candidate is higher."""

    cohens_d: float | None = Field(description="delta / pooled SD (ddof 1), in SDs.")
    cohens_d_ci: Interval | None = Field(description="Noncentral-t interval of Cohen's d.")
    hedges_g: float | None = Field(description="Cohen's d times the exact gamma factor J, in SDs.")
    hedges_g_ci: Interval | None = Field(description="J times the interval of Cohen's d.")
    glass_delta: float | None = Field(description="delta / SD of the baseline (ddof 1), in baseline SDs.")
    cohens_dz: float | None = Field(description="Paired: mean difference / SD of differences, in SDs.")
    cohens_dz_ci: Interval | None = Field(description="Noncentral-t interval of d_z.")
    effect_label: str | None = Field(description="Word for |d| (paired: |d_z|) in the named scheme.")
    effect_label_scheme: LabelScheme = Field(description="Whose cut points the word follows.")


class Arms(NamedTuple):
    """Both arms' moments, and those of the differences when paired."""

    baseline: Moments
    candidate: Moments
    differences: Moments | None

    @property
    def delta(self) -> float:
        """The mean difference, candidate minus baseline."""
        return self.differences.mean if self.differences else self.candidate.mean - self.baseline.mean


def arms_of(baseline: NDArray[np.float64], candidate: NDArray[np.float64], *, paired: bool) -> Arms:
    """Return the moments of two columns; paired columns must have one length."""
    differences = None
    if paired:
        require_equal_lengths({"baseline": list(baseline), "candidate": list(candidate)})
        differences = moments(candidate - baseline, noise=difference_noise(baseline, candidate))
    return Arms(moments(baseline), moments(candidate), differences)


def label_of(d: float, scheme: LabelScheme) -> str:
    """Return the scheme's word for |d|; a d that only rounding keeps from a cut point has reached it."""
    return next(word for below, word in _SCHEMES[scheme] if abs(d) * (1 + 1e-12) < below)


def effect_sizes(arms: Arms, level: float, scheme: LabelScheme, reasons: dict[str, str]) -> EffectSizes:
    """Return every standardized difference that is defined; a null has its reason in `reasons`."""
    baseline, candidate, differences = arms
    d = g = dz = None
    sd = pooled_sd(baseline, candidate)
    no_spread = "one value per arm has no SD" if sd is None else "no spread within the arms"
    cohens_d = hedges_g = glass = None
    too_large = "the spread is nothing beside the difference"
    if differences is None:
        reasons["cohens_dz"] = reasons["cohens_dz_ci"] = "the arms are not paired"
    elif differences.sd:
        dz = standardize(differences.mean, differences.sd, differences.n, differences.n - 1, level)
        if dz is None:
            reasons["cohens_dz"] = reasons["cohens_dz_ci"] = too_large
    else:
        reasons["cohens_dz"] = reasons["cohens_dz_ci"] = (
            "a single pair has no SD" if differences.sd is None else "the differences are constant"
        )
    df = baseline.n + candidate.n - 2
    d = standardize(arms.delta, sd, baseline.n * candidate.n / (df + 2), df, level) if sd else None
    if d is None:
        reasons |= dict.fromkeys(
            ("cohens_d", "cohens_d_ci", "hedges_g", "hedges_g_ci"), too_large if sd else no_spread
        )
    else:
        cohens_d, factor = d.estimate, small_sample_factor(df)
        if factor is None:
            reasons["hedges_g"] = reasons["hedges_g_ci"] = "J is undefined on 1 degree of freedom"
        else:
            g = Effect(factor * d.estimate, factor * d.low, factor * d.high)
            hedges_g = g.estimate
    if differences is not None:
        d = g = None  # their intervals assume independent arms
        if cohens_d is not None:
            reasons["cohens_d_ci"] = reasons["hedges_g_ci"] = "paired arms: read the interval of d_z"
    if baseline.sd and abs(arms.delta / baseline.sd) <= LARGEST_EFFECT:
        glass = arms.delta / baseline.sd
    elif baseline.sd:
        reasons["glass_delta"] = too_large
    else:
        reasons["glass_delta"] = (
            "one baseline value has no SD" if baseline.sd is None else "constant baseline"
        )
    labelled = cohens_d if differences is None else (dz and dz.estimate)
    if labelled is None:
        reasons["effect_label"] = "no standardized effect"
    return EffectSizes(
        cohens_d=cohens_d,
        cohens_d_ci=_interval(d, level),
        hedges_g=hedges_g,
        hedges_g_ci=_interval(g, level),
        glass_delta=glass,
        cohens_dz=dz.estimate if dz else None,
        cohens_dz_ci=_interval(dz, level),
        effect_label=None if labelled is None else label_of(labelled, scheme),
        effect_label_scheme=scheme,
    )


def type_one_error_at(n: int) -> float:
    """Interpolate the type I error of the 95% bootstrap of a difference at n runs per arm from simulated sizes."""
    return float(np.interp(np.log(max(n, 3)), np.log([3, 5, 10, 20]), [0.19, 0.12, 0.09, 0.06]))


def how_obtained(distribution: BootstrapDistribution, seed: int) -> Resampling:
    """Return where a bootstrap distribution comes from: computed, or from how many draws of which seed."""
    if not isinstance(distribution, Drawn):
        return Resampling(exact=True, error_bound=distribution.error)
    return Resampling.drawn(distribution.values.size, seed)


def bootstrap_seconds(samples: Sequence[Sequence[float]], n_resamples: int) -> float:
    """Return the rough cost of the bootstrap of a mean or a difference of two, drawn or by every multiset."""
    several, n = resamples(samples), sum(map(len, samples))
    listed = 3e-7 * several if several <= MOST else 0.0
    return 0.002 + listed + n * (8e-7 + 8e-9 * n_resamples) + 5e-7 * n_resamples


def _interval(effect: Effect | None, level: float) -> Interval | None:
    if effect is None:
        return None
    return Interval(low=effect.low, high=effect.high, level=level, method="noncentral-t")
