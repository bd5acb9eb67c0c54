"""Several hypotheses at once: adjusted p-values."""

from __future__ import annotations

from typing import Annotated, Literal, Self

import numpy as np
from pydantic import Field, model_validator

from service.errors import InvalidData
from service.kernels.multiplicity import corrections
from service.kernels.multiplicity.corrections import Method
from service.stats.shared.data.pairs import apply_floor
from service.stats.shared.declaring.common import Analysis, Labels, Probability, Proportion, Request
from service.stats.shared.declaring.registry import stat_test
from service.stats.shared.declaring.warnings import define
from service.words import message, speak

MAX_FAMILY = 5_000

NEVER_RAN = define("NEVER_RAN", "caution")
NEEDS_DEPENDENCE = define(
    "NEEDS_DEPENDENCE",
    "info",
    "Sarkar (1998), Ann Stat 26:494; Benjamini & Yekutieli (2001), Ann Stat 29:1165",
)
ZERO_P = define("ZERO_P", "serious", "Phipson & Smyth (2010), Stat Appl Genet Mol Biol 9:39")


class MultipleComparisonsRequest(Request):
    """The p-values of one family, fixed before the data."""

    p_values: Annotated[list[Probability | None], Field(min_length=1, max_length=MAX_FAMILY)] = Field(
        description="One per hypothesis, in order; null for one that never ran."
    )
    labels: Labels | None = Field(None, description="Names of the hypotheses, same order.")
    method: Method = Field("holm", description="bh and by control the false discovery rate, others the FWER.")
    alpha: Proportion = Field(0.05, description="Error rate over the family, a proportion.")

    @model_validator(mode="after")
    def _require_equal_lengths(self) -> Self:
        if self.labels is not None and len(self.labels) != len(self.p_values):
            raise InvalidData.field(
                "labels",
                f"has {len(self.labels)} names for {len(self.p_values)} p-values",
                "send one name each",
            )
        return self


class MultipleComparisonsAnalysis(Analysis):
    """Adjusted p-values in the order sent."""

    adjusted: tuple[float, ...] = Field(description="Adjusted p-values, in the order sent.")
    reject: tuple[bool, ...] = Field(description="adjusted < alpha, in the order sent.")
    n_rejected: int = Field(description="Hypotheses.")
    n: int = Field(description="Hypotheses in the family.")
    n_never_ran: int = Field(description="Hypotheses without a p-value, entered as 1.")
    method: Method = Field(description="As asked.")
    error_rate: Literal["familywise", "false discovery"] = Field(
        description="The rate that the method holds."
    )
    alpha: float = Field(description="Error rate over the family, a proportion.")
    labels: tuple[str | int, ...] | None = Field(description="As sent; null when not sent.")


def _estimate_cost(request: MultipleComparisonsRequest) -> float:
    n = len(request.p_values)
    return 0.0004 + 6e-7 * n + 3e-10 * n * n


@stat_test(
    name="multiple-comparisons",
    version=1,
    title="Multiple comparisons (Holm, Hochberg, Hommel, BH, BY, fixed sequence)",
    asked="hypotheses",
    example={
        "p_values": [
            0.0001, 0.0004, 0.0019, 0.0095, 0.0201, 0.0278, 0.0298, 0.0344,
            0.0459, 0.324, 0.4262, 0.5719, 0.6528, 0.759, 1.0,
        ],
        "method": "bh",
    },
    cost=_estimate_cost,
    closed_form=True,
    serves=frozenset({"family"}),
)  # fmt: skip
def multiple_comparisons(request: MultipleComparisonsRequest) -> MultipleComparisonsAnalysis:
    """Adjust the p-values of a family of hypotheses.

    H0 of each is rejected when its adjusted p is below alpha, as everywhere here. Bonferroni, Holm, Hochberg,
    Hommel and fixed sequence hold the chance of any false rejection, bh and by the expected
    share of false ones among the rejected.

    Returns:
        adjusted: adjusted p-values in the order sent.
        reject: which hypotheses are rejected at alpha.

    Raises:
        InvalidData: labels that do not match the p-values.

    Edge cases:
        A p of 0, or below 1e-300: the adjusted value is a bound, warning ZERO_P.
        null (never ran): enters as 1, warning NEVER_RAN.
        fixed_sequence: the order sent is the order of testing; after the first failure all fail.
        One hypothesis: every method returns its p unchanged.
        A rule that needs all of several clauses at once needs no adjustment; one that needs any does.

    Sources:
        Holm (1979), Scand J Stat 6:65. Hochberg (1988), Biometrika 75:800.
        Hommel (1988), Biometrika 75:383. Wright (1992), Biometrics 48:1005.
        Benjamini & Hochberg (1995), J R Stat Soc B 57:289.
        Benjamini & Yekutieli (2001), Ann Stat 29:1165.

    Example:
        The 15 p-values of Benjamini & Hochberg (1995): bh rejects 4 at .05, Bonferroni 3.
    """
    # What never ran enters as 1, so that the family keeps the size it was planned with.
    p = np.array([1.0 if value is None else value for value in request.p_values])
    adjusted = corrections.ADJUST[request.method](p)
    reject = adjusted < request.alpha
    missing = sum(value is None for value in request.p_values)
    bounds: dict[str, str] = {}
    printed = tuple(
        apply_floor(float(value), f"adjusted.{index}", bounds) for index, value in enumerate(adjusted)
    )
    warnings = []
    if bounds:
        warnings.append(ZERO_P(count=len(bounds)))
    if missing:
        warnings.append(NEVER_RAN(count=missing, m=p.size))
    instead = {"hochberg": "holm", "hommel": "holm", "bh": "by"}.get(request.method)
    if instead and p.size > 1:
        warnings.append(NEEDS_DEPENDENCE(method=request.method, instead=instead))
    rate: Literal["familywise", "false discovery"] = (
        "false discovery" if request.method in ("bh", "by") else "familywise"
    )
    count = int(reject.sum())
    return MultipleComparisonsAnalysis(
        adjusted=printed,
        reject=tuple(bool(value) for value in reject),
        n_rejected=count,
        n=p.size,
        n_never_ran=missing,
        method=request.method,
        error_rate=rate,
        alpha=request.alpha,
        labels=None if request.labels is None else tuple(request.labels),
        reasons={} if request.labels is not None else {"labels": "none were sent"},
        bounds=bounds,
        warnings=tuple(warnings),
        sentence=speak(
            "analyses.multiple",
            count=count,
            n=p.size,
            method=request.method,
            rate=message(f"analyses.{rate.replace(' ', '_')}"),
            alpha=f"{request.alpha:.10g}",
        ),
    )
