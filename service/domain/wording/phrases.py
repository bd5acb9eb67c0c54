"""Phrases that say more than a test shows, in English and Chinese, why, and what to write instead."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True)
class Phrase:
    """A phrase to look for. The first that matches a stretch of text has it."""

    code: str
    pattern: re.Pattern[str]
    why: str
    better: str
    better_zh: str
    unless: Literal["equivalent", "corrected", "one_sided"] | None = None
    """What makes the phrase right when it was shown."""
    also_denied: bool = False
    """The denial belongs to the phrase, so a denial before it does not excuse it."""
    also_quoted: bool = False
    """Wrong as a quotation too: nobody offers it as an example of what to write."""
    spared: re.Pattern[str] | None = None
    """Words in the same sentence that make the phrase right."""
    from_verdict: bool = False
    """The verdict's own sentence is better than any model."""


def _words(english: str, chinese: str) -> re.Pattern[str]:
    return re.compile(rf"(?:{english}){'|(?:' + chinese + ')' if chinese else ''}", re.IGNORECASE)


_INTERVAL = "C3 minus C1 is +0.4 pp (95 % interval -1.2 to +2.0 pp); no difference within it is ruled out."
_INTERVAL_ZH = "C3 与 C1 之差为 +0.4 个百分点(95% 区间 -1.2 至 +2.0),区间内的差异均未被排除。"
_EQUIVALENT = (
    "The 90 % interval of the difference, -1.2 to +1.5 pp, lies inside the preregistered margin of ±2 pp: differences "
    "beyond ±2 pp are rejected at alpha = 0.05."
)
_EQUIVALENT_ZH = (
    "差异的 90% 区间为 -1.2 至 +1.5 个百分点,落在预注册的 ±2 个百分点之内:"
    "在 alpha = 0.05 下拒绝了超出 ±2 的差异。"
)

