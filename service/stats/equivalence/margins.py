"""What an interval and two one-sided tests say about a margin, however they were computed."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field, replace
from typing import Literal

from service.kernels.bootstrap.bootstrap_draws import Draws
from service.kernels.numeric.distributions import BootstrapDistribution
from service.kernels.pairs.two_one_sided import TwoOneSided, by_t
from service.stats.shared.data.clustering import NO_CLUSTERS
from service.stats.shared.data.pairs import P_FLOOR
from service.stats.shared.declaring import certainty
from service.stats.shared.declaring.certainty import Range
from service.stats.shared.declaring.common import Resampling, StatWarning
from service.stats.shared.declaring.warnings import DEGENERATE, MC_UNRESOLVED, warn_if_unresolved
from service.stats.shared.methods.resampling import compute_p, resampling_of, resolution_of

TIE = 1e-9
"""An interval end this close to a bound counts as equal to it; of scores in units of the margin, or of the interval."""

STATISTICS = ("t_lower", "t_upper", "z_lower", "z_upper", "df", "se")

Conclusion = Literal["positive", "negative", "equivalent", "inconclusive"]

TANGO_DECIDES = "for binary pairs use tango"


@dataclass(frozen=True)
class Evidence:
    """An interval, the p of H0 delta <= -margin and of H0 delta >= margin; null where undecided."""

    ci_method: str
    low: float | None = None
    high: float | None = None
    p_lower: float | None = None
    p_upper: float | None = None
    statistics: dict[str, float] = field(default_factory=dict)
    floor: float = P_FLOOR
    warnings: tuple[StatWarning, ...] = ()
    resampling: Resampling | None = None
    within: dict[str, Range] = field(default_factory=dict)
    """What drawn numbers are known to lie in, by path."""

    undecided: dict[str, str] = field(default_factory=dict)

    @property
    def decided(self) -> bool:
        """False where the data cannot be weighed."""
        return self.p_lower is not None and self.p_upper is not None

    @property
    def p_value(self) -> float | None:
        """The p-value of equivalence: the larger of the two one-sided ones (Schuirmann 1987); None where undecided."""
        return None if self.p_lower is None or self.p_upper is None else max(self.p_lower, self.p_upper)

    def reason(self, name: str) -> str:
        """Say why a field of the answer is null."""
        if name == "n_clusters":
            return NO_CLUSTERS
        if name == "n_discordant":
            return "the arms do not share items"
        if name in STATISTICS and self.decided:
            return f"not a statistic of {self.ci_method}"
        return "the differences do not vary, or there is a single item"


@dataclass(frozen=True, slots=True)
class Decisions:
    """What is excluded; all null where undecided."""

    equivalent: bool | None = None
    noninferior: bool | None = None
    superior: bool | None = None
    minimum_effect: bool | None = None
    conclusion: Conclusion | None = None


def of_tests(name: str, tests: TwoOneSided, prefix: Literal["t", "z"], **more: float) -> Evidence:
    """Return evidence from two one-sided tests; `more` are further statistics."""
    statistics = {f"{prefix}_lower": tests.lower, f"{prefix}_upper": tests.upper, **more}
    return Evidence(name, tests.low, tests.high, tests.p_lower, tests.p_upper, statistics)


def of_t(name: str, delta: float, error: tuple[float, float], margin: float, alpha: float) -> Evidence:
    """Return evidence from a standard error and its degrees of freedom."""
    se, df = error
    if se == 0 or df <= 0:
        return Evidence(name, statistics={"se": se}, warnings=(DEGENERATE(instead=TANGO_DECIDES),))
    return of_tests(name, by_t(delta, se, df, margin, alpha), "t", df=df, se=se)


def of_bootstrap(
    name: str, distribution: BootstrapDistribution, units: int, margin: float, alpha: float, *,
    touch: bool, seed: int | None, noise: float,
) -> Evidence:  # fmt: skip
    """Return evidence from a bootstrap of `units` items or clusters.

    `touch`: the interval may reach the margin. A spread of at most `noise` is rounding, not variation.
    """
    low, high, se = distribution.quantile(alpha), distribution.quantile(1 - alpha), distribution.moments()[1]
    if se <= noise:
        flat = (DEGENERATE(instead=TANGO_DECIDES),)
        return Evidence(
            name, low, high, statistics={"se": se}, warnings=flat, undecided={"ci": certainty.FLAT}
        )
    resampling = resampling_of(distribution, seed)
    shares = distribution.at_most(-margin, strict=touch), distribution.at_least(margin, strict=touch)
    within, undecided = (
        _bound_draws(distribution, alpha, shares) if isinstance(distribution, Draws) else ({}, {})
    )
    evidence = Evidence(
        name,
        low,
        high,
        compute_p(shares[0], distribution),
        compute_p(shares[1], distribution),
        {"se": se},
        max(resolution_of(distribution, units), find_least_known(units)),
        resampling=resampling,
        within=within,
        undecided=undecided,
    )
    return replace(evidence, warnings=_near_alpha(evidence.p_value, resampling, alpha))


def find_least_known(units: int) -> float:
    """Return what a bootstrap's p is known not to be below: the chance that all units lie on one side of the margin."""
    return 2.0**-units


