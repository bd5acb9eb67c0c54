"""Series of runs: what an alarm is, what it is called, and what is said of gaps and of runs that improved first."""

from __future__ import annotations

import math

import numpy as np
import pytest

from service.errors import InvalidData
from tests.stats.cases import Cases
from tests.stats.oracle import analyse, ask, codes
from tests.stats.soundness import sound

NAME = "run-series"


def runs_of(shares, runs, seed=1):
    """0 and 1 by item: one row of shares per entry of `shares`, each for so many `runs`."""
    rng = np.random.default_rng(seed)
    return [
        (rng.random(len(row)) < row).astype(int).tolist()
        for row, many in zip(shares, runs, strict=True)
        for _ in range(many)
    ]


ALIKE = {"nights": "alike"}
LEVELS = np.random.default_rng(2).beta(0.8, 0.5, 300)
DROPPED = LEVELS * 0.85


def test_against_the_exact_mcnemar_test():
    analysis = analyse(NAME, {"runs": [[1] * 10, [1] * 8 + [0] * 2]})
    assert analysis.runs[1].p_value == pytest.approx(0.25, abs=1e-9)
    assert analysis.runs[1].delta == pytest.approx(-0.2)
    counts = {"both_correct": 8, "only_baseline": 2, "only_candidate": 0, "both_wrong": 0}
    assert analysis.runs[1].p_value == pytest.approx(
        analyse("mcnemar", counts | {"alternative": "less"}).p_value, abs=1e-9
    )


def test_an_alarm_stays_and_names_its_start():
    body = {"runs": runs_of([LEVELS, DROPPED, LEVELS], [12, 4, 2]), "n_reference": 3}
    answer = sound(ask(NAME, body))
    analysis = answer.analysis
    assert analysis.outcome == "dropped"
    assert analysis.since == 13
    assert 13 <= analysis.alarm <= 16
    assert "Dropped since about run '13'" in analysis.sentence
    assert analysis.evidence[analysis.alarm - 1] >= 1000 > max(analysis.evidence[3 : analysis.alarm - 1])
    before = analyse(NAME, body | {"runs": body["runs"][:12]})
    assert before.outcome == "no_drop_shown"
    assert before.evidence == analysis.evidence[:12]
    assert "No drop is shown in 9 runs" in before.sentence


def test_runs_that_improved_and_fell_back_are_not_called_worse_than_the_reference():
    weak = LEVELS * 0.6
    analysis = analyse(
        NAME, {"runs": runs_of([weak, LEVELS, LEVELS * 0.8], [3, 10, 4]), "n_reference": 3} | ALIKE
    )
    assert analysis.outcome == "dropped"
    assert "Fell back since about run '14'" in analysis.sentence
    assert "still better than that" in analysis.sentence


def test_a_margin_is_a_drop_that_is_accepted():
    body = {"runs": runs_of([LEVELS, DROPPED], [8, 6]), "n_reference": 4} | ALIKE
    assert analyse(NAME, body).outcome == "dropped"
    accepted = analyse(NAME, body | {"margin": {"value": 20, "unit": "pp"}})
    assert accepted.outcome == "no_drop_shown"
    assert accepted.margin == pytest.approx(0.2)


@pytest.mark.parametrize(("nights", "bad"), [("alike", 4), ("vary", 12)])
def test_lower_is_better_is_the_mirror_image(nights, bad):
    rows = np.array(runs_of([LEVELS, DROPPED], [6, bad]), dtype=float)
    one = analyse(NAME, {"runs": rows.tolist(), "n_reference": 3, "nights": nights})
    other = analyse(
        NAME, {"runs": (1 - rows).tolist(), "n_reference": 3, "better": "lower", "nights": nights}
    )
    assert one.evidence == pytest.approx(other.evidence)
    assert (one.outcome, other.outcome) == ("dropped", "dropped")
    assert one.runs[-1].delta == pytest.approx(-other.runs[-1].delta)


def test_neither_the_order_of_items_nor_what_clusters_are_called_matters():
    rng = np.random.default_rng(4)
    rows, clusters = rng.integers(0, 2, (5, 40)), np.repeat(np.arange(10), 4)
    order = rng.permutation(40)
    one = analyse(NAME, {"runs": rows.tolist(), "clusters": clusters.tolist()})
    other = analyse(
        NAME, {"runs": rows[:, order].tolist(), "clusters": [f"c{9 - code}" for code in clusters[order]]}
    )
    assert one.evidence == pytest.approx(other.evidence)
    alone = analyse(NAME, {"runs": rows.tolist(), "clusters": list(range(40))})
    assert alone.evidence == pytest.approx(analyse(NAME, {"runs": rows.tolist()}).evidence)


def test_nights_that_swing_are_no_drop_unless_they_are_said_to_be_alike():
    rng = np.random.default_rng(6)
    levels = np.clip(LEVELS + rng.normal(0, 0.04, 40)[:, None], 0, 1)
    body = {"runs": (rng.random(levels.shape) < levels).astype(int).tolist(), "n_reference": 5}
    vary, alike = analyse(NAME, body), analyse(NAME, body | ALIKE)
    assert (vary.outcome, alike.outcome) == ("no_drop_shown", "dropped")
    assert all(one <= other for one, other in zip(vary.evidence[5:], alike.evidence[5:], strict=True))
    assert vary.e_value <= alike.e_value
    assert [each.p_value for each in vary.runs] == [each.p_value for each in alike.runs]


