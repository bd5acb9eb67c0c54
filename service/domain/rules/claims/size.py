"""The size that a claim's statement names, such as "at least 2 pp"; read only where it can mean nothing else."""

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


def stated_size(statement: str, *, binary: bool) -> Fraction | None:
    """The least size the statement names, as a proportion or in score units; None where it names none."""
    unit = PP if binary else SCORE
    found = []
    for sentence in re.split(r"(?<=[.!?])\s+", statement):
        for pattern in (rf"{LEAST}{NUMBER}\s*{unit}", rf"{NUMBER}\s*{unit}{OR_MORE}"):
            found += [
                Fraction(match[1]) / (100 if binary else 1)
                for match in re.finditer(pattern, sentence, re.IGNORECASE)
                if not DENIED.search(sentence[: match.start()])
            ]
        for match in re.finditer(rf"\bat least\s+{NUMBER}{END}", sentence, re.IGNORECASE):
            bare = Fraction(match[1])
            if not DENIED.search(sentence[: match.start()]) and (bare < 1 or not binary):
                found.append(bare)
    if binary:
        found += [Fraction(match[1]) / 100 for match in CHINESE.finditer(statement)]
    sizes = [each for each in found if each > 0]
    return min(sizes, default=None)
