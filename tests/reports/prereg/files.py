"""Preregistrations as people write them: the template, the same in Chinese, and the template filled in."""

from __future__ import annotations

RULES_TO_CORRECTION = """\
## Decision rules
- Pass H1a iff Δ(C3-C1) ≥ +2.0 pp AND McNemar p < 0.05 AND 95% CI excludes 0.
- Pass H1b iff Δ(C4-C3) ≥ +2.0 pp AND clustered McNemar p < 0.05 AND 95% CI excludes 0.

## SESOI (smallest effect size of interest)
- ±2 pp on binary accuracy

## Statistical tests
- McNemar (scipy.stats.binomtest with min(n01,n10), n=n01+n10)
- Paired bootstrap 95% CI (2000 resamples, conversation-clustered for H1b)
- TOST equivalence test against ±2 pp SESOI

## τ choice
- LongMemEval-S: τ = 0.40 (max_score p30 on dev split)
- LoCoMo:        τ = 0.47 (max_score p30 on dev split)

## Stopping rule
- No interim analysis; run to pre-specified n.
- If a sanity replicate (n<100) shows surprising effects, document in
  DEVIATIONS.md but do NOT change main protocol.

## Multiple comparisons
- 2 hypotheses × 1 primary endpoint = 2 tests; report all p values uncorrected,
  do not claim "corrected significance".
"""
"""What the template says, filled in or not."""

HYPOTHESES = """\
## Hypotheses

**H1a**: ephemeral failure-triggered synthesis (C3) improves paired binary accuracy
       by ≥ 2.0 pp over zero-build retrieval (C1) on LongMemEval-S, with
       McNemar p < 0.05.

**H1b**: persistent caching (C4) improves paired binary accuracy by ≥ 2.0 pp
       over ephemeral (C3) on LoCoMo, with conversation-clustered McNemar
       p < 0.05.

## Primary endpoint
- **paired binary accuracy** (per-question 0/1)
- secondary: token-F1 (LoCoMo official)

"""

TEMPLATE = (
    """\
# Experiments Pre-Registration

"""
    + HYPOTHESES
    + """\
## Sample size
- H1a: n=500 (LongMemEval-S full); paired against C1.
- H1b: n=764 (LoCoMo, 5 conv × all QA paired).

"""
    + RULES_TO_CORRECTION
)

CHINESE = """\
# 实验预注册

## 一、假设

**H1a**：在 LongMemEval-S 上，失败触发的临时合成（C3）的配对准确率比零构建检索（C1）
提高至少 2.0 个百分点，McNemar p < 0.05。

**H1b**：在 LoCoMo 上，持久缓存（C4）的配对准确率比临时合成（C3）提高至少 2.0 个百分点，聚类 McNemar p < 0.05。

## 二、主端点

- **配对二元准确率**（每题 0/1）
- 次要：token-F1（LoCoMo 官方）

## 三、样本量

- H1a：n=500（LongMemEval-S 全量）；与 C1 配对。
- H1b：n=764（LoCoMo，5 个对话，全部 QA 配对）。

## 四、决策规则

- H1a 通过当且仅当 Δ(C3-C1) ≥ +2.0 个百分点 且 McNemar p < 0.05 且 95% 置信区间不含 0。
- H1b 通过当且仅当 Δ(C4-C3) ≥ +2.0 个百分点 且 聚类 McNemar p < 0.05 且 95% 置信区间不含 0。

## 五、SESOI（最小关注效应量）

- 准确率 ±2 个百分点

## 六、统计检验

- McNemar 精确二项检验
- 配对自助法 95% 置信区间（2000 次重采样，H1b 按对话聚类）
- TOST 等价性检验，界限为 ±2 个百分点

## 七、τ 的选择

- LongMemEval-S：τ = 0.40（dev 划分上 max_score 的 p30）
- LoCoMo：τ = 0.47（dev 划分上 max_score 的 p30）

## 八、停止规则

- 无中期分析；跑到预先指定的 n。

## 九、多重比较

- 2 个假设 × 1 个主端点；报告所有未校正的 p 值。

## 十、缺失结果

- 任一臂缺失的题在两臂中一并剔除。
"""

FILLED = (
    """\
# Experiments Pre-Registration: Synthesis and caching

"""
    + HYPOTHESES
    + """\
## Sample size
- H1a: n=60 (LongMemEval-S, drawn at random); paired against C1.
  - Independence: one conversation per question
- H1b: n=80 (LoCoMo, 8 conv × 10 QA paired).

"""
    + RULES_TO_CORRECTION
    + """\

## Missing results
- Policy: `exclude_pair`
"""
)
"""The gaps filled: a title, eight conversations instead of five, why items are independent, what is missing."""
