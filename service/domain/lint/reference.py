"""Lint of what one arm is held against: its unit and size, and whether the statement says the same number."""

from __future__ import annotations

import re
from collections.abc import Iterator
from fractions import Fraction

from service.domain.plans.findings import Finding, error, warning
from service.domain.rules.claims.about import OF_ONE_ARM, OF_TWO_ARMS
from service.domain.rules.claims.words import level
from service.domain.rules.settings import Setting
from service.errors import InvalidData
from service.words import say

PER_CENT = re.compile(r"(?<![\w.])(\d{1,3}(?:\.\d{1,9})?)\s*(?:%|％|per ?cent\b)", re.IGNORECASE)


def reference_findings(setting: Setting) -> Iterator[Finding]:
    """Yield findings of the reference of one hypothesis, and of what its claim is about."""
    hypothesis, endpoint = setting.hypothesis, setting.endpoint
    about = hypothesis.about or "mean"
    one_arm = hypothesis.reference is not None
    if one_arm and about not in OF_ONE_ARM:
        yield error("ABOUT_DIFFERS", f"{setting.path}.about", say("findings.about_two_arms", about=about))
    elif not one_arm and about not in OF_TWO_ARMS:
        message = say("findings.about_one_arm", about=about, name=hypothesis.id)
        yield error("ABOUT_DIFFERS", f"{setting.path}.about", message)
    if hypothesis.reference is None or endpoint is None or endpoint.kind == "counts":
        return
    if hypothesis.equivalence is not None:
        message = say("findings.one_arm_fallback", name=hypothesis.id)
        yield error("TEST_ARMS", f"{setting.path}.equivalence", message)
    path, bounds = f"{setting.path}.reference", endpoint.bounds
    ends = (0.0, 1.0) if endpoint.kind == "binary" else None if bounds is None else (bounds.low, bounds.high)
    try:
        value = hypothesis.reference.for_endpoint(
            binary=endpoint.kind == "binary",
            low=None if ends is None else ends[0],
            high=None if ends is None else ends[1],
            path=path,
        )
    except InvalidData as invalid:
        for fault in invalid.faults:
            yield error("UNIT", fault.path, f"{fault.message}: {fault.fix}")
        return
    stated = {Fraction(match[1]) / 100 for match in PER_CENT.finditer(hypothesis.statement)}
    if endpoint.kind == "binary" and stated and value not in stated:
        numbers = ", ".join(level(endpoint, number) for number in sorted(stated))
        message = say("findings.reference_differs", stated=numbers, reference=level(endpoint, value))
        yield warning("REFERENCE_DIFFERS", f"{setting.path}.statement", message)
    if hypothesis.reference.published is not None:
        yield warning("REFERENCE_PUBLISHED", path, say("findings.reference_published"))
