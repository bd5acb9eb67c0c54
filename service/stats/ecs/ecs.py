"""Consistency of effect sizes: weighted concordance of two profiles, with the legacy scores beside it."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from typing import Annotated, Literal, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, model_validator
from scipy import special

from service.errors import InvalidData
from service.kernels.agreement.concordance import concordance, concordance_interval
from service.records import Record
from service.stats.ecs.ecs_strict import Strict, list_floored, strict_scores, z_differences
from service.stats.shared.data.pairs import P_FLOOR
from service.stats.shared.declaring.columns import require_equal_lengths
from service.stats.shared.declaring.common import Analysis, Interval, Request, StatWarning
from service.stats.shared.declaring.fields import Level
from service.stats.shared.declaring.registry import stat_test
from service.stats.shared.declaring.sentences import bound_text, level_text
from service.stats.shared.declaring.warnings import define
from service.words import message, speak

MAX_TESTS = 100_000
MIN_TESTS = 3
"""Fewer pairs than this have no concordance."""

LEAST_WEIGHT = 1e-100
"""Beside the largest weight a smaller one would be no share any more, and sums of such have lost their digits."""

Effect = Annotated[float, Field(ge=-1e100, le=1e100, allow_inf_nan=False)]
Effects = Annotated[list[Effect | None], Field(max_length=MAX_TESTS)]
Errors = Annotated[
    list[Annotated[float, Field(ge=0, le=1e100, allow_inf_nan=False)] | None], Field(max_length=MAX_TESTS)
]
Weights = Annotated[
    list[Annotated[float, Field(ge=0, le=1e100, allow_inf_nan=False)]], Field(max_length=MAX_TESTS)
]
Names = Annotated[list[Annotated[str, Field(min_length=1, max_length=512)]], Field(max_length=MAX_TESTS)]

WEIGHT_SCALE = define("WEIGHT_SCALE", "serious", "Lin (1989), Biometrics 45:255")
LEGACY_SCORES = define("LEGACY_SCORES", "info")
RMS_REFERENCE = define("RMS_REFERENCE", "caution")
PAIRS_SKIPPED = define("PAIRS_SKIPPED", "caution")


class ECSRequest(Request):
    """Effects of the same tests in human and agent data, as d-equivalents, in columns of equal length."""

    human: Effects | None = Field(
        None, description="Human effect per test, in SDs (d-equivalent); null: none."
    )
    agent: Effects | None = Field(
        None, description="Agent effect per test, in SDs (d-equivalent); null: none."
    )
    study: Names | None = Field(None, description="Study of each test; left out: one study.")
    finding: Names | None = Field(None, description="Finding of each test; left out: one per study.")
    domain: Names | None = Field(None, description="Domain of each test; left out: no domain level.")
    weights: Weights | None = Field(
        None, description="Weight of each test, no unit, in place of 1 / (findings x tests of the finding)."
    )
    human_se: Errors | None = Field(None, description="Standard error of each human effect, in SDs.")
    agent_se: Errors | None = Field(None, description="Standard error of each agent effect, in SDs.")
    z_diff: Effects | None = Field(
        None,
        description="Known (agent - human) / sqrt(SE^2 + SE^2) per test, no unit, for the strict scores.",
    )
    variant: Literal["lin", "printed_sums"] = Field(
        "lin",
        description="`lin`: moments divided by the total weight; `printed_sums`: as the document prints it.",
    )
    level: Level = 0.95

    @model_validator(mode="after")
    def _require_matching_columns(self) -> Self:
        """Refuse effects or errors without their partner, other lengths, and weights that weigh nothing."""
        if (self.human is None) != (self.agent is None):
            raise InvalidData.field("agent", "comes without its partner", "send human and agent")
        if self.human is None and self.z_diff is None:
            raise InvalidData.field("human", "is missing", "send human and agent, or z_diff")
        if (self.human_se is None) != (self.agent_se is None) or (self.human_se and self.human is None):
            raise InvalidData.field(
                "human_se", "comes without its partner", "send both errors with both effects"
            )
        if self.human_se is not None and self.z_diff is not None:
            raise InvalidData.field("z_diff", "comes with standard errors", "send one of them")
        names = ("human", "agent", "z_diff", "study", "finding", "domain", "weights", "human_se", "agent_se")
        sent = {name: getattr(self, name) for name in names}
        if any(sent.values()):
            require_equal_lengths(sent)
        if self.weights and not any(self.weights):
            raise InvalidData.field("weights", "are all 0", "give some test a weight above 0")
        tiny = next((at for at, w in enumerate(self.weights or ()) if 0 < w < LEAST_WEIGHT), None)
        if tiny is not None:
            raise InvalidData.field(
                f"weights[{tiny}]", "is too small to be computed with", "multiply all weights by one number"
            )
        return self

    @property
    def n(self) -> int:
        """The number of tests sent, those without one of the effects included."""
        return len(self.human if self.human is not None else self.z_diff or ())


class Group(Record):
    """Concordance of one study or domain."""

    name: str = Field(description="The study or domain.")
    ecs: float | None = Field(description="Lin's concordance of the group's tests, no unit, in [-1, 1].")
    pearson: float | None = Field(description="Weighted Pearson correlation, no unit; legacy.")
    n: int = Field(description="Tests with both effects.")


class Caricature(Record):
    """Weighted least squares of agent on human effects: a slope above 1 exaggerates. Legacy."""

    slope: float = Field(description="Agent SDs per human SD.")
    intercept: float = Field(description="Agent effect where the human effect is 0, in SDs.")
    r_squared: float | None = Field(description="Share of agent variance explained, a proportion.")


class ECSAnalysis(Analysis):
    """Consistency of two effect profiles."""

    ecs: float | None = Field(description="Weighted concordance over all tests, no unit, in [-1, 1].")
    fallback_used: bool = Field(False, description="No test was sent, and ecs is the definition's 0.")
    ci: Interval | None = Field(description="Lin's interval of ecs, for equal weights.")
    pearson: float | None = Field(description="Weighted Pearson correlation, no unit; legacy.")
    n: int = Field(description="Tests with both effects.")
    n_skipped: int = Field(description="Tests without one of the effects.")
    mean_human: float | None = Field(description="Weighted mean human effect, in SDs.")
    mean_agent: float | None = Field(description="Weighted mean agent effect, in SDs.")
    sd_human: float | None = Field(description="Weighted SD of human effects, in SDs.")
    sd_agent: float | None = Field(description="Weighted SD of agent effects, in SDs.")
    variant: Literal["lin", "printed_sums"] = Field(description="Whose concordance this is.")
    domains: tuple[Group, ...] = Field(description="Domains in order of appearance, by the weights above.")
    studies: tuple[Group, ...] = Field(description="Every test of a study with weight 1.")
    caricature: Caricature | None = Field(description="Legacy.")
    strict: Strict | None = Field(description="Legacy; null without standard errors or z_diff.")


def _estimate_cost(request: ECSRequest) -> float:
    return 0.001 + 4e-5 * request.n


@stat_test(
    name="ecs",
    version=1,
    title="Consistency of effect sizes (ECS, Lin's concordance)",
    asked="replication",
    example={
        "human": [0.99, 1.135, 0.802, 0.505, 0.983, 1.306, 0.4, 0.307],
        "agent": [1.394, 0.781, 0.928, 1.035, 0.316, 0.395, 0.564, 0.664],
    },
    cost=_estimate_cost,
)
def ecs(request: ECSRequest) -> ECSAnalysis:
    """Measure how closely agent effects repeat human effects, in size and not only in order.

    Lin's concordance is 2 cov / (var + var + squared mean difference): the correlation
    times a penalty for shift and scale. Tests weigh 1 / (findings x tests of the finding)
    of their study, so that every study counts once; within a study every test weighs 1.
    There is no H0: this describes.

    Returns:
        ecs: over all tests; domains and studies beside it.
        ci: for equal weights, Lin's interval on Fisher's scale.
        caricature, pearson, strict: legacy scores, labelled.

    Raises:
        InvalidData: columns of different length, half a pair of columns, weights that are all 0.

    Edge cases:
        Fewer than 3 tests with both effects on a level: null. No test at all: 0, flagged.
        Both columns constant: null when they are equal (0 / 0), 0 when they differ. One constant: 0.
        A test without one of the effects is left out, and counted.
        Strict: one test gives 2 P(Z > |z|); several give both the document's normal tail of the
        root mean square and the right chi-square tail.
        Two standard errors of 0: no z_diff.

    Sources:
        Lin (1989), Biometrics 45:255; correction (2000), Biometrics 56:324.
        PAS/ECS Mathematical Foundations, HumanStudy-Bench (weights and legacy scores).

    Example:
        The eight pairs shown, equal weights: concordance -0.1023, Pearson -0.1032.
    """
    rows = _Rows.of(request)
    sums = request.variant == "printed_sums"
    reasons: dict[str, str] = {}
    warnings: list[StatWarning] = [WEIGHT_SCALE()] if sums else []
    if rows.skipped:
        warnings.append(PAIRS_SKIPPED(n=rows.skipped))
    agreement = None
    if rows.n >= MIN_TESTS:
        agreement = concordance(rows.human, rows.agent, rows.weights, sums=sums)
    ci = None
    if agreement is not None and np.ptp(rows.weights) == 0 and not sums:
        ends = concordance_interval(agreement, rows.n, float(special.ndtri(0.5 + request.level / 2)))
        if ends is not None:
            ci = Interval(low=ends[0], high=ends[1], level=request.level, method="lin_fisher_z")
    strict = _strict(request)
    if strict is not None:
        several = sum(finding.n > 1 for finding in strict.findings)
        warnings += [LEGACY_SCORES(), *([RMS_REFERENCE(n=several)] if several else [])]
    caricature = None
    if agreement is not None and agreement.slope is not None and agreement.intercept is not None:
        # Of least squares on one variable R^2 is the squared correlation.
        squared = None if agreement.pearson is None else agreement.pearson**2
        caricature = Caricature(slope=agreement.slope, intercept=agreement.intercept, r_squared=squared)
    domains = _groups("domains", request.domain, rows, rows.weights, sums, reasons)
    studies = _groups("studies", request.study or ["study"] * request.n, rows, np.ones(rows.n), sums, reasons)
    empty = request.n == 0
    analysis = ECSAnalysis(
        ecs=agreement.ccc if agreement else 0.0 if empty else None,
        fallback_used=empty,
        ci=ci,
        pearson=agreement.pearson if agreement else None,
        n=rows.n,
        n_skipped=rows.skipped,
        mean_human=agreement.mean_x if agreement else None,
        mean_agent=agreement.mean_y if agreement else None,
        sd_human=agreement.sd_x if agreement else None,
        sd_agent=agreement.sd_y if agreement else None,
        variant=request.variant,
        domains=domains,
        studies=studies,
        caricature=caricature,
        strict=strict,
        bounds=dict.fromkeys(list_floored(strict), bound_text(P_FLOOR)) if strict else {},
        warnings=tuple(warnings),
        sentence=_describe(agreement.ccc if agreement else None, ci, rows.n, empty=empty),
    )
    reasons |= _list_reasons(analysis, equal_weights=bool(np.ptp(rows.weights) == 0) if rows.n else True)
    return analysis.model_copy(update={"reasons": reasons})


class _Rows(NamedTuple):
    """The tests with both effects, shape (n,), and where they stood."""

    places: NDArray[np.intp]
    human: NDArray[np.float64]
    agent: NDArray[np.float64]
    weights: NDArray[np.float64]
    n: int
    skipped: int

    @classmethod
    def of(cls, request: ECSRequest) -> _Rows:
        """Return the tests with both effects, weighed as sent, or else so that a study's findings count alike."""
        human, agent = _array(request.human or ()), _array(request.agent or ())
        both = np.flatnonzero(~np.isnan(human) & ~np.isnan(agent))
        studies = request.study or ["study"] * request.n
        findings = request.finding or studies
        if request.weights is not None:
            weights = np.asarray(request.weights, dtype=np.float64)[both]
            if len(both) and not weights.any():
                raise InvalidData.field(
                    "weights", "are 0 for every test with both effects", "weigh one of them"
                )
        else:
            weights = _fair([(studies[i], findings[i]) for i in both])
        return cls(both, human[both], agent[both], weights, len(both), len(human) - len(both))


