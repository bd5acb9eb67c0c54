"""The fixed words of a verdict's report in both languages, and how its numbers are written."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from service.domain.rules.fields import EFFECT_FIELDS
from service.domain.rules.grammar import parse
from service.domain.rules.rule import Comparison, Excludes, Within
from service.domain.verdicts.records import ClauseVerdict, Span
from service.domain.verdicts.words.slices import beside_table
from service.reports.prereg.labels import Language
from service.reports.verdict.content import HypothesisReport, Report, TestFound
from service.stats.shared.sentences import level_text, p_text

_WORDS: Mapping[str, tuple[str, str]] = MappingProxyType(
    {
        "report": ("Statistical report", "统计报告"),
        "basic": ("Basic statistics", "基本统计"),
        "tests": ("Statistical tests", "统计检验"),
        "intervals": ("Confidence intervals", "置信区间"),
        "conclusion": ("Conclusion", "结论"),
        "clauses": ("Clauses of the rule", "规则的各项条件"),
        "clause": ("Clause", "条件"),
        "observed": ("Observed", "观测值"),
        "threshold": ("Threshold", "阈值"),
        "truth": ("Truth", "是否成立"),
        "holds": ("holds", "成立"),
        "fails": ("fails", "不成立"),
        "unknown": ("unknown", "无法判定"),
        "metric": ("Metric", "指标"),
        "difference": ("Difference", "差异"),
        "mean": ("Mean", "均值"),
        "sd": ("SD", "标准差"),
        "median": ("Median", "中位数"),
        "min": ("Min", "最小值"),
        "max": ("Max", "最大值"),
        "items": ("Items", "题目数"),
        "test": ("Test", "检验"),
        "interval": ("Interval", "区间"),
        "method": ("Method", "方法"),
        "rule": ("Decision rule", "判定规则"),
        "deviations": ("Deviations", "偏离"),
        "no_deviation": ("No deviation was filed.", "没有登记任何偏离。"),
        "stays": ("The verdict as planned stays as it is.", "按计划得出的结论保持不变。"),
        "planned": ("as planned", "按计划"),
        "as_run": ("as run", "按实际执行"),
        "tipping": ("items in doubt could change the outcome to", "道存疑题目即可将结论变为"),
        "robust": ("no filling of the items in doubt changes the outcome", "存疑题目无论取何值都不改变结论"),
        "evidence": ("Evidence", "证据"),
        "timeline": ("Timeline with ledger proofs", "时间线与账本证明"),
        "leaf": ("leaf", "叶"),
        "plan": ("Plan", "计划"),
        "locked": ("Locked", "锁定"),
        "judged": ("Judged", "判定"),
        "version": ("version", "版本"),
        "marks": ("What every reader has to know", "每位读者须知"),
        "limits": ("What this cannot show", "不能证明的事"),
        "figure": ("Intervals against 0 and the SESOI", "区间与 0 和 SESOI 的比较"),
        "judged_on": (
            "Judged on {n} of {planned} planned items.",
            "依据计划的 {planned} 道题目中的 {n} 道判定。",
        ),
        "no_rows": ("The rows are not open, so there is nothing to summarise.", "数据行未公开,无法汇总。"),
        "cohens_d": ("Cohen's d", "Cohen's d"),
        "hedges_g": ("Hedges' g", "Hedges' g"),
        "cohens_dz": ("Cohen's dz", "Cohen's dz"),
        "cohens_g": ("Cohen's g", "Cohen's g"),
        "rank_biserial": ("rank-biserial r", "秩二列相关"),
        "odds_ratio": ("odds ratio", "比值比"),
        "next": ("Next", "下一步"),
        "slices": ("Slices", "切片"),
        "slice": ("Slice", "切片"),
        "against_margin": ("Interval; margin {margin}", "区间;界限 {margin}"),
        "standing": ("Standing", "判断"),
        "loses": ("p: loses less", "p:损失更小"),
        "loses_more": ("p (Holm): loses more", "p(Holm):损失更大"),
        "pass": ("pass", "通过"),
        "fail": ("fail", "不通过"),
        "cannot_tell": ("cannot tell", "无法判定"),
    }
)
_OUTCOMES: Mapping[str, tuple[str, str]] = MappingProxyType(
    {
        "supported": ("supported", "支持"),
        "not_supported": ("not supported", "未获支持"),
        "equivalent": ("equivalent", "等价"),
        "inconclusive": ("inconclusive", "无法判定"),
        "invalid": ("invalid", "无效"),
    }
)
_STANDINGS: Mapping[str, tuple[str, str]] = MappingProxyType(
    {
        "accept": ("accepted", "接受"),
        "needs_review": ("needs review", "待评审"),
        "new_registration": ("needs a new registration", "需重新预注册"),
        "reject": ("rejected", "拒绝"),
    }
)
KINDS: Mapping[str, tuple[str, str]] = MappingProxyType(
    {
        "plan_locked": ("plan locked", "计划锁定"),
        "plan_amended": ("plan amended", "计划修订"),
        "deviation": ("deviation", "偏离"),
        "close": ("closed early", "提前结束"),
        "verdict": ("verdict", "结论"),
        "withdrawal": ("withdrawn", "撤回"),
        "unblinding": ("unblinded", "揭盲"),
        "look": ("look", "期中查看"),
        "reading": ("results read", "读取结果"),
        "batch": ("results", "结果"),
    }
)

METHODS: Mapping[str, str] = MappingProxyType(
    {"clopper_pearson": "Clopper–Pearson", "t": "t", "cr2_t": "CR2 t, clusters"}
)
"""How the interval of an arm's mean was made."""


