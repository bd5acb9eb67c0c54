"""What stands in the fields of a test's sentence, by the field's name: what a stored sentence is taken apart by.

A kind is `number`; `amount`, a number that may be in percentage points; `p`, a p-value or its bound; `word`, without
a blank; `text`, anything; `nothing`; or, with a point in it, how the codes of other texts begin: `analyses.ci`. Such
texts in a row have the code of what stands between two of them behind a star: `lists.name*lists.pause`.
"""

from __future__ import annotations

from collections.abc import Mapping

AMOUNT = ("amount", "analyses.bleu", "boards.points")
END = ("amount", "analyses.bleu", "analyses.minus_infinity", "analyses.infinity")
WHERE = (
    "analyses.n",
    "analyses.runs_per_arm",
    "analyses.items",
    "analyses.of_these_items",
    "units.n_items",
    "units.counted_items",
)
NUMBERS = (
    "alpha", "arms", "bar", "clusters", "comparisons", "count", "df", "flaky", "k", "lacking", "least", "level",
    "looks", "m", "many", "mean", "most", "n", "n0", "n1", "needed", "one", "pairs", "points", "q", "reliable",
    "right0", "right1", "runs", "sd", "se", "share", "t", "tasks", "times", "told", "undecided", "unreliable",
    "weight", "wins",
)  # fmt: skip
SIZED = {"power": ("number",), "truth": AMOUNT}
PRIOR = {
    "method": (
        "analyses.jzs_", "analyses.bic_", "analyses.exact_correlation", "analyses.binomial_prior",
        "analyses.vovk_sellke",
    )
}  # fmt: skip
NAMES = ("lists.name*lists.pause", "boards.and_others")

OF_NAME: Mapping[str, tuple[str, ...]] = {
    **dict.fromkeys(NUMBERS, ("number",)),
    "adjusted": ("analyses.adjusted", "nothing"),
    "also": ("analyses.also_", "nothing"),
    "alternative": ("analyses.two-sided", "analyses.greater", "analyses.less"),
    "apart": ("analyses.holds_0", "analyses.excludes_0", "nothing"),
    "best": ("boards.is_best", "boards.any_best", "boards.some_best"),
    "boundary": ("analyses.by_",),
    "buys": ("runs.buys_",),
    "called": ("items.kr_20", "items.cronbach"),
    "causes": ("analyses.apart_*lists.semicolon",),
    "chance": ("analyses.suite_chance", "analyses.bayes_chance", "analyses.bayes_against", "nothing"),
    "claim": ("analyses.claim_",),
    "closest": AMOUNT,
    "decides": ("analyses.interval_decides", "nothing"),
    "decision": ("runs.decision_", "runs.no_test", "analyses.decision_open", "analyses.zero_"),
    "delta": (*AMOUNT, "analyses.not_yet_known"),
    "drawn": ("analyses.exact", "analyses.drawn"),
    "estimate": AMOUNT,
    "gained": ("analyses.suite_gained", "nothing"),
    "gaps": ("boards.gaps", "nothing"),
    "helped": ("analyses.helped", "nothing"),
    "hidden": ("runs.hidden", "nothing"),
    "high": END,
    "inside": ("analyses.inside", "analyses.not_inside", "nothing"),
    "interval": ("analyses.ci", "analyses.no_interval", "analyses.ratio_from", "analyses.ratio_to",
                 "analyses.without_interval", "runs.interval", "runs.no_interval"),
    "items": ("units.n_items", "units.counted_items", "analyses.items", "analyses.of_these_items",
              "boards.in_clusters"),
    "keeps": ("items.neighbours_tie", "items.items_keep"),
    "kind": ("boards.mean", "boards.additive_mean"),
    "label": ("analyses.evidence_", "analyses.label_"),
    "loss": ("analyses.loss_", "nothing"),
    "lost": ("analyses.suite_lost", "nothing"),
    "low": END,
    "margin": ("amount",),
    "metric": ("analyses.in_metric", "nothing"),
    "more": ("analyses.and_more", "nothing"),
    "noise": ("runs.noise",),
    "none": ("analyses.suite_none_lost", "nothing"),
    "null": ("analyses.", "runs.equal_means"),
    "opening": ("runs.value",),
    "order": ("analyses.permuted_by_seed", "analyses.locked_seed", "analyses.arrival", "analyses.unknown"),
    "outcome": ("analyses.meets_", "analyses.falls_short_", "analyses.cannot_tell_", "analyses.without_interval_"),
    "own": ("analyses.scale_",),
    "pooled": AMOUNT,
    "quantile": ("analyses.median", "analyses.quantile"),
    "reason": ("reasons.", "text"),
    "p": ("p",),
    "shows": ("runs.equality", "analyses.it", "analyses.ratio_shown"),
    "rate": ("number",),
    "size": WHERE,
    "spread": ("runs.no_error", "runs.error"),
    "strength": ("analyses.bayes_",),
    "test": ("analyses.tested", "lists.stop"),
    "unit": ("units.items", "units.item", "units.clusters", "units.cluster"),
    "units": ("analyses.in_order", "analyses.items_in_"),
    "value": AMOUNT,
    "what": ("runs.pass_all", "runs.worst_mean", "runs.of_"),
    "where": WHERE,
}  # fmt: skip
"""What a field can be wherever it has this name; a name that is not here is a `text`, the shortest that fits."""

