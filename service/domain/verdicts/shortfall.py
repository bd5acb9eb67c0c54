"""What a rule that holds lacks for its claim, as the verdict records it."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction

from service.domain.decision.gaps import known_facts, sides_of, weighs_alike
from service.domain.rules.claims.claim import Gap, Target
from service.domain.rules.claims.clauses import Reader
from service.domain.rules.claims.words import describe_claim, in_unit
from service.domain.rules.rule import Clause
from service.domain.rules.settings import Setting
from service.domain.rules.truth import Truth
from service.domain.verdicts.observed_evidence import Filling, ObservedEvidence
from service.domain.verdicts.records import HypothesisVerdict
from service.words import say


def why_short(setting: Setting, gap: Gap) -> str:
    """Say why a claim does not follow from a rule that holds and the observed difference."""
    target, endpoint = Target.of(setting), setting.endpoint
    if gap == "opposite":
        return say("reasons.opposite")
    if gap == "direction":
        return say("reasons.wrong_direction")
    assert endpoint is not None  # noqa: S101 - no claim is held against an endpoint that is not known
    if gap == "size":
        return in_unit("reasons.size", endpoint, size=target.good * (target.size or Fraction(0)))
    return say("reasons.nothing_shows", claimed=describe_claim(target, setting.hypothesis, endpoint))


def size_unshown(
    setting: Setting, verdict: HypothesisVerdict, truths: Mapping[Clause, Truth]
) -> float | None:
    """The size that the statement of a supported hypothesis names, where what holds does not show it; with its sign.

    Args:
        truths: of the clauses, as the verdict has them.
    """
    if setting.rule is None or verdict.delta_exact is None:
        return None
    target = Target.of(setting)
    if verdict.outcome != "supported" or target.size is None:
        return None
    evidence = ObservedEvidence(setting, (Filling(verdict.analyses, Fraction(verdict.delta_exact)),))
    (observed,) = evidence.observed(0, clusters_alike=weighs_alike(setting))
    facts = known_facts(setting.rule, Reader.of(setting), truths, observed, sides_of(evidence, 0))
    return None if target.shows_size(facts) else float(target.good * target.size)
