"""Agreement against published tables, statsmodels, definitions by pairs, and resampling."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from statsmodels.stats.inter_rater import aggregate_raters, cohens_kappa, fleiss_kappa

from service.errors import InvalidData
from tests.simulation.rows import LEVEL, Batch, Read
from tests.stats.cases import Cases
from tests.stats.oracle import analyse, ask
from tests.stats.soundness import sound

NAME = "agreement"
N = None
KRIPPENDORFF = [list(unit) for unit in zip(
    [1, 2, 3, 3, 2, 1, 4, 1, 2, N, N, N], [1, 2, 3, 3, 2, 2, 4, 1, 2, 5, N, 3],
    [N, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, N], [1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, N], strict=True,
)]  # fmt: skip
"""Krippendorff (2011), section E: four observers, twelve units."""
GWET = [["yes", "yes"]] * 118 + [["yes", "no"]] * 5 + [["no", "yes"]] * 2
"""Gwet (2008), table 1: 125 subjects."""
GWET_NUMBERS = [[float(x == "yes") for x in unit] for unit in GWET]
FLEISS = (
    "444444 222555 233335 555555 222444 113333 333355 113334 114444 555555 144444 124444 222333 144444 224445 "
    "333335 111455 111112 224444 133555 555555 244444 224555 114444 144445 222224 111155 224444 133333 555555"
)
"""Fleiss (1971), table 1: 30 patients and what six psychiatrists said of each, in any order of raters."""


def test_against_krippendorff_2011():
    assert analyse(NAME, {"ratings": KRIPPENDORFF}).krippendorff_alpha.value == pytest.approx(0.743, abs=5e-4)
    found = analyse(NAME, {"ratings": KRIPPENDORFF}, scale="ordinal")
    assert found.krippendorff_alpha.value == pytest.approx(0.815, abs=5e-4)
    found = analyse(NAME, {"ratings": KRIPPENDORFF}, scale="interval")
    assert found.krippendorff_alpha.value == pytest.approx(0.849, abs=5e-4)
    assert (found.n, found.n_ratings) == (11, 40)  # the unit with one rating tells nothing


def test_against_gwet_2008():
    found = analyse(NAME, {"ratings": GWET})
    assert found.gwet_ac1.value == pytest.approx(0.9408, abs=5e-5)
    assert found.cohen_kappa.value == pytest.approx(-0.0234, abs=5e-5)


def test_items_of_one_rater_count_in_the_shares_of_gwet_and_fleiss():
    """irrCAC, by Gwet, prints these of Krippendorff's table (`cac.raw4raters`); its last unit has one rating."""
    found = analyse(NAME, {"ratings": KRIPPENDORFF})
    assert found.gwet_ac1.value == pytest.approx(0.77544, abs=5e-6)
    assert found.fleiss_kappa.value == pytest.approx(0.76117, abs=5e-6)
    units = [[x for x in unit if x is not None] for unit in KRIPPENDORFF]
    shares = np.array([np.mean([unit.count(k) / len(unit) for unit in units]) for k in range(1, 6)])
    agree = np.mean([
        sum(a == b for a, b in combinations(unit, 2)) / (len(unit) * (len(unit) - 1) / 2)
        for unit in units if len(unit) > 1
    ])  # fmt: skip
    by_chance = float(shares @ shares)
    assert found.fleiss_kappa.value == pytest.approx((agree - by_chance) / (1 - by_chance))
    by_chance = float(shares @ (1 - shares)) / 4
    assert found.gwet_ac1.value == pytest.approx((agree - by_chance) / (1 - by_chance))


def test_a_category_of_items_of_one_rater_is_one_of_ac1s():
    found = analyse(NAME, {"ratings": [["a", "a"], ["a", "a"], ["b", None]]})
    assert found.n_categories == 2
    assert found.gwet_ac1.value == found.fleiss_kappa.value == 1
    assert found.krippendorff_alpha.value is None


def test_against_fleiss_1971():
    found = analyse(NAME, {"ratings": [list(row) for row in FLEISS.split()]})
    assert found.fleiss_kappa.value == pytest.approx(0.430, abs=5e-4)
    assert found.agreement == pytest.approx(0.556, abs=5e-4)


def test_agrees_with_statsmodels():
    rng = np.random.default_rng(1)
    ratings = np.where(rng.random((40, 3)) < 0.6, rng.integers(0, 4, (40, 1)), rng.integers(0, 4, (40, 3)))
    found = analyse(NAME, {"ratings": ratings.tolist()})
    assert found.fleiss_kappa.value == pytest.approx(fleiss_kappa(aggregate_raters(ratings)[0]))
    two = np.histogram2d(ratings[:, 0], ratings[:, 1], bins=4)[0]
    theirs, ours = cohens_kappa(two), analyse(NAME, {"ratings": ratings[:, :2].tolist()}).cohen_kappa
    assert ours.value == pytest.approx(theirs.kappa)
    # another error of the same thing: the delta method's
    assert ours.se == pytest.approx(theirs.std_kappa, rel=0.1)


@pytest.mark.parametrize("scale", ["nominal", "ordinal", "interval"])
def test_alpha_by_definition(scale):
    """One less observed over expected disagreement of pairs, within units and among all ratings."""
    units = [[x for x in unit if x is not None] for unit in KRIPPENDORFF]
    units = [unit for unit in units if len(unit) > 1]
    together = [x for unit in units for x in unit]

    def apart(a, b):
        if scale == "ordinal":
            between = sum(min(a, b) <= x <= max(a, b) for x in together)
            return (between - (together.count(a) + together.count(b)) / 2) ** 2
        return float(a != b) if scale == "nominal" else (a - b) ** 2

    seen = sum(2 * apart(a, b) / (len(unit) - 1) for unit in units for a, b in combinations(unit, 2))
    chance = sum(2 * apart(a, b) for a, b in combinations(together, 2)) / (len(together) - 1)
    found = analyse(NAME, {"ratings": KRIPPENDORFF}, scale=scale)
    assert found.krippendorff_alpha.value == pytest.approx(1 - seen / chance)


