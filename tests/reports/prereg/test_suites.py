"""Suites in a preregistration that is Markdown: printed, read back, and read from prose."""

from __future__ import annotations

import pytest

from service.reports.prereg.print import print_plan
from service.reports.prereg.read import read_plan
from tests.domain.suites_sample import suite_plan


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"suites.0.weights": "items", "hypotheses.0.about": "every_task"},
        {
            "suites.0.weights": {"large": 2, "middle": 1, "small": 0.5},
            "suites.0.rescale": {"small": {"floor": 0.25, "ceiling": 1}},
            "suites.0.estimand": "new_tasks",
        },
    ],
)
def test_what_is_printed_reads_back(changes, language):
    plan = suite_plan(changes)
    text = print_plan(plan, language)
    assert ("Suites (several tasks)" if language == "en" else "任务集（多个任务）") in text
    assert read_plan(text)[0].canonical_text() == plan.canonical_text()


PROSE = """# Experiments Pre-Registration

## Sample size
- code: n=300 (CodeBench)
- maths: n=80 (MathBench)

## Suites
- **bench**: {tasks}

## Primary endpoint
- **accuracy** (0/1 per item)

## Hypotheses
- **H1**: C2 is better than C1 over bench
  - Claim: `superiority`
  - Baseline: `C1`
  - Candidate: `C2`

## Decision rules
- **H1**: `suite.ci.low > 0`
"""


@pytest.mark.parametrize(
    ("tasks", "weights"),
    [
        ("MathBench and CodeBench, weighted equally", "equal"),
        ("MathBench, CodeBench (micro-average)", "items"),
        ("MathBench、CodeBench，等权", "equal"),
        ("MathBench, CodeBench", None),
    ],
)
def test_a_line_of_prose_names_tasks_and_weights(tasks, weights):
    plan, value, _ = read_plan(PROSE.format(tasks=tasks))
    (suite,) = value["suites"]
    assert [plan.population(name).dataset for name in suite["populations"]] == ["MathBench", "CodeBench"]
    assert suite.get("weights") == weights
    assert value["hypotheses"][0]["population"] == "bench"


def test_a_suite_without_tasks_is_a_gap():
    plan, _, _ = read_plan(PROSE.format(tasks="everything"))
    assert not plan.suites
