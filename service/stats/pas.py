"""Agreement of replication decisions: per test, pooled to findings, averaged to studies."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Annotated, Literal, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, model_validator

from service.errors import InvalidData
from service.kernels.agreement.concordance import (
    CLAMP,
    NEUTRAL,
    pool_correlations,
    posterior,
    same_state,
    three_states,
)
from service.records import Record
from service.stats.shared.declaring.common import Analysis, Probability, Request, StatWarning
from service.stats.shared.declaring.fields import FindingName, StudyName
from service.stats.shared.declaring.registry import stat_test
from service.stats.shared.declaring.warnings import define
from service.words import speak

Variant = Literal["document", "reference_code", "three_state"]
Name = Annotated[str, Field(min_length=1, max_length=512)]
EMPTY_PAS, EMPTY_NORMALIZED = 0.5, 0.0
"""PAS and its normalized score where there is no evidence: no better and no worse than chance."""

DIRECTION_IGNORED = define("DIRECTION_IGNORED", "serious")
CEILING_EXCEEDED = define("CEILING_EXCEEDED", "caution")
FALLBACK_USED = define("FALLBACK_USED", "caution")
REFERENCE_CODE = define("REFERENCE_CODE", "info")


class Side(Request):
    """What one side's data say of an effect: a posterior, or a Bayes factor with its prior odds."""

    pi: Probability | None = Field(None, description="Posterior probability of an effect.")
    bf10: Annotated[float, Field(ge=0, allow_inf_nan=False)] | Literal["inf", "nan"] | None = Field(
        None, description="Bayes factor, no unit; `inf` gives 1, `nan` or null gives .5, flagged."
    )
    log_bf10: Annotated[float, Field(allow_inf_nan=False)] | None = Field(
        None, description="Natural logarithm of the Bayes factor, instead of it."
    )
    prior_odds: Annotated[float, Field(ge=1e-100, le=1e100, allow_inf_nan=False)] = Field(
        1.0, description="P(effect) / P(none) before the data, for a Bayes factor; no unit."
    )
    direction: Literal[-1, 0, 1] = Field(0, description="Sign of the effect; 0: unknown.")
    direction_match: bool = Field(
        True, description="False: the effect runs against the claim, so the posterior is 0."
    )

    @model_validator(mode="after")
    def _require_one_source(self) -> Self:
        if sum(value is not None for value in (self.pi, self.bf10, self.log_bf10)) > 1:
            raise InvalidData.field("pi", "comes with a Bayes factor", "send one of pi, bf10 and log_bf10")
        return self

    def posterior(self) -> tuple[float, bool]:
        """Return the posterior of an effect, and whether it is the fallback of .5."""
        if not self.direction_match:
            return 0.0, False
        if self.pi is not None:
            return self.pi, False
        if self.log_bf10 is not None:
            # Never by exp(log_bf10), which overflows from 710 on.
            return posterior(self.log_bf10, self.prior_odds), False
        if self.bf10 is None or self.bf10 == "nan":
            return 0.5, True
        if self.bf10 == "inf":
            return 1.0, False
        return posterior(math.log(self.bf10) if self.bf10 > 0 else -math.inf, self.prior_odds), False


class AgreementTest(Request):
    """One statistical test on both sides, or its PAS where that is already known."""

    study: Name = Field("study", description="The study the finding belongs to.")
    finding: Name = Field(description="The finding the test belongs to, unique within the study.")
    human: Side | None = Field(None, description="Evidence of the human data.")
    agent: Side | None = Field(None, description="Evidence of the agent data.")
    pas: Probability | None = Field(None, description="Known PAS of the test, instead of the agent side.")
    n_eff: Annotated[float, Field(ge=0, le=1e12, allow_inf_nan=False)] = Field(
        1.0, description="Effective sample size, the weight in pooling; a count."
    )

    @model_validator(mode="after")
    def _require_pas_or_agent(self) -> Self:
        if self.pas is not None and self.agent is not None:
            raise InvalidData.field("pas", "comes with the agent side", "send pas, or both sides")
        return self


