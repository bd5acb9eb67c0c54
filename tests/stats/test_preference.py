"""Preferences against published strengths, the likelihood maximized by others, brute force, and properties."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import optimize

from service.errors import InvalidData
from service.kernels.effects import preferences
from service.kernels.randomization import max_t
from service.stats.shared.declaring import registry
from tests.drawing import draws
from tests.simulation.reads import errors
from tests.simulation.rows import ALPHA, LEVEL, Batch, Read
from tests.stats.cases import Cases
from tests.stats.oracle import analyse, ask, codes
from tests.stats.ranked import differences_covered, like_arms_apart, parts_agree, ranks_covered

NAME = "preference"
UNIT = 400 / math.log(10)

TEAMS = ("Milwaukee", "Detroit", "Toronto", "New York", "Boston", "Cleveland", "Baltimore")
GAMES = (
    (0, 7, 9, 7, 7, 9, 11), (6, 0, 7, 5, 11, 9, 9), (4, 6, 0, 7, 7, 8, 12), (6, 8, 6, 0, 6, 7, 10),
    (6, 2, 6, 7, 0, 7, 12), (4, 4, 5, 6, 6, 0, 6), (2, 4, 1, 3, 1, 7, 0),
)  # fmt: skip
"""American League East 1987, wins of the row over the column: Agresti (2002), Categorical Data Analysis, 10.6."""
JOURNALS = ("Biometrika", "Comm Statist", "JASA", "JRSS-B")
CITED = ((0, 730, 498, 221), (33, 0, 68, 17), (320, 813, 0, 142), (284, 276, 325, 0))
"""Citations of the row by the column, 1987-88: Stigler (1994), Stat Sci 9:94."""


def body(rows, **more):
    """From (first, second, outcome, count)."""
    columns = list(zip(*rows, strict=True))
    sent = dict(zip(("first", "second", "preferred", "counts"), map(list, columns), strict=True))
    return {**sent, **more}


def of_table(names, wins, **more):
    return body(
        [
            (names[i], names[j], "first", count)
            for i, row in enumerate(wins)
            for j, count in enumerate(row)
            if count
        ],
        **more,
    )


def logs_of(found):
    return {arm.name: arm.score / UNIT for arm in found.arms}


@pytest.mark.parametrize(
    ("names", "wins", "last", "published"),
    [
        (TEAMS, GAMES, "Baltimore", (1.5814, 1.4364, 1.2945, 1.2476, 1.1077, 0.6839)),
        (JOURNALS[1:] + JOURNALS[:1], None, "Biometrika", (-2.94907, -0.47957, 0.26895)),
    ],
    ids=["baseball", "citations"],
)
def test_against_bradleyterry2(names, wins, last, published):
    """Printed in the vignette of R's BradleyTerry2 (Turner & Firth 2012, J Stat Softw 48(9)), the last arm at 0."""
    sent = of_table(names, wins) if wins else of_table(JOURNALS, CITED)
    logs = logs_of(analyse(NAME, {**sent, "n_resamples": 100}))
    gaps = [logs[name] - logs[last] for name in names if name != last]
    assert gaps == pytest.approx(published, abs=5e-5)


def test_information_against_bradleyterry2():
    """Standard errors of the same vignette are those of the model: the inverse information."""
    found = preferences.fit(np.array(CITED, dtype=float), np.zeros((4, 4)))
    inverse = np.linalg.pinv(found.information[:4, :4])
    gaps = [math.sqrt(inverse[i, i] + inverse[0, 0] - 2 * inverse[i, 0]) for i in (1, 2, 3)]
    assert gaps == pytest.approx((0.10255, 0.06059, 0.07083), abs=5e-6)


def test_against_plackettluce():
    """Turner et al. (2020), PlackettLuce's overview: A over B, B over A, B over C, C over A once each."""
    rows = [("A", "B", "first", 1), ("B", "A", "first", 1), ("C", "B", "second", 1), ("C", "A", "first", 1)]
    logs = logs_of(analyse(NAME, body(rows)))
    assert (logs["B"] - logs["A"], logs["C"] - logs["A"]) == pytest.approx((0.8392, 0.4196), abs=5e-5)


def test_two_arms_have_a_closed_form():
    """Davidson (1970): with two arms the model fits every table."""
    found = analyse(NAME, body([("a", "b", "first", 19), ("a", "b", "second", 22), ("b", "a", "tie", 16)]))
    assert [arm.name for arm in found.arms] == ["b", "a"]
    (pair,) = found.pairs
    assert pair.difference == pytest.approx(400 * math.log10(22 / 19))
    assert found.tie_parameter == pytest.approx(16 / math.sqrt(19 * 22))
    # the error by hand: log(22/19) of multinomial counts, times 57/56
    assert pair.difference / pair.t / UNIT == pytest.approx(math.sqrt((1 / 22 + 1 / 19) * 57 / 56))


