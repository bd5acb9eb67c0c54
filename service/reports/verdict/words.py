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
from service.reports.verdict.content import DeviationLine, HypothesisReport, Interval, Report, TestFound
from service.stats.shared.declaring.sentences import level_text, p_text

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
        "acknowledged": ("Warnings on record at the lock", "锁定时记录在案的警告"),
        "by_rule": ("rule", "规则"),
        "decided_by": (
            "decided by {name}, not as the rule said ({word})",
            "由 {name} 决定,与规则所定({word})不同",
        ),
        "confirmed_by": ("decided by {name}", "由 {name} 决定"),
        "undefined": ("not defined", "未定义"),
        "ratio": ("ratio of means", "均值之比"),
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
_RULES: Mapping[str, str] = MappingProxyType(
    {
        "primary-endpoint-switched": "计划承诺以主端点作判定;换成另一个端点,回答的就是另一个问题。",
        "comparison-dropped-after-results": "删去比较时已有结果:留下的可能只是结果好的部分。",
        "hypothesis-reshaped-after-results": "假设、规则或界限变更时已有结果:请重新预注册并重新运行。",
        "threshold-tuned-on-evaluation-items": "在用于评判的题目上调出的阈值会迎合这些题目。",
        "threshold-recalibrated-with-sweep": "阈值在另外的数据上选定,当时看不到任何结果,且敏感性扫描覆盖新旧两个取值。",
        "threshold-without-sweep": "没有覆盖原值与新值的敏感性扫描,就无人知道这一选择的影响。",
        "aggressive-after-outcomes": "当时可以看到结果,而变更使主张更容易成立。",
        "conservative-and-blind": "当时看不到任何结果,且变更没有使任何主张更容易成立。",
        "otherwise": "没有规则能够定论:由作者以外的具名评审者决定。",
    }
)
"""What the rules of deviations say, in Chinese."""
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


def standing_line(deviation: DeviationLine, language: Language) -> str:
    """What stands about a deviation, who decided so, and what the rules say of it."""
    zh = language == "zh"
    line = standing_word(deviation.standing, language)
    if deviation.decided_by is not None:
        other = deviation.classification not in (None, deviation.standing)
        word = standing_word(deviation.classification or deviation.standing, language)
        said = say("decided_by" if other else "confirmed_by", language)
        line += ("({})" if zh else " ({})").format(said.format(name=deviation.decided_by, word=word))
    rule = deviation.rule
    if rule is None:
        return line
    says = _RULES.get(rule.id, rule.says) if zh else rule.says
    return (
        f"{line},{say('by_rule', language)} `{rule.id}`:{says}"
        if zh
        else (f"{line}, {say('by_rule', language)} `{rule.id}`: {says}")
    )


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


def span(
    low: float | None, high: float | None, *, binary: bool, signed: bool = True, language: Language = "en"
) -> str:
    """Both ends of an interval; one end may be open, and without any there is none."""
    if low is None and high is None:
        return say("undefined", language)
    ends = ("−∞" if low is None else value(low, binary=binary, signed=signed),
            "∞" if high is None else value(high, binary=binary, signed=signed))  # fmt: skip
    return f"[{ends[0]}, {ends[1]}]"


def p_of(test: TestFound) -> str:
    """`p = 0.033`; nothing where there is none."""
    return "" if test.p_value is None else p_text(test.p_value, test.p_bound)


def statistics_of(test: TestFound, language: Language) -> str:
    """Statistic, p, effect sizes and what else is estimated, in one line."""
    parts = [f"{estimate_word(estimate.name, language)} = {estimate.value:.4g}" for estimate in test.estimates
             if estimate.name not in test.effects]  # fmt: skip
    parts += [f"{name} = {each:.4g}" for name, each in test.statistics.items()]
    parts += [p_of(test)] if test.p_value is not None else []
    parts += [f"{say(name, language)} = {each:.3g}" for name, each in test.effects.items()]
    return ", ".join(parts)


def estimate_word(name: str, language: Language) -> str:
    """What a test estimates beside the difference."""
    return say(name, language) if name in _WORDS else name.replace("_", " ")


def is_binary(each: HypothesisReport, test: TestFound) -> bool:
    """Whether differences of a test are proportions: by its own endpoint, where it reads another."""
    return each.binary if test.binary is None else test.binary


