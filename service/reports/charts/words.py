"""The fixed words of pictures, in English and Chinese."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Literal

Language = Literal["en", "zh"]

_WORDS: Mapping[str, tuple[str, str]] = MappingProxyType(
    {
        "forest": ("Differences with their intervals", "差异及其区间"),
        "cumulative": ("Effect as the items came in", "累积效应"),
        "arms": ("Each arm with its interval", "各组均值与区间"),
        "power": ("Power before the data", "数据之前的功效"),
        "error_rate": ("How often the test errs on null data", "零假设数据上的错误率"),
        "discordance": ("Where the arms differ", "两组在哪些题目上不同"),
        "ranking": ("Arms in order, and the ranks left open", "各组排名与可能的名次"),
        "pareto": ("Quality and cost", "质量与成本"),
        "calibration": ("How often the rule holds by chance", "规则偶然成立的频率"),
        "multiverse": ("The same data under other choices", "其他选择下的同一数据"),
        "difference": ("candidate − baseline", "候选 − 基线"),
        "value": ("mean", "均值"),
        "read": ("interval the verdict reads", "结论所依据的区间"),
        "other": ("other intervals", "其他区间"),
        "sesoi": ("smallest effect of interest (SESOI)", "最小关注效应 (SESOI)"),
        "sesoi_short": ("SESOI", "SESOI"),
        "zero": ("no difference", "无差异"),
        "items": ("items", "题目数"),
        "effect": ("difference so far", "当前差异"),
        "pointwise": ("pointwise band, for one n fixed beforehand", "逐点区间(仅对预先固定的 n 有效)"),
        "anytime": ("anytime band, for every n at once", "任意时刻区间(对所有 n 同时有效)"),
        "planned": ("planned n", "计划 n"),
        "locked_order": ("in the order that was locked", "按锁定的顺序"),
        "manifest_order": ("in the order of the manifest", "按题目清单的顺序"),
        "unknown_order": ("in an order of unknown origin", "顺序来源不明"),
        "truth": ("true difference", "真实差异"),
        "true_ratio": ("true ratio", "真实比值"),
        "cv": ("coefficient of variation", "变异系数"),
        "chance": ("chance that the rule holds (%)", "规则成立的概率 (%)"),
        "power_axis": ("power (%)", "功效 (%)"),
        "target": ("target power", "目标功效"),
        "size": ("n", "n"),
        "upper_sd": ("at the upper bound of the pilot's SD", "按试点标准差上限"),
        "computed": ("as assumed", "按假设"),
        "discordant": ("discordant share", "不一致比例"),
        "sd": ("SD of differences", "差值标准差"),
        "icc": ("ICC", "ICC"),
        "right": ("correct", "正确"),
        "wrong": ("wrong", "错误"),
        "baseline": ("baseline", "基线"),
        "candidate": ("candidate", "候选"),
        "mean": ("mean outcome", "平均结果"),
        "score": ("strength (points)", "强度(分)"),
        "ranks": ("ranks left open", "可能的名次"),
        "tied": ("cannot be told apart", "无法区分"),
        "may_be_best": ("may be the best", "可能最好"),
        "not_best": ("shown not to be the best", "已表明不是最好"),
        "frontier": ("no other arm is better in both", "没有其他组在两方面都更好"),
        "dominated": ("another arm is at least as good in both", "另一组在两方面都不差"),
        "rate": ("runs in which the rule holds (%)", "规则成立的比例 (%)"),
        "alpha": ("what the rule states", "规则声明的水平"),
        "error": ("chance of a false finding", "假阳性率"),
        "power_zero": ("power at no difference", "无差异时的功效"),
        "universe": ("universes, by their difference", "各情形(按差异排序)"),
        "holds": ("rule holds", "规则成立"),
        "fails": ("rule does not hold", "规则不成立"),
        "as_planned": ("as planned", "按计划"),
        "departs": ("departs from the plan", "偏离计划"),
        "exploratory": ("Answer of a test; no plan was locked for it.", "检验的结果;未锁定计划。"),
        "pairs": ("pairs", "对"),
    }
)


def say(key: str, language: Language) -> str:
    """A word or title."""
    return _WORDS[key][1 if language == "zh" else 0]
