"""The size that a claim's statement names, such as "at least 2 pp", or its margin: "not worse by more than 2 pp".

Both are read only where they can mean nothing else.
"""

from __future__ import annotations

import re
from fractions import Fraction

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


def stated_margin(statement: str, *, binary: bool, expected: Fraction | None = None) -> Fraction | None:
    """The most that a claim of no loss, or of equivalence, lets the arms differ; None where the statement names none.

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
            if match[2] or not binary or size < 1:
                margins.append(size / (100 if binary and match[2] else 1))
    if binary:
        margins += [Fraction(match[1]) / 100 for each in CHINESE_MOST for match in each.finditer(statement)]
    margins = [margin for margin in margins if margin > 0]
    return expected if expected in margins else max(margins, default=None)


def stated_size(statement: str, *, binary: bool) -> Fraction | None:
    """The least size the statement names, as a proportion or in score units; None where it names none."""
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
    sizes = [each for each in stated if each > 0]
    return min(sizes, default=None)
