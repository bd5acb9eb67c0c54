"""The margins that the tests of a rule are held against, beside the SESOI and the number that the statement names."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from service.domain.plans.plan import Claim, Endpoint, Hypothesis, Plan, TestUse
from service.domain.rules.claims.stated_size import stated_margin, stated_size
from service.domain.rules.feeding import ordered_of
from service.domain.rules.settings import Setting, Use
from service.stats.shared.declaring.common import Margin


@dataclass(frozen=True, slots=True)
class TestedMargin:
    """A margin that a test of a hypothesis is asked with."""

    __test__ = False

    use: Use
    endpoint: Endpoint
    value: Fraction
    """A proportion, or score units."""
    own: bool
    """The plan gives it to the test; otherwise it is the SESOI."""
    sesoi: Fraction | None
    stated: Fraction | None
    """By the statement, where the claim rests on this test."""
    claim: Claim

    @property
    def reason(self) -> str | None:
        """Why it differs, as the plan says."""
        return self.use.use.margin_reason

    @property
    def falls_short(self) -> bool:
        """What it shows is less than the statement says, for which there is no reason."""
        if self.stated is None:
            return False
        return self.value < self.stated if self.claim == "minimum_effect" else self.value > self.stated

    @property
    def differs(self) -> bool:
        """It is neither the SESOI, nor the number of the statement."""
        return self.from_sesoi or self.from_statement

    @property
    def from_sesoi(self) -> bool:
        """It is not the SESOI."""
        return self.sesoi is not None and self.value != self.sesoi

    @property
    def from_statement(self) -> bool:
        """It is not the number that the statement names."""
        return self.stated is not None and self.value != self.stated


def explicit_margin(use: TestUse) -> Fraction | None:
    """The margin that the plan gives the test; None where the SESOI stands in."""
    value: Any = use.parameters.get("margin")
    return None if value is None else Margin.model_validate(value).exact()


def own_margin(use: TestUse, sesoi: Fraction | None) -> Fraction | None:
    """The margin that counts instead of the SESOI: one with a reason, or where there is no SESOI; else None."""
    return explicit_margin(use) if sesoi is None or use.margin_reason is not None else None


def sesoi_of(plan: Plan, endpoint_id: str) -> Fraction | None:
    """The smallest effect of interest of an endpoint, exactly."""
    sesoi = (plan.sesoi or {}).get(endpoint_id)
    return None if sesoi is None else sesoi.exact()


def fallback_is_wider(setting: Setting) -> bool:
    """True where the equivalence test beside the rule has a wider margin than the SESOI, without a reason."""
    use, sesoi = setting.plan.test(setting.hypothesis.equivalence or ""), setting.sesoi
    if use is None or sesoi is None or use.margin_reason is not None:
        return False
    return (explicit_margin(use) or sesoi.exact()) > sesoi.exact()


def stated_number(
    hypothesis: Hypothesis, endpoint: Endpoint | None, sesoi: Fraction | None
) -> Fraction | None:
    """The size, or the margin, that the statement of a hypothesis names; None where it names none for sure."""
    if endpoint is None or endpoint.kind == "counts":
        return None
    binary = endpoint.kind == "binary"
    if hypothesis.claim in ("superiority", "minimum_effect"):
        return stated_size(hypothesis.statement, binary=binary)
    return stated_margin(hypothesis.statement, binary=binary, expected=sesoi)


def margins_of(plan: Plan, setting: Setting) -> Iterator[TestedMargin]:
    """The margins of the tests that a hypothesis names and that take one."""
    in_rule = {clause.field.test for clause in setting.clauses}
    for name, use in setting.uses.items():
        endpoint = setting.endpoint_of(use)
        if endpoint is None or endpoint.kind == "counts" or not _takes(use):
            continue
        sesoi = sesoi_of(plan, endpoint.id)
        own = explicit_margin(use.use)
        value = sesoi if own is None else own
        if value is None:
            continue
        rests = name in in_rule and not use.beside and setting.hypothesis.claim != "superiority"
        stated = stated_number(setting.hypothesis, endpoint, sesoi) if rests else None
        yield TestedMargin(use, endpoint, value, own is not None, sesoi, stated, setting.hypothesis.claim)


def _takes(use: Use) -> bool:
    """True for a test that is asked with a margin."""
    if use.test.plan is None or "margin" not in use.test.request.model_fields:
        return False
    ordered = ordered_of(use.test)
    return "margin" in use.use.parameters or ordered is None or ordered.takes_margin(use.use.parameters)
