"""Requests that look for the worst a statistical test can cost: awkward sizes, values, clusters and options."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, get_args

import numpy as np
from hypothesis import strategies as st

from service.stats import clustered_mcnemar
from service.stats.shared.declaring import registry

Body = dict[str, Any]
Draw = Callable[[st.SearchStrategy[Any]], Any]

SIZES = (1, 2, 3, 4, 6, 9, 12, 13, 14, 20, 25, 29, 30, 31, 36, 39, 40, 41, 45, 60, 100, 150, 300, 1000, 3000)
LARGE = (*SIZES, 10_000, 30_000, 100_000)
SHAPES = (
    "binary", "sparse", "ternary", "integers", "large integers", "tenths", "millionths", "normal", "cauchy",
    "outlier", "mostly zero", "two values", "golden", "equal", "huge", "exponential",
)  # fmt: skip
CLUSTERS = ("single", "pairs", "fives", "uneven", "one large", "two", "random")
COUNTS = (0, 1, 3, 9, 10, 30, 100, 2_000, 50_000, 1_000_000, 10**9)
LEVELS = (0.95, 0.5, 0.999999, 1e-9)


def column(shape: str, n: int, rng: np.random.Generator) -> np.ndarray[Any, Any]:
    """Values (n,) of an awkward shape."""
    match shape:
        case "binary":
            return rng.integers(0, 2, n).astype(float)
        case "sparse":
            return (rng.random(n) < 5 / n).astype(float)
        case "ternary":
            return rng.integers(-1, 2, n).astype(float)
        case "integers":
            return rng.integers(-50, 50, n).astype(float)
        case "large integers":
            return rng.integers(-(10**9), 10**9, n).astype(float)
        case "tenths":
            return rng.integers(0, 11, n) / 10
        case "millionths":
            return np.round(rng.normal(size=n), 6)
        case "cauchy":
            return rng.standard_cauchy(n)
        case "outlier":
            values = rng.normal(size=n)
            values[0] = 1e6
            return values
        case "mostly zero":
            return np.where(rng.random(n) < 0.9, 0.0, rng.normal(size=n))
        case "two values":
            return np.where(rng.random(n) < 0.5, np.pi, np.e)
        case "golden":
            return np.modf(np.arange(1, n + 1) * 0.6180339887498949)[0]
        case "equal":
            return np.full(n, 0.3)
        case "huge":
            return rng.normal(size=n) * 1e140
        case "exponential":
            return np.exp(rng.normal(size=n) * 4)
    return rng.normal(size=n)


def labels(kind: str, n: int, rng: np.random.Generator) -> list[int]:
    """Cluster of each item."""
    match kind:
        case "pairs":
            found = np.arange(n) // 2
        case "fives":
            found = np.arange(n) // 5
        case "uneven":
            found = np.floor(np.sqrt(np.arange(n))).astype(int)
        case "one large":
            found = np.maximum(np.arange(n) - n // 2, 0)
        case "two":
            found = np.arange(n) % 2
        case "random":
            found = rng.integers(0, max(n // 3, 2), n)
        case _:
            found = np.arange(n)
    return [int(each) for each in found]


@st.composite
def _two(draw: st.DrawFn, sizes: tuple[int, ...] = LARGE) -> tuple[Body, int, np.random.Generator]:
    """Two columns on the same items."""
    n, rng = draw(st.sampled_from(sizes)), np.random.default_rng(draw(st.integers(0, 2**32)))
    before, shape = column(draw(st.sampled_from(SHAPES)), n, rng), draw(st.sampled_from(SHAPES))
    after = before + column(shape, n, rng) if draw(st.booleans()) else column(shape, n, rng)
    return {"baseline": before.tolist(), "candidate": after.tolist()}, n, rng


@st.composite
def _binary(draw: st.DrawFn, sizes: tuple[int, ...] = LARGE) -> Body:
    """Two columns of 0 and 1, or four counts."""
    if draw(st.booleans()):
        return draw(_table())
    n, rng = draw(st.sampled_from(sizes)), np.random.default_rng(draw(st.integers(0, 2**32)))
    share = draw(st.sampled_from([0.001, 0.05, 0.5, 1.0]))
    before = rng.integers(0, 2, n)
    return {
        "baseline": before.tolist(),
        "candidate": np.where(rng.random(n) < share, 1 - before, before).tolist(),
    }


@st.composite
def _table(draw: st.DrawFn) -> Body:
    names = ("both_correct", "only_baseline", "only_candidate", "both_wrong")
    found = {name: draw(st.sampled_from(COUNTS)) for name in names}
    return found if any(found.values()) else found | {"both_correct": 1}


def _some(draw: Draw, **options: tuple[Any, ...]) -> Body:
    """Some of these options; None leaves one out."""
    found = {name: draw(st.sampled_from(values)) for name, values in options.items()}
    return {name: value for name, value in found.items() if value is not None}


SIDES = (None, "less", "greater", "two-sided")
DRAWS = (None, 100, 2_000, 100_000, 1_000_000)


@st.composite
def _margin(draw: st.DrawFn, unit: str) -> Body:
    return {"value": draw(st.sampled_from([1e-6, 0.01, 0.5, 2.0, 10.0, 99.0])), "unit": unit}


@st.composite
def _decisions(draw: st.DrawFn) -> Body:
    n, rng = draw(st.sampled_from(LARGE)), np.random.default_rng(draw(st.integers(0, 2**32)))
    most = draw(st.sampled_from([1, 2, 50, 10**9]))
    arms = [
        {name: rng.integers(0, most, n, endpoint=True).tolist() for name in ("tp", "fp", "fn")}
        for _ in range(2)
    ]
    metric = draw(st.sampled_from(["precision", "recall", "f1"]))
    return {"metric": metric, "baseline": arms[0], "candidate": arms[1]}


@st.composite
def _bleu(draw: st.DrawFn) -> Body:
    n, rng = draw(st.sampled_from(SIZES)), np.random.default_rng(draw(st.integers(0, 2**32)))
    arms = []
    for share in (0.6, 0.61):
        totals = np.maximum(rng.integers(4, 40, n)[:, None] - np.arange(4), 0)
        matches = rng.binomial(totals, share ** np.arange(1, 5)).tolist()
        words = {name: totals[:, 0].tolist() for name in ("sys_len", "ref_len")}
        arms.append({"matches": matches, "totals": totals.tolist(), **words})
    return {"metric": "bleu", "baseline": arms[0], "candidate": arms[1]}


@st.composite
def _arms(draw: st.DrawFn) -> Body:
    """What bootstrap and randomization take."""
    kind = draw(st.sampled_from(["scores", "scores", "clusters", "table", "decisions", "bleu"]))
    if kind == "table":
        return draw(_table())
    if kind in ("decisions", "bleu"):
        return draw(_decisions() if kind == "decisions" else _bleu())
    body, n, rng = draw(_two())
    return body | (
        {"clusters": labels(draw(st.sampled_from(CLUSTERS)), n, rng)} if kind == "clusters" else {}
    )


@st.composite
def _clustered(draw: st.DrawFn) -> Body:
    body, n, rng = draw(_two())
    return body | {"clusters": labels(draw(st.sampled_from(CLUSTERS)), n, rng)}


@st.composite
def _values(draw: st.DrawFn, sizes: tuple[int, ...] = LARGE) -> Body:
    n, rng = draw(st.sampled_from(sizes)), np.random.default_rng(draw(st.integers(0, 2**32)))
    return {"values": column(draw(st.sampled_from(SHAPES)), n, rng).tolist()}


@st.composite
def _design(draw: st.DrawFn) -> Body:
    test = draw(st.sampled_from(["welch", "student", "paired-t", "mcnemar", "mcnemar", "tango", "sign-flip"]))
    body: Body = {
        "test": test,
        "alpha": draw(st.sampled_from([0.05, 1e-6, 0.3])),
        "target_power": draw(st.sampled_from([0.8, 0.5, 0.999])),
    }
    if test in ("welch", "student", "paired-t"):
        body |= {"delta": draw(st.sampled_from([0.0, 1e-6, 0.01, 0.5, 1e3]))}
        spreads = ("sd_difference",) if test == "paired-t" else ("sd_baseline", "sd_candidate")
        body |= {name: draw(st.sampled_from([1e-3, 1.0, 1e6])) for name in spreads}
        body |= _some(draw, pilot_n=(None, 2, 10**6))
    else:
        share = st.sampled_from([0.0, 1e-6, 0.001, 0.05, 0.06, 0.3, 0.5])
        body |= {"p_only_baseline": draw(share), "p_only_candidate": draw(share)}
    if test == "mcnemar":
        body |= _some(draw, method=(None, "exact", "midp", "asymptotic", "corrected"))
    if test == "tango":
        body["margin"] = draw(_margin("pp"))
    else:
        body |= _some(draw, alternative=SIDES)
    if test == "sign-flip":
        body |= {
            "cluster_size": draw(st.sampled_from([1, 2, 10, 1000, 10_000])),
            "icc": draw(st.sampled_from([0.0, 0.1, 0.99])),
            "n_simulations": draw(st.sampled_from([100, 2000])),
        }
    return body


@st.composite
def request(draw: st.DrawFn, name: str) -> Body:
    """The body of a request of a test; it may be refused."""
    confidence: Body = _some(draw, level=(None, *LEVELS))
    match name:
        case "mcnemar":
            methods = (None, "exact", "midp", "asymptotic", "corrected")
            return draw(_binary()) | confidence | _some(draw, method=methods, alternative=SIDES)
        case "paired-difference":
            return draw(_binary()) | confidence
        case "clustered-mcnemar":
            methods = get_args(clustered_mcnemar.Method)
            return draw(_clustered()) | confidence | _some(draw, method=methods, alternative=SIDES)
        case "equivalence":
            method = draw(st.sampled_from(["tango", "t", "bootstrap_ci"]))
            options = {"method": method} | _some(draw, n_resamples=DRAWS, cluster_variance=(None, "cv3"))
            if draw(st.booleans()):
                return draw(_binary()) | options | {"margin": draw(_margin("pp"))}
            scores = draw(_clustered() if draw(st.booleans()) else _two().map(lambda made: made[0]))
            return scores | options | {"margin": draw(_margin("score"))}
        case "paired-bootstrap":
            methods = (None, "percentile", "basic", "bca", "studentized")
            options = _some(
                draw, method=methods, alternative=SIDES, n_resamples=DRAWS, convention=(None, None, "seed")
            )
            return draw(_arms()) | confidence | options
        case "cluster-bootstrap":
            methods = (None, "percentile", "basic", "bca", "studentized")
            options = _some(draw, method=methods, n_resamples=DRAWS, convention=(None, None, "seed"))
            return draw(_clustered()) | confidence | options
        case "randomization":
            options = _some(draw, alternative=SIDES, n_resamples=DRAWS, convention=(None, None, "seed"))
            return draw(_arms()) | options
        case "bootstrap-difference":
            options = _some(
                draw, method=(None, "percentile", "basic", "bca", "studentized"), n_resamples=DRAWS
            )
            return draw(_two().map(lambda made: made[0])) | options
        case "t-test" | "effect-size" | "mann-whitney" | "wilcoxon":
            body = draw(_two().map(lambda made: made[0]))
            if name == "effect-size":
                return body | _some(draw, design=(None, "paired"))
            methods = ("welch", "student", "paired") if name == "t-test" else (None,)
            return body | _some(draw, alternative=SIDES, method=methods)
        case "describe":
            options = _some(
                draw, method=("t", "percentile", "basic", "bca"), n_resamples=(None, 100, 100_000)
            )
            return draw(_values()) | confidence | options
        case "outliers":
            return draw(_values())
        case "cumulative-effect":
            body = draw(_clustered() if draw(st.booleans()) else _two().map(lambda made: made[0]))
            return body | _some(draw, band=(None, "percentile"), convention=(None, None, "seed"))
        case "sequential":
            method = draw(
                st.sampled_from(["e_process", "confidence_sequence", "boundaries", "group_sequential"])
            )
            if method == "boundaries":
                looks = draw(st.sampled_from([[1], [1, 2, 3, 4], list(range(1, 21)), [1, 10**9]]))
                return {"method": method, "looks": looks} | _some(
                    draw, boundary=(None, "pocock", "obrien_fleming")
                )
            body, n, _rng = draw(_two())
            if method == "group_sequential":
                return body | {"method": method, "looks": sorted({max(n // 2, 1), n})}
            return body | {"method": method} | _some(draw, bound=(None, 1.0, 1e9))
        case "power":
            sizes = st.sampled_from([1, 2, 10, 63, 64, 65, 1000, 65_537, 524_289, 1_000_000])
            found = draw(_design()) | {"n": draw(sizes | st.lists(sizes, min_size=1, max_size=30))}
            return found | ({"solve_effect": draw(st.booleans())} if found["test"] == "sign-flip" else {})
        case "sample-size":
            return draw(_design()) | _some(draw, max_n=(None, 10, 1_000_000))
        case "type-one-error":
            flips = ["mcnemar", "mcnemar-midp", "paired-t", "wilcoxon", "sign-flip"]
            test = draw(
                st.sampled_from(["welch", "mann-whitney", "bootstrap-percentile", "bootstrap-basic", *flips])
            )
            body = {"test": test, "n_splits": draw(st.sampled_from([100, 2000, 10_000]))}
            if test in flips:
                columns = draw(_binary(SIZES) if "mcnemar" in test else _two().map(lambda made: made[0]))
                return columns | body
            return draw(_values(SIZES)) | body | _some(draw, n_resamples=(None, 100, 10_000))
        case "variance-components":
            n, k = draw(st.sampled_from(SIZES)), draw(st.sampled_from([2, 3, 30]))
            rng = np.random.default_rng(draw(st.integers(0, 2**32)))
            return {"values": column(draw(st.sampled_from(SHAPES)), n * k, rng).reshape(n, k).tolist()}
        case "pass-at-k":
            n, attempts = draw(st.sampled_from(LARGE)), draw(st.sampled_from([1, 5, 100, 10_000]))
            rng = np.random.default_rng(draw(st.integers(0, 2**32)))
            correct = rng.integers(0, attempts, n, endpoint=True).tolist()
            return {
                "correct": correct,
                "attempts": attempts,
                "k": sorted({1, attempts, max(attempts // 2, 1)}),
            }
        case "leaderboard":
            n, k = draw(st.sampled_from(SIZES)), draw(st.sampled_from([2, 3, 20]))
            rng = np.random.default_rng(draw(st.integers(0, 2**32)))
            table = column(draw(st.sampled_from(SHAPES)), n * k, rng).reshape(k, n)
            clusters: Body = {"clusters": labels(draw(st.sampled_from(CLUSTERS)), n, rng)}
            return (
                {"arms": {f"arm {place}": row.tolist() for place, row in enumerate(table)}}
                | (clusters if draw(st.booleans()) else {})
                | _some(draw, better=(None, "lower"), n_resamples=(None, 100, 2_000), alpha=(None, 1e-9, 0.5))
            )
        case "agreement":
            n, raters = draw(st.sampled_from(LARGE)), draw(st.sampled_from([2, 3, 20]))
            rng = np.random.default_rng(draw(st.integers(0, 2**32)))
            ratings = rng.integers(0, draw(st.sampled_from([1, 2, 5, 90])), (n, raters)).astype(float)
            return {"ratings": ratings.tolist()} | _some(draw, scale=(None, "interval"))
        case "prediction-powered":
            n, many = draw(st.sampled_from(SIZES)), draw(st.sampled_from(LARGE))
            rng, shape = np.random.default_rng(draw(st.integers(0, 2**32))), draw(st.sampled_from(SHAPES))
            names = {"people": n, "judge": n, "unlabelled": many}
            arm = {name: column(shape, size, rng).tolist() for name, size in names.items()}
            return {"candidate": arm} | _some(draw, baseline=(None, arm), weight=(None, 0.5))
        case "preference":
            n, k = draw(st.sampled_from(SIZES)), draw(st.sampled_from([2, 3, 20]))
            rng = np.random.default_rng(draw(st.integers(0, 2**32)))
            first = rng.integers(0, k, n)
            second = (first + rng.integers(1, k, n)) % k
            chances = draw(
                st.sampled_from([[0.4, 0.4, 0.2], [0.9, 0.05, 0.05], [0.5, 0.5, 0.0], [0.0, 0.0, 1.0]])
            )
            grouped: Body = {"clusters": labels(draw(st.sampled_from(CLUSTERS)), n, rng)}
            counted: Body = {"counts": rng.integers(1, draw(st.sampled_from([2, 10**6])), n).tolist()}
            return (
                {"first": [f"arm {each}" for each in first], "second": [f"arm {each}" for each in second]}
                | {"preferred": rng.choice(["first", "second", "tie"], n, p=chances).tolist()}
                | (grouped if draw(st.booleans()) else {})
                | (counted if draw(st.booleans()) else {})
                | _some(draw, n_resamples=(None, 100, 2_000), alpha=(None, 1e-9, 0.5))
            )
        case "repeated":
            n, rng = draw(st.sampled_from(SIZES)), np.random.default_rng(draw(st.integers(0, 2**32)))
            shape, judgements = draw(st.sampled_from(SHAPES)), draw(st.sampled_from([1, 3]))
            runs = [draw(st.sampled_from([1, 3])), draw(st.sampled_from([1, 3]))]
            both = [column(shape, n * k * judgements, rng).reshape(n, k, judgements).tolist() for k in runs]
            in_clusters: Body = {"clusters": labels(draw(st.sampled_from(CLUSTERS)), n, rng)}
            return {"baseline": both[0], "candidate": both[1]} | (in_clusters if draw(st.booleans()) else {})
        case "multiple-comparisons":
            n, rng = draw(st.sampled_from(LARGE)), np.random.default_rng(draw(st.integers(0, 2**32)))
            return {"p_values": rng.random(n).tolist()}
        case "ecs":
            n, rng = draw(st.sampled_from(SIZES)), np.random.default_rng(draw(st.integers(0, 2**32)))
            names = [f"s{each}" for each in labels(draw(st.sampled_from(CLUSTERS)), n, rng)]
            return {
                "human": rng.normal(size=n).tolist(),
                "agent": rng.normal(size=n).tolist(),
                "study": names,
            }
        case "pas":
            n = draw(st.sampled_from(SIZES))
            return {
                "tests": [
                    {"finding": f"f{each}", "human": {"pi": 0.8}, "agent": {"bf10": 3.0}} for each in range(n)
                ]
            }
        case _ if {"baseline", "candidate"} <= set(registry.find(name).request.model_fields):
            return draw(_two().map(lambda made: made[0]))
    return {}
