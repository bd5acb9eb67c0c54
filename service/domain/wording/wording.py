"""Lint of an author's text: sentences that claim more than their statistics show, and what to write instead.

A finding is about words, not about the study. What a record or analyses show is taken into account, so that
"equivalent" beside an equivalence verdict is no finding. Quoted phrases and denials ("do not claim …") are passed over.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache

from pydantic import Field

from service.domain.wording.phrases import PHRASES, Phrase
from service.records import Record

MAX_FINDINGS = 500
_SENTENCE_END = re.compile(r"(?<=[.!?])\s+|(?<=[。!?])|\n{2,}|\n(?=[^\S\n]*(?:[-*+]|\d+\.|#|\|))")
_DENIAL = re.compile(
    r"(?:\b(?:not|never|cannot|can't|don't|doesn't|didn't|no evidence|without claiming|rather than|instead of|avoid|"
    r"neither)\b|n't\b|不要|不是|并非|并不|不能|不得|不应|不等于|不代表|没有证据|而非|避免|切勿|勿|未)"
    r"[^,;:。,;:]{0,45}$",
    re.IGNORECASE,
)
_CONDITION = re.compile(
    r"(?:\b(?:if|when|whether|unless|suppose|were)\b|如果|若|假如|假设|是否)[^，；。,;]{0,40}$", re.IGNORECASE
)
_MARKS = (("「", "」"), ("‘", "’"))
MAX_SENTENCE = 2000
"""Longer stretches are looked at in parts."""


class WordingFinding(Record):
    """A phrase that says more than was shown."""

    code: str = Field(description="Stable, UPPER_SNAKE.")
    start: int = Field(description="Offset of the phrase in characters, from 0.")
    end: int = Field(description="Offset behind it.")
    line: int = Field(description="Its line, from 1.")
    phrase: str
    why: str = Field(description="What is wrong with it.")
    better: str = Field(description="A sentence that says what was shown.")


@dataclass(frozen=True, slots=True)
class Support:
    """What a record or analyses show, as far as words depend on it."""

    equivalent: bool = False
    """Some equivalence test, or equivalence verdict, came out."""
    no_worse: bool = False
    corrected: bool = False
    """A correction for several comparisons was planned or computed."""
    one_sided: bool = False
    """A one-sided test was planned or computed."""
    primary: Collection[str] = ()
    """Primary endpoints."""
    secondary: Collection[str] = ()
    outcomes: Mapping[str, str] = field(default_factory=dict)
    """Outcomes by hypothesis; empty before the verdict."""
    sentences: Mapping[str, str] = field(default_factory=dict)
    """The verdict's own sentences by hypothesis."""


NOTHING = Support()


def lint_wording(text: str, support: Support = NOTHING) -> tuple[WordingFinding, ...]:
    """Return every finding, in the order of the text; at most one per phrase and code."""
    starts = [0, *(problems.end() for problems in re.finditer("\n", text))]
    problems: list[WordingFinding] = []
    for start, sentence in _sentences(text):
        for code, span, why, better in _find_in_sentence(sentence, support):
            low, high = start + span[0], start + span[1]
            problems.append(
                WordingFinding(
                    code=code,
                    start=low,
                    end=high,
                    line=bisect_right(starts, low),
                    phrase=text[low:high],
                    why=why,
                    better=better,
                )
            )
        if len(problems) >= MAX_FINDINGS:
            break
    return tuple(sorted(problems, key=lambda problem: (problem.start, problem.code))[:MAX_FINDINGS])


def _sentences(text: str) -> Iterator[tuple[int, str]]:
    start = 0
    for end, following in [*(match.span() for match in _SENTENCE_END.finditer(text)), (len(text), len(text))]:
        for part in range(start, end, MAX_SENTENCE):
            yield part, text[part : min(part + MAX_SENTENCE, end)]
        start = following


def _is_quoted(before: str) -> bool:
    """Tell whether a quotation that began here has not ended: its words are somebody else's, or an example."""
    doubles = before.count("“") + before.count("”")  # some texts open with the closing mark
    return (
        before.count('"') % 2 == 1
        or doubles % 2 == 1
        or any(before.rfind(opening) > before.rfind(closing) for opening, closing in _MARKS)
    )


