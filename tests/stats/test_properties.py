"""What holds for whole families of tests: symmetry, invariance, monotonicity, duality, bounds.

Cases are declared beside the tests of each, as `mirrored`. `test_property_matrix.py` says which
family has which property, and why not where it has not; docs/differences.md shows it.
"""

from __future__ import annotations

import json

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from service.errors import ForelockError
from service.stats.shared.declaring import registry
from tests.stats.cases import cases_of, declared, file_of, on_arms
from tests.stats.oracle import ask
from tests.stats.properties import FEW, assert_same, new_names, randoms

MARGIN = {"value": 10, "unit": "pp"}
SCORES = {"value": 0.5, "unit": "score"}

binary = st.lists(st.tuples(st.integers(0, 1), st.integers(0, 1)), min_size=2, max_size=40)
eighths = st.integers(-16, 16).map(lambda k: k / 8)
scores = st.lists(st.tuples(eighths, eighths), min_size=3, max_size=10)


def cases(*rows):
    return [
        pytest.param(name, options, id="-".join([name, *map(str, options.values())])[:60])
        for name, options in rows
    ]


BINARY, PAIRED_SCORES, INDEPENDENT = on_arms("binary"), on_arms("paired scores"), on_arms("runs")
CLUSTERED, IN_ORDER, FLIPPED = on_arms("clusters"), on_arms("order"), on_arms("halves")


def body_of(rows, order=None):
    rows = rows if order is None else [rows[k] for k in order]
    baseline, candidate = (list(column) for column in zip(*rows, strict=True))
    return {"baseline": baseline, "candidate": candidate}


