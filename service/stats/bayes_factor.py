"""Bayes factors from summary statistics, each with its prior by name, and the posterior they give."""

from __future__ import annotations

import math
from typing import Annotated, Literal, Self

from pydantic import Field, model_validator
from scipy import special

from service.errors import InvalidData
from service.kernels.effects import bayes_factors as kernel
from service.kernels.effects.bayes_factors import LogBayesFactor
from service.stats.shared.declaring.common import Analysis, Finite, Proportion, Request, StatWarning
from service.stats.shared.declaring.registry import stat_test
from service.stats.shared.declaring.warnings import define
from service.words import Message, message, speak

Size = Annotated[int, Field(ge=2, le=10**9)]
Statistic = Annotated[float, Field(ge=-1e100, le=1e100, allow_inf_nan=False)]
Scale = Annotated[float, Field(ge=1e-6, le=1e6, allow_inf_nan=False)]
Label = Literal["anecdotal", "moderate", "strong", "very strong", "extreme"]

CAP = 1e300
"""Bayes factors beyond CAP or below 1/CAP are given as that bound; `log_bf10` is the number itself."""
LABELS: tuple[tuple[float, Label], ...] = (
    (3, "anecdotal"),
    (10, "moderate"),
    (30, "strong"),
    (100, "very strong"),
)

INFINITE_BAYES_FACTOR = define("INFINITE_BAYES_FACTOR", "caution")
BIC_APPROXIMATION = define("BIC_APPROXIMATION", "caution", "Wagenmakers (2007), Psychon Bull Rev 14:779")
BAYES_FACTOR_BOUND = define("BAYES_FACTOR_BOUND", "serious", "Sellke, Bayarri & Berger (2001), Am Stat 55:62")
REGRESSION_PRIOR = define("REGRESSION_PRIOR", "info", "Rouder & Morey (2012), Multivar Behav Res 47:877")
DIRECTION_MISMATCH = define("DIRECTION_MISMATCH", "caution")


class TEvidence(Request):
    """A t statistic. One sample or pairs: n1 alone; two samples: n1 and n2."""

    kind: Literal["t"] = Field(description="Which form of evidence this is.")
    t: Statistic = Field(description="The t statistic, no unit.")
    n1: Annotated[int, Field(ge=1, le=10**9)] = Field(
        description="Observations of the first group, or pairs: a count."
    )
    n2: Annotated[int, Field(ge=1, le=10**9)] | None = Field(
        None, description="Observations of the second group, a count; null: one sample or pairs."
    )
    rscale: Scale = Field(0.707, description="Cauchy scale of the effect size under H1, in SDs.")

    @model_validator(mode="after")
    def _require_freedom(self) -> Self:
        if self.df < 1:
            raise InvalidData.field(
                "evidence.n1", "leaves no degree of freedom", "send at least 2, or 3 in two groups"
            )
        return self

    @property
    def df(self) -> int:
        """The degrees of freedom of t: n1 - 1 for one sample or pairs, n1 + n2 - 2 for two samples."""
        return self.n1 - 1 if self.n2 is None else self.n1 + self.n2 - 2


class FEvidence(Request):
    """An F statistic of fixed effects."""

    kind: Literal["f"] = Field(description="Which form of evidence this is.")
    f: Annotated[float, Field(ge=0, le=1e100, allow_inf_nan=False)] = Field(
        description="The F statistic, no unit."
    )
    df1: Annotated[int, Field(ge=1, le=10**6)] = Field(description="Effects tested, a count.")
    df2: Annotated[int, Field(ge=1, le=10**9)] = Field(description="Residual degrees of freedom, a count.")
    n: Size | None = Field(None, description="Observations, a count; null: df1 + df2 + 1.")
    method: Literal["jzs_regression", "bic"] = Field("jzs_regression", description="The prior under H1.")
    rscale: Scale = Field(0.5, description="Scale of `jzs_regression`, in standardized slopes.")


