"""What lint says of a plan, in Chinese: a sentence for every code, and whole messages under their English.

Lint speaks English in the API, in the record and to the commands. A message that stands below, with its parts, is said
in Chinese; of any other the page says what its code means, and shows the English beside it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

from service.reports.prereg.labels import Language

CODES: Mapping[str, str] = {
    "ABSENCE_OF_EVIDENCE": (
        "规则把“没有发现”当作证据:p 值大或区间含 0,题目太少时也会如此。请改为要求区间落在界限之内。"
    ),
    "ASSUMPTION": "计划中的假定互相矛盾,或没有被任何检验使用。请修改或删去。",
    "AUDIT": "人工标注的指标必须是次要指标,且两者均为二值、每题一个结果。",
    "BOUNDS": "界限 `bounds` 与该指标的类型不符,或者该检验需要而计划没有声明。",
    "CAUTION": "聚类数少或大小悬殊,聚类区间往往偏短。请增加聚类,或使其大小相近。",
    "CLAIM_NOT_ASSERTED": "规则成立时并不能保证假设所声称的内容。请补上相应的条件。",
    "CLUSTERS_IGNORED": (
        "题目有聚类,而计划或检验把它们当作独立,p 值和区间会过小。请声明聚类并选用聚类检验,或确认知悉。"
    ),
    "COLLAPSE": "同一题目多次结果的合并方式与该指标不符。请改用另一种 `collapse`。",
    "CONTRADICTION": "规则中的条件不可能(同时)成立。请修改其阈值。",
    "EQUIVALENCE_OUT_OF_REACH": "题目数如此之少,无论结果如何都无法证明等价。请增加题目,或删去 `equivalence`。",
    "EQUIVALENCE_UNCORRECTED": "等价检验没有经过多重比较校正,不能决定结论。请换一种策略,或删去 `equivalence`。",
    "ESTIMAND_MIXED": "规则混用了按聚类加权和按题目加权的效应。请在整条规则中只用一种。",
    "FAMILY_LEVEL": (
        "多个假设合起来没有得到足够的校正:所有主张都为假时,某条规则成立的概率高于 alpha。"
        "请选用如 `holm` 的策略并要求 p 值低于 alpha,或确认知悉。"
    ),
    "FEW_CLUSTERS": "聚类太少:百分位聚类自助法和大样本聚类检验不可靠。请增加聚类,或优先选用 sign_flip 或 cr2_t。",
    "IMPORT_MAPPING": "计划的 `import` 部分无法应用于结果文件。请按所示位置修改。",
    "INDEPENDENCE_NOT_STATED": "请声明聚类,或在 `independence` 中说明题目为何独立。",
    "JUDGE_NOT_AUDITED": (
        "该指标由模型评分而无人核对,其错误会缩小差异,看起来像等价。请加入人工标注的次要指标,或确认知悉。"
    ),
    "LEVEL_UNKNOWN": (
        "无法算出主张为假时规则成立的概率,因此没有依据表明它守住 alpha。请改用可以模拟的检验,或确认知悉。"
    ),
    "LEVEL_EXCEEDED": "没有真实差异时,规则成立的概率高于其 alpha。请收紧条件、增加题目,或确认知悉。",
    "LOW_POWER": (
        "检验功效低:真实差异恰为最小关注效应量时(等价与非劣:没有差异时),规则也常常不成立。"
        "请增加题目,或用 `assumptions` 缩小范围。"
    ),
    "MANIFEST_MISMATCH": "计划与题目清单不一致。请修改其中之一。",
    "MARGIN_DIFFERS": (
        "检验所用的界限与 SESOI 或陈述中的数值不同。请处处写同一个数值(检验不另设 `margin` 时取 SESOI),或在该检验的 "
        "`margin_reason` 中说明原因并确认知悉。"
    ),
    "MISSING_MANIFEST": "锁定之前须提交题目清单。",
    "MISSING_SECTION": "计划缺少必需的部分。请补上。",
    "MULTIPLICITY": "规则与所选的多重比较策略不相容。请修改规则,或换一种策略。",
    "NOT_YET_SUPPORTED": "目前还不能对此作出判定。请换用受支持的类型。",
    "ORDER_SEED": "只有沿着锁定的随机顺序,提前查看才受保护。请给出种子,例如 20270101。",
    "REDUNDANT_CLAUSE": "规则中的条件总是成立,或由另一条件推出。请删去,或修改其阈值。",
    "REPLICATES": "每题的重复次数与检验或指标不符。请修改 `replicates`、合并方式或检验。",
    "RULE_FIELD_TYPE": "规则对字段的用法与其类型不符。",
    "RULE_FIELD_UNKNOWN": "规则引用了检验没有的字段。",
    "RULE_INVALID": "规则不能解析。",
    "RULE_NEVER_PASSES": "无论结果如何,规则都不可能成立。请修改阈值,或增加题目。",
    "SAME_ARM": "同一个臂与自己比较。请写两个不同的臂。",
    "SEQUENTIAL_TEST": "检验与停止规则不相配。请选用为该停止规则设计的检验。",
    "SIZE_NOT_TESTED": "陈述声称了效应的大小,而规则只对观测到的差异有此要求。要证明大小本身,请要求区间超出该值。",
    "SLICES": "计划对切片的要求无法应用。",
    "SLICES_SHARE_CLUSTERS": (
        "聚类跨越多个切片,因此无法检验优劣是否随切片反转;每个切片仍按其聚类判定。请确认知悉,或换一种切片。"
    ),
    "SLICE_NEVER_PASSES": "有的切片太小,永远无法证明其损失小于界限。请合并切片,或增加题目。",
    "SLICE_SMALL": "有的切片在两臂对错完全一致时也无法通过。请合并切片、增加题目,或确认知悉。",
    "STOPPING": "停止规则不完整,或与计划的其他部分不相容。",
    "TEST_ENDPOINT": "检验与它所判定的指标不符。请换一个检验。",
    "TEST_NEEDS_CLUSTERS": "该检验需要聚类,而这些题目没有。请声明聚类,或换一个检验。",
    "TEST_PARAMETERS": "检验的参数不被接受。",
    "UNIT": "数值的单位与其指标不符。",
    "UNKNOWN_NAME": "计划中没有这个名称。",
    "VAGUE_WORDS": "陈述用词含糊而没有数字,可以有多种理解。请写明在什么上相差多少。",
    "WORST_CASE": "`worst_case` 策略还需要知道最差的值,或规则偏向哪个臂。",
}
"""What a code means, and the way out."""

MESSAGES: Mapping[str, str] = {
    "the plan has no title: {rest}": "计划没有标题:请给计划起一个标题",
    "the plan has no populations: {rest}": "计划没有题目总体:请至少写明一个,含 id、数据集、n、聚类或独立性",
    "the plan has no hypotheses: {rest}": "计划没有假设:请至少写明一个,含总体、两个臂、指标和规则",
    "the plan has no endpoints: {rest}": "计划没有指标:请写明测量什么,其中一个为 `primary`",
    "the plan has no tests: {rest}": "计划没有检验:请列出规则用到的统计检验,含 id、test、version、parameters",
    "the plan has no sesoi: {rest}": (
        "计划没有 `sesoi`:请为每个主要指标给出最小关注效应,例如 {{'value': 2, 'unit': 'pp'}}"
    ),
    "the plan has no thresholds: {rest}": "计划没有 `thresholds`:请列出调过的阈值,没有则写 []",
    "the plan has no stopping: {rest}": "计划没有 `stopping`:请说明何时查看结果,例如 {{'kind': 'fixed_n'}}",
    "the plan has no missing: {rest}": (
        "计划没有 `missing`:请说明结果不是 ok 时如何处理:`fail`、`exclude_pair` 或 `worst_case`"
    ),
    "the plan has no multiplicity: {rest}": (
        "计划没有 `multiplicity`:请说明如何处理多个假设,例如 {{'policy': 'none', 'family': [...]}}"
    ),
    "no endpoint is primary: give one of them role 'primary'": "没有主要指标:请把其中一个的 role 设为 `primary`",
    "the primary endpoint '{name}' has no smallest effect size of interest: add one": (
        "主要指标“{name}”没有最小关注效应:请补上"
    ),
    "the plan has no {noun} '{name}'; it has {known}": "计划中没有名为“{name}”的 {noun};已有:{known}",
    "the plan has no {noun} '{name}': did you mean '{meant}'? It has {known}": (
        "计划中没有名为“{name}”的 {noun}:是否指“{meant}”?已有:{known}"
    ),
    "the plan has no endpoint '{name}'": "计划中没有名为“{name}”的指标",
    "endpoint '{name}' is not measured on '{population}': add it to the endpoint's populations": (
        "指标“{name}”不在“{population}”上测量:请把它加入该指标的 populations"
    ),
    "'{arm}' is compared with itself: name two arms": "“{arm}”与自己比较:请写两个臂",
    "the plan says {planned} items and the manifest has {found}: mend one of them": (
        "计划写有 {planned} 道题目,而清单有 {found} 道:请修改其一"
    ),
    "the plan says {planned} clusters and the manifest has {found}: mend one of them": (
        "计划写有 {planned} 个聚类,而清单有 {found} 个:请修改其一"
    ),
    "the manifest that was put has another hash: leave the field out, or put the items it stands for": (
        "已提交清单的散列值不同:请删去该字段,或提交它所代表的题目"
    ),
    "the plan has clusters and the manifest none: put the items with a `clusters` column": (
        "计划有聚类而清单没有:请提交带 `clusters` 列的题目"
    ),
    "put the items of '{population}' before the lock": "锁定前请提交“{population}”的题目",
    "declare clusters, or state in `independence` why the items are independent": (
        "请声明聚类,或在 `independence` 中说明题目为何独立"
    ),
    "the manifest has {n} clusters and the plan takes items as independent: declare the clusters, or acknowledge": (
        "清单有 {n} 个聚类,而计划把题目当作独立:请声明聚类,或确认知悉"
    ),
    "{n} clusters are few: percentile cluster bootstraps and large-sample clustered tests are unreliable here; plan "
    "more clusters, or prefer sign_flip or cr2_t": (
        "{n} 个聚类太少:百分位聚类自助法和大样本聚类检验在此不可靠;请增加聚类,或优先选用 sign_flip 或 cr2_t"
    ),
    "{n} clusters with a size coefficient of variation of {cv}: below {some} clusters, or above {unequal}, cluster "
    "intervals tend to be too short; plan more or more equal clusters": (
        "{n} 个聚类,大小的变异系数为 {cv}:少于 {some} "
        "个聚类,或变异系数高于 {unequal} 时,聚类区间往往偏短;请增加聚类或使其大小相近"
    ),
    "'{test}' takes items as independent, and '{population}' is clustered by {key}: its p-values and intervals will "
    "be too small; name a clustered test": (
        "“{test}”把题目当作独立,而“{population}”按 {key} 聚类:p 值和区间会过小;请选用聚类检验"
    ),
    "'{test}' needs clusters and '{population}' has none: declare them or name another test": (
        "“{test}”需要聚类,而“{population}”没有:请声明聚类或换一个检验"
    ),
    "'{test}' judges {kinds} endpoints and '{endpoint}' is {kind}: name another test": (
        "“{test}”判定 {kinds} 指标,而“{endpoint}”是 {kind}:请换一个检验"
    ),
    "'{test}' cannot be used in a plan: name a paired test": "“{test}”不能用于计划:请选用配对检验",
    "'{test}' does not tell equivalence: name an equivalence test": "“{test}”不能判定等价:请选用等价检验",
    "'{test}' has no field for `{name}`; it has {has}": "“{test}”没有字段 `{name}`;它有 {has}",
    "'{test}' has no field for `{name}`: did you mean `{meant}`? It has {has}": (
        "“{test}”没有字段 `{name}`:是否指 `{meant}`?它有 {has}"
    ),
    "`delta` is a number: only an interval excludes a value": "`delta` 是数字:只有区间才能排除某个值",
    "`delta` is a number, not true or false: compare it": "`delta` 是数字,不是真假:请作比较",
    "`{name}` is {what}, not true or false: compare it": "`{name}` 是 {what},不是真假:请作比较",
    "`{name}` is a number: only an interval excludes a value": "`{name}` 是数字:只有区间才能排除某个值",
    "`{field}` is not a difference: write `{text}` without pp": "`{field}` 不是差异:请写 `{text}`,不带 pp",
    "`{clause}`: on a binary endpoint a bare number is a "
    "proportion, so {value} would be {points} pp: write `{one}`, or "
    "`{other}` for the same as a proportion": (
        "`{clause}`:在二值指标上,不带单位的数字是比例,因此 {value} "
        "相当于 {points} 个百分点:请写 `{one}`,或用比例 `{other}`"
    ),
    "'{word}' without a number can be read many ways: say by how much, on what": (
        "“{word}”没有数字,可以有多种理解:请写明在什么上相差多少"
    ),
    "`{one}` weighs clusters alike and `{other}` weighs items alike, so they speak of two different effects: use one "
    "estimand throughout the rule": (
        "`{one}` 按聚类等权,`{other}` 按题目等权,说的是两种不同的效应:请在整条规则中只用一种"
    ),
    "{names} cannot hold together: mend one of them": "{names} 不可能同时成立:请修改其一",
    "`{clause}` always holds: leave it out or mend its threshold": "`{clause}` 总是成立:请删去,或修改其阈值",
    "`{clause}` can never hold: leave it out or mend its threshold": "`{clause}` 不可能成立:请删去,或修改其阈值",
    "`{clause}` follows from `{other}`: leave it out": "`{clause}` 由 `{other}` 推出:请删去",
    "the rule can never be true: of all outcomes that {n} "
    "items can have, none makes it true, though each clause could "
    "be met. To mend it, plan more items ({needed} would do)": (
        "规则不可能成立:{n} 道题目的所有结果中没有一种使其成立,尽管每项条件单独都可满足。请增加题目({needed} 道即可)"
    ),
    "the rule can never be true: of all outcomes that {n} "
    "items can have, none makes it true, though each clause could "
    "be met. To mend it, mend the thresholds": (
        "规则不可能成立:{n} 道题目的所有结果中没有一种使其成立,尽管每项条件单独都可满足。请修改阈值"
    ),
    "`{test}` cannot show equivalence within {margin} with "
    "{n} items, whatever they turn out to be: plan more items, or "
    "leave `equivalence` out": (
        "{n} 道题目无论结果如何,`{test}` 都无法证明差异在 {margin} 以内:请增加题目,或删去 `equivalence`"
    ),
    "the policy '{policy}' adjusts p-values and this rule "
    "asks for none: add a clause such as `test.p_value < 0.05`, or "
    "leave the hypothesis out of the family": (
        "策略“{policy}”校正 p 值,而该规则没有用到 p 值:请加入如 `test.p_value < 0.05` 的条件,或把该假设移出族"
    ),
    "under `worst_case` a missing result takes the worst value, and '{endpoint}' has none: declare its least and "
    "greatest value in `bounds`, or use another missing policy": (
        "`worst_case` 下缺失的结果取最差值,而“{endpoint}”没有最差值:请在 `bounds` 中声明最小和最大值,或换一种缺失策略"
    ),
    "under `worst_case` the rule must say which arm it "
    "favours: add a clause on the difference, such as `delta > 0`, or "
    "ask a one-sided test": (
        "`worst_case` 下规则必须表明偏向哪个臂:请加入关于差异的条件,如 `delta > 0`,或使用单侧检验"
    ),
    "say how many looks there are, e.g. 4: at equal steps of n": "请说明查看几次,例如 4 次:按 n 等距",
    "looking early is protected only along a random order that is locked: choose a seed, e.g. 20270101": (
        "只有沿着锁定的随机顺序,提前查看才受保护:请选一个种子,例如 20270101"
    ),
    "the stopping rule '{kind}' ends with a sequential test, and the rule names none: add a clause such as "
    "`seq.p_value < 0.05`": (
        "停止规则“{kind}”以序贯检验结束,而规则没有用到:请加入如 `seq.p_value < 0.05` 的条件"
    ),
    "an anytime-valid test of scores bets on their scale: declare the least and greatest value in `bounds`": (
        "分数的随时有效检验需要知道其取值范围:请在 `bounds` 中声明最小和最大值"
    ),
    "no hypothesis is sliced: name some in `slices.hypotheses`": "没有任何假设被切片:请在 `slices.hypotheses` 中写明",
    "the items of '{name}' have no strata: put them with a `strata` column": (
        "“{name}”的题目没有分层:请提交带 `strata` 列的题目"
    ),
    "the statement says at least {size}: the rule asks that of the observed difference, and {rest} of the true one. To "
    "show the size itself, ask an interval to lie beyond {rest_too}": (
        "陈述声称至少 {size}:规则只对观测到的差异有此要求。要证明大小本身,请要求区间超出 {size}"
    ),
    "with a true difference of {truth} (the SESOI) the rule would hold with a chance from {low} ({rest}) to {high} "
    "({rest_too}), {rest_of_all} 0.8 ({rest_more}): state `assumptions` to narrow this; plan more items, or accept "
    "that the rule will often miss it": (
        "真实差异为 {truth}(SESOI)时,规则成立的概率从 {low} 到 {high},并非处处达到 0.8:请用 `assumptions` 缩小范围;"
        "增加题目,或接受规则常常不成立"
    ),
    "with a true difference of {truth} (the SESOI) and {rest} the rule would hold with a chance of {low}, below 0.8 "
    "({rest_more}): plan more items, or accept that the rule will often miss it": (
        "真实差异为 {truth}(SESOI)时,规则成立的概率为 {low},低于 0.8:请增加题目,或接受规则常常不成立"
    ),
    "with a true difference of {truth} (the SESOI) the rule would hold with a chance from {low} ({rest}) to {high} "
    "({rest_too}), {rest_of_all} 0.8 ({rest_more}). The rule asks for an observed difference of {least} or beyond, "
    "and where {rest_where}: ask for a smaller one and plan more items, or accept it": (
        "真实差异为 {truth}(SESOI)时,规则成立的概率从 {low} 到 {high},并非处处达到 0.8。"
        "规则要求观察到的差异达到 {least},而此时无论题目多少,约半数或更多的研究都达不到:"
        "请降低此要求并增加题目,或接受这一点"
    ),
    "with a true difference of {truth} (the SESOI) and {rest} the rule would hold with a chance of {low}, below 0.8 "
    "({rest_more}). The rule asks for an observed difference of {least} or beyond, and where {rest_where}: ask for a "
    "smaller one and plan more items, or accept it": (
        "真实差异为 {truth}(SESOI)时,规则成立的概率为 {low},低于 0.8。规则要求观察到的差异达到 {least},"
        "而此时无论题目多少,约半数或更多的研究都达不到:请降低此要求并增加题目,或接受这一点"
    ),
    "nothing corrects for {n} hypotheses: where all claims are false, some rule holds with a chance of up to {most} "
    "({rest}, above alpha {alpha}. Choose a policy such as 'holm', or acknowledge it": (
        "{n} 个假设没有校正:所有主张都为假时,某条规则成立的概率最高为 {most},高于 alpha {alpha}。"
        "请选用如 `holm` 的策略,或确认知悉"
    ),
    "'{policy}' corrects p-values alone, and rules here ask for none below alpha: where all claims of these {n} are "
    "false, some rule may hold with a chance of up to {most}, above alpha {alpha}. Ask every rule for a p-value below "
    "{below}, or acknowledge it": (
        "`{policy}` 只校正 p 值,而这里的规则并不要求 p 值低于 alpha:这 {n} 个假设的主张都为假时,某条规则成立的概率"
        "最高为 {most},高于 alpha {alpha}。请让每条规则都要求 p 值低于 {below},或确认知悉"
    ),
    "no observed difference is left by what the rule asks of it and of the intervals around it: mend its clauses": (
        "规则对观察到的差异及其区间的要求合在一起,没有任何差异能够满足:请修改其条件"
    ),
    "a model scores '{name}' and nobody checks it here: its errors shrink the difference by "
    "sensitivity + specificity - 1, which can pass for equivalence. Add a secondary binary endpoint '{audit}' "
    "with people's labels on a random part of the items, or acknowledge it": (
        "“{name}”由模型评分而无人核对:其错误使差异缩小为(灵敏度 + 特异度 - 1)倍,看起来可能像等价。"
        "请加入次要二值指标“{audit}”,由人工标注随机抽取的部分题目,或确认知悉"
    ),
    "clusters of '{name}' have items in several slices, so that no test of a change of sides (Gail & Simon) "
    "is defined; every slice by itself is still judged by its clusters. Acknowledge it, or slice by what "
    "whole clusters share": (
        "“{name}”的聚类跨越多个切片,因此无法检验优劣是否随切片反转(Gail-Simon);每个切片仍按其聚类判定。"
        "请确认知悉,或按整个聚类共有的属性切片"
    ),
    "of '{name}' {which} cannot pass where the arms are right on the same items: it takes about {n} items in a slice, "
    "and more with every item on which they differ. Merge slices, plan more, or acknowledge it": (
        "“{name}”中的 {which} 在两臂对错完全一致时也无法通过:每个切片约需 {n} 道题目,两臂每多一题不同,所需更多。"
        "请合并切片、增加题目,或确认知悉"
    ),
    "a difference of {effect} pp needs at least as many discordant items, and {share} % are assumed: {name} "
    "has no power to tell": (
        "{effect} 个百分点的差异至少需要同样多的不一致题目,而假定只有 {share} %:无法计算 {name} 的功效"
    ),
    "{what} cannot be judged yet: {works}": "目前不能判定({what}):{works}",
}
"""English messages with their parts in braces, as lint writes them, and the same in Chinese; a `rest` is not said."""


LONGEST = 2000
"""Characters of a message that is looked up: a longer one quotes more than it says."""


@dataclass(frozen=True, slots=True)
class Told:
    """A finding as a page says it."""

    text: str
    english: str
    """What is said in English alone, beside the text or in its place; empty where all is translated."""


def told(code: str, message: str, language: Language) -> Told:
    """A finding in the language of the page. A code of another release is told in English, as it was recorded."""
    if language == "en":
        return Told(message, "")
    for pattern, words in _patterns() if len(message) <= LONGEST else ():
        match = pattern.fullmatch(message)
        if match is not None:
            return Told(words.format(**match.groupdict()), "")
    return Told(CODES.get(code, ""), message)


@cache
def _patterns() -> tuple[tuple[re.Pattern[str], str], ...]:
    return tuple((pattern_of(english), words) for english, words in MESSAGES.items())


def pattern_of(english: str) -> re.Pattern[str]:
    """What the English of a message matches, by the names of its parts."""
    parts = re.split(r"\{(\w+)\}", english)
    return re.compile(
        "".join(f"(?P<{part}>.+?)" if at % 2 else re.escape(part) for at, part in enumerate(parts)), re.DOTALL
    )
