"""A mapping that cannot be applied does not lock; one of an older plan is still served as it was."""

from __future__ import annotations

import pytest
from pydantic import ValidationError

from service.domain.lint.imports import import_findings
from service.domain.plans.plan import Plan

PLAN = {
    "populations": [{"id": "p", "dataset": "d", "n": 2, "independence": "yes"}],
    "hypotheses": [
        {
            "id": "H1",
            "claim": "superiority",
            "statement": "s",
            "population": "p",
            "baseline": "A",
            "candidate": "B",
            "endpoint": "accuracy",
            "rule": "delta >= 1 pp",
        }
    ],
    "endpoints": [
        {"id": "accuracy", "kind": "binary", "role": "primary"},
        {"id": "f1", "kind": "continuous", "role": "secondary", "bounds": {"low": 0, "high": 1}},
    ],
}


def found(section, **changes):
    plan = Plan.from_dict(PLAN | changes | {"import": section})
    assert {(each.severity, each.code) for each in import_findings(plan)} <= {
        ("error", "IMPORT_MAPPING"),
        ("error", "UNKNOWN_NAME"),
    }
    return [each.path for each in import_findings(plan)]


@pytest.mark.parametrize(
    "section",
    [
        {"format": "inspect", "scorer": "match", "cluster_key": "conversation"},
        {
            "format": "inspect",
            "scorer": "match",
            "values": {"P": 0},
            "limit": "missing",
            "edited": "original",
        },
        {"format": "lm_eval", "metric": "acc", "filter": "none", "arm": "model_args.arm", "arms": {"x": "A"}},
        {"format": "promptfoo", "metric": "success", "endpoints": {"f1": {"metric": "score"}}},
        {"format": "csv"},
        {"format": "swe_bench", "empty_patch": "failure"},
    ],
)
def test_mapping_that_can_be_applied_is_fine(section):
    assert found(section) == []


@pytest.mark.parametrize(
    ("section", "paths"),
    [
        ({"format": "unheard_of"}, ["import.format"]),
        ({"format": "csv", "scorer": "x"}, ["import.format"]),
        ({"format": "inspect"}, ["import.scorer"]),
        ({"format": "lm_eval", "metric": "acc"}, ["import.filter"]),
        ({"format": "inspect", "scorer": "m", "arms": {"x": "C"}}, ["import.arms.x", "import.arm"]),
        ({"format": "inspect", "scorer": "m", "values": {"P": 0.5}}, ["import.values.P"]),
        ({"format": "inspect", "scorer": "m", "endpoint": "speed"}, ["import.endpoint"]),
        ({"format": "inspect", "scorer": "m", "endpoints": {"accuracy": {"scorer": "n"}}},
         ["import.endpoints.accuracy"]),
        ({"format": "inspect", "scorer": "m", "endpoints": {"f1": {"metric": "n"}}},
         ["import.endpoints.f1.scorer", "import.endpoints.f1.metric"]),
        ({"format": "inspect", "scorer": "m", "endpoints": {"f1": {"scorer": "n", "values": {"P": 2}}}},
         ["import.endpoints.f1.values.P"]),
    ],
)  # fmt: skip
def test_mapping_that_cannot_be_applied_names_the_line(section, paths):
    assert found(section) == paths


def test_replicates_have_to_be_told_apart():
    endpoints = [{"id": "accuracy", "kind": "binary", "role": "primary", "replicates": 2}]
    assert found({"format": "csv"}, endpoints=endpoints) == ["import.replicate"]
    assert found({"format": "csv", "replicate": "epoch"}, endpoints=endpoints) == []
    assert found({"format": "inspect", "scorer": "m"}, endpoints=endpoints) == []


@pytest.mark.parametrize(
    "section",
    [
        {"format": "inspect", "scorer": "match", "cluster_key": "conversation"},
        {"format": "lm-eval", "scorer": "acc"},
        {"format": "csv", "cluster_key": "c"},
        {"format": "inspect"},
    ],
)
def test_section_of_an_older_plan_keeps_its_text(section):
    plan = Plan.from_dict({"import": section})
    assert plan.as_dict()["import"] == section
    assert Plan.from_json(plan.canonical_text()) == plan


@pytest.mark.parametrize(
    "section", [{"format": "inpsect", "limit": "score"}, {"scorer": "x"}, {}, {"format": 1}]
)
def test_unknown_format_is_told_with_the_known_ones(section):
    with pytest.raises(ValidationError, match="`format` must be one of inspect"):
        Plan.from_dict({"import": section})


def test_fault_of_a_known_format_is_told_of_its_own_fields():
    with pytest.raises(ValidationError) as refused:
        Plan.from_dict({"import": {"format": "inspect", "scorrer": "x"}})
    assert [each["loc"][-1] for each in refused.value.errors()] == ["scorrer"]


@pytest.mark.parametrize(
    ("section", "says"),
    [
        ({"format": "unheard_of"}, "files of 'unheard_of' are not read: write one of "),
        ({"format": "csv", "scorer": "x"}, "`scorer` and `cluster_key` mean nothing to files of 'csv'"),
    ],
)
def test_a_format_that_is_not_read_and_a_word_that_means_nothing_to_it_are_told_apart(section, says):
    (finding,) = import_findings(Plan.from_dict(PLAN | {"import": section}))
    assert str(finding.message).startswith(says)