class CorrelationEvidence(Request):
    """A Pearson correlation, as evidence for or against an effect."""

    kind: Literal["correlation"] = Field(description="Which form of evidence this is.")
    r: Annotated[float, Field(ge=-1, le=1, allow_inf_nan=False)] = Field(
        description="The correlation, no unit."
    )
    n: Annotated[int, Field(ge=3, le=10**9)] = Field(description="Pairs, a count.")
    method: Literal["ly", "wetzels_wagenmakers"] = Field(
        "ly", description="`ly`: exact under a stretched beta prior; `wetzels_wagenmakers`: JZS regression."
    )
    kappa: Annotated[float, Field(ge=0.001, le=2, allow_inf_nan=False)] = Field(
        1.0, description="Width of the stretched beta prior of `ly`; 1 is uniform on (-1, 1)."
    )


class ChiSquareEvidence(Request):
    """A chi-square statistic, by BIC."""

    kind: Literal["chi_square"] = Field(description="Which form of evidence this is.")
    chi_square: Annotated[float, Field(ge=0, le=1e100, allow_inf_nan=False)] = Field(
        description="The chi-square statistic, no unit."
    )
    df: Annotated[int, Field(ge=1, le=10**6)] = Field(1, description="Degrees of freedom, a count.")
    n: Annotated[int, Field(ge=1, le=10**9)] = Field(description="Observations in the table, a count.")


class BinomialEvidence(Request):
    """Successes against a fixed proportion; a Beta prior under H1, exact."""

    kind: Literal["binomial"] = Field(description="Which form of evidence this is.")
    k: Annotated[int, Field(ge=0, le=10**9)] = Field(description="Successes, a count.")
    n: Annotated[int, Field(ge=0, le=10**9)] = Field(description="Trials, a count.")
    p0: Proportion = Field(0.5, description="The proportion under H0.")
    prior_a: Annotated[float, Field(ge=1e-3, le=1e6, allow_inf_nan=False)] = Field(
        1.0, description="First shape of the Beta prior, prior successes."
    )
    prior_b: Annotated[float, Field(ge=1e-3, le=1e6, allow_inf_nan=False)] = Field(
        1.0, description="Second shape of the Beta prior, prior failures."
    )

    @model_validator(mode="after")
    def _require_no_more_than_n(self) -> Self:
        if self.k > self.n:
            raise InvalidData.field("evidence.k", f"is above n = {self.n}", "send successes and trials")
        return self


class PValueEvidence(Request):
    """A p-value alone: only the Vovk-Sellke bound can be given."""

    kind: Literal["p_value"] = Field(description="Which form of evidence this is.")
    p: Annotated[float, Field(gt=0, le=1, allow_inf_nan=False)] = Field(
        description="The p-value, a probability."
    )


Evidence = Annotated[
    TEvidence | FEvidence | CorrelationEvidence | ChiSquareEvidence | BinomialEvidence | PValueEvidence,
    Field(discriminator="kind"),
]


class BayesFactorRequest(Request):
    """A summary statistic and the odds held before the data."""

    evidence: Evidence = Field(description="The summary statistic, by `kind`.")
    prior_odds: Annotated[float, Field(ge=1e-100, le=1e100, allow_inf_nan=False)] = Field(
        1.0, description="P(H1) / P(H0) before the data, no unit."
    )
    direction_match: bool = Field(
        True, description="False: the effect runs against the claimed direction, so the posterior is 0."
    )


class BayesFactorAnalysis(Analysis):
    """How far the data move the odds between an effect and none."""

    bf10: float | None = Field(description="P(data | H1) / P(data | H0), no unit.")
    bf01: float | None = Field(description="1 / bf10, no unit.")
    log_bf10: float | None = Field(description="Natural logarithm of bf10.")
    log_bf10_error: float | None = Field(description="Bound on the absolute error of log_bf10.")
    posterior: float = Field(description="P(H1 | data), a probability.")
    prior_odds: Finite = Field(description="P(H1) / P(H0) before the data, no unit.")
    method: str = Field(description="Statistic and prior.")
    favours: Literal["H1", "H0", "neither"] = Field(description="The hypothesis the data speak for.")
    label: Label = Field(description="A word for the strength, by `label_scheme`; a convention.")
    label_scheme: Literal["lee_wagenmakers_2013"] = Field(
        "lee_wagenmakers_2013", description="Cut points of the label: 3, 10, 30, 100."
    )