class PASRequest(Request):
    """Tests of one or more studies. An empty list gives the document's fallbacks, flagged."""

    tests: Annotated[list[AgreementTest], Field(max_length=100_000)] = Field(
        description="One entry per test."
    )
    variant: Variant = Field(
        "document",
        description="`document`: n_eff weights within findings, simple mean over them; `reference_code`: as "
        "the published code; `three_state`: as `document`, with positive, negative and no effect as states.",
    )


class TestScore(Record):
    """Agreement on one test: whether people and agents are in the same state there."""

    __test__ = False

    study: StudyName
    finding: FindingName
    pi_human: float | None = Field(description="Posterior probability of a human effect.")
    pi_agent: float | None = Field(description="Posterior probability of an agent effect.")
    pas: float | None = Field(description="Probability that both sides are in the same state.")
    normalized: float | None = Field(description="(2 PAS - 1) over the same of the human ceiling, no unit.")
    fallback_used: bool = Field(description="A posterior of .5 stands for missing evidence.")


class FindingScore(Record):
    """Agreement of one finding, over its tests."""

    study: StudyName
    finding: FindingName
    pas: float = Field(description="Pooled probability of agreement.")
    normalized: float | None = Field(description="Pooled normalized score, no unit; legacy.")
    n_tests: int = Field(description="Tests of the finding.")
    n_used: int = Field(description="Tests that entered its PAS.")
    fallback_used: bool = Field(description="A rule for missing data decided a number.")


class StudyScore(Record):
    """Agreement of one study, over its findings."""

    study: StudyName
    pas: float = Field(description="Agreement over findings, a probability.")
    normalized: float | None = Field(description="Mean normalized score, no unit; legacy.")
    n_findings: int = Field(description="Findings of the study.")


class PASAnalysis(Analysis):
    """Agreement of replication decisions."""

    pas: float = Field(description="Mean of the studies' PAS, a probability.")
    normalized: float | None = Field(description="Mean of the studies' normalized scores, no unit; legacy.")
    variant: Variant = Field(description="Whose arithmetic this is.")
    studies: tuple[StudyScore, ...] = Field(description="Studies in order of appearance.")
    findings: tuple[FindingScore, ...] = Field(description="Findings in order of appearance.")
    tests: tuple[TestScore, ...] = Field(description="Tests as sent.")
    n: int = Field(description="Tests sent.")
    fallback_used: bool = Field(description="Some number is a fallback for missing evidence.")


def _estimate_cost(request: PASRequest) -> float:
    return 0.0005 + 6e-5 * len(request.tests)


