"""Headings and labels of EXPERIMENTS_PREREG.md in English and Chinese: printed from here, read by here."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from types import MappingProxyType
from typing import Literal

Language = Literal["en", "zh"]
Kind = Literal["text", "token", "tokens", "number", "numbers", "rule", "json"]
NO_SECTION = ""
"""Where the fields before the first section stand."""


@dataclass(frozen=True, slots=True)
class Label:
    """A field's name in both languages and how its value is written."""

    en: str
    zh: str
    kind: Kind

    def of(self, language: Language) -> str:
        """The name in that language."""
        return self.zh if language == "zh" else self.en


@dataclass(frozen=True, slots=True)
class Heading:
    """A section: where its content belongs in the plan, and what else its heading may be called."""

    en: str
    zh: str
    also: tuple[str, ...] = ()
    listed: bool = False
    """True when the section is a list of named entries."""

    def of(self, language: Language) -> str:
        """The heading in that language."""
        return self.zh if language == "zh" else self.en


TITLE = Heading("Experiments Pre-Registration", "实验预注册", ("Preregistration", "预注册"))
SECTIONS: Mapping[str, Heading] = MappingProxyType(
    {
        "hypotheses": Heading(
            "Hypotheses", "假设", ("hypothesis", "confirmatory hypotheses", "研究假设", "研究假说", "假说"), listed=True
        ),
        "endpoints": Heading(
            "Primary endpoint",
            "主端点",
            ("endpoint", "endpoints", "primary endpoints", "primary outcome", "primary outcomes", "outcomes",
             "outcome measures", "primary metric", "primary metrics", "metrics", "端点", "主要端点", "主要终点",
             "终点", "主要结局", "主要指标", "评测指标", "评估指标"),
            listed=True,
        ),
        "populations": Heading(
            "Sample size",
            "样本量",
            ("population", "populations", "sample", "sample sizes", "datasets", "样本", "总体", "样本规模", "数据集"),
            listed=True,
        ),
        "rules": Heading(
            "Decision rules",
            "决策规则",
            ("decision rule", "decision criteria", "decision criterion", "inference criteria", "pass criteria",
             "判定规则", "决策", "决策准则", "判定标准", "判定准则", "通过标准"),
            listed=True,
        ),
        "sesoi": Heading(
            "SESOI (smallest effect size of interest)",
            "SESOI(最小关注效应量)",
            ("smallest effect", "smallest effect size", "smallest effect of interest", "equivalence margin",
             "equivalence bounds", "最小关注效应", "最小效应量", "最小效应", "最小有意义效应量", "最小有意义效应",
             "最小感兴趣效应量", "最小感兴趣效应", "等价界限", "等价边界"),
            listed=True,
        ),
        "tests": Heading(
            "Statistical tests",
            "统计检验",
            ("statistical test", "tests", "statistical analysis", "statistical analyses", "statistical methods",
             "analysis plan", "统计方法", "统计检验方法", "统计分析", "分析计划", "检验", "检验方法"),
            listed=True,
        ),
        "thresholds": Heading(
            "Thresholds (τ choice)",
            "阈值(τ 的选择)",
            ("threshold", "thresholds", "τ choice", "τ", "tau choice", "tau", "阈值", "阈值选择", "阈值的选择", "τ选择",
             "τ的选择"),
            listed=True,
        ),
        "stopping": Heading(
            "Stopping rule",
            "停止规则",
            ("stopping", "stopping rules", "stopping criterion", "stopping criteria", "interim analysis",
             "interim analyses", "停止", "停止准则", "停止条件", "终止规则", "中期分析"),
        ),
        "multiplicity": Heading(
            "Multiple comparisons",
            "多重比较",
            ("multiplicity", "multiple", "multiple testing", "multiplicity correction",
             "multiple comparisons correction", "multiple testing correction",
             "多重", "多重检验", "多重性", "多重比较校正", "多重检验校正"),
        ),
        "missing": Heading(
            "Missing results",
            "缺失结果",
            ("missing", "missing data", "missing values", "缺失", "缺失数据", "缺失值", "缺失处理"),
        ),
        "import": Heading("Import mapping", "导入映射", ("import", "导入")),
    }
)  # fmt: skip

