"""Degenerate bodies and bodies that grow, as the declarations of statistical tests put them together."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st

MARGIN = {"value": 2, "unit": "pp"}

PAIRS = {
    "none": ([], []),
    "one pair alike": ([1], [1]),
    "one pair apart": ([0], [1]),
    "two pairs apart": ([0, 1], [1, 0]),
    "all zero": ([0] * 12, [0] * 12),
    "all one": ([1] * 12, [1] * 12),
    "identical": ([0, 1, 1, 0, 1, 0] * 3, [0, 1, 1, 0, 1, 0] * 3),
    "candidate always": ([0] * 9, [1] * 9),
    "baseline always": ([1] * 9, [0] * 9),
    "one discordant": ([0] * 30, [0] * 29 + [1]),
    "balanced": ([0, 1] * 8, [1, 0] * 8),
    "constant shift": ([0.1, 0.2, 0.3, 0.7], [0.6, 0.7, 0.8, 1.2]),
    "shift with rounding": ([0.1 * k for k in range(9)], [0.1 * k + 0.1 for k in range(9)]),
    "ties": ([1.0, 1.0, 2.0, 2.0], [2.0, 2.0, 1.0, 1.0]),
    "one outlier": ([0.0] * 11, [0.0] * 10 + [1e9]),
    "huge": ([1e149, -1e149, 3.0], [-1e149, 1e149, 4.0]),
    "beyond squares": ([1e200, -1e200, 3.0], [-1e200, 1e200, 4.0]),
    "tiny": ([1e-200, 2e-200, 5e-200], [2e-200, 1e-200, 9e-200]),
    "denormal": ([5e-324, 0.0, 1e-323], [0.0, 1e-323, 5e-324]),
    "nearly equal": ([1.0, 1.0, 1.0], [1.0 + 2e-16, 1.0, 1.0]),
    "signed zeros": ([-0.0, 0.0, 0.0], [0.0, -0.0, 0.0]),
    "uneven lengths": ([1, 0, 1], [1, 0]),
    "not numbers": (["a"], [None]),
}
CLUSTERS = {
    "without clusters": None,
    "one cluster": lambda n: ["all"] * n,
    "singletons": lambda n: list(range(n)),
    "one large cluster": lambda n: [max(k - n + 3, 0) for k in range(n)],
    "wrong length": lambda n: [1] * (n + 1),
}
TABLES = {
    "none": (0, 0, 0, 0),
    "one alike": (1, 0, 0, 0),
    "one apart": (0, 0, 1, 0),
    "nothing discordant": (40, 0, 0, 40),
    "candidate always": (0, 0, 25, 0),
    "baseline always": (0, 25, 0, 0),
    "balanced": (0, 8, 8, 0),
    "huge": (10**9, 10**9, 10**9, 10**9),
    "huge and lopsided": (10**9, 3, 10**9, 0),
    "huge and sparse": (10**9, 0, 1, 10**9),
    "extreme p": (0, 0, 3000, 0),
    "negative": (1, -1, 0, 0),
}
CELLS = ("both_correct", "only_baseline", "only_candidate", "both_wrong")
COUNTS_OF_NOTHING = {"tp": [0, 0, 0], "fp": [0, 0, 0], "fn": [0, 0, 0]}
COUNTS = {"tp": [1, 0, 3], "fp": [0, 0, 0], "fn": [0, 2, 0]}
NO_WORDS = {
    "matches": [[0, 0, 0, 0]] * 2,
    "totals": [[0, 0, 0, 0]] * 2,
    "sys_len": [0, 0],
    "ref_len": [0, 0],
}
STATISTICS = [
    {"baseline": b, "candidate": c, "metric": metric}
    for metric, b, c in (
        ("f1", COUNTS_OF_NOTHING, COUNTS_OF_NOTHING),
        ("f1", COUNTS_OF_NOTHING, COUNTS),
        ("precision", COUNTS, COUNTS),
        ("recall", COUNTS, COUNTS_OF_NOTHING),
        ("bleu", NO_WORDS, NO_WORDS),
    )
]
COLUMNS = [[*column] for pair in PAIRS.values() for column in pair]


def bodies_of_pairs(**others):
    """Every pair of columns with every kind of cluster."""
    for baseline, candidate in PAIRS.values():
        for clusters in CLUSTERS.values():
            body = {"baseline": baseline, "candidate": candidate, **others}
            yield body if clusters is None else body | {"clusters": clusters(len(baseline))}


def bodies_of_tables(**others):
    """Every fourfold table."""
    for cells in TABLES.values():
        yield {**dict(zip(CELLS, cells, strict=True)), **others}


def designs():
    """Designs at the ends of what can be asked."""
    for test in ("welch", "student"):
        for delta, sd in ((0.0, 1.0), (1e-12, 1.0), (1e9, 1e-9), (-1e150, 1e-150), (1.0, 1e150)):
            yield {"test": test, "delta": delta, "sd_baseline": sd, "sd_candidate": sd}
            yield {"test": "paired-t", "delta": delta, "sd_difference": sd}
    for p_c, p_b in ((0.0, 0.0), (0.0, 1.0), (1.0, 0.0), (0.5, 0.5), (1e-9, 1e-9), (0.9, 0.9)):
        shares = {"p_only_baseline": p_c, "p_only_candidate": p_b}
        yield {"test": "mcnemar", **shares}
        yield {"test": "tango", **shares, "margin": MARGIN}
        yield {"test": "tango", **shares, "margin": {"value": 99.9, "unit": "pp"}}
        yield {"test": "sign-flip", **shares, "cluster_size": 3, "icc": 0.0, "n_simulations": 100}


def scores(n):
    """Two columns of scores."""
    rng = np.random.default_rng(n)
    baseline = rng.normal(size=n)
    return {"baseline": baseline.tolist(), "candidate": (baseline + rng.normal(size=n)).tolist()}


def pairs(n):
    """Two columns of right and wrong."""
    rng = np.random.default_rng(n)
    return {arm: rng.integers(0, 2, n).tolist() for arm in ("baseline", "candidate")}


def clustered(n):
    """Scores in clusters of four."""
    return {**scores(n), "clusters": (np.arange(n) // 4).tolist()}


def by_cluster(rows):
    """Rows of a baseline's value, a candidate's and a cluster, as columns."""
    return dict(zip(("baseline", "candidate", "clusters"), map(list, zip(*rows, strict=True)), strict=True))


def clustered_rows(clusters, **size):
    """Such rows of right and wrong in two clusters or more."""
    row = st.tuples(st.integers(0, 1), st.integers(0, 1), st.integers(0, clusters - 1))
    return st.lists(row, **size).filter(lambda rows: len({row[2] for row in rows}) > 1)


def counted(n):
    """Counts of a metric."""
    rng = np.random.default_rng(n)
    arms = [{name: rng.integers(0, 50, n).tolist() for name in ("tp", "fp", "fn")} for _ in range(2)]
    return {"metric": "f1", "baseline": arms[0], "candidate": arms[1]}


def values(n, **options):
    """One column."""
    return {"values": scores(n)["baseline"], **options}


def flips(**options):
    """A design of clusters."""
    design = {"p_only_baseline": 0.05, "p_only_candidate": 0.2, "cluster_size": 10, "icc": 0.1}
    return {"test": "sign-flip", **design, **options}
