"""What rules can still turn out to be before any result."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from service.domain.power.attainable.attainability import Bounds, attainable
from service.domain.rules.grammar import parse
from service.domain.rules.rule import clauses
from service.stats.shared.declaring import registry
from tests.domain.rules.evaluated import evaluate
from tests.domain.sample import codes, findings

PATIENT = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
NEVER = ("RULE_NEVER_PASSES", "hypotheses[0].rule")


def clustered(n_clusters, rule, **parameters):
    return {
        "populations.0.independence": None,
        "populations.0.clusters": {"key": "conversation", "n": n_clusters},
        "tests.0": {"id": "m", "test": "clustered-mcnemar", "version": 1, "parameters": parameters},
        "hypotheses.0.rule": rule,
    }


@pytest.mark.parametrize(
    ("n_clusters", "rule", "parameters", "never"),
    [
        (5, "delta >= 2 pp and m.p < 0.05", {"method": "sign_flip"}, True),
        (5, "delta >= 2 pp and m.p < 0.05", {}, True),
        (6, "delta >= 2 pp and m.p < 0.05", {"method": "sign_flip"}, False),
        (5, "delta >= 2 pp and m.p < 0.05", {"method": "cr2_t"}, False),
        (5, "m.p < 0.05", {"method": "sign_flip", "alternative": "greater"}, False),
        (4, "m.p < 0.05", {"method": "sign_flip", "alternative": "greater"}, True),
        (5, "m.p <= 0.0625", {"method": "sign_flip"}, False),
        (5, "m.p < 0.0625", {"method": "sign_flip"}, True),
        (5, "m.p < 0.05 or delta >= 2 pp", {"method": "sign_flip"}, False),
        (5, "not m.p >= 0.05", {"method": "sign_flip"}, True),
        (5, "not (m.p >= 0.05 or delta < 2 pp)", {"method": "sign_flip"}, True),
        (5, "not m.p < 0.05", {"method": "sign_flip"}, False),
        (5, "delta > 0 and (m.p < 0.05 or m.p < 0.01)", {"method": "sign_flip"}, True),
        (5, "m.ci excludes 0", {"method": "sign_flip"}, False),
    ],
)
def test_sign_flip_on_few_clusters(n_clusters, rule, parameters, never):
    assert (NEVER in codes(clustered(n_clusters, rule, **parameters))) is never


@pytest.mark.parametrize(
    ("n", "parameters", "rule", "never"),
    [
        (5, {"method": "exact"}, "m.p < 0.05", True),
        (6, {"method": "exact"}, "m.p < 0.05", False),
        (5, {}, "m.p < 0.05", True),
        (4, {"method": "midp"}, "m.p < 0.05", True),
        (5, {"method": "midp"}, "m.p < 0.05", False),
        (4, {"method": "exact", "alternative": "less"}, "m.p < 0.05", True),
        (5, {"method": "exact", "alternative": "less"}, "m.p < 0.05", False),
        (3, {"method": "asymptotic"}, "m.p < 0.05", True),
        (4, {"method": "asymptotic"}, "m.p < 0.05", False),
        (500, {"method": "exact"}, "delta > 1", True),
        (500, {"method": "exact"}, "delta > 0.5 and m.p > 2", True),
        (500, {"method": "exact"}, "m.p < 0.05 and m.p > 0.1", True),
        (500, {"method": "exact"}, "m.p < 0.05 and m.p > 0.01", False),
        (500, {"method": "exact"}, "m.p < 0", True),
    ],
)
def test_mcnemar_on_few_items(n, parameters, rule, never):
    found = codes({"populations.0.n": n, "tests.0.parameters": parameters, "hypotheses.0.rule": rule})
    assert (NEVER in found) is never


def test_the_way_out_is_the_least_size_that_can_pass():
    def message(changes):
        return next(each.message for each in findings(changes) if each.code == "RULE_NEVER_PASSES")

    five = message(clustered(5, "m.p < 0.05", method="sign_flip"))
    assert "with 5 clusters the least p of sign_flip is 0.0625" in five
    assert "at least 6 clusters" in five
    assert "at least 6 items" in message({"populations.0.n": 3})
    assert "mend the thresholds" in message({"hypotheses.0.rule": "m.p < 0.05 and m.p > 0.1"})


def test_the_least_p_is_reached_and_never_passed():
    """The bound is the p of the most extreme data, computed by the test itself."""
    test = registry.find("clustered-mcnemar", 1)
    labels = [str(each % 5) for each in range(40)]
    for method in ("two-sided", "greater"):
        request = {"baseline": [0.0] * 40, "candidate": [1.0] * 40, "clusters": labels, "alternative": method}
        p = test.compute(test.request.model_validate(request)).p_value
        assert p == pytest.approx(2**-5 * (2 if method == "two-sided" else 1))


@pytest.mark.parametrize(
    ("rule", "found"),
    [
        ("m.p < 0.05 and m.p < 0.01", ["REDUNDANT_CLAUSE"]),
        ("m.p < 0.05 and m.p < 0.050", ["REDUNDANT_CLAUSE"]),
        ("delta > 1 pp and delta >= 2 pp and m.p < 0.05", ["REDUNDANT_CLAUSE"]),
        ("delta > 0 and m.p <= 1", ["REDUNDANT_CLAUSE"]),
        ("delta > 0 and m.delta > 0 and m.p < 0.05", []),
        ("delta > 1 pp or (m.p < 0.05 and m.p > 0.1)", ["CONTRADICTION"]),
        ("delta > 1 pp or m.p > 1", ["CONTRADICTION"]),
        ("delta > 1 pp and delta < 3 pp", []),
        ("delta within [-2 pp, 2 pp] and delta > -1 pp", []),
        ("delta within [-2 pp, 2 pp] and delta > -3 pp", ["REDUNDANT_CLAUSE"]),
        ("m.n_discordant > 10 and m.n > 5", []),
    ],
)
def test_clauses_that_do_no_work_are_warned_about(rule, found):
    warned = findings({"hypotheses.0.rule": rule})
    assert [each.code for each in warned] == found
    assert all(each.severity == "warning" for each in warned)


@pytest.mark.parametrize(
    ("rule", "found"),
    [
        ("e.equivalent is true", []),
        ("e.equivalent is true and e.p_value < 0.05", []),
        ("e.equivalent is true and not e.superior is true", []),
        ("e.equivalent is true and e.equivalent is true", ["REDUNDANT_CLAUSE"]),
        ("e.equivalent is true and e.equivalent is false", ["RULE_NEVER_PASSES"]),
        ("delta > 0 or (e.equivalent is true and e.equivalent is false)", ["CONTRADICTION"]),
        ("e.equivalent == 1", ["RULE_FIELD_TYPE"]),
        ("e.delta is true", ["RULE_FIELD_TYPE"]),
    ],
)
def test_rules_over_what_is_true_or_false(rule, found):
    test = {"id": "e", "test": "equivalence", "version": 1, "parameters": {"method": "tango"}}
    assert [code for code, _ in codes({"tests.0": test, "hypotheses.0.rule": rule})] == found


def rules_over_p():
    thresholds = st.sampled_from(["0", "0.01", "0.05", "0.0625", "0.1", "1"])
    operators = st.sampled_from(["<", "<=", ">", ">=", "==", "!="])
    clause = st.builds(
        lambda field, operator, threshold: f"{field} {operator} {threshold}",
        st.sampled_from(["a.p_value", "b.p_value", "delta"]), operators, thresholds,
    )  # fmt: skip
    return st.recursive(
        clause,
        lambda inner: (
            st.builds(lambda left, right: f"({left} and {right})", inner, inner)
            | st.builds(lambda left, right: f"({left} or {right})", inner, inner)
            | st.builds(lambda part: f"not ({part})", inner)
        ),
        max_leaves=6,
    )


@PATIENT
@given(rules_over_p(), st.integers(0, 2**32))
def test_nothing_possible_is_called_impossible(text, seed):
    rule = parse(text)
    bounds = {
        "a.p_value": Bounds(Fraction(1, 16), Fraction(1)),
        "b.p_value": Bounds(Fraction(0), Fraction(1)),
        "delta": Bounds(Fraction(-1), Fraction(1)),
    }
    settled = attainable(rule, bounds)
    rng = np.random.default_rng(seed)
    values = [Fraction(each) for each in ("0", "0.01", "0.03", "0.05", "0.0625", "0.08", "0.1", "0.5", "1")]
    for _ in range(60):
        fields = {
            name: max(bounds[name].low, values[rng.integers(len(values))])
            for name in {str(clause.field) for clause in clauses(rule)}
        }
        truth = evaluate(rule, fields)
        assert settled is None or truth is settled
