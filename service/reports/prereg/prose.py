"""Sentences that people write in a preregistration, in English or Chinese, as values of a plan.

Nothing here is certain: what is read from prose is listed as an assumption, and what is left over as not read.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from service.domain.plans.strings import RESERVED
from service.reports.prereg.passage import Heard, Passage, fold
from service.stats.shared.declaring import registry
from service.stats.shared.declaring.plan_use import Spoken
from service.stats.shared.declaring.registry import StatTest

_NUMBER = r"(?<![A-Za-z0-9_.])[+\-−]?\d{1,30}(?:\.\d{1,30})?"
_POINTS = r"pp|个百分点|百分点|percentage points?|points?"
_TOKEN = re.compile(r"[A-Za-z0-9_.\-]{1,64}")


def slug(text: str) -> str | None:
    """Return the text as an id, if it can be one."""
    name = re.sub(r"[^A-Za-z0-9_.\-]+", "_", fold(text)).strip("_.")[:64]
    return name if _TOKEN.fullmatch(name) else None


def planned_n(text: Passage) -> Heard[int] | None:
    """Return the n of `n=500` or `样本量 500`."""
    match = text.search(r"\bn\s*=\s*(\d[\d,]{0,12})|(?:样本量|共)\s*(\d[\d,]{0,12})")
    if match is None:
        return None
    digits = (match[1] or match[2]).rstrip(",")
    end = match.start(1 if match[1] else 2) + len(digits)
    return Heard(int(digits.replace(",", "")), text, ((match.start(), end),))


def dataset(text: Passage) -> Heard[str] | None:
    """Return the first thing in parentheses: `(LongMemEval-S full)` is LongMemEval-S."""
    match = text.search(r"\(\s*([^(),;]{1,200})")
    if match is None:
        return None
    name = re.sub(r"\s*(?:full|全量|全部|all)\s*$", "", match[1].strip(), flags=re.IGNORECASE)
    return Heard(name, text, ((match.start(1), match.start(1) + len(name)),)) if name else None


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


def clusters(text: Passage) -> Heard[dict[str, Any]] | None:
    """Say how many clusters of what: `5 conv × all QA` is five conversations."""
    units = "|".join(sorted(_UNITS, key=len, reverse=True))
    match = text.search(rf"(?<![A-Za-z0-9_.])(\d{{1,9}})\s*(?:个|段|篇|条)?\s*({units})s?(?![a-z])")
    if match is None:
        return None
    return Heard({"key": _UNITS[match[2].lower()], "n": int(match[1])}, text, (match.span(),))


def endpoint_kind(text: Passage) -> Heard[str] | None:
    """Tell binary from continuous; None where neither can be told."""
    return _first(
        text,
        ("binary", r"\bbinary\b|0/1|二元|二值|\byes/no\b|pass/fail"),
        ("continuous", r"f1\b|\bscore\b|bleu|rouge|continuous|连续|分数"),
        ("binary", r"accuracy|准确率|正确率|\bacc\b"),
    )


def _first(text: Passage, *meanings: tuple[str, str]) -> Heard[str] | None:
    """Return what the first of the patterns that the text has means, and every place that says so."""
    for meaning, words in meanings:
        spans = tuple(match.span() for match in text.matches(words))
        if spans:
            return Heard(meaning, text, spans)
    return None


_ACCURACY = r"准确率|正确率"
_OF_EVERY_ENDPOINT = r"\b(?:paired|per-question|per[- ]item)\b|配对|逐题|每题"
"""What a plan does with every endpoint, so that leaving it out of a name loses nothing."""


def endpoint_id(prose_text: Passage) -> Heard[str] | None:
    """Return an id: `paired binary accuracy (per-question 0/1)` is accuracy."""
    head = prose_text.before("(", ",", ";")
    text = re.sub(_ACCURACY, " accuracy ", head.untaken())
    text = re.sub(rf"{_OF_EVERY_ENDPOINT}|\b(?:binary|continuous|mean|official)\b|二元", " ", text)
    name = slug(re.sub(r"\s+(?:with|by|on|of|in|as)\s*$", "", text).strip(" *`-,.;"))
    if name is None:
        return None
    spans = [match.span() for match in head.matches(_ACCURACY)] if "accuracy" in name else []
    spans += [
        word.spans[0] for word in head.words() if slug(word.value) and slug(word.value) in name.split("_")
    ]
    spans += [word.spans[0] for word in head.words() if slug(word.value) == name]
    return Heard(name, prose_text, tuple(spans))


def take_endpoint(text: Passage, endpoint: Mapping[str, Any]) -> None:
    """Take the words that say what the plan has of an endpoint: its kind, and what holds of every endpoint."""
    kind = endpoint_kind(text)
    if kind is not None and kind.value == endpoint.get("kind"):
        kind.take()
    if "accuracy" in str(endpoint.get("id")).split("_"):
        text.take_each(_ACCURACY)
    text.take_each(_OF_EVERY_ENDPOINT)


_MODEL = (
    r"(?P<model>[A-Za-z][A-Za-z0-9_./\-]{0,62}[A-Za-z0-9](?: \d[0-9A-Za-z.]{0,20})?"
    r"(?: (?:sonnet|opus|haiku|pro|flash|mini|turbo|instruct))?)"
)
_JUDGE = (
    rf"\b(?:judged|graded|rated|scored)\s+(?:by|with)\s+(?:an?\s+|the\s+)?(?:llm\s+)?{_MODEL}"
    r"(?:\s+(?:as\s+)?(?:the\s+)?judge\b)?",
    rf"\bjudge(?:\s+model)?\s*(?:is|[:=(])?\s*{_MODEL}",
    rf"(?<![\w.\-/]){_MODEL}(?:\s+as)?(?:\s+(?:the|a|an))?(?:\s+llm)?[\s\-]+judge\b",
    rf"(?:由|用|裁判(?:模型)?|评审(?:模型)?|评判(?:模型)?)\s*[:=为是]?\s*{_MODEL}\s*"
    r"(?:作为)?(?:评判|评审|打分|判定|裁判|评分)?",
)


def judge(text: Passage) -> Heard[str] | None:
    """Return the model of `judge gpt-4o-2024-08-06` or `由 gpt-4o 评判`: a name with a digit in it."""
    for pattern in _JUDGE:
        match = next((match for match in text.matches(pattern) if re.search(r"\d", match["model"])), None)
        if match is not None:
            return Heard(match["model"], text, (match.span(),))
    return None


def claim(text: str) -> str | None:
    """Return the claim that a statement makes, as a plan names it; None where it makes none."""
    meant = _first(
        Passage(text),
        ("non_inferiority", r"non-?inferior|not worse|非劣|不劣于|不差于"),
        ("equivalence", r"equivalen|等价|等效"),
        ("superiority", r"improv|outperform|better|higher|increase|exceed|raise|提高|提升|优于|高于|超过"),
        ("at_least", r"\bat least\b[^.;]{0,40}?(?:%|per ?cent)|(?:至少|不低于|达到)[^。；]{0,20}?%"),
    )
    return None if meant is None else meant.value


def reference(text: str) -> dict[str, Any] | None:
    """Return the number of `answers at least 95 % of questions`; None where there is none, or several."""
    numbers = re.findall(rf"({_NUMBER})\s*(?:%|per ?cent\b)", fold(text))
    return {"value": float(numbers[0]), "unit": "%"} if len(numbers) == 1 else None


def arm_in_parentheses(text: str) -> str | None:
    """Return the arm of `the new prompt (C3) answers at least 95 %`."""
    names = re.findall(r"\(([A-Za-z][\w.]{0,15})\)", fold(text))
    return names[0] if len(names) == 1 else None


_ARMS = r"(?:Δ|delta|差值?)\s*\(\s*([\w.]{1,64})\s*-\s*([\w.]{1,64})\s*\)"


def arms_of_delta(text: str) -> tuple[str, str] | None:
    """Return baseline and candidate of `Δ(C3-C1)`: C1 and C3."""
    match = re.search(_ARMS, fold(text))
    return None if match is None else (match[2], match[1])


def arms_in_parentheses(text: str) -> tuple[str, str] | None:
    """Return baseline and candidate of `synthesis (C3) improves … over retrieval (C1)`: C1 and C3."""
    names = re.findall(r"\(([A-Za-z][\w.]{0,15})\)", fold(text))
    return (names[1], names[0]) if len(names) == 2 else None


def margin(text: Passage) -> Heard[tuple[float, str]] | None:
    """Read `±2 pp` as value and unit."""
    match = text.search(rf"(?:±|\+/-)?\s*({_NUMBER}(?:[eE][+-]?\d+)?)\s*({_POINTS}|proportion|score)?")
    if match is None:
        return None
    unit = "score" if match[2] is None else match[2].lower()
    unit = unit if unit in ("proportion", "score") else "pp"
    return Heard((abs(float(match[1])), unit), text, (match.span(),))


@dataclass(frozen=True, slots=True)
class Chosen:
    """A threshold's value, how it was chosen and on which split."""

    value: Heard[float]
    how: Heard[str]
    split: str | None


