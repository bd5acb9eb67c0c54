"""A search over rules: none that lint lets pass comes out for its claim where the data show the opposite."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from service.domain.checks.claim import claim_findings
from service.domain.checks.mending import mend
from service.domain.checks.rule import rule_findings
from service.domain.rules.settings import resolve
from service.stats.shared.declaring import registry
from tests.domain import sample
from tests.domain.checks.searched import VARIED, WAYS, WORLDS, N, plans
from tests.drawing import draws, mostly_slow


def test_every_test_of_a_plan_takes_part():
    compares = {each.name for each in registry.every() if each.plan and each.plan.arms != 1}
    assert set(VARIED) == compares - {"suite"}  # suites have a search of their own: `test_opposite`


def lintable(changes):
    """The rule itself if lint has no error about it, else as lint would mend it; None where neither goes."""
    plan = sample.plan(changes)
    (setting,) = resolve(plan).settings
    if any(each.severity == "error" for each in rule_findings(setting)):
        return None
    for gap in (None, "bound", "direction", "size"):
        if not any(each.severity == "error" for each in claim_findings(plan, setting)):
            return changes
        found = None if gap is None else mend(plan, setting, gap, setting.rule)
        if found is not None and found.test is None:
            return changes | {"hypotheses.0.rule": found.rule}
    return None


def opposed(claim, delta, better):
    """The observed difference lies where the claim denies it."""
    good, margin = (delta if better == "higher" else -delta), 2.0
    return {
        "superiority": good <= 0,
        "minimum_effect": good <= 0,
        "non_inferiority": good <= -margin,
        "equivalence": abs(good) >= margin,
    }[claim]


@pytest.mark.parametrize("world", mostly_slow(WORLDS))
@pytest.mark.parametrize("way", mostly_slow(WAYS))
@settings(deadline=None, max_examples=draws(12), suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_no_rule_that_lint_lets_pass_is_supported_by_data_that_show_the_opposite(world, way, data):
    search(world, way, data)


@pytest.mark.slow
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("world", WORLDS)
@pytest.mark.parametrize("way", WAYS)
@settings(deadline=None, max_examples=draws(200), suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_none_of_many_is(world, way, data):
    search(world, way, data)


def search(world, way, data):
    drawn_changes = data.draw(plans(world, way))
    changes = lintable(drawn_changes)
    assume(changes is not None and (way == "any" or changes is drawn_changes))
    claim, better = changes["hypotheses.0.claim"], changes["endpoints.0.better"]
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32)))
    for lean in (0.02, 0.3, 0.5, 0.7, 0.98):
        baseline, candidate = drawn(rng, world, lean)
        scale = 1 if world == "continuous" else 100
        delta = scale * float(candidate.mean() - baseline.mean())
        found = sample.verdict_of(changes, sample.outcomes(baseline, candidate)).hypotheses[0]
        if found.outcome == "invalid" or not opposed(claim, delta, better):
            continue
        assert found.outcome not in ("supported", "equivalent"), (changes, delta)
        if claim == "superiority":  # lint alone sees to that
            assert found.rule_holds is not True, (changes, delta)


def drawn(rng, world, lean):
    """Two arms that differ by chance and by a lean; scores with a long tail, so that ranks and means part."""
    if world == "continuous":
        shape = rng.integers(0, 3)
        baseline = rng.normal(50, 2, N).round(3)
        if shape == 0:  # most items go one way, few so far the other way that they outweigh them
            noise = rng.normal(1, 0.3, N)
            noise[:2] = -12 * (1 + rng.random(2))
            return baseline, (baseline + (noise if lean < 0.5 else -noise)).round(3)
        noise = rng.normal(0, 3, N) if shape == 1 else rng.exponential(4, N) - 4
        return baseline, (baseline + noise + 6 * (lean - 0.5)).round(3)
    differs = rng.random(N) < rng.choice([0, 0.1, 0.5, 1.0])
    wins = rng.random(N) < lean
    base = (rng.random(N) < 0.5).astype(float)
    baseline = np.where(differs, np.where(wins, 0.0, 1.0), base)
    return baseline, np.where(differs, 1 - baseline, base)