@pytest.mark.parametrize("scale", ["nominal", "ordinal", "interval"])
def test_the_jackknife_leaves_out_whole_clusters(scale):
    labels = [k % 4 for k in range(11)] + ["none"]
    labels = [str(each) for each in labels]
    found = analyse(NAME, {"ratings": KRIPPENDORFF, "clusters": labels}, scale=scale)
    without = np.array([
        analyse(
            NAME,
            {"ratings": [unit for unit, at in zip(KRIPPENDORFF, labels, strict=True) if at != str(g)]},
            scale=scale,
        )
        .krippendorff_alpha.value
        for g in range(4)
    ])  # fmt: skip
    assert found.n_clusters == 4
    assert found.krippendorff_alpha.se == pytest.approx(
        np.sqrt(3 / 4 * ((without - without.mean()) ** 2).sum())
    )


def test_names_raters_and_order_do_not_matter():
    one = analyse(NAME, {"ratings": GWET})
    turned = [[{"yes": 7.0, "no": 1.0}[x] for x in reversed(unit)] for unit in reversed(GWET)]
    other = analyse(NAME, {"ratings": turned})
    for name in ("cohen_kappa", "fleiss_kappa", "gwet_ac1", "krippendorff_alpha"):
        assert getattr(other, name).value == pytest.approx(getattr(one, name).value)
        assert getattr(other, name).se == pytest.approx(getattr(one, name).se)
    alpha = analyse(NAME, {"ratings": KRIPPENDORFF}, scale="interval").krippendorff_alpha
    moved = [[None if x is None else 1e6 + 3 * x for x in unit] for unit in KRIPPENDORFF]
    found = analyse(NAME, {"ratings": moved}, scale="interval").krippendorff_alpha
    assert found.value == pytest.approx(alpha.value)


def test_of_grades_the_order_alone_counts():
    alpha = analyse(NAME, {"ratings": KRIPPENDORFF}, scale="ordinal").krippendorff_alpha
    for to in (lambda x: x**5, lambda x: -x, lambda x: 1e200 * x):
        moved = [[None if x is None else to(float(x)) for x in unit] for unit in reversed(KRIPPENDORFF)]
        found = analyse(NAME, {"ratings": moved}, scale="ordinal").krippendorff_alpha
        assert (found.value, found.se) == (pytest.approx(alpha.value), pytest.approx(alpha.se))
    assert analyse(
        NAME,
        {"ratings": GWET_NUMBERS},
        scale="ordinal",
        # two grades are two categories
    ).krippendorff_alpha.value == pytest.approx(analyse(NAME, {"ratings": GWET}).krippendorff_alpha.value)


def test_one_category_has_no_agreement_beyond_chance():
    found = sound(ask(NAME, {"ratings": [["a", "a"]] * 5})).analysis
    assert found.agreement == 1
    assert found.cohen_kappa.value is found.gwet_ac1.value is found.krippendorff_alpha.value is None


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ({"ratings": [[1, 2], [1]]}, "has 1 ratings"),
        ({"ratings": [[1], [1]]}, "has 1 ratings"),
        ({"ratings": [[1, None], [None, 2]]}, "no item that two raters rated"),
        ({"ratings": [["a", "b"]] * 3, "scale": "interval"}, "names"),
        ({"ratings": [["a", "b"]] * 3, "scale": "ordinal"}, "no order"),
        ({"ratings": [[k, k] for k in range(101)]}, "more than 100"),
        ({"ratings": [[1, 2]], "clusters": [1, 2]}, "clusters"),
    ],
)
def test_what_cannot_be_used_is_refused(body, message):
    with pytest.raises(InvalidData, match=message):
        ask(NAME, body)


def bodies():
    for ratings in (
        [], [[]], [[1, 1]], [[1, 2]], [[1, 1], [2, 2]], [[0, 1]] * 4, [[1, 1]] * 4, [["a", None], ["a", "b"]],
        [[1e149, -1e149], [0, 1]], [[5e-324, 0], [0, 5e-324]], [[0.1, 0.1 + 1e-17]] * 3, [[None, None]], [[1, "a"]],
        [[1, 2, None], [None, 2, 2], [1, 1, 1]], [[1e200, 1.0]] * 2,
    ):  # fmt: skip
        yield {"ratings": ratings}
        yield {"ratings": ratings, "clusters": ["a"] * len(ratings)}
        yield {"ratings": ratings, "scale": "ordinal"}


def covered(each):
    """The interval holds the truth of that world: .64, since the kinds are alike often."""
    return each.low is not None and each.low <= 0.64 <= each.high


def kappa_covered(found):
    return covered(found.fleiss_kappa)


def alpha_covered(found):
    return covered(found.krippendorff_alpha)


def simulated():
    """What is drawn where the truth is known."""
    reads = (
        Read("coverage", "", LEVEL, label="of Fleiss' kappa", judge=kappa_covered),
        Read("coverage", "", LEVEL, label="of Krippendorff's alpha", judge=alpha_covered),
    )
    yield Batch("three-raters", NAME, reads)


CASES = Cases(
    degenerate=bodies,
    growing=[
        lambda k: {"ratings": [[0, 1], [1, 1]] * (1000 * k)},
        lambda k: {"ratings": [[0] * max(2, k)] * 200},  # raters
    ],
    unmirrored="it has raters and no arms: its own tests turn them",
    simulated=simulated,
)
