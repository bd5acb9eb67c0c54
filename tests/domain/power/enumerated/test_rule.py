"""Rules on independent binary pairs: every outcome of a small n, against the verdict's own path."""

from __future__ import annotations

import math
import random

import numpy as np
import pytest

from service.domain.power.enumerated.enumerated_rule import EnumeratedRule
from service.domain.power.rule_power import rule_powers
from service.domain.rules.settings import resolve
from tests.domain.sample import binary, facts_of, outcomes, plan, verdict_of
from tests.drawing import one_in

pytestmark = pytest.mark.usefixtures("any_rule", "no_search")

P = ["0.05", "0.0625", "0.01", "0.1", "0.5", "1", "0.03125", "0.2"]
EFFECT = ["0", "0.05", "-0.05", "0.1", "-0.1", "0.2", "-0.25", "0.5"]
SPANS = ["[-0.2, 0.3]", "(-0.3, 0.1)", "[0, 0.9]", "[-0.5, 0.5]", "(0.05, 0.6)"]

TESTS = {
    "mcnemar": {
        "method": ["exact", "midp", "asymptotic", "corrected"],
        "alternative": ["two-sided", "greater", "less"],
    },
    "paired-bootstrap": {
        "method": ["percentile", "basic"],
        "alternative": ["two-sided", "greater", "less"],
        "comparison": [">=", "strict"],
        "level": [0.95, 0.8],
    },
    "paired-difference": {"method": ["tango", "wald"], "alternative": ["two-sided", "greater", "less"]},
    "randomization": {"alternative": ["two-sided", "greater", "less"]},
    "equivalence": {
        "method": ["tango", "bootstrap_ci"],
        "bounds": ["strict", "seed"],
        "margin": [{"value": v, "unit": "pp"} for v in (10, 30, 50)],
    },
}
INTERVALS = {
    "mcnemar": ["ci", "intervals.tango", "intervals.wald"],
    "paired-bootstrap": ["ci", "intervals.basic", "intervals.percentile"],
    "paired-difference": ["ci", "intervals.wald"],
    "equivalence": ["ci"],
}
PROBABILITIES = {
    "mcnemar": ["p_value", "min_attainable_p"],
    "paired-bootstrap": ["p_value", "p_better", "fraction_le_0", "fraction_gt_0"],
    "paired-difference": ["p_value"],
    "randomization": ["p_value"],
    "equivalence": ["p_value", "p_lower", "p_upper"],
}
NUMBERS = {
    "mcnemar": [("cohens_g", ["0", "0.25", "-0.1"]), ("odds_ratio.estimate", ["1", "2", "0.5"])],
    "paired-difference": [("z", ["1.96", "0", "-1"])],
    "randomization": [("n_swappable", ["2", "5"])],
}
TRUTHS = ["equivalent", "noninferior", "superior", "minimum_effect"]


def clause(rng: random.Random, name: str, test_id: str) -> str:
    """One random clause about that test."""
    operator = rng.choice(["<", "<=", ">", ">=", "==", "!="])
    kind = rng.choice(["p", "p", "interval", "number", "delta", "truth"])
    if kind == "truth" and name == "equivalence":
        return f"{test_id}.{rng.choice(TRUTHS)} is {rng.choice(['true', 'false'])}"
    if kind == "interval" and name in INTERVALS:
        field = f"{test_id}.{rng.choice(INTERVALS[name])}"
        if rng.random() < 0.3:
            return f"{field}.{rng.choice(['low', 'high'])} {operator} {rng.choice(EFFECT)}"
        return rng.choice([f"{field} excludes {rng.choice(EFFECT)}", f"{field} within {rng.choice(SPANS)}"])
    if kind == "number" and name in NUMBERS:
        field, values = rng.choice(NUMBERS[name])
        return f"{test_id}.{field} {operator} {rng.choice(values)}"
    if kind == "delta":
        return f"{rng.choice(['delta', f'{test_id}.delta'])} {operator} {rng.choice(EFFECT)}"
    return f"{test_id}.{rng.choice(PROBABILITIES[name])} {operator} {rng.choice(P)}"


def design(seed: int) -> dict[str, object]:
    """A random rule of one to three clauses over random tests; n from 1 to 7."""
    rng = random.Random(seed)
    changes: dict[str, object] = {"populations.0.n": rng.choice([1, 2, 3, 4, 5, 6, 7])}
    parts = []
    for index in range(rng.randint(1, 3)):
        name = rng.choice(list(TESTS))
        parameters = {key: rng.choice(values) for key, values in TESTS[name].items()}
        changes[f"tests.{index}"] = {"id": f"t{index}", "test": name, "version": 1, "parameters": parameters}
        parts.append(clause(rng, name, f"t{index}"))
    rule = parts[0]
    for part in parts[1:]:
        rule = f"({rule}) {rng.choice(['and', 'and', 'or'])} {rng.choice(['', '', 'not '])}({part})"
    return {**changes, "hypotheses.0.rule": rule}


