"""Request bodies from rows, as the tests of several families write them."""

from __future__ import annotations


def columns(rows):
    """Two columns from (baseline, candidate) rows."""
    baseline, candidate = (list(column) for column in zip(*rows, strict=True))
    return {"baseline": baseline, "candidate": candidate}


def counts(rows, metric="f1"):
    """Decision counts of both arms from (tp, fp, fn, tp, fp, fn) rows."""
    tp, fp, fn, tp2, fp2, fn2 = (list(map(int, column)) for column in zip(*rows, strict=True))
    return {
        "baseline": {"tp": tp, "fp": fp, "fn": fn},
        "candidate": {"tp": tp2, "fp": fp2, "fn": fn2},
        "metric": metric,
    }


def table_of(both=10, c=0, b=0, neither=10):
    """The fourfold table."""
    return {"both_correct": both, "only_baseline": c, "only_candidate": b, "both_wrong": neither}


def swinging_runs() -> list[list[int]]:
    """60 runs on 100 items, of which 90 and 70 are right for 15 runs in turn."""
    return [[1] * right + [0] * (100 - right) for right in ([90] * 15 + [70] * 15) * 2]


def ends(interval):
    """Both ends of an interval."""
    return interval.low, interval.high
