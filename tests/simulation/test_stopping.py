"""Stopping rules where nothing is true: the page's rates, and the parts they are measured with."""

from __future__ import annotations

import math
import re

import numpy as np
import pytest

from service.domain.lint.lint import lint
from service.domain.plans.plan import Plan
from service.domain.rules.settings import resolve
from service.domain.verdicts.analyses import analyse
from service.domain.verdicts.outcomes import Cell, Outcomes, Rows
from service.domain.verdicts.stopping import up_to_stop
from tests.drawing import mostly_slow
from tests.simulation.stopping import ALPHA, PAGE, RULES, RUNS, SIDE, WORLDS, count, draw, population, rejects

SEQUENTIAL = RULES[1:]
STOPPING = {
    "obrien_fleming": {"kind": "group_sequential", "looks": 4, "spending": "obrien_fleming"},
    "pocock": {"kind": "group_sequential", "looks": 4, "spending": "pocock"},
    "e_process": {"kind": "anytime_valid"},
    "confidence_sequence": {"kind": "anytime_valid"},
}


def recorded() -> dict[tuple[str, str], float]:
    """The page's rates by world and rule."""
    found = {}
    for line in PAGE.read_text("utf-8").splitlines():
        cells = [cell.strip() for cell in line.strip("| ").split(" | ")]
        for world in WORLDS.values():
            if cells[0] == world.text:
                found |= {
                    (world.name, rule): float(rate) for rule, rate in zip(RULES, cells[1:], strict=True)
                }
    return found


def plan_of(world: str, rule: str) -> Plan:
    made, _ = population(WORLDS[world])
    population_fields = made.model_dump(mode="json", exclude_none=True)
    if made.clusters is None:
        population_fields["independence"] = "drawn one by one"
    method = rule if rule in ("e_process", "confidence_sequence") else "group_sequential"
    return Plan.from_dict(
        {
            "title": "Nothing to find",
            "populations": [population_fields],
            "hypotheses": [
                {
                    "id": "H1", "claim": "superiority", "statement": "The candidate is better.", "population": "p",
                    "baseline": "A", "candidate": "B", "endpoint": "accuracy",
                    "rule": "s.ci excludes 0" if method == "confidence_sequence" else f"s.p_value < {ALPHA}",
                }
            ],
            "endpoints": [{"id": "accuracy", "kind": "binary", "role": "primary"}],
            "tests": [{"id": "s", "test": "sequential", "version": 1, "parameters": {"method": method}}],
            "sesoi": {"accuracy": {"value": 2, "unit": "pp"}},
            "thresholds": [],
            "stopping": STOPPING[rule],
            "missing": "fail",
            "multiplicity": {"policy": "none", "family": ["H1"]},
        }
    )  # fmt: skip


@pytest.mark.parametrize("world", mostly_slow(WORLDS, 4))
@pytest.mark.parametrize("rule", mostly_slow(SEQUENTIAL, 4))
def test_a_whole_plan_ends_as_the_parts_that_are_simulated(world, rule):
    plan, (_, manifest) = plan_of(world, rule), population(WORLDS[world])
    kept = [run for run in range(60) if rejects(WORLDS[world], rule, run)][:2]
    for run in (0, 1, *kept):
        cells = {
            ("p", arm, "accuracy"): Cell(values[:, None], np.zeros((len(values), 1), dtype=np.uint8))
            for arm, values in zip("AB", draw(WORLDS[world], run), strict=True)
        }
        counted, _stopped = up_to_stop(Rows(resolve(plan), {"p": manifest}, Outcomes(cells)))
        answer = analyse(counted).evidence["H1"].by_policy["s"]["analysis"]
        assert (answer["decision"] == "reject") is rejects(WORLDS[world], rule, run), run


def test_no_simulated_world_favours_an_arm():
    for world in WORLDS.values():
        differences = np.array([np.subtract(*draw(world, run)[::-1]).mean() for run in range(400)])
        assert abs(differences.mean()) < 4 * differences.std() / math.sqrt(400), world.name


def test_every_rule_errs_no_more_often_than_it_says():
    found = recorded()
    assert set(found) == {(world, rule) for world in WORLDS for rule in RULES}
    runs = int(re.search(r"^([\d,]+) plans", PAGE.read_text("utf-8"), re.MULTILINE).group(1).replace(",", ""))
    assert runs >= RUNS
    band = SIDE * math.sqrt(ALPHA * (1 - ALPHA) / runs)
    over = {key for key, rate in found.items() if key[1] in SEQUENTIAL and rate > ALPHA + band}
    assert not {(world, rule) for world, rule in over if not WORLDS[world].refused}
    assert {rule for _, rule in over} <= {"obrien_fleming", "pocock"}


@pytest.mark.parametrize(
    "world", [world for world in WORLDS.values() if world.clusters], ids=lambda world: world.name
)
def test_lint_refuses_looks_where_the_page_says_so(world):
    plan, (_, manifest) = plan_of(world.name, "pocock"), population(world)
    found = lint(plan, {"p": manifest.facts()})
    errors = {each.path for each in found if each.severity == "error" and each.code == "STOPPING"}
    assert errors == ({"stopping.looks"} if world.refused else set())


@pytest.mark.slow
@pytest.mark.parametrize("world", WORLDS)
@pytest.mark.parametrize("rule", RULES)
def test_the_rates_are_as_recorded(world, rule):
    runs = 2_000
    rate = count((world, rule, RUNS, RUNS + runs))[2] / runs
    expected = recorded()[world, rule]
    spread = math.sqrt(max(expected * (1 - expected), 0.002) * (1 / runs + 1 / RUNS))
    assert abs(rate - expected) < 4 * spread
