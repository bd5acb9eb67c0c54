"""Cochran's rule: n below 25 times the squared skewness."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from service.stats.shared.data.skewness import warn_if_skewed
from tests.stats.oracle import ask, codes

SCORE = {"value": 0.5, "unit": "score"}


def away(values):
    return np.asarray(values) - np.mean(values)


def lopsided(n, seed=3):
    """A column of that length whose skewness is that of exponential values."""
    return [
        round(float(x), 3) for x in stats.expon.ppf(np.random.default_rng(seed).permutation(n) / n + 0.5 / n)
    ]


def even(n, seed=3):
    return [round(float(x), 3) for x in np.random.default_rng(seed).permutation(np.linspace(-1, 1, n))]


@settings(deadline=None, max_examples=60)
@given(st.lists(st.integers(-50, 50), min_size=10, max_size=80), st.integers(1, 1000), st.integers(-9, 9))
def test_by_definition_whatever_the_unit(values, factor, shift):
    if len(set(values)) == 1:
        return
    n, skewness = len(values), float(stats.skew(values))
    expected = n < 25 * skewness**2
    if abs(n - 25 * skewness**2) > 1e-6:
        assert bool(warn_if_skewed(away(values), "items")) is expected
        assert bool(warn_if_skewed(away([shift + factor * x for x in values]), "items")) is expected


def test_the_sentence_names_skewness_and_what_is_needed():
    values = [0.0] * 19 + [1.0]
    (warning,) = warn_if_skewed(away(values), "items")
    skewness = stats.skew(values)
    assert f"({skewness:+.1f})" in warning.message
    assert f"about {int(25 * skewness**2) + 1} on" in warning.message


def test_copies_count_as_items():
    parts, copies = away([0.0] * 37 + [4.0, 4.0, 9.0]), np.ones(40)
    short = np.array([parts[0], parts[37], parts[39]])
    assert (
        warn_if_skewed(parts, "items", copies)
        == warn_if_skewed(parts, "items")
        == warn_if_skewed(short, "items", np.array([37.0, 2.0, 1.0]))
    )


def test_fewer_than_ten_are_left_to_other_warnings():
    assert not warn_if_skewed(away([0.0] * 8 + [1.0]), "items")
    assert warn_if_skewed(away([0.0] * 9 + [1.0]), "items")


def test_huge_values_do_not_overflow():
    assert warn_if_skewed(away([0.0] * 11 + [1e150]), "items")


PAIRED = {
    "t-test": {"method": "paired"},
    "paired-bootstrap": {},
    "randomization": {},
    "equivalence": {"method": "t", "margin": SCORE},
}


@pytest.mark.parametrize("name", PAIRED)
def test_paired_scores(name):
    for column, fires in ((lopsided(40), True), (lopsided(160), False), (even(40), False)):
        body = {"baseline": [0.0] * len(column), "candidate": column}
        assert ("SKEWED" in codes(ask(name, body, **PAIRED[name]))) is fires
    shared = lopsided(40)
    body = {"baseline": shared, "candidate": [a + b for a, b in zip(shared, even(40), strict=True)]}
    assert "SKEWED" not in codes(ask(name, body, **PAIRED[name])), "the differences are what is tested"


def test_bootstrap_intervals_of_equivalence():
    body = {"baseline": [0.0] * 40, "candidate": lopsided(40), "margin": SCORE, "method": "bootstrap_ci"}
    assert "SKEWED" in codes(ask("equivalence", body))


@pytest.mark.parametrize("name", ["paired-bootstrap", "randomization", "equivalence"])
def test_counts_of_right_and_wrong_speak_for_themselves(name):
    options = {"margin": {"value": 5, "unit": "pp"}, "method": "t"} if name == "equivalence" else {}
    body = {"baseline": [0] * 100, "candidate": [1] * 5 + [0] * 95}
    assert "SKEWED" not in codes(ask(name, body, **options))


CLUSTERED = {
    "cluster-bootstrap": {},
    "paired-bootstrap": {},
    "randomization": {},
    "clustered-mcnemar": {"method": "cr2_t"},
    "equivalence": {"method": "t", "margin": SCORE},
}


@pytest.mark.parametrize("name", CLUSTERED)
def test_sums_of_clusters_are_what_counts(name):
    def body(sums, sizes):
        return {
            "baseline": [0.0] * sum(sizes),
            "candidate": [d / n for d, n in zip(sums, sizes, strict=True) for _ in range(n)],
            "clusters": [label for label, n in enumerate(sizes) for _ in range(n)],
        }

    assert "SKEWED" in codes(ask(name, body(lopsided(40), [2] * 40), **CLUSTERED[name]))
    assert "SKEWED" not in codes(ask(name, body(even(40), [2] * 40), **CLUSTERED[name]))
    few = codes(ask(name, body(lopsided(20), [2] * 20), **CLUSTERED[name]))
    assert ("CAUTION" in few, "SKEWED" in few) == (True, False), "few clusters are told already"


@pytest.mark.parametrize("method", ["welch", "student"])
def test_independent_arms_of_one_shape_and_size_cancel(method):
    skew, round_ = lopsided(30), even(30)
    alone = {"baseline": even(60), "candidate": lopsided(12)}
    assert "SKEWED" in codes(ask("t-test", alone, method=method))
    assert "SKEWED" not in codes(
        ask("t-test", {"baseline": skew, "candidate": lopsided(30, 4)}, method=method)
    )
    both = {"baseline": skew, "candidate": lopsided(30, 4)}
    assert "SKEWED" in codes(ask("bootstrap-difference", both)), "each arm is resampled on its own"
    assert "SKEWED" not in codes(ask("bootstrap-difference", {"baseline": round_, "candidate": even(30, 4)}))


def test_one_column():
    assert "SKEWED" in codes(ask("describe", {"values": lopsided(40)}))
    assert "SKEWED" not in codes(ask("describe", {"values": even(40)}))
