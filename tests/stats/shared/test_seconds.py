"""What the bootstrap and the flips cost by their data, before anything is drawn."""

from __future__ import annotations

import numpy as np
import pytest

from service.kernels.exact.inversion import LARGEST_SHARE, LEAST_VALUES
from service.stats.shared.declaring.seconds import looks_smooth, scores_seconds

N = 4 * LEAST_VALUES


@pytest.mark.parametrize(
    ("tied", "outlying", "smooth"), [(0.5, False, True), (1.5, False, False), (0, True, False)], ids=str
)
def test_a_sum_is_inverted_where_no_value_is_frequent_and_none_far_out(
    tied: float, outlying: bool, smooth: bool
) -> None:
    """`tied` of the largest share that one value may have."""
    values = np.random.default_rng(1).random(N)
    values[: int(tied * LARGEST_SHARE * N)] = 0.5
    if outlying:
        values[-1] = 1000.0
    assert looks_smooth(values) is smooth
    draws = scores_seconds(values, N, 10_000)
    assert (draws < 0.5) is smooth
