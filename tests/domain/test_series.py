"""Runs of a series: what they are kept as, and where a series ends."""

from __future__ import annotations

import numpy as np
import pytest

from service.domain import series
from service.domain.series import Content, NewRun, PackedRuns, SeriesSettings, judge
from service.errors import Conflict


def run(name: str, item_ids: list[str], values: list[float | None], **more: object) -> NewRun:
    return NewRun.model_validate({"name": name, "item_ids": item_ids, "values": values, **more})


def test_a_run_is_the_same_in_whatever_order_its_items_come() -> None:
    one = Content.of(run("a", ["x", "y", "z"], [1, 0, None], clusters=["k", "k", "l"]))
    other = Content.of(run("a", ["z", "x", "y"], [None, 1, 0], clusters=["l", "k", "k"]))
    assert one == other
    assert one != Content.of(run("a", ["z", "x", "y"], [None, 0, 1], clusters=["l", "k", "k"]))
    assert one != Content.of(run("a", ["z", "x", "y"], [None, 1, 0], clusters=["k", "k", "l"]))


def test_what_is_packed_comes_back() -> None:
    runs = PackedRuns().with_run(Content.of(run("a", ["y", "x"], [0, 1])))
    runs = runs.with_run(Content.of(run("b", ["x", "y"], [None, 0.5])))
    assert len(runs.rosters) == 1
    first, second = runs.columns()
    assert (first.item_ids, first.clusters, first.values.tolist()) == (["x", "y"], None, [1.0, 0.0])
    assert np.array_equal(second.values, [np.nan, 0.5], equal_nan=True)
    assert judge(runs.columns(), 1, SeriesSettings()).n == 1


def test_names_that_every_run_has_of_its_own_have_an_end(monkeypatch: pytest.MonkeyPatch) -> None:
    """Else a series of few values makes every post hold as much text as all runs were sent with."""
    monkeypatch.setattr(series, "MOST_TEXT", 400)
    runs = PackedRuns()
    for _ in range(5):
        runs = runs.with_run(Content.of(run("same", ["a" * 150], [1])))
    runs = runs.with_run(Content.of(run("other", ["b" * 150], [1])))
    with pytest.raises(Conflict, match="new reference") as full:
        runs.with_run(Content.of(run("third", ["c" * 150], [1])))
    assert full.value.problem_code == "series_full"
