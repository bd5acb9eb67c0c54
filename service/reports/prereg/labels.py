"""Headings and labels of EXPERIMENTS_PREREG.md in every language, and what else a section may be called."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from types import MappingProxyType
from typing import Literal

from service.words import LANGUAGES, Language, say
from service.words.catalogue import templates

Kind = Literal["text", "token", "tokens", "number", "numbers", "rule", "json"]
NO_SECTION = ""
"""Where the fields before the first section stand."""


@dataclass(frozen=True, slots=True)
class Label:
    """A field's name and how its value is written."""

    code: str
    kind: Kind

    def of(self, language: Language) -> str:
        """Return the name in that language."""
        return say(f"prereg.{self.code}", language)


@dataclass(frozen=True, slots=True)
class Heading:
    """A section: where its content belongs in the plan, and what else its heading may be called."""

    code: str
    also: tuple[str, ...] = ()
    listed: bool = False
    """True when the section is a list of named entries."""

    def of(self, language: Language) -> str:
        """Return the heading in that language."""
        return say(f"prereg.{self.code}", language)

    def names(self) -> tuple[str, ...]:
        """Return what it is called in any language, and what else."""
        return (*(self.of(language) for language in LANGUAGES), *self.also)


def _labels(section: str, kinds: Mapping[str, Kind]) -> Mapping[str, Label]:
    """Return the labels of a section, by the dotted names of its members."""
    return {name: Label(f"field_{section}_{name.replace('.', '_')}", kind) for name, kind in kinds.items()}


TITLE = Heading("title", ("Preregistration", "预注册"))
SECTIONS: Mapping[str, Heading] = MappingProxyType(
    {
        "authors": Heading(
            "heading_authors",
            ("author", "authors", "author list", "contributors", "作者", "作者列表", "研究者"),
            listed=True,
        ),
        "hypotheses": Heading(
            "heading_hypotheses",
            ("hypothesis", "confirmatory hypotheses", "研究假设", "研究假说", "假说"),
            listed=True,
        ),
        "arms": Heading(
            "heading_arms",
            ("arms", "arm cards", "systems", "compared systems", "conditions", "组", "实验组", "系统", "对比系统"),
            listed=True,
        ),
        "endpoints": Heading(
            "heading_endpoints",
            ("endpoint", "endpoints", "primary endpoints", "primary outcome", "primary outcomes", "outcomes",
             "outcome measures", "primary metric", "primary metrics", "metrics", "端点", "主要端点", "主要终点",
             "终点", "主要结局", "主要指标", "评测指标", "评估指标"),
            listed=True,
        ),
        "populations": Heading(
            "heading_populations",
            ("population", "populations", "sample", "sample sizes", "datasets", "样本", "总体", "样本规模",
             "数据集"),
            listed=True,
        ),
        "suites": Heading(
            "heading_suites",
            ("suite", "suites", "benchmark suite", "benchmark suites", "task suites", "套件", "任务套件", "测评套件"),
            listed=True,
        ),
        "rules": Heading(
            "heading_rules",
            ("decision rule", "decision criteria", "decision criterion", "inference criteria", "pass criteria",
             "判定规则", "决策", "决策准则", "判定标准", "判定准则", "通过标准"),
            listed=True,
        ),
        "sesoi": Heading(
            "heading_sesoi",
            ("smallest effect", "smallest effect size", "smallest effect of interest", "equivalence margin",
             "equivalence bounds", "最小关注效应", "最小效应量", "最小效应", "最小有意义效应量",
             "最小有意义效应", "最小感兴趣效应量", "最小感兴趣效应", "等价界限", "等价界值", "等效界值",
             "非劣效界值", "等价边界"),
            listed=True,
        ),
        "tests": Heading(
            "heading_tests",
            ("statistical test", "tests", "statistical analysis", "statistical analyses", "statistical methods",
             "analysis plan", "统计方法", "统计检验方法", "统计分析", "分析计划", "检验", "检验方法"),
            listed=True,
        ),
        "thresholds": Heading(
            "heading_thresholds",
            ("threshold", "thresholds", "τ choice", "τ", "tau choice", "tau", "阈值", "阈值选择", "阈值的选择",
             "τ选择", "τ的选择"),
            listed=True,
        ),
        "stopping": Heading(
            "heading_stopping",
            ("stopping", "stopping rules", "stopping criterion", "stopping criteria", "interim analysis",
             "interim analyses", "停止", "停止准则", "停止条件", "终止规则", "中期分析"),
        ),
        "multiplicity": Heading(
            "heading_multiplicity",
            ("multiplicity", "multiple", "multiple testing", "multiplicity correction",
             "multiple comparisons correction", "multiple testing correction", "多重", "多重检验", "多重性",
             "多重比较校正", "多重检验校正"),
        ),
        "missing": Heading(
            "heading_missing",
            ("missing", "missing data", "missing values", "缺失", "缺失数据", "缺失值", "缺失处理"),
        ),
        "import": Heading("heading_import", ("import", "导入")),
    }
)  # fmt: skip

