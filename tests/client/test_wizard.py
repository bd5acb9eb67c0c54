from __future__ import annotations

import itertools
import json
from collections.abc import Iterator

import pytest

from forelock import wizard
from service.domain.lint import lint
from service.domain.plan import Plan
from service.domain.population import ManifestFacts


def errors(plan: dict) -> list[str]:
    """What blocks a lock, with the items that the plan asks for."""
    parsed = Plan.from_dict(plan)
    (population,) = parsed.populations or ()
    n, clusters = population.n, population.clusters
    sizes = (
        () if clusters is None else tuple(n // clusters.n + (i < n % clusters.n) for i in range(clusters.n))
    )
    facts = ManifestFacts(
        items_sha256="0" * 64,
        n=n,
        n_clusters=None if clusters is None else clusters.n,
        cluster_sizes=sizes,
    )
    return [each.code for each in lint(parsed, {population.id: facts}) if each.severity == "error"]


def test_the_template_can_be_locked():
    assert errors(wizard.TEMPLATE) == []


@pytest.mark.parametrize(
    ("kind", "claim", "clusters"), list(itertools.product("12", "123", ["", "conversation"]))
)
def test_what_the_questions_make_can_be_locked(kind, claim, clusters):
    after = ["20", "A title"] if clusters else ["one each", "A title"]
    answers: Iterator[str] = iter(["a", "b", kind, "hit", claim, "5", "data v1", "400", clusters, *after])
    plan = wizard.ask(lambda _question: next(answers))
    assert next(answers, None) is None
    assert errors(plan) == []


def test_an_answer_that_cannot_be_is_asked_for_again():
    answers = iter(
        ["a", "b", "3", "1", "hit", "same", "better", "many", "-1", "5", "", "d", "x", "10", "", "w", ""]
    )
    plan = wizard.ask(lambda _question: next(answers))
    assert plan["populations"][0]["n"] == 10
    assert plan["title"] == "b against a on d"


def test_plan_new_writes_a_template_and_never_over_a_file(command, tmp_path):
    path = tmp_path / "plan.json"
    assert command("plan", "new", str(path))[0] == 0
    assert json.loads(path.read_text()) == wizard.TEMPLATE
    status, _, said = command("plan", "new", str(path))
    assert status == 2
    assert "is there already" in said