@stat_test(
    name="pas",
    version=1,
    title="Agreement of replication decisions (PAS)",
    asked="replication",
    example={
        "tests": [
            {"finding": "F1", "human": {"pi": 0.9}, "agent": {"pi": 0.8}, "n_eff": 104},
            {"finding": "F1", "human": {"pi": 0.97}, "agent": {"bf10": 20.0}, "n_eff": 40},
            {"finding": "F2", "human": {"pi": 0.8}, "agent": {"pi": 0.2}, "n_eff": 20},
        ]
    },
    cost=_estimate_cost,
)
def pas(request: PASRequest) -> PASAnalysis:
    """Score how probably human and agent data show the same state, an effect or none.

    Per test PAS = pi_human pi_agent + (1 - pi_human)(1 - pi_agent). Tests of a finding are
    pooled as r = 2 PAS - 1 on Fisher's z scale with weights n_eff; findings of a study are
    averaged. There is no H0 and no interval: it describes posteriors that priors shape.

    Returns:
        pas: mean of the studies; one study: its own.
        studies, findings, tests: the same on every level, with the posteriors used.
        normalized: legacy; relative to the score of an agent that repeats the human posterior.

    Raises:
        InvalidData: a posterior and a Bayes factor for one side, or a PAS and an agent side.

    Edge cases:
        One test in a finding: its PAS, without pooling or clamp.
        A Bayes factor of null or nan: posterior .5, flagged. Infinite: posterior 1.
        direction_match false: posterior 0.
        A test with neither PAS nor both sides is skipped; a finding with none gets .5, flagged.
        No tests: .5, and 0 normalized, flagged.
        Human posterior near .5: no normalized value; alone in its finding it counts as 0, flagged.
        Weights that sum to 0: unweighted, flagged.

    Sources:
        PAS/ECS Mathematical Foundations, HumanStudy-Bench (the document and the reference code).
        Wagenmakers et al. (2018), Psychon Bull Rev 25:58 (posterior from a Bayes factor).

    Example:
        Posteriors .9 and .8 agree with probability .9 x .8 + .1 x .2 = .74.
    """
    tests = [_score(test, request.variant) for test in request.tests]
    weights = [test.n_eff for test in request.tests]
    groups: dict[tuple[str, str], list[int]] = {}
    for index, test in enumerate(tests):
        groups.setdefault((test.study, test.finding), []).append(index)
    findings = [
        _finding(key, [tests[i] for i in members], np.array([weights[i] for i in members]), request.variant)
        for key, members in groups.items()
    ]
    by_study: dict[str, list[FindingScore]] = {}
    for finding in findings:
        by_study.setdefault(finding.study, []).append(finding)
    studies = [_study(name, scores, request.variant) for name, scores in by_study.items()]
    overall = _mean([study.pas for study in studies]) if studies else EMPTY_PAS
    normalized = _mean_or_none([study.normalized for study in studies]) if studies else EMPTY_NORMALIZED
    flagged = sum(test.fallback_used for test in tests) + sum(finding.fallback_used for finding in findings)
    reasons = _list_reasons(tests, findings, studies, normalized, request.variant)
    return PASAnalysis(
        pas=overall,
        normalized=normalized,
        variant=request.variant,
        studies=tuple(studies),
        findings=tuple(findings),
        tests=tuple(tests),
        n=len(tests),
        fallback_used=flagged > 0 or not tests,
        reasons=reasons,
        warnings=_list_warnings(request, tests, findings, flagged),
        sentence=speak(
            "analyses.pas",
            value=float(overall),
            variant=request.variant,
            tests=len(tests),
            findings=len(findings),
            studies=len(studies),
        )
        if tests
        else speak("analyses.pas_empty"),
    )


def _score(test: AgreementTest, variant: Variant) -> TestScore:
    """One test: both posteriors, the chance that they are in the same state, and its share of the human ceiling."""
    human, human_missing = test.human.posterior() if test.human else (None, False)
    agent, agent_missing = test.agent.posterior() if test.agent else (None, False)
    pas = test.pas
    if human is not None and agent is not None and test.human and test.agent:
        if variant == "three_state":
            states = three_states(human, test.human.direction) @ three_states(agent, test.agent.direction)
            pas = float(states)
        elif variant == "reference_code":
            pas = same_state(min(max(human, CLAMP), 1 - CLAMP), min(max(agent, CLAMP), 1 - CLAMP))
        else:
            pas = same_state(human, agent)
    normalized = None
    if pas is not None and human is not None and variant != "three_state":
        # The ceiling is the PAS of an agent with the human posterior h: 2 (h^2 + (1 - h)^2) - 1 = (2 h - 1)^2.
        ceiling = (2 * human - 1) ** 2
        normalized = (2 * pas - 1) / ceiling if ceiling >= NEUTRAL else None
    return TestScore(
        study=test.study,
        finding=test.finding,
        pi_human=human,
        pi_agent=agent,
        pas=pas,
        normalized=normalized,
        fallback_used=human_missing or agent_missing,
    )


class _Value(NamedTuple):
    value: float | None
    used: int
    fallback: bool


def _finding(
    key: tuple[str, str], tests: Sequence[TestScore], weights: NDArray[np.float64], variant: Variant
) -> FindingScore:
    """One finding from its tests: their PAS pooled on Fisher's z, in the published code's variant without weights."""
    raw = _raw(tests, None if variant == "reference_code" else weights)
    normalized = _normalize(tests, weights, variant)
    return FindingScore(
        study=key[0],
        finding=key[1],
        pas=EMPTY_PAS if raw.value is None else raw.value,
        normalized=normalized.value,
        n_tests=len(tests),
        n_used=raw.used,
        fallback_used=raw.fallback or normalized.fallback,
    )


def _raw(tests: Sequence[TestScore], weights: NDArray[np.float64] | None) -> _Value:
    if len(tests) == 1:
        return _Value(tests[0].pas, int(tests[0].pas is not None), tests[0].pas is None)
    # r = 2 PAS - 1 carries [0, 1] to [-1, 1], where Fisher's z pools; back by (r + 1) / 2.
    pooled = pool_correlations(_array([test.pas for test in tests]) * 2 - 1, weights)
    value = None if pooled.value is None else (pooled.value + 1) / 2
    return _Value(value, pooled.used, pooled.fallback is not None)