rounds = st.lists(
    st.tuples(st.integers(0, 3), st.integers(1, 3), st.sampled_from(["first", "second", "tie"])),
    min_size=3, max_size=14,
).map(lambda rows: [(f"arm {i}", f"arm {(i + step) % 4}", outcome, 1) for i, step, outcome in rows])  # fmt: skip


def likelihood(rows):
    """Minus the log likelihood of log strengths, the first at 0, and log nu, written out comparison by comparison."""
    names = sorted({name for row in rows for name in row[:2]})

    def of(parameters):
        logs, nu = dict(zip(names, (0.0, *parameters[:-1]), strict=True)), math.exp(parameters[-1])
        total = 0.0
        for first, second, outcome, count in rows:
            one, other = math.exp(logs[first]), math.exp(logs[second])
            tie = nu * math.sqrt(one * other)
            chance = {"first": one, "second": other, "tie": tie}[outcome] / (one + other + tie)
            total -= count * math.log(chance)
        return total

    return names, of


def test_fit_is_the_maximum_of_the_likelihood():
    rows = [
        (f"arm {i}", f"arm {j}", outcome, 1 + (7 * i + 3 * j + 5 * at) % 11)
        for i, j in itertools.combinations(range(5), 2)
        for at, outcome in enumerate(("first", "second", "tie"))
    ]
    names, of = likelihood(rows)
    best = optimize.minimize(of, np.zeros(5), method="BFGS", options={"gtol": 1e-8})
    found = analyse(NAME, body(rows, n_resamples=100))
    logs = logs_of(found)
    assert [logs[name] - logs[names[0]] for name in names[1:]] == pytest.approx(best.x[:-1], abs=1e-5)
    assert found.tie_parameter == pytest.approx(math.exp(best.x[-1]), abs=1e-5)


def bounded(rows):
    """Whether the likelihood has a maximum: no direction leaves every comparison as likely, by linear programs."""
    names = sorted({name for row in rows for name in row[:2]})
    k, tied = len(names), any(row[2] == "tie" for row in rows)
    demands = []
    for first, second, outcome, _ in rows:
        lead = np.zeros(k + 1)
        lead[names.index(first)] += 0.5
        lead[names.index(second)] -= 0.5
        tie = np.eye(k + 1)[k] * tied
        kinds = {"first": lead, "second": -lead, "tie": tie}
        if not tied:
            kinds.pop("tie")
        demands += [kinds[outcome] - other for name, other in kinds.items() if name != outcome]
    limits = [(0, 0), *[(-1, 1)] * (k - 1), (-1, 1) if tied else (0, 0)]
    for demand in np.eye(k + 1):
        for sign in (1, -1):
            found = optimize.linprog(
                sign * demand, A_ub=-np.array(demands), b_ub=np.zeros(len(demands)), bounds=limits
            )
            if abs(found.fun) > 1e-7:
                return False
    return True


@settings(deadline=None, max_examples=draws(25))
@given(rounds)
def test_refused_is_exactly_what_has_no_maximum(rows):
    sent = body(rows)
    try:
        found = analyse(NAME, sent)
    except InvalidData:
        assert not bounded(rows)
    else:
        assert bounded(rows)
        names, of = likelihood(rows)
        logs, nu = logs_of(found), found.tie_parameter
        at = np.array([logs[name] - logs[names[0]] for name in names[1:]] + [math.log(nu) if nu else -40.0])
        for step in np.eye(len(at))[: None if nu else -1]:
            assert of(at) <= min(of(at + 1e-4 * step), of(at - 1e-4 * step)) + 1e-9


@pytest.mark.parametrize(
    ("rows", "says"),
    [
        ([("a", "b", "first", 1), ("b", "a", "first", 1), ("c", "d", "tie", 2)], "never compared.*{a, b}, {c, d}"),
        ([("a", "b", "first", 1), ("b", "a", "first", 1), ("c", "a", "first", 9)], "one way.*{c}, {a, b}"),
        ([("a", "b", "first", 1), ("a", "b", "tie", 1)], "so many ties"),
        ([("a", "b", "tie", 5)], "so many ties"),
        ([("a", "b", "first", 1), ("b", "b", "tie", 1)], "with itself in row 1"),
        ([("a", "b", "first", 1)], "single comparison"),
        ([(f"{i}", f"{i + 1}", "tie", 1) for i in range(50)], "51 arms"),
    ],
)  # fmt: skip
def test_what_has_no_estimate_is_refused_by_name(rows, says):
    with pytest.raises(InvalidData, match=says):
        analyse(NAME, body(rows))


