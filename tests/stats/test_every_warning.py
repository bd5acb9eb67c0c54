"""Every warning by its code: data on which it is given, and like data on which it is not."""

from __future__ import annotations

import math

import numpy as np
import pytest

from service.stats.shared.declaring import warnings
from tests.stats.boards import closely_followed
from tests.stats.oracle import ask, codes
from tests.stats.shapes import columns, counts, swinging_runs, table_of

RNG = np.random.default_rng(20)
NORMAL = [round(float(x), 3) for x in RNG.normal(size=100)]
LOPSIDED = [round(float(x) - 1, 3) for x in RNG.exponential(size=40)]
TWO_PP, FIVE_PP = {"value": 2, "unit": "pp"}, {"value": 5, "unit": "pp"}
SCORE = {"value": 0.5, "unit": "score"}
WELCH = {"test": "welch", "delta": 1382.0, "sd_baseline": 1341.0, "sd_candidate": 990.0}
RARE = {"test": "tango", "p_only_baseline": 0.005, "p_only_candidate": 0.005, "margin": FIVE_PP, "n": 200}
BLOCKS = {**columns([(0, 1)] * 150 + [(1, 0)] * 150), "method": "confidence_sequence"}
SHUFFLED = {
    **columns([(0, 1) if x < 0.5 else (1, 0) for x in RNG.random(300)]),
    "method": "confidence_sequence",
    "order": "locked_seed",
}
LOOKS = {"method": "group_sequential", "looks": [25, 50, 75, 100], "order": "locked_seed"}
WINNER = {**columns([(0, 1) if x < 0.6 else (1, 1) for x in RNG.random(100)]), **LOOKS}
FAIR = {**columns([(0, 1) if x < 0.3 else (1, 0) if x < 0.6 else (1, 1) for x in RNG.random(100)]), **LOOKS}
HALVES = {"baseline": [0.5, 0.0, 1.0], "candidate": [1.0, 0.5, 1.0]}
ROUND = {"arms": {  # a beats b, b beats c, c beats a, each on items that the third lacks
    "a": [*[1 + k % 3 for k in range(40)], *[None] * 40, *[0] * 40],
    "b": [*[0] * 40, *[1 + k % 3 for k in range(40)], *[None] * 40],
    "c": [*[None] * 40, *[0] * 40, *[1 + k % 3 for k in range(40)]],
}}  # fmt: skip
AGREED = {"x": [0.1, 0.5, -0.3, 0.9], "y": [0.2, 0.4, -0.1, 0.7]}


def scores(values):
    return {"baseline": [0.0] * len(values), "candidate": list(values)}


