"""Every sentence says what its own analysis holds: the numbers are read back out of the words."""

from __future__ import annotations

import re
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from service.stats.shared.declaring import registry
from service.stats.shared.declaring.common import Interval
from service.stats.shared.declaring.sentences import amount, disagreement, level_text, p_text, percent, within
from tests.drawing import draws
from tests.stats.oracle import analyse
from tests.strategies import paired_binary, paired_scores

AMOUNT = r"([+-][\d.e+-]+|0)( pp)?"
SETTINGS = settings(
    deadline=None,
    max_examples=draws(60),
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
)
OF_ONE = settings(SETTINGS, max_examples=draws(20))
"""Examples of one test where many take part."""
ALPHAS = st.sampled_from([0.05, 0.01, 0.1, 0.025, 0.5, 0.0703125])
LEVELS = st.sampled_from([0.95, 0.9, 0.99, 0.999999])
ALTERNATIVES = st.sampled_from(["two-sided", "greater", "less"])


COUNTS = ("mcnemar", "paired-difference")
PAIRS = ("paired-bootstrap", "randomization", "clustered-mcnemar", "cluster-bootstrap", "bounded-difference")
SCORES = (
    "wilcoxon", "t-test", "mann-whitney", "bootstrap-difference", "randomization", "paired-bootstrap",
    "cluster-bootstrap", "bounded-difference",
)  # fmt: skip
"""Tests whose sentences `check_tested` reads, by what they are asked."""

OWN = ("quantile-difference", "ratio-of-means", "repeated")
"""Tests whose sentences say other things: their own tests read them."""


@pytest.mark.parametrize("name", ["randomization", "clustered-mcnemar"])
def test_where_there_is_no_interval_none_is_said_to_hold_0(name):
    clusters = {"clusters": list(range(8))} if name == "clustered-mcnemar" else {}
    body = {"baseline": [0.1] * 8, "candidate": [0.3] * 8, **clusters}
    told = analyse(name, body).sentence
    assert "is rejected" in told or "are rejected" in told
    assert "no interval" in told
    assert "The interval holds" not in told


def test_every_test_of_a_plan_has_its_sentence_read():
    read = {*COUNTS, *PAIRS, *SCORES, "equivalence", "sequential", *OWN}
    planned = {each.name for each in registry.every() if each.plan is not None and each.plan.arms == 2}
    unread = ", ".join(sorted(planned - read))
    assert not unread, f"{unread}: name it in COUNTS, PAIRS or SCORES here, or in OWN with a test of its own"
    assert read <= planned, f"no plan may use {', '.join(sorted(read - planned))}"


def value_of(number, unit):
    return float(number) / (100 if unit else 1)


def near(told, value, unit):
    """Whether a printed amount is the number, as far as it was printed, and of its sign."""
    digits = 6e-5 if unit else 6e-4 * abs(value)
    return abs(told - value) <= digits and (told > 0) == (value > 0) and (told < 0) == (value < 0)


def check_tested(sentence, found, body):
    """Delta, interval, level, alternative, alpha, p and decision, and a word where interval and test differ."""
    number, unit = re.search(rf"(?:by|is|shift) {AMOUNT}", sentence).groups()
    assert near(value_of(number, unit), found.delta, unit)
    ci = found.ci
    if "ci" in found.undecided:
        assert "CI" not in sentence
    if "ci" in found.undecided or (ci is not None and ci.low is None and "no interval" in sentence):
        ci = None
    if ci is not None and ci.low is not None and ci.high is not None:
        level, low, low_unit, high, high_unit = re.search(
            rf"([\d.]+)% [^()]*?CI {AMOUNT} to {AMOUNT}", sentence
        ).groups()
        assert float(level) / 100 == pytest.approx(ci.level, abs=1e-12)
        assert near(value_of(low, low_unit), ci.low, low_unit)
        assert near(value_of(high, high_unit), ci.high, high_unit)
    if found.p_value is None:
        assert "rejected" not in sentence
        return
    assert f"{body['alternative']}," in sentence
    relation, p = re.search(r"\bp ([<=]) ([\d.e-]*\d)", sentence).groups()
    alpha = float(re.search(r"rejected at alpha ([\d.e-]+\d)", sentence)[1])
    assert alpha == body["alpha"]
    if "leaves open whether" in sentence:
        most = 1.0 if "p_value" in found.undecided else found.within["p_value"][1]
        assert found.p_value < alpha <= most
        assert "although the test" not in sentence
        return
    rejected = "not rejected" not in sentence
    assert rejected == (found.p_value < alpha)
    if relation == "=":
        assert float(p) == pytest.approx(found.p_value, rel=0.06, abs=5.1e-4)
        assert (float(p) < alpha) == rejected
    explained = "although the test" in sentence
    if ci is None:
        return
    low, high = (-1e9 if ci.low is None else ci.low, 1e9 if ci.high is None else ci.high)
    apart = (low > 0 or high < 0) != rejected
    assert not explained or apart
    if apart and min(abs(low), abs(high)) > 1e-9:
        assert explained, sentence