OF_CODE: Mapping[str, Mapping[str, tuple[str, ...]]] = {
    "analyses.agreement": {"coefficients": ("analyses.coefficient*lists.comma",)},
    "analyses.apart_clustered": {"ci": ("analyses.of_cluster_means", "text"), "p": ("text",)},
    "analyses.boundaries": {"ends": ("number*lists.comma",)},
    "analyses.claim_equivalence": {"margin": ("amount",), "test": ("word",)},
    "analyses.claim_rejects": {"test": ("word",)},
    "analyses.coefficient": {
        "name": ("analyses.cohen_", "analyses.fleiss_", "analyses.gwet_", "analyses.kripp")
    },
    "analyses.coefficient_ci": {
        "name": ("analyses.cohen_", "analyses.fleiss_", "analyses.gwet_", "analyses.kripp")
    },
    "analyses.ci_by": {"method": ("analyses.of_cluster_means", "text")},
    "analyses.effect_size": {"size": ("number",)},
    "analyses.in_metric": {"metric": ("word",)},
    "analyses.loss_open": {"loss": ("amount",)},
    "analyses.loss_rejected": {"loss": ("amount",)},
    "analyses.ratio_null": {"null": ("number",)},
    "analyses.ratio_shown": {"null": ("number",)},
    "analyses.multiple": {"rate": ("analyses.familywise", "analyses.false_discovery")},
    "analyses.power": {"power": ("number",), "truth": AMOUNT},
    "analyses.sequential": {"method": ("analyses.by_",), "p": ("analyses.sequential_p", "nothing")},
    "analyses.size": SIZED,
    "analyses.size_within": SIZED,
    "analyses.suite_gained": {"names": ("analyses.task*lists.comma",)},
    "analyses.suite_lost": {"names": ("analyses.task*lists.comma",)},
    "analyses.bayes": PRIOR,
    "analyses.bayes_bound": PRIOR,
    "analyses.type_one_error": {"test": ("word",), "what": ("units.",)},
    "boards.and_others": {"names": ("lists.name*lists.pause", "text*lists.pause")},
    "boards.of_suite": {"items": ("units.counted_items", "boards.in_clusters")},
    "boards.opening": {
        "ahead": NAMES,
        "where": ("units.counted_items", "boards.in_clusters", "boards.of_suite"),
    },
    "boards.preference_opening": {"ahead": NAMES, "clusters": ("boards.of_clusters", "nothing")},
    "boards.names": {"names": ("lists.name*lists.pause",)},
    "boards.some_best": {"names": ("boards.and_others", "text*lists.pause"), "count": ("number",)},
    "items.described": {"estimate": ("items.no_estimate", "items.is_estimate")},
    "runs.differs": {"where": ("units.counted_items", "boards.in_clusters")},
    "runs.interval": {"ends": ("amount*runs.between_ends",)},
    "runs.shares": {"shares": ("runs.part*lists.comma",)},
    "runs.value": {"ends": ("runs.ci", "nothing")},
    "runs.value_of_one": {"ends": ("runs.ci", "nothing")},
}
"""Fields that hold something else in one sentence than their name says."""


def kinds_of(code: str, name: str) -> tuple[str, ...]:
    """Return what a field of a text can be."""
    return OF_CODE.get(code, {}).get(name) or OF_NAME.get(name, ("text",))