FIELDS: Mapping[str, Mapping[str, Label]] = MappingProxyType(
    {
        NO_SECTION: {
            "title": Label("Title", "标题", "text"),
            "results_due": Label("Results due", "结果截止日期", "token"),
            "visibility": Label("Visibility", "可见性", "token"),
        },
        "hypotheses": {
            "claim": Label("Claim", "主张", "token"),
            "about": Label("About", "关于", "token"),
            "population": Label("Population", "总体", "token"),
            "baseline": Label("Baseline", "基线", "token"),
            "candidate": Label("Candidate", "候选", "token"),
            "endpoint": Label("Endpoint", "端点", "token"),
            "equivalence": Label("Equivalence test", "等价性检验", "token"),
            "falsified_if": Label("Falsified if", "证伪条件", "text"),
        },
        "endpoints": {
            "role": Label("Role", "角色", "token"),
            "kind": Label("Kind", "类型", "token"),
            "judge.model": Label("Judge model", "评审模型", "text"),
            "judge.version": Label("Judge version", "评审版本", "text"),
            "judge.prompt_sha256": Label("Judge prompt SHA-256", "评审提示词 SHA-256", "text"),
            "populations": Label("Populations", "适用总体", "tokens"),
            "replicates": Label("Replicates", "重复次数", "number"),
            "judgements": Label("Judgements of a run", "每次运行的评审次数", "number"),
            "collapse": Label("Collapse", "合并方式", "token"),
            "k": Label("Allowed attempts", "允许的尝试次数", "number"),
            "positive": Label("Positive", "正值", "json"),
            "better": Label("Better", "更优方向", "token"),
            "bounds.low": Label("Least value", "最小值", "number"),
            "bounds.high": Label("Greatest value", "最大值", "number"),
        },
        "populations": {
            "dataset": Label("Dataset", "数据集", "text"),
            "n": Label("n", "样本数", "number"),
            "clusters.n": Label("Clusters", "聚类数", "number"),
            "clusters.key": Label("Clustered by", "聚类依据", "text"),
            "independence": Label("Independence", "独立性", "text"),
            "strata": Label("Strata", "分层", "text"),
            "order_seed": Label("Order seed", "顺序种子", "number"),
            "items_sha256": Label("Items SHA-256", "题目清单 SHA-256", "token"),
        },
        "rules": {},
        "sesoi": {},
        "tests": {
            "test": Label("Test", "检验", "token"),
            "version": Label("Version", "版本", "number"),
            "endpoint": Label("Endpoint", "端点", "token"),
            "parameters": Label("Parameters", "参数", "json"),
            "margin_reason": Label("Why the margin differs", "界限不同的原因", "text"),
        },
        "thresholds": {
            "value": Label("Value", "取值", "number"),
            "population": Label("Population", "总体", "token"),
            "chosen_by": Label("Chosen by", "选择方式", "text"),
            "split": Label("Split", "划分", "text"),
            "split_sha256": Label("Split SHA-256", "划分 SHA-256", "text"),
            "sweep": Label("Sweep", "敏感性扫描", "numbers"),
        },
        "stopping": {
            "kind": Label("Kind", "方式", "token"),
            "looks": Label("Looks", "查看次数", "number"),
            "spending": Label("Spending", "误差分配函数", "token"),
        },
        "multiplicity": {
            "policy": Label("Policy", "方法", "token"),
            "family": Label("Family", "假设族", "tokens"),
        },
        "missing": {"missing": Label("Policy", "处理方式", "token")},
        "import": {
            "format": Label("Format", "格式", "token"),
            "scorer": Label("Scorer", "评分器", "text"),
            "cluster_key": Label("Cluster key", "聚类字段", "text"),
        },
    }
)