FIELDS: Mapping[str, Mapping[str, Label]] = MappingProxyType(
    {
        NO_SECTION: _labels(
            "plan",
            {
                "title": "text",
                "tried.n": "number",
                "tried.on": "text",
                "results_due": "token",
                "embargo_until": "token",
                "visibility": "token",
            },
        ),
        "authors": _labels("authors", {"orcid": "token", "affiliation": "text"}),
        "hypotheses": _labels(
            "hypotheses",
            {
                "claim": "token",
                "about": "token",
                "population": "token",
                "baseline": "token",
                "candidate": "token",
                "reference.value": "number",
                "reference.unit": "token",
                "reference.published.source": "text",
                "reference.published.n": "number",
                "endpoint": "token",
                "equivalence": "token",
                "falsified_if": "text",
            },
        ),
        "arms": _labels(
            "arms",
            {
                "criterion": "text",
                "model.name": "text",
                "model.revision": "text",
                "model.checkpoint_sha256": "token",
                "prompt_sha256": "token",
                "decoding.temperature": "number",
                "decoding.top_p": "number",
                "decoding.max_tokens": "number",
                "decoding.seed": "text",
                "tools": "tokens",
                "harness.name": "text",
                "harness.version": "text",
                "harness.config_sha256": "token",
                "system": "text",
                "on_difference": "token",
            },
        ),
        "endpoints": _labels(
            "endpoints",
            {
                "role": "token",
                "kind": "token",
                "judge.model": "text",
                "judge.version": "text",
                "judge.prompt_sha256": "text",
                "populations": "tokens",
                "replicates": "number",
                "judgements": "number",
                "collapse": "token",
                "k": "number",
                "positive": "json",
                "estimand": "token",
                "better": "token",
                "bounds.low": "number",
                "bounds.high": "number",
                "labels.n": "number",
                "labels.seed": "number",
            },
        ),
        "populations": _labels(
            "populations",
            {
                "dataset": "text",
                "n": "number",
                "clusters.n": "number",
                "clusters.key": "text",
                "independence": "text",
                "strata": "text",
                "order_seed": "number",
                "items_sha256": "token",
            },
        ),
        "suites": _labels(
            "suites", {"populations": "tokens", "weights": "token", "rescale": "json", "estimand": "token"}
        ),
        "rules": {},
        "sesoi": {},
        "tests": _labels(
            "tests",
            {
                "test": "token",
                "version": "number",
                "endpoint": "token",
                "parameters": "json",
                "margin_reason": "text",
            },
        ),
        "thresholds": _labels(
            "thresholds",
            {
                "value": "number",
                "population": "token",
                "chosen_by": "text",
                "split": "text",
                "split_sha256": "text",
                "sweep": "numbers",
            },
        ),
        "stopping": _labels("stopping", {"kind": "token", "looks": "number", "spending": "token"}),
        "multiplicity": _labels("multiplicity", {"policy": "token", "family": "tokens"}),
        "missing": _labels("missing", {"missing": "token"}),
        "import": _labels("import", {"format": "token", "scorer": "text", "cluster_key": "text"}),
    }
)

_FORMER: Mapping[str, str] = MappingProxyType(
    {
        "kind.fixed_n": "计划结果到齐后只看一次",
        "kind.anytime_valid": "随时可看",
        "policy.max_t": "按题目共享的符号逐步校正",
        "missing.fail": "出现缺失即视为违反计划",
        "missing.exclude_pair": "该题在两臂中一并剔除",
        "missing.worst_case": "按对主张最不利计",
    }
)
"""What was printed behind a value before: files that were printed then are read as well."""
_FORMER_LABELS: Mapping[str, str] = MappingProxyType(
    {
        "field_populations_n": "样本数",
        "field_tests_margin_reason": "界限不同的原因",
        "field_stopping_spending": "误差分配函数",
    }
)
"""What a field was called before, for the same reason."""


def gloss(name: str, value: object, language: Language) -> str | None:
    """Return what a value means, which is printed behind it for the reader and skipped when reading; None for most."""
    key = f"gloss_{name}_{value}".replace(".", "_")
    return say(f"prereg.{key}", language) if key in templates(language, "prereg") else None


def glosses(name: str, value: object) -> set[str]:
    """Return everything that has ever been printed behind a value."""
    known = {gloss(name, value, language) for language in LANGUAGES} | {_FORMER.get(f"{name}.{value}")}
    return {text for text in known if text is not None}


def plain(text: str) -> str:
    """Return text as headings and labels are compared: full-width forms folded, lower case, single spaces."""
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
    """Return the section a heading opens, whatever its language, number or addition; None when it is none of ours."""
    match = _match_heading(heading)
    return None if match is None else match[0]


def beyond_name(heading: str) -> str:
    """Return what a heading says beyond the name of its section."""
    match = _match_heading(heading)
    return heading if match is None else match[1]


def _match_heading(heading: str) -> tuple[str, str] | None:
    """Return the section that a heading opens, and what follows the section's name."""
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
    """Return what the heading of each section may be called: every name of it, and each of two names in one alone."""
    return {
        key: tuple(
            dict.fromkeys(
                part.strip()
                for name in section.names()
                for part in (plain(name), *_ALIAS.split(plain(name)))
                if part.strip()
            )
        )
        for key, section in SECTIONS.items()
    }


def field_of(section: str, label: str) -> tuple[str, Kind] | None:
    """Return the field a label names in a section and how it is written; None for an unknown one."""
    wanted = plain(label)
    for name, known in FIELDS[section].items():
        names = (*(known.of(language) for language in LANGUAGES), _FORMER_LABELS.get(known.code, ""))
        if wanted in map(plain, names):
            return name, known.kind
    return None