def chosen(text: Passage) -> Chosen | None:
    """Return value, choice and split of `τ = 0.40 (max_score p30 on dev split)`."""
    value = text.before("(").search(rf"[=:]?\s*({_NUMBER})")
    how = text.search(r"\(([^()]{1,300})\)")
    if value is None or how is None:
        return None
    split = re.search(r"(?:\bon\s+(?:the\s+)?|在\s*)([\w.\-]{1,40}?)\s*(?:split|划分|集)", how[1])
    return Chosen(
        Heard(float(value[1]), text, (value.span(),)),
        Heard(how[1].strip(), text, (how.span(),)),
        split[1] if split else None,
    )


@dataclass(frozen=True, slots=True)
class Clause:
    """A clause in the rule language, and what its words were beside that."""

    text: str
    """With `{}` for the test."""
    family: str | None
    clustered: bool
    arms: Passage | None
    """What stands in parentheses behind the delta."""
    beside: Passage | None
    """The words around the test's name, of which its parameters may be taken."""


@dataclass(frozen=True, slots=True)
class RuleRead:
    """A rule clause by clause, and what in the sentence nobody could translate."""

    clauses: tuple[Clause, ...]
    unread: tuple[str, ...]
    before: Passage | None
    """What stands before the condition, such as `Pass H1a`."""