def _fair(keys: Sequence[tuple[str, str]]) -> NDArray[np.float64]:
    """1 / (findings of the study x tests of the finding)."""
    tests = Counter(keys)
    # Over the keys of a Counter, which are the distinct findings.
    findings = Counter(study for study, _ in tests)
    return np.array([1 / (findings[key[0]] * tests[key]) for key in keys])


def _groups(
    level: str,
    names: Sequence[str] | None,
    rows: _Rows,
    weights: NDArray[np.float64],
    sums: bool,
    reasons: dict[str, str],
) -> tuple[Group, ...]:
    """Return the concordance of the tests of every study or domain, in order of first appearance."""
    members: dict[str, list[int]] = {name: [] for name in names or ()}
    for row, index in enumerate(rows.places):
        if names is not None:
            members[names[index]].append(row)
    groups: list[Group] = []
    for place, (name, members_of) in enumerate(members.items()):
        agreement = None
        if len(members_of) >= MIN_TESTS and weights[members_of].any():
            agreement = concordance(
                rows.human[members_of], rows.agent[members_of], weights[members_of], sums=sums
            )
        ecs, pearson = (agreement.ccc, agreement.pearson) if agreement else (None, None)
        groups.append(Group(name=name, ecs=ecs, pearson=pearson, n=len(members_of)))
        if ecs is None:
            reasons[f"{level}.{place}.ecs"] = _why(len(members_of))
        if pearson is None:
            reasons[f"{level}.{place}.pearson"] = "no spread" if agreement else _why(len(members_of))
    return tuple(groups)


