"""The answer of a comparison before its sentences: what pairs and unpaired arms read off their evidence alike."""

from __future__ import annotations

from typing import Any

from service.domain.comparison.claims import Claims
from service.domain.comparison.headlines import headline, what_is_open
from service.domain.comparison.records import Comparison
from service.domain.comparison.request import ComparisonRequest
from service.domain.comparison.sentences import status
from service.domain.comparison.weighing import Evidence, Weighing
from service.stats.shared.declaring.common import StatWarning


def draft_answer(
    evidence: Evidence, claims: Claims, weighing: Weighing, *, about: float | None, **fields: Any
) -> Comparison:
    """Return the answer with all its numbers and no sentence yet.

    Args:
        claims: what the evidence shows, as far as missing results let it stand.
        about: the point that outcomes were turned round, since lower ones are better; None where they were not.
        fields: what pairs and unpaired arms have of their own, by the names of `Comparison`.
    """
    return Comparison(
        outcome=claims.outcome,
        headline="",
        open="",
        sentence="",
        next="",
        status=status(),
        ci=evidence.ci,
        margin=weighing.margin,
        prefers="higher" if about is None else "lower",
        better=claims.better,
        no_worse=claims.no_worse,
        worse=claims.worse,
        scale=weighing.scale,
        points=weighing.points,
        n_clusters=evidence.n_clusters,
        unit=evidence.unit,
        tests=evidence.tests,
        min_attainable_p=evidence.least_p,
        **fields,
    )


def name_arms(request: ComparisonRequest) -> tuple[str, str]:
    """Return what sentences call the baseline and the candidate."""
    return request.baseline.name or "the baseline", request.candidate.name or "the candidate"


def put_into_words(answer: Comparison, names: tuple[str, str], *, text: str, following: str) -> Comparison:
    """Return the answer with its sentences: the headline and what is open are read off its numbers.

    Args:
        text: the sentence that says it all.
        following: what to do next.
    """
    words = {
        "headline": headline(answer, *names),
        "open": what_is_open(answer, names[1]),
        "sentence": text,
        "next": following,
    }
    return answer.model_copy(update=words)


def warnings_of(evidence: Evidence, claims: Claims) -> tuple[StatWarning, ...]:
    """Return the warnings of the tests, as far as they bear on what is claimed.

    FLOOR_ABOVE_ALPHA speaks of a difference of 0: that a loss of the margin is ruled out does not rest on it.
    """
    if not claims.no_worse:
        return evidence.warnings
    return tuple(warning for warning in evidence.warnings if warning.code != "FLOOR_ABOVE_ALPHA")
