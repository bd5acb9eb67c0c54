"""Power of rules on clusters and on scores: the simulated fields against the tests themselves."""

from __future__ import annotations

import math

import numpy as np
import pytest

from service.domain.power.procedure.fields import SimulatedSets
from service.domain.power.rule_power import rule_powers
from service.domain.rules.answers import Answer
from service.domain.rules.settings import resolve
from service.domain.rules.truth import Ends
from service.kernels.planning.draws_in_clusters import draw_binary, draw_continuous
from service.stats.shared.declaring import registry
from service.stats.shared.declaring.simulated import Units
from service.stats.shared.methods.resampling import WARNED
from tests.domain.sample import facts_of, plan
from tests.drawing import one_in

pytestmark = pytest.mark.usefixtures("any_rule")

SIZES = np.array([9, 4, 12, 7, 10])
CLUSTERED = {
    "populations.0.n": int(SIZES.sum()),
    "populations.0.independence": None,
    "populations.0.clusters": {"key": "c", "n": len(SIZES)},
}
SCORES = {"endpoints.0.kind": "continuous", "sesoi": {"accuracy": {"value": 0.2, "unit": "score"}}}
MARGIN, WIDE = {"value": 10, "unit": "pp"}, {"value": 30, "unit": "pp"}


def powers(changes):
    changed = plan(changes)
    return rule_powers(changed, facts_of(changed))


def setting(test, parameters, field, changes):
    changed = plan(
        {
            **changes,
            "tests.0": {"id": "m", "test": test, "version": 1, "parameters": parameters},
            "hypotheses.0.rule": f"m.{field} > 0",
        }
    )
    return resolve(changed).settings[0], changed.sesoi["accuracy"]


def agree(found, answers, path, **tolerance):
    """The simulated values are what the test says of each data set."""
    for index, answer in enumerate(answers):
        seen = Answer({"analysis": answer.model_dump(mode="json")}).observe(*path).value
        open_ = bool({"BEYOND_RESAMPLES", "FEW_SIGNS"} & {warning.code for warning in answer.warnings})
        if open_:
            seen = answer.within.get(".".join(path), (None, seen))[1]  # it counts as the most it may be
        values = [column[index] for column in found] if isinstance(found, tuple) else [found[index]]
        expected = [seen.low, seen.high] if isinstance(seen, Ends) else [seen] * len(values)
        if path == ("p_value",) and open_:
            expected = [answer.within.get("p_value", (seen, seen))[1]]  # what a rule takes it for
        for value, one in zip(values, expected, strict=True):
            if path == ("p_value",) and one is not None and min(value, float(one)) >= WARNED:
                continue  # no evidence by any test: of few units an answer says no more there, and power asks no less
            assert (one is None and np.isnan(value)) or value == pytest.approx(float(one), **tolerance)


CLUSTER_FIELDS = [
    *[
        ("clustered-mcnemar", {"method": method, "alternative": side}, path)
        for method in ("sign_flip", "obuchowski", "durkalski", "yang", "cr1_t", "cr2_t", "cv3_t")
        for side in ("two-sided", "greater")
        for path in (("p_value",), ("ci",), ("delta",))
    ],
    *[
        ("cluster-bootstrap", {"method": method, "estimand": estimand, "alternative": side}, path)
        for method in ("percentile", "basic")
        for estimand in ("item_weighted", "cluster_weighted")
        for side in ("greater", "two-sided")
        for path in (("p_value",), ("ci",))
    ],
    *[("randomization", {"alternative": side}, ("p_value",)) for side in ("two-sided", "less")],
    *[
        ("equivalence", {"method": method, "margin": MARGIN, "alpha": 0.1}, (name,))
        for method in ("tango", "bootstrap_ci", "t")
        for name in ("ci", "p_value", "p_lower", "p_upper")
    ],
    *[  # at .02 the signs of five clusters are known to show nothing, whatever the interval is
        ("equivalence", {"method": "bootstrap_ci", "margin": WIDE, "alpha": alpha}, (name,))
        for alpha in (0.02, 0.1)
        for name in ("equivalent", "noninferior", "superior")
    ],
]


@pytest.mark.parametrize(("test", "parameters", "path"), one_in(3, CLUSTER_FIELDS))
def test_fields_of_clustered_tests_are_those_of_the_tests(test, parameters, path):
    """Five clusters: every multiset is listed, so even bootstraps have nothing random."""
    of, sesoi = setting(test, parameters, ".".join(path), CLUSTERED)
    won, lost = draw_binary(np.random.default_rng(3), 12, SIZES, (0.2, 0.1), 0.1)
    # and clusters without spread: no item differs, or all do
    won, lost = np.vstack([won, 0 * SIZES, SIZES, 0 * SIZES]), np.vstack([lost, 0 * SIZES, 0 * SIZES, SIZES])
    sets = SimulatedSets(of, sesoi, Units(SIZES, (won - lost).astype(float), (won, lost), True, 1))
    labels = np.repeat(np.arange(len(SIZES)), SIZES)
    answers = []
    for b, c in zip(won, lost, strict=True):
        before, after = np.zeros(len(labels)), np.zeros(len(labels))
        for cluster in range(len(SIZES)):
            items = np.flatnonzero(labels == cluster)
            after[items[: b[cluster]]] = 1
            before[items[b[cluster] : b[cluster] + c[cluster]]] = 1
        chosen = registry.find(test)
        request = {
            "baseline": before.tolist(),
            "candidate": after.tolist(),
            "clusters": labels.tolist(),
            **parameters,
        }
        answers.append(chosen.compute(chosen.request.model_validate(request)))
    found = sets.value_of(of.uses["m"], path)
    assert found is not None
    agree(found, answers, path, rel=1e-9, abs=1e-12)


