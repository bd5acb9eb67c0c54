"""Simulated data as the body of a comparison."""

from __future__ import annotations

from typing import Any

import numpy as np

Body = dict[str, Any]
ARMS = ("baseline", "candidate")


def body(baseline, candidate, clusters=None, slices=None, **more) -> Body:
    """Two columns as rows by item id."""
    ids = [f"item-{row}" for row in range(len(baseline))]
    labels = {
        name: list(column)
        for name, column in (("clusters", clusters), ("slices", slices))
        if column is not None
    }

    def arm(values) -> Body:
        return {
            "item_ids": list(ids),
            "values": [None if each is None else float(each) for each in values],
            **labels,
        }

    return {"baseline": arm(baseline), "candidate": arm(candidate), **more}


def of_world(drawn: Body, **more) -> Body:
    """A data set of tests/simulation/worlds.py: columns, repeats (as an item's mean), or the four counts."""
    if "baseline" in drawn:
        arms = (np.asarray(drawn[name]).reshape(len(drawn[name]), -1).mean(axis=1) for name in ARMS)
        labels = drawn.get("clusters")
        return body(*arms, None if labels is None else [str(each) for each in labels], **more)
    cells = np.repeat(
        [[1, 1], [1, 0], [0, 1], [0, 0]],
        [drawn[name] for name in ("both_correct", "only_baseline", "only_candidate", "both_wrong")],
        axis=0,
    )
    return body(cells[:, 0], cells[:, 1], **more)
