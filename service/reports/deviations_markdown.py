"""DEVIATIONS.md: every departure from the plan as it was filed and judged, in English or Chinese.

What the author wrote stays in the author's language. Nothing here follows from outcomes before the verdict:
`consequences` is None until then.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType

from service.domain.deviations.consequences import Consequences
from service.domain.deviations.deviation import Decision, Deviation, standing
from service.reports.prereg.labels import Language
from service.reports.prereg.text import code, json_span, sentence, written

_WORDS: Mapping[str, tuple[str, str]] = MappingProxyType(
    {
        "title": ("Deviations from EXPERIMENTS_PREREG.md", "对 EXPERIMENTS_PREREG.md 的偏离"),
        "plan": ("Plan SHA-256", "计划 SHA-256"),
        "none": ("No deviation has been filed.", "尚未登记任何偏离。"),
        "deviation": ("Deviation", "偏离"),
        "original": ("Original", "原计划"),
        "actual": ("Actual", "实际"),
        "reason": ("Reason", "原因"),
        "impact": ("Impact", "影响"),
        "direction": ("Direction", "方向"),
        "stated": ("as its author says", "作者声明"),
        "computed": ("as computed", "按规则计算"),
        "for_null": ("for a finding of no difference", "对“无差异”结论"),
        "change": ("Change", "变更"),
        "known": ("Known when it was filed", "登记时的已知情况"),
        "results": ("results in", "已收到结果"),
        "readable": ("outcomes could be read", "当时可以看到结果"),
        "sealed": ("no outcome could be read", "当时无法看到任何结果"),
        "filed": ("Filed", "登记"),
        "rule": ("Classified by rule", "按规则判定"),
        "decided": ("Decided", "评审决定"),
        "standing": ("Standing", "现行结论"),
        "sha256": ("SHA-256", "SHA-256"),
        "consequences": ("What they do to the verdict", "对结论的影响"),
        "stays": ("The verdict as planned stays as it is.", "按计划得出的结论保持不变。"),
        "hypothesis": ("Hypothesis", "假设"),
        "planned": ("As planned", "按计划"),
        "as_run": ("As run", "按实际执行"),
        "tipping": ("items in doubt could change the outcome", "道存疑题目即可改变结论"),
        "robust": ("no filling of the items in doubt changes the outcome", "存疑题目无论取何值都不改变结论"),
        "unsettled": ("not settled", "未能确定"),
    }
)
_VALUES: Mapping[str, str] = MappingProxyType(
    {
        "conservative": "保守",
        "aggressive": "激进",
        "neutral": "中性",
        "unknown": "不明",
        "accept": "接受",
        "needs_review": "待评审",
        "new_registration": "需重新预注册",
        "reject": "拒绝",
        "supported": "支持",
        "not_supported": "未获支持",
        "equivalent": "等价",
        "inconclusive": "无法判定",
        "invalid": "无效",
    }
)


def print_deviations(
    deviations: Sequence[Deviation],
    decisions: Mapping[int, tuple[Decision, ...]],
    *,
    plan_sha256: str,
    consequences: Consequences | None = None,
    marks: Sequence[tuple[str, str]] = (),
    language: Language = "en",
) -> str:
    """The deviations in the order they were filed, after `marks`: what every reader has to know, in both languages."""
    words = _Words(language)
    parts = [f"# {words['title']}", f"{words['plan']}{words.colon}`{plan_sha256}`"]
    if marks:
        parts.append("\n".join(f"- **!** {sentence(mark[words.column])}" for mark in marks))
    if not deviations:
        parts.append(words["none"])
    parts += [
        "\n".join(_deviation(deviation, decisions.get(deviation.number, ()), words))
        for deviation in deviations
    ]
    if consequences is not None and deviations:
        parts.append("\n".join(_consequences(consequences, words)))
    return "\n\n".join(parts) + "\n"


class _Words:
    """The fixed words in one language."""

    def __init__(self, language: Language) -> None:
        self.column = 1 if language == "zh" else 0
        self.colon = ":" if self.column else ": "

    def __getitem__(self, key: str) -> str:
        return _WORDS[key][self.column]

    def value(self, value: str) -> str:
        """A value of a closed set; in Chinese with the value itself behind it."""
        return f"{_VALUES[value]}(`{value}`)" if self.column else f"`{value}`"


def _deviation(each: Deviation, decisions: tuple[Decision, ...], words: _Words) -> Iterator[str]:
    filing, facts, colon = each.filing, each.facts, words.colon
    yield f"## {words['deviation']} {each.number}{colon}{written(filing.title)}"
    yield ""
    for name in ("original", "actual", "reason", "impact"):
        yield f"- **{words[name]}**{colon}{written(getattr(filing, name))}"
    yield f"- **{words['direction']}**{colon}{words.value(filing.direction)} ({words['stated']})"
    for direction in each.directions:
        yield (
            f"  - {direction.hypothesis}{colon}{words.value(direction.direction)} ({words['computed']}); "
            f"{words['for_null']}{colon}{words.value(direction.null_direction)}"
        )
    yield f"- **{words['change']}**{colon}{json_span(filing.change.model_dump(mode='json', exclude_none=True))}"
    seen = words["readable"] if facts.readable else words["sealed"]
    received = f"{facts.results_received}/{facts.results_expected} {words['results']}"
    yield f"- **{words['known']}**{colon}`{facts.state}`; {received}; {seen}"
    yield f"- **{words['filed']}**{colon}{each.filed_at.isoformat()}, {_by(each.author, each.author_key)}"
    rule = f"{each.rule.id}, {each.rule.ruleset}"
    yield f"- **{words['rule']}**{colon}{words.value(each.classification)} (`{rule}`)"
    for decision in decisions:
        note = "" if decision.note is None else f"{colon}{written(decision.note)}"
        when = f"{decision.decided_at.isoformat()}, {_by(decision.reviewer, decision.reviewer_key)}"
        yield f"- **{words['decided']}**{colon}{words.value(decision.classification)} ({when}){note}"
    yield f"- **{words['standing']}**{colon}{words.value(standing(each, decisions))}"
    yield f"- **{words['sha256']}**{colon}`{each.sha256()}`"


def _by(name: str, key_id: str | None) -> str:
    """Who it was, by name and key."""
    return code(name) if key_id is None else f"{code(name)} ({code(key_id)})"


def _consequences(consequences: Consequences, words: _Words) -> Iterator[str]:
    yield f"## {words['consequences']}"
    yield ""
    yield words["stays"]
    if consequences.as_run is not None:
        yield ""
        yield f"| {words['hypothesis']} | {words['planned']} | {words['as_run']} |"
        yield "|---|---|---|"
        for hypothesis in consequences.as_run.hypotheses:
            planned, as_run = words.value(hypothesis.outcome_planned), words.value(hypothesis.outcome)
            yield f"| {hypothesis.hypothesis} | {planned} | {as_run} |"
    lines = list(_doubts(consequences, words))
    if lines:
        yield ""
        yield from lines


def _doubts(consequences: Consequences, words: _Words) -> Iterator[str]:
    for point in consequences.tipping_points:
        if point.robust:
            yield f"- {point.hypothesis}{words.colon}{words['robust']}"
        elif point.items is not None and point.outcome_then is not None:
            then = words.value(point.outcome_then)
            yield f"- {point.hypothesis}{words.colon}{point.items} {words['tipping']} → {then}"
        else:
            yield f"- {point.hypothesis}{words.colon}{words['unsettled']} ({sentence(point.reason or '?')})"
    for number in consequences.not_computed:
        yield f"- {words['deviation']} {number.deviation}{words.colon}{sentence(number.reason)}"
    for reason in consequences.reasons:
        yield f"- {sentence(reason)}"