def brute_force(changes: dict[str, object]) -> dict[tuple[int, int], bool]:
    """Whether the verdict says that the rule holds, by (only_candidate, only_baseline)."""
    n = int(str(changes["populations.0.n"]))
    found = {}
    for m in range(n + 1):
        for b in range(m + 1):
            verdict = verdict_of(changes, outcomes(*binary(n, 0, b, m - b)), n)
            found[b, m - b] = verdict.hypotheses[0].rule_holds is True
    return found


def chance(passing: dict[tuple[int, int], bool], n: int, discordance: float, truth: float) -> float:
    """By the trinomial formula."""
    p, q = (discordance + truth) / 2, (discordance - truth) / 2
    return math.fsum(
        math.comb(n, b) * math.comb(n - b, c) * p**b * q**c * (1 - p - q) ** (n - b - c)
        for (b, c), holds in passing.items()
        if holds
    )


def power_of(changes):
    changed = plan(changes)
    return rule_powers(changed, facts_of(changed))[0]


@pytest.mark.parametrize(
    "seed", [*range(6), *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(6, 36))]
)
def test_what_can_pass_and_how_often_is_what_every_outcome_gives(seed):
    changes = design(seed)
    n = changes["populations.0.n"]
    found, passing = power_of(changes), brute_force(changes)
    possible = any(passing.values())
    assert found.can_pass is possible, changes
    if not possible:
        assert found.reason == "no outcome makes the rule true"
        assert found.power == ()
        return
    assert found.method == "exact"
    least = min(b + c for (b, c), holds in passing.items() if holds)
    assert found.least_discordant == least
    known = [each for each in found.power if each.power is not None]
    assert len(known) >= 3
    for each in known:
        assert each.power == pytest.approx(chance(passing, n, each.discordance, each.truth), abs=1e-11), (
            changes
        )


WITHOUT_SPREAD = [
    *(
        ("paired-bootstrap", {"method": method, "alternative": alternative}, clause)
        for method in ("percentile", "basic")
        for alternative in ("greater", "two-sided")
        for clause in (
            "p_value < 0.05",
            "p_better < 0.05",
            "fraction_le_0 < 0.05",
            "ci excludes 0",
            "ci.low > 0",
        )
    ),
    ("paired-bootstrap", {}, "ci within (-60 pp, 60 pp)"),
    ("paired-bootstrap", {}, "p_value > 0.9"),
    ("paired-bootstrap", {}, "intervals.basic.high < 0.5"),
    ("equivalence", {"method": "bootstrap_ci"}, "ci within (-60 pp, 60 pp)"),
    ("equivalence", {"method": "bootstrap_ci", "margin": {"value": 60, "unit": "pp"}}, "p_value < 0.05"),
    ("equivalence", {"method": "bootstrap_ci", "margin": {"value": 60, "unit": "pp"}}, "equivalent is true"),
    ("paired-difference", {"method": "wald"}, "ci within (-60 pp, 60 pp)"),
    ("mcnemar", {}, "intervals.wald excludes 0"),
]


