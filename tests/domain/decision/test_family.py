"""A family over many data sets: against statsmodels, and against itself one data set at a time."""

from __future__ import annotations

import gc
from typing import Any

import numpy as np
import pytest
from statsmodels.stats.multitest import multipletests

from service.domain.decision.family import Family

NAMES = ("H1", "H2", "H3", "H4")
P = np.random.default_rng(3).random((1, 50, 4)) ** 3
THEIRS = {"bonferroni": "bonferroni", "holm": "holm", "hommel": "hommel", "bh": "fdr_bh", "by": "fdr_by"}


@pytest.mark.parametrize("policy", THEIRS)
def test_every_data_set_is_adjusted_as_statsmodels_adjusts_it(
    policy: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    # statsmodels collects garbage at every call, which takes seconds among all that a run holds.
    monkeypatch.setattr(gc, "collect", lambda: 0)
    family = Family(policy, NAMES, P)
    ours = np.stack([family.adjust(name, P[..., at])[0] for at, name in enumerate(NAMES)], axis=-1)
    theirs = np.stack([multipletests(row, method=THEIRS[policy])[1] for row in P[0]])
    assert ours == pytest.approx(theirs, rel=1e-12)


@pytest.mark.parametrize("policy", ["holm", "bonferroni", "bh", "max_t"])
def test_many_data_sets_are_decided_as_each_alone(policy: Any) -> None:
    fallbacks = {"H2": P[..., 3][..., ::-1], "H4": P[..., 0]}
    data = np.array([0, 0, 2, 3]) if policy == "max_t" else None
    many = Family(policy, NAMES, P, fallbacks, frozenset({"H4"}), data=data)
    together = [many.adjust(name, P[..., at]) for at, name in enumerate(NAMES)]
    for row in range(P.shape[1]):
        chosen = slice(row, row + 1)
        beside = {name: p[:, chosen] for name, p in fallbacks.items()}
        one = Family(policy, NAMES, P[:, chosen], beside, frozenset({"H4"}), data=data)
        for at, name in enumerate(NAMES):
            assert one.adjust(name, P[:, chosen, at]) == together[at][:, chosen]


def test_what_has_no_p_counts_as_one_for_others_and_stays_undefined() -> None:
    p = P.copy()
    p[..., 1] = np.nan
    family, filled = (Family("holm", NAMES, each) for each in (p, np.where(np.isnan(p), 1.0, p)))
    assert np.isnan(family.adjust("H2", p[..., 1])).all()
    assert family.adjust("H1", p[..., 0]) == pytest.approx(filled.adjust("H1", p[..., 0]))


def test_a_range_of_a_drawn_p_gives_the_range_of_its_adjusted_one() -> None:
    least, most = P * 0.9, np.minimum(P * 1.1, 1.0)
    family = Family("holm", NAMES, np.concatenate([P, least, most]))
    own = np.stack([P[0, :, 0], least[0, :, 0], most[0, :, 0]])
    value, low, high = family.adjust("H1", own)
    assert np.all((low <= value) & (value <= high))
