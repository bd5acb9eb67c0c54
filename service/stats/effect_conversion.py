"""Effects of t, F, correlation, chi-square, rank and binomial tests on the scale of Cohen's d."""

from __future__ import annotations

import math
from typing import Annotated, Literal, NamedTuple, Self

from pydantic import Field, model_validator
from scipy import special

from service.errors import InvalidData
from service.kernels.effects import effect_conversion as kernel
from service.stats.shared.declaring.common import Analysis, Interval, Proportion, Request, StatWarning
from service.stats.shared.declaring.fields import Level
from service.stats.shared.declaring.registry import stat_test
from service.stats.shared.declaring.sentences import level_text
from service.stats.shared.declaring.warnings import define
from service.words import message, speak

Size = Annotated[int, Field(ge=1, le=10**9)]
Number = Annotated[float, Field(ge=-1e100, le=1e100, allow_inf_nan=False)]
Scale = Literal["cohens_d", "fisher_z", "log_odds_ratio", "rank_biserial", "proportion", "none"]

HALDANE_ANSCOMBE = define(
    "HALDANE_ANSCOMBE", "caution", "Haldane (1956), Ann Hum Genet 20:309; Anscombe (1956), Biometrika 43:461"
)
RANK_BISERIAL_SE = define("RANK_BISERIAL_SE", "caution")
PROPORTION_D = define("PROPORTION_D", "caution", "Cohen (1988), Statistical Power Analysis, ch. 6")
ZERO_STANDARD_ERROR = define(
    "ZERO_STANDARD_ERROR", "serious", "Brown, Cai & DasGupta (2001), Stat Sci 16:101"
)
NO_N_EFF = define("NO_N_EFF", "info")


class MeanEffect(Request):
    """A t or F test or ANOVA: Cohen's d, or the t statistic it comes from."""

    kind: Literal["t_test", "f_test", "anova"] = Field(description="Which form of effect this is.")
    d: Number | None = Field(None, description="Cohen's d, in SDs.")
    t: Number | None = Field(None, description="t statistic instead of d, no unit.")
    n1: Size = Field(description="Observations of the first group, or pairs: a count.")
    n2: Size | None = Field(None, description="Observations of the second group; null: one sample or pairs.")

    @model_validator(mode="after")
    def _require_one_size(self) -> Self:
        _require_one({"effect.d": self.d, "effect.t": self.t})
        return self


class CorrelationEffect(Request):
    """A Pearson or Spearman correlation, or its Fisher z."""

    kind: Literal["correlation"] = Field(description="Which form of effect this is.")
    r: Annotated[float, Field(ge=-1, le=1, allow_inf_nan=False)] | None = Field(
        None, description="The correlation, no unit."
    )
    z: Annotated[float, Field(ge=-300, le=300, allow_inf_nan=False)] | None = Field(
        None, description="Fisher's z instead of r, no unit."
    )
    n: Size | None = Field(None, description="Pairs, a count.")

    @model_validator(mode="after")
    def _require_one_size(self) -> Self:
        _require_one({"effect.r": self.r, "effect.z": self.z})
        return self


class TableEffect(Request):
    """A 2 x 2 table, or its log odds ratio."""

    kind: Literal["chi_square"] = Field(description="Which form of effect this is.")
    table: (
        Annotated[
            list[Annotated[list[Annotated[int, Field(ge=0, le=10**9)]], Field(min_length=2, max_length=2)]],
            Field(min_length=2, max_length=2),
        ]
        | None
    ) = Field(None, description="Counts [[a, b], [c, d]]; the odds ratio is ad / bc.")
    log_or: Number | None = Field(None, description="Log odds ratio instead of the table, no unit.")
    n: Size | None = Field(None, description="Observations behind log_or, a count.")

    @model_validator(mode="after")
    def _require_one_size(self) -> Self:
        _require_one({"effect.table": self.table, "effect.log_or": self.log_or})
        if self.table is not None and not any(map(any, self.table)):
            raise InvalidData.field("effect.table", "holds no observation", "send the four counts")
        if self.table is not None and self.n is not None:
            raise InvalidData.field("effect.n", "comes with a table", "leave it out: the table is counted")
        return self


