"""Data that nobody should send, to every registered test and every option it has, over HTTP.

Whatever comes is answered with a sound analysis (see `soundness`) or a problem that names the field;
never with a 500, a NaN, a p-value of 0. A new test fails here until it has degenerate bodies.
"""

from __future__ import annotations

import json
import re
from contextlib import suppress
from typing import Literal, get_args, get_origin

import pytest
from pydantic import ValidationError

from service.api.stats import AT_ONCE_SECONDS
from service.errors import InvalidData
from service.stats import registry
from tests.stats.soundness import sound

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
    "hypothesis_length": [0, 0],
    "reference_length": [0, 0],
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
RUNS = [[*column] for pair in PAIRS.values() for column in pair]


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


def evidence():
    """Summary statistics at their ends."""
    for t in (0.0, 1e-300, 40.0, -1e100):
        for n1, n2 in ((2, None), (10**9, None), (1, 2), (1, 1), (10**9, 10**9)):
            yield {"kind": "t", "t": t, "n1": n1, "n2": n2}
    for f in (0.0, 1e-300, 1e100):
        for df1, df2 in ((1, 1), (10**6, 1), (1, 10**9 - 2)):
            for method in ("jzs_regression", "bic"):
                yield {"kind": "f", "f": f, "df1": df1, "df2": df2, "method": method}
    for r in (0.0, 1.0, -1.0, 1 - 1e-16, 1e-300):
        for n in (2, 3, 10**9):
            for method in ("ly", "wetzels_wagenmakers"):
                yield {"kind": "correlation", "r": r, "n": n, "method": method}
    for chi_square in (0.0, 1e100):
        yield {"kind": "chi_square", "chi_square": chi_square, "n": 1}
        yield {"kind": "chi_square", "chi_square": chi_square, "n": 10**9, "df": 10**6}
    for k, n in ((0, 0), (0, 1), (1, 1), (10**9, 10**9), (5, 4)):
        for p0 in (1e-12, 0.5, 1 - 1e-9):
            yield {"kind": "binomial", "k": k, "n": n, "p0": p0}
    for p in (5e-324, 1e-300, 1.0, 0.0):
        yield {"kind": "p_value", "p": p}


def effects():
    """Effects at their ends."""
    for d in (0.0, 1e-300, -1e100):
        yield {"kind": "t_test", "d": d, "n1": 2}
        yield {"kind": "t_test", "t": d, "n1": 10**9, "n2": 2}
    for r in (0.0, 1.0, -1.0):
        yield {"kind": "correlation", "r": r, "n": 2}
        yield {"kind": "correlation", "r": r, "n": 10**9}
    for table in ([[0, 0], [0, 0]], [[1, 0], [0, 0]], [[0, 5], [5, 0]], [[10**9] * 2] * 2):
        yield {"kind": "chi_square", "table": table}
    for u in (0.0, 1.0, 1e18):
        yield {"kind": "mann_whitney", "u": u, "n1": 2, "n2": 2}
    for k, n in ((0, 2), (2, 2), (3, 2), (10**9, 10**9)):
        yield {"kind": "binomial", "k": k, "n": n}


def profiles():
    """Effect profiles of nothing, of constants, and beyond."""
    for human, agent in (
        ([], []), ([1.0], [1.0]), ([1.0, 2.0], [1.0, 2.0]), ([0.3] * 5, [0.3] * 5), ([0.3] * 5, [0.4] * 5),
        ([0.3] * 5, [0.1, 0.2, 0.3, 0.4, 0.5]), ([0.0] * 4, [0.0] * 4), ([None] * 4, [1.0] * 4),
        ([1e100, -1e100, 0.0], [-1e100, 1e100, 0.0]), ([1e-300, 2e-300, 4e-300], [2e-300, 1e-300, 0.0]),
    ):  # fmt: skip
        body = {"human": human, "agent": agent}
        yield body
        zeros, ones = [0.0] * len(human), [1.0] * len(human)
        yield body | {"human_se": zeros, "agent_se": zeros}
        yield body | {"human_se": ones, "agent_se": zeros, "weights": ones}
        yield body | {"study": [f"s{k}" for k in range(len(human))]}
    yield {"z_diff": [0.0, 1e100, -40.0, None]}


def agreements():
    """Evidence of both sides: none, certain, undefined."""
    sides = [
        None, {}, {"pi": 0.0}, {"pi": 1.0}, {"pi": 0.5}, {"bf10": "inf"}, {"bf10": "nan"}, {"bf10": 0},
        {"log_bf10": 1e300}, {"log_bf10": -1e300}, {"pi": 1.0, "direction": 1},
    ]  # fmt: skip
    yield {"tests": []}
    for human in sides:
        for agent in sides:
            test = {"finding": "f", "human": human, "agent": agent}
            yield {"tests": [test]}
            yield {"tests": [test | {"n_eff": 0.0}, {"finding": "f", "human": {"pi": 0.9}, "pas": 0.0}]}


def attempts():
    """Attempts of no item, none correct, all correct."""
    for correct, tried in (([], 1), ([0], 1), ([1], 1), ([0] * 5, 3), ([3] * 5, 3), ([2000], 2000), ([2], 1)):
        yield {"correct": correct, "attempts": tried, "k": [1]}
        yield {"correct": correct, "attempts": tried, "k": [1, 2000]}
        yield {"correct": correct, "attempts": tried, "k": [1], "clusters": ["a"] * len(correct)}


def replicates():
    """Runs per item: one, none, alike."""
    for values in ([], [[]], [[1.0]], [[1.0], [1.0]], [[1.0, 1.0]] * 4, [[0.0, 1.0]] * 4, [[1e200, -1e200]] * 2,
                   [[5e-324, 0.0], [0.0, 0.0]], [[0.1, 0.1 + 1e-17]] * 3):  # fmt: skip
        yield {"values": values}
        yield {"values": values, "clusters": ["a"] * len(values)}