def prompts(seed, many=40, arms=4):
    """Every prompt compares all pairs, and suits some arms."""
    rng = np.random.default_rng(seed)
    rows = {"first": [], "second": [], "preferred": [], "clusters": []}
    for prompt in range(many):
        suits = rng.normal(0, 1, arms)
        for i, j in itertools.combinations(range(arms), 2):
            chances = np.array(
                [math.exp(suits[i]), math.exp(suits[j]), 0.5 * math.exp((suits[i] + suits[j]) / 2)]
            )
            rows["first"].append(f"arm {i}")
            rows["second"].append(f"arm {j}")
            rows["preferred"].append(str(rng.choice(["first", "second", "tie"], p=chances / chances.sum())))
            rows["clusters"].append(prompt)
    return rows


def test_errors_agree_with_leaving_out_one_prompt_after_the_other():
    """The sandwich is the jackknife over clusters but for terms of second order."""
    sent = prompts(5)
    table = list(zip(sent["first"], sent["second"], sent["preferred"], [1] * len(sent["first"]), strict=True))
    left_out = []
    for prompt in range(40):
        rest = [row for row, cluster in zip(table, sent["clusters"], strict=True) if cluster != prompt]
        logs = logs_of(analyse(NAME, body(rest, n_resamples=100)))
        left_out.append(logs["arm 0"] - logs["arm 3"])
    jackknife = math.sqrt(39 / 40 * sum((each - np.mean(left_out)) ** 2 for each in left_out))
    found = analyse(NAME, sent)
    pair = next(each for each in found.pairs if {each.first, each.second} == {"arm 0", "arm 3"})
    assert pair.difference / pair.t / UNIT == pytest.approx(jackknife, rel=0.05)


def test_prompts_widen_the_errors():
    sent = prompts(3)
    alone = {name: column for name, column in sent.items() if name != "clusters"}
    with_prompts, without = analyse(NAME, sent), analyse(NAME, alone)
    assert logs_of(with_prompts) == pytest.approx(logs_of(without))
    assert with_prompts.arms[0].se != pytest.approx(without.arms[0].se, rel=0.01)
    singles = analyse(NAME, {**alone, "clusters": list(range(len(alone["first"])))})
    assert [pair.p_value for pair in singles.pairs] == [pair.p_value for pair in without.pairs]


def test_rows_that_repeat_are_counts():
    sent = prompts(8, many=6)
    alone = {name: column for name, column in sent.items() if name != "clusters"}
    rows = list(zip(alone["first"], alone["second"], alone["preferred"], strict=True))
    counted = [(*row, rows.count(row)) for row in dict.fromkeys(rows)]
    assert analyse(NAME, alone) == analyse(NAME, body(counted))


def test_copies_of_units_are_units():
    """Drawn by counts or one by one, the distribution is the same."""
    rng = np.random.default_rng(2)
    rows, copies = rng.normal(size=(6, 3)), np.array([3, 1, 2, 4, 1, 2])
    short = max_t.ManyArms(rows, np.ones(6), copies)
    long = max_t.ManyArms(np.repeat(rows, copies, axis=0), np.ones(13))
    assert short.t == pytest.approx(long.t)
    for one, other in ((short, long), (long, short)):
        exact, drawn = max_t.max_t(one, max_t.list_flips(one), 0.05), max_t.flip_signs(other, 3, range(80))
        assert max_t.max_t(other, drawn, 0.05).adjusted == pytest.approx(exact.adjusted, abs=0.015)


@settings(deadline=None, max_examples=draws(15))
@given(st.permutations(range(4)), st.booleans())
def test_names_order_and_sides_change_nothing(names, turn):
    sent = prompts(1, many=10)
    found = analyse(NAME, sent)
    called = {f"arm {old}": f"arm {new}" for old, new in enumerate(names)}
    moved = {**sent, **{side: [called[name] for name in sent[side]] for side in ("first", "second")}}
    if turn:
        other = {"first": "second", "second": "first", "tie": "tie"}
        moved |= {
            "first": moved["second"],
            "second": moved["first"],
            "preferred": [other[each] for each in sent["preferred"]],
        }
    again = analyse(NAME, moved)
    assert [called[arm.name] for arm in found.arms] == [arm.name for arm in again.arms]
    assert [arm.score for arm in again.arms] == pytest.approx([arm.score for arm in found.arms])
    assert [pair.p_value for pair in again.pairs] == pytest.approx([pair.p_value for pair in found.pairs])