class RankEffect(Request):
    """A Mann-Whitney U, or its rank-biserial correlation 1 - 2 U / (n1 n2)."""

    kind: Literal["mann_whitney"] = Field(description="Which form of effect this is.")
    u: Annotated[float, Field(ge=0, le=1e18, allow_inf_nan=False)] | None = Field(
        None, description="U statistic, pairs of observations."
    )
    r_rb: Annotated[float, Field(ge=-1, le=1, allow_inf_nan=False)] | None = Field(
        None, description="Rank-biserial correlation instead of U, no unit."
    )
    n1: Size = Field(description="Observations of the first group, a count.")
    n2: Size = Field(description="Observations of the second group, a count.")

    @model_validator(mode="after")
    def _require_one_size(self) -> Self:
        _require_one({"effect.u": self.u, "effect.r_rb": self.r_rb})
        if self.u is not None and self.u > self.n1 * self.n2:
            raise InvalidData.field("effect.u", "is above n1 n2", "U counts pairs of observations")
        return self


class BinomialEffect(Request):
    """Successes of n trials, or their proportion, against p0."""

    kind: Literal["binomial"] = Field(description="Which form of effect this is.")
    k: Annotated[int, Field(ge=0, le=10**9)] | None = Field(None, description="Successes, a count.")
    p: Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)] | None = Field(
        None, description="Proportion of successes instead of k."
    )
    n: Size | None = Field(None, description="Trials, a count; needed with k.")
    p0: Proportion = Field(0.5, description="The proportion under H0.")

    @model_validator(mode="after")
    def _require_one_size(self) -> Self:
        _require_one({"effect.k": self.k, "effect.p": self.p})
        if self.k is not None and (self.n is None or self.k > self.n):
            raise InvalidData.field(
                "effect.k", "needs at least as many trials n", "send successes and trials"
            )
        return self


class OtherEffect(Request):
    """Any other test: no effect can be converted, and n_eff is 1."""

    kind: Literal["other"] = Field(description="Which form of effect this is.")


Effect = Annotated[
    MeanEffect | CorrelationEffect | TableEffect | RankEffect | BinomialEffect | OtherEffect,
    Field(discriminator="kind"),
]


class EffectConversionRequest(Request):
    """One effect of one test."""

    effect: Effect = Field(description="The effect, by `kind` of test.")
    level: Level = 0.95


class EffectConversionAnalysis(Analysis):
    """An effect on its own scale and as a d-equivalent."""

    effect: float | None = Field(description="The effect on `scale`.")
    scale: Scale = Field(description="Where `effect`, `se` and `ci` live.")
    se: float | None = Field(description="Standard error of `effect`, on `scale`.")
    ci: Interval | None = Field(description="effect -+ z se, on `scale`.")
    d_equivalent: float | None = Field(description="The effect as a Cohen's d, in SDs.")
    n_eff: float = Field(description="Effective sample size, the weight in pooling: a count.")
    haldane_applied: bool = Field(description=".5 was added to every cell of the table.")
    alternatives: dict[str, float] = Field(
        description="Other definitions by name: `cohens_h`, `r`, `se_reference_code`; in their own units."
    )


class _Converted(NamedTuple):
    effect: float | None
    scale: Scale
    se: float | None
    d: float | None
    n_eff: float
    alternatives: dict[str, float]
    warnings: tuple[StatWarning, ...] = ()
    haldane: bool = False


