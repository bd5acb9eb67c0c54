"""What one arm is held against: a statement that names another number than the reference is a slip, or worse."""

from __future__ import annotations

import pytest

from service.domain.lint.reference import reference_findings
from service.domain.rules.settings import resolve
from tests.domain import sample


@pytest.mark.parametrize(
    ("statement", "message"),
    [
        ("C2 reaches 70 %", None),
        ("C2 reaches 70%, where C1 had 65 per cent", None),
        ("C2 is good enough", None),
        ("C2 reaches 80%", "80%"),
        ("C2 reaches 80 per cent or 7.5 %", "7.5%, 80%"),
    ],
)
def test_a_statement_says_the_number_of_the_reference(statement: str, message: str | None) -> None:
    hypothesis = {
        "id": "H1", "claim": "at_least", "statement": statement, "population": "one", "candidate": "C2",
        "reference": {"value": 70, "unit": "%"}, "endpoint": "accuracy", "rule": "score.ci.low >= 70%",
    }  # fmt: skip
    test = {"id": "score", "test": "one-sample-mean", "version": 1}
    plan = sample.plan({"hypotheses.0": hypothesis, "tests": [test]})
    (setting,) = resolve(plan).settings
    findings = [(finding.code, finding.path) for finding in reference_findings(setting)]
    if message is None:
        assert findings == []
    else:
        assert findings == [("REFERENCE_DIFFERS", "hypotheses[0].statement")]
        (finding,) = reference_findings(setting)
        assert message in finding.message
        assert "70%" in finding.message