def say(key: str, language: Language) -> str:
    """A fixed word."""
    return _WORDS[key][_at(language)]


def outcome_word(outcome: str, language: Language) -> str:
    """An outcome for people."""
    return _OUTCOMES[outcome][_at(language)]


def standing_word(standing: str, language: Language) -> str:
    """What stands about a deviation."""
    return _STANDINGS[standing][_at(language)]


def kind_word(kind: str, language: Language) -> str:
    """What happened."""
    return KINDS[kind][_at(language)] if kind in KINDS else kind.replace("_", " ")


def _at(language: Language) -> int:
    return 1 if language == "zh" else 0


def value(found: float | None, *, binary: bool, signed: bool = False) -> str:
    """A value of an endpoint: percent where it is right or wrong, else four digits; a difference has its sign."""
    if found is None:
        return "–"
    if binary:
        return f"{100 * found:+.2f} pp" if signed else f"{100 * found:.2f}%"
    return f"{found:+.4g}" if signed else f"{found:.4g}"


def span(low: float | None, high: float | None, *, binary: bool, signed: bool = True) -> str:
    """Both ends of an interval."""
    ends = ("−∞" if low is None else value(low, binary=binary, signed=signed),
            "∞" if high is None else value(high, binary=binary, signed=signed))  # fmt: skip
    return f"[{ends[0]}, {ends[1]}]"


def p_of(test: TestFound) -> str:
    """`p = 0.033`; nothing where there is none."""
    return "" if test.p_value is None else p_text(test.p_value, test.p_bound)


def statistics_of(test: TestFound, language: Language) -> str:
    """Statistic, p and effect sizes in one line."""
    parts = [f"{name} = {each:.4g}" for name, each in test.statistics.items()]
    parts += [p_of(test)] if test.p_value is not None else []
    parts += [f"{say(name, language)} = {each:.3g}" for name, each in test.effects.items()]
    return ", ".join(parts)


def clause_rows(each: HypothesisReport, language: Language) -> list[tuple[str, str, str, str]]:
    """Every clause; those on another endpoint are in its own unit."""
    others = {test.id for test in each.tests if test.endpoint is not None}
    return [
        clause_row(clause, binary=each.binary and clause.text.split(".")[0] not in others, language=language)
        for clause in each.clauses
    ]


def clause_row(clause: ClauseVerdict, *, binary: bool, language: Language) -> tuple[str, str, str, str]:
    """Clause, observed, threshold and truth, as texts."""
    planned = parse(clause.text)
    effect = isinstance(planned, Comparison | Excludes | Within) and planned.field.path[0] in EFFECT_FIELDS
    match planned:
        case Within():
            threshold = f"{planned.low} … {planned.high}"
        case Comparison() | Excludes():
            threshold = str(planned.value)
        case _:
            threshold = _observed(clause.threshold, points=False)
    truth = say({True: "holds", False: "fails", None: "unknown"}[clause.holds], language)
    return clause.text, _observed(clause.observed, points=binary and effect), threshold, truth


