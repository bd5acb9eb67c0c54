"""Reasons in Chinese: why a verdict, a clause or a number is undefined, said as the English reason says it."""

from __future__ import annotations

import re
from functools import cache

from service.domain.verdicts.equivalence_fallback import NO_P, WIDER
from service.stats.shared.data.orders import EMPTY
from service.stats.shared.declaring.certainty import BEYOND, DRAWN, FLAT, POINT
from service.stats.shared.methods.looks import CONTINUES, UNVARIED
from service.stats.shared.methods.resampling import NO_SPREAD

ELSEWHERE = "其原因以英文记录在判定中"
"""Of a reason that has no words here, such as one stored by an earlier version."""

_WHOLE = {
    # of marks
    "outcomes were opened before the verdict": "判定之前有人打开过结果",
    "the collection was closed early after outcomes had been opened": "结果被打开之后,收集提前结束",
    # of the results
    "two batches hold a result for the same item, arm and endpoint": "两个批次含有同一题目、臂和终点的结果",
    "the plan names a population or an endpoint that it does not describe in full": "计划提到的总体或终点未被完整描述",
    "the results break the plan": "结果违反了计划",
    "no item is left to compare": "没有可供比较的题目",
    "no item is left: every pair has a result that is not ok": "没有可供比较的题目:每一对都有不正常的结果",
    # of the claim
    "what it tests shows the opposite of the claim": "其检验所显示的与主张相反",
    "the observed difference does not go the way of the claim": "观察到的差异方向与主张不符",
    # of what was drawn or does not vary
    DRAWN: "该值由抽样得到,与阈值相距不足四个蒙特卡罗标准误:请增加抽样次数(`n_resamples`)以判断在哪一侧",
    FLAT: "重抽样没有变异,这并不意味着确定",
    POINT: "各题目之差全都相同,Wald 区间缩为一点,这并不意味着确定",
    BEYOND: "没有任何重抽样达到差异的两倍,p 只是重抽样的界,不构成证据:请改用精确检验或区间",
    NO_SPREAD: "数据的变异太小,无法校正区间或作学生化",
    UNVARIED: "各差异全都相同,其离散程度没有意义",
    "the resamples do not vary": "重抽样没有变异",
    "the differences do not vary": "各差异全都相同",
    "the differences do not vary, or there is a single item": "各差异全都相同,或只有一个题目",
    "the differences are constant": "各差异全都相同",
    "the difference does not vary between items or clusters": "各题目或聚类之间的差异全都相同",
    "the clusters' differences do not vary": "各聚类的差异全都相同",
    "the clusters' differences do not vary, so their spread measures nothing": "各聚类的差异相同,其离散程度没有意义",
    "no spread within the arms": "各臂内没有变异",
    "no spread within the arms: every resample is the same": "各臂内没有变异,所有重抽样都相同",
    "the spread is nothing beside the difference": "相对于差异,变异小到可以忽略",
    "the estimated variance inflation is not positive or undefined": "估计的方差膨胀不为正或没有定义",
    "needs two items in some cluster, and differences that vary": "需要某个聚类至少有两个题目,且差异有变化",
    "all values are equal": "所有值都相等",
    "no discordant items": "没有不一致的题目",
    "no item has a difference": "各题目之差均为 0",
    "the arms tie": "两臂持平",
    "BCa has no meaning for data this skewed": "数据过于偏斜,BCa 没有意义",
    EMPTY: "累积交集为空:没有一个差异能自始至终符合数据",
    # of single items and runs
    "a single item": "只有一个题目",
    "a single pair has no SD": "只有一对,没有标准差",
    "a single run has no SD": "只有一次运行,没有标准差",
    "one run per arm has no SD": "每臂只有一次运行,没有标准差",
    "one value per arm has no SD": "每臂只有一个值,没有标准差",
    "one baseline value has no SD": "基线只有一个值,没有标准差",
    "constant baseline": "基线的值全都相同",
    "Welch's test needs two runs in each arm": "Welch 检验要求每臂至少两次运行",
    "J is undefined on 1 degree of freedom": "自由度为 1 时 J 没有定义",
    "a percentage needs a baseline mean above 0": "百分比要求基线均值大于 0",
    "no standardized effect": "没有标准化效应",
    "paired arms: read the interval of d_z": "两臂配对:请看 d_z 的区间",
    "the arms are not paired": "两臂未配对",
    "the arms do not share items": "两臂的题目不同",
    "unbounded: too few runs for an interval of this level": "无界:运行次数太少,得不到此水平的区间",
    "unbounded: too few items for an interval of this level": "无界:题目太少,得不到此水平的区间",
    # of what a method does not have
    "an exact test has no chi-square": "精确检验没有卡方统计量",
    "an exact test has no z": "精确检验没有 z 值",
    "an exact test has no degrees of freedom": "精确检验没有自由度",
    "nothing was drawn": "没有抽样",
    "every item, or every cluster, shows the same ratio": "每个题目或每个聚类的比值都相同",
    "a single item, or a single cluster, shows no spread": "单个题目或单个聚类没有离散度",
    "the candidate is 0 throughout, which has no logarithm": "候选臂全为 0,没有对数",
    "resamples have no degrees of freedom": "重抽样没有自由度",
    "every item, or every cluster, shows the same difference": "每个题目或每个聚类的差异都相同",
    "the budget does not reach for two items": "预算不足两个题目",
    "no variance of items in the difference was found, so the formula would drop nearly all: keep them": (
        "差异中没有测得题目间的方差,公式会舍去几乎所有题目:请保留它们"
    ),
    "runs were not repeated: it is inside `item_by_arm`": "运行没有重复:它包含在 `item_by_arm` 中",
    "judgements were not repeated: it is inside `run`": "评审没有重复:它包含在 `run` 中",
    "nothing varies, so nothing is left to buy": "没有任何变动,再投入也无从改善",
    "every run was judged once: it is inside `run`": "每次运行只评审一次:它包含在 `run` 中",
    "every item has one run in each arm: it is inside `item_by_arm`": (
        "每个题目在每个臂中只运行一次:它包含在 `item_by_arm` 中"
    ),
    "most resamples hold nothing that is repeated": "多数重抽样中没有重复",
    "their variance was not measured: nothing was repeated there": "没有测得其方差:该处没有重复",
    "no item has two runs in this arm": "该臂中没有题目运行过两次",
    "the outcomes are not 0 and 1": "结果不是 0 和 1",
    "every resample is weighed: the design sets no least p": "所有重抽样都已计入:设计不限定最小 p 值",
    "the method is asymptotic: the clusters set no least p": "该方法是渐近的:聚类不限定最小 p 值",
    "only BCa has them": "只有 BCa 才有这些量",
    "the outcomes are scores, not right or wrong": "结果是分数,而非对错",
    "the outcomes are not right or wrong": "结果不是对错",
    "the items were given without clusters": "题目没有聚类",
    # of looks
    CONTINUES: "设计仍在继续:分阶段推断只在其结束的那次查看时作出",
    "no data were sent": "没有数据",
    "no margin was sent": "没有给出界限",
    "no look has been reached": "尚未到达任何一次查看",
    "the look has not been reached": "尚未到达这次查看",
    "no boundary was crossed": "没有越过任何边界",
    "0 has not been excluded": "尚未排除 0",
    "the e-value has not reached 1/alpha": "e 值尚未达到 1/alpha",
    "an e-process tests; use confidence_sequence for an interval": "e 过程只作检验;区间请用 confidence_sequence",
    "a confidence sequence gives an interval; use e_process for a p-value": "置信序列只给出区间;p 值请用 e_process",
    "the e-process bets on bounded differences and counts no items": "e 过程对有界差异下注,不对题目计数",
    "infinite: less than 1e-30 may be spent, so this look cannot stop": "无穷:可用的错误率不足 1e-30,这次查看不能停止",
    # of the family
    WIDER: "其界限比 SESOI 宽,而计划没有说明原因",
    NO_P: "它没有 p 值,而多重比较校正需要 p 值",
    "the test gave no analysis": "检验没有给出分析",
}