_EFFECT = re.compile(
    rf"(?:Δ|delta|差值?|差异)\s*(?P<arms>\([^()]*\))?\s*(?P<sign>>=|≥|>|<=|≤|<)\s*(?P<number>{_NUMBER})\s*"
    rf"(?P<points>{_POINTS})?",
    re.IGNORECASE,
)
_P = re.compile(
    r"(?P<beside>.{0,80}?)\s*p\s*(?:-?\s*value|值)?\s*(?P<sign><=|≤|<)\s*(?P<number>0?\.\d{1,15})",
    re.IGNORECASE,
)
_CI = re.compile(
    r"(?P<beside>.{0,80}?\s*(?:\d{1,3}(?:\.\d{1,9})?\s*%\s*)?)(?:CI|confidence interval|置信区间)\s*"
    r"(?:excludes?|does not (?:contain|include)|不含|不包含|不包括|排除)\s*(?:0|zero|零)",
    re.IGNORECASE,
)
_SIGNS = {"≥": ">=", "≤": "<="}
_CLUSTERED = (
    r"(?:\b(?:conversation|document|user|repository|repo|item)s?[- ])?\bcluster(?:ed)?\b|cluster|聚类|会话级|对话级"
    r"|按(?:对话|会话)"
)
_OF_EVERY_RULE = r"\b(?:paired|tests?|CIs?|confidence intervals?)\b|配对|检验|置信区间"


def rule(text: Passage) -> RuleRead:
    """Read `Δ(C3-C1) ≥ +2.0 pp AND McNemar p < 0.05 AND 95% CI excludes 0`, clause by clause."""
    opening = text.search(r"\biff\b|\bif and only if\b|当且仅当|\bwhen\b|\bif\b|:")
    start = 0 if opening is None else text.place(opening.end())
    before = None if opening is None else text.part(0, text.place(opening.start()))
    body = text.part(start)
    clauses, unread, at = [], [], 0
    parting = re.compile(r"\s+and\s+|\s*&&\s*|\s*[,;]?\s*(?:并且|而且|且)\s*", re.IGNORECASE)
    for end, then in [*(match.span() for match in parting.finditer(body.text)), (len(body.text), 0)]:
        part = body.part(at, end).strip(" ,;.。")
        clause = _read_clause(part)
        if clause is None:
            unread.append(part.text)
        else:
            clauses.append(clause)
        at = then
    return RuleRead(tuple(clauses), tuple(unread), before)


def _read_clause(prose_text: Passage) -> Clause | None:
    """Read a condition on the effect, a p-value or an interval out of prose; None where it is another sentence."""
    text = prose_text.text
    clustered = bool(re.search(_CLUSTERED, text, re.IGNORECASE))
    if effect := _EFFECT.fullmatch(text):
        unit = " pp" if effect["points"] else ""
        condition = f"delta {_SIGNS.get(effect['sign'], effect['sign'])} {effect['number'].lstrip('+')}{unit}"
        return Clause(
            condition,
            None,
            clustered,
            prose_text.part(*effect.span("arms")) if effect["arms"] else None,
            None,
        )
    if p := _P.fullmatch(text):
        family = family_of(p["beside"])
        if family is None:
            return None
        condition = f"{{}}.p_value {_SIGNS.get(p['sign'], p['sign'])} {_zero(p['number'])}"
        return Clause(condition, family, clustered, None, prose_text.part(*p.span("beside")))
    if interval := _CI.fullmatch(text):
        family = family_of(interval["beside"]) or _of_intervals()
        return Clause("{}.ci excludes 0", family, clustered, None, prose_text.part(*interval.span("beside")))
    return None


