"""Sizes of a next study, in words."""

from __future__ import annotations

import pytest

from service.words import message, text_of


@pytest.mark.parametrize(
    ("more", "told"),
    [
        (1, "(about 1 cluster more than here, if there are as many)"),
        (2, "(about 2 clusters more than here, if there are as many)"),
    ],
)
def test_one_cluster_more_is_not_told_as_several(more: int, told: str) -> None:
    size = message(
        "notes.more_clusters", clusters="9", key="topic", items="54", more=f"{more:,}", n_more=more
    )
    assert text_of(size, "en").endswith(told)
