"""What lint says of plans."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings

from service.domain.lint import lint as service_lint
from service.domain.plans.manifest import ManifestFacts
from service.domain.plans.plan import Plan
from tests.domain.lint.worked import worked_example
from tests.domain.sample import codes, facts_of, findings, lint, manifest, plan
from tests.drawing import draws
from tests.strategies import plans

PATIENT = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow], max_examples=draws(40))

CLUSTERED = {
    "populations.0.independence": None,
    "populations.0.clusters": {"key": "conversation", "n": 40},
    "tests.0": {"id": "m", "test": "clustered-mcnemar", "version": 1, "parameters": {"method": "sign_flip"}},
}
CONTINUOUS = {"endpoints.0.kind": "continuous", "sesoi": {"accuracy": {"value": 0.1, "unit": "score"}}}


def test_the_sample_is_clean():
    assert codes() == []
    every = service_lint.lint(plan(), {"one": manifest(500).facts()})
    assert {each.code for each in every} == {"LOW_POWER", "SIZE_NOT_TESTED"}
    assert not [each for each in every if each.asks]


@PATIENT
@given(plans())
def test_plans_whose_names_resolve_have_no_error_but_small_samples(value):
    changed = Plan.from_dict(value)
    found = service_lint.lint(changed, facts_of(changed))
    assert {each.code for each in found if each.severity == "error"} <= {"RULE_NEVER_PASSES"}


def test_an_empty_draft_lists_every_missing_section():
    found = lint(Plan(), {})
    assert {each.code for each in found} == {"MISSING_SECTION"}
    optional = {
        "arm_cards", "authors", "embargo_until", "assumptions", "import_mapping", "results_due", "runs",
        "slices", "suites", "tried", "visibility",
    }  # fmt: skip
    assert {each.path for each in found} == set(Plan.model_fields) - optional


def test_errors_come_first_and_once():
    found = findings({**CLUSTERED, "populations.0.clusters": {"key": "c", "n": 8}, "thresholds": None})
    severities = [each.severity for each in found]
    assert severities == sorted(severities)
    assert len(set(found)) == len(found)
    assert set(severities) == {"error", "warning"}


@pytest.mark.parametrize(
    ("changes", "code", "path"),
    [
        ({"title": None}, "MISSING_SECTION", "title"),
        ({"thresholds": None}, "MISSING_SECTION", "thresholds"),
        ({"hypotheses": []}, "MISSING_SECTION", "hypotheses"),
        ({"endpoints.0.role": "secondary"}, "MISSING_SECTION", "endpoints"),
        ({"sesoi": {}}, "MISSING_SECTION", "sesoi.accuracy"),
        ({"hypotheses.0.population": "two"}, "UNKNOWN_NAME", "hypotheses[0].population"),
        ({"hypotheses.0.endpoint": "speed"}, "UNKNOWN_NAME", "hypotheses[0].endpoint"),
        ({"hypotheses.0.rule": "q.p_value < 0.05"}, "UNKNOWN_NAME", "hypotheses[0].rule"),
        ({"hypotheses.0.equivalence": "q"}, "UNKNOWN_NAME", "hypotheses[0].equivalence"),
        ({"endpoints.0.populations": ["two"]}, "UNKNOWN_NAME", "endpoints[0].populations"),
        ({"endpoints.0.populations": ["two"]}, "UNKNOWN_NAME", "hypotheses[0].endpoint"),
        ({"sesoi.speed": {"value": 1, "unit": "pp"}}, "UNKNOWN_NAME", "sesoi.speed"),
        ({"multiplicity.family": ["H9"]}, "UNKNOWN_NAME", "multiplicity.family"),
        ({"tests.0.test": "mcnemars"}, "UNKNOWN_NAME", "tests[0].test"),
        ({"tests.0.version": 99}, "UNKNOWN_NAME", "tests[0].version"),
        (
            {"thresholds": [{"name": "tau", "population": "two", "value": 1, "chosen_by": "p30"}]},
            "UNKNOWN_NAME",
            "thresholds[0].population",
        ),
        ({"hypotheses.0.candidate": "C1"}, "SAME_ARM", "hypotheses[0].candidate"),
        ({"populations.0.independence": None}, "INDEPENDENCE_NOT_STATED", "populations[0].independence"),
        ({"hypotheses.0.rule": "delta is large"}, "RULE_INVALID", "hypotheses[0].rule"),
        ({"hypotheses.0.rule": "m.q < 0.05"}, "RULE_FIELD_UNKNOWN", "hypotheses[0].rule"),
        ({"hypotheses.0.rule": "m.intervals.agresti excludes 0"}, "RULE_FIELD_UNKNOWN", "hypotheses[0].rule"),
        ({"hypotheses.0.rule": "m.warnings > 0"}, "RULE_FIELD_UNKNOWN", "hypotheses[0].rule"),
        ({"hypotheses.0.rule": "m.method == 1"}, "RULE_FIELD_TYPE", "hypotheses[0].rule"),
        ({"hypotheses.0.rule": "m.ci.closed == 1"}, "RULE_FIELD_TYPE", "hypotheses[0].rule"),
        ({"hypotheses.0.rule": "m.ci is true"}, "RULE_FIELD_TYPE", "hypotheses[0].rule"),
        ({"hypotheses.0.rule": "m.p is true"}, "RULE_FIELD_TYPE", "hypotheses[0].rule"),
        ({"hypotheses.0.rule": "delta is true"}, "RULE_FIELD_TYPE", "hypotheses[0].rule"),
        ({"hypotheses.0.rule": "m.ci > 0"}, "RULE_FIELD_TYPE", "hypotheses[0].rule"),
        ({"hypotheses.0.rule": "m.p excludes 0"}, "RULE_FIELD_TYPE", "hypotheses[0].rule"),
        ({"hypotheses.0.rule": "delta excludes 0"}, "RULE_FIELD_TYPE", "hypotheses[0].rule"),
        ({"hypotheses.0.rule": "delta >= 2"}, "UNIT", "hypotheses[0].rule"),
        ({"hypotheses.0.rule": "m.ci within [-2, 2]"}, "UNIT", "hypotheses[0].rule"),
        ({"hypotheses.0.rule": "m.p_value < 5 pp"}, "UNIT", "hypotheses[0].rule"),
        ({"hypotheses.0.rule": "m.odds_ratio.ci excludes 1 pp"}, "UNIT", "hypotheses[0].rule"),
        ({**CONTINUOUS, "hypotheses.0.rule": "delta >= 2 pp"}, "UNIT", "hypotheses[0].rule"),
        ({"sesoi.accuracy": {"value": 2, "unit": "score"}}, "UNIT", "sesoi.accuracy"),
        ({"sesoi.accuracy": {"value": 2, "unit": "proportion"}}, "UNIT", "sesoi.accuracy"),
        ({**CONTINUOUS, "sesoi.accuracy": {"value": 2, "unit": "pp"}}, "UNIT", "sesoi.accuracy"),
        ({"tests.0.parameters": {"methods": "exact"}}, "TEST_PARAMETERS", "tests[0].parameters.methods"),
        ({"tests.0.parameters": {"method": "Exact"}}, "TEST_PARAMETERS", "tests[0].parameters.method"),
        ({"tests.0.parameters": {"alpha": "0.05"}}, "TEST_PARAMETERS", "tests[0].parameters.alpha"),
        ({"tests.0.parameters": {"alpha": 5}}, "TEST_PARAMETERS", "tests[0].parameters.alpha"),
        ({"tests.0.parameters": {"baseline": [1]}}, "TEST_PARAMETERS", "tests[0].parameters.baseline"),
        ({"tests.0.parameters": {"both_wrong": 1}}, "TEST_PARAMETERS", "tests[0].parameters.both_wrong"),
        (
            {"tests.1": {"id": "unused", "test": "mcnemar", "version": 1, "parameters": {"x": 1}}},
            "TEST_PARAMETERS",
            "tests[1].parameters.x",
        ),
        ({**CONTINUOUS, "hypotheses.0.rule": "m.p < 0.05"}, "TEST_ENDPOINT", "hypotheses[0].rule"),
        ({"tests.0": {"id": "m", "test": "describe", "version": 1}}, "TEST_ENDPOINT", "hypotheses[0].rule"),
        ({"hypotheses.0.equivalence": "m"}, "TEST_ENDPOINT", "hypotheses[0].equivalence"),
        ({"tests.0": CLUSTERED["tests.0"]}, "TEST_NEEDS_CLUSTERS", "hypotheses[0].rule"),
        ({"endpoints.0.replicates": 3}, "REPLICATES", "hypotheses[0].rule"),
        ({"endpoints.0.replicates": 3, "endpoints.0.collapse": "mean"}, "REPLICATES", "hypotheses[0].rule"),
        (
            {**CONTINUOUS, "endpoints.0.replicates": 3, "endpoints.0.collapse": "majority"},
            "COLLAPSE",
            "endpoints[0].collapse",
        ),
        ({"stopping": {"kind": "group_sequential", "looks": 4}}, "SEQUENTIAL_TEST", "hypotheses[0].rule"),
        ({"stopping": {"kind": "anytime_valid"}}, "ORDER_SEED", "populations[0].order_seed"),
        (
            {"multiplicity.policy": "holm", "hypotheses.0.rule": "delta >= 2 pp"},
            "MULTIPLICITY",
            "hypotheses[0].rule",
        ),
        ({"endpoints.0.kind": "counts"}, "NOT_YET_SUPPORTED", "endpoints[0].kind"),
    ],
)
def test_faults_are_errors_at_their_path(changes, code, path):
    assert (code, path) in [(each.code, each.path) for each in findings(changes) if each.severity == "error"]


@pytest.mark.parametrize("how", ["majority", "first"])
def test_mcnemar_takes_replicates_that_collapse_to_one_outcome(how):
    assert codes({"endpoints.0.replicates": 3, "endpoints.0.collapse": how}) == []


def test_two_readings_of_a_bare_number_are_spelt_out():
    message = next(
        each.message for each in findings({"hypotheses.0.rule": "delta >= 2"}) if each.code == "UNIT"
    )
    assert "200 pp" in message
    assert "`2 pp`" in message
    assert "`0.02`" in message


def test_rule_faults_carry_the_column():
    (found,) = [each for each in findings({"hypotheses.0.rule": "delta >> 2"}) if each.code == "RULE_INVALID"]
    assert found.message.startswith("column 8: expected a number")


@pytest.mark.parametrize(
    ("facts", "changes", "path"),
    [
        (manifest(499).facts(), {}, "populations[0].n"),
        (manifest(500).facts(), CLUSTERED, "populations[0].clusters"),
        (manifest(500, 39).facts(), CLUSTERED, "populations[0].clusters.n"),
        (manifest(500).facts(), {"populations.0.items_sha256": "0" * 64}, "populations[0].items_sha256"),
    ],
)
def test_manifest_mismatches(facts, changes, path):
    found = lint(plan(changes), {"one": facts})
    assert [(each.code, each.path) for each in found if each.severity == "error"] == [
        ("MANIFEST_MISMATCH", path)
    ]


def test_a_population_without_items_cannot_lock():
    assert [each.code for each in lint(plan(), {})] == ["MISSING_MANIFEST"]


def test_a_pinned_manifest_that_fits_is_clean():
    facts = manifest(500).facts()
    assert lint(plan({"populations.0.items_sha256": facts.items_sha256}), {"one": facts}) == ()


@pytest.mark.parametrize(
    ("n_clusters", "code"),
    [(6, "FEW_CLUSTERS"), (9, "FEW_CLUSTERS"), (10, "CAUTION"), (29, "CAUTION"), (30, None)],
)
def test_how_many_clusters_are_few(n_clusters, code):
    found = findings({**CLUSTERED, "populations.0.clusters": {"key": "c", "n": n_clusters}})
    assert [(each.code, each.severity) for each in found] == ([(code, "warning")] if code else [])


def test_unequal_clusters_are_cautioned():
    sizes = (461, *[1] * 39)
    facts = ManifestFacts(n=500, items_sha256="0" * 64, n_clusters=40, cluster_sizes=sizes)
    assert [each.code for each in lint(plan(CLUSTERED), {"one": facts})] == ["CAUTION"]


def test_an_item_level_test_on_clusters_is_warned_about():
    changes = {key: value for key, value in CLUSTERED.items() if key != "tests.0"}
    assert codes(changes) == [("CLUSTERS_IGNORED", "hypotheses[0].rule")]


def test_clusters_of_the_manifest_that_the_plan_does_not_declare_are_warned_about():
    found = lint(plan(), {"one": manifest(500, 40).facts()})
    assert [(each.code, each.severity) for each in found] == [("CLUSTERS_IGNORED", "warning")]
    singletons = manifest(500, 500).facts()
    assert lint(plan(), {"one": singletons}) == ()


@pytest.mark.parametrize(
    ("method", "rule", "mixed"),
    [
        ("durkalski", "delta >= 2 pp and m.p < 0.05", True),
        ("durkalski", "m.delta >= 2 pp and m.p < 0.05", False),
        ("durkalski", "m.p < 0.05 or not delta < 2 pp", True),
        ("durkalski", "m.p < 0.05 and m.estimates.item_weighted > 0", True),
        ("obuchowski", "delta >= 2 pp and m.p < 0.05", False),
        ("obuchowski", "delta >= 2 pp and m.estimates.cluster_weighted > 0", True),
    ],
)
def test_estimands_are_not_mixed(method, rule, mixed):
    found = codes({**CLUSTERED, "tests.0.parameters": {"method": method}, "hypotheses.0.rule": rule})
    assert found == ([("ESTIMAND_MIXED", "hypotheses[0].rule")] if mixed else [])


def test_parameters_that_only_clash_with_each_other_are_found_before_the_lock():
    parameters = {"method": "durkalski", "estimand": "item_weighted"}
    found = codes({**CLUSTERED, "tests.0.parameters": parameters, "hypotheses.0.rule": "m.p < 0.05"})
    assert found == [("TEST_PARAMETERS", "tests[0].parameters.estimand")]


@pytest.mark.parametrize(
    ("statement", "vague"),
    [
        ("C2 is better than C1", True),
        ("GPT4 significantly improves over C1", True),
        ("C2 is better than C1 by 2 pp", False),
        ("C2 answers more questions than C1", False),
        ("Accuracy improves by at least 0.5 points", False),
    ],
)
def test_vague_words_need_a_number(statement, vague):
    assert codes({"hypotheses.0.statement": statement}) == (
        [("VAGUE_WORDS", "hypotheses[0].statement")] if vague else []
    )


def test_every_message_says_the_way_out():
    changes = {
        "hypotheses.0.rule": "m.ci > 0 and m.q > 1 and delta >= 2",
        "sesoi": {},
        "missing": "worst_case",
        "endpoints.0.bounds": {"low": 0.0, "high": 1.0},
    }
    for found in findings(changes):
        assert ":" in found.message or ";" in found.message
        assert found.code == found.code.upper()


def test_the_worked_example_needs_six_clusters():
    few = ("FEW_CLUSTERS", "populations[1].clusters")
    assert codes(worked_example(5)) == [("RULE_NEVER_PASSES", "hypotheses[1].rule"), few]
    assert codes(worked_example(6)) == [few]


def test_an_equivalence_test_needs_a_margin_from_somewhere():
    secondary = {
        **worked_example(40),
        "endpoints.1": {"id": "speed", "kind": "binary", "role": "secondary"},
        "hypotheses.1.endpoint": "speed",
    }
    assert codes(secondary) == [("TEST_PARAMETERS", "tests[4].parameters.margin")]
    margin = {"value": 5, "unit": "pp"}
    assert codes({**secondary, "tests.4.parameters.margin": margin}) == []


@pytest.mark.parametrize(
    ("rule", "method", "said"),
    [
        ("delta < 0 and b.ci.low > 0", "bca", "CONTRADICTION"),
        ("b.ci.low > 2 pp and b.ci.high < 1 pp", "studentized", "CONTRADICTION"),
        ("delta < 0 and b.ci.low > 0", "percentile", "RULE_NEVER_PASSES"),  # every outcome is looked at
        ("delta > 0 and b.ci.low > 0", "bca", None),
        ("delta <= 0 and b.ci.low >= 0", "bca", None),
    ],
)
def test_clauses_that_leave_no_difference_are_told_where_outcomes_are_not_enumerated(rule, method, said):
    bootstrap = {"id": "b", "test": "paired-bootstrap", "version": 1, "parameters": {"method": method}}
    found = codes({"hypotheses.0.rule": rule, "tests": [bootstrap]})
    told = [code for code, _ in found if code in ("CONTRADICTION", "RULE_NEVER_PASSES")]
    assert told == ([] if said is None else [said])


def test_a_size_is_not_called_less_where_smaller_values_are_better():
    (found,) = [
        each.message
        for each in findings_of_all(
            **{
                "endpoints.0.better": "lower",
                "hypotheses.0.statement": "C2 lowers errors by at least 3 pp",
                "hypotheses.0.rule": "delta < 0 and m.p_value < 0.05",
            }
        )
        if each.code == "CLAIM_NOT_ASSERTED"
    ]
    assert found.startswith(
        "the statement says at least -3 pp, and the rule can hold where the observed difference does"
    )


def findings_of_all(**changes):
    changed = plan(changes)
    return service_lint.lint(changed, facts_of(changed))


@pytest.mark.parametrize(
    ("changes", "code", "said"),
    [
        (
            {"hypotheses.0.rule": "m.pvalue < 0.05"},
            "RULE_FIELD_UNKNOWN",
            "did you mean `m.p_value`? It has `m.delta`",
        ),
        ({"hypotheses.0.rule": "p_value < 0.05"}, "RULE_INVALID", "write the test's id before it"),
        ({"hypotheses.0.endpoint": "acuracy"}, "UNKNOWN_NAME", "did you mean 'accuracy'?"),
        ({"hypotheses.0.rule": "M.p_value < 0.05"}, "UNKNOWN_NAME", "did you mean 'm'?"),
    ],
)
def test_a_name_that_is_not_there_has_the_one_that_was_meant(changes, code, said):
    assert any(each.code == code and said in each.message for each in findings(changes))


def test_a_field_within_another_is_told_by_its_whole_path():
    ratio = {"id": "ratio", "test": "ratio-of-means", "version": 1}
    changes = {**CONTINUOUS, "tests.0": ratio, "hypotheses.0.rule": "ratio.ci.high < 1.1"}
    (message,) = [each.message for each in findings(changes) if each.code == "RULE_FIELD_UNKNOWN"]
    assert "did you mean `ratio.ratio.ci.high`?" in message
