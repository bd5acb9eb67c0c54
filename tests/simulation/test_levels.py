"""The level that lint tells of a rule, against how often the rule holds on simulated data."""

from __future__ import annotations

import math
from functools import cache
from typing import Any

import numpy as np
import pytest

from service.domain.checks.claim import claim_findings
from service.domain.checks.rule import rule_findings
from service.domain.power.levels.level import level_of
from service.domain.power.rule_power import power_at_reference
from service.domain.rules.settings import resolve
from tests.domain import sample

RULES, DATA_SETS = 200, 2000
TESTS = [
    ("mcnemar", {"method": ["exact", "midp", "asymptotic"], "alternative": ["two-sided", "greater", "less"]}),
    ("paired-bootstrap", {"comparison": [">=", "strict"], "alternative": ["two-sided", "greater"]}),
    ("paired-difference", {"method": ["tango", "newcombe", "wald"]}),
    (
        "equivalence",
        {"method": ["tango", "t"], "margin": [{"value": 10, "unit": "pp"}, {"value": 15, "unit": "pp"}]},
    ),
]


def clause(rng: np.random.Generator, name: str, test: str, margin: int) -> str:
    p = f"p_value {rng.choice(['<', '<='])} {rng.choice(['0.01', '0.05', '0.1', '0.3'])}"
    ends = ["ci excludes 0", "ci.low > 0", f"ci.low > -{margin} pp", f"ci within [-{margin} pp, {margin} pp]"]
    own = {
        "paired-bootstrap": ["p_better < 0.05", "fraction_le_0 < 0.05"],
        "equivalence": ["equivalent is true", "noninferior is true", "superior is true", "p_lower < 0.05"],
    }
    return f"{name}.{rng.choice([p, *ends, *own.get(test, [])])}"


def drawn(rng: np.random.Generator) -> dict[str, Any]:
    """A plan with a random rule on independent pairs."""
    tests = []
    for index in range(int(rng.integers(1, 3))):
        name, varied = TESTS[rng.integers(len(TESTS))]
        parameters = {key: of[rng.integers(len(of))] for key, of in varied.items()}
        tests.append({"id": f"t{index}", "test": name, "version": 1, "parameters": parameters})
    margin = int(rng.integers(5, 15))
    parts = [clause(rng, each["id"], each["test"], margin) for each in tests]
    parts += (
        ["delta > 0"]
        if rng.random() < 0.6
        else [f"delta >= {rng.integers(0, 6)} pp"]
        if rng.random() < 0.5
        else []
    )
    words = rng.choice([" and ", " and ", " or "])
    return {
        "populations.0.n": int(rng.integers(20, 120)),
        "hypotheses.0.claim": str(
            rng.choice(["superiority", "superiority", "non_inferiority", "equivalence"])
        ),
        "hypotheses.0.statement": "C2 and C1 compare",
        "hypotheses.0.rule": words.join(parts),
        "tests": tests,
        "sesoi": {"accuracy": {"value": margin, "unit": "pp"}},
    }


def lintable(seed: int) -> dict[str, Any]:
    """The first of a stream of plans whose rule lint lets pass, some outcome makes true, and has a level."""
    rng = np.random.default_rng(seed)
    while True:
        changes = drawn(rng)
        plan = sample.plan(changes)
        (setting,) = resolve(plan).settings
        found = [*rule_findings(setting), *claim_findings(plan, setting)]
        if any(each.severity == "error" for each in found):
            continue
        if power_at_reference(plan, {}, setting).can_pass and level_of(plan, {}, setting).level is not None:
            return changes


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(RULES))
def test_a_rule_holds_as_often_as_lint_says(seed: int) -> None:
    changes = lintable(seed)
    plan, n = sample.plan(changes), changes["populations.0.n"]
    told = level_of(plan, {}, resolve(plan).settings[0])
    assert told.level is not None
    assert told.discordance is not None
    assert told.truth is not None

    @cache
    def holds(wins: int, losses: int) -> bool:
        arms = sample.outcomes(*sample.binary(n, (n - wins - losses) // 2, wins, losses))
        return sample.verdict_of(changes, arms).hypotheses[0].rule_holds is True

    share = max(told.discordance, abs(told.truth))
    cells = [(share + told.truth) / 2, (share - told.truth) / 2, 1 - share]
    counts = np.random.default_rng(1000 + seed).multinomial(n, np.clip(cells, 0, 1), size=DATA_SETS)
    realised = float(np.mean([holds(int(wins), int(losses)) for wins, losses, _ in counts]))
    error = math.sqrt(max(told.level * (1 - told.level), 1 / DATA_SETS) / DATA_SETS)
    assert abs(realised - told.level) <= 4 * error, (changes, told, realised)
