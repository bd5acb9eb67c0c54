"""What one arm is held against, as its verdict records it."""

from __future__ import annotations

from service.domain.rules.settings import Setting
from service.domain.verdicts.parts import HeldAgainst, Span
from service.kernels.numeric.binomial import clopper_pearson

LEVEL = 0.95


def held_against(setting: Setting) -> HeldAgainst | None:
    """The reference of a hypothesis, and how sure a published share is by itself; None where two arms are compared."""
    planned, value, endpoint = setting.hypothesis.reference, setting.reference, setting.endpoint
    if planned is None or value is None:
        return None
    published = planned.published
    if published is None:
        return HeldAgainst(value=float(value))
    ci = None
    if published.n is not None and endpoint is not None and endpoint.kind == "binary":
        low, high = clopper_pearson(float(value * published.n), published.n, LEVEL)
        ci = Span(low=low, high=high)
    return HeldAgainst(value=float(value), source=published.source, n=published.n, ci=ci)
