"""Two arms on the same items, without a plan: one answer, with what carries it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from service.domain.comparison.evidence import TIE, Evidence, mean, weigh
from service.domain.comparison.more import more_of
from service.domain.comparison.pairing import Pairs, pair
from service.domain.comparison.records import Comparison, Outcome, SliceResult, Slices
from service.domain.comparison.request import ComparisonRequest
from service.domain.comparison.sentences import STATUS, next_step, sentence
from service.stats.shared import registry
from service.stats.shared.common import Interval, Margin

MOST_SLICES = 200


@dataclass(frozen=True, slots=True)
class _Claims:
    """What an interval carries."""

    better: bool
    no_worse: bool | None
    worse: bool

    @property
    def outcome(self) -> Outcome:
        """No worse goes before worse: a loss that is shown to be below the margin is what the margin allows."""
        if self.better:
            return "better"
        if self.no_worse:
            return "no_worse"
        return "worse" if self.worse else "cannot_tell"


def compare(request: ComparisonRequest) -> Comparison:
    """Better, no worse, worse, or cannot tell; every claim is read from the interval that is printed.

    Raises:
        InvalidData: what cannot be paired, or a margin whose unit does not fit the outcomes.
    """
    pairs, unpaired = pair(request)
    points = _in_points(pairs, request.margin)
    margin = _margin(request.margin, pairs, points=points)
    found = weigh(pairs, margin, request.alpha)
    claims = _claims(found, margin)
    delta = float((pairs.candidate - pairs.baseline).mean()) if pairs.n else None
    outcome = claims.outcome
    more = () if outcome != "cannot_tell" or delta is None else more_of(
        found, delta, margin, request.alpha, request.power
    )  # fmt: skip
    reasons = {**found.reasons, **_reasons(pairs, found, margin)}
    answer = Comparison(
        outcome=outcome,
        sentence="",
        rule=found.rule,
        next="",
        status=STATUS,
        delta=delta,
        ci=found.ci,
        margin=margin,
        better=claims.better,
        no_worse=claims.no_worse,
        worse=claims.worse,
        binary=pairs.n > 0 and pairs.binary,
        points=points,
        baseline_mean=mean(pairs.baseline),
        candidate_mean=mean(pairs.candidate),
        n=pairs.n,
        n_clusters=found.n_clusters,
        unit=found.unit,
        tests=found.tests,
        min_attainable_p=found.least_p,
        more=more,
        unpaired=unpaired,
        slices=_slices(pairs, margin, request.alpha) if pairs.slices is not None else None,
        reasons=reasons,
        warnings=found.warnings,
    )
    names = request.baseline.name or "the baseline", request.candidate.name or "the candidate"
    words = {"sentence": sentence(answer, *names), "next": next_step(answer)}
    return answer.model_copy(update=words)


def _claims(found: Evidence, margin: float | None) -> _Claims:
    low = -np.inf if found.ci.low is None else found.ci.low
    high = np.inf if found.ci.high is None else found.ci.high
    return _Claims(
        better=bool(low > TIE) and found.differs,
        no_worse=None if margin is None else bool(low > -margin + TIE) and found.loss_excluded,
        worse=bool(high < -TIE) and found.differs,
    )


def _in_points(pairs: Pairs, margin: Margin | None) -> bool:
    """Of outcomes 0 and 1, and of their means over runs where the margin is one of proportions."""
    if not pairs.n:
        return margin is not None and margin.unit != "score"
    if pairs.binary:
        return True
    values = np.concatenate([pairs.baseline, pairs.candidate])
    share = bool(np.all((values >= 0) & (values <= 1)))
    return share and pairs.averaged and margin is not None and margin.unit != "score"


def _margin(margin: Margin | None, pairs: Pairs, *, points: bool) -> float | None:
    if margin is None:
        return None
    return float(margin.exact() if not pairs.n else margin.for_endpoint(binary=points))


def _reasons(pairs: Pairs, found: Evidence, margin: float | None) -> dict[str, str]:
    reasons: dict[str, str] = {}
    if not pairs.n:
        reasons |= dict.fromkeys(("delta", "baseline_mean", "candidate_mean"), "no item is in both arms")
    if margin is None:
        reasons["margin"] = reasons["no_worse"] = "no margin was given"
    if found.least_p is None:
        reasons["min_attainable_p"] = "no exact test was run"
    if found.n_clusters is None:
        reasons["n_clusters"] = "no clusters were given"
    return reasons


def _slices(pairs: Pairs, margin: float | None, alpha: float) -> Slices:
    """Every slice by the rule of the whole, smallest names first."""
    names = sorted({each for each in pairs.slices or () if each is not None})[:MOST_SLICES]
    told: list[tuple[str, Pairs, Evidence]] = []
    left_out = []
    for name in names:
        part = pairs.of_slice(name)
        found = weigh(part, margin, alpha)
        if found.tests and part.n > 1:
            told.append((name, part, found))
        else:
            left_out.append(name)
    adjusted = _holm([found.tests[0].p_value for _, _, found in told])
    results = tuple(
        _slice(name, part, found, margin, p, alpha)
        for (name, part, found), p in zip(told, adjusted, strict=True)
    )
    none_worse = None
    if margin is not None:
        none_worse = (
            bool(results) and not left_out and all(_claims(each[2], margin).no_worse for each in told)
        )
    return Slices(none_worse=none_worse, results=results, left_out=tuple(left_out))


def _slice(
    name: str, part: Pairs, found: Evidence, margin: float | None, adjusted: float | None, alpha: float
) -> SliceResult:
    claims = _claims(found, margin)
    ci: Interval = found.ci
    return SliceResult(
        name=name,
        outcome=claims.outcome,
        delta=float((part.candidate - part.baseline).mean()),
        ci=ci,
        n=part.n,
        n_clusters=found.n_clusters,
        p_value=found.tests[0].p_value,
        p_adjusted=adjusted,
        shown_worse=claims.worse and adjusted is not None and adjusted < alpha,
    )


def _holm(p_values: Sequence[float | None]) -> list[float | None]:
    """Holm's p of those that decide something; the others count as 1 in the family."""
    if not p_values:
        return []
    test = registry.serving("family")
    body = {"p_values": [1.0 if p is None else p for p in p_values], "method": "holm"}
    adjusted = test.answer(test.request.model_validate(body)).analysis.adjusted
    return [None if p is None else float(q) for p, q in zip(p_values, adjusted, strict=True)]