_PARTS = {
    r"(\d+) results of arm '([^']+)' were never posted, and `exclude_pair` leaves out posted results alone": (
        r"臂“\2”有 \1 个结果从未提交,而 `exclude_pair` 只剔除已提交的结果"
    ),
    r"(\d+) batch(?:es)? came in without a run, and the plan asks for one": r"有 \1 个批次未注明运行,而计划要求注明",
    r"(\d+) batch(?:es)? came in under a run that was not bound before": r"有 \1 个批次所注明的运行此前并未登记",
    r"(\d+) batch(?:es)? came in under a run of another arm": r"有 \1 个批次注明的是另一臂的运行",
    r"(\d+) batch(?:es)? came from a run that began before the plan was locked": (
        r"有 \1 个批次来自计划锁定之前已开始的运行"
    ),
    r"(\d+) batch(?:es)? came from a run with another judge than the locked one": r"有 \1 个批次的评审与锁定的不同",
    r"(\d+) batch(?:es)? came from a run in another environment than the locked one": (
        r"有 \1 个批次的运行环境与锁定的不同"
    ),
    r"the collection was closed early, with (\d+) of (\d+) planned results in \(deviation (\d+)\)": (
        r"收集提前结束,计划的 \2 个结果只收到 \1 个(偏离 \3)"
    ),
    r"(\d+) batch(?:es)? came in after outcomes had been opened": r"有 \1 个批次在结果被打开之后才收到",
    r"(\d+) planned results are not in": r"有 \1 个计划中的结果尚未收到",
    r"(\d+) results of arm '([^']+)' are not ok, and the plan's missing policy is `fail`": (
        r"臂“\2”有 \1 个结果不正常,而计划对缺失的规定是 `fail`"
    ),
    r".*, and the plan's missing policy is `worst_case`": (
        "计划没有说明缺失的结果取何值最为不利,而其对缺失的规定是 `worst_case`"
    ),
    r"the item manifest of '([^']+)' is not the one the plan is locked to": r"总体“\1”的题目清单与锁定的不符",
    r"there are no results of arm '([^']+)' for '([^']+)' on '([^']+)'": r"总体“\3”上没有臂“\1”的终点“\2”的结果",
    r"the results of arm '([^']+)' for '([^']+)' on '([^']+)' are not the planned (\d+) items x (\d+) replicates": (
        r"总体“\3”上臂“\1”的终点“\2”的结果不是计划的 \4 个题目 × \5 次重复"
    ),
    r"arm '([^']+)' has an `ok` result without a finite value": r"臂“\1”有一个状态为 `ok` 却没有有限值的结果",
    r"arm '([^']+)' has values other than 0 and 1 on the binary endpoint '([^']+)'": (
        r"臂“\1”在二元终点“\2”上有 0 和 1 以外的值"
    ),
    r"arm '([^']+)' has values that are not above 0 on the positive endpoint '([^']+)'": (
        r"臂“\1”在正值终点“\2”上有不大于 0 的值"
    ),
    r"arm '([^']+)' has values outside the bounds of the endpoint '([^']+)'": r"臂“\1”的值超出终点“\2”的界",
    r"the observed difference does not reach the (-?[\d.]+) pp that the statement names": (
        r"观察到的差异没有达到陈述所称的 \1 个百分点"
    ),
    r"the observed difference does not reach the (-?[\d.]+) that the statement names": (
        r"观察到的差异没有达到陈述所称的 \1"
    ),
    r"nothing in it shows that '([^']+)' is better": r"其中没有任何内容表明“\1”更好",
    r"nothing in it shows that '([^']+)' is not worse by (?:the margin|(-?[\d.]+)( pp)?)": (
        r"其中没有任何内容表明“\1”变差的程度在界限之内"
    ),
    r"nothing in it shows an effect beyond .*": "其中没有任何内容表明效应超出界限",
    r"nothing in it shows a difference within .* both ways": "其中没有任何内容表明差异在双向界限之内",
    r"known only as (< \S+)": r"只知道 \1",
    r"the plan has no test '([^']+)'": r"计划中没有检验“\1”",
    r"(\S+) is not what this clause can compare": r"`\1` 不能这样比较",
    r"an end of (\S+) is undefined for these data": r"`\1` 的一端在这些数据上没有定义",
    r"(\S+) is undefined(?: for these data)?": r"`\1` 在这些数据上没有定义",
    r"the test could not be computed on these results \((\w+)\)": r"在这些结果上无法计算该检验(\1)",
    r"the policy `(\w+)` does not correct it; `holm` and `bonferroni` do": (
        r"多重比较规则 `\1` 不校正它;`holm` 和 `bonferroni` 才校正"
    ),
    r"the items have no strata": "题目没有分层",
    r"(\d+) strata are too many to tell apart: at most (\d+)": r"\1 个分层太多,最多 \2 个",
    r"a single slice has none to be compared with": "只有一个切片,无可比较",
    r"there are no slices": "没有切片",
    r"a cluster has items in several slices, whose differences are then not independent": (
        "有聚类的题目分属多个切片,各切片的差异因而不独立"
    ),
    r"(\d+) of (\d+) slices have no standard error, since their differences do not vary": (
        r"\2 个切片中有 \1 个的差异没有变化,因而没有标准误"
    ),
    r"not a statistic of (.+)": r"\1 没有这个统计量",
    r"not a part of method '(\w+)'": r"方法 `\1` 没有这一项",
    r"the alternative is '([\w-]+)'": r"备择假设是 `\1`",
    r"clusters: hold a single cluster, .*": "只有一个聚类,由其中的题目无从推知其他聚类",
    r"\w+(?:\.\S+)?: studentized divides by a standard error that is 0 in ([\d.]+%) of resamples": (
        r"学生化要除以标准误,而它在 \1 的重抽样中为 0"
    ),
    r"(\w+): holds a single item": r"`\1` 只有一个题目",
    r"(\w+): holds values below 0, of which a mean is no amount": r"`\1` 含有小于 0 的值,其平均值不是量",
    r"(\w+): is 0 throughout, and nothing is a multiple of 0": r"`\1` 全为 0,没有什么是 0 的倍数",
    r"method: 'bootstrap_t' needs a candidate above 0 somewhere": "`bootstrap_t` 需要候选臂有大于 0 的值",
    r"method: 'bootstrap_t' divides by an error that is 0, or has no ratio, in ([\d.]+%) of the resamples of (\d+) "
    r"units": r"`bootstrap_t` 要除以误差,而在 \2 个单元的重抽样中有 \1 误差为 0 或没有比值",
    r"(\w+): holds values other than 0 and 1": r"`\1` 含有 0 和 1 以外的值",
    r"(\w+): holds values beyond (\S+) in size": r"`\1` 含有绝对值超过 \2 的值",
    r"(\w+): holds values beyond (\S+)": r"`\1` 含有绝对值超过 \2 的值",
    r"(\w+): holds several values per item, which are no independent items": r"`\1` 的每个题目有多个值,它们并非独立",
    r"(\w+): '(\w+)' is for outcomes 0 and 1": r"方法 `\2` 只用于 0 和 1 的结果",
    r"(\w+): 'exact' is for at most (\d+) .*": r"`exact` 最多只能用于 \2 个值",
    r"range: is not declared, and scores lie outside 0 to 1": "没有声明分数的范围 `range`,而分数超出 0 到 1",
    r"range: is (\S+) to (\S+), and (\w+) holds (\S+)": r"声明的范围是 \1 到 \2,而 `\3` 含有 \4",
    r"bound: is needed for scores": "分数需要给出界 `bound`",
    r"bound: is smaller than a difference sent": "`bound` 小于实际的差异",
    r"size_cap: is needed with clusters": "有聚类时需要给出 `size_cap`",
    r"size_cap: is smaller than a cluster sent": "`size_cap` 小于实际的聚类",
    r"baseline: holds (\d+) (\w+), more than the planned n of (\d+)": r"数据有 \1 个单位,多于计划的 \3 个",
}


def reason_zh(reason: str | None) -> str:
    """The reason in Chinese; of one that is not known here, where it stands in English."""
    if reason is None:
        return ELSEWHERE
    if reason in _WHOLE:
        return _WHOLE[reason]
    for pattern, words in _patterns():
        found = pattern.fullmatch(reason)
        if found is not None:
            return found.expand(words)
    return ELSEWHERE


def known(reason: str) -> bool:
    """True when the reason has Chinese words of its own."""
    return reason_zh(reason) != ELSEWHERE


@cache
def _patterns() -> tuple[tuple[re.Pattern[str], str], ...]:
    return tuple((re.compile(pattern), words) for pattern, words in _PARTS.items())
