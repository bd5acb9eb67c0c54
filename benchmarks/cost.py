"""What every test says it costs beside what it takes, from the smallest requests to large ones.

The service decides by the estimate where a test runs: below 2 ms on the event loop, below a second in a
thread, else as a job. An underestimate keeps others waiting, so the ratio of measured to estimated has a bar.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np

from benchmarks.harness import Measured, row
from service.stats.shared.declaring import registry

GROUP = "cost"
MOST_UNDERESTIMATED = 3.0
LEAST = 5e-4
"""Below this an estimate decides nothing."""

Body = dict[str, Any]


def estimated_and_taken(name: str, body: Body) -> tuple[float, float]:
    """Seconds by the estimate, and by the clock for a fresh request (the middle of several if quick)."""
    test = registry.find(name)
    estimate = test.cost(test.request.model_validate(body))
    times: list[float] = []
    while len(times) < 5 and sum(times) < 1:
        request = test.request.model_validate(body)
        start = time.process_time()  # an estimate knows nothing of who else is computing
        test.answer(request)
        times.append(time.process_time() - start)
    return estimate, sorted(times)[len(times) // 2]


def _scores(n: int, *, kind: str = "normal") -> Body:
    rng = np.random.default_rng(n)
    baseline = rng.normal(0.5, 0.2, n)
    if kind == "binary":
        baseline = (rng.random(n) < 0.6).astype(float)
        candidate = np.where(rng.random(n) < 0.2, 1 - baseline, baseline)
    elif kind == "sparse":
        candidate = baseline + np.where(rng.random(n) < 0.6, 0.0, rng.normal(0.02, 0.1, n))
    elif kind == "grid":
        baseline = np.round(baseline * 20) / 20
        candidate = np.round((baseline + rng.normal(0.01, 0.2, n)) * 20) / 20
    elif kind == "heavy":
        candidate = baseline + rng.standard_t(1.5, n)
    else:
        candidate = baseline + rng.gamma(2.0, 0.05, n) - 0.08
    return {"baseline": baseline.tolist(), "candidate": candidate.tolist()}


def _clustered(n: int, size: int, *, kind: str = "normal") -> Body:
    return {**_scores(n, kind=kind), "clusters": (np.arange(n) // size).tolist()}


def _f1(n: int, most: int = 1) -> Body:
    rng = np.random.default_rng(n)
    arms = [{name: rng.integers(0, most + 1, n).tolist() for name in ("tp", "fp", "fn")} for _ in range(2)]
    return {"metric": "f1", "baseline": arms[0], "candidate": arms[1]}


def _bleu(n: int) -> Body:
    rng = np.random.default_rng(n)
    arms = []
    for share in (0.6, 0.61):
        totals = np.maximum(rng.integers(10, 40, n)[:, None] - np.arange(4), 0)
        arms.append(
            {
                "matches": rng.binomial(totals, share ** np.arange(1, 5)).tolist(),
                "totals": totals.tolist(),
                "sys_len": totals[:, 0].tolist(),
                "ref_len": totals[:, 0].tolist(),
            }
        )
    return {"metric": "bleu", "baseline": arms[0], "candidate": arms[1]}


def _arms(k: int, n: int) -> Body:
    right = np.random.default_rng(n).random((k, n)) < np.linspace(0.6, 0.7, k)[:, None]
    return {"arms": {f"arm {place}": row.astype(float).tolist() for place, row in enumerate(right)}}


def _preferences(k: int, n: int) -> Body:
    """Every arm beats the next once, so that all are linked, and then at random."""
    rng, round_ = np.random.default_rng(n), np.arange(k)
    first = np.concatenate([round_, rng.integers(0, k, max(n - k, 0))])
    second = np.concatenate([round_ + 1, first[k:] + rng.integers(1, k, max(n - k, 0))]) % k
    chosen = np.concatenate([["first"] * k, rng.choice(["first", "second", "tie"], max(n - k, 0))])
    columns = {"first": [f"arm {arm}" for arm in first], "second": [f"arm {arm}" for arm in second]}
    return {**columns, "preferred": chosen.tolist()}


def requests() -> Iterator[tuple[str, str, Body]]:
    """Test, what is special, and the request; not larger than some seconds."""
    for n in (10, 1000, 100_000):
        pairs, scores, clusters = _scores(n, kind="binary"), _scores(n), _clustered(n, 5)
        for name in ("mcnemar", "paired-difference", "equivalence"):
            extra: Body = {"margin": {"value": 2, "unit": "pp"}} if name == "equivalence" else {}
            yield name, f"{n:,} pairs", {**pairs, **extra}
        yield "clustered-mcnemar", f"{n:,} items", _clustered(n, 5, kind="binary")
        margin: Body = {"margin": {"value": 0.1, "unit": "score"}}
        yield "equivalence", f"t, {n:,} items", {**scores, **margin, "method": "t"}
        for kind in ("normal", "sparse", "grid", "heavy"):
            extra = {**margin, "method": "bootstrap_ci"}
            yield "equivalence", f"bootstrap, {kind}, {n:,}", {**_scores(n, kind=kind), **extra}
            yield "paired-bootstrap", f"{kind}, {n:,} items", _scores(n, kind=kind)
            yield "randomization", f"{kind}, {n:,} items", _scores(n, kind=kind)
            yield "cluster-bootstrap", f"{kind}, {n:,} in 5s", _clustered(n, 5, kind=kind)
        yield "paired-bootstrap", f"binary, {n:,} items", pairs
        yield "paired-bootstrap", f"studentized, {n:,}", {**scores, "method": "studentized"}
        yield "paired-bootstrap", f"seed, {n:,}", {**scores, "convention": "seed"}
        yield "paired-bootstrap", f"clusters, {n:,} in 5s", clusters
        yield "cluster-bootstrap", f"seed, {n:,} in 5s", {**clusters, "convention": "seed"}
        if n > 10:
            yield "cluster-bootstrap", f"studentized, {n:,} in 5s", {**clusters, "method": "studentized"}
        yield "randomization", f"clusters, {n:,} in 5s", clusters
        if n <= 10_000:
            for name in ("paired-bootstrap", "randomization"):
                yield name, f"BLEU, {n:,} segments", _bleu(n)
        for name in ("paired-bootstrap", "randomization"):
            yield name, f"F1 of decisions, {n:,}", _f1(n)
            if n <= 10_000:
                yield name, f"F1 of counts, {n:,}", _f1(n, 20)
        yield "randomization", f"seed, {n:,}", {**scores, "convention": "seed", "n_resamples": 1000}
        for kind in ("normal", "grid"):
            arms = _scores(n, kind=kind)
            for name in ("t-test", "effect-size", "mann-whitney", "wilcoxon"):
                yield name, f"{kind}, {n:,}", arms
            yield "bootstrap-difference", f"{kind}, {n:,}, B 1,000", {**arms, "n_resamples": 1000}
            for method in ("t", "percentile"):
                values = {"values": arms["candidate"], "method": method, "n_resamples": 1000}
                yield "describe", f"{method}, {kind}, {n:,}", values
            yield "outliers", f"{kind}, {n:,}", {"values": arms["candidate"]}
        for test in ("paired-t", "wilcoxon", "sign-flip"):
            yield "type-one-error", f"{test}, {n:,} items", {**scores, "test": test, "n_splits": 2000}
        yield "variance-components", f"{n:,} by 3", {"values": np.array([scores["baseline"]] * 3).T.tolist()}
        yield (
            "agreement",
            f"{n:,} items",
            {"ratings": np.stack([np.arange(n) % 3, np.arange(n) % 4], 1).tolist()},
        )
        grades = {"ratings": np.stack([np.arange(n) % 5, np.arange(n) % 7], 1).tolist(), "scale": "ordinal"}
        yield "agreement", f"ordinal, {n:,} items", grades
        amounts = {name: np.exp(each).tolist() for name, each in scores.items()}
        in_fives = {**amounts, "clusters": clusters["clusters"]}
        for name, body in ((f"{n:,} items", amounts), (f"{n:,} in 5s", in_fives)):
            yield "ratio-of-means", f"Fieller, {name}", body
            drawn: Body = {"n_resamples": 1000, **body}
            if name != "10 in 5s":  # two clusters have no ratio of errors
                yield "ratio-of-means", f"bootstrap-t, {name}, B 1,000", {**drawn, "method": "bootstrap_t"}
            yield "quantile-difference", f"{name}, B 1,000", drawn
        yield "quantile-difference", f"of differences, {n:,}", {**amounts, "of": "differences"}
        arm = {"people": scores["baseline"], "judge": scores["candidate"], "unlabelled": scores["candidate"]}
        yield "prediction-powered", f"{n:,} and {n:,}", {"candidate": arm}
        if n <= 1000:
            runs = np.array([scores["baseline"], scores["candidate"]])[:, :, None] + np.arange(3)
            judged = {"baseline": runs[0].tolist(), "candidate": runs[1].tolist()}
            yield "repeated", f"{n:,} by 3", judged
            if n <= 100:
                ragged = {**judged, "candidate": [each[:2] for each in judged["candidate"]]}
                yield "repeated", f"{n:,} by 3 and 2", ragged
        yield "pass-at-k", f"{n:,} items", {"correct": [3, 4] * (n // 2), "attempts": 10, "k": [1, 5]}
        compared, twos = _preferences(10, n), (np.arange(max(n, 10)) // 2).tolist()
        yield "preference", f"10 arms, {n:,} comparisons", compared
        yield "preference", f"10 arms, {n:,} in 2s", {**compared, "clusters": twos}
        if n <= 10_000:
            yield "leaderboard", f"5 arms, {n:,} items", _arms(5, n)
            yield "leaderboard", f"20 arms, {n:,} items", _arms(20, n)
            yield (
                "leaderboard",
                f"5 arms, {n:,} in 2s",
                {**_arms(5, n), "clusters": (np.arange(n) // 2).tolist()},
            )
        for band in ("tango", "percentile"):
            yield "cumulative-effect", f"{band}, {n:,} pairs", {**pairs, "band": band}
        for band in ("t", "percentile"):
            yield "cumulative-effect", f"{band}, {n:,} items", {**scores, "band": band}
        yield "cumulative-effect", f"clusters, {n:,} items", clusters
        for method in ("e_process", "confidence_sequence"):
            yield "sequential", f"{method}, {n:,} pairs", {**pairs, "method": method}
    yield from _of_designs()
    yield from _of_replications()


def _of_designs() -> Iterator[tuple[str, str, Body]]:
    values = np.random.default_rng(1).gamma(2, 1, 100).tolist()
    for test in ("welch", "mann-whitney", "bootstrap-percentile"):
        for sizes in ([3], [20], list(range(2, 51))):
            body = {"test": test, "values": values, "sizes": sizes, "n_splits": 2000}
            yield "type-one-error", f"{test}, {len(sizes)} sizes to {sizes[-1]}", body
    welch = {"test": "welch", "delta": 0.5, "sd_baseline": 1.0, "sd_candidate": 2.0}
    binary = {"p_only_baseline": 0.05, "p_only_candidate": 0.08}
    mcnemar = {"test": "mcnemar", **binary}
    tango = {"test": "tango", **binary, "margin": {"value": 6, "unit": "pp"}}
    flip = {"test": "sign-flip", **binary, "cluster_size": 10, "icc": 0.1}
    for name, design in (("welch", welch), ("mcnemar", mcnemar), ("tango", tango)):
        yield "power", f"{name}, n 100", {**design, "n": 100}
        yield "power", f"{name}, n 100,000", {**design, "n": 100_000}
        yield "power", f"{name}, 100 sizes", {**design, "n": list(range(50, 5050, 50))}
        yield "sample-size", name, design
    hard = {"p_only_baseline": 0.05, "p_only_candidate": 0.052}
    yield "sample-size", "mcnemar, small effect", {"test": "mcnemar", **hard}
    yield "sample-size", "tango, narrow", {**tango, **hard, "margin": {"value": 0.5, "unit": "pp"}}
    for n in (10, 100, 1000):
        yield "power", f"sign-flip, {n} clusters", {**flip, "n": n}
    yield (
        "power",
        "sign-flip, clusters of 1,000",
        {**flip, "cluster_size": 1000, "n": 50, "n_simulations": 500},
    )
    yield "sample-size", "sign-flip", {**flip, "p_only_candidate": 0.15, "n_simulations": 500}


def _of_replications() -> Iterator[tuple[str, str, Body]]:
    for name, test in registry.latest().items():
        yield name, "example", dict(test.example)
    rng = np.random.default_rng(1)
    for n in (10, 1000, 5000):
        yield "multiple-comparisons", f"{n:,} p-values", {"p_values": rng.random(n).tolist()}
    for looks in (5, 30):
        steps = [100 * (i + 1) for i in range(looks)]
        yield "sequential", f"boundaries, {looks} looks", {"method": "boundaries", "looks": steps}


def measured(name: str, body: Body) -> Measured:
    """Ours is the time taken, the peer the estimate."""
    estimate, taken = estimated_and_taken(name, body)
    return Measured(taken, estimate, max(taken, LEAST) / max(estimate, LEAST))


for _name, _what, _body in requests():
    row(f"{_name}: {_what}", group=GROUP, peer="its estimate", bar=MOST_UNDERESTIMATED, at_most=True)(
        partial(measured, _name, _body)
    )
