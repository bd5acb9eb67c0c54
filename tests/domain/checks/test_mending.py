"""Every rule that lint advises can be pasted: it lints without the error that it was advised for."""

from __future__ import annotations

import json
import re

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from service.domain.checks.claim import absences, claim_findings
from service.domain.checks.rule import rule_findings
from service.domain.rules.settings import resolve
from tests.domain import sample
from tests.domain.checks.searched import WAYS, WORLDS, plans
from tests.drawing import draws

TESTS = [
    {"id": "m", "test": "mcnemar", "version": 1},
    {"id": "g", "test": "mcnemar", "version": 1, "parameters": {"alternative": "greater"}},
    {"id": "b", "test": "paired-bootstrap", "version": 1},
    {"id": "eq", "test": "equivalence", "version": 1},
]


ABOVE = "add the clause `delta > 0`"


def errors(changes):
    plan = sample.plan(changes)
    (setting,) = resolve(plan).settings
    found = [*rule_findings(setting), *claim_findings(plan, setting)]
    return [each for each in found if each.severity == "error"]


def pasted(changes, message):
    """The plan as the message says; None where it prints no rule."""
    found = re.search(r"To mend it, (.*): `([^`]+)`$", message)
    if found is None:
        return None
    more = re.search(r"add the test (\{.*\})(?:,| and)", found[1])
    tests = changes["tests"] + ([json.loads(more[1])] if more else [])
    return changes | {"hypotheses.0.rule": found[2], "tests": tests}


@pytest.mark.parametrize("world", WORLDS)
@pytest.mark.parametrize("way", WAYS)
@settings(deadline=None, max_examples=draws(40), suppress_health_check=list(HealthCheck))
@given(
    data=st.data(),
    statement=st.sampled_from(["C2 and C1 compare", "C2 exceeds C1 by at least 2 points"]),
)
def test_a_rule_that_is_advised_lints_without_the_error(world, way, data, statement):
    changes = data.draw(plans(world, way)) | {"hypotheses.0.statement": statement}
    (setting,) = resolve(sample.plan(changes)).settings
    assume(not any(each.severity == "error" for each in rule_findings(setting)))
    for finding in claim_findings(sample.plan(changes), setting):
        if finding.severity != "error":
            continue
        after = pasted(changes, finding.message)
        if after is None:
            assert "the other way" in finding.message or finding.message.endswith("or an interval for it")
        else:
            assert errors(after) == [], (changes, finding.message)
            if finding.code == "ABSENCE_OF_EVIDENCE":
                (new,) = resolve(sample.plan(after)).settings
                assert absences(new, new.rule) == (), finding.message


@pytest.mark.parametrize(
    ("claim", "rule", "advice"),
    [
        ("superiority", "m.p_value > 0.05", f"turn that round and {ABOVE}: `m.p_value < 0.05 and delta > 0`"),
        ("superiority", "not m.p_value < 0.05", f"turn that round and {ABOVE}: `m.p_value < 0.05 and delta > 0`"),
        ("superiority", "not b.ci excludes 0", f"turn that round and {ABOVE}: `b.ci excludes 0 and delta > 0`"),
        ("superiority", "g.p_value >= 0.05", "turn that round: `g.p_value < 0.05`"),
        ("superiority", "eq.superior is false", "turn that round: `eq.superior is true`"),
        ("superiority", "m.p_value > 0.05 or delta > -1 pp",
         f"turn that round and {ABOVE}: `(m.p_value < 0.05 or delta > -1 pp) and delta > 0`"),
        ("superiority", "m.p_value < 0.05", "add the clause `delta > 0`: `m.p_value < 0.05 and delta > 0`"),
        ("non_inferiority", "m.p_value > 0.05",
         "leave that out and add the clause `eq.noninferior is true`: `eq.noninferior is true`"),
        ("equivalence", "m.p_value > 0.05",
         "leave that out and add the clause `eq.equivalent is true`: `eq.equivalent is true`"),
        ("equivalence", "m.p_value > 0.05 and eq.equivalent is true and eq.noninferior is false", None),
    ],
)  # fmt: skip
def test_what_is_advised(claim, rule, advice):
    changes = {
        "tests": TESTS,
        "hypotheses.0.claim": claim,
        "hypotheses.0.rule": rule,
        "hypotheses.0.statement": "C2 and C1 compare",
    }
    found = errors(changes)
    if advice is None:
        assert found == []
        return
    (finding,) = found
    assert finding.message.endswith(f"To mend it, {advice}")
    assert errors(pasted(changes, finding.message)) == []