@stat_test(
    name="bayes-factor",
    version=1,
    title="Bayes factor from a summary statistic",
    asked="replication",
    example={"evidence": {"kind": "t", "t": -4.062128, "n1": 10, "rscale": 0.70710678}},
)
def bayes_factor(request: BayesFactorRequest) -> BayesFactorAnalysis:
    """Weigh an effect against none: how much likelier are the data under H1 than under H0?

    H0 fixes the effect at zero; H1 spreads it over a prior that the method names. The
    posterior is bf10 odds / (1 + bf10 odds), with the odds held before the data.

    Returns:
        bf10: evidence for an effect; below 1 it is evidence for none.
        log_bf10: its natural logarithm, which never overflows, with the error of its quadrature.
        posterior: probability of an effect, given the prior odds.

    Raises:
        InvalidData: no degree of freedom, or more successes than trials.

    Edge cases:
        |r| = 1: the Bayes factor is infinite, its fields are null, the posterior 1, and a warning says so.
        Beyond 1e300 or below 1e-300: bf10 is that bound, and `bounds` says so.
        direction_match false: the posterior is 0 whatever the Bayes factor.
        A p-value alone gives the Vovk-Sellke bound, 1 from p = 1/e on.
        No trials: bf10 is 1.

    Sources:
        Rouder et al. (2009), Psychon Bull Rev 16:225 (t: JZS, Cauchy prior).
        Liang et al. (2008), JASA 103:410; Rouder & Morey (2012), Multivar Behav Res 47:877 (F).
        Ly, Marsman & Wagenmakers (2018), Stat Neerl 72:4 (r, exact).
        Wetzels & Wagenmakers (2012), Psychon Bull Rev 19:1057 (r, JZS).
        Wagenmakers (2007), Psychon Bull Rev 14:779 (BIC).
        Lee & Wagenmakers (2013), Bayesian Cognitive Modeling (labels).

    Example:
        R's `sleep` data, ten patients under two drugs: t = -4.062128. The R package BayesFactor prints
        17.25888 for `ttestBF(x = extra[group == 1], y = extra[group == 2], paired = TRUE)`, whose scale is
        the root of 1/2.
    """
    factor, method, warnings = weigh(request.evidence)
    log_bf = factor.value
    finite = math.isfinite(log_bf)
    reasons: dict[str, str] = {}
    bounds: dict[str, str] = {}
    bf10 = bf01 = None
    if finite:
        bf10, bf01 = _cap("bf10", log_bf, bounds), _cap("bf01", -log_bf, bounds)
    else:
        warnings = (*warnings, INFINITE_BAYES_FACTOR())
        reasons = dict.fromkeys(("bf10", "log_bf10", "log_bf10_error"), "infinite")
        bf01 = 0.0
    # bf odds / (1 + bf odds) in logs: neither factor overflows, and an infinite log_bf gives exactly 1.
    posterior = float(special.expit(log_bf + math.log(request.prior_odds)))
    if not request.direction_match:
        posterior, warnings = 0.0, (*warnings, DIRECTION_MISMATCH())
    favours: Literal["H1", "H0", "neither"] = "H1" if log_bf > 0 else "H0" if log_bf < 0 else "neither"
    return BayesFactorAnalysis(
        bf10=bf10,
        bf01=bf01,
        log_bf10=log_bf if finite else None,
        log_bf10_error=factor.error if finite else None,
        posterior=posterior,
        prior_odds=request.prior_odds,
        method=method,
        favours=favours,
        label=label_of(log_bf),
        reasons=reasons,
        bounds=bounds,
        warnings=warnings,
        sentence=_describe(request, log_bf, favours, method, posterior),
    )