PHRASES: tuple[Phrase, ...] = (
    Phrase(
        "CANNOT_REJECT_EQUIVALENCE",
        _words(
            r"(?:can(?:not|'t| not)|could not|fail(?:s|ed)? to|unable to|(?:do|does|did) not)\s+reject\s+"
            r"(?:the\s+)?(?:null\s+(?:hypothesis\s+)?of\s+)?equivalence",
            r"(?:不能|无法|未能|没有)拒绝等价(?:性)?",
        ),
        "in an equivalence test the null hypothesis is that the arms differ: equivalence is shown by rejecting it, and "
        "'cannot reject equivalence' turns that round",
        _EQUIVALENT,
        _EQUIVALENT_ZH,
        also_denied=True,
        also_quoted=True,
    ),
    Phrase(
        "TOST_READ_BACKWARDS",
        _words(
            r"\b(?:TOST|equivalence test)\b[^.。\n]{0,20}\bp\s*(?:-?value)?\s*(?:>|≥|>=)\s*0?\.\d+",
            r"(?:TOST|等价性检验)[^。\n]{0,12}p\s*值?\s*(?:>|≥|大于)\s*0?\.\d+",
        ),
        "an equivalence test shows equivalence by a small p-value; a large one shows nothing",
        _EQUIVALENT,
        _EQUIVALENT_ZH,
        also_denied=True,
        also_quoted=True,
    ),
    Phrase(
        "NULL_ACCEPTED",
        _words(
            r"\baccept(?:s|ed|ing)?\s+(?:the\s+)?(?:null(?:\s+hypothesis)?|H0|H_0)\b",
            r"接受(?:等价|了?\s*(?:零假设|原假设|H0))",
        ),
        "a test rejects its null hypothesis or fails to; it never shows the null hypothesis to be true",
        _INTERVAL,
        _INTERVAL_ZH,
    ),
    Phrase(
        "EQUIVALENCE_WITHOUT_TEST",
        _words(
            r"\b(?:is|are|was|were|be|remains?|perform(?:s|ed)?|statistically|practically|essentially|functionally)\s+"
            r"(?:(?:statistically|practically|essentially|fully|completely)\s+)?"
            r"(?:equivalent(?:ly)?|identical|the same as)"
            r"(?![\s-]*(?:test|margin|bound|region|claim|hypothes|verdict))\b|"
            r"\bstatistical(?:ly)?\s+equivalence\b(?!\s+test)|\bon par with\b",
            r"(?:完全|统计上?|实质|基本)(?:等价|等效|相同|一致)(?!性?检验|于|界|区间)|(?:两者|二者|两个系统)(?:是)?(?:等价|等效)"
            r"(?!性?检验)",
        ),
        "equivalence is a finding of its own: it needs an equivalence test against a margin set beforehand, and holds "
        "for that margin only",
        _EQUIVALENT,
        _EQUIVALENT_ZH,
        unless="equivalent",
        from_verdict=True,
    ),
    Phrase(
        "NO_DIFFERENCE",
        _words(
            r"\b(?:there\s+(?:is|was)|show(?:s|ed)?|found|find(?:s)?|with|has|have|makes?|made)\s+no\s+"
            r"(?:statistically\s+significant\s+|significant\s+|real\s+|measurable\s+)?(?:difference|change)s?\b|"
            r"\bno\s+(?:statistically\s+)?significant\s+differences?\b|"
            r"\b(?:do|does|did)\s+not\s+differ\b|\bindistinguishable\b",
            r"(?:没有|无|毫无|不存在|完全没)(?:显著|明显|任何|统计学)?(?:的)?(?:差异|差别|区别)",
        ),
        "failing to show a difference does not show that there is none: say how large a difference is still possible",
        _INTERVAL,
        _INTERVAL_ZH,
        unless="equivalent",
        also_denied=True,
        spared=re.compile(
            r"null hypothesis|H_?0|hypothes[ei]s (?:of|that)|"
            r"does not (?:show|mean|imply|prove)|no evidence|假设|不(?:等于|意味|代表|表明)|没证据|没有(?:足够)?证据",
            re.IGNORECASE,
        ),
        from_verdict=True,
    ),
    Phrase(
        "NO_EFFECT",
        _words(
            r"\b(?:there\s+(?:is|was)|has|have|had|show(?:s|ed)?|found|as)\s+no\s+(?:\w+\s+)?"
            r"(?:effect|impact|benefit|improvement)\b(?!\s+size)|\bineffective\b",
            r"(?:没有|无|毫无)(?:任何|显著|明显)?(?:效果|作用|影响|提升|改进)",
        ),
        "a failed rule does not show that an effect is absent: say what was estimated, and how precisely",
        _INTERVAL,
        _INTERVAL_ZH,
        also_denied=True,
        spared=re.compile(
            r"null hypothesis|H_?0|does not (?:show|mean|imply|prove)|no evidence|"
            r"假设|不(?:等于|意味|代表|表明)",
            re.IGNORECASE,
        ),
        from_verdict=True,
    ),
    Phrase(
        "MARGINAL",
        _words(
            r"\b(?:marginal(?:ly)?|borderline|nearly|almost|approach(?:es|ing)?|trend(?:s|ed|ing)?\s+(?:towards?|to))\s+"
            r"(?:statistical(?:ly)?\s+)?significan(?:t|ce)\b|\btrend(?:s|ed|ing)?\s+towards?\b|"
            r"\b(?:a|clear|positive|strong)\s+trend\b(?=[^.\n]{0,40}\bp\s*[=<>])",
            r"(?:边缘|临界|接近|几乎|近乎)(?:性)?(?:统计)?显著|(?:呈|有|存在)(?:上升|正向|改善)?趋势(?=[^。\n]{0,20}p)",
        ),
        "the threshold was set beforehand, and the p-value is on one side of it: there is no third outcome",
        "The rule does not hold: p = 0.07 and the threshold is 0.05. The difference is +1.8 pp (95 % interval -0.2 to "
        "+3.8 pp).",
        "规则不成立:p = 0.07,阈值为 0.05。差异为 +1.8 个百分点(95% 区间 -0.2 至 +3.8)。",
        from_verdict=True,
    ),
    Phrase(
        "CONTINUITY_CORRECTION",
        _words(
            r"\b(?:Edwards(?:'s?)?|Yates(?:'s?)?|continuity)[\s-]+(?:continuity[\s-]+)?correct(?:ed|ion)\b|"
            r"\bcorrected\s+McNemar\b|\bMcNemar[^.\n]{0,25}\bwith\s+correction\b",
            r"(?:Edwards|Yates|连续性)\s*(?:连续性)?(?:校正|修正)",
        ),
        "the continuity correction is no improvement: it is an approximation that is more conservative than the exact "
        "test it stands for",
        "McNemar's exact test (30 against 20 discordant items): p = 0.20.",
        "McNemar 精确检验(不一致题 30 对 20):p = 0.20。",
        spared=re.compile(r"uncorrected|conservative|do not use|不推荐|保守", re.IGNORECASE),
    ),
    Phrase(
        "CORRECTED",
        _words(
            r"\b(?:corrected|adjusted)\s+(?:significance|p[\s-]?values?|for\s+multiple)\b|"
            r"\bsignificant\s+after\s+(?:multiple[\s-]\w+\s+)?correction\b",
            r"(?:校正|矫正|修正)后(?:的)?(?:仍)?(?:显著|p\s*值)|经(?:多重)?(?:比较)?校正",
        ),
        "the plan has no correction for several comparisons, or none is known here: p-values are uncorrected",
        "p-values are uncorrected; the family has two tests. By Holm's method they would be 0.04 and 0.08.",
        "所报告的 p 值未经校正;该族含两个检验,按 Holm 方法为 0.04 与 0.08。",
        unless="corrected",
        spared=re.compile(
            r"uncorrected|未校正|Holm|Bonferroni|Hochberg|Hommel|Benjamini|\bFDR\b", re.IGNORECASE
        ),
    ),
    Phrase(
        "ONE_SIDED",
        _words(
            r"\bone[\s-](?:sided|tailed)\s+(?:\w+\s+){0,2}p(?:\s*-?\s*values?)?\s*(?:=|<|≤|of|is|was|below)\s*0?\.\d+|"
            r"\bone[\s-](?:sided|tailed)\s+(?:[\w-]+\s+){0,2}test\b(?=[^.\n]{0,60}(?:\bp\s*[=<≤]\s*0?\.\d|significan))|"
            r"\bp\s*[<=]\s*0?\.\d+\s*[,(]?\s*one[\s-](?:sided|tailed)",
            r"单(?:侧|尾)(?:检验)?\s*(?:的)?\s*p\s*值?\s*[<=为]|单(?:侧|尾)检验(?:显著|通过)",
        ),
        "a one-sided p-value is half the two-sided one: it counts only when the plan said so before the results",
        "p = 0.08 (two-sided, since the plan names no direction).",
        "p = 0.08(双侧,计划未指定方向)。",
        unless="one_sided",
        spared=re.compile(
            r"two one-sided|preregist|pre-regist|planned|specified|TOST|empirical|bootstrap|"
            r"预注册|事先|计划|经验|两个单侧|双单侧",
            re.IGNORECASE,
        ),
    ),
    Phrase(
        "CERTAIN",
        _words(
            r"\b(?:confirm(?:s|ed|ing)?|prov(?:e|es|ed|ing)|guarantee[sd]?)\b(?=[^.\n]{0,60}\b(?:effect|improvement|superior\w*|"
            r"better|hypothesis|gain|equivalen\w+)\b)|\b(?:effect|improvement|difference)\s+is\s+certain\b",
            r"(?:证明|证实|确证)了?(?=[^。\n]{0,25}(?:有效|提升|优于|更好|更优|等价|假设))",
        ),
        "a test at alpha = 0.05 errs, and the estimate has an interval: nothing is confirmed or certain",
        "The rule holds: C3 minus C1 is +4.2 pp (95 % interval +2.1 to +6.3 pp, p = 0.001).",
        "规则成立:C3 与 C1 之差为 +4.2 个百分点(95% 区间 +2.1 至 +6.3,p = 0.001)。",
        from_verdict=True,
    ),
    Phrase(
        "P_IS_NOT_PROBABILITY_OF_CHANCE",
        _words(
            r"\bprobability\s+(?:that\s+)?(?:the\s+)?(?:result|difference|null\s+hypothesis|H0)\s+(?:is|was|arose)\s+"
            r"(?:due\s+to\s+chance|by\s+chance|true)\b|\b9[59](?:\.\d+)?\s*%\s+(?:probability|sure|certain)\s+that\b",
            r"(?:零假设|原假设|H0)(?:为真|成立)的概率(?:为|是|只有|小于)|由偶然(?:造成|导致)的概率(?:为|是|只有|小于)",
        ),
        "a p-value is the chance of data at least this far out if there is no difference, not the chance that "
        "there is none",
        "p = 0.03: if the arms did not differ, a difference at least this large would come out in 3 % of such studies.",
        "p = 0.03:若两者并无差异,此类研究中有 3% 会出现至少这样大的差异。",
    ),
)
