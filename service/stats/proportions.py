"""Two shares of right answers on different items: exact unconditional tests, and score intervals."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Annotated, ClassVar, Literal, Self

import numpy as np
from pydantic import Field, model_validator
from scipy import special

from service.errors import Fault, InvalidData
from service.kernels.unpaired import score
from service.kernels.unpaired.unconditional import boschloo_p, fisher_p, margin_p
from service.records import Record
from service.stats.shared.data.pairs import PlainColumn, apply_floor
from service.stats.shared.declaring.columns import require_binary
from service.stats.shared.declaring.common import (
    MAX_ITEMS,
    Alternative,
    Analysis,
    Interval,
    Margin,
    Request,
    StatWarning,
)
from service.stats.shared.declaring.fields import Alpha, DirectionTested, LevelOfAll
from service.stats.shared.declaring.registry import stat_test
from service.stats.shared.declaring.sentences import (
    ci_of,
    decision,
    describe_sides,
    difference_of,
    disagreement,
    p_text,
)
from service.stats.shared.declaring.warnings import FLOOR_ABOVE_ALPHA, define
from service.words import Value, message, speak

Method = Literal["boschloo", "fisher"]
IntervalMethod = Literal["miettinen-nurminen", "newcombe"]

FISHER_CONSERVATIVE = define(
    "FISHER_CONSERVATIVE", "info", "Mehrotra, Chan & Berger (2003), Biometrics 59:441"
)
UNPAIRED_ARMS = define("UNPAIRED_ARMS", "info", "Miller (2024), arXiv:2411.00640")


ItemsOfArm = Annotated[int, Field(ge=0, le=MAX_ITEMS)]


@dataclass(frozen=True, slots=True)
class Shares:
    """Right answers and items of the candidate, and of the baseline."""

    right1: int
    n1: int
    right0: int
    n0: int

    @property
    def delta(self) -> float:
        """The candidate's share right minus the baseline's, a proportion from exact counts."""
        return float(Fraction(self.right1, self.n1) - Fraction(self.right0, self.n0))

    @property
    def counts(self) -> tuple[int, int, int, int]:
        """In the order of the kernels."""
        return self.right1, self.n1, self.right0, self.n0

    @property
    def swapped(self) -> tuple[int, int, int, int]:
        """The table with the arms in each other's place."""
        return self.right0, self.n0, self.right1, self.n1


class ProportionsRequest(Request):
    """Two arms on different items, each right (1) or wrong (0): two columns, or how many of how many."""

    elsewhere: ClassVar = {
        "clusters": "unpaired-difference",
        "covariates": "unpaired-difference",
        "both_correct": "mcnemar",
        "only_candidate": "mcnemar",
    }

    baseline: PlainColumn | None = Field(None, description="Baseline arm, 0 or 1 per item.")
    candidate: PlainColumn | None = Field(
        None, description="Candidate arm, 0 or 1 per item; items of its own, so any length."
    )
    baseline_right: ItemsOfArm | None = Field(None, description="Items the baseline has right, a count.")
    baseline_n: ItemsOfArm | None = Field(None, description="Items of the baseline, a count.")
    candidate_right: ItemsOfArm | None = Field(None, description="Items the candidate has right, a count.")
    candidate_n: ItemsOfArm | None = Field(None, description="Items of the candidate, a count.")
    method: Method = Field(
        "boschloo", description="`boschloo`: exact unconditional; `fisher`: given the total of right answers."
    )
    alternative: Alternative = "two-sided"
    margin: Margin | None = Field(None, description="A loss below this is not inferior; null: not asked.")
    alpha: Alpha = 0.05
    level: LevelOfAll = 0.95

    @model_validator(mode="after")
    def _require_usable(self) -> Self:
        """Refuse anything but both columns or all four counts, and arms without an item."""
        columns = (self.baseline, self.candidate)
        counts = (self.baseline_right, self.baseline_n, self.candidate_right, self.candidate_n)
        has_columns, has_counts = None not in columns, None not in counts
        if has_columns == has_counts or any(x is not None for x in (counts if has_columns else columns)):
            fix = (
                "send baseline and candidate, or baseline_right, baseline_n, candidate_right and candidate_n"
            )
            raise InvalidData(
                "send either the two columns or all four counts",
                [Fault("", "neither form is complete, or both were sent", fix)],
            )
        table = self.table
        for arm, n, right in (("baseline", table.n0, table.right0), ("candidate", table.n1, table.right1)):
            if n == 0:
                path = arm if has_columns else f"{arm}_n"
                raise InvalidData.field(path, "holds no item", "send at least one item in each arm")
            if right > n:
                raise InvalidData.field(f"{arm}_right", f"is more than the {n} items", "mend one of the two")
        if self.margin is not None:
            self.margin.for_endpoint(binary=True)
        return self

    @cached_property
    def table(self) -> Shares:
        """The four counts, from either form; refuses columns that are not binary."""
        if self.baseline is None or self.candidate is None:
            sent = (self.candidate_right, self.candidate_n, self.baseline_right, self.baseline_n)
            return Shares(*(count or 0 for count in sent))
        counts: list[int] = []
        for name, values in (("candidate", self.candidate), ("baseline", self.baseline)):
            column = np.array(values, dtype=np.float64)
            require_binary(column, name)
            counts += [int(column.sum()), len(column)]
        return Shares(*counts)


