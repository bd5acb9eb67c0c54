"""Example answers about evidence for OpenAPI."""

from __future__ import annotations

from typing import Any

from service.api.examples.made import read_json

CHECKLIST: dict[str, Any] = {
    "title": "Memory with caches",
    "plan_timestamped": "stated",
    "primary_endpoint_named": "checkable",
    "paired_test": "checkable",
    "p_and_counts_reported": "checkable",
    "equivalence_tested": "absent",
    "clusters_named": "stated",
    "interval_respects_clusters": "absent",
    "run_to_planned_n": "stated",
    "deviations_listed": "checkable",
}
PAPER_CARD = read_json("paper_card")
CARD = read_json("evidence_card")
SENTENCES: dict[str, Any] = {
    "preregistration_id": "9d0f3c0f6d0b4a4f9c7c3f8f5f0b1c2d",
    "verdict_sha256": "b1946ac92492d2347c6235b4d2611184b1946ac92492d2347c6235b4d2611184",
    "version": 1,
    "locked_at": "2027-01-04T09:00:00Z",
    "arrival": {
        "en": "All results had arrived 3 days after the lock, which does not show that the runs were made after it.",
        "zh": "全部结果在锁定后 3 天即已到达，但这并不表明运行本身是在锁定之后进行的。",
    },
    "since_lock": {
        "en": "Since the lock: the plan was not amended; no deviation was filed; no outcomes were opened in the "
        "service before the verdict; no results were struck.",
        "zh": "锁定之后：计划没有修订；没有登记偏离；结论得出之前，服务中的结果未被打开；没有结果作废。",
    },
    "hypotheses": [
        {
            "hypothesis": "H1a",
            "outcome": "not_supported",
            "headline": {
                "en": "C3 did not beat C1: +0.40 pp, rule not met",
                "zh": "未能表明 C3 优于 C1：+0.40 个百分点，规则不成立",
            },
            "open": {"en": "Not shown: that they are equal.", "zh": "未表明：两组相同。"},
            "ship": {
                "en": "Safe to ship? Not shown: the equivalence test beside the rule does not tell.",
                "zh": "能否放心上线？未表明：规则之外的等价检验没有得出结论。",
            },
            "known": {
                "en": "Foreseen at the lock: with a true difference of 2 pp (the SESOI, smallest effect of interest) "
                "the rule had a chance between 0.28 and 0.41 to hold, depending on how results vary.",
                "zh": "锁定时预计：若真实差异为 2 个百分点（SESOI），规则成立的机会为 0.28 至 0.41。",
            },
            "decided": {"en": "", "zh": ""},
            "sentences": {
                "en": "H1a is not supported: the rule `delta >= 2.0 pp` is false (`delta >= 2.0 pp` does not hold). C3 "
                "minus C1 in accuracy on longmemeval is +0.40 pp (n = 500). This does not show that the arms are "
                "equal.",
                "zh": "假设 H1a 未得到支持：规则 `delta >= 2.0 pp` 不成立（`delta >= 2.0 pp` 不成立）。"
                "在 longmemeval 上，C3 与 C1 的 accuracy 之差为 +0.40 个百分点（n = 500）。这并不表明两组相同。",
            },
            "notes": [],
            "tests": [
                {
                    "id": "tost",
                    "says": {
                        "en": "The candidate differs from the baseline by +0.40 pp (n = 500); effects beyond "
                        "±2.00 pp are not rejected at alpha 0.05 (90% tango CI -2.10 pp to +2.90 pp, p = 0.146), "
                        "which does not show that there are any.",
                        "zh": "候选组与基线组之差为 +0.40 个百分点（n = 500）；在 alpha = 0.05 下不拒绝超出 "
                        "±2.00 个百分点的效应（90% tango 置信区间 -2.10 个百分点至 +2.90 个百分点，"
                        "p = 0.146），这并不表明存在这样的效应。",
                    },
                }
            ],
            "open_clauses": [],
            "reason": None,
            "next": {
                "en": "Next: if the true difference is the observed +0.40 pp, no number of items makes the rule "
                "hold in 80 of 100 studies.",
                "zh": "下一步：若真实差异为观测到的 +0.40 个百分点，题目再多，规则也不会在 100 次研究中有 80 次成立。",
            },
        }
    ],
}
