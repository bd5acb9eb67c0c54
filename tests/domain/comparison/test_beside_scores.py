"""What stands beside an answer about scores, whatever their unit and whoever was not seen."""

from __future__ import annotations

import numpy as np
import pytest

from tests.domain.comparison.claims import compared
from tests.domain.comparison.worlds import body
from tests.drawing import mostly_slow


def test_no_warning_of_independent_scores_speaks_of_clusters():
    for values in ([1.0, 2.0, 3.0, 4.0, 5.0], [0.1 * (i % 3) for i in range(59)] + [40.0]):
        answer = compared(body([0.0] * len(values), values))
        assert answer.warnings
        assert not [
            each.message
            for each in answer.warnings
            if "flipping" in each.message and "clusters" in each.message
        ]
        assert not [
            each.message for each in answer.warnings if each.code == "SKEWED" and "clusters" in each.message
        ]


def test_no_worse_by_the_bounds_stands_beside_no_floor_of_sign_flips():
    """Five items and a wide margin: the bounds rule the loss out, where "nothing can be rejected here" stood."""
    answer = compared(body([0.5] * 5, [0.5, 0.5, 0.5, 0.5, 0.75], margin={"value": 0.6, "unit": "score"}))
    assert answer.outcome == "no_worse"
    # 1 - .025^(1/5): the chance of so many items without a loss, of a share that is lost outright
    assert answer.ci.low == pytest.approx(-(1 - 0.025**0.2), abs=0.05)
    assert "FLOOR_ABOVE_ALPHA" not in {each.code for each in answer.warnings}
    small = compared(body([0.5] * 5, [0.5, 0.5, 0.5, 0.5, 0.75], margin={"value": 0.3, "unit": "score"}))
    assert small.outcome == "cannot_tell"
    assert "FLOOR_ABOVE_ALPHA" in {each.code for each in small.warnings}


@pytest.mark.parametrize("size", mostly_slow([1e-300, 1e-12, 1e12, 1e140]))
@pytest.mark.parametrize("clusters", mostly_slow([False, True]))
def test_the_unit_of_scores_changes_no_answer(size, clusters):
    """Interval ends closer than 1e-9 to 0 counted as 0, whatever the scores were."""
    rng = np.random.default_rng(8)
    labels = [f"c{row // 5}" for row in range(100)] if clusters else None
    before = rng.uniform(1, 3, 100)
    for shift in (0.0, 0.3, -0.3):
        after = before + shift + rng.normal(0, 0.1, 100)

        def asked(unit, after=after):
            more = {"margin": {"value": 0.2 * unit, "unit": "score"}} if size < 1 else {}
            return compared(
                body(before * unit, after * unit, labels, range={"low": 0, "high": 5 * unit}, **more)
            )

        one, other = asked(1.0), asked(size)
        assert (other.outcome, other.more == ()) == (one.outcome, one.more == ())
        assert other.ci.low / size == pytest.approx(one.ci.low, rel=1e-6, abs=1e-9)


def test_whole_clusters_that_were_not_seen_are_covered_where_asked():
    rng = np.random.default_rng(6)
    labels = [f"c{row // 5}" for row in range(200)]
    before = (rng.random(200) < 0.6).astype(float)
    after = before.copy()
    after[:20:5] = 1 - before[:20:5]
    request = body(before, after, labels, ["a", "b"] * 100, margin={"value": 8, "unit": "pp"})
    items, whole = compared(request), compared(request | {"unseen": "clusters"})
    # 40 clusters of one size, none of them lost: no less than Clopper and Pearson's share
    assert whole.ci.low < -(1 - 0.025 ** (1 / 40))
    assert whole.ci.low < items.ci.low - 0.03
    assert (items.outcome, whole.outcome) == ("no_worse", "cannot_tell")
    assert "is not covered (--unseen clusters covers it)" in items.rule
    assert "clusters lost as a whole" in whole.rule
    assert "not covered" not in whole.rule
    assert whole.more[0].total > 40
    more = compared(body(np.tile(before, 3), np.tile(after, 3), [f"{at}{each}" for at in range(3) for each in labels],
                      margin={"value": 8, "unit": "pp"}, unseen="clusters"))  # fmt: skip
    assert more.outcome == "no_worse"
    lost = [each.ci.low for each in whole.slices.results]
    assert all(
        one < other for one, other in zip(lost, [each.ci.low for each in items.slices.results], strict=True)
    )