def sequences():
    """Every method of the sequential test on every pair of columns."""
    yield {"method": "boundaries", "looks": [1]}
    yield {"method": "boundaries", "looks": [1, 10**9]}
    yield {"method": "boundaries", "looks": [1, 2, 3, 5, 10], "alpha": 1e-6}
    for body in bodies_of_pairs():
        n = len(body["baseline"])
        for method in ("e_process", "confidence_sequence"):
            yield body | {"method": method}
            yield body | {
                "method": method,
                "bound": 1e100,
                **({"size_cap": 99} if "clusters" in body else {}),
            }
        for looks in ([max(n, 1)], [2, 30]):
            yield body | {"method": "group_sequential", "looks": looks}


def flips_and_splits():
    """Every test that type-one-error can try."""
    for values in [column[:8] for column in RUNS]:  # all splits of more take long
        for test in ("welch", "student", "mann-whitney", "bootstrap-percentile", "bootstrap-basic"):
            yield {"test": test, "values": values, "n_splits": 100, "n_resamples": 100}
    for body in bodies_of_pairs(n_splits=100):
        for test in ("mcnemar", "mcnemar-midp", "mcnemar-asymptotic", "paired-t", "wilcoxon", "sign-flip"):
            yield body | {"test": test}


BODIES = {
    "bayes-factor": lambda: ({"evidence": each} for each in evidence()),
    "bootstrap-difference": lambda: bodies_of_pairs(n_resamples=100),
    "cluster-bootstrap": lambda: bodies_of_pairs(),
    "clustered-mcnemar": lambda: bodies_of_pairs(),
    "cumulative-effect": lambda: [
        *bodies_of_pairs(), *bodies_of_pairs(bound=1e100, size_cap=99, margin=MARGIN, first=1)
    ],
    "describe": lambda: ({"values": values, "n_resamples": 100} for values in RUNS),
    "ecs": profiles,
    "effect-conversion": lambda: ({"effect": each} for each in effects()),
    "effect-size": bodies_of_pairs,
    "equivalence": lambda: [
        *bodies_of_tables(margin=MARGIN), *bodies_of_pairs(margin=MARGIN),
        *bodies_of_pairs(margin={"value": 0.01, "unit": "score"}, method="t"),
    ],
    "mann-whitney": bodies_of_pairs,
    "mcnemar": lambda: [*bodies_of_tables(), *bodies_of_pairs()],
    "multiple-comparisons": lambda: (
        {"p_values": p} for p in ([], [0.0], [None], [1e-320, 1.0, None], [1.0] * 4, [0.05] * 3, [1.5])
    ),
    "outliers": lambda: ({"values": values} for values in RUNS),
    "paired-bootstrap": lambda: [
        *bodies_of_tables(), *bodies_of_pairs(), *STATISTICS,
        *({**body, "n_resamples": 100, "seed": 1} for body in bodies_of_pairs()),
    ],
    "paired-difference": lambda: [*bodies_of_tables(), *bodies_of_pairs()],
    "pas": agreements,
    "pass-at-k": attempts,
    "power": lambda: ({**each, "n": [1, 2, 30, 1000]} for each in designs()),
    "randomization": lambda: [*bodies_of_tables(), *bodies_of_pairs(), *STATISTICS],
    "sample-size": lambda: ({**each, "max_n": 300} for each in designs()),
    "sequential": sequences,
    "t-test": bodies_of_pairs,
    "type-one-error": flips_and_splits,
    "variance-components": replicates,
    "wilcoxon": bodies_of_pairs,
}  # fmt: skip


def choices(request):
    """One option at a time away from its default: every value of every field that is a choice."""
    yield {}
    for name, field in request.model_fields.items():
        for inner in (field.annotation, *get_args(field.annotation)):
            if get_origin(inner) is Literal and name not in ("test", "unit"):
                yield from ({name: value} for value in get_args(inner) if value != field.default)


def test_every_test_has_degenerate_bodies():
    assert set(BODIES) == {test.name for test in registry.every()}


OPTIONS = [
    pytest.param(test, option, id="-".join([test.name, *map(str, option.values())]))
    for test in registry.latest().values()
    for option in choices(test.request)
]


def cost_of(test, sent):
    """Seconds it says it takes; 0 for what is refused anyway."""
    try:
        return test.cost(test.request.model_validate_json(sent))
    except (InvalidData, ValidationError):
        return 0.0


@pytest.mark.parametrize(("test", "option"), OPTIONS)
def test_degenerate_data_are_answered_or_refused(http, test, option):
    answered = 0
    for body in BODIES[test.name]():
        sent = json.dumps({**body, **option})
        if cost_of(test, sent) >= AT_ONCE_SECONDS:  # over HTTP a job: what it would compute
            with suppress(InvalidData):
                sound(test.answer(test.request.model_validate_json(sent)))
            continue
        response = http.post(
            f"/v1/tests/{test.name}", content=sent, headers={"Content-Type": "application/json"}
        )
        if response.status_code == 200:
            answered += 1
            sound(registry.Answer[test.analysis].model_validate_json(response.content))
        else:
            said = response.json()
            assert response.status_code == 422, (response.status_code, said, sent[:300])
            assert said["detail"], sent[:300]
            # overflow is an answer to values whose squares leave the floats, and to nothing else
            assert said["code"] != "not_computable" or re.search(r"\de[+-]?\d{3}", sent), sent[:300]
    assert answered or option, "all bodies were refused: the sweep tests nothing"