def clusters_of(rows):
    """Uneven clusters, four or more where there are enough rows."""
    return [k % 3 if k < len(rows) // 2 else 3 + k // 4 for k in range(len(rows))]


def told(name, body, options):
    """The analysis as JSON, or the refusal."""
    try:
        answer = ask(name, body, **options)
    except ForelockError as refused:
        return None, str(refused.problem_code)
    return json.loads(answer.analysis.model_dump_json()), answer.provenance


# --- swapping the arms ---

NEGATED = {
    "delta", "t", "z", "cohens_d", "hedges_g", "cohens_dz", "rank_biserial", "cohens_g", "bootstrap_mean",
    "item_weighted", "cluster_weighted", "delta_median_unbiased", "t_lower", "t_upper", "z_lower", "z_upper", "side",
}  # fmt: skip
SWAPPED = dict([
    *(pair for a, b in (
        ("only_baseline", "only_candidate"), ("w_plus", "w_minus"), ("u", "u_baseline"), ("baseline", "candidate"),
        ("baseline_value", "candidate_value"), ("baseline_rate", "candidate_rate"), ("n_wins", "n_losses"),
        ("fraction_le_0", "fraction_ge_0"), ("fraction_lt_0", "fraction_gt_0"), ("p_lower", "p_upper"),
        ("t_lower", "t_upper"), ("z_lower", "z_upper"),
    ) for pair in ((a, b), (b, a))),
])  # fmt: skip
SWAPPED |= {a: b for cases in declared().values() for pair in cases.swapped for a, b in (pair, pair[::-1])}
ENDS = {"low": "high", "band_low": "band_high", "sequence_low": "sequence_high", "lower": "upper"}
ENDS |= {high: low for low, high in ENDS.items()}
WORDS = {"positive": "negative", "negative": "positive", "baseline": "candidate", "candidate": "baseline"}
ONE_SIDED = {
    "sentence", "reasons", "bounds", "odds_ratio", "glass_delta", "improvement_pct", "noninferior", "superior",
    "minimum_effect", "p_better", "statistic", "critical",
}  # fmt: skip
"""What names one arm as the reference, so that it has no mirror image of its own kind."""


def mirrored(value, name=""):
    """What the analysis of the swapped arms has to be."""
    if isinstance(value, dict):
        return {
            SWAPPED.get(key, ENDS.get(key, key)): mirrored(inner, key)
            for key, inner in value.items()
            if key not in ONE_SIDED
        }
    if isinstance(value, list):
        return [mirrored(each, name) for each in value]
    if isinstance(value, str):
        return WORDS.get(value, value)
    if value is None or isinstance(value, bool):
        return value
    return -value if name in NEGATED or name in ENDS else 1 - value if name == "common_language" else value


def kept(value):
    """The analysis without what has no mirror image."""
    if isinstance(value, dict):
        return {key: kept(inner) for key, inner in value.items() if key not in ONE_SIDED}
    return [kept(each) for each in value] if isinstance(value, list) else value


def assert_mirrors(name, options, rows, clusters=None):
    extra = {} if clusters is None else {"clusters": clusters}
    one, first = told(name, {**body_of(rows), **extra}, options)
    other, second = told(name, {**body_of([(b, a) for a, b in rows]), **extra}, options)
    if one is None or other is None:
        assert one is other
        assert first == second
    elif first.exact:
        assert_same(kept(other), mirrored(one))


@pytest.mark.parametrize(("name", "options"), cases(*BINARY, *IN_ORDER, *FLIPPED))
@FEW
@given(rows=binary)
def test_swapping_binary_arms_mirrors_every_field(name, options, rows):
    assert_mirrors(name, options, rows)


@pytest.mark.parametrize(("name", "options"), cases(*PAIRED_SCORES, *INDEPENDENT))
@FEW
@given(rows=scores)
def test_swapping_arms_of_scores_mirrors_every_field(name, options, rows):
    assert_mirrors(name, options, rows)


@pytest.mark.parametrize(
    ("name", "options"), cases(*CLUSTERED, *((n, {**o, "size_cap": 40}) for n, o in IN_ORDER[1:3]))
)
@FEW
@given(rows=binary)
def test_swapping_clustered_arms_mirrors_every_field(name, options, rows):
    assert_mirrors(name, options, rows, clusters_of(rows))


# --- order of items and names of clusters ---


@pytest.mark.parametrize(
    ("name", "options", "clustered"),
    [
        *((n, o, False) for n, o in (*BINARY, *FLIPPED)),
        *((n, o, True) for n, o in (*CLUSTERED, FLIPPED[0], FLIPPED[3])),
    ],
)
@FEW
@given(rows=binary, random=randoms)
def test_order_of_items_and_names_of_clusters_do_not_matter(name, options, clustered, rows, random):
    order = random.sample(range(len(rows)), len(rows))
    labels, renamed = clusters_of(rows), new_names(random)
    one, first = told(name, body_of(rows) | ({"clusters": labels} if clustered else {}), options)
    moved = body_of(rows, order) | ({"clusters": [renamed[labels[k]] for k in order]} if clustered else {})
    other, second = told(name, moved, options)
    if one is None or other is None:
        assert one is other
        assert first == second
    elif first.exact:
        for each in (one, other):
            if each.get("clusters"):
                each["clusters"]["sizes"] = sorted(each["clusters"]["sizes"] or [])
            each.pop("sentence")  # a number on a rounding edge may print either way
        assert_same(other, one)


@pytest.mark.parametrize(("name", "options"), cases(*PAIRED_SCORES, *INDEPENDENT))
@FEW
@given(rows=scores, random=randoms)
def test_order_of_scores_does_not_matter(name, options, rows, random):
    order = random.sample(range(len(rows)), len(rows))
    one, first = told(name, body_of(rows), options)
    other, second = told(name, body_of(rows, order), options)
    if one is None or other is None:
        assert first == second
    elif first.exact:
        one.pop("sentence")
        other.pop("sentence")
        assert_same(other, one)


@FEW
@given(rows=binary, random=randoms)
def test_names_of_clusters_do_not_matter_in_an_order(rows, random):
    labels, renamed = clusters_of(rows), new_names(random)
    for name, options in (*((n, {**o, "size_cap": 40}) for n, o in IN_ORDER[1:3]), ("cumulative-effect", {})):
        one = told(name, body_of(rows) | {"clusters": labels}, options)
        other = told(name, body_of(rows) | {"clusters": [renamed[k] for k in labels]}, options)
        assert one[0] == other[0], name


@FEW
@given(rows=binary, random=randoms)
def test_the_end_of_a_sequence_forgets_its_order(rows, random):
    order = random.sample(range(len(rows)), len(rows))
    for options in ({"method": "e_process"}, {"method": "group_sequential", "looks": [len(rows)]}):
        one, other = (told("sequential", body_of(rows, o), options)[0] for o in (None, order))
        if options["method"] == "e_process":
            assert one["e_process"]["log_e"] == pytest.approx(other["e_process"]["log_e"], abs=1e-9)
        else:
            assert one["looks"] == other["looks"]
    one, other = (told("cumulative-effect", body_of(rows, o), {})[0] for o in (None, order))
    assert_same(other["ci"], one["ci"])


# --- monotone in the discordant counts ---

FALLING = [
    *(("mcnemar", {"method": each}, "p_value") for each in ("exact", "midp", "asymptotic", "corrected")),
    ("paired-difference", {}, "p_value"),
    ("paired-bootstrap", {}, "p_value"),
    ("randomization", {}, "p_value"),
    ("wilcoxon", {}, "p_value"),
    ("t-test", {"method": "paired"}, "p_value"),
    ("equivalence", {"method": "tango", "margin": MARGIN}, "p_lower"),
    ("equivalence", {"method": "t", "margin": MARGIN}, "p_lower"),
    ("sequential", {"method": "group_sequential", "looks": [40]}, "p_value"),
    ("sequential", {"method": "group_sequential", "looks": [40]}, "-delta_median_unbiased"),
    ("sequential", {"method": "confidence_sequence"}, "-delta"),
    ("cumulative-effect", {}, "-delta"),
    ("cumulative-effect", {}, "-ci.low"),
    ("cumulative-effect", {}, "-ci.high"),
    ("cumulative-effect", {"band": "percentile"}, "-ci.low"),
]


def field(analysis, path):
    for part in path.lstrip("-").split("."):
        analysis = None if analysis is None else analysis[part]
    return None if analysis is None else -analysis if path.startswith("-") else analysis


@pytest.mark.parametrize(("name", "options", "path"), FALLING)
@FEW
@given(
    rows=st.lists(st.sampled_from([(1, 0), (0, 1), (1, 1), (0, 0)]), min_size=40, max_size=40), random=randoms
)
def test_a_loss_turned_into_a_win_speaks_for_the_candidate(name, options, path, rows, random):
    losses = [k for k, row in enumerate(rows) if row == (1, 0)]
    assume(losses)
    better = list(rows)
    better[random.choice(losses)] = (0, 1)
    side = {} if name in ("equivalence", "cumulative-effect") or options.get("method") == "confidence_sequence" else {
        "alternative": "greater"
    }  # fmt: skip
    before, after = (
        field(told(name, body_of(each), {**options, **side})[0], path) for each in (rows, better)
    )
    if before is not None and after is not None:
        assert after <= before + 1e-9


@FEW
@given(rows=st.lists(st.sampled_from([(1, 0), (0, 1), (1, 1)]), min_size=6, max_size=24), random=randoms)
def test_a_loss_turned_into_a_win_never_raises_the_p_of_a_sign_flip(rows, random):
    """A flip is as extreme when the flipped sums add up to 0 or less, and that is rarer with any larger sum."""
    losses = [k for k, row in enumerate(rows) if row == (1, 0)]
    assume(losses)
    better, clusters = list(rows), {"clusters": clusters_of(rows)}
    better[random.choice(losses)] = (0, 1)
    for name in ("clustered-mcnemar", "randomization"):
        before, after = (
            told(name, body_of(each) | clusters, {"alternative": "greater"})[0] for each in (rows, better)
        )
        if before is not None and after is not None:
            assert after["p_value"] <= before["p_value"] + 1e-12


def test_a_win_can_raise_the_t_p_of_clusters():
    """Four clusters won by 1, 1, 1 and 3: with 5 in the last, they agree less."""

    def p(last):
        wins = (1, 1, 1, last)
        rows = [row for w in wins for row in [(0, 1)] * w + [(1, 1)] * (8 - w)]
        clusters = {"clusters": [k // 8 for k in range(32)]}
        return told("clustered-mcnemar", body_of(rows) | clusters, {"method": "cr2_t"})[0]["p_value"]

    assert p(5) > p(3)


@FEW
@given(st.integers(0, 30), st.integers(0, 30))
def test_one_more_win_or_one_less_loss_raises_the_e_value_of_a_leader(b, c):
    def log_e(wins, losses):
        rows = [(0, 1)] * wins + [(1, 0)] * losses + [(1, 1)]
        return told("sequential", body_of(rows), {"method": "e_process"})[0]["e_process"]["log_e"]

    if b > c:
        assert log_e(b + 1, c) > log_e(b, c)
        if c:
            assert log_e(b, c - 1) > log_e(b, c)


# --- interval and test say the same ---

DUAL = [
    *((name, options, scores) for name, options in (
        ("t-test", {"method": "welch"}), ("t-test", {"method": "student"}), ("t-test", {"method": "paired"}),
        ("wilcoxon", {"method": "exact"}), ("mann-whitney", {"method": "exact"}),  # with ties: one way only
    )),
    ("paired-difference", {"method": "tango"}, binary),
    ("sequential", {"method": "group_sequential", "looks": [2, 40], "boundary": "pocock_spending"}, binary),
]  # fmt: skip


@pytest.mark.parametrize(("name", "options", "data"), DUAL)
@pytest.mark.parametrize("level", [0.8, 0.95])
@FEW
@given(choice=st.data())
def test_interval_excludes_zero_exactly_when_the_test_rejects(name, options, data, level, choice):
    rows = choice.draw(data)
    side = {"alpha": 1 - level} | ({} if name == "sequential" else {"level": level})
    found, _ = told(name, body_of(rows), {**options, **side})
    ci = found["ci"]
    if ci is None or ci["low"] is None or ci["high"] is None or found["p_value"] is None:
        return
    gap = max(ci["low"], -ci["high"])  # above 0: zero is outside
    if abs(gap) > 1e-9 and abs(found["p_value"] - (1 - level)) > 1e-9:
        rejected = found["p_value"] < 1 - level
        if found.get("n_nonzero", found["n"]) < found["n"]:
            return  # the interval uses the zeros, which the test drops or ranks
        if found.get("n_ties"):
            assert rejected or gap <= 0
        else:
            assert (gap > 0) is rejected


# --- bounds ---


@pytest.mark.parametrize(("name", "options"), cases(*BINARY, *IN_ORDER))
@FEW
@given(rows=binary)
def test_binary_answers_stay_within_their_bounds(name, options, rows):
    assert_bounded(told(name, body_of(rows), options)[0], 1.0)


@pytest.mark.parametrize(("name", "options"), cases(*CLUSTERED))
@FEW
@given(rows=binary)
def test_clustered_answers_stay_within_their_bounds(name, options, rows):
    assert_bounded(told(name, {**body_of(rows), "clusters": clusters_of(rows)}, options)[0], 1.0)


@pytest.mark.parametrize(("name", "options"), cases(*PAIRED_SCORES, *INDEPENDENT))
@FEW
@given(rows=scores)
def test_answers_on_scores_stay_within_their_bounds(name, options, rows):
    assert_bounded(told(name, body_of(rows), options)[0], 4.0)


WITHIN_RANGE = ("tango", "newcombe", "percentile", "hodges-lehmann", "hedged")
"""Intervals that cannot leave the range of a difference, by the start of their method's name; t, Wald, basic can."""


def assert_bounded(found, most):
    """p within (0, 1] and not below the least that can be; delta and its interval within the range."""
    if found is None:
        return
    p, least, ci = found.get("p_value"), found.get("min_attainable_p"), found.get("ci")
    assert p is None or 0 < p <= 1
    if p is not None and least is not None and "p_value" not in found["bounds"]:
        assert p >= least * (1 - 1e-9)
    delta = found.get("delta")
    assert delta is None or abs(delta) <= most
    if (
        "design" in found and "conclusion" not in found
    ):  # the interval of an effect size is not in units of delta
        return
    if ci is not None and ci["low"] is not None and ci["high"] is not None:
        assert ci["low"] <= ci["high"]
        assert (
            "delta" not in found or ci["low"] - 1e-9 <= delta <= ci["high"] + 1e-9 or found.get("stopped_at")
        )
        if ci["method"].startswith(WITHIN_RANGE):
            assert -most <= ci["low"]
            assert ci["high"] <= most


def test_every_test_of_two_arms_is_in_a_case():
    """A new test of two arms says how it is mirrored, or why it is not."""
    for name, test in registry.latest().items():
        if {"baseline", "candidate"} <= set(test.request.model_fields):
            cases = cases_of(name)
            assert cases.mirrored or cases.unmirrored, f"fill `mirrored` of CASES in {file_of(name)}"