@pytest.mark.parametrize(
    ("test", "parameters", "path", "tolerance"),
    one_in(
        3,
        [
            ("t-test", {"method": "paired"}, ("p_value",), {"rel": 1e-9}),
            ("t-test", {"method": "paired", "alternative": "less"}, ("p_value",), {"rel": 1e-9}),
            ("t-test", {"method": "paired", "level": 0.9}, ("ci",), {"rel": 1e-9}),
            ("wilcoxon", {}, ("p_value",), {"rel": 1e-9}),
            ("wilcoxon", {"alternative": "greater"}, ("p_value",), {"rel": 1e-9}),
            ("wilcoxon", {"method": "asymptotic"}, ("p_value",), {"rel": 1e-9}),
            ("wilcoxon", {"method": "corrected", "alternative": "less"}, ("p_value",), {"rel": 1e-9}),
            (
                "equivalence",
                {"method": "t", "margin": {"value": 0.3, "unit": "score"}},
                ("p_value",),
                {"rel": 1e-9},
            ),
            ("paired-bootstrap", {}, ("ci",), {"abs": 0.06}),
            ("paired-bootstrap", {}, ("p_value",), {"abs": 0.06}),
            ("randomization", {}, ("p_value",), {"abs": 0.06}),
        ],
    ),
)
def test_fields_of_scores_are_those_of_the_tests(test, parameters, path, tolerance):
    """Bootstraps and swaps of scores are resampled, all others computed."""
    of, sesoi = setting(test, parameters, ".".join(path), {**SCORES, "populations.0.n": 40})
    sums = draw_continuous(np.random.default_rng(3), 10, np.ones(40, dtype=np.int64), 0.2, 0.6, 0.0)
    sets = SimulatedSets(of, sesoi, Units(np.ones(40, dtype=np.int64), sums, None, False, 1))
    chosen = registry.find(test)
    answers = [
        chosen.compute(
            chosen.request.model_validate({"baseline": [0.0] * 40, "candidate": row.tolist(), **parameters})
        )
        for row in sums
    ]
    found = sets.value_of(of.uses["m"], path)
    assert found is not None
    agree(found, answers, path, **tolerance)


def test_draws_have_the_mean_the_discordance_and_the_correlation_asked_for():
    sizes = np.full(50, 20)
    won, lost = draw_binary(np.random.default_rng(1), 400, sizes, (0.15, 0.05), 0.2)
    assert won.mean() / 20 == pytest.approx(0.15, abs=0.003)
    assert lost.mean() / 20 == pytest.approx(0.05, abs=0.003)
    # variance of a cluster's count: n p (1 - p) (1 + (n - 1) icc)
    assert won.var() == pytest.approx(20 * 0.15 * 0.85 * (1 + 19 * 0.2), rel=0.05)
    sums = draw_continuous(np.random.default_rng(1), 400, sizes, 0.3, 2.0, 0.2)
    assert sums.mean() / 20 == pytest.approx(0.3, abs=0.03)
    assert sums.var() == pytest.approx(20 * 4 * (1 + 19 * 0.2), rel=0.05)


def test_without_correlation_and_with_single_items_clusters_change_little():
    """Simulated power of item-level tests on 60 clusters of one item, against enumeration."""
    rule = {"hypotheses.0.rule": "delta >= 5 pp and m.p_value < 0.05", "sesoi.accuracy.value": 5}
    (exact,) = powers({**rule, "populations.0.n": 60})
    (simulated,) = powers({**rule, **CLUSTERED, "populations.0.n": 60, "populations.0.clusters.n": 60})
    assert (exact.method, simulated.method) == ("exact", "simulated")
    for one, other in zip(exact.power, simulated.power, strict=True):
        assert (one.discordance, one.truth) == (other.discordance, other.truth)
        if one.power is not None:
            assert abs(one.power - other.power) < 4.5 * other.standard_error


def test_the_same_plan_has_the_same_numbers():
    changes = {**CLUSTERED, "tests.0": {"id": "m", "test": "clustered-mcnemar", "version": 1}}
    changes |= {"populations.0.clusters.n": 12, "hypotheses.0.rule": "m.p < 0.05"}
    (first,) = powers(changes)
    (second,) = powers({**changes, "title": "Another title"})
    assert first == second
    assert first.reference.standard_error == pytest.approx(
        math.sqrt(first.reference.power * (1 - first.reference.power) / 4000)
    )


def test_fields_that_are_not_simulated_leave_power_open():
    changes = {**SCORES, "tests.0": {"id": "m", "test": "mann-whitney", "version": 1}}
    (found,) = powers({**changes, "hypotheses.0.rule": "m.p < 0.05"})
    assert found.method is None
    assert found.power == ()
    assert "not simulated" in found.reason