def rows_of_tests(each: HypothesisReport, language: Language) -> list[tuple[str, str, str, str, str]]:
    """Per test: its id, estimate, interval, how that was made, and p. No row says that there is nothing to say.

    A test whose estimate is no difference has that; where neither is defined, its sentence stands for it.
    """
    rows = []
    for test in each.tests:
        name = test.id if test.endpoint is None else f"{test.id}, {test.endpoint}"
        own = [
            (f"{name}: {estimate_word(one.name, language)}", f"{one.value:.4g}",
             span(one.ci.low, one.ci.high, binary=False, signed=False, language=language), _made(one.ci))
            for one in test.estimates
        ]  # fmt: skip
        binary = is_binary(each, test)
        if test.delta is not None and (test.ci is not None or not own):
            ends = (
                say("undefined", language)
                if test.ci is None
                else span(test.ci.low, test.ci.high, binary=binary, language=language)
            )
            made = "" if test.ci is None else _made(test.ci)
            own.insert(0, (name, value(test.delta, binary=binary, signed=True), ends, made))
        rows += [(*row, p_of(test) if at == 0 else "") for at, row in enumerate(own)]
        if not own:
            rows.append((name, say("undefined", language), "", "", p_of(test)))
    return rows


def _made(ci: Interval) -> str:
    return f"{level_text(ci.level)} {ci.method}"


def clause_rows(each: HypothesisReport, language: Language) -> list[tuple[str, str, str, str]]:
    """Every clause; those on another endpoint are in its own unit."""
    units = {test.id: is_binary(each, test) for test in each.tests}
    return [
        clause_row(clause, binary=units.get(clause.text.split(".")[0], each.binary), language=language)
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
            threshold = _observed(clause.threshold, points=False, language=language)
    truth = say({True: "holds", False: "fails", None: "unknown"}[clause.holds], language)
    return (
        clause.text,
        _observed(clause.observed, points=binary and effect, language=language),
        threshold,
        truth,
    )


def _observed(found: Any, *, points: bool, language: Language) -> str:
    if found is None:
        return say("undefined", language)
    if isinstance(found, bool):
        return "true" if found else "false"
    if isinstance(found, Span):
        return span(found.low, found.high, binary=points, language=language)
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


def interval_rows(each: HypothesisReport, language: Language = "en") -> list[tuple[str, str, str]]:
    """What, interval, and how it was made: of both arms, then of what every test estimates."""
    rows = [
        (
            arm.arm,
            span(arm.low, arm.high, binary=each.binary, signed=False, language=language),
            f"{level_text(arm.level)} {METHODS[arm.method]}",
        )
        for arm in each.arms
        if arm.method is not None
    ]
    for test in each.tests:
        read = test.id if test.endpoint is None else f"{test.id}, {test.endpoint}"
        if test.ci is not None and test.delta is not None:
            ends = span(test.ci.low, test.ci.high, binary=is_binary(each, test), language=language)
            rows.append((f"{each.candidate} − {each.baseline} ({read})", ends, _made(test.ci)))
        rows += [
            (f"{estimate_word(one.name, language)} ({read})",
             span(one.ci.low, one.ci.high, binary=False, signed=False, language=language), _made(one.ci))
            for one in test.estimates
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
            "–" if one.ci is None else span(one.ci.low, one.ci.high, binary=each.binary, language=language),
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
    return beside_table(each.slices, binary=each.binary, language=language)


def slice_marks(each: HypothesisReport) -> tuple[str, ...]:
    """How each row of that table is coloured: as a clause that holds, that fails, or of which nothing is known."""
    marks = {"pass": "holds", "fail": "fails", "cannot_tell": "unknown"}
    return () if each.slices is None else tuple(marks[one.outcome] for one in each.slices.slices)


def effect_lines(report: Report, language: Language) -> list[str]:
    """What deviations do, a sentence per hypothesis."""
    lines = []
    colon = ":" if language == "zh" else ": "
    for effect in report.effects:
        parts = []
        if effect.outcome_as_run is not None and effect.outcome_planned is not None:
            parts.append(
                f"{say('planned', language)} {outcome_word(effect.outcome_planned, language)}, "
                f"{say('as_run', language)} {outcome_word(effect.outcome_as_run, language)}"
            )
        if effect.robust:
            parts.append(say("robust", language))
        elif effect.tipping_items is not None and effect.outcome_then is not None:
            parts.append(
                f"{effect.tipping_items} {say('tipping', language)} {outcome_word(effect.outcome_then, language)}"
            )
        if parts:
            lines.append(f"{effect.hypothesis}{colon}{'; '.join(parts)}")
    return lines