def _bound_draws(
    drawn: Draws, alpha: float, shares: tuple[float, float]
) -> tuple[dict[str, Range], dict[str, str]]:
    """Return what the drawn ends and shares are known to lie in, and the ends of which nothing is known."""
    draws = len(drawn.estimates)
    ends = {
        "ci.low": certainty.of_quantile(drawn.quantile, draws, alpha),
        "ci.high": certainty.of_quantile(drawn.quantile, draws, 1 - alpha),
    }
    within = {path: range_ for path, range_ in ends.items() if range_ is not None}
    lower, upper = (certainty.of_share(share, draws) for share in shares)
    within |= {"p_lower": lower, "p_upper": upper}
    # The maximum rises in both, so its range goes from the larger least to the larger greatest.
    within["p_value"] = max(lower[0], upper[0]), max(lower[1], upper[1])
    return within, dict.fromkeys(ends.keys() - within.keys(), certainty.DRAWN)


def _near_alpha(p: float | None, resampling: Resampling, alpha: float) -> tuple[StatWarning, ...]:
    """MC_UNRESOLVED for draws, ERROR_UNRESOLVED for a computed p, when p cannot be told from alpha."""
    if p is None or resampling.n_resamples is None:
        return warn_if_unresolved(p, resampling.error_bound, alpha)
    se = (p * (1 - p) / resampling.n_resamples) ** 0.5
    return (MC_UNRESOLVED(p=p, se=se, alpha=alpha),) if abs(p - alpha) <= 3 * se else ()


def tie_of(margin: float, low: float, high: float, *, binary: bool) -> float:
    """Return how close an end may come to a bound and be equal to it: rounding is as large as what is rounded."""
    return TIE if binary else TIE * max(margin, high - low)


def decide(
    evidence: Evidence, margin: float, alpha: float, *, touch: bool, by_p: bool, binary: bool
) -> Decisions:
    """Read the interval against 0 and the margin; `by_p`: a p-value has to be below alpha as well."""
    if evidence.low is None or evidence.high is None or evidence.p_lower is None or evidence.p_upper is None:
        return Decisions()
    tie = tie_of(margin, evidence.low, evidence.high, binary=binary)
    slack = -tie if touch else tie
    above, below = evidence.low > -margin + slack, evidence.high < margin - slack
    if by_p:
        above, below = above and evidence.p_lower < alpha, below and evidence.p_upper < alpha
    if evidence.floor >= alpha:  # so few units that no p of theirs is known to be below alpha
        return Decisions(*(False,) * 4, "inconclusive")
    # Against 0 at the same 1 - 2 alpha interval: one-sided alpha, without correction (Morikawa & Yoshida 1995).
    superior, inferior = evidence.low > tie, evidence.high < -tie
    conclusion: Conclusion = "positive" if superior else "negative" if inferior else "inconclusive"
    return Decisions(
        equivalent=above and below,
        noninferior=above,
        superior=superior,
        minimum_effect=evidence.low > margin + tie,
        conclusion="equivalent" if above and below else conclusion,
    )


def list_undecided(
    evidence: Evidence, margin: float, alpha: float, *, touch: bool, by_p: bool, binary: bool
) -> dict[str, str]:
    """Return what no rule may rest on: decisions that an end would turn by moving where it may lie."""
    if not evidence.decided or not (evidence.within or evidence.undecided):
        return evidence.undecided
    if evidence.undecided:
        return {**evidence.undecided, **dict.fromkeys(asdict(Decisions()), certainty.DRAWN)}
    # Decisions only turn as an end crosses a bound: the corners of its range show every decision there can be.
    says = [
        decide(replace(evidence, low=low, high=high), margin, alpha, touch=touch, by_p=by_p, binary=binary)
        for low in evidence.within["ci.low"]
        for high in evidence.within["ci.high"]
    ]
    turned = (name for name in asdict(says[0]) if len({getattr(decisions, name) for decisions in says}) > 1)
    return dict.fromkeys(turned, certainty.DRAWN)
