"""A claim and its numbers in words."""

from __future__ import annotations

from fractions import Fraction

from service.domain.plans.plan import Endpoint, Hypothesis
from service.domain.rules.claims.claim import Target
from service.domain.rules.rule import decimal_text


def quantity(endpoint: Endpoint, value: Fraction) -> str:
    """A difference as a rule writes it: `2 pp` on binary endpoints, else a bare number."""
    if endpoint.kind == "binary":
        return f"{written(100 * value)} pp"
    return written(value)


def written(value: Fraction) -> str:
    """A number in plain decimals."""
    return decimal_text(f"{float(value):.12g}")


def claimed(target: Target, hypothesis: Hypothesis, endpoint: Endpoint) -> str:
    """What the claim says of the true difference."""
    margin = "the margin" if target.margin is None else quantity(endpoint, target.margin)
    return {
        "superiority": f"that '{hypothesis.candidate}' is better",
        "minimum_effect": f"an effect beyond {margin}",
        "non_inferiority": f"that '{hypothesis.candidate}' is not worse by {margin}",
        "equivalence": f"a difference within {margin} both ways",
    }[target.claim]
