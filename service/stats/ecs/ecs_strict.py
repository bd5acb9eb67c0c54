"""Agreement of effects within their standard errors (ECS_Strict): legacy, beside the concordance."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Sequence

import numpy as np
from pydantic import Field

from service.kernels.agreement.concordance import strict_agreement
from service.kernels.effects.effect_conversion import two_sided, z_difference
from service.records import Record
from service.stats.shared.data.pairs import P_FLOOR
from service.stats.shared.declaring.fields import FindingName, StudyName

Column = Sequence[float | None]
"""One number per test; None where the test has none."""


class StrictFinding(Record):
    """Strict agreement of one finding. Legacy."""

    study: StudyName
    finding: FindingName
    z: float = Field(description="|z_diff|, or the root mean square of several; no unit.")
    normal: float = Field(description="2 P(Z > z), as the document says; a probability.")
    chi_square: float = Field(description="P(chi-square on K df > sum of squares); a probability.")
    n: int = Field(description="Tests with a z_diff.")


class StrictStudy(Record):
    """Simple mean over the findings of a study. Legacy."""

    study: StudyName
    normal: float = Field(description="Mean of the findings' `normal`, a probability.")
    chi_square: float = Field(description="Mean of the findings' `chi_square`, a probability.")


class Strict(Record):
    """Agreement within standard errors (ECS_Strict): legacy, not to be reported as primary."""

    z_diff: tuple[float | None, ...] = Field(description="(agent - human) / its SE per test, no unit.")
    ecs_test: tuple[float | None, ...] = Field(description="2 P(Z > |z_diff|) per test, a probability.")
    findings: tuple[StrictFinding, ...] = Field(description="Every finding, in order of first mention.")
    studies: tuple[StrictStudy, ...] = Field(description="Every study, in order of first mention.")


def z_differences(agent: Column, agent_se: Column, human: Column, human_se: Column) -> list[float | None]:
    """Return (agent - human) / sqrt(SE^2 + SE^2) per test; None where a part is missing or both errors are 0."""
    return [
        None if a is None or a_se is None or h is None or h_se is None else z_difference(a, a_se, h, h_se)
        for a, a_se, h, h_se in zip(agent, agent_se, human, human_se, strict=True)
    ]


def strict_scores(z: Column, studies: Sequence[str], findings: Sequence[str]) -> Strict:
    """Return strict agreement per test, finding and study; tests without z are left out."""
    groups: dict[tuple[str, str], list[float]] = defaultdict(list)
    for study, finding, value in zip(studies, findings, z, strict=True):
        if value is not None:
            groups[study, finding].append(value)
    scored = []
    for (study, finding), values in groups.items():
        rms, normal, tail = strict_agreement(np.array(values))
        normal, tail = max(normal, P_FLOOR), max(tail, P_FLOOR)
        scored.append(
            StrictFinding(study=study, finding=finding, z=rms, normal=normal, chi_square=tail, n=len(values))
        )
    by_study: dict[str, list[StrictFinding]] = defaultdict(list)
    for finding_score in scored:
        by_study[finding_score.study].append(finding_score)
    return Strict(
        z_diff=tuple(z),
        ecs_test=tuple(None if value is None else max(two_sided(value), P_FLOOR) for value in z),
        findings=tuple(scored),
        studies=tuple(
            StrictStudy(
                study=study,
                normal=_mean(member.normal for member in members),
                chi_square=_mean(member.chi_square for member in members),
            )
            for study, members in by_study.items()
        ),
    )


def list_floored(strict: Strict) -> list[str]:
    """List the paths of the tails that stand at the floor."""
    tests = [f"strict.ecs_test.{i}" for i, p in enumerate(strict.ecs_test) if p is not None and p <= P_FLOOR]
    findings = [
        f"strict.findings.{i}.{name}"
        for i, finding in enumerate(strict.findings)
        for name, p in (("normal", finding.normal), ("chi_square", finding.chi_square))
        if p <= P_FLOOR
    ]
    return tests + findings


def _mean(values: Iterable[float]) -> float:
    present = list(values)
    return math.fsum(present) / len(present)
