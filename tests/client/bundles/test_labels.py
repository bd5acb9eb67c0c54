"""Labels in a bundle: whoever forges one, its item or the draw is found out, without the service's code."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import pytest

from forelock.bundles.draws import draw_items, order_labels

from .making import World, batch_body, block, checked, failures, judged, locked, sha256, status, text

ENDPOINTS = [
    {"id": "accuracy", "kind": "binary", "replicates": 1},
    {"id": "accuracy.audit", "kind": "binary", "replicates": 1, "labels": {"n": 2, "seed": 7}},
]


def labelled(positions: Sequence[int] | None = None, values: Sequence[float] = (1, 0)) -> World:
    """Two arms of four items, and labels of those positions; None: those that are drawn."""
    world = locked({"endpoints": ENDPOINTS})
    hashed = json.loads(world.members["plans/1.json"])["populations"][0]["items_sha256"]
    chosen = draw_items(hashed, 7, 4, 2) if positions is None else positions
    rows, number = b"", 0
    for arm in "AB":
        for endpoint, places, outcomes in (
            ("accuracy", range(4), [1, 0, 1, 1]),
            ("accuracy.audit", chosen, values),
        ):
            number += 1
            data = block(bytes([number] * 16), places, outcomes[: len(places)])
            world.log("batch", batch_body(number, arm, data, len(places)) | {"endpoint": endpoint})
            rows += data
    world.members["rows.bin"] = rows
    return world


def test_labels_of_the_drawn_items_make_it_whole() -> None:
    report = checked(judged(world=labelled()).bundle())
    assert failures(report) == ""
    assert any("12 of 12 results" in each.sentence for each in report.checks)


def test_labels_of_other_items_are_found_out() -> None:
    hashed = json.loads(labelled().members["plans/1.json"])["populations"][0]["items_sha256"]
    inside = draw_items(hashed, 7, 4, 2)
    outside = [position for position in range(4) if position not in inside]
    for places in (outside, [inside[0], outside[0]]):
        wrong = failures(checked(judged(world=labelled(places)).bundle()))
        assert "a label of an item that the plan's seed did not draw" in wrong


def test_labels_that_were_left_out_are_missed() -> None:
    hashed = json.loads(labelled().members["plans/1.json"])["populations"][0]["items_sha256"]
    assert status(judged(world=labelled(draw_items(hashed, 7, 4, 2)[:1])).bundle()) == 3


def test_a_forged_label_is_not_what_was_committed_to() -> None:
    world = judged(world=labelled())
    rows = bytearray(world.members["rows.bin"])
    other = judged(world=labelled(values=(0, 0))).members["rows.bin"]
    assert len(rows) == len(other)
    assert rows != other
    wrong = failures(checked(world.bundle(**{"rows.bin": other})))
    assert "are not those that the ledger has the hash of" in wrong


def test_another_seed_is_another_plan() -> None:
    world = judged(world=labelled())
    plan = json.loads(world.members["plans/1.json"])
    plan["endpoints"][1]["labels"]["seed"] = 8
    wrong = failures(checked(world.bundle(**{"plans/1.json": text(plan)})))
    assert "is not the plan that entry" in wrong


@pytest.mark.parametrize("labels", [{"n": 2}, {"n": "2", "seed": 7}, {"n": 0, "seed": 7}, [], "all"])
def test_odd_draws_are_told(labels: Any) -> None:
    world = locked({"endpoints": [ENDPOINTS[0], ENDPOINTS[1] | {"labels": labels}]})
    report = checked(judged(world=_collected(world)).bundle())
    assert failures(report)


def _collected(world: World) -> World:
    data = block(bytes(16), range(4), [1, 0, 1, 1])
    world.log("batch", batch_body(1, "A", data, 4))
    world.members["rows.bin"] = data
    return world


def test_the_draw_by_hand() -> None:
    """SHA-256 of three lines of text and the position, least first: as docs/labels.md tells it."""
    items = "ab" * 32
    by_hand = sorted(range(50), key=lambda at: sha256(f"forelock-labels/1\n{items}\n7\n{at}".encode()))
    assert draw_items(items, 7, 50, 12) == tuple(by_hand[:12])
    assert draw_items(items, 7, 50, 60) == tuple(by_hand)
    order = sorted(
        ((at, arm) for at in by_hand[:12] for arm in ("A", "B")),
        key=lambda label: sha256(f"forelock-labels/1/order\n{items}\n7\n{label[0]}\n{label[1]}".encode()),
    )
    assert order_labels(items, 7, 50, 12, ("A", "B")) == order
    assert draw_items(items, 8, 50, 12) != draw_items(items, 7, 50, 12)


def test_every_item_is_drawn_as_often_as_any_other() -> None:
    """Over 2,000 seeds 5 of 20 items: each within five standard errors of a quarter."""
    counts = [0] * 20
    for seed in range(2000):
        for position in draw_items("cd" * 32, seed, 20, 5):
            counts[position] += 1
    assert sum(counts) == 10_000
    assert all(abs(count - 500) < 5 * (2000 * 0.25 * 0.75) ** 0.5 for count in counts)
