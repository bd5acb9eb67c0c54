"""Version 1: t, longer by what the greatest skewness asks of it. Plans that were locked with it keep it."""

from __future__ import annotations

from service.kernels.repeats.fixed_items_skewed import SkewedRunSets
from service.stats.fixed_items.answering import EXAMPLE, Method, answer_by, cost_of, plan_use, warnings_of
from service.stats.fixed_items.records import FixedItemsAnalysis, FixedItemsRequest
from service.stats.shared.declaring.registry import stat_test


@stat_test(
    name="fixed-items",
    version=1,
    title="These items alone (runs vary, items do not)",
    asked="runs",
    example=EXAMPLE,
    cost=cost_of,
    closed_form=True,
    plan=plan_use(SkewedRunSets),
)
def fixed_items_by_skewness(request: FixedItemsRequest) -> FixedItemsAnalysis:
    """Estimate a difference, or one arm's mean, on these very items, of which runs alone vary.

    Runs of an item and arm are independent and alike; items are what they are, and may differ as they like. H0 of
    `p_value`: over endless runs the arms have the same mean on these items. Nothing is said of other items.

    Returns:
        delta, mean: mean over items of the candidate's runs less the baseline's; of one arm its mean.
        se: sqrt(sum of s_i^2 / r_i over items and arms) / n.
        df: Satterthwaite's, and at most twice the (effective) number of items and arms whose runs differ.
        ci: delta +- (t se + (2 t^2 + 1) step / 6): the second term is what the greatest skewness that runs in this
            range can have asks of t; cut at the ends that the estimate can reach.
        p_value: the same interval turned around.

    Raises:
        InvalidData: an item with one run, arms of different length, one arm and two at once, outcomes outside the
            range.

    Edge cases:
        No run differs from another of its item: each arm by Clopper and Pearson's limits of the sum of its runs (two
            arms at half of the error each), df null; without a known range interval and p are null.
        Fewer than 4 degrees of freedom: LOW_DF. No range known: what was seen, SEEN_RANGE.
        Clusters have no say: they tell how items were drawn, which these were not.

    Sources:
        Satterthwaite (1946), Biometrics Bull 2:110. Johnson (1978), J Am Stat Assoc 73:536. Hall (1992), JRSS B 54:221.
        Hoeffding (1956), Ann Math Statist 27:713. NIST AI 800-3 (2026).

    Example:
        Six items, three runs: the candidate is right in 15 of 18 runs and the baseline in 9. Four of twelve triples
        vary, each with s^2 = 1/3, so se = sqrt(4/9)/6 = .111 on 8 df; t alone gives .333 +- .256.
    """
    bounds = SkewedRunSets(request.items)
    method: Method = "t_skewed" if request.items.se[0] > 0 else "clopper-pearson"
    warned = warnings_of(request, float(bounds.df[0]))
    return answer_by(request, bounds, method, warned, "analyses.fixed_difference")
