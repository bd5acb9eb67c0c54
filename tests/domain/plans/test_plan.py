"""Plans: strict reading, one canonical text."""

from __future__ import annotations

import json

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from service.domain.plans.manifest import ManifestFacts
from service.domain.plans.plan import Plan
from tests.strategies import plans

PATIENT = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])

HYPOTHESIS = {
    "id": "H1",
    "claim": "superiority",
    "statement": "C2 beats C1 by 2 pp",
    "population": "one",
    "baseline": "C1",
    "candidate": "C2",
    "endpoint": "accuracy",
    "rule": "delta > 0",
}


@PATIENT
@given(plans())
def test_canonical_text_reads_back_as_the_same_plan(value):
    plan = Plan.from_dict(value)
    again = Plan.from_json(plan.canonical_text())
    assert again == plan
    assert again.canonical_text() == plan.canonical_text()
    assert again.sha256() == plan.sha256()


@PATIENT
@given(plans(), st.randoms())
def test_hash_does_not_depend_on_the_order_of_keys(value, random):
    def shuffled(each):
        if isinstance(each, dict):
            keys = list(each)
            random.shuffle(keys)
            return {key: shuffled(each[key]) for key in keys}
        return [shuffled(item) for item in each] if isinstance(each, list) else each

    assert Plan.from_dict(shuffled(value)).sha256() == Plan.from_dict(value).sha256()


def test_defaults_and_nulls_have_one_text():
    said = {
        "endpoints": [{"id": "a", "kind": "binary", "role": "primary", "replicates": 1, "collapse": None}]
    }
    left_out = {
        "endpoints": [{"id": "a", "kind": "binary", "role": "primary"}],
        "visibility": "private",
        "title": None,
    }
    assert Plan.from_dict(said).canonical_text() == Plan.from_dict(left_out).canonical_text()


def test_import_is_called_import():
    plan = Plan.from_dict({"import": {"format": "inspect", "scorer": "match", "cluster_key": "conversation"}})
    assert plan.import_mapping is not None
    assert plan.as_dict()["import"]["scorer"] == "match"


def test_nulls_inside_parameters_are_kept():
    plan = Plan.from_dict(
        {"tests": [{"id": "m", "test": "mcnemar", "version": 1, "parameters": {"seed": None}}]}
    )
    assert plan.as_dict()["tests"][0]["parameters"] == {"seed": None}


def population(**changes):
    return {"populations": [{"id": "one", "dataset": "D", "n": 5, **changes}]}


def endpoint(**changes):
    return {"endpoints": [{"id": "a", "kind": "binary", "role": "primary", **changes}]}


def test_use(**changes):
    return {"tests": [{"id": "m", "test": "mcnemar", "version": 1, **changes}]}


test_use.__test__ = False


@pytest.mark.parametrize(
    ("value", "path"),
    [
        ({"surprise": 1}, "surprise"),
        (population(surprise=1), "populations.0.surprise"),
        (population(n=True), "populations.0.n"),
        (population(n="12"), "populations.0.n"),
        (population(n=5.0), "populations.0.n"),
        (population(n=0), "populations.0.n"),
        (population(n=10_000_001), "populations.0.n"),
        (population(id="has space"), "populations.0.id"),
        (population(id=""), "populations.0.id"),
        (population(id="a" * 65), "populations.0.id"),
        (population(id="a\n"), "populations.0.id"),
        (population(dataset=""), "populations.0.dataset"),
        (population(dataset="two\nlines"), "populations.0.dataset"),
        (population(items_sha256="abc"), "populations.0.items_sha256"),
        (population(order_seed=2**53), "populations.0.order_seed"),
        (population(clusters={"key": "c"}), "populations.0.clusters.n"),
        ({"populations": population()["populations"] * 2}, "populations"),
        ({"hypotheses": [HYPOTHESIS, HYPOTHESIS]}, "hypotheses"),
        ({"hypotheses": [{**HYPOTHESIS, "id": "H-1"}]}, "hypotheses.0.id"),
        ({"hypotheses": [{**HYPOTHESIS, "claim": "best"}]}, "hypotheses.0.claim"),
        ({"hypotheses": [{**HYPOTHESIS, "rule": "x" * 2001}]}, "hypotheses.0.rule"),
        (endpoint(kind="ordinal"), "endpoints.0.kind"),
        (endpoint(replicates=0), "endpoints.0.replicates"),
        (test_use(id="and"), "tests.0.id"),
        (test_use(id="Delta"), "tests.0.id"),
        (test_use(id="1st"), "tests.0.id"),
        (test_use(parameters={"seed": 2**53}), "tests.0.parameters"),
        (test_use(parameters={"seed": 1e20}), "tests.0.parameters"),
        (test_use(parameters=[1]), "tests.0.parameters"),
        ({"sesoi": {"a": 2}}, "sesoi.a"),
        ({"sesoi": {"a": {"value": 2}}}, "sesoi.a.unit"),
        ({"sesoi": {"a": {"value": True, "unit": "pp"}}}, "sesoi.a.value"),
        ({"sesoi": {"a": {"value": -2, "unit": "pp"}}}, "sesoi.a.value"),
        ({"stopping": {"kind": "whenever"}}, "stopping"),
        ({"stopping": {"kind": "fixed_n", "looks": 3}}, "stopping.fixed_n.looks"),
        ({"missing": "impute"}, "missing"),
        ({"multiplicity": {"policy": "hope"}}, "multiplicity.policy"),
        ({"results_due": "tomorrow"}, "results_due"),
        ({"results_due": 20270201}, "results_due"),
        ({"visibility": "everyone"}, "visibility"),
        ({"thresholds": [{"name": "tau", "value": 1, "chosen_by": "p30"}] * 2}, "thresholds"),
    ],
)
def test_malformed_plans_are_refused_by_field(value, path):
    with pytest.raises(ValidationError) as refused:
        Plan.from_dict(value)
    assert path in [".".join(map(str, fault["loc"])) for fault in refused.value.errors()]