GLOSSES: Mapping[str, tuple[str, str]] = MappingProxyType(
    {
        "about.mean": ("the difference of means", "均值之差"),
        "about.median": ("the median", "中位数"),
        "about.quantile": ("a quantile", "分位数"),
        "about.rank": ("ranks", "秩"),
        "claim.superiority": ("the candidate is better", "优效"),
        "claim.non_inferiority": ("the candidate is not worse by the SESOI", "非劣效"),
        "claim.equivalence": ("they differ by less than the SESOI", "等价"),
        "claim.minimum_effect": ("the candidate is better by more than the SESOI", "最小效应"),
        "role.primary": ("claims rest on it", "主端点"),
        "role.secondary": ("reported beside it", "次要端点"),
        "kind.binary": ("0 or 1 per item", "每题 0 或 1"),
        "kind.continuous": ("a score per item", "每题一个分数"),
        "kind.counts": ("counts per item", "每题计数"),
        "kind.fixed_n": ("one look, when every planned result is in", "计划结果到齐后只看一次"),
        "kind.group_sequential": ("at the planned looks only", "仅在计划的时点查看"),
        "kind.anytime_valid": ("may be read at any time", "随时可看"),
        "policy.none": ("p-values are reported uncorrected", "报告未校正的 p 值"),
        "policy.max_t": ("step-down max-T by the signs that items share", "按题目共享的符号逐步校正"),
        "missing.fail": ("a result that is not ok breaks the plan", "出现缺失即视为违反计划"),
        "missing.exclude_pair": ("the item is left out of both arms", "该题在两臂中一并剔除"),
        "missing.worst_case": ("counts against the claim", "按对主张最不利计"),
    }
)
"""What a value means, in English and Chinese: printed behind it for the reader, skipped when reading."""

NONE = {"en": "None.", "zh": "无。"}
NOTE = {
    "en": "Values in `code` are read back by the service; words in parentheses explain them.",
    "zh": "`代码` 中的取值由服务读取;括号中的文字仅作说明。",
}


def plain(text: str) -> str:
    """Text as headings and labels are compared: full-width forms folded, lower case, single spaces."""
    return " ".join(unicodedata.normalize("NFKC", text).casefold().split())


_NUMERAL = r"[一二三四五六七八九十]{1,3}"
_NUMBERING = re.compile(
    rf"^(?:§\s*)?(?:第(?:\d{{1,3}}|{_NUMERAL})(?:章|节|部分|步)|(?:section|step|part)\s+\d{{1,3}}"
    rf"|\((?:\d{{1,3}}|{_NUMERAL}|[a-z])\)|(?:{_NUMERAL}|[ivx]{{1,4}}|[a-z])(?=[、.):])|\d{{1,3}}(?:\.\d{{1,3}}){{0,3}})?[.、):]*\s*"
)
_BEFORE, _AFTER = re.compile(r"[^\w§(]*+"), re.compile(r"[*_`\s:]*+")
"""What stands around a name and is no part of it; the second is asked of the text backwards."""
_ALIAS = re.compile(r"[()]")


def section_of(heading: str) -> str | None:
    """The section a heading opens, whatever its language, number or addition; None when it is none of ours."""
    named = _named(heading)
    return None if named is None else named[0]


def beyond_name(heading: str) -> str:
    """What a heading says beyond the name of its section."""
    named = _named(heading)
    return heading if named is None else named[1]


def _named(heading: str) -> tuple[str, str] | None:
    """The section that a heading opens, and what follows the section's name."""
    wanted = _bare(_NUMBERING.sub("", _bare(plain(heading)), count=1))
    best: tuple[str, str] | None = None
    for key, names in _names().items():
        for known in names:
            rest = wanted[len(known) :]
            opens = wanted.startswith(known) and not rest[:1].isalpha()
            if opens and (best is None or len(rest) < len(best[1])):
                best = key, rest
    if best is None:
        return None
    rest = best[1]
    for known in sorted(_names()[best[0]], key=len, reverse=True):
        rest = rest.replace(f"({known})", " ")
    return best[0], rest


def _bare(text: str) -> str:
    begin, behind = _BEFORE.match(text), _AFTER.match(text[::-1])
    bare = text[begin.end() if begin else 0 :]
    return bare[: max(0, len(bare) - (behind.end() if behind else 0))]


@cache
def _names() -> Mapping[str, tuple[str, ...]]:
    """What the heading of each section may be called: every name of it, and each of two names in one alone."""
    return {
        key: tuple(
            dict.fromkeys(
                part.strip()
                for name in (section.en, section.zh, *section.also)
                for part in (plain(name), *_ALIAS.split(plain(name)))
                if part.strip()
            )
        )
        for key, section in SECTIONS.items()
    }


def field_of(section: str, label: str) -> tuple[str, Kind] | None:
    """The field a label names in a section and how it is written; None for an unknown one."""
    wanted = plain(label)
    for name, known in FIELDS[section].items():
        if wanted in (plain(known.en), plain(known.zh)):
            return name, known.kind
    return None
