"""Sentences that people write in a preregistration, in English or Chinese, as values of a plan.

Nothing here is certain: what is read from prose is listed as an assumption.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from service.domain.plans.strings import RESERVED
from service.stats.shared import registry
from service.stats.shared.plan_use import Spoken
from service.stats.shared.registry import StatTest

_NUMBER = r"[+\-−]?\d{1,30}(?:\.\d{1,30})?"
_POINTS = r"pp|个百分点|百分点|percentage points?|points?"
MAX_PROSE = 6000
"""Characters of a sentence that are looked at: a paragraph of a plan has at most 4,000."""
_TOKEN = re.compile(r"[A-Za-z0-9_.\-]{1,64}")


def fold(text: str) -> str:
    """The text with full-width punctuation as in English, so that one pattern reads both."""
    folded = unicodedata.normalize("NFKC", text[:MAX_PROSE]).replace("−", "-").replace("–", "-")
    return " ".join(folded.replace("、", ",").split())


def slug(text: str) -> str | None:
    """The text as an id, if it can be one."""
    found = re.sub(r"[^A-Za-z0-9_.\-]+", "_", fold(text)).strip("_.")[:64]
    return found if _TOKEN.fullmatch(found) else None


def headed(text: str) -> tuple[str, str]:
    """What stands before the first colon, and what after it; no head when there is none."""
    head, colon, rest = fold(text).partition(":")
    return (head.strip(" *`"), rest.strip()) if colon else ("", fold(text).strip())


def planned_n(text: str) -> int | None:
    """The n of `n=500` or `样本量 500`."""
    found = re.search(r"\bn\s*=\s*(\d[\d,]{0,12})|(?:样本量|共)\s*(\d[\d,]{0,12})", fold(text), re.IGNORECASE)
    return None if found is None else int((found[1] or found[2]).replace(",", ""))


def dataset(text: str) -> str | None:
    """The first thing in parentheses: `(LongMemEval-S full)` is LongMemEval-S."""
    found = re.search(r"\(([^(),;]{1,200})", fold(text))
    if found is None:
        return None
    return re.sub(r"\s*(?:full|全量|全部|all)\s*$", "", found[1].strip(), flags=re.IGNORECASE) or None


_UNITS = {
    "conv": "conversation",
    "conversation": "conversation",
    "对话": "conversation",
    "会话": "conversation",
    "document": "document",
    "文档": "document",
    "user": "user",
    "用户": "user",
    "repo": "repository",
    "repositorie": "repository",
    "cluster": "cluster",
    "簇": "cluster",
    "聚类": "cluster",
}


def clusters(text: str) -> tuple[int, str] | None:
    """How many clusters of what: `5 conv × all QA` is five conversations."""
    units = "|".join(sorted(_UNITS, key=len, reverse=True))
    found = re.search(rf"(\d{{1,9}})\s*(?:个|段|篇|条)?\s*({units})", fold(text), re.IGNORECASE)
    return None if found is None else (int(found[1]), _UNITS[found[2].lower()])


def endpoint_kind(text: str) -> str | None:
    """Binary, continuous or nothing that can be told."""
    return _first(
        text,
        ("binary", r"\bbinary\b|0/1|二元|二值|\byes/no\b|pass/fail"),
        ("continuous", r"f1\b|\bscore\b|bleu|rouge|continuous|连续|分数"),
        ("binary", r"accuracy|准确率|正确率|\bacc\b"),
    )


def _first(text: str, *meant: tuple[str, str]) -> str | None:
    """What the first of the patterns that the text has means."""
    said = fold(text).casefold()
    return next((meaning for meaning, words in meant if re.search(words, said)), None)


def endpoint_id(text: str) -> str | None:
    """`paired binary accuracy (per-question 0/1)` is accuracy."""
    said = re.sub(r"\(.*", "", fold(text))
    said = re.sub(r"准确率|正确率", " accuracy ", said)
    said = re.sub(r"\b(?:paired|binary|continuous|per-question|mean|official)\b|配对|二元|逐题", " ", said)
    return slug(said.strip(" *`-,.;"))


def claim(text: str) -> str | None:
    """What a statement claims."""
    return _first(
        text,
        ("non_inferiority", r"non-?inferior|not worse|非劣|不劣于|不差于"),
        ("equivalence", r"equivalen|等价|等效"),
        ("superiority", r"improv|outperform|better|higher|increase|exceed|raise|提高|提升|优于|高于|超过"),
    )


def arms_of_delta(text: str) -> tuple[str, str] | None:
    """Baseline and candidate of `Δ(C3-C1)`: C1 and C3."""
    found = re.search(r"(?:Δ|delta|差值?)\s*\(\s*([\w.]{1,64})\s*-\s*([\w.]{1,64})\s*\)", fold(text))
    return None if found is None else (found[2], found[1])


def arms_in_parentheses(text: str, known: Sequence[str] = ()) -> tuple[str, str] | None:
    """Baseline and candidate of `synthesis (C3) improves … over retrieval (C1)`: C1 and C3."""
    found = re.findall(r"\(([A-Za-z][\w.]{0,15})\)", fold(text)) or list(known)
    return (found[1], found[0]) if len(found) == 2 else None


def margin(text: str) -> tuple[float, str] | None:
    """`±2 pp` as value and unit."""
    found = re.search(
        rf"(?:±|\+/-)?\s*({_NUMBER}(?:[eE][+-]?\d+)?)\s*({_POINTS}|proportion|score)?", fold(text)
    )
    if found is None:
        return None
    unit = "score" if found[2] is None else found[2] if found[2] in ("proportion", "score") else "pp"
    return abs(float(found[1])), unit


def chosen(text: str) -> tuple[float, str, str | None] | None:
    """Value, how it was chosen and on which split, of `τ = 0.40 (max_score p30 on dev split)`."""
    value = re.search(rf"[=:]?\s*({_NUMBER})", re.sub(r"\(.*", "", fold(text)))
    how = re.search(r"\(([^()]{1,300})\)", fold(text))
    if value is None or how is None:
        return None
    split = re.search(r"(?:\bon\s+(?:the\s+)?|在\s*)([\w.\-]{1,40}?)\s*(?:split|划分|集)", how[1])
    return float(value[1]), how[1].strip(), split[1] if split else None


@dataclass(frozen=True, slots=True)
class RuleRead:
    """A rule in the rule language, and what in the sentence nobody could translate."""

    clauses: tuple[tuple[str, str | None, bool], ...]
    """Text with `{}` for the test, what kind of test, whether the sentence says it is clustered."""
    unread: tuple[str, ...]


_EFFECT = re.compile(
    rf"(?:Δ|delta|差值?|差异)\s*(?:\([^()]*\))?\s*(>=|≥|>|<=|≤|<)\s*({_NUMBER})\s*({_POINTS})?", re.IGNORECASE
)
_P = re.compile(r"(.{0,80}?)\s*p\s*(?:-?\s*value|值)?\s*(<=|≤|<)\s*(0?\.\d{1,15})", re.IGNORECASE)
_CI = re.compile(
    r"(.{0,80}?)\s*(?:\d{1,3}(?:\.\d{1,9})?\s*%\s*)?(?:CI|confidence interval|置信区间)\s*"
    r"(?:excludes?|does not (?:contain|include)|不含|不包含|不包括|排除)\s*(?:0|zero|零)",
    re.IGNORECASE,
)
_SIGNS = {"≥": ">=", "≤": "<="}


def rule(text: str) -> RuleRead:
    """`Δ(C3-C1) ≥ +2.0 pp AND McNemar p < 0.05 AND 95% CI excludes 0`, clause by clause."""
    said = fold(text).strip().rstrip(".。;")
    body = re.split(r"\biff\b|\bif and only if\b|当且仅当|\bwhen\b|\bif\b|:", said, maxsplit=1)[-1]
    found, unread = [], []
    for part in re.split(r"\s+and\s+|\s*&&\s*|\s*[,;]?\s*(?:并且|而且|且)\s*", body, flags=re.IGNORECASE):
        clause = _clause(part.strip(" ,;"))
        if clause is None:
            unread.append(part.strip())
        else:
            found.append(clause)
    return RuleRead(tuple(found), tuple(unread))


def _clause(text: str) -> tuple[str, str | None, bool] | None:
    clustered = bool(re.search(r"cluster|聚类|会话级|对话级", text, re.IGNORECASE))
    if effect := _EFFECT.fullmatch(text):
        unit = " pp" if effect[3] else ""
        return f"delta {_SIGNS.get(effect[1], effect[1])} {effect[2].lstrip('+')}{unit}", None, clustered
    if p := _P.fullmatch(text):
        family = family_of(p[1])
        return (
            None
            if family is None
            else (f"{{}}.p_value {_SIGNS.get(p[2], p[2])} {_zero(p[3])}", family, clustered)
        )
    if interval := _CI.fullmatch(text):
        return "{}.ci excludes 0", family_of(interval[1]) or _of_intervals(), clustered
    return None


def _zero(number: str) -> str:
    return number if number.startswith("0") else f"0{number}"


def family_of(text: str) -> str | None:
    """Which statistical test a name means."""
    said = fold(text).casefold()
    meant = (spoken.family for _, spoken in spoken_tests() if re.search(spoken.words, said))
    return next(meant, None)


def _of_intervals() -> str | None:
    """Which one is meant by an interval that names none."""
    return next((spoken.family for _, spoken in spoken_tests() if spoken.intervals), None)


def spoken_tests() -> list[tuple[StatTest[Any, Any], Spoken]]:
    """The tests that prose has words for, in the order in which they are listened for."""
    found = [
        (test, test.plan.spoken)
        for test in registry.latest().values()
        if test.plan is not None and test.plan.spoken is not None
    ]
    return sorted(found, key=lambda each: each[1].rank)


def family_policy(text: str) -> str | None:
    """What is done about several hypotheses."""
    return _first(
        text,
        ("none", r"uncorrected|without correction|no correction|不校正|不做校正|未校正"),
        ("bonferroni", r"bonferroni"),
        ("holm", r"\bholm\b"),
        ("hochberg", r"hochberg"),
        ("hommel", r"hommel"),
        ("max_t", r"\bmax[-_ ]?t\b|westfall|romano"),
    )


def stopping(text: str) -> str | None:
    """When results are looked at."""
    return _first(
        text,
        ("anytime_valid", r"anytime|e-process|随时有效"),
        ("group_sequential", r"group.sequential|lan-demets|obrien|pocock|成组序贯"),
        ("fixed_n", r"no interim|fixed n|pre-?specified n|planned n|无中期|不做中期|不进行中期|固定样本"),
    )


def missing_policy(text: str) -> str | None:
    """What a result that is not there does."""
    return _first(
        text,
        ("worst_case", r"worst|最不利|最坏"),
        ("exclude_pair", r"exclude|drop|剔除|排除"),
        ("fail", r"\bfail|违反|失败"),
    )


def mentioned(text: str, names: Sequence[str]) -> Iterator[str]:
    """Those of the names that the text mentions, longest first, none inside another."""
    rest = fold(text).casefold()
    for name in sorted(names, key=len, reverse=True):
        pattern = rf"(?<![\w]){re.escape(fold(name).casefold())}(?![a-z0-9_])"
        if re.search(pattern, rest):
            rest = re.sub(pattern, " ", rest)
            yield name


def rule_name(text: str) -> str:
    """The text as a name that rules can use."""
    name = re.sub(r"\W+", "_", text, flags=re.ASCII).strip("_")[:64]
    return f"{name}_" if name.lower() in RESERVED else name