@pytest.mark.parametrize("number", ["NaN", "Infinity", "1e999"])
def test_numbers_that_are_no_numbers_are_refused(number):
    tau = {"thresholds": [{"name": "tau", "value": "?", "chosen_by": "p30"}]}
    with pytest.raises(ValidationError):
        Plan.from_json(json.dumps(tau).replace('"?"', number))
    with pytest.raises(ValidationError):
        Plan.from_json(json.dumps(test_use(parameters={"x": "?"})).replace('"?"', number))


def test_faults_of_ids_say_what_an_id_is():
    with pytest.raises(ValidationError, match="letters, digits or _"):
        Plan.from_dict(test_use(id="a-b"))
    with pytest.raises(ValidationError, match="word of the rule language"):
        Plan.from_dict(test_use(id="within"))


def test_arms_are_those_of_the_population_in_order_of_mention():
    pairs = [("H1", "one", "C2", "C1"), ("H2", "two", "X", "Y"), ("H3", "one", "C1", "C3")]
    plan = Plan.from_dict(
        {
            "hypotheses": [
                {**HYPOTHESIS, "id": name, "population": where, "baseline": before, "candidate": after}
                for name, where, before, after in pairs
            ]
        }
    )
    assert plan.arms("one") == ("C2", "C1", "C3")
    assert plan.arms("two") == ("X", "Y")
    assert plan.arms("three") == ()


def test_endpoints_list_where_they_are_measured():
    plan = Plan.from_dict(
        {
            "endpoints": [
                {"id": "a", "kind": "binary", "role": "primary"},
                {"id": "b", "kind": "continuous", "role": "secondary", "populations": ["two"]},
            ]
        }
    )
    assert [each.id for each in plan.endpoints_of("one")] == ["a"]
    assert [each.id for each in plan.endpoints_of("two")] == ["a", "b"]


@pytest.mark.parametrize(
    ("kind", "replicates", "collapse", "seen_as"),
    [
        ("binary", 1, None, "binary"),
        ("binary", 3, None, "continuous"),
        ("binary", 3, "mean", "continuous"),
        ("binary", 3, "majority", "binary"),
        ("binary", 3, "first", "binary"),
        ("continuous", 3, None, "continuous"),
    ],
)
def test_mean_of_binary_replicates_is_a_score(kind, replicates, collapse, seen_as):
    plan = Plan.from_dict(endpoint(kind=kind, replicates=replicates, collapse=collapse))
    assert plan.endpoints[0].collapsed_kind == seen_as


@pytest.mark.parametrize(("k", "seen_as"), [(2, "continuous"), (3, "binary")])
def test_all_of_every_replicate_is_right_or_wrong(k, seen_as):
    plan = Plan.from_dict(endpoint(replicates=3, collapse="all_of_k", k=k))
    assert plan.endpoints[0].collapsed_kind == seen_as


def test_lookups_by_id():
    plan = Plan.from_dict({**population(), **endpoint(), **test_use(), "hypotheses": [HYPOTHESIS]})
    assert plan.population("one").n == 5
    assert plan.endpoint("a").kind == "binary"
    assert plan.test("m").test == "mcnemar"
    assert plan.hypothesis("H1").rule == "delta > 0"
    assert plan.population("two") is plan.endpoint("z") is plan.test("z") is plan.hypothesis("H2") is None


def test_lock_fills_in_the_manifest_hashes_and_nothing_else():
    plan = Plan.from_dict({**population(), "title": "T"})
    facts = {"one": ManifestFacts(n=5, items_sha256="0" * 64, n_clusters=None)}
    locked = plan.with_items(facts)
    assert locked.populations[0].items_sha256 == "0" * 64
    assert plan.populations[0].items_sha256 is None
    expected = plan.as_dict()
    expected["populations"][0]["items_sha256"] = "0" * 64
    assert json.loads(locked.canonical_text()) == expected
    assert Plan().with_items(facts) == Plan()