def test_arms_with_the_same_results_share_a_rank():
    """Rounding had ranked one of the two below the other."""
    against = {"first": [*"aabb"], "second": [*"cccc"], "preferred": ["first", "second"] * 2}
    both = {"first": [*"ab"], "second": [*"ba"], "preferred": ["first"] * 2}
    request = {name: against[name] + both[name] for name in both}
    for counts in ([3, 17, 3, 17, 1, 1], [17, 3, 17, 3, 1, 1]):
        found = analyse(NAME, {**request, "counts": counts})
        ranks = {arm.name: arm.rank for arm in found.arms}
        assert ranks["a"] == ranks["b"]
        assert ranks["a"] + ranks["c"] in (3, 4)
    assert "'a', 'b' are equally strong and the strongest" in found.sentence


def test_scores_have_mean_0_and_counts_add_up():
    found = analyse(NAME, prompts(4))
    assert sum(arm.score for arm in found.arms) == pytest.approx(0, abs=1e-9)
    assert (
        sum(arm.wins for arm in found.arms) == sum(arm.losses for arm in found.arms) == found.n - found.n_ties
    )
    assert sum(arm.ties for arm in found.arms) == 2 * found.n_ties


def test_prompts_that_balance_show_no_spread():
    rows = [("a", "b", "first", 1), ("a", "b", "second", 1)] * 3
    answer = ask(NAME, body(rows, clusters=[1, 1, 2, 2, 3, 3]))
    assert answer.analysis.pairs[0].p_value is None
    assert "NO_SPREAD_BETWEEN" in codes(answer)


def test_uneven_counts_are_fitted():
    wins = np.array([[0, 1e9, 0], [1, 0, 1e9], [0, 1, 0]])
    found = preferences.fit(wins, np.zeros((3, 3)))
    assert np.diff(found.logs) == pytest.approx([-math.log(1e9)] * 2)


def simulated() -> Iterator[Batch]:
    """What is drawn where the truth is known."""
    alike = (
        errors("n_apart", "of any pair"),
        Read("coverage", "", LEVEL, label="of all differences", judge=differences_covered),
    )
    graded = (
        Read("type I error", "", ALPHA, label="of any like pair", judge=like_arms_apart),
        Read("coverage", "", LEVEL, label="of all ranks", judge=ranks_covered),
    )
    for world, reads in (
        ("preferences", alike),
        ("preferences-30-prompts", alike),
        ("graded-preferences", graded),
    ):
        yield Batch(world, NAME, reads, {"n_resamples": 1_000}, simulations=4_000)


def bodies():
    yield from (body(rows) for rows in (
        [("a", "b", "first", 1), ("b", "a", "first", 1)], [("a", "b", "tie", 2)],
        [("a", "b", "first", 10**6), ("a", "b", "second", 1), ("a", "b", "tie", 10**6)],
        [("a", "b", "first", 1), ("b", "c", "first", 1), ("c", "a", "first", 1)],
        [("a", "b", "first", 10**6), ("b", "c", "first", 10**6), ("c", "a", "first", 1)],
        [("a", "b", "first", 1), ("b", "a", "first", 1), ("c", "d", "tie", 2)], [("a", "a", "tie", 3)],
        [(f"{i}", f"{i + 1}", side, 2) for i in range(20) for side in ("first", "second", "tie")],
    ))  # fmt: skip
    yield {"first": [], "second": [], "preferred": []}
    yield prompts(1, many=3)
    yield {**prompts(1, many=3), "clusters": [7] * 18}


def many(comparisons, arms, **more):
    rng = np.random.default_rng(0)
    first = rng.integers(0, arms, comparisons)
    second = (first + rng.integers(1, arms, comparisons)) % arms
    chosen = rng.choice(["first", "second", "tie"], comparisons)
    return {
        "first": [f"arm {each}" for each in first],
        "second": [f"arm {each}" for each in second],
        "preferred": chosen.tolist(),
        **more,
    }


CASES = Cases(
    degenerate=bodies,
    growing=[
        lambda k: many(3000 * k, 4),
        lambda k: many(300 * k, 4, clusters=[each // 3 for each in range(300 * k)]),
        lambda k: many(300, 4, n_resamples=1000 * k),
    ],
    unmirrored="it has no baseline and candidate: its own tests rename and turn the sides around",
    simulated=simulated,
)


def test_drawing_in_parts_changes_nothing():
    assert parts_agree(registry.find(NAME).request.model_validate(many(60, 3, n_resamples=1000)).units)
