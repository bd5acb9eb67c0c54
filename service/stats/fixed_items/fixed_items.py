"""Two arms, or one, on these very items: of them runs alone vary, and the error is that of repeats."""

from __future__ import annotations

from service.stats.fixed_items.answering import EXAMPLE, answer_by, cost_of, plan_use, warnings_of
from service.stats.fixed_items.records import FixedItemsAnalysis, FixedItemsRequest
from service.stats.shared.declaring.registry import stat_test


@stat_test(
    name="fixed-items",
    version=2,
    title="These items alone (runs vary, items do not)",
    asked="runs",
    example=EXAMPLE,
    cost=cost_of,
    closed_form=True,
    plan=plan_use(lambda items: items),
)
def fixed_items(request: FixedItemsRequest) -> FixedItemsAnalysis:
    """Estimate a difference, or one arm's mean, on these very items, of which runs alone vary.

    Runs of an item and arm are independent and alike; items are what they are, and may differ as they like. H0 of
    `p_value`: over endless runs the arms have the same mean on these items. Nothing is said of other items.

    Returns:
        delta, mean: mean over items of the candidate's runs less the baseline's; of one arm its mean.
        se: sqrt(sum of s_i^2 / r_i over items and arms) / n.
        df: Satterthwaite's, and at most twice the (effective) number of items and arms whose runs differ.
        ci: each end the further of t's and of delta -+ (N q - k) d: d is the most that one run can move the mean to
            that side, N d what all can, k = se^2 / d^2, and q Clopper and Pearson's limit of k among N; cut at the
            ends that the estimate can reach.
        p_value: the same interval turned around.

    Raises:
        InvalidData: an item with one run, arms of different length, one arm and two at once, outcomes outside the
            range.

    Edge cases:
        No run differs from another of its item: k = 0, and q = 1 - tail^(1/N), df null; without a known range interval
            and p are null.
        Fewer than 4 degrees of freedom: LOW_DF. No range known: what was seen, SEEN_RANGE.
        Clusters have no say: they tell how items were drawn, which these were not.

    Sources:
        Satterthwaite (1946), Biometrics Bull 2:110. Clopper & Pearson (1934), Biometrika 26:404.
        Hoeffding (1956), Ann Math Statist 27:713. NIST AI 800-3 (2026).

    Example:
        Six items, three runs: the candidate is right in 15 of 18 runs and the baseline in 9. Four of twelve triples
        vary, each with s^2 = 1/3, so se = sqrt(4/9)/6 = .111 on 8 df; t alone gives .333 +- .256. A run moves the
        mean by d = 1/18, so k = 4 of the N = 30 that all can lose and of the 18 that they can win: from +4.4 to +59.0
        points.
    """
    items = request.items
    warned = warnings_of(request, float(items.df[0]))
    return answer_by(request, items, "furthest", warned, "analyses.fixed_bounds")
