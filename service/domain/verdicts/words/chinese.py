"""A verdict in plain Chinese, made when it is read: what is stored and hashed is the verdict alone.

Says what the English sentence says and no more: never that there is no difference.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType

from service.domain.plans.plan import Plan
from service.domain.verdicts.equivalence_fallback import WIDER
from service.domain.verdicts.reading import IntervalRead
from service.domain.verdicts.records import HypothesisVerdict
from service.domain.verdicts.validity import Mark, flags
from service.domain.verdicts.words.chinese_reasons import reason_zh
from service.domain.verdicts.words.facts import (
    ComparedP,
    Facts,
    OtherMargin,
    RatioShown,
    TestedEffect,
    facts_of,
    fallback_case,
)
from service.domain.verdicts.words.numbers import percentage, points, probability, score, times
from service.domain.verdicts.words.order import Language, told
from service.domain.verdicts.words.slices import slices_zh

OUTCOMES: Mapping[str, str] = MappingProxyType(
    {
        "supported": "得到支持",
        "not_supported": "未获支持",
        "equivalent": "判为等价",
        "inconclusive": "无法判定",
        "invalid": "无效",
    }
)

ARMS = {"candidate": "候选", "baseline": "基线"}


def sentence_zh(
    plan: Plan, found: HypothesisVerdict, read: IntervalRead | None, marks: Sequence[Mark] = ()
) -> str:
    """Outcome, estimate, p-values, interval, margin, and what was not shown; then the marks it stands with."""
    flagged = (f"此结论带有标记:{reason_zh(mark.says)}。" for mark in flags(marks, found.id))
    return "".join([*told(_CHINESE, found, read, facts_of(plan, found, read)), *flagged])


def _outcome(found: HypothesisVerdict) -> str:
    return f"假设 {found.id} {OUTCOMES[found.outcome]}:{_why(found)}。"


def _estimate(delta: float, found: HypothesisVerdict, facts: Facts) -> str:
    return (
        f"在 {found.population} 上,{found.candidate} 与 {found.baseline} 的 {found.endpoint} 之差为 "
        f"{amount(delta, facts)}(n = {found.n}{_items(found, facts)})。"
    )


def _effect(tested: TestedEffect, facts: Facts) -> str:
    q = 0.5 if tested.effect.q is None else tested.effect.q
    quantile = "中位数" if q == 0.5 else f" {q:g} 分位数"
    what = {
        "means": "均值",
        "cluster_means": "各聚类均值的平均(各聚类权重相同)",
        "ranks": "各题目之差的秩及其伪中位数",
        "shift": "两臂取值的大小次序及其位移",
        "quantiles": f"两臂的{quantile}",
        "quantile_of_differences": f"各题目之差的{quantile}",
    }[tested.effect.kind]
    value = "" if tested.value is None else f"({amount(tested.value, facts)})"
    return f"`{tested.test}` 所说的是{what}{value},而不是各题目的均值之差。"


def _ratio(shown: RatioShown, found: HypothesisVerdict) -> str:
    level = "" if shown.level is None else f"{percentage(shown.level)} "
    if shown.low is None:
        interval = "没有区间"
    elif shown.high is None:
        interval = f"{level}区间自 {times(shown.low, *shown.apart)} 起,没有上端"
    else:
        low, high = (times(end, *shown.apart) for end in (shown.low, shown.high))
        interval = f"{level}区间 {low} 至 {high}"
    n = "" if shown.n is None else f",n = {shown.n}"
    return (
        f"在 {shown.endpoint} 上,{found.candidate} 的花费是 {found.baseline} 的 "
        f"{times(shown.value, *shown.apart)} 倍({interval}{n})。"
    )


def _unshown(size: float, facts: Facts) -> str:
    return f"陈述所称的 {amount(size, facts)} 只就观察到的差异作要求,规则并未对其作检验。"


def _why(found: HypothesisVerdict) -> str:
    if found.outcome == "invalid":
        return f"无法按计划判定,因为{reason_zh(found.reason)}"
    if found.rule_holds and found.reason:
        return f"规则 `{found.rule}` 成立,但主张并未由此得出:{reason_zh(found.reason)}"
    if found.outcome == "inconclusive":
        unknown = [f"`{each.text}`:{reason_zh(each.reason)}" for each in found.clauses if each.holds is None]
        return f"规则无法判定({';'.join(unknown)})"
    if found.rule_holds:
        return f"规则 `{found.rule}` 成立"
    failing = [f"`{clause.text}`" for clause in found.clauses if clause.holds is False]
    because = f"({'、'.join(failing)} 不成立)" if failing else ""
    also = ",而计划指定的等价性检验拒绝了超出界限的差异" if found.outcome == "equivalent" else ""
    return f"规则 `{found.rule}` 不成立{because}{also}"


def _items(found: HypothesisVerdict, facts: Facts) -> str:
    parts = [f",剔除 {found.excluded.pairs} 对"] if found.excluded.pairs else []
    if found.excluded.filled:
        how = "按对主张最不利填补"
        if found.claim == "equivalence":
            taken = "一个方向" if found.filled is None else f"有利于{ARMS[facts.favoured_by(found.filled)]}"
            how = f"按{taken}填补,并按相反方向再判一次"
        parts.append(f",其中 {found.excluded.filled} 个{how}")
    return "".join(parts)


def _compared(each: ComparedP, found: HypothesisVerdict, facts: Facts) -> str:
    p = f"{'小于 ' if each.below else ''}{probability(each.p, each.threshold)}"
    adjusted = ""
    if each.unadjusted is not None:
        adjusted = f"(经 {facts.policy} 对 {facts.size} 个假设校正;校正前为 {probability(each.unadjusted)})"
    elif facts.uncorrected:
        adjusted = f"(未对其 {facts.uncorrected} 个假设作校正)"
    words = {
        ("<", True): "低于",
        ("<", False): "不低于",
        ("<=", True): "不超过",
        ("<=", False): "高于",
    }[each.operator, each.holds]
    signs = ""
    if each.signs is not None:
        signs = f"(仅就重抽样而言;单凭偶然,符号如此不均的概率为 {probability(each.signs, each.threshold)})"
    return f"`{each.field}`{_resting(found)} 为 {p}{signs}{adjusted},{words} {each.threshold:g}。"


def _resting(found: HypothesisVerdict) -> str:
    return f"(含填补的 {found.excluded.filled} 个)" if found.excluded.filled else ""


def _interval(read: IntervalRead, found: HypothesisVerdict, facts: Facts) -> str:
    low, high = (amount(end, facts) for end in (read.ends.low, read.ends.high))
    level = "" if read.level is None else f"{percentage(read.level)} "
    within = None if read.sesoi is None else margin_text(read.sesoi, facts)
    if read.reading in ("positive", "negative"):
        says = f"整体{'高于' if read.reading == 'positive' else '低于'} 0"
        says += f",但同时也在 {within} 之内" if read.within_sesoi else ""
    elif read.reading == "equivalent":
        says = f"包含 0,且在 {within} 之内"
    elif read.ends.low is None or read.ends.high is None:
        says = "看不出结论,因为有一端未定义"
    else:
        says = "看不出结论:包含 0" + (f",且不在 {within} 之内" if within else "")
    return f"{read.of} 的 {level}区间{_resting(found)}为 {low} 至 {high}:{says}。"


def _disagreement(facts: Facts, read: IntervalRead) -> str:
    assert facts.disagree is not None  # noqa: S101 - the caller asked
    why, each, method = facts.disagree
    level = percentage(read.level or 0)
    because = {
        "corrected": f"p 值经过校正,而区间仍为其自身的 {level}",
        "sides": f"`{each.field}` 是单侧的,而 {level} 区间是双侧的",
        "levels": f"区间的水平为 {level},而 p 值与 {each.threshold:g} 比较",
        "methods": f"二者方法不同:区间来自 {read.method},p 值来自 {method}",
    }[why]
    return f"二者对 0 的判断不同,因为{because}。"


def _margin(facts: Facts) -> str:
    shown = facts.margin
    assert shown is not None  # noqa: S101 - the caller asked
    by = f"{shown.by} 的{'' if shown.level is None else f' {percentage(shown.level)} '}区间"
    if shown.alpha is not None:
        by = f"{shown.by}(alpha = {shown.alpha:g})"
    if shown.low is None:
        return f"因此 {by} 拒绝了不低于 {amount(shown.high, facts)} 的差异。"
    if shown.high is None:
        return f"因此 {by} 拒绝了不高于 {amount(shown.low, facts)} 的差异。"
    if abs(shown.low + shown.high) <= 1e-12:
        return f"因此 {by} 拒绝了超出 {margin_text(shown.high, facts)} 的差异。"
    return f"因此 {by} 拒绝了 {amount(shown.low, facts)} 至 {amount(shown.high, facts)} 以外的差异。"


def _other_margin(other: OtherMargin, facts: Facts) -> str:
    numbers = [] if other.sesoi is None else [f" SESOI 为 {margin_text(other.sesoi, facts)}"]
    numbers += [] if other.stated is None else [f"陈述所称为 {margin_text(other.stated, facts)}"]
    reason = " ".join((other.reason or "").split()).rstrip(".。")
    why = f"计划说明的原因:{reason}" if reason else "计划没有说明原因"
    return f"{other.test} 的界限为 {margin_text(other.margin, facts)},而{','.join(numbers)}({why})。"


def _fallback(found: HypothesisVerdict, read: IntervalRead | None, facts: Facts) -> Iterator[str]:
    fallback, case = facts.fallback, fallback_case(facts)
    if fallback is None or case is None or fallback.margin is None or fallback.alpha is None:
        return
    beyond = f"超出 {margin_text(fallback.margin, facts)} 的差异"
    at = f"在 alpha = {fallback.alpha:g} 下"
    filled = ""
    if fallback.way is not None:
        arm = ARMS[facts.favoured_by(fallback.way)]
        also = ",按相反方向亦然" if fallback.equivalent else ""
        filled = f"(其中 {found.excluded.filled} 个按有利于{arm}填补{also})"
    over = f"经 {facts.policy} 对 {facts.size} 个假设校正"
    adjusted = None if fallback.adjusted is None else probability(fallback.adjusted, fallback.alpha)
    own = None if fallback.p_value is None else probability(fallback.p_value, fallback.alpha)
    if case == "decided":
        level = percentage(1 - 2 * fallback.alpha)
        ends = (None, None) if fallback.ci is None else (fallback.ci.low, fallback.ci.high)
        low, high = (amount(end, facts) for end in ends)
        yield f"{at}拒绝了{beyond}:{fallback.test} 的 {level} 区间为 {low} 至 {high}{filled}。"
        if adjusted is not None:
            yield f"其 p 值{over}后为 {adjusted}(校正前为 {own})。"
        if facts.uncorrected:
            yield f"未对其 {facts.uncorrected} 个假设作校正。"
        if read is not None and read.reading == "inconclusive" and read.level is not None:
            if abs(read.level - (1 - 2 * fallback.alpha)) > 1e-9:
                yield (
                    f"水平为 {fallback.alpha:g} 的两个单侧检验对应 {level} 区间;{read.of} 的水平为 "
                    f"{percentage(read.level)},所以它单独看不出结论。"
                )
            else:
                yield f"{read.of} 来自另一种方法,所以它单独看不出结论。"
    elif case == "uncovered":
        reason = reason_zh(fallback.reason)
        but = reason if fallback.reason == WIDER else f"未对其他假设作校正({reason})"
        yield f"{fallback.test} {at}拒绝了{beyond}{filled},但{but},因此不作为结论。"
    elif case == "corrected away" and adjusted is not None:
        yield f"{fallback.test} 单独{at}拒绝{beyond}{filled}(p = {own}),但{over}后不拒绝(p = {adjusted})。"
    elif case == "not shown":
        yield f"{fallback.test} {at}未拒绝{beyond}{filled}。"


def amount(value: float | None, facts: Facts) -> str:
    """A difference with its unit."""
    if value is None:
        return "未定义的端点"
    if math.isinf(value):
        return "正无穷" if value > 0 else "负无穷"
    return amount_zh(value, facts.binary, *facts.apart)


def amount_zh(value: float, binary: bool, *apart: float) -> str:
    """A difference in percentage points, or in score units."""
    return f"{points(value, *apart)} 个百分点" if binary else score(value, *apart)


def margin_text(value: float, facts: Facts) -> str:
    """A margin in both directions."""
    return f"±{amount(abs(value), facts).lstrip('+')}"


def _slices(found: HypothesisVerdict, facts: Facts) -> Iterator[str]:
    if found.slices is not None:
        yield from slices_zh(found.slices, binary=facts.binary)


_CHINESE = Language(
    outcome=_outcome,
    void="其子句与检验留存在案,但不据此作出任何结论。",
    estimate=_estimate,
    effect=_effect,
    ratio=_ratio,
    compared=_compared,
    interval=_interval,
    disagreement=_disagreement,
    margin=_margin,
    other_margin=_other_margin,
    unshown=_unshown,
    fallback=_fallback,
    slices=_slices,
    not_equal="这并不表明两者相同。",
)