def weigh(evidence: Evidence) -> tuple[LogBayesFactor, str, tuple[StatWarning, ...]]:
    """Return the log Bayes factor of a summary statistic, its method in words, and its warnings."""
    match evidence:
        case TEvidence(t=t, n1=n1, n2=n2, rscale=rscale):
            # Rouder et al. (2009), eq. 1; for two samples with N = n1 n2 / (n1 + n2).
            effective = n1 if n2 is None else n1 / (n1 + n2) * n2
            factor = kernel.jzs_t(t, effective, evidence.df, rscale)
            design = "paired" if n2 is None else "two_sample"
            return factor, speak(f"analyses.jzs_{design}", scale=f"{rscale:g}"), ()
        case FEvidence(f=f, df1=df1, df2=df2, rscale=rscale):
            n = evidence.n or df1 + df2 + 1
            if evidence.method == "bic":
                return kernel.bic_f(f, df1, df2, n), speak("analyses.bic_f"), (BIC_APPROXIMATION(),)
            factor = kernel.jzs_regression(f, df1, df2, n, rscale)
            return factor, speak("analyses.jzs_f", scale=f"{rscale:g}"), (REGRESSION_PRIOR(),)
        case CorrelationEvidence(r=r, n=n, kappa=kappa):
            if evidence.method == "ly":
                return (
                    kernel.correlation_ly(r, n, kappa),
                    speak("analyses.exact_correlation", kappa=f"{kappa:g}"),
                    (),
                )
            return kernel.correlation_wetzels(r, n), speak("analyses.jzs_correlation"), ()
        case ChiSquareEvidence(chi_square=chi_square, df=df, n=n):
            return (
                kernel.bic_chi_square(chi_square, df, n),
                speak("analyses.bic_chi_square"),
                (BIC_APPROXIMATION(),),
            )
        case BinomialEvidence(k=k, n=n, p0=p0, prior_a=a, prior_b=b):
            return (
                kernel.binomial(k, n, p0, a, b),
                speak("analyses.binomial_prior", a=f"{a:g}", b=f"{b:g}"),
                (),
            )
        case PValueEvidence(p=p):
            bound = LogBayesFactor(kernel.vovk_sellke(p), 0.0)
            return bound, speak("analyses.vovk_sellke"), (BAYES_FACTOR_BOUND(),)


def label_of(log_bf: float) -> Label:
    """Return the word of Lee & Wagenmakers for a Bayes factor in either direction."""
    return next((word for limit, word in LABELS if abs(log_bf) <= math.log(limit)), "extreme")


def _cap(name: str, log_bf: float, bounds: dict[str, str]) -> float:
    """exp(log_bf), or the bound it passes."""
    limit = math.log(CAP)
    if abs(log_bf) <= limit:
        return math.exp(log_bf)
    bounds[name] = f"> {CAP:g}" if log_bf > 0 else f"< {1 / CAP:g}"
    return CAP if log_bf > 0 else 1 / CAP


def _describe(
    request: BayesFactorRequest,
    log_bf: float,
    favours: Literal["H1", "H0", "neither"],
    method: str,
    posterior: float,
) -> str:
    """Describe the strength of the evidence and the chance of H1 after it in one sentence."""
    bound = isinstance(request.evidence, PValueEvidence)
    chance = message(
        f"analyses.bayes_chance{'_at_most' if bound else ''}",
        odds=f"{request.prior_odds:g}",
        posterior=f"{posterior:.4g}",
    )
    if not request.direction_match:
        chance = message("analyses.bayes_against")
    return speak(
        "analyses.bayes_bound" if bound else "analyses.bayes",
        strength=_at_most(log_bf) if bound else _strength(log_bf, favours),
        method=method,
        chance=chance,
    )


def _at_most(log_bf: float) -> Message:
    """Return the bound of a p-value, which never speaks for H0."""
    if log_bf == 0:
        return message("analyses.bayes_at_most_as_likely")
    # exp(690) is about 1e299.7, below the cap of 1e300: what is larger is printed as a power of ten.
    factor = f"{math.exp(log_bf):.4g}" if log_bf < 690 else f"10^{log_bf / math.log(10):.0f}"
    return message("analyses.bayes_at_most", factor=factor, label=_label(log_bf))


def _strength(log_bf: float, favours: Literal["H1", "H0", "neither"]) -> Message:
    if favours == "neither":
        return message("analyses.bayes_as_likely")
    times = abs(log_bf)
    side = "with" if favours == "H1" else "without"
    if math.isinf(times):
        return message(f"analyses.bayes_{side}_infinitely", label=_label(log_bf))
    factor = f"{math.exp(times):.4g}" if times < 690 else "e300"
    return message(f"analyses.bayes_{side}", factor=factor, label=_label(log_bf))


def _label(log_bf: float) -> Message:
    return message(f"analyses.evidence_{label_of(log_bf).replace(' ', '_')}")
