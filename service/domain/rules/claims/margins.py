"""The margins that the tests of a rule are held against, beside the SESOI and the number that the statement names.

A number in a statement is read as a size ("at least 2 pp") or a margin ("not worse by more than 2 pp") only where it
can mean nothing else.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from service.domain.plans.plan import Plan, TestUse
from service.domain.plans.sections.endpoint import Endpoint
from service.domain.plans.sections.hypothesis import Claim, Hypothesis
from service.domain.rules.feeding import order_of
from service.domain.rules.settings import Setting, Use
from service.stats.shared.declaring.common import Margin

NUMBER = r"(?<![\w.])\+?(\d{1,6}(?:\.\d{1,9})?|\.\d{1,9})"
PP = r"(?:pp|p\.p\.|percentage[ -]points?|points?)(?![\w])"
SCORE = r"(?:points?|units?|score units?)(?![\w])"
LEAST = r"(?:\bby at least|\bat least|\bby more than|\bmore than|\bno less than|\bby|≥|>=|>)\s*"
OR_MORE = r"\s+or\s+more\b"
END = r"(?=\s*(?:$|[,;:)]|\.(?!\d)))"
DENIED = re.compile(r"\b(?:not|no|never|within|without|worse|loses?|lost)\b|n't\b", re.IGNORECASE)
CHINESE = re.compile(r"(?:至少|不少于|不低于)\s*(\d{1,6}(?:\.\d{1,9})?)\s*(?:个百分点|pp)")


SPREAD = r"(?:±|\+/-|plus or minus)"
MOST = (
    rf"(?:\bno more than|\bnot more than|\bless than|\bfewer than|\bat most|\bup to|\bwithin|\bunder|\bmore than|\bby|"
    rf"\bmargin of|{SPREAD}|≤|<=|<)\s*{SPREAD}?\s*"
)
DENIAL = re.compile(r"\b(?:not|no|never|without|neither|cannot)\b|n't\b", re.IGNORECASE)
BY_DENIAL = re.compile(rf"(?<!\bno )(?<!\bnot )\b(?:more than|by)\s*+(?:{SPREAD}\s*+)?$", re.IGNORECASE)
"""What is a margin only under a denial: "not worse by more than"."""
APART = re.compile(
    r"\b(?:worse|lower|below|los[est]\w*|drops?\w*|fall\w*|differ\w*|differences?|apart|gap|behind|equivalen\w*|same|similar|"
    r"margin|decreas\w*|declin\w*|inferior|higher|above|away|deviat\w*|degrad\w*|regress\w*|within|of)\b|±|\+/-",
    re.IGNORECASE,
)
"""Words of a difference, of which a clause that names a margin has one."""
PARTS = re.compile(r"[,;:()]|\band\b|\bbut\b|\bwhile\b", re.IGNORECASE)
CHINESE_MOST = (
    re.compile(
        r"(?:不超过|不多于|不大于|不高于|超过|小于|少于|低于|最多|至多|差)\s*(\d{1,6}(?:\.\d{1,9})?)\s*(?:个百分点|pp)"
    ),
    re.compile(r"(?:±|正负)?\s*(\d{1,6}(?:\.\d{1,9})?)\s*(?:个百分点|pp)\s*(?:以内|之内|以上)"),
)


def stated_margin(statement: str, *, binary: bool, expected: Fraction | None) -> Fraction | None:
    """Return the most that a claim of no loss, or of equivalence, lets arms differ; None where it names none.

    Of several numbers the `expected` one counts, and else the largest: the statement asks for no less.
    """
    unit, margins = PP if binary else SCORE, []
    most = re.compile(rf"{MOST}{NUMBER}(?:\s*({unit})|{END})", re.IGNORECASE)
    other = re.compile(rf"{NUMBER}(?:\s*|-)({unit})(?:{OR_MORE}|[ -]margin\b)", re.IGNORECASE)
    for sentence in re.split(r"(?<=[.!?])\s+", statement):
        for match in (*most.finditer(sentence), *other.finditer(sentence)):
            before = PARTS.split(sentence[: match.start(1)])[-1]
            clause = before + PARTS.split(sentence[match.start(1) :])[0]
            denied = BY_DENIAL.search(before) or (match.re is other and "margin" not in match[0].lower())
            if (denied and not DENIAL.search(before)) or not APART.search(clause):
                continue
            size = Fraction(match[1])
            # Without a unit 0.02 is a proportion, but 2 may be points or per cent: it is not read.
            if match[2] or not binary or size < 1:
                margins.append(size / (100 if binary and match[2] else 1))
    if binary:
        margins += [
            Fraction(match[1]) / 100 for pattern in CHINESE_MOST for match in pattern.finditer(statement)
        ]
    margins = [margin for margin in margins if margin > 0]
    return expected if expected in margins else max(margins, default=None)


def stated_size(statement: str, *, binary: bool) -> Fraction | None:
    """Return the least size the statement names, as a proportion or in score units; None where it names none."""
    unit = PP if binary else SCORE
    stated = []
    for sentence in re.split(r"(?<=[.!?])\s+", statement):
        for pattern in (rf"{LEAST}{NUMBER}\s*{unit}", rf"{NUMBER}\s*{unit}{OR_MORE}"):
            stated += [
                Fraction(match[1]) / (100 if binary else 1)
                for match in re.finditer(pattern, sentence, re.IGNORECASE)
                if not DENIED.search(sentence[: match.start()])
            ]
        for match in re.finditer(rf"\bat least\s+{NUMBER}{END}", sentence, re.IGNORECASE):
            bare = Fraction(match[1])
            if not DENIED.search(sentence[: match.start()]) and (bare < 1 or not binary):
                stated.append(bare)
    if binary:
        stated += [Fraction(match[1]) / 100 for match in CHINESE.finditer(statement)]
    sizes = [size for size in stated if size > 0]
    return min(sizes, default=None)


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
    """Return the margin that the plan gives the test; None where the SESOI stands in."""
    value: Any = use.parameters.get("margin")
    return None if value is None else Margin.model_validate(value).exact()


def own_margin(use: TestUse, sesoi: Fraction | None) -> Fraction | None:
    """Return the margin that counts instead of the SESOI: one with a reason, or where there is no SESOI; else None."""
    return explicit_margin(use) if sesoi is None or use.margin_reason is not None else None


def sesoi_of(plan: Plan, endpoint_id: str) -> Fraction | None:
    """Return the smallest effect of interest of an endpoint, exactly."""
    sesoi = (plan.sesoi or {}).get(endpoint_id)
    return None if sesoi is None else sesoi.exact()


def fallback_is_wider(setting: Setting) -> bool:
    """Tell whether the equivalence test beside the rule has a wider margin than the SESOI, without a reason."""
    use, sesoi = setting.plan.test(setting.hypothesis.equivalence or ""), setting.sesoi
    if use is None or sesoi is None or use.margin_reason is not None:
        return False
    return (explicit_margin(use) or sesoi.exact()) > sesoi.exact()


def stated_number(
    hypothesis: Hypothesis, endpoint: Endpoint | None, sesoi: Fraction | None
) -> Fraction | None:
    """Return the size, or the margin, that the statement of a hypothesis names; None where it names none for sure."""
    if endpoint is None or endpoint.kind == "counts" or hypothesis.claim == "at_least":
        return None
    binary = endpoint.kind == "binary"
    if hypothesis.claim in ("superiority", "minimum_effect"):
        return stated_size(hypothesis.statement, binary=binary)
    return stated_margin(hypothesis.statement, binary=binary, expected=sesoi)


def margins_of(plan: Plan, setting: Setting) -> Iterator[TestedMargin]:
    """Yield the margins of the tests that a hypothesis names and that take one."""
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
    ordered = order_of(use.test)
    return "margin" in use.use.parameters or ordered is None or ordered.takes_margin(use.use.parameters)