class Noninferiority(Record):
    """Whether the candidate loses less than the margin."""

    margin: float = Field(description="The loss that would be accepted, a proportion.")
    p_value: float = Field(
        description="Exact unconditional, one-sided, of H0: the candidate loses the margin or more; tables are ordered "
        "by the score statistic there."
    )
    p_score: float = Field(description="The same by the normal law of that statistic.")
    lower: float = Field(description="Miettinen and Nurminen's lower bound of delta at one-sided alpha.")
    noninferior: bool = Field(
        description="The bound lies above minus the margin, and the exact p below alpha."
    )


class ProportionsAnalysis(Analysis):
    """What two independent shares show."""

    delta: float = Field(description="Share right of the candidate minus the baseline's, a proportion.")
    ci: Interval = Field(description="Miettinen and Nurminen's score interval of delta.")
    p_value: float = Field(description="Of the chosen method and alternative; two-sided twice the smaller.")
    method: Method = Field(description="How p was computed.")
    alternative: DirectionTested
    p_fisher: float = Field(description="Fisher's for the same alternative: conservative.")
    baseline_share: float = Field(description="Share right of the baseline, a proportion.")
    candidate_share: float = Field(description="Share right of the candidate, a proportion.")
    baseline_right: int = Field(description="Items the baseline has right, a count.")
    candidate_right: int = Field(description="Items the candidate has right, a count.")
    baseline_n: int = Field(description="Items of the baseline, a count.")
    candidate_n: int = Field(description="Items of the candidate, a count.")
    min_attainable_p: float = Field(description="Least p with so many items: all right against all wrong.")
    intervals: dict[IntervalMethod, Interval] = Field(
        description="Intervals of delta by method, proportions."
    )
    noninferiority: Noninferiority | None = Field(description="Against the margin; null: none was given.")


def _estimate_cost(request: ProportionsRequest) -> float:
    n = request.table.n0 + request.table.n1
    sides = (2 if request.alternative == "two-sided" else 1) * (1.0 if request.method == "boschloo" else 0.01)
    sides += 0.0 if request.margin is None else 1.0
    return 0.005 + sides * (1.1e-3 * math.sqrt(n) + 6e-7 * n)  # only tables within a few SD are weighed


@stat_test(
    name="proportions",
    version=1,
    title="Two independent shares (Boschloo, Miettinen-Nurminen)",
    asked="unpaired",
    example={"baseline_right": 48, "baseline_n": 80, "candidate_right": 56, "candidate_n": 70},
    cost=_estimate_cost,
    serves=frozenset({"unpaired_shares"}),
)
def proportions(request: ProportionsRequest) -> ProportionsAnalysis:
    """Test whether two arms are right equally often, when each was asked items of its own.

    Right answers are Binomial(n0, p0) and Binomial(n1, p1), independent; H0 is p1 = p0, one-sided p1 <= p0. Boschloo's
    test orders tables by Fisher's one-sided p and takes the largest chance, over all common shares, of a table at least
    so far: exact at every n, and never above Fisher's p. At a margin tables are ordered by the score statistic.

    Returns:
        delta: candidate's share minus the baseline's, a proportion in [-1, 1].
        p_value: of the chosen method; two-sided twice the smaller one-sided p.
        ci: Miettinen and Nurminen's score interval; Newcombe's hybrid beside it.
        noninferiority: exact unconditional p of a loss of the margin, the score test's, and its lower bound.

    Raises:
        InvalidData: values other than 0 and 1, an arm without items, more right answers than items, or a margin that is
            no proportion.

    Edge cases:
        Both arms all right, or all wrong: delta 0 and p 1; the interval still has a width.
        Too few items to reach alpha: warning FLOOR_ABOVE_ALPHA.
        `fisher`: warning FISHER_CONSERVATIVE.
        As many items in both arms: UNPAIRED_ARMS, since the same items tell more when they are paired.

    Sources:
        Boschloo (1970), Stat Neerl 24:1. Mehrotra, Chan & Berger (2003), Biometrics 59:441.
        Miettinen & Nurminen (1985), Stat Med 4:213. Newcombe (1998), Stat Med 17:873. Chan (1998), Stat Med 17:1403.

    Example:
        56 of 70 against 48 of 80 (Newcombe 1998, table II a): delta .2, Miettinen-Nurminen .0528 to .3382, Newcombe
        .0524 to .3339.
    """
    table, level = request.table, request.level
    bounds: dict[str, str] = {}
    p_value = apply_floor(_p_value(table, request.method, request.alternative), "p_value", bounds)
    fisher = apply_floor(_p_value(table, "fisher", request.alternative), "p_fisher", bounds)
    least = apply_floor(_least_p(table, request.method, request.alternative), "min_attainable_p", bounds)
    z = float(special.ndtri(0.5 + level / 2))
    ends: dict[IntervalMethod, tuple[float, float]] = {
        "miettinen-nurminen": score.interval(*table.counts, z),
        "newcombe": score.newcombe(*table.counts, z),
    }
    intervals = Interval.by_method(ends, level)
    ci = intervals["miettinen-nurminen"]
    against = (
        None if request.margin is None else _noninferiority(table, request.margin, request.alpha, bounds)
    )
    return ProportionsAnalysis(
        delta=table.delta,
        ci=ci,
        p_value=p_value,
        method=request.method,
        alternative=request.alternative,
        p_fisher=fisher,
        baseline_share=table.right0 / table.n0,
        candidate_share=table.right1 / table.n1,
        baseline_right=table.right0,
        candidate_right=table.right1,
        baseline_n=table.n0,
        candidate_n=table.n1,
        min_attainable_p=least,
        intervals=intervals,
        noninferiority=against,
        reasons={} if against is not None else {"noninferiority": "no margin was given"},
        bounds=bounds,
        warnings=_list_warnings(request, least),
        sentence=speak(
            "analyses.proportions",
            delta=difference_of(table.delta, binary=True),
            interval=ci_of(ci, binary=True),
            right1=table.right1,
            n1=table.n1,
            right0=table.right0,
            n0=table.n0,
            method=request.method.title(),
            alternative=describe_sides(request.alternative),
            decision=decision(p_value, request.alpha, "analyses.equal_shares", bound=bounds.get("p_value")),
            apart=disagreement(ci, p_value, request.alpha, request.alternative, _APART),
            loss=_of_margin(against, request.alpha, bounds),
        ),
    )