@stat_test(
    name="effect-conversion",
    version=1,
    title="Effect sizes on one scale (d-equivalents)",
    asked="replication",
    example={"effect": {"kind": "chi_square", "table": [[10, 5], [4, 12]]}},
    cost=lambda _request: 0.0003,
    closed_form=True,
)
def effect_conversion(request: EffectConversionRequest) -> EffectConversionAnalysis:
    """Bring the effect of any test to Cohen's d, with its standard error and effective n.

    Each kind has its own scale, where its error is about normal: d, Fisher's z, the log
    odds ratio, the rank-biserial correlation, a proportion. There is no H0: this describes.

    Returns:
        effect, se, ci: on the kind's own scale.
        d_equivalent: d; 2r / sqrt(1 - r^2); log OR sqrt(3) / pi; 2 (p - p0) / sqrt(p0 (1 - p0)).
        n_eff: n1 + n2, n, or the table's total; 1 where no size is known.

    Raises:
        InvalidData: none or two forms of one effect, an empty table, more successes than trials.

    Edge cases:
        A zero cell: .5 is added to all four (Haldane-Anscombe), flagged.
        |r| = 1: effect and d are infinite, given as null. n up to 3: the SE of Fisher's z is null.
        All or no successes: SE 0 by the formula, with a warning.
        The sign of a rank-biserial correlation depends on whose U was sent.

    Sources:
        PAS/ECS Mathematical Foundations, HumanStudy-Bench (the document).
        Hedges & Olkin (1985), Statistical Methods for Meta-Analysis, ch. 5 (SE of d).
        Hasselblad & Hedges (1995), Psychol Bull 117:167 (log odds ratio to d).
        Wendt (1972), Eur J Soc Psychol 2:463 (rank-biserial correlation).

    Example:
        Table 10, 5, 4, 12: log odds ratio ln 6 = 1.792 with SE 0.796, d-equivalent 0.988.
    """
    converted = convert(request.effect)
    reasons = _list_reasons(converted, request.effect)
    ci = None
    if converted.effect is not None and converted.se is not None:
        half = float(special.ndtri(0.5 + request.level / 2)) * converted.se
        ci = Interval(
            low=converted.effect - half, high=converted.effect + half, level=request.level, method="wald"
        )
    return EffectConversionAnalysis(
        effect=converted.effect,
        scale=converted.scale,
        se=converted.se,
        ci=ci,
        d_equivalent=converted.d,
        n_eff=converted.n_eff,
        haldane_applied=converted.haldane,
        alternatives=converted.alternatives,
        reasons=reasons,
        warnings=converted.warnings,
        sentence=_describe(converted, ci),
    )


def convert(effect: Effect) -> _Converted:
    """Convert one effect to its own scale and to a d-equivalent."""
    match effect:
        case MeanEffect(d=d, t=t, n1=n1, n2=n2):
            size = d if d is not None else kernel.d_from_t(t or 0.0, n1, n2)
            return _Converted(
                size, "cohens_d", kernel.d_standard_error(size, n1, n2), size, n1 + (n2 or 0), {}
            )
        case CorrelationEffect():
            return _correlation(effect)
        case TableEffect():
            return _table(effect)
        case RankEffect(u=u, r_rb=r_rb, n1=n1, n2=n2):
            r = r_rb if r_rb is not None else kernel.rank_biserial(u or 0.0, n1, n2)
            se, other = kernel.rank_biserial_errors(r, n1, n2)
            alternatives = {"se_reference_code": other}
            d = kernel.d_from_correlation(r)
            # The document gives a rank-biserial correlation the d of a correlation and the error of a d; both are
            # kept, labelled.
            return _Converted(r, "rank_biserial", se, d, n1 + n2, alternatives, (RANK_BISERIAL_SE(),))
        case BinomialEffect(n=n, p0=p0):
            return _proportion(effect, n, p0)
        case OtherEffect():
            return _Converted(None, "none", None, None, 1, {}, (NO_N_EFF(),))


def _correlation(effect: CorrelationEffect) -> _Converted:
    """Return a correlation on Fisher's z scale, with its standard error where n is known, and d."""
    if effect.z is not None:
        z: float | None = effect.z
        # d = 2 r / sqrt(1 - r^2) is 2 sinh(z): taken from z itself, since tanh(20) is already 1 in floats.
        r, d = math.tanh(effect.z), kernel.d_from_fisher_z(effect.z)
    else:
        r = effect.r or 0.0
        z, d = kernel.fisher_z(r), kernel.d_from_correlation(r)
    se = kernel.fisher_z_standard_error(effect.n) if effect.n is not None else None
    return _Converted(z, "fisher_z", se, d, effect.n or 1, {"r": r}, _warn_without_size(effect.n))


