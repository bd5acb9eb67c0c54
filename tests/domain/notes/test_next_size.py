"""How many items a next study needs: for the smallest effect of interest, with about the power that is said."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
from scipy.stats import binomtest

from service.domain.notes.next_size import Spread, about, chance, find_shown
from service.domain.notes.notes import sentences
from service.domain.notes.rule_bounds import Bound, within
from service.domain.power.enumerated.enumerated_rule import EnumeratedRule
from service.domain.rules.settings import resolve
from service.kernels.pairs import tango
from tests.domain.sample import VALUE, binary, outcomes, plan
from tests.domain.told import EQUIVALENCE, judged, said


def size_in(text: str) -> int:
    return int(re.findall(r"a new plan of about ([\d,]+) ", text, re.IGNORECASE)[0].replace(",", ""))


def test_the_size_for_the_sesoi_has_about_the_power_it_says() -> None:
    """Small plans by the exact power, whole rule; larger ones by the normal approximation, checked against it."""
    for counts, rule, sesoi in (
        ((21, 1, 7, 1), "delta > 0 and m.p_value < 0.05", 25),
        ((300, 150, 30, 15), "delta > 0 and m.p_value < 0.05", 6),
        ((800, 500, 60, 50), "delta > 0 and m.p_value < 0.05 and m.ci excludes 0", 2),
    ):
        changes = {"hypotheses.0.rule": rule, "sesoi": {"accuracy": {"value": sesoi, "unit": "pp"}}}
        judged_plan, _, found = said(changes, outcomes(*binary(*counts)))
        n, size = counts[0], size_in(found.next.en)
        assert f"if the true difference is +{sesoi}.00 pp (the SESOI)" in found.next.en
        assert "observed +" not in found.next.en
        share, delta = (counts[2] + counts[3]) / n, sesoi / 100
        enumerated = EnumeratedRule(resolve(judged_plan).settings[0], judged_plan.sesoi["accuracy"])  # type: ignore[index]
        power = enumerated.around(size, share).chance((share + delta) / 2, (share - delta) / 2)[0]
        assert 0.77 <= power <= 0.9, (counts, size, power)
        if size > n:
            assert f"(about {about(size - n):,} more than here, if there are as many)" in found.next.en


def test_equivalence_is_said_to_need_the_size_that_shows_it_without_a_difference() -> None:
    judged_plan, verdict, found = said(EQUIVALENCE, outcomes(*binary(500, 200, 30, 20)))
    size = int(
        re.findall(
            r"a new plan of about ([\d,]+) items[^:]* shows the arms equivalent within ±2\.00 pp at alpha = 0\.05",
            found.next.en,
            re.IGNORECASE,
        )[0].replace(",", "")
    )
    share = 50 / 500
    claim = plan(
        {
            **EQUIVALENCE,
            "populations.0.n": size,
            "hypotheses.0.claim": "equivalence",
            "hypotheses.0.rule": "eq.equivalent is true",
        }
    )
    enumerated = EnumeratedRule(resolve(claim).settings[0], claim.sesoi["accuracy"])  # type: ignore[index]
    assert 0.77 <= enumerated.around(size, share).chance(share / 2, share / 2)[0] <= 0.87
    assert judged_plan.hypotheses
    assert verdict.hypotheses[0].outcome == "not_supported"


def test_no_number_is_given_where_none_would_do() -> None:
    _, _, found = said({}, outcomes(*binary(500, 200, 10, 40)))  # the candidate is worse
    assert (
        "true difference of +2.00 pp (the SESOI) lies beyond the interval already (95% interval)"
        in found.next.en
    )
    assert "new plan of" not in found.next.en
    assert found.next.en.endswith("for another claim, or one in which smaller differences matter.")


def test_without_a_smallest_effect_the_size_is_for_what_was_seen_and_says_so() -> None:
    changes = {"hypotheses.0.rule": "delta > 0 and m.p_value < 0.05", "sesoi": None}
    _, _, found = said(changes, outcomes(*binary(500, 200, 30, 20)))
    assert "if the true difference is the observed +2.00 pp (the plan locks no SESOI) and" in found.next.en


def test_a_rule_that_asks_to_see_the_sesoi_is_told_to_ask_for_less_and_how_many_items_that_takes() -> None:
    """Half of all studies see less than what is true: the size is for the clauses that more items help."""
    results = outcomes(*binary(500, 200, 30, 24))
    rule = "m.p_value < 0.05 and m.ci excludes 0"
    _, _, found = said({"hypotheses.0.rule": f"delta >= 2 pp and {rule}"}, results)
    _, _, alone = said({"hypotheses.0.rule": rule}, results)
    assert (
        "with `delta > 0` in place of the clause that asks to observe +2.00 pp: the other clauses, which ask for a "
        "gain of any size, then hold" in found.next.en
    )
    assert size_in(found.next.en) == size_in(alone.next.en)
    # What the lock knew says it of a locked SESOI; without one nothing else does.
    assert "about half of all studies fail" not in found.next.en
    _, _, unlocked = said({"hypotheses.0.rule": f"delta >= 1.2 pp and {rule}", "sesoi": None}, results)
    assert "about half of all studies fail, whatever their size" in unlocked.next.en
    assert "half of them at most" not in alone.next.en


def test_such_a_rule_is_told_at_which_true_difference_its_size_shows_it_as_often() -> None:
    """By the binomial of both discordant counts the whole rule then holds in about 80 of 100 studies."""
    rule = "delta >= 2 pp and m.p_value < 0.05 and m.ci excludes 0"
    _, _, found = said({"hypotheses.0.rule": rule}, outcomes(*binary(500, 200, 30, 24)))
    (told,) = re.findall(r"only if the true difference is \+([\d.]+) pp or beyond", found.next.en)
    n, truth, share = size_in(found.next.en), float(told) / 100, 54 / 500
    rng = np.random.default_rng(11)
    gains, losses, _ = rng.multinomial(n, [(share + truth) / 2, (share - truth) / 2, 1 - share], size=4000).T
    error = np.sqrt(gains + losses - (gains - losses) ** 2 / n)
    holds = (gains - losses >= 0.02 * n) & (gains - losses >= 1.96 * error)
    assert 0.77 <= holds.mean() <= 0.85
    assert f"真实差异须至少达到 +{told} 个百分点" in found.next.zh
    _, _, alone = said({"hypotheses.0.rule": "m.p_value < 0.05"}, outcomes(*binary(500, 200, 30, 24)))
    assert "only if the true difference" not in alone.next.en


def test_no_true_difference_is_named_where_none_makes_both_sides_hold() -> None:
    spread = Spread(100, 0.3, False, 1.0, None)
    assert find_shown((Bound(1, 0.02, 0.0), Bound(-1, 0.03, 1.96)), spread, 100, 0.02) is None
    assert find_shown((Bound(1, 0.0, 1.96),), spread, 100, 0.0) is None
    up, down = (find_shown((Bound(side, 0.0, 1.96),), spread, 100, side * 0.02) for side in (1, -1))
    assert up == -down == pytest.approx(0.085)  # 2.80 standard errors of 0.03 are 0.084


def test_clusters_are_counted_in_clusters() -> None:
    rng = np.random.default_rng(3)
    n, groups = 400, 20
    shift = rng.normal(0.06, 0.12, groups)[np.arange(n) % groups]
    baseline = (rng.random(n) < 0.5).astype(float)
    candidate = np.where(rng.random(n) < np.abs(shift), (shift > 0).astype(float), baseline)
    changes = {
        "populations.0.clusters": {"key": "conversation", "n": groups},
        "populations.0.independence": None,
        "tests.0": {"id": "m", "test": "clustered-mcnemar", "version": 1, "parameters": {"method": "cr2_t"}},
        "hypotheses.0.rule": "delta > 0 and m.p_value < 0.05",
    }
    _, verdict, found = said(changes, outcomes(baseline, candidate))
    (hypothesis,) = verdict.hypotheses
    analysis: Any = hypothesis.analyses["m"]["analysis"]
    sizes = re.findall(r"about ([\d,]+) clusters by conversation, about ([\d,]+) items", found.next.en)
    ((clusters, items),) = [[int(count.replace(",", "")) for count in pair] for pair in sizes]
    needed = groups * ((1.959964 + 0.841621) * analysis["se"] / 0.02) ** 2  # the SESOI
    assert clusters == pytest.approx(needed, rel=0.06, abs=1.1)
    assert items == pytest.approx(20 * clusters, rel=0.06)
    # No worse by the SESOI, where there is no difference, is as far from its null hypothesis.
    assert "(95% CI) takes as many items, for the same chance, if the true difference is 0." in found.next.en
    assert f"{clusters} 个 conversation 聚类" in found.next.zh.replace(",", "")


def test_filled_in_values_are_not_called_observed() -> None:
    baseline, candidate = binary(1000, 500, 60, 10)
    candidate[-20:] = np.nan
    _, _, found = said(
        {"missing": "worst_case", "hypotheses.0.rule": "delta >= 6 pp and m.p_value < 0.05", "sesoi": None},
        outcomes(baseline, candidate),
    )
    assert "as with the 20 filled in" in found.next.en
    assert "the observed" not in found.next.en
    assert "find out why 20 items lack a result" in found.next.en.lower()


@pytest.mark.parametrize(
    ("rule", "counts", "says"),
    [
        (
            "m.p_value < 0.01",
            (500, 200, 30, 20),
            " takes about {size} items, for the same chance, if the true difference is 0.",
        ),
        (
            "m.p_value < 0.05",
            (2000, 900, 100, 100),
            ", about {size} items do in about 80 of 100 studies if the true difference is 0 and 10% of items are "
            "discordant as observed.",
        ),
    ],
    ids=["behind another size", "alone"],
)
def test_of_a_win_not_shown_the_size_for_no_worse_is_said_too(
    rule: str, counts: tuple[int, int, int, int], says: str
) -> None:
    """It has about the power that is said, by the exact power of the rule that a new plan would lock."""
    _, _, result = said({"hypotheses.0.rule": rule}, outcomes(*binary(*counts)))
    begin, end = (re.escape(part) for part in says.split("{size}"))
    no_worse = rf"show only that it is no worse than C1 by 2\.00 pp or more \(95% CI\){begin}([\d,]+){end}$"
    (size_text,) = re.findall(no_worse, result.next.en)
    size = int(size_text.replace(",", ""))
    claim = plan(
        {
            "populations.0.n": size,
            "hypotheses.0.claim": "non_inferiority",
            "hypotheses.0.rule": "m.ci.low > -2 pp",
        }
    )
    enumerated = EnumeratedRule(resolve(claim).settings[0], claim.sesoi["accuracy"])  # type: ignore[index]
    assert 0.77 <= enumerated.around(size, 0.1).chance(0.05, 0.05)[0] <= 0.87
    assert "它不比 C1 差 2.00 个百分点或更多" in result.next.zh


def test_where_few_items_are_discordant_the_size_has_the_power_it_says() -> None:
    """Two losses of 400: it said 99 items, of which 2 studies in 100 exclude a loss of 2 pp."""
    _, _, result = said({}, outcomes(*binary(400, 398, 0, 2)))
    (size_text,) = re.findall(
        r"no worse than C1 by 2\.00 pp or more \(95% CI\), about (\d+) items do", result.next.en
    )
    size, rng = int(size_text), np.random.default_rng(11)
    discordant = rng.binomial(size, 0.005, 4000)
    gains = rng.binomial(discordant, 0.5)
    ends = [
        tango.interval(int(won), int(all_ - won), size, 1.959964)[0]
        for won, all_ in zip(gains, discordant, strict=True)
    ]
    assert 0.78 <= np.mean(np.array(ends) > -0.02) <= 0.9
    assert chance((Bound(1, -0.02, 1.959964),), Spread(400, 0.07, False, 1.0, 0.005), 99, 0.0) < 0.03


@pytest.mark.parametrize("discordance", [0.01, 0.05])
def test_few_discordant_items_are_weighed_as_they_are_drawn(discordance: float) -> None:
    """Both sides of a margin, and a win over 0 by the exact test of McNemar, which the size may not overtake."""
    n, rng = 700, np.random.default_rng(5)
    spread = Spread(n, 0.2, False, 1.0, discordance)
    discordant = rng.binomial(n, discordance, 4000)
    gains = rng.binomial(discordant, 0.5)
    drawn = [two_sided(int(won), int(all_ - won), n) for won, all_ in zip(gains, discordant, strict=True)]
    assert chance(within(0.02, 0.05), spread, n, 0.0) == pytest.approx(np.mean(drawn), abs=0.03)
    ahead = rng.binomial(discordant, 0.9)
    exact = [
        binomtest(int(won), int(all_)).pvalue < 0.05 if all_ else False
        for won, all_ in zip(ahead, discordant, strict=True)
    ]
    truth = 0.8 * discordance
    assert chance((Bound(1, 0.0, 1.959964),), spread, n, truth) == pytest.approx(np.mean(exact), abs=0.05)


def two_sided(gains: int, losses: int, n: int) -> bool:
    low, high = tango.interval(gains, losses, n, 1.644854)
    return low > -0.02 and high < 0.02


ASKED_BESIDE = {
    "hypotheses.1": {
        **VALUE["hypotheses"][0], "id": "H2", "claim": "non_inferiority", "rule": "m.ci.low > -2 pp",
    },
}  # fmt: skip


@pytest.mark.parametrize(
    ("changes", "counts"),
    [
        (EQUIVALENCE, (500, 200, 30, 20)),
        (ASKED_BESIDE, (500, 200, 30, 20)),
        ({}, (500, 200, 10, 40)),
        ({}, (500, 300, 40, 10)),
        ({"sesoi": None, "hypotheses.0.rule": "m.p_value < 0.05"}, (500, 200, 30, 20)),
    ],
    ids=[
        "an equivalence test",
        "another hypothesis",
        "all on the worse side",
        "the win is shown",
        "no SESOI",
    ],
)
def test_the_size_for_no_worse_is_left_out_where_it_answers_nobody(
    changes: dict[str, Any], counts: tuple[int, int, int, int]
) -> None:
    judged_plan, verdict = judged({"populations.0.n": counts[0], **changes}, outcomes(*binary(*counts)))
    result = sentences(judged_plan, verdict, {})[0]
    assert "show only that it is no worse" not in result.next.en.lower()


@pytest.mark.parametrize("locked", [True, False])
def test_where_equivalence_rejects_the_sesoi_no_study_is_sized_for_the_win(locked: bool) -> None:
    sesoi = {"accuracy": {"value": 2, "unit": "pp"}} if locked else None
    margin = {"method": "tango", "margin": {"value": 2, "unit": "pp"}}
    changes = {"sesoi": sesoi, **EQUIVALENCE, "tests.1": {**EQUIVALENCE["tests.1"], "parameters": margin}}
    _, verdict, found = said(changes, outcomes(*binary(2000, 1200, 40, 42)))
    assert verdict.hypotheses[0].outcome == "equivalent"
    words = "Next: more items would hardly show +2.00 pp (the SESOI): the equivalence test rejects"
    assert found.next.en.startswith(words) == locked
    assert "equivalent within half the margin" in found.next.en


RULES_WITH_NEEDS = [
    ("delta > 0 and m.p_value < 0.05", False),
    ("delta >= 2 pp and m.p_value < 0.05", True),
]


@pytest.mark.parametrize(("rule", "observed"), RULES_WITH_NEEDS)
def test_a_rule_that_fewer_items_would_have_met_is_not_said_to_need_what_no_number_gives(
    rule: str, observed: bool
) -> None:
    """Were +2 pp true, so many items would show it nearly always, unless the rule asks to observe as much."""
    margin = {"method": "tango", "margin": {"value": 2, "unit": "pp"}}
    changes = {
        "hypotheses.0.rule": rule,
        "sesoi": {"accuracy": {"value": 2, "unit": "pp"}},
        **EQUIVALENCE,
        "tests.1": {**EQUIVALENCE["tests.1"], "parameters": margin},
    }
    _, verdict, result = said(changes, outcomes(*binary(3000, 2200, 40, 42)))
    assert verdict.hypotheses[0].outcome == "equivalent"
    assert result.next_sizes is not None
    first = result.next_sizes.goals[0]
    assert (first.goal.en, first.truth.en) == ("this plan's rule holds", "+2.00 pp (the SESOI)")
    if observed:
        assert (first.needed.en, first.here.en) == ("no number does", "50 of 100")
    else:
        assert first.units is not None
        assert first.units < 3000
        assert (first.chance_here or 0) > 0.9
    notes = [note.en.partition(",")[0] for note in result.next_sizes.notes]
    assert ("Where +2.00 pp is the true difference" in notes) == observed


def test_no_study_is_sized_for_a_difference_beyond_the_interval() -> None:
    rule = "delta > 0 and m.p_value < 0.05"
    sesoi = {"accuracy": {"value": 8, "unit": "pp"}}
    _, verdict, result = said(
        {"hypotheses.0.rule": rule, "sesoi": sesoi}, outcomes(*binary(1000, 500, 60, 55))
    )
    assert verdict.hypotheses[0].outcome == "not_supported"
    assert result.next_sizes is not None
    (no_worse,) = result.next_sizes.goals
    assert no_worse.goal.en.startswith("no worse than C1")
    assert "lies beyond the interval already" in result.next_sizes.notes[0].en
    _, _, behind = said({"hypotheses.0.rule": rule}, outcomes(*binary(500, 200, 24, 60)))
    assert behind.next_sizes is None
    assert "lies beyond the interval already" in behind.next.en


def test_an_equivalence_that_just_passed_uncorrected_is_told_the_size_that_settles_it() -> None:
    """Near the margin and one of two that nothing corrects for: the size is for the margin itself, at half of alpha."""
    second = {"hypotheses.1": {**VALUE["hypotheses"][0], "id": "H2"}, "multiplicity.family": ["H1", "H2"]}
    judged_plan, verdict = judged({**EQUIVALENCE, **second}, outcomes(*binary(2000, 900, 126, 114)))
    result = sentences(judged_plan, verdict, {})[0]
    (size_text,) = re.findall(
        r"to settle equivalence within ±2\.00 pp, at alpha = 0\.025 as a correction for 2 hypotheses asks, a new "
        r"plan of about ([\d,]+) items",
        result.next.en,
        re.IGNORECASE,
    )
    size = int(size_text.replace(",", ""))
    claim = plan(
        {
            **EQUIVALENCE,
            "tests.1": {**EQUIVALENCE["tests.1"], "parameters": {"method": "tango", "alpha": 0.025}},
            "populations.0.n": size,
            "hypotheses.0.claim": "equivalence",
            "hypotheses.0.rule": "eq.equivalent is true",
        }
    )
    enumerated = EnumeratedRule(resolve(claim).settings[0], claim.sesoi["accuracy"])  # type: ignore[index]
    assert 0.77 <= enumerated.around(size, 0.12).chance(0.06, 0.06)[0] <= 0.87
    # The difference that was seen, 12 of 2,000: how often a study of that size shows it then.
    (share,) = re.findall(
        r"if the true difference is 0, (\d+) if it is the observed \+0\.60 pp", result.next.en
    )
    assert enumerated.around(size, 0.12).chance(0.063, 0.057)[0] == pytest.approx(int(share) / 100, abs=0.04)
    assert "取 alpha = 0.025" in result.next.zh
    assert f"则约有 {share} 次" in result.next.zh


@pytest.mark.parametrize(
    ("clause", "instead"),
    [
        ("m.p_value < 0.05", "with `delta > 0` in place of its clause"),
        ("m.ci excludes 0", "with `delta > 0` in place of its clause"),
        ("m.ci.low > 0", "without its clause"),
        ("m.p_value < 0.05 and m.ci.low > 0", "without its clause"),
    ],
)
def test_a_rule_keeps_a_direction_when_its_clause_that_asks_to_observe_a_size_is_dropped(
    clause: str, instead: str
) -> None:
    """A two-sided p-value and an interval off 0 hold of a loss as well: with them alone a loss would be a win."""
    _, _, result = said(
        {"hypotheses.0.rule": f"delta >= 2 pp and {clause}"}, outcomes(*binary(500, 200, 30, 24))
    )
    assert result.next_sizes is not None
    assert instead in result.next_sizes.goals[0].goal.en
    assert instead.replace("its clause", "the clause") in result.next.en
    assert "`delta > 0`" in result.next_sizes.goals[0].goal.zh or instead.startswith("without")


def test_the_table_has_the_sizes_of_the_sentence_and_chances_in_studies_as_large_as_this_one() -> None:
    """The chance here is about that of the exact power of the rule, of its 500 items at 10.8% discordant."""
    rule = "delta > 0 and m.p_value < 0.05"
    judged_plan, _, result = said({"hypotheses.0.rule": rule}, outcomes(*binary(500, 200, 30, 24)))
    sizes = result.next_sizes
    assert sizes is not None
    assert [cell.en for cell in sizes.head] == [
        "Goal", "If the true difference is", "Chance with 500", "Items needed for 80 of 100",
    ]  # fmt: skip
    win, no_worse = sizes.goals
    assert win.units == win.items == size_in(result.next.en)
    assert (win.goal.en, win.truth.en, no_worse.truth.en) == (
        "this plan's rule holds", "+2.00 pp (the SESOI)", "0",
    )  # fmt: skip
    assert no_worse.goal.en == "no worse than C1 by 2.00 pp or more (95% CI)"
    enumerated = EnumeratedRule(resolve(judged_plan).settings[0], judged_plan.sesoi["accuracy"])  # type: ignore[index]
    power = enumerated.around(500, 0.108).chance(0.064, 0.044)[0]
    assert win.chance_here == pytest.approx(power, abs=0.05)
    assert win.here.en == f"{100 * (win.chance_here or 0):.0f} of 100"
    assert win.chance_then == 0.8
    assert "10.8% of items are discordant" in sizes.lead.en
    assert sizes.notes[-1].en.startswith("Whether there are that many items is not known")


def test_an_equivalence_is_sized_for_no_difference_and_for_the_one_that_was_observed() -> None:
    _, _, result = said({**EQUIVALENCE, "populations.0.n": 1500}, outcomes(*binary(1500, 600, 81, 69)))
    assert result.next_sizes is not None
    even, seen = [goal for goal in result.next_sizes.goals if goal.goal.en.startswith("equivalent within")]
    assert (even.truth.en, seen.truth.en) == ("0", "the observed +0.80 pp")
    assert even.units is not None
    assert seen.units is not None
    assert even.units < seen.units
    assert (even.chance_here or 0) > (seen.chance_here or 0)


def test_a_table_that_would_hold_no_number_is_no_table() -> None:
    _, _, result = said({}, outcomes(*binary(500, 200, 10, 40)))  # the candidate is worse
    assert result.next_sizes is None