@st.composite
def options(draw):
    return {"alpha": draw(ALPHAS), "level": draw(LEVELS), "alternative": draw(ALTERNATIVES)}


def in_clusters(arms):
    """Clusters of about three; None where there would be one."""
    n = len(arms[0])
    return [i % max(2, n // 3) for i in range(n)] if n > 1 else None


def columns(arms):
    return {"baseline": arms[0].tolist(), "candidate": arms[1].tolist()}


README = {"both_correct": 1, "only_baseline": 1, "only_candidate": 7, "both_wrong": 12}
PLAIN = {"alpha": 0.05, "level": 0.95, "alternative": "two-sided"}


@SETTINGS
@given(
    st.fixed_dictionaries(
        dict.fromkeys(("both_correct", "only_baseline", "only_candidate"), st.integers(0, 40))
        | {"both_wrong": st.integers(1, 40)}
    ),
    options(),
    st.sampled_from(["exact", "midp", "asymptotic", "corrected"]),
    st.sampled_from(["tango", "newcombe", "wald"]),
)
@example(README, PLAIN, "exact", "tango")
@example(README, {**PLAIN, "alpha": 0.0703125}, "exact", "tango")
def test_sentences_of_counts(counts, asked, method, interval):
    for name, how in zip(COUNTS, (method, interval), strict=True):
        body = {**counts, **asked, "method": how}
        found = analyse(name, body)
        check_tested(found.sentence, found, body)


def check_columns(arms, asked, name):
    """The sentence of a test that is asked with two columns, and clusters where it needs them."""
    body = {**columns(arms), **asked}
    if name.startswith("cluster"):
        body["clusters"] = in_clusters(arms)
        if body["clusters"] is None:
            return
    if "bootstrap" in name and not np.isin(arms, (0, 1)).all():
        body["n_resamples"] = 200
    if name == "bounded-difference":
        body["range"] = {"low": min(0.0, float(np.min(arms))), "high": max(1.0, float(np.max(arms)))}
    found = analyse(name, body)
    if "undefined" not in found.sentence:
        check_tested(found.sentence, found, body)


@pytest.mark.parametrize("name", PAIRS)
@OF_ONE
@given(paired_binary(), options())
def test_sentences_of_pairs(name, arms, asked):
    check_columns(arms, asked, name)


@pytest.mark.parametrize("name", SCORES)
@OF_ONE
@given(paired_scores(max_items=12), options())
def test_sentences_of_scores(name, arms, asked):
    check_columns(arms, asked, name)


@pytest.mark.parametrize("method", ["group_sequential", "e_process", "confidence_sequence"])
@OF_ONE
@given(
    paired_binary(),
    st.sampled_from([0.05, 0.01, 0.1, 0.025]),
    ALTERNATIVES,
    st.sampled_from([2, 0.125, 30]),
    st.booleans(),
)
def test_sentences_of_looks(method, arms, alpha, alternative, margin, ended):
    n = len(arms[0])
    body = {**columns(arms), "method": method, "alpha": alpha, "order_seed": 3}
    if method == "confidence_sequence":
        body["margin"] = {"value": margin, "unit": "pp"}
    else:
        body["alternative"] = alternative
    if method == "group_sequential":
        body["looks"] = [n, 2 * n] if not ended or n < 2 else [n // 2, n]
    found = analyse("sequential", body)
    sentence = found.sentence
    if found.decision is None:
        assert "nothing was decided" in sentence
        return
    assert float(re.search(r"at alpha ([\d.e-]+\d)", sentence)[1]) == alpha
    assert (" is rejected at" in sentence) == (found.decision == "reject")
    assert ("so far" in sentence) == (found.decision == "continue")
    assert ("which does not show equality" in sentence) == (found.decision == "do_not_reject")
    if found.decision == "reject" and found.stopped_at:
        assert re.search(r"after (\d+) ", sentence)[1] == str(found.stopped_at)
    if found.delta is not None:
        number, unit = re.search(rf"naively {AMOUNT}", sentence).groups()
        assert near(value_of(number, unit), found.delta, unit)
    told = re.search(rf"([\d.]+)% CI {AMOUNT} to {AMOUNT}", sentence)
    assert (told is None) == (found.ci is None)
    if told is not None:
        assert float(told[1]) / 100 == pytest.approx(found.ci.level, abs=1e-12)
        assert near(value_of(told[2], told[3]), found.ci.low, told[3])
        assert near(value_of(told[4], told[5]), found.ci.high, told[5])
    p = re.search(r"\bp ([<=]) ([\d.e-]*\d)", sentence)
    assert (p is None) == (found.p_value is None)
    if p is not None:
        assert (p[1] == "<") == ("p_value" in found.bounds or found.p_value < 1e-99)
        if p[1] == "=":
            assert float(p[2]) == pytest.approx(found.p_value, rel=0.06, abs=5.1e-4)
            assert (float(p[2]) < alpha) == (found.p_value < alpha)
    if found.equivalent is not None:
        assert float(re.search(r"±([\d.]+) pp", sentence)[1]) == margin
        assert ("lies inside" in sentence) == found.equivalent


@SETTINGS
@given(
    paired_binary(),
    st.sampled_from([2, 0.125, 7.5, 30]),
    st.sampled_from(["tango", "t", "bootstrap_ci"]),
    st.sampled_from([0.05, 0.025, 0.1]),
)
def test_sentences_of_equivalence(arms, margin, method, alpha):
    body = {**columns(arms), "margin": {"value": margin, "unit": "pp"}, "method": method, "alpha": alpha}
    found = analyse("equivalence", body)
    sentence = found.sentence
    assert float(re.search(r"±([\d.]+) pp", sentence)[1]) == margin
    if found.equivalent is None:
        assert "undecided" in sentence
        return
    level, low, unit, high, _ = re.search(rf"([\d.]+)% \w+ CI {AMOUNT} to {AMOUNT}", sentence).groups()
    assert float(level) / 100 == pytest.approx(1 - 2 * alpha)
    assert near(value_of(low, unit), found.ci.low, unit)
    assert near(value_of(high, unit), found.ci.high, unit)
    rejected = " are rejected" in sentence
    assert rejected == found.equivalent
    if "beyond ±" in sentence and "whole interval" in sentence:
        assert found.ci.low > found.margin or found.ci.high < -found.margin
    else:
        assert float(re.search(r"at alpha ([\d.]+\d)", sentence)[1]) == alpha
        p = re.search(r"p = ([\d.e-]+\d)", sentence)
        if p and not rejected:
            assert (float(p[1]) >= alpha) or "the interval decides" in sentence


@settings(deadline=None, max_examples=draws(15), suppress_health_check=[HealthCheck.too_slow])
@given(
    st.floats(0, 0.3), st.floats(0, 0.3), st.sampled_from([0.05, 0.1]), st.sampled_from(["mcnemar", "tango"])
)
@example(0.02, 0.02, 0.05, "tango")
@example(0.05, 0.05, 0.05, "mcnemar")
def test_sentences_of_a_design(p_b, p_c, alpha, test):
    body = {"test": test, "p_only_baseline": p_b, "p_only_candidate": p_c, "alpha": alpha}
    if test == "tango":
        body["margin"] = {"value": 20, "unit": "pp"}
    for name, size in (("power", {"n": 150}), ("sample-size", {"max_n": 2_000})):
        found = analyse(name, body, **size)
        sentence = found.sentence
        assert float(re.search(r"at alpha ([\d.]+\d)", sentence)[1]) == alpha
        assert ("equivalence within ±20.00 pp" in sentence) == (test == "tango")
        assert "TOST" not in sentence
        if found.n is None:
            continue
        assert re.search(r"With (\d+) items", sentence)[1] == str(found.n)
        number, unit = re.search(rf"true difference (?:is|of) {AMOUNT}", sentence).groups()
        assert near(value_of(number, unit), found.delta, unit)
        if name == "sample-size":
            assert f"a {'larger' if test == 'tango' else 'smaller'} true difference needs more" in sentence
        else:
            assert float(re.search(r"with chance ([\d.]+\d)", sentence)[1]) == pytest.approx(
                found.power, abs=6e-4
            )


def test_the_first_example_says_why_interval_and_test_differ():
    assert analyse("mcnemar", README).sentence.endswith(
        "The interval excludes 0 although the test does not reject: the interval is Tango's approximation, "
        "the p-value exact and so larger."
    )


def test_a_one_sided_test_beside_a_two_sided_interval_is_named():
    body = {"both_correct": 100, "only_baseline": 30, "only_candidate": 46, "both_wrong": 10}
    found = analyse("paired-bootstrap", body)
    assert found.p_value < 0.05
    assert found.ci.low < 0
    assert (
        "The interval holds 0 although the test rejects: the interval looks at both sides" in found.sentence
    )


def test_amounts_have_no_false_zero_and_no_signed_one():
    assert [percent(x) for x in (0.02, 0.0, -0.0, 3e-6, -0.5)] == [
        "+2.00 pp",
        "0 pp",
        "0 pp",
        "+0.0003 pp",
        "-50.00 pp",
    ]
    assert [amount(x, binary=False) for x in (0.0, 0.25, -3)] == ["0", "+0.25", "-3"]
    told = [within(Fraction(x), binary=True) for x in ("0.02", "0.00125", "0.3")]
    assert told == ["±2.00 pp", "±0.125 pp", "±30.00 pp"]
    assert [within(Fraction(x), binary=False) for x in ("0.5", "1000", "2")] == ["±0.5", "±1000", "±2"]


def test_a_level_is_never_rounded_up_to_certainty_nor_p_across_alpha():
    assert [level_text(x) for x in (0.95, 1 - 2 * 0.035, 0.9999999)] == ["95%", "93%", "99.99999%"]
    assert p_text(0.0499999, None, 0.05) == "p = 0.0499999"
    assert p_text(0.05, None, 0.05) == "p = 0.050"


def test_an_interval_that_touches_zero_contradicts_nothing():
    ci = Interval(low=0.0, high=1.0, level=0.95, method="any")
    assert disagreement(ci, 0.01, 0.05, "two-sided", "methods differ") == ""