def _table(effect: TableEffect) -> _Converted:
    """Return the log odds ratio of a fourfold table, or as sent, and d = log OR sqrt(3) / pi."""
    if effect.table is None:
        log_or = effect.log_or or 0.0
        d = kernel.d_from_log_odds(log_or)
        return _Converted(log_or, "log_odds_ratio", None, d, effect.n or 1, {}, _warn_without_size(effect.n))
    (a, b), (c, d_) = effect.table
    cells, empty = kernel.haldane_anscombe((a, b, c, d_))
    log_or, se = kernel.log_odds_ratio(*cells)
    warnings = (HALDANE_ANSCOMBE(),) if empty else ()
    d = kernel.d_from_log_odds(log_or)
    return _Converted(log_or, "log_odds_ratio", se, d, a + b + c + d_, {}, warnings, empty)


def _proportion(effect: BinomialEffect, n: int | None, p0: float) -> _Converted:
    """Return a share with its binomial standard error, and how far it is from `p0` as d and Cohen's h."""
    # The validator has seen to it that n comes with k; `or` is for the types alone.
    p = effect.p if effect.p is not None else (effect.k or 0) / (n or 1)
    se = math.sqrt(p * (1 - p) / n) if n is not None else None
    warnings: tuple[StatWarning, ...] = (PROPORTION_D(), *_warn_without_size(n))
    if se == 0:
        warnings = (*warnings, ZERO_STANDARD_ERROR())
    alternatives = {"cohens_h": kernel.cohens_h(p, p0)}
    d = kernel.d_from_proportion(p, p0)
    return _Converted(p, "proportion", se, d, n or 1, alternatives, warnings)


def _warn_without_size(n: int | None) -> tuple[StatWarning, ...]:
    return () if n is not None else (NO_N_EFF(),)


def _list_reasons(converted: _Converted, effect: Effect) -> dict[str, str]:
    """Give for every field that is None why it is."""
    unknown = isinstance(effect, OtherEffect)
    reasons: dict[str, str] = {}
    if converted.effect is None:
        reasons["effect"] = "no conversion is known for this kind" if unknown else "infinite"
    if converted.d is None:
        reasons["d_equivalent"] = reasons.get("effect", "infinite")
    if converted.se is None:
        match effect:
            case OtherEffect():
                reasons["se"] = "no effect"
            case TableEffect():
                reasons["se"] = "needs the table"
            case CorrelationEffect(n=int()):
                reasons["se"] = "needs more than 3 pairs"
            case _:
                reasons["se"] = "needs the sample size"
    if converted.effect is None or converted.se is None:
        reasons["ci"] = "effect or standard error is undefined"
    return reasons


def _describe(converted: _Converted, ci: Interval | None) -> str:
    """Say Cohen's d with its interval, beside the effect on its own scale."""
    if converted.d is None:
        return speak("analyses.no_d")
    own = (
        ""
        if converted.effect is None
        else message(f"analyses.scale_{converted.scale}", value=f"{converted.effect:.4g}")
    )
    interval = message("analyses.without_interval")
    if ci:
        low, high = f"{ci.low:.4g}", f"{ci.high:.4g}"
        interval = message("analyses.ci", level=level_text(ci.level), low=low, high=high)
    return speak("analyses.converted", value=f"{converted.d:+.4g}", own=own, interval=interval)


def _require_one(forms: dict[str, object]) -> None:
    if sum(value is not None for value in forms.values()) != 1:
        names = " or ".join(name.removeprefix("effect.") for name in forms)
        raise InvalidData.field(next(iter(forms)), f"send exactly one of {names}", f"send {names}")