_APART = "analyses.apart_miettinen"


def _p_value(table: Shares, method: Method, alternative: Alternative) -> float:
    one_sided: Callable[[int, int, int, int], float] = boschloo_p if method == "boschloo" else fisher_p
    if alternative != "two-sided":
        return one_sided(*(table.counts if alternative == "greater" else table.swapped))
    # `less` is `greater` with the arms swapped: the kernels know one direction.
    return min(1.0, 2 * min(one_sided(*table.counts), one_sided(*table.swapped)))


def _least_p(table: Shares, method: Method, alternative: Alternative) -> float:
    """All of one arm right and all of the other wrong: of Boschloo's, the chance of that at the share n1 / N."""
    n1, n = table.n1, table.n0 + table.n1
    if method == "fisher":
        log = float(special.gammaln(n1 + 1) + special.gammaln(table.n0 + 1) - special.gammaln(n + 1))
    else:
        # p^n1 (1 - p)^n0 is largest at p = n1 / N; Boschloo takes the supremum over p.
        log = n1 * math.log(n1 / n) + table.n0 * math.log(table.n0 / n)
    return min(1.0, float(np.exp(log)) * (2 if alternative == "two-sided" else 1))


def _noninferiority(table: Shares, margin: Margin, alpha: float, bounds: dict[str, str]) -> Noninferiority:
    """Tell whether the candidate loses less than the margin, by the exact unconditional p and the score bound."""
    size = float(margin.for_endpoint(binary=True))
    statistic = float(
        score.scores(np.array([table.right1]), table.n1, np.array([table.right0]), table.n0, -size)[0]
    )
    exact = margin_p(*table.counts, -size)
    lower, _ = score.interval(*table.counts, float(special.ndtri(1 - alpha)))
    return Noninferiority(
        margin=size,
        p_value=apply_floor(exact, "noninferiority.p_value", bounds),
        p_score=apply_floor(float(special.ndtr(-statistic)), "noninferiority.p_score", bounds),
        lower=lower,
        noninferior=lower > -size and exact < alpha,
    )


def _of_margin(against: Noninferiority | None, alpha: float, bounds: dict[str, str]) -> Value:
    if against is None:
        return ""
    p = p_text(against.p_value, bounds.get("noninferiority.p_value"), alpha)
    loss = difference_of(against.margin, binary=True, signed=False)
    phrase = "loss_rejected" if against.noninferior else "loss_open"
    return message(f"analyses.{phrase}", loss=loss, p=p)


def _list_warnings(request: ProportionsRequest, least: float) -> tuple[StatWarning, ...]:
    """Warn of arms of one size, which may be pairs, of Fisher's test, and of items too few for a p below alpha."""
    warnings: list[StatWarning] = []
    if request.table.n0 == request.table.n1:
        warnings.append(UNPAIRED_ARMS(n=request.table.n0))
    if request.method == "fisher":
        warnings.append(FISHER_CONSERVATIVE())
    if least >= request.alpha:
        what = f"{request.table.n0} and {request.table.n1} items"
        warnings.append(FLOOR_ABOVE_ALPHA(what=what, least=least, alpha=request.alpha, more="items"))
    return tuple(warnings)