def test_a_series_says_how_soon_a_drop_would_show():
    body = {"runs": runs_of([LEVELS], [12]), "n_reference": 3}
    analysis = sound(ask(NAME, body)).analysis
    five, ten = analysis.runs[-1].foretold
    assert (five.drop, ten.drop) == (0.05, 0.1)
    assert ten.runs < 10 < five.runs
    assert analysis.open.endswith(
        f"takes about so many more runs to show, or more: {five.runs} for 5.00 pp, {ten.runs} for 10.00 pp."
    )
    young = analyse(NAME, body | {"runs": body["runs"][:4]})
    assert "more than 40 for 5.00 pp, " in young.open
    assert analyse(NAME, body | ALIKE).runs[-1].foretold == ()
    wide = analyse(NAME, {"runs": (np.array(body["runs"]) * 7).tolist(), "n_reference": 3})
    assert wide.runs[-1].foretold == ()
    assert wide.open == "Not shown: that there was none; small drops take more runs to show."


@pytest.mark.parametrize("better", ["higher", "lower"])
def test_an_interval_beside_no_drop_is_said_to_be_of_one_run(better: str):
    good, worse = [1] * 70 + [0] * 30, [1] * 58 + [0] * 12 + [0] * 30
    if better == "lower":
        good, worse = [1 - value for value in good], [1 - value for value in worse]
    body = {"runs": [good, good, good, worse], "n_reference": 2, "better": better}
    analysis = analyse(NAME, body)
    assert analysis.outcome == "no_drop_shown"
    low, high = analysis.runs[-1].ci.low, analysis.runs[-1].ci.high
    assert high < 0 if better == "higher" else low > 0
    assert analysis.open.endswith(
        " The last run's interval lies on the worse side of 0, which of one run among many that are looked at "
        "shows no drop."
    )
    assert "interval" not in analyse(NAME, body | {"runs": [good, good, worse, good]}).open


def test_swings_that_last_are_cautioned_before_and_after_an_alarm_and_a_drop_alone_is_no_swing():
    rng = np.random.default_rng(9)
    swing = rng.normal(0, 0.04, 120)
    for night in range(1, len(swing)):
        swing[night] = 0.95 * swing[night - 1] + math.sqrt(1 - 0.95**2) * swing[night]
    levels = np.clip(LEVELS + swing[:, None], 0, 1)
    rows = (rng.random(levels.shape) < levels).astype(int).tolist()
    (warning,) = ask(NAME, {"runs": rows, "n_reference": 5}).warnings
    assert warning.code == "SWINGS_LAST"
    assert "keeps about 9" in warning.message
    assert codes(ask(NAME, {"runs": rows, "n_reference": 5} | ALIKE)) == set()
    dropped = ask(NAME, {"runs": runs_of([LEVELS, DROPPED], [40, 30]), "n_reference": 5})
    assert (dropped.analysis.outcome, codes(dropped)) == ("dropped", set())


def test_gaps_are_said_and_an_item_without_a_value_has_no_say():
    rows = runs_of([LEVELS[:40]], [4])
    gap = [*rows, [None] * 3 + rows[1][3:]]
    answer = sound(ask(NAME, {"runs": gap}))
    assert codes(answer) == {"RUN_INCOMPLETE"}
    assert "'5' lacks 3 of the reference's 40 items" in answer.warnings[0].message
    without = analyse(NAME, {"runs": [row[3:] for row in gap]})
    assert answer.analysis.runs[-1].p_value == pytest.approx(without.runs[-1].p_value)
    assert (answer.analysis.runs[-1].n, answer.analysis.runs[-1].n_missing) == (37, 3)
    empty = sound(ask(NAME, {"runs": [*rows, [None] * 40]})).analysis
    assert empty.runs[-1].p_value == 1
    assert "no item of the reference" in empty.sentence


def test_without_a_run_after_the_reference_nothing_is_shown():
    analysis = sound(ask(NAME, {"runs": [[1, 0, 1]]})).analysis
    assert (analysis.outcome, analysis.e_value) == ("no_drop_shown", None)
    assert analysis.sentence == "Nothing is shown: 1 reference run, and no run after."


def test_what_cannot_be_a_series_is_refused():
    with pytest.raises(InvalidData, match=r"runs\.1"):
        ask(NAME, {"runs": [[1, 0], [1]]})
    with pytest.raises(InvalidData, match="n_reference"):
        ask(NAME, {"runs": [[1, 0]], "n_reference": 2})
    with pytest.raises(InvalidData, match="no value in the reference"):
        ask(NAME, {"runs": [[None, None], [1, 0]]})
    with pytest.raises(InvalidData, match="single cluster"):
        ask(NAME, {"runs": [[1, 0]], "clusters": ["a", "a"]})
    with pytest.raises(InvalidData, match=r"no score unit"):
        ask(NAME, {"runs": [[1, 0]], "margin": {"value": 0.1, "unit": "score"}})


def bodies():
    """One run, one item, nothing that varies, sizes at the ends of floats."""
    for runs in ([], [[]], [[1]], [[1], [0]], [[1, 1]] * 4, [[0.5, 2.25]] * 2 + [[1e-300, 1e150]],
                 [[None, 1], [1, None]], [[5e-324, 0.0], [0.0, 5e-324]], [[0.1, 0.1 + 1e-17]] * 3,
                 [[1e200, 0], [0, 1]], [[-7.0, 3.0], [-8.0, 2.0]]):  # fmt: skip
        yield {"runs": runs}
        yield {"runs": runs, "better": "lower", "margin": {"value": 2, "unit": "pp"}}
        yield {"runs": runs, "clusters": list(range(len(runs[0]) if runs else 0))}


CASES = Cases(
    degenerate=bodies,
    growing=[
        lambda k: {"runs": [[1, 0, 1, 0]] * (30 * k)},
        lambda k: {"runs": [[1, 0, 0.5] * (100 * k)] * 3, "clusters": list(range(300 * k))},
    ],
    unsimulated="what it promises is of whole series: runs until a false alarm",
)
