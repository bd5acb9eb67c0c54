"""How far a slice of right and wrong items speaks for either side."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats as reference

from service.stats.shared.methods.slicing import lean


def test_a_slice_of_counts_leans_by_mcnemars_z():
    """With 10 discordant items and more: the root of a chi-square of the two counts."""
    difference = np.r_[np.ones(14), -np.ones(4), np.zeros(30)]
    z = np.sqrt(reference.chisquare([14, 4]).statistic)
    assert lean(difference, np.arange(48), by_score=True).above == pytest.approx(z)
    assert lean(-difference, np.arange(48), by_score=True).below == pytest.approx(z)