def _zero(number: str) -> str:
    return number if number.startswith("0") else f"0{number}"


def take_test(text: Passage, test: StatTest[Any, Any], spoken: Spoken, parameters: dict[str, Any]) -> None:
    """Take the words that name a test, and those that state the parameters it has in the plan."""
    text.take_each(rf"(?:{spoken.words})(?:[a-z]+|[性法])?")
    text.take_each(_CLUSTERED if True in spoken.clustered else "$^")
    text.take_each(_OF_EVERY_RULE)
    known = {name: field.default for name, field in test.request.model_fields.items()} | parameters
    for word in text.words():
        stated = spoken.parameters(word.value)
        sided = {"alternative": word.value.lower()} if word.value.lower() == "two-sided" else {}
        if (stated or sided) and all(known.get(name) == value for name, value in (stated or sided).items()):
            word.take()


def family_of(text: str) -> str | None:
    """Say which statistical test a name means."""
    folded = fold(text).casefold()
    meant = (spoken.family for _, spoken in spoken_tests() if re.search(spoken.words, folded))
    return next(meant, None)


def _of_intervals() -> str | None:
    """Say which one is meant by an interval that names none."""
    return next((spoken.family for _, spoken in spoken_tests() if spoken.intervals), None)


def spoken_tests() -> list[tuple[StatTest[Any, Any], Spoken]]:
    """Return the tests that prose has words for, in the order in which they are listened for."""
    known = [
        (test, test.plan.spoken)
        for test in registry.latest().values()
        if test.plan is not None and test.plan.spoken is not None
    ]
    return sorted(known, key=lambda pair: pair[1].rank)


def family_policy(text: Passage) -> Heard[str] | None:
    """Return what is done about several hypotheses."""
    return _first(
        text,
        (
            "none",
            r"(?:report(?:ed|ing)?\s+)?(?:all\s+)?(?:p[- ]values?\s+)?(?:are\s+)?(?:uncorrected|without correction)"
            r"|no correction|(?:报告)?(?:所有)?(?:不校正|不做校正|未校正)(?:的)?\s*(?:p\s*值)?",
        ),
        ("bonferroni", r"bonferroni"),
        ("holm", r"\bholm\b"),
        ("hochberg", r"hochberg"),
        ("hommel", r"hommel"),
        ("max_t", r"\bmax[-_ ]?t\b|westfall|romano"),
    )


def stopping(text: Passage) -> Heard[str] | None:
    """Say when results are looked at."""
    return _first(
        text,
        ("anytime_valid", r"anytime|e-process|随时有效"),
        ("group_sequential", r"group.sequential|lan-demets|obrien|pocock|成组序贯"),
        (
            "fixed_n",
            r"no interim(?:\s+(?:analys[ei]s|looks?))?|(?:run to (?:the )?)?(?:fixed|pre-?specified|planned) n\b"
            r"|(?:无|不做|不进行)中期(?:分析)?|跑到预先指定的\s*n|固定样本(?:量)?",
        ),
    )


def missing_policy(text: Passage) -> Heard[str] | None:
    """Return what a result that is not there does."""
    return _first(
        text,
        ("worst_case", r"worst(?:[- ]case)?|最不利|最坏"),
        ("exclude_pair", r"excluded?|drop(?:ped)?|剔除|排除"),
        ("fail", r"\bfail|违反|失败"),
    )


def find_mentioned(text: Passage, names: Sequence[str]) -> Iterator[Heard[str]]:
    """Yield those of the names that the text mentions, longest first, none inside another."""
    rest = text.text.casefold() if len(text.text.casefold()) == len(text.text) else text.text
    for name in sorted(names, key=len, reverse=True):
        pattern = rf"(?<![\w]){re.escape(fold(name).casefold())}(?![a-z0-9_])"
        spans = [match.span() for match in re.finditer(pattern, rest)]
        if spans:
            rest = re.sub(pattern, lambda match: " " * len(match[0]), rest)
            yield Heard(name, text, tuple(text.span(*span) for span in spans))


def rule_name(text: str) -> str:
    """Return the text as a name that rules can use."""
    name = re.sub(r"\W+", "_", text, flags=re.ASCII).strip("_")[:64]
    return f"{name}_" if name.lower() in RESERVED else name