def _observed(found: Any, *, points: bool) -> str:
    if found is None:
        return "–"
    if isinstance(found, bool):
        return "true" if found else "false"
    if isinstance(found, Span):
        return span(found.low, found.high, binary=points)
    return value(found, binary=True, signed=True) if points else f"{found:.4g}"


def statistics_table(
    each: HypothesisReport, language: Language
) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
    """Head and rows of the basic statistics: both arms side by side, and their difference."""
    head = (say("metric", language), *(arm.arm for arm in each.arms), say("difference", language))
    rows: list[tuple[str, ...]] = [(say("items", language), *(str(arm.n) for arm in each.arms), "")]
    for name in ("mean", "sd") if each.binary else ("mean", "sd", "median", "min", "max"):
        found = [getattr(arm, name) for arm in each.arms]
        change = (
            ""
            if None in found or len(found) != 2
            else value(found[1] - found[0], binary=each.binary, signed=True)
        )
        rows.append((say(name, language), *(value(one, binary=each.binary) for one in found), change))
    return head, rows


def interval_rows(each: HypothesisReport) -> list[tuple[str, str, str]]:
    """What, interval, and how it was made: of both arms, then of the difference by every test."""
    rows = [
        (
            arm.arm,
            span(arm.low, arm.high, binary=each.binary, signed=False),
            f"{level_text(arm.level)} {METHODS[arm.method]}",
        )
        for arm in each.arms
        if arm.method is not None
    ]
    rows += [
        (f"{each.candidate} − {each.baseline} ({test.id})", span(test.ci.low, test.ci.high, binary=each.binary),
         f"{level_text(test.ci.level)} {test.ci.method}")
        for test in each.tests
        if test.ci is not None and test.delta is not None
    ]  # fmt: skip
    return rows


def slices_table(each: HypothesisReport, language: Language) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
    """Head and rows of the slices that the plan asks about; no rows where it asks nothing or cannot tell them apart."""
    names = ("slice", "items", "difference", "against_margin", "loses", "loses_more", "standing")
    found = () if each.slices is None else each.slices.slices
    allowed = None if each.slices is None else each.slices.no_worse_than
    margin = value(allowed, binary=each.binary, signed=True).lstrip("+")
    rows = [
        (
            one.slice,
            str(one.n),
            value(one.delta, binary=each.binary, signed=True),
            "–" if one.ci is None else span(one.ci.low, one.ci.high, binary=each.binary),
            *("–" if p is None else p_text(p, None) for p in (one.p_value, one.p_loss_holm)),
            say(one.outcome, language),
        )
        for one in found
    ]
    return tuple(say(name, language).format(margin=margin) for name in names), rows


def slices_line(each: HypothesisReport, language: Language) -> str:
    """The sentence under that table: whether the arms change sides; empty where the plan asks nothing of slices."""
    if each.slices is None:
        return ""
    return beside_table(each.slices, binary=each.binary, chinese=language == "zh")


def slice_marks(each: HypothesisReport) -> tuple[str, ...]:
    """How each row of that table is coloured: as a clause that holds, that fails, or of which nothing is known."""
    marks = {"pass": "holds", "fail": "fails", "cannot_tell": "unknown"}
    return () if each.slices is None else tuple(marks[one.outcome] for one in each.slices.slices)


def effect_lines(report: Report, language: Language) -> list[str]:
    """What deviations do, a sentence per hypothesis."""
    lines = []
    colon = ":" if language == "zh" else ": "
    for each in report.effects:
        parts = []
        if each.outcome_as_run is not None and each.outcome_planned is not None:
            parts.append(
                f"{say('planned', language)} {outcome_word(each.outcome_planned, language)}, "
                f"{say('as_run', language)} {outcome_word(each.outcome_as_run, language)}"
            )
        if each.robust:
            parts.append(say("robust", language))
        elif each.tipping_items is not None and each.outcome_then is not None:
            parts.append(
                f"{each.tipping_items} {say('tipping', language)} {outcome_word(each.outcome_then, language)}"
            )
        if parts:
            lines.append(f"{each.hypothesis}{colon}{'; '.join(parts)}")
    return lines