@pytest.mark.parametrize(("name", "parameters", "clause"), WITHOUT_SPREAD)
@pytest.mark.parametrize("negated", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_power_and_verdict_agree_that_cells_without_spread_decide_nothing(name, parameters, clause, negated):
    changes = {
        "populations.0.n": 5,
        "tests.0": {"id": "t", "test": name, "version": 1, "parameters": parameters},
        "hypotheses.0.rule": f"{'not ' if negated else ''}t.{clause}",
    }
    passing = brute_force(changes)
    alike = [(0, 0), (5, 0), (0, 5)]
    if not clause.startswith("p_"):
        assert not any(passing[cell] for cell in alike)
    assert not any(passing[cell] for cell in alike[1:])
    found = power_of(changes)
    assert found.can_pass is any(passing.values())
    for each in found.power:
        if each.power is not None:
            assert each.power == pytest.approx(chance(passing, 5, each.discordance, each.truth), abs=1e-11)


def assert_as_by_brute_force(n, test, parameters, clause):
    """Hold the power of a rule of one clause on n items against the chance of the cells in which it holds."""
    changes = {
        "populations.0.n": n,
        "tests.0": {"id": "t", "test": test, "version": 1, "parameters": parameters},
        "hypotheses.0.rule": f"t.{clause}",
    }
    passing, power = brute_force(changes), power_of(changes)
    assert power.can_pass is any(passing.values())
    for row in power.power:
        if row.power is not None:
            assert row.power == pytest.approx(chance(passing, n, row.discordance, row.truth), abs=1e-11)


@pytest.mark.parametrize(
    ("n", "alpha", "clause"),
    one_in(
        3,
        [
            (4, 0.05, "equivalent is true"),  # 2^-4 = .0625: no p is known to be below alpha
            (4, 0.05, "noninferior is false"),
            (4, 0.05, "superior is true"),
            (4, 0.05, "p_value < 0.05"),
            (4, 0.05, "p_upper < 0.1"),
            (5, 0.02, "minimum_effect is true"),
            (5, 0.02, "p_lower < 0.02"),
            (5, 0.05, "equivalent is true"),
            (5, 0.05, "p_lower < 0.04"),
            (7, 0.05, "equivalent is true"),
        ],
    ),
)
def test_power_of_a_bootstrap_of_few_items_knows_what_no_p_can_show(n, alpha, clause):
    parameters = {"method": "bootstrap_ci", "margin": {"value": 60, "unit": "pp"}, "alpha": alpha}
    assert_as_by_brute_force(n, "equivalence", parameters, clause)


@pytest.mark.parametrize("n", [3, 5])
@pytest.mark.parametrize("comparison", [">=", "strict"])
@pytest.mark.parametrize(
    "clause", one_in(4, ["p_value < 0.05", "p_value < 0.3", "p_value >= 0.1", "p_better < 0.1"])
)
@pytest.mark.parametrize("alternative", ["two-sided", "greater"])
def test_power_of_resampled_pairs_knows_what_signs_of_so_few_allow(n, comparison, clause, alternative):
    parameters = {"alternative": alternative, "comparison": comparison}
    assert_as_by_brute_force(n, "paired-bootstrap", parameters, clause)


NEVER = [
    (5, "t0.p < 0.05"),
    (16, "t0.p < 0.05 and delta within (-0.3, 0.3)"),
    (12, "t0.n_discordant <= 5 and t0.p < 0.05"),
    (14, "t0.p > 0.5 and delta >= 50 pp"),
    (9, "delta > 0.2 and delta < 0.3 and t0.n_discordant == 3"),
    (12, "t0.ci excludes 0 and t0.p > 0.3"),
]


@pytest.mark.parametrize(("n", "rule"), NEVER)
@pytest.mark.parametrize("grown", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_clauses_that_only_together_cannot_hold(n, rule, grown):
    """One clause at a time each of them can be met; `grown` replaces the rule by one that some outcome meets."""
    changes = {
        "populations.0.n": n,
        "tests.0.id": "t0",
        "hypotheses.0.rule": f"{rule} or t0.n_discordant == {n}" if grown else rule,
    }
    passing = brute_force(changes)
    assert any(passing.values()) is grown
    assert power_of(changes).can_pass is grown


def test_power_agrees_with_outcomes_drawn_and_judged():
    """1,000 plans run to their verdict, at a size where every outcome has been seen often."""
    changes = {
        "populations.0.n": 40,
        "sesoi.accuracy.value": 7.5,
        "tests.1": {"id": "boot", "test": "paired-bootstrap", "version": 1},
        "hypotheses.0.rule": "delta >= 7.5 pp and m.p_value < 0.1 and boot.ci excludes 0",
    }
    entry = next(each for each in power_of(changes).power if (each.discordance, each.truth) == (0.3, 0.15))
    rng = np.random.default_rng(5)
    drawn = rng.multinomial(40, [0.225, 0.075, 0.7], size=1000)
    judged: dict[tuple[int, int], bool] = {}
    held = 0
    for b, c, _rest in drawn.tolist():
        if (b, c) not in judged:
            verdict = verdict_of(changes, outcomes(*binary(40, 3, b, c)), 40)
            judged[b, c] = verdict.hypotheses[0].outcome == "supported"
        held += judged[b, c]
    assert entry.power is not None
    assert abs(held / 1000 - entry.power) < 4 * math.sqrt(entry.power * (1 - entry.power) / 1000)
    assert 0.2 < entry.power < 0.8


@pytest.mark.parametrize(("n", "least"), [(2000, 40), (20_000, 400), (50_000, 1000), (1_000_000, 20_000)])
def test_the_fewest_discordant_items_are_told_among_many_as_among_few(n, least):
    """`delta >= 2 pp` asks for 2 % of them; rows are looked at far apart, and so is how many."""
    changed = plan({"populations.0.n": n})
    setting = resolve(changed).settings[0]
    rule = EnumeratedRule(setting, changed.sesoi["accuracy"])
    assert rule.reach(n, ()) == (True, least)


def test_few_rows_are_looked_at_among_very_many_items(monkeypatch):
    """Of a million rows about a thousand, so that lint's cost does not grow with the plan."""
    seen = []
    on = EnumeratedRule.on
    monkeypatch.setattr(
        EnumeratedRule, "on", lambda self, n, rows: (seen.append(len(rows)), on(self, n, rows))[1]
    )
    changed = plan({"populations.0.n": 1_000_000})
    EnumeratedRule(resolve(changed).settings[0], changed.sesoi["accuracy"]).reach(1_000_000, ())
    assert sum(seen) < 1500