def _normalize(tests: Sequence[TestScore], weights: NDArray[np.float64], variant: Variant) -> _Value:
    """Return the pooled normalized score of a finding, and whether a fallback value stands for it."""
    measurable = [test for test in tests if test.pas is not None and test.pi_human is not None]
    if variant == "three_state" or not measurable:
        return _Value(None, 0, False)
    ratios = _array([test.normalized for test in tests])
    if np.isnan(ratios).all():
        return _Value(EMPTY_NORMALIZED, 0, True)
    if len(tests) == 1:
        ratio = float(ratios[0])
        return _Value(
            min(max(ratio, CLAMP - 1), 1 - CLAMP) if variant == "reference_code" else ratio, 1, False
        )
    pooled = pool_correlations(ratios, weights)
    return _Value(pooled.value, pooled.used, pooled.fallback is not None)


def _study(name: str, findings: Sequence[FindingScore], variant: Variant) -> StudyScore:
    """One study from its findings: their mean; in the published code's variant pooled on Fisher's z of 2 PAS - 1."""
    scores = [finding.pas for finding in findings]
    if variant == "reference_code" and len(scores) > 1:
        pooled = pool_correlations(np.array(scores) * 2 - 1).value or 0.0
        value = (pooled + 1) / 2
    else:
        value = _mean(scores)
    return StudyScore(
        study=name,
        pas=value,
        normalized=_mean_or_none([finding.normalized for finding in findings]),
        n_findings=len(findings),
    )


def _list_warnings(
    request: PASRequest, tests: Sequence[TestScore], findings: Sequence[FindingScore], flagged: int
) -> tuple[StatWarning, ...]:
    """List what a reader should know of these scores, such as replications that point the other way."""
    opposed = sum(
        sent.human.direction * sent.agent.direction == -1
        and (scored.pi_human or 0) > 0.5
        and (scored.pi_agent or 0) > 0.5
        for sent, scored in zip(request.tests, tests, strict=True)
        if sent.human and sent.agent
    )
    ratios = [score.normalized for score in tests] + [finding.normalized for finding in findings]
    above = sum(ratio is not None and ratio > 1 for ratio in ratios)
    warnings: list[StatWarning] = []
    if request.variant == "reference_code":
        warnings.append(REFERENCE_CODE())
    if opposed and request.variant != "three_state":
        warnings.append(DIRECTION_IGNORED(n=opposed))
    if above:
        warnings.append(CEILING_EXCEEDED(n=above))
    if flagged or not tests:
        warnings.append(FALLBACK_USED(n=max(flagged, 1)))
    return tuple(warnings)


def _list_reasons(
    tests: Sequence[TestScore],
    findings: Sequence[FindingScore],
    studies: Sequence[StudyScore],
    overall: float | None,
    variant: Variant,
) -> dict[str, str]:
    """Give for every field that is None why it is, by the field's path."""
    absent = (
        "defined for two states only" if variant == "three_state" else "no human posterior, or a neutral one"
    )
    ratios = {
        "tests": [test.normalized for test in tests],
        "findings": [finding.normalized for finding in findings],
        "studies": [study.normalized for study in studies],
    }
    reasons = {
        f"{level}.{index}.normalized": absent
        for level, values in ratios.items()
        for index, value in enumerate(values)
        if value is None
    }
    for index, test in enumerate(tests):
        for name in ("pi_human", "pi_agent", "pas"):
            if getattr(test, name) is None:
                reasons[f"tests.{index}.{name}"] = "not sent"
    if overall is None:
        reasons["normalized"] = absent
    return reasons


def _array(values: Sequence[float | None]) -> NDArray[np.float64]:
    return np.array([math.nan if value is None else value for value in values])


def _mean(values: Sequence[float]) -> float:
    return math.fsum(values) / len(values)


def _mean_or_none(values: Sequence[float | None]) -> float | None:
    present = [value for value in values if value is not None]
    return _mean(present) if present else None
