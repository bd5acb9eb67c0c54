"""What a pilot says of spread, correlation and missing results, and the power that rests on it."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from service.domain.plans.sections.assumptions import Assumptions
from service.domain.power.pilot import PowerPilot, anova_icc, pasteable, with_pilot
from service.errors import InvalidData
from tests.domain.sample import VALUE, plan

CLUSTERED = {"populations.0.independence": None, "populations.0.clusters": {"key": "c", "n": 20}}


def pilot(baseline, candidate, **more):
    return PowerPilot.model_validate({"baseline": tuple(baseline), "candidate": tuple(candidate), **more})


def test_the_section_rests_on_upper_ends():
    baseline = [1.0] * 30 + [0.0] * 18 + [None] * 2
    candidate = [1.0] * 26 + [0.0] * 4 + [1.0] * 8 + [0.0] * 10 + [1.0, None]
    made, (found,) = with_pilot(plan(), [pilot(baseline, candidate)])
    assert (found.n, found.n_pairs, found.hypotheses) == (50, 48, ("H1",))
    assert found.delta == pytest.approx(4 / 48)
    share = found.discordance
    assert share.estimate == pytest.approx(12 / 48)
    assert stats.binom.cdf(12, 48, share.upper) == pytest.approx(0.2)  # Clopper-Pearson's definition
    d = np.array([0.0] * 36 + [1.0] * 8 + [-1.0] * 4)
    assert found.sd.estimate == pytest.approx(d.std(ddof=1))
    assert stats.chi2.cdf(47 * (found.sd.estimate / found.sd.upper) ** 2, 47) == pytest.approx(0.2)
    assert (found.missing.baseline, found.missing.candidate) == (0.04, 0.02)
    section = pasteable(made)
    assert section["discordance"] == pytest.approx(share.upper, rel=1e-3)
    assert "effect" not in section  # the pilot's difference is not the true one
    assert Assumptions.model_validate(section) == made.assumptions


def test_the_icc_is_that_of_a_one_way_analysis_of_variance():
    rng = np.random.default_rng(1)
    codes = np.repeat(np.arange(6), [3, 4, 5, 2, 6, 4])
    d = rng.normal(size=24) + rng.normal(size=6)[codes]
    f = stats.f_oneway(*(d[codes == k] for k in range(6))).statistic
    sizes = np.bincount(codes)
    n0 = (24 - (sizes**2).sum() / 24) / 5
    found = anova_icc(d, codes)
    assert found.estimate == pytest.approx((f - 1) / (f + n0 - 1))
    assert found.upper > found.estimate


def test_the_icc_of_many_pilots_is_about_the_true_one_and_mostly_below_its_upper_end():
    rng = np.random.default_rng(2)
    codes = np.repeat(np.arange(30), 10)
    found = [
        anova_icc(
            rng.normal(scale=np.sqrt(0.8), size=300) + rng.normal(scale=np.sqrt(0.2), size=30)[codes], codes
        )
        for _ in range(400)
    ]
    assert np.mean([each.estimate for each in found]) == pytest.approx(0.2, abs=0.02)
    assert np.mean([each.upper >= 0.2 for each in found]) == pytest.approx(0.8, abs=0.06)


def test_alike_clusters_and_unvaried_differences_have_an_icc():
    codes = np.repeat(np.arange(4), 5)
    assert anova_icc(np.zeros(20), codes).estimate == 0
    assert anova_icc(codes.astype(float), codes).estimate == pytest.approx(0.999)
    assert anova_icc(np.arange(4.0), np.arange(4)) is None


def test_pilots_are_told_apart_by_what_they_are_for():
    other = {**VALUE["hypotheses"][0], "id": "H2", "endpoint": "speed"}
    changes = {
        "hypotheses.1": other,
        "endpoints.1": {"id": "speed", "kind": "continuous", "role": "secondary"},
        "assumptions": {"icc": 0.1, "hypotheses": {"H1": {"discordance": 0.5, "effect": {"value": 3, "unit": "pp"}}}},
    }  # fmt: skip
    rng = np.random.default_rng(3)
    fast = pilot(rng.normal(size=20), rng.normal(size=20), endpoint="speed")
    right = pilot([0.0, 1.0] * 10, [1.0, 1.0] * 10, endpoint="accuracy")
    made, found = with_pilot(plan(changes), [fast, right])
    assert [each.hypotheses for each in found] == [("H2",), ("H1",)]
    own = made.assumptions.of("H1")
    assert own.discordance > 0.5
    assert own.effect.value == 3  # what is stated of the truth stays
    assert made.assumptions.of("H2").sd > 1


@pytest.mark.parametrize(
    ("changes", "more", "path"),
    [
        ({}, {"candidate": (1.0,) * 9}, "pilot[0].candidate"),
        ({}, {"baseline": (0.5,) * 10}, "pilot[0].baseline"),
        ({}, {"baseline": (None,) * 7 + (1.0,) * 3}, "pilot[0].baseline"),
        ({}, {"hypothesis": "H7"}, "pilot[0]"),
        (CLUSTERED, {}, "pilot[0].clusters"),
        (CLUSTERED, {"clusters": ("a",) * 10}, "pilot[0].clusters"),
    ],
)
def test_what_of_a_pilot_cannot_be_used_is_named_without_a_value(changes, more, path):
    sent = {"baseline": (1.0,) * 10, "candidate": (0.0,) * 10, **more}
    with pytest.raises(InvalidData) as refused:
        with_pilot(plan(changes), [PowerPilot.model_validate(sent)])
    assert refused.value.faults[0].path == path
    assert "0.5" not in str(refused.value.faults)


def test_a_hypothesis_has_one_pilot():
    both = pilot([1.0] * 10, [0.0] * 10)
    with pytest.raises(InvalidData, match="say which"):
        raise_with_fix(plan(), [both, both])


def raise_with_fix(made, pilots):
    try:
        with_pilot(made, pilots)
    except InvalidData as refused:
        raise InvalidData(refused.faults[0].fix, refused.faults) from None
