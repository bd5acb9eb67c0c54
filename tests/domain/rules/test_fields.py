"""Fields of analyses by path."""

from __future__ import annotations

import math

import pytest

from service.domain.rules.answers import Answer, Observation
from service.domain.rules.fields import choices, nearest_field, shape_of
from service.domain.rules.grammar import parse
from service.domain.rules.rule import clauses
from service.domain.rules.truth import Ends, holds_throughout
from service.stats.equivalence.equivalence import EquivalenceAnalysis
from service.stats.mcnemar import McNemarAnalysis
from service.stats.ratio_of_means import RatioOfMeansAnalysis


@pytest.mark.parametrize(
    ("path", "shape"),
    [
        ("delta", "number"),
        ("statistic", "number"),
        ("n", "count"),
        ("counts.only_baseline", "count"),
        ("ci", "interval"),
        ("ci.low", "number"),
        ("ci.closed", "truth"),
        ("intervals.wald", "interval"),
        ("intervals.wald.high", "number"),
        ("odds_ratio.ci", "interval"),
        ("odds_ratio", "other"),
        ("method", "other"),
        ("sentence", "other"),
        ("intervals.unheard_of", None),
        ("ci.middle", None),
        ("delta.low", None),
        ("warnings", None),
        ("resampling.exact", None),
        ("nothing", None),
    ],
)
def test_shapes_of_an_analysis(path, shape):
    assert shape_of(McNemarAnalysis, tuple(path.split("."))) == shape


def test_choices_can_all_be_compared():
    names = choices(McNemarAnalysis)
    assert {"delta", "p_value", "ci", "odds_ratio.ci"} <= set(names)
    assert all(
        shape_of(McNemarAnalysis, tuple(name.split("."))) in ("number", "count", "interval") for name in names
    )


def test_choices_name_what_is_true_or_false():
    names = choices(EquivalenceAnalysis)
    assert {"equivalent", "noninferior", "superior", "minimum_effect"} <= set(names)
    assert shape_of(EquivalenceAnalysis, ("equivalent",)) == "truth"


ANSWER = {
    "analysis": {
        "p_value": 1e-12,
        "n": 7,
        "flag": True,
        "statistic": None,
        "nothing": None,
        "ci": {"low": 0.1, "high": None},
        "open": {"low": None, "high": None},
        "odds": {"estimate": None},
        "reasons": {
            "statistic": "an exact test has no chi-square",
            "ci.high": "infinite",
            "open": "too few clusters",
            "odds.estimate": "infinite",
        },
        "bounds": {"p_value": "< 1e-12"},
    }
}


@pytest.mark.parametrize(
    ("path", "value", "reason"),
    [
        ("n", 7, None),
        ("ci", Ends(0.1, math.inf), None),
        ("ci.high", math.inf, None),
        ("open", Ends(None, None), "too few clusters"),
        ("odds.estimate", math.inf, None),
        ("statistic", None, "an exact test has no chi-square"),
        ("nothing", None, "nothing is undefined for these data"),
        ("flag", True, None),
        ("flag.deeper", None, "flag.deeper is undefined for these data"),
        ("n.deeper", None, "n.deeper is undefined for these data"),
    ],
)
def test_observed_values_and_reasons(path, value, reason):
    seen = Answer(ANSWER).observe(*path.split("."))
    assert (seen.value, seen.reason) == (value, reason)


def test_bounds_are_kept_beside_the_value():
    assert Answer(ANSWER).observe("p_value").bound == "< 1e-12"
    assert Answer(ANSWER).observe("n").bound is None


def test_a_failed_test_gives_its_reason():
    assert Answer({"analysis": None, "reason": "one cluster"}).observe("p_value").reason == "one cluster"
    assert Answer({}).observe("p_value").value is None


KNOWN = {
    "analysis": {
        "p_value": 0.04,
        "p_better": 0.5,
        "share": 0.5,
        "ci": {"low": 0.1, "high": 0.9},
        "intervals": {"basic": {"low": 0.1, "high": 0.9}, "bca": {"low": 0.1, "high": 0.9}},
        "within": {
            "p_value": [0.03, 0.06],
            "ci.low": [-0.1, 0.2],
            "ci.high": [0.8, 1.0],
            "intervals.bca.low": [0.0, 0.2],
        },
        "undecided": {
            "p_better": "nothing varies",
            "intervals.bca.high": "too few draws",
            "intervals.basic": "flat",
        },
    }
}


def test_a_drawn_value_is_known_to_a_range():
    assert Answer(KNOWN).observe("p_value").corners == (0.03, 0.06)
    assert Answer(KNOWN).observe("ci", "low").corners == (-0.1, 0.2)
    assert Answer(KNOWN).observe("share").corners == ()
    assert set(Answer(KNOWN).observe("ci").corners) == {Ends(a, b) for a in (-0.1, 0.2) for b in (0.8, 1.0)}


def test_what_is_undecided_is_not_observed():
    assert Answer(KNOWN).observe("p_better") == Observation(None, "nothing varies")
    for path in (("intervals", "basic"), ("intervals", "basic", "low")):
        assert Answer(KNOWN).observe(*path) == Observation(None, "flat")
    half = Answer(KNOWN).observe("intervals", "bca")
    assert (half.value, half.reason) == (Ends(0.1, None), "too few draws")
    assert Answer(KNOWN).observe("intervals", "bca", "low").value == 0.1


@pytest.mark.parametrize(
    ("rule", "truth"),
    [
        ("t.p_value < 0.05", None),
        ("t.p_value < 0.07", True),
        ("t.p_value < 0.02", False),
        ("t.ci excludes 0", None),
        ("t.ci excludes -0.2", True),
        ("t.ci.low > 0", None),
        ("t.ci within (-0.5, 0.95)", None),
        ("t.ci within (-0.5, 1.1)", True),
        ("t.ci within (0.3, 1.1)", False),
    ],
)
def test_a_clause_is_told_where_it_is_the_same_all_over_the_range(rule, truth):
    (clause,) = clauses(parse(rule))
    seen = Answer(KNOWN).observe(*clause.field.path)
    assert holds_throughout(clause, seen.value, seen.corners) is truth


@pytest.mark.parametrize(
    ("model", "written", "meant"),
    [
        (RatioOfMeansAnalysis, "ci.high", "ratio.ci.high"),
        (RatioOfMeansAnalysis, "value", "ratio.value"),
        (RatioOfMeansAnalysis, "pvalue", "p_value"),
        (McNemarAnalysis, "ci.hi", "ci.high"),
        (McNemarAnalysis, "P_VALUE", "p_value"),
        (McNemarAnalysis, "discordant", "n_discordant"),
        (McNemarAnalysis, "q", None),
    ],
)
def test_a_field_that_is_not_there_has_the_one_that_was_meant(model, written, meant):
    assert nearest_field(model, tuple(written.split("."))) == meant
    assert meant is None or shape_of(model, tuple(meant.split("."))) is not None