def _why(n: int) -> str:
    return f"fewer than {MIN_TESTS} tests" if n < MIN_TESTS else "both columns are one and the same constant"


def _strict(request: ECSRequest) -> Strict | None:
    """The strict scores, from the z of the difference or from both effects with their standard errors; None without."""
    z = request.z_diff
    if z is None:
        if request.human is None or request.agent is None:
            return None
        if request.human_se is None or request.agent_se is None:
            return None
        z = z_differences(request.agent, request.agent_se, request.human, request.human_se)
    studies = request.study or ["study"] * request.n
    return strict_scores(z, studies, request.finding or studies)


def _list_reasons(analysis: ECSAnalysis, *, equal_weights: bool) -> dict[str, str]:
    """Give for every field that is None why it is, by the field's path."""
    few = f"fewer than {MIN_TESTS} tests with both effects"
    reasons: dict[str, str] = {}
    if analysis.n < MIN_TESTS:
        names = ("pearson", "mean_human", "mean_agent", "sd_human", "sd_agent", "caricature", "ci")
        reasons = dict.fromkeys(names, few)
        if analysis.ecs is None:
            reasons["ecs"] = few
    else:
        if analysis.ecs is None:
            reasons["ecs"] = "both columns are one and the same constant"
        if analysis.pearson is None:
            reasons["pearson"] = "a column has no spread"
        if analysis.caricature is None:
            reasons["caricature"] = "the human column has no spread beside the agent's"
        elif analysis.caricature.r_squared is None:
            reasons["caricature.r_squared"] = "the agent column has no spread"
        if analysis.ci is None:
            lin = analysis.variant == "lin"
            reasons["ci"] = (
                "known for Lin's concordance only"
                if not lin
                else "undefined at this concordance"
                if equal_weights
                else "known for equal weights only"
            )
    if analysis.strict is None:
        reasons["strict"] = "neither standard errors nor z_diff were sent"
    else:
        for index, value in enumerate(analysis.strict.z_diff):
            if value is None:
                for name in ("z_diff", "ecs_test"):
                    reasons[f"strict.{name}.{index}"] = (
                        "an effect or its error is missing, or the errors are 0 beside it"
                    )
    return reasons


def _describe(ecs: float | None, ci: Interval | None, n: int, *, empty: bool) -> str:
    """Say the consistency of the effect sizes with its interval, or that it is not defined."""
    if empty:
        return speak("analyses.ecs_empty")
    if ecs is None:
        return speak("analyses.ecs_undefined", n=n)
    interval = message("analyses.without_interval")
    if ci:
        low, high = f"{ci.low:.3f}", f"{ci.high:.3f}"
        interval = message("analyses.ci", level=level_text(ci.level), low=low, high=high)
    return speak("analyses.ecs", value=float(ecs), interval=interval, n=n)


def _array(values: Sequence[float | None]) -> NDArray[np.float64]:
    return np.array([math.nan if value is None else value for value in values], dtype=np.float64)
