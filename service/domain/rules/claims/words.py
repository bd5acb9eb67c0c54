"""A claim and its numbers in words."""

from __future__ import annotations

from fractions import Fraction

from service.domain.plans.sections.endpoint import Endpoint
from service.domain.plans.sections.hypothesis import Hypothesis
from service.domain.rules.claims.claim import Target
from service.domain.rules.rule import decimal_text
from service.words import say


def quantity(endpoint: Endpoint, value: Fraction) -> str:
    """Return a difference as a rule writes it: `2 pp` on binary endpoints, else a bare number."""
    if endpoint.kind == "binary":
        return f"{write_number(100 * value)} pp"
    return write_number(value)


def level(endpoint: Endpoint, value: Fraction) -> str:
    """Return a mean as a rule writes it: `95%` on binary endpoints, else a bare number."""
    return f"{write_number(100 * value)}%" if endpoint.kind == "binary" else write_number(value)


def write_number(value: Fraction) -> str:
    """Return a number in plain decimals."""
    return decimal_text(f"{float(value):.12g}")


def in_unit(code: str, endpoint: Endpoint, /, **values: Fraction | str) -> str:
    """Return the English of a code with two forms, in percentage points on binary endpoints and in score units."""
    unit, scale = ("points", 100) if endpoint.kind == "binary" else ("score", 1)
    texts = {
        name: value if isinstance(value, str) else write_number(scale * value)
        for name, value in values.items()
    }
    return say(f"{code}_{unit}", **texts)


def describe_claim(target: Target, hypothesis: Hypothesis, endpoint: Endpoint) -> str:
    """Return what the claim says of the true difference, and of what difference where that is not of the means."""
    says = _describe_claim(target, hypothesis, endpoint)
    return says if target.about == "mean" else say(f"reasons.about_{target.about}", claim=says)


def _describe_claim(target: Target, hypothesis: Hypothesis, endpoint: Endpoint) -> str:
    """Say what is claimed of the candidate, with its level or margin in the endpoint's unit."""
    if target.claim == "superiority":
        return say("reasons.better", arm=hypothesis.candidate)
    if hypothesis.reference is not None:
        side = "reaches" if target.good == 1 else "stays_below"
        reference = level(endpoint, hypothesis.reference.exact())
        return say(f"reasons.{side}", arm=hypothesis.candidate, reference=reference)
    code = {"minimum_effect": "beyond", "non_inferiority": "not_worse_by", "equivalence": "within"}[
        target.claim
    ]
    if target.margin is None:
        return say(f"reasons.{code}_margin", arm=hypothesis.candidate)
    return in_unit(f"reasons.{code}", endpoint, margin=target.margin, arm=hypothesis.candidate)
