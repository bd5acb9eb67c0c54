"""Verdicts on numbers that were drawn, and on resamples that do not vary."""

from __future__ import annotations

import pytest

from service.domain.rules.settings import resolve
from service.domain.verdicts.reading import read_interval
from service.domain.verdicts.words.sentences import sentence
from service.stats.shared.declaring.certainty import BEYOND, DRAWN, FLAT
from tests.domain.sample import binary, outcomes, plan, verdict_of

RESULTS = outcomes(*binary(60, 30, 14, 5))


def judged(rule, *, results=RESULTS, n=60, test=None, parameters=None, **changes):
    """The only hypothesis, its rule on a test `b`."""
    use = {"id": "b", "test": test or "paired-bootstrap", "version": 1, "parameters": parameters or {}}
    (found,) = verdict_of({"tests.0": use, "hypotheses.0.rule": rule, **changes}, results, n).hypotheses
    return found


def drawn(rule, *, n_resamples=2000, **changes):
    parameters = {"method": "studentized"}
    if n_resamples is not None:
        parameters["n_resamples"] = n_resamples
    return judged(rule, parameters=parameters, **changes)


def test_an_end_within_its_error_of_the_threshold_leaves_the_clause_unknown():
    analysis = drawn("delta > 0 and b.p_value < 0.5").analyses["b"]["analysis"]
    low, (least, most) = analysis["ci"]["low"], analysis["within"]["ci.low"]
    assert least < low < most
    for near in (low, least + 1e-4, most - 1e-4):
        found = drawn(f"b.ci.low > {near:.6f}")
        assert (found.rule_holds, found.outcome) == (None, "inconclusive")
        assert found.clauses[0].reason == DRAWN
        assert found.clauses[0].observed == low
    assert drawn(f"b.ci.low > {least - 1e-4:.6f}").rule_holds is True
    assert drawn(f"b.ci.low > {most + 1e-4:.6f}").rule_holds is False


def test_a_drawn_p_within_its_error_of_the_threshold_leaves_the_clause_unknown():
    p = drawn("b.p_value < 0.9").clauses[0].observed
    assert drawn(f"b.p_value < {p + 1e-5:.6f}").rule_holds is None
    assert drawn(f"b.p_value < {p * 3:.6f}").rule_holds is True
    # the adjusted p is known as closely
    of_two = {"multiplicity.policy": "bonferroni"}
    assert drawn(f"b.p_value < {p + 1e-5:.6f}", **of_two).rule_holds is None


def test_more_is_drawn_where_a_clause_hangs_on_it():
    def draws(found):
        return found.analyses["b"]["provenance"]["n_resamples"]

    far = drawn("b.ci.low > -1", n_resamples=None)
    assert (far.rule_holds, draws(far)) == (True, 10_000)
    low = far.analyses["b"]["analysis"]["ci"]["low"]
    edge = far.analyses["b"]["analysis"]["within"]["ci.low"][1]
    near = drawn(f"b.ci.low > {low:.6f}", n_resamples=None)
    assert draws(near) == 100_000
    # where the first draws could not tell, ten times as many can
    told = drawn(f"b.ci.low > {edge - 1e-4:.6f}", n_resamples=None)
    assert (told.rule_holds, draws(told)) == (False, 100_000)


@pytest.mark.parametrize(
    ("within", "reading"),
    [
        ({}, "positive"),
        ({"ci.low": [0.001, 0.003]}, "positive"),
        ({"ci.low": [-0.001, 0.003], "ci.high": [0.1, 0.2]}, "inconclusive"),
    ],
)
def test_the_reading_is_open_where_a_drawn_end_is(within, reading):
    locked = plan({"hypotheses.0.rule": "m.ci excludes 0"})
    answers = {"m": {"analysis": {"ci": {"low": 0.002, "high": 0.15}, "within": within}}}
    assert read_interval(resolve(locked).settings[0], answers).reading == reading


@pytest.mark.parametrize("rule", ["b.p_value < 0.05", "b.ci excludes 0", "b.fraction_le_0 < 0.05"])
def test_twenty_wins_of_twenty_decide_no_bootstrap_rule(rule):
    found = judged(rule, results=outcomes(*binary(20, 0, 20, 0)), n=20)
    assert (found.outcome, found.rule_holds) == ("inconclusive", None)
    assert found.clauses[0].reason == FLAT
    exact = judged("b.p_value < 0.05", test="mcnemar", results=outcomes(*binary(20, 0, 20, 0)), n=20)
    assert exact.outcome == "supported"


def test_identical_arms_are_not_equivalent_by_resampling():
    same = outcomes(*binary(20, 12, 0, 0))
    equal = {"hypotheses.0.claim": "equivalence"}
    found = judged("b.ci within (-2 pp, 2 pp)", results=same, n=20, **equal)
    assert (found.outcome, found.rule_holds) == ("inconclusive", None)
    # p is 1 by every test there
    assert judged("b.p_value < 0.05", results=same, n=20).rule_holds is False
    for test, method in (("paired-difference", "wald"), ("equivalence", "bootstrap_ci")):
        asked = {"test": test, "parameters": {"method": method}}
        other = judged("b.ci within (-2 pp, 2 pp)", **asked, results=same, n=20, **equal)
        assert other.outcome == "inconclusive"


NINE_OF_FIFTEEN = outcomes(*binary(15, 6, 9, 0))


def test_a_p_beyond_every_resample_is_told_with_the_chance_of_its_signs():
    """9 of 9 discordant items go one way: .00195 by a fair coin's, however small the bound on the resamples is."""
    changes = {"populations.0.n": 15, "hypotheses.0.rule": "delta >= 2 pp and b.p_value < 0.05"}
    changes["tests.0"] = {"id": "b", "test": "paired-bootstrap", "version": 1, "parameters": {}}
    (found,) = verdict_of(changes, NINE_OF_FIFTEEN, 15).hypotheses
    assert found.outcome == "supported"
    assert "chance makes signs so uneven with probability 0.002)" in found.sentence
    setting = resolve(plan(changes)).require(found.id)
    assert "符号如此不均的概率为 0.002）" in sentence(setting, found, language="zh")


@pytest.mark.parametrize("alternative", ["greater", "two-sided"])
def test_more_draws_are_not_advised_where_no_draw_can_reach(alternative):
    """Seeded draws of scores, all of them far from zero beside one; the threshold lies below the chance of signs."""
    scores = outcomes([0.0] * 9, [1.0, 1.1, 1.2, 1.3, 1.4, 1.5, 1.6, 1.7, 1.8], "score")
    found = judged(
        "delta > 0 and b.p_value < 0.001",
        results=scores,
        n=9,
        parameters={"method": "studentized", "n_resamples": 2000, "alternative": alternative},
        **{
            "endpoints.0": {"id": "score", "kind": "continuous", "role": "primary"},
            "hypotheses.0.endpoint": "score",
            "hypotheses.0.statement": "C2 improves the score",
            "sesoi": {"score": {"value": 0.1, "unit": "score"}},
        },
    )
    analysis = found.analyses["b"]["analysis"]
    assert analysis["route"] == "monte_carlo"
    assert found.clauses[1].holds is None
    assert found.clauses[1].reason == BEYOND