_Found = tuple[str, tuple[int, int], str, str]


def _find_in_sentence(sentence: str, support: Support) -> Iterator[_Found]:
    """Find the phrases of a sentence that claim more than a record supports, and what to write instead."""
    taken: list[tuple[int, int]] = []
    for phrase in PHRASES:
        if phrase.unless is not None and getattr(support, phrase.unless):
            continue
        for match in phrase.pattern.finditer(sentence):
            if any(match.start() < high and low < match.end() for low, high in taken):
                continue
            before = sentence[: match.start()]
            if _CONDITION.search(before[-120:]) or (not phrase.also_quoted and _is_quoted(before)):
                continue
            if not phrase.also_denied and _DENIAL.search(before[-120:]):
                continue
            if phrase.spared is not None and phrase.spared.search(sentence):
                continue
            taken.append(match.span())
            chinese = re.search(r"[\u4e00-\u9fff]", match.group()) is not None
            yield phrase.code, match.span(), phrase.why, _better(phrase, support, chinese=chinese)
    yield from _find_switched(sentence, support)
    yield from _find_unsupported(sentence, support)


def _better(phrase: Phrase, support: Support, *, chinese: bool) -> str:
    """Return the verdict's own sentence where there is just one, else the phrase's model."""
    if phrase.from_verdict and len(support.sentences) == 1 and not chinese:
        return next(iter(support.sentences.values()))
    return phrase.better_zh if chinese else phrase.better


_CLAIM = re.compile(
    r"\b(?:improv\w+|outperform\w*|beats?|exceeds?|surpass\w*|superior|gains?|better than|higher than)\b|"
    r"提升|提高|优于|超过|高于|更好",
    re.IGNORECASE,
)
_SET_ASIDE = re.compile(r"secondary|explorator|post.?hoc|supplement|次要|探索|事后|附加", re.IGNORECASE)


def _find_switched(sentence: str, support: Support) -> Iterator[_Found]:
    """Yield a claim that rests on a secondary endpoint without calling it so."""
    claim = _CLAIM.search(sentence)
    if claim is None or _SET_ASIDE.search(sentence):
        return
    if any(_names(sentence, primary) for primary in support.primary):
        return
    for endpoint in support.secondary:
        mention = _names(sentence, endpoint)
        if mention is not None:
            primary = ", ".join(support.primary) or "none"
            yield (
                "ENDPOINT_SWITCH",
                mention.span(),
                f"'{endpoint}' is a secondary endpoint of the plan, and the claim was to rest on: {primary}",
                f"Report {primary} first; then: 'The secondary endpoint {endpoint} was …; no claim rests on it.'",
            )
            return


def _names(sentence: str, endpoint: str) -> re.Match[str] | None:
    return _spelt(endpoint).search(sentence)


@lru_cache(maxsize=1024)
def _spelt(endpoint: str) -> re.Pattern[str]:
    spelt = r"[\s_\-]".join(map(re.escape, re.split(r"[_\-]", endpoint)))
    return re.compile(rf"(?<![A-Za-z0-9]){spelt}(?![A-Za-z0-9])", re.IGNORECASE)


def _find_unsupported(sentence: str, support: Support) -> Iterator[_Found]:
    """Yield a hypothesis by name, called true although its verdict is another."""
    for hypothesis, outcome in support.outcomes.items():
        if hypothesis not in sentence:  # far cheaper than the pattern, which every sentence would pay for
            continue
        mention = re.search(
            rf"(?<!\w){re.escape(hypothesis)}(?!\w)\s*(?:is|was|has been|holds|passes|passed|得到|成立|通过)"
            r"(?:\s*(?:supported|confirmed|accepted|true|支持|证实))?",
            sentence,
        )
        if (
            mention is None
            or outcome == "supported"
            or not re.search(
                r"supported|confirmed|accepted|true|holds|pass|得到支持|证实|成立|通过", mention.group()
            )
        ):
            continue
        if _is_quoted(sentence[: mention.start()]):
            continue
        yield (
            "OUTCOME_CONTRADICTED",
            mention.span(),
            f"the verdict on {hypothesis} is '{outcome}'",
            support.sentences.get(hypothesis, f"{hypothesis} is {outcome.replace('_', ' ')}."),
        )
