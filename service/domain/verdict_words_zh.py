"""A verdict in plain Chinese, made when it is read: what is stored and hashed is the verdict alone.

Says what the English sentence says and no more: never that there is no difference. Reasons that the service
gives in English are quoted as they are.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from types import MappingProxyType

from service.domain.plan import Plan
from service.domain.reading import IntervalRead
from service.domain.verdict_records import HypothesisVerdict
from service.domain.verdict_words import equivalence_shown

OUTCOMES: Mapping[str, str] = MappingProxyType(
    {
        "supported": "得到支持",
        "not_supported": "未获支持",
        "equivalent": "判为等价",
        "inconclusive": "无法判定",
        "invalid": "无效",
    }
)
READINGS: Mapping[str, str] = MappingProxyType(
    {
        "positive": "整体高于 0(正向)",
        "negative": "整体低于 0(负向)",
        "equivalent": "整体落在最小关注效应量之内(等价)",
        "inconclusive": "尚不能定论",
    }
)


def sentence_zh(plan: Plan, found: HypothesisVerdict, read: IntervalRead | None) -> str:
    """Outcome, estimate, why, and what was not shown."""
    endpoint = plan.endpoint(found.endpoint)
    binary = endpoint is not None and endpoint.kind == "binary"
    parts = [f"假设 {found.id} {OUTCOMES[found.outcome]}:{_why(found)}。"]
    if found.delta is not None:
        left_out = f",剔除 {found.excluded.pairs} 对" if found.excluded.pairs else ""
        parts.append(
            f"在 {found.population} 上,{found.candidate} 与 {found.baseline} 的 {found.endpoint} 之差为 "
            f"{amount_zh(found.delta, binary)}(n = {found.n}{left_out})。"
        )
    if read is not None:
        parts.append(_interval(read, binary))
    if (shown := equivalence_shown(plan, found)) is not None:
        low, high = (amount_zh(end, binary) for end in (shown.low, shown.high))
        parts.append(
            f"在 alpha = {shown.alpha:g} 下拒绝了超出 ±{amount_zh(shown.margin, binary).lstrip('+')} 的差异:"
            f"{shown.test} 的 {100 * shown.level:g}% 区间为 {low} 至 {high}。"
        )
    if found.outcome == "not_supported":
        parts.append("这并不表明两者相同。")
    return "".join(parts)


def _why(found: HypothesisVerdict) -> str:
    if found.outcome == "invalid":
        return f"无法按计划判定,原因(原文)为“{found.reason}”"
    if found.rule_holds and found.reason:
        return f"规则 `{found.rule}` 成立,但主张并未由此得出,原因(原文)为“{found.reason}”"
    if found.outcome == "inconclusive":
        return f"规则无法判定,原因(原文)为“{found.reason}”"
    if found.rule_holds:
        return f"规则 `{found.rule}` 成立"
    failing = [f"`{clause.text}`" for clause in found.clauses if clause.holds is False]
    because = f"({'、'.join(failing)} 不成立)" if failing else ""
    also = ",而计划指定的等价性检验拒绝了超出界限的差异" if found.outcome == "equivalent" else ""
    return f"规则 `{found.rule}` 不成立{because}{also}"


def _interval(read: IntervalRead, binary: bool) -> str:
    low, high = (amount_zh(end, binary) for end in (read.ends.low, read.ends.high))
    inside = read.within_sesoi and read.reading in ("positive", "negative")
    also = ",但同时也落在最小关注效应量之内" if inside else ""
    return f"{read.of} 的区间为 {low} 至 {high},{READINGS[read.reading]}{also}。"


def amount_zh(value: float | None, binary: bool) -> str:
    """A difference in percentage points, or in score units."""
    if value is None:
        return "未定义的端点"
    if math.isinf(value):
        return "正无穷" if value > 0 else "负无穷"
    return f"{100 * value:+.2f} 个百分点" if binary else f"{value:+.4g}"