def grouped(pairs, n_clusters):
    return {**columns(pairs), "clusters": [k * n_clusters // len(pairs) for k in range(len(pairs))]}


def in_clusters(sums, size=4):
    """Right/wrong items in clusters of that size with these difference sums, half of the others right."""
    pairs = [(0, 1) if k < d else (1, 0) if k < -d else (k % 2, k % 2) for d in sums for k in range(size)]
    return grouped(pairs, len(sums))


def evidence(**fields):
    return {"evidence": fields}


def effect(**fields):
    return {"effect": fields}


def agreeing(human, agent, variant="document"):
    return {"tests": [{"finding": "F", "human": human, "agent": agent}], "variant": variant}


def labelled(n, sign=1.0):
    """So many labels, and a judge that goes along with them or against them."""
    people = [k % 5 / 4 for k in range(n)]
    judge = [sign * each + k % 2 / 9 for k, each in enumerate(people)]
    return {"candidate": {"people": people, "judge": judge, "unlabelled": judge * 3}}


def arms_of_scores(n):
    return {"baseline": list(np.linspace(0, 1, n)), "candidate": list(np.linspace(0, 1, n) ** 2)}


SMALL_ARMS = arms_of_scores(6)


def one_large(size):
    """Seven clusters of three items, and one of so many."""
    labels = [0] * size + [1 + at // 3 for at in range(21)]
    outcomes = [float(at % 2) for at in range(len(labels))]
    return {
        "baseline": outcomes,
        "candidate": [float(at % 3 == 0) for at in range(len(labels))],
        "clusters": labels,
    }


MIXED = [(0, 1), (1, 0), (1, 1), (1, 1)]
EVEN_30 = grouped(MIXED * 30 + [(0, 1)] * 30, 30)
SIZES = [5, 21, 30, 4, 17, 26, 9, 12, 28, 8, 19, 23, 6, 15, 27, 11, 21]
UNEVEN_17 = {
    **columns([(k % 2, int(k % 7 in (1, 3, 5) or k % 9 in (2, 4))) for k in range(sum(SIZES))]),
    "clusters": [label for label, size in enumerate(SIZES) for _ in range(size)],
}
UNEVEN_SCORES = {
    **UNEVEN_17, "candidate": [x + 0.001 * math.sin(k * k) for k, x in enumerate(UNEVEN_17["candidate"])]
}  # fmt: skip
"""On no grid, so that the distribution is known to an error."""

ALIKE = {"baseline": [0, 1, 0, 1] * 40, "candidate": [1, 0, 1, 0] * 20 + [0, 1, 0, 1] * 20}

CASES = {
    "ALL_TIED": ("mann-whitney", scores([0.0] * 4), scores([0.0, 0.0, 0.0, 1.0])),
    "BAYES_FACTOR_BOUND": (
        "bayes-factor", evidence(kind="p_value", p=0.01), evidence(kind="t", t=2.0, n1=20),
    ),
    "BIC_APPROXIMATION": (
        "bayes-factor",
        evidence(kind="f", f=3.0, df1=1, df2=48, method="bic"),
        evidence(kind="f", f=3.0, df1=1, df2=48, n=50),
    ),
    "BOOTSTRAP_FEW_RUNS": (
        "bootstrap-difference",
        {"baseline": NORMAL[:19], "candidate": NORMAL[20:40]},
        {"baseline": NORMAL[:20], "candidate": NORMAL[20:40]},
    ),
    "BOOTSTRAP_FEW_VALUES": (
        "describe", {"values": NORMAL[:39], "method": "basic"}, {"values": NORMAL[:40], "method": "basic"},
    ),
    "CAUTION": ("cluster-bootstrap", grouped(MIXED * 29, 29), EVEN_30),
    "CEILING_EXCEEDED": ("pas", agreeing({"pi": 0.8}, {"pi": 1.0}), agreeing({"pi": 0.8}, {"pi": 0.7})),
    "CLUSTERED_INTERVAL_USED": (
        "equivalence",
        {**EVEN_30, "margin": TWO_PP, "method": "tango"},
        {**EVEN_30, "margin": TWO_PP, "method": "t"},
    ),
    "CONSTANT_DATA": (
        "t-test", {**scores([1.0] * 5), "method": "paired"}, {**scores([1.0, 2.0, 3.0]), "method": "paired"},
    ),
    "DEGENERATE": (
        "clustered-mcnemar",
        {**in_clusters([1] * 12), "method": "cr2_t"},
        {**in_clusters([1] * 12), "method": "sign_flip"},
    ),
    "DIRECTION_IGNORED": (
        "pas",
        agreeing({"pi": 0.9, "direction": 1}, {"pi": 0.9, "direction": -1}),
        agreeing({"pi": 0.9, "direction": 1}, {"pi": 0.9, "direction": 1}),
    ),
    "DIRECTION_MISMATCH": (
        "bayes-factor",
        {**evidence(kind="t", t=-9.0, n1=50), "direction_match": False},
        {**evidence(kind="t", t=-9.0, n1=50), "direction_match": True},
    ),
    "DOMINANT_CLUSTER": (
        "randomization",
        {**columns([(0, 1)] * 20), "clusters": [max(k - 6, 0) for k in range(20)]},
        {**columns([(0, 1)] * 20), "clusters": [max(k - 5, 0) for k in range(20)]},
    ),
    "EARLY_STOP_BIAS": ("sequential", WINNER, FAIR),
    "ERROR_UNRESOLVED": (
        "cluster-bootstrap",
        {**UNEVEN_SCORES, "alpha": 0.008},
        {**UNEVEN_SCORES, "alpha": 0.05},
    ),
    "FALLBACK_USED": ("pas", {"tests": []}, agreeing({"pi": 0.9}, {"pi": 0.8})),
    "FEW_ATTEMPTS": (
        "pass-at-k",
        {"correct": [3, 4, 5], "attempts": 9, "k": [5]},
        {"correct": [3, 4, 5], "attempts": 10, "k": [5]},
    ),
    "RANGE_TAKEN": ("bounded-difference", HALVES, {**HALVES, "range": {"low": 0, "high": 1}}),
    "UNSEEN_CLUSTERS": (
        "bounded-difference",
        grouped(MIXED * 10, 10),
        {**grouped(MIXED * 10, 10), "unseen": "clusters"},
    ),
    "FEW_CLUSTERS": ("randomization", grouped(MIXED * 9, 9), grouped(MIXED * 10, 10)),
    "FEW_DISCORDANT": ("paired-bootstrap", table_of(50, 10, 9, 31), table_of(50, 10, 10, 30)),
    "FEW_FOR_SCORE": ("paired-difference", table_of(50, 5, 4, 31), table_of(50, 5, 5, 30)),
    "FEW_REPEATS": (
        "variance-components",
        {"values": [[float(k), k + 0.1] for k in range(9)]},
        {"values": [[float(k), k + 0.1] for k in range(10)]},
    ),
    "FEW_RUNS_T": ("t-test", scores(NORMAL[:19]), scores(NORMAL[:20])),
    "FLOOR_ABOVE_ALPHA": ("mcnemar", table_of(9, 0, 5, 0), table_of(9, 0, 6, 0)),
    "HALDANE_ANSCOMBE": (
        "effect-conversion",
        effect(kind="chi_square", table=[[0, 5], [4, 6]]),
        effect(kind="chi_square", table=[[1, 5], [4, 6]]),
    ),
    "INDEPENDENT_ARMS": (
        "cumulative-effect", {**ALIKE, "convention": "seed"}, {**ALIKE, "convention": "standard"},
    ),
    "INFINITE_BAYES_FACTOR": (
        "bayes-factor", evidence(kind="correlation", r=-1.0, n=5), evidence(kind="correlation", r=-0.9, n=5),
    ),
    "INFLATION_TOO_SMALL": (
        "clustered-mcnemar",
        {**in_clusters([3, 3, -3, 3, 3, -3] * 6, size=10), "method": "eliasziw_donner"},
        {**in_clusters([4, 4, -4, 4, 4, -4] * 6), "method": "eliasziw_donner"},
    ),
    "LEGACY_SCORES": ("ecs", {"z_diff": [1.0]}, {"human": AGREED["x"], "agent": AGREED["y"]}),
    "LOW_DF": (
        "clustered-mcnemar",
        {**columns(MIXED * 4), "clusters": [max(k - 9, 0) for k in range(16)], "method": "cr2_t"},
        {**EVEN_30, "method": "cr2_t"},
    ),
    "MANY_ZEROS": ("wilcoxon", scores([0.0, *NORMAL[:9]]), scores([0.0, *NORMAL[:10]])),
    "MC_ERROR_ONLY": (
        "type-one-error",
        {"test": "welch", "values": NORMAL[:40], "sizes": [10], "n_splits": 200},
        {"test": "welch", "values": NORMAL[:8], "sizes": [4]},
    ),
    "MANY_TIED_SETS": ("leaderboard", closely_followed(5), closely_followed(4)),
    "MC_UNRESOLVED": (
        "bootstrap-difference",
        {"baseline": NORMAL[:30], "candidate": NORMAL[30:65], "n_resamples": 100, "alpha": 0.5},
        {"baseline": NORMAL[:30], "candidate": [5 + x for x in NORMAL[30:65]], "n_resamples": 100},
    ),
    "METRIC_UNDEFINED": (
        "randomization", counts([(0, 0, 0, 1, 0, 0)] * 8), counts([(1, 1, 1, 2, 0, 0)] * 8),
    ),
    "NEEDS_DEPENDENCE": (
        "multiple-comparisons",
        {"p_values": [0.01, 0.2], "method": "bh"},
        {"p_values": [0.01, 0.2], "method": "by"},
    ),
    "NEGATIVE_COMPONENT": (
        "variance-components",
        {"values": [[0.0, 1.0]] * 10},
        {"values": [[float(k), k + 0.1] for k in range(10)]},
    ),
    "NEVER_RAN": ("multiple-comparisons", {"p_values": [0.01, None]}, {"p_values": [0.01, 0.2]}),
    "BEYOND_RESAMPLES": ("paired-bootstrap", table_of(0, 0, 9, 6), table_of(0, 0, 7, 8)),
    "FEW_SIGNS": ("paired-bootstrap", scores([1.0, 2.0, 3.0, 9.0]), scores(NORMAL[:40])),
    "BEYOND_ZERO": (
        "bootstrap-difference",
        {"baseline": [1.0, 2.0, 3.0], "candidate": [4.0, 5.0, 7.0]},
        {"baseline": [1.0, 2.0, 4.0], "candidate": [4.0, 5.0, 7.0]},
    ),
    "LOPSIDED_RESAMPLES": ("cluster-bootstrap", one_large(8), one_large(7)),
    "NOTHING_VARIES": ("paired-bootstrap", table_of(0, 0, 30, 0), table_of(1, 0, 30, 0)),
    "NO_DIFFERENCES": ("wilcoxon", scores([0.0, 0.0]), scores([0.0, 1.0])),
    "NO_DISCORDANT": ("mcnemar", table_of(5, 0, 0, 5), table_of(5, 0, 1, 5)),
    "FEW_LABELS": ("prediction-powered", labelled(29), labelled(30)),
    "FEW_RATED": (
        "agreement",
        {"ratings": [[k % 2, k % 3] for k in range(19)]},
        {"ratings": [[k % 2, k % 3] for k in range(20)]},
    ),
    "JUDGE_UNUSED": ("prediction-powered", labelled(40, -1.0), labelled(40)),
    "ONE_CATEGORY_RULES": (
        "agreement",
        {"ratings": [["a", "a"]] * 18 + [["a", "b"], ["b", "b"]]},
        {"ratings": [["a", "a"]] * 17 + [["a", "b"]] + [["b", "b"]] * 2},
    ),
    "FEW_FOR_QUANTILE": (
        "quantile-difference",
        {"baseline": NORMAL[:40], "candidate": NORMAL[40:80], "q": 0.9},
        {"baseline": NORMAL[:50], "candidate": NORMAL[50:100], "q": 0.9},
    ),
    "QUANTILE_FLAT": (
        "quantile-difference",
        {"baseline": [0.0] * 20, "candidate": [1.0] * 20},
        {"baseline": [0.0] * 20, "candidate": [1.0, 2.0] * 10},
    ),
    "RATIO_FLAT": (
        "ratio-of-means",
        {"baseline": [1.0, 2.0, 4.0], "candidate": [2.0, 4.0, 8.0]},
        {"baseline": [1.0, 2.0, 4.0], "candidate": [2.0, 4.0, 9.0]},
    ),
    "RATIO_UNBOUNDED": (
        "ratio-of-means",
        {"baseline": [0.0, 0.0, 9.0], "candidate": [4.0, 5.0, 6.0]},
        {"baseline": [8.0, 7.0, 9.0], "candidate": [4.0, 5.0, 6.0]},
    ),
    "NO_REPEATED_RUN": (
        "repeated",
        {"baseline": [[0.1], [0.7], [0.2]], "candidate": [[0.3], [0.6], [0.9]]},
        {"baseline": [[0.1, 0.2], [0.7], [0.2]], "candidate": [[0.3], [0.6], [0.9]]},
    ),
    "ROUGH_COMPONENTS": (
        "repeated",
        {"baseline": [[k % 3, k % 2] for k in range(19)], "candidate": [[k % 4, k % 5] for k in range(19)]},
        {"baseline": [[k % 3, k % 2] for k in range(20)], "candidate": [[k % 4, k % 5] for k in range(20)]},
    ),
    "GAPS": (
        "leaderboard",
        {"arms": {"a": [0, 1, 1, 0], "b": [0, 1, 1, None], "c": [1, 0, 1, 1]}},
        {"arms": {"a": [0, 1, 1, 0], "b": [0, 1, 1, 1], "c": [1, 0, 1, 1]}},
    ),
    "INCOMPLETE_ARMS": (
        "leaderboard",
        {"arms": {"a": [0, 1] * 6, "b": [None, None, *[1, 0] * 5]}},
        {"arms": {"a": [0, 1] * 6, "b": [None, *[1] * 11]}},
    ),
    "NOT_COMPARED": (
        "leaderboard",
        {"arms": {"a": [0, 1] * 6, "b": [1, 0] * 6, "c": [*[1] * 5, *[None] * 7]}},
        {"arms": {"a": [0, 1] * 6, "b": [1, 0] * 6, "c": [*[1] * 7, *[None] * 5]}},
    ),
    "GAPS_CONTRADICT": ("leaderboard", ROUND, {"arms": {name: each[:80] for name, each in ROUND["arms"].items()}}),
    "LOPSIDED_PAIRS": (
        "leaderboard",
        {"arms": {"a": [0] * 200, "b": [1] * 10 + [0] * 190, "c": [0] * 190 + [1] * 10}},
        {"arms": {"a": [0] * 30, "b": [1, 0] * 15, "c": [0, 1] * 15}},
    ),
    "NO_SPREAD_BETWEEN": (
        "leaderboard",
        {"arms": {"a": [0, 1, 1, 0], "b": [0, 1, 1, 0], "c": [1, 0, 1, 1]}},
        {"arms": {"a": [0, 1, 1, 0], "b": [0, 1, 1, 1], "c": [1, 0, 1, 1]}},
    ),
    "NO_N_EFF": (
        "effect-conversion",
        effect(kind="other"),
        effect(kind="binomial", k=3, n=8),
    ),
    "ONE_TAILED_SHORTCUT": (
        "power", {**WELCH, "n": 5}, {**WELCH, "n": 5, "alternative": "greater"},
    ),
    "ORDER_NOT_LOCKED": ("sequential", {**SHUFFLED, "order": "arrival"}, SHUFFLED),
    "ORDER_NOT_RANDOM": ("sequential", {**BLOCKS, "order": "locked_seed"}, SHUFFLED),
    "OUTLIERS_LISTED": ("outliers", {"values": [1.0, 2.0, 3.0, 90.0]}, {"values": [1.0, 2.0, 3.0]}),
    "OVERRUN": ("sequential", WINNER, FAIR),
    "PAIRS_SKIPPED": (
        "ecs",
        {"human": [*AGREED["x"], None], "agent": [*AGREED["y"], 1.0]},
        {"human": AGREED["x"], "agent": AGREED["y"]},
    ),
    "PILOT_SD": ("power", {**WELCH, "n": 10, "pilot_n": 5}, {**WELCH, "n": 10, "pilot_n": 20}),
    "PLAN_WITH_UPPER_SD": ("sample-size", {**WELCH, "pilot_n": 5}, WELCH),
    "PROPORTION_D": (
        "effect-conversion",
        effect(kind="binomial", k=8, n=9),
        effect(kind="chi_square", table=[[1, 5], [4, 6]]),
    ),
    "RANK_BISERIAL_SE": (
        "effect-conversion",
        effect(kind="mann_whitney", u=8, n1=4, n2=5),
        effect(kind="chi_square", table=[[1, 5], [4, 6]]),
    ),
    "REFERENCE_CODE": (
        "pas",
        agreeing({"pi": 0.9}, {"pi": 0.8}, "reference_code"),
        agreeing({"pi": 0.9}, {"pi": 0.8}),
    ),
    "REGRESSION_PRIOR": (
        "bayes-factor",
        evidence(kind="f", f=3.0, df1=1, df2=48, n=50),
        evidence(kind="f", f=3.0, df1=1, df2=48, method="bic"),
    ),
    "RMS_REFERENCE": ("ecs", {"z_diff": [1.0, 2.0], "study": ["A", "A"], "finding": ["F", "F"]}, {"z_diff": [1.0]}),
    "ROUNDING_TIES": (
        "wilcoxon",
        {"baseline": [0.1, 0.2, 0.7, 1.1], "candidate": [0.3, 0.4, 0.5, 2.1]},
        {"baseline": [0.1, 0.2, 0.7, 1.1], "candidate": [0.3, 0.4, 0.5, 2.1], "ties": "rounded"},
    ),
    "SAW_TOOTH": (
        "sample-size", {"test": "mcnemar", "p_only_baseline": 0.05, "p_only_candidate": 0.15}, WELCH,
    ),
    "SEED_BOUNDS": (
        "equivalence",
        {**table_of(400, 15, 15, 70), "margin": TWO_PP, "method": "bootstrap_ci", "bounds": "seed"},
        {**table_of(400, 15, 15, 70), "margin": TWO_PP, "method": "bootstrap_ci", "bounds": "strict"},
    ),
    "SEQUENCE_EMPTY": ("sequential", BLOCKS, SHUFFLED),
    "SINGLE_RUN": ("variance-components", {"values": [[1.0]] * 4}, {"values": [[1.0, 2.0]] * 4}),
    "SKEWED": (
        "paired-bootstrap", {**scores(LOPSIDED)}, {**scores(NORMAL[:40])},
    ),
    "SPARSE_DISCORDANT": (
        "equivalence",
        {**table_of(400, 5, 4, 91), "margin": TWO_PP, "method": "tango"},
        {**table_of(400, 5, 5, 90), "margin": TWO_PP, "method": "tango"},
    ),
    "WORST_CASE_OPEN": ("leaderboard", *({"arms": {"a": [1] * 30 + [None] * 10, "b": [1] * 10 + [0] * 20 + [1] * 10},
        "missing": missing} for missing in ("worst_case", "at_random"))),
    "UNSEEN_OUTCOMES": ("leaderboard", *({"arms": {"a": [0.5] * 20, "b": [0.5 + by + k % 2 / 20 for k in range(20)]}}
        for by in (0, 0.4))),
    "SPARSE_UNGUARDED": ("equivalence",
        *({**table_of(400, b, 12, 88 - b), "margin": TWO_PP, "method": "t"} for b in (12, 13))),
    "SPARSE_SCORES": ("equivalence", *({"baseline": [0.5] * 30, "candidate": [0.5 + k % many / 99 for k in range(30)],
        "margin": {"value": 1, "unit": "score"}, "method": "t"} for many in (2, 30))),
    "UNSEEN_LOSSES": ("equivalence", *(
        grouped([(0.5, 0.5 + k % 3 / 100) for k in range(4 * clusters)], clusters)
        | {"method": "t", "margin": SCORE | {"value": 0.1}} for clusters in (12, 200))),
    "TYPE_ONE_EXCESS": ("type-one-error", *({"test": test, "values": NORMAL, "sizes": [3], "n_splits": 2_000}
        for test in ("bootstrap-percentile", "welch"))),
    "APPROXIMATE_SHARE": (
        "one-sample-mean",
        {"values": [1, 0] * 149, "method": "wilson"},
        {"values": [1, 0] * 150, "method": "wilson"},
    ),
    "ARMS_ALIKE": (
        "leaderboard", {"arms": {"a": [0, 1, 1], "b": [0, 1, 1]}}, {"arms": {"a": [0, 1, 1], "b": [0, 1, 0]}},
    ),
    "NO_RANGE": ("one-sample-mean", {"values": [1.0, 5.0]}, {"values": [1, 5], "range": {"low": 1, "high": 5}}),
    "SEEN_RANGE": ("fixed-items", {"values": [[1, 5]]}, {"values": [[1, 5]], "range": {"low": 1, "high": 5}}),
    "BOUNDED_CHANCES": (
        "run-series", {"runs": [[0.12345, 2**0.5], [0.3, 0.7]]}, {"runs": [[0.12, 1.4], [0.3, 0.7]]},
    ),
    "RUN_INCOMPLETE": (
        "run-series",
        {"runs": [[1] * 20, [1] * 18 + [None] * 2]},
        {"runs": [[1] * 20, [1] * 19 + [None]]},
    ),
    "SWINGS_LAST": ("run-series", *({"runs": swinging_runs(), "margin": {"value": 50, "unit": "pp"}, "nights": nights}
        for nights in ("vary", "alike"))),
    "RUNS_ONCE": ("reliability", {"values": [[1, 0], [1]]}, {"values": [[1, 0], [1, 1]]}),
    "RARE_CLUSTERS": ("one-sample-mean", *({"values": values, "clusters": [*"aabbccddeeff"]}
        for values in ([1] * 11 + [0], [1, 0] * 6))),
    "UNIT_TAKEN": ("one-sample-mean", {"values": [0.5, 1.0]}, {"values": [0, 1]}),
    "FISHER_CONSERVATIVE": (
        "proportions", {"baseline": [1, 0], "candidate": [1, 1], "method": "fisher"},
        {"baseline": [1, 0], "candidate": [1, 1]},
    ),
    "UNPAIRED_ARMS": (
        "proportions", {"baseline": [1, 0], "candidate": [1, 1]}, {"baseline": [1, 0], "candidate": [1, 1, 0]},
    ),
    "UNKNOWN_RANGE": (
        "unpaired-difference",
        {"baseline": [1.0, 5.0], "candidate": [2.0, 3.0]},
        {"baseline": [1.0, 5.0], "candidate": [2.0, 3.0], "range": {"low": 1, "high": 5}},
    ),
    "COVARIATE_KNOWN_BEFORE": (
        "unpaired-difference", {**SMALL_ARMS, "covariates": {"before": SMALL_ARMS}}, SMALL_ARMS,
    ),
    "EXACT_TEST_OPEN": (
        "leaderboard",
        {"arms": {"a": [0] * 20, "b": [1] * 5 + [0] * 15}},
        {"arms": {"a": [0] * 20, "b": [1] * 6 + [0] * 14}},
    ),
    "FEW_FOR_COVARIATES": (
        "unpaired-difference",
        {**arms_of_scores(19), "covariates": {"before": arms_of_scores(19)}},
        {**arms_of_scores(20), "covariates": {"before": arms_of_scores(20)}},
    ),
    "FEW_ARMS_FOR_ITEMS": (
        "item-analysis",
        {"arms": {name: [0, 1] for name in "abcdefghi"}},
        {"arms": {name: [0, 1] for name in "abcdefghij"}},
    ),
    "ITEMS_CHOSEN_AFTERWARDS": (
        "item-analysis",
        {"arms": {"a": [1, 0], "b": [1, 1]}},
        {"arms": {"a": [1], "b": [0], "c": [0]}},
    ),
    "ZEROS_AND_ONES": ("describe", {"values": [0.0, 1.0, 1.0]}, {"values": [0.0, 1.0, 0.5]}),
    "FEW_TASKS": (
        "suite",
        {"tasks": [*range(9)] * 2, "values": [*range(18)], "estimand": "new_tasks"},
        {"tasks": [*range(10)] * 2, "values": [*range(20)], "estimand": "new_tasks"},
    ),
    "TASK_IN_ONE_CLUSTER": (
        "suite", {"tasks": [*"aab"], "values": [0, 1, 1]}, {"tasks": [*"aabb"], "values": [0, 1, 1, 0]},
    ),
    "TASK_ALIKE": ("suite", {"tasks": [*"aabb"], "values": [0, 1, 1, 1]}, {"tasks": [*"aabb"], "values": [0, 1, 1, 0]}),
    "TASK_RANGES_UNKNOWN": (
        "suite",
        {"tasks": [*"aabb"], "values": [0, 1, 1, 2]},
        {"tasks": [*"aabb"], "values": [0, 1, 1, 2], "range": {"low": 0, "high": 2}},
    ),
    "TASK_UNIT_TAKEN": (
        "suite", {"tasks": [*"aabb"], "values": [0, 0.5, 1, 0]}, {"tasks": [*"aabb"], "values": [0, 1, 1, 0]},
    ),
    "TASK_SCALES": (
        "suite", {"tasks": [*"aabb"], "values": [0, 1, 0, 21]}, {"tasks": [*"aabb"], "values": [0, 1, 0, 19]},
    ),
    "UNEQUAL_CLUSTERS": (
        "clustered-mcnemar",
        {**columns([(0, 1)] * 20), "clusters": [max(k - 6, 0) for k in range(20)]},
        {**columns([(0, 1)] * 20), "clusters": [max(k - 5, 0) for k in range(20)]},
    ),
    "WALD_TOO_SHORT": (
        "paired-difference",
        {**table_of(50, 10, 9, 31), "method": "wald"},
        {**table_of(50, 10, 10, 30), "method": "wald"},
    ),
    "WEIGHT_SCALE": (
        "ecs",
        {"human": AGREED["x"], "agent": AGREED["y"], "variant": "printed_sums"},
        {"human": AGREED["x"], "agent": AGREED["y"]},
    ),
    "ZERO_P": ("multiple-comparisons", {"p_values": [0.0, 0.2]}, {"p_values": [1e-200, 0.2]}),
    "ZERO_STANDARD_ERROR": (
        "effect-conversion", effect(kind="binomial", k=9, n=9), effect(kind="binomial", k=8, n=9),
    ),
    "Z_BLIND": (
        "outliers",
        {"values": [0.0] * 9 + [1e6], "method": "zscore"},
        {"values": [0.0] * 10 + [1e6], "method": "zscore"},
    ),
}  # fmt: skip


def test_every_warning_has_its_case():
    assert set(CASES) == set(warnings.kinds())


@pytest.mark.parametrize("code", sorted(CASES))
def test_a_warning_fires_and_does_not(code):
    name, firing, silent = CASES[code]
    assert code in codes(ask(name, firing))
    assert code not in codes(ask(name, silent))
