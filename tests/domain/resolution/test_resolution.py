"""What a pilot's size and shape, or two published accuracies, can show."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats
from statsmodels.stats.power import TTestPower

from service.domain.resolution.audit import audit
from service.domain.resolution.reach import EXACT_UP_TO, degrees_of_freedom, of_clusters, of_items, of_pairs
from service.domain.resolution.records import AuditRequest, ResolutionRequest
from service.domain.resolution.resolve import resolve
from service.errors import InvalidData
from service.kernels.numeric.clusters import ClusterSums, robust_errors


def pilot(n=60, seed=1, clusters=None):
    rng = np.random.default_rng(seed)
    base, other = rng.integers(0, 2, (2, n)).tolist()
    labels = None if clusters is None else [f"c{at % clusters}" for at in range(n)]
    return ResolutionRequest(baseline=base, candidate=other, clusters=labels)


def test_power_of_pairs_by_definition():
    """Every table of 12 items: its probability, and whether McNemar rejects."""
    n, share, effect = 12, 0.5, 0.4
    b, c = (share + effect) / 2, (share - effect) / 2
    brute = sum(
        stats.multinomial.pmf([wins, losses, n - wins - losses], n, [b, c, 1 - b - c])
        for wins in range(n + 1)
        for losses in range(n + 1 - wins)
        if wins + losses and stats.binomtest(wins, wins + losses).pvalue < 0.05
    )
    (found,) = of_pairs(n, share, [effect], 0.05, 0.1).power
    assert found.power == pytest.approx(brute, abs=1e-12)


def test_where_pairs_stop_being_enumerated_the_method_says_so_and_power_does_not_jump():
    below, above = (of_pairs(n, 0.2, [0.01], 0.05, 0.0) for n in (EXACT_UP_TO, EXACT_UP_TO + 1))
    assert "enumeration" in below.method
    assert "normal" in above.method
    assert above.power[0].power == pytest.approx(below.power[0].power, abs=0.005)


def test_power_of_scores_agrees_with_statsmodels():
    reach = of_items(40, 2.0, [0.8], 0.05)
    assert reach.power[0].power == pytest.approx(TTestPower().power(0.4, 40, 0.05), abs=1e-9)
    assert reach.power[0].needed == int(np.ceil(TTestPower().solve_power(0.4, power=0.8, alpha=0.05)))
    assert TTestPower().power(reach.detectable_90 / 2, 40, 0.05) == pytest.approx(0.9, abs=1e-6)


def test_power_of_clusters_agrees_with_simulation():
    rng = np.random.default_rng(7)
    sizes = np.array([8, 12, 20, 10, 30, 16, 9, 14, 22, 11], dtype=float)
    between, within, effect = 0.5, 1.0, 0.6
    sd, icc = (between**2 + within**2) ** 0.5, between**2 / (between**2 + within**2)
    (found,) = of_clusters(sizes, sd, icc, [effect], 0.05).power
    rejected = 0
    for _ in range(2000):
        sums = sizes * (effect + between * rng.standard_normal(10)) + within * np.sqrt(
            sizes
        ) * rng.standard_normal(10)
        groups = ClusterSums(sums, sizes)
        error = robust_errors(groups)["cr2"]
        rejected += abs(groups.item_weighted) / error.se > stats.t.ppf(0.975, error.df)
    assert found.power == pytest.approx(rejected / 2000, abs=0.035)


def test_degrees_of_freedom_follow_from_the_sizes_alone():
    assert degrees_of_freedom(np.full(10, 7.0)) == pytest.approx(9)
    sizes = np.array([5.0, 9.0, 40.0, 12.0])
    for seed in (1, 2):
        sums = np.random.default_rng(seed).normal(size=4)
        assert degrees_of_freedom(sizes) == pytest.approx(robust_errors(ClusterSums(sums, sizes))["cr2"].df)


def test_clusters_show_less_than_their_items():
    found = resolve(pilot(200, clusters=8))
    items, clusters = found.reach
    assert (items.unit, clusters.unit, clusters.units) == ("items", "clusters", 8)
    assert clusters.least_p == 2 / 2**8
    assert clusters.detectable_80 > items.detectable_80
    assert items.detectable_80 < items.detectable_90
    assert found.discordance == np.mean(np.array(pilot(200).baseline) != np.array(pilot(200).candidate))


@pytest.mark.parametrize(
    "request_",
    [
        ResolutionRequest(baseline=[1, 0, 1, None, 1], candidate=[1, 1, 0, 1, 1]),
        ResolutionRequest(baseline=[1] * 9, candidate=[1] * 9),
        ResolutionRequest(baseline=[0.5] * 9, candidate=[0.7] * 9),
        pilot(clusters=1),
    ],
)
def test_a_pilot_without_spread_or_clusters_is_refused(request_):
    with pytest.raises(InvalidData):
        resolve(request_)


def test_audit_by_every_table():
    n, right = 40, (30, 26)
    tables = [(right[1] - both, right[0] - both) for both in range(27) if right[0] + right[1] - both <= n]
    p = {wins + losses: stats.binomtest(wins, wins + losses).pvalue for wins, losses in tables}
    found = audit(AuditRequest(n=n, baseline=0.75, candidate=0.65))
    assert (found.least.n_discordant, found.most.n_discordant) == (min(p), max(p))
    assert found.least.p_value == pytest.approx(p[min(p)])
    assert found.most.p_value == pytest.approx(p[max(p)])
    assert found.significant_up_to is None
    clear = audit(AuditRequest(n=400, baseline=0.75, candidate=0.70))
    rejects = [m for m in range(20, 221, 2) if stats.binomtest((m - 20) // 2, m).pvalue < 0.05]
    assert clear.significant_up_to == max(rejects) / 400


def test_audit_of_equal_and_of_certain_accuracies():
    assert "No table" in audit(AuditRequest(n=100, baseline=0.5, candidate=0.5)).sentence
    certain = audit(AuditRequest(n=100, baseline=0.0, candidate=1.0))
    assert certain.least.n_discordant == certain.most.n_discordant == 100
    assert "Every table" in certain.sentence
    audit(AuditRequest(n=1, baseline=0.0, candidate=1.0))
    audit(AuditRequest(n=10, baseline=1.0, candidate=1.0, n_clusters=10)).model_dump_json()


@pytest.mark.parametrize("name", ["baseline", "candidate"])
def test_values_whose_squares_overflow_are_refused_and_the_largest_that_do_not_are_not(name):
    columns = {"baseline": [0.5, 1, 2, 3, 5, 8], "candidate": [1.0, 1, 0, 4, 4, 9]}
    clusters = ["a", "a", "b", "b", "c", "c"]
    for extreme in (1e308, -1e151):
        sent = {**columns, name: [extreme, *columns[name][1:]]}
        with pytest.raises(InvalidData, match=name):
            resolve(ResolutionRequest(**sent, clusters=clusters))
    for scale in (1e149, 1e-149):
        sent = {key: [each * scale for each in column] for key, column in columns.items()}
        sent[name] = [-each for each in sent[name]]
        told = resolve(ResolutionRequest(**sent, clusters=clusters))
        assert np.isfinite(told.sd)
        assert all(each.detectable_80 > 0 for each in told.reach)


def test_the_first_line_of_a_pilot_is_of_its_independent_units():
    found = resolve(pilot(60))
    assert found.headline.startswith("60 items like these tell a true difference of ")
    assert found.open.startswith("Smaller differences are missed more often")
    clustered = resolve(pilot(60, clusters=12))
    assert clustered.headline.startswith("12 clusters (60 items) like these tell")
    few = resolve(ResolutionRequest(baseline=[0, 0, 0, 0, 1], candidate=[0, 0, 0, 1, 1]))
    assert few.reach[0].detectable_80 is None
    assert few.headline == "5 items like these tell no difference with 80% power, however large"
    assert few.open == ""


@pytest.mark.parametrize(
    ("accuracies", "rejected", "line", "rest"),
    [
        (
            (0.62, 0.65),
            (True, False),
            "the accuracies alone cannot tell",
            "It is more than chance only if at most 10.2% of the items",
        ),
        (
            (0.22, 0.65),
            (True, True),
            "is more than chance, if items are independent",
            "Not shown: that it holds where items share",
        ),
        (
            (0.65, 0.652),
            (False, False),
            "is not shown to be more than chance",
            "Not shown: that they are equal.",
        ),
    ],
)
def test_the_first_line_of_an_audit_says_what_every_table_or_none_shows(accuracies, rejected, line, rest):
    baseline, candidate = accuracies
    found = audit(AuditRequest(n=500, baseline=baseline, candidate=candidate))
    assert line in found.headline
    assert found.open.startswith(rest)
    assert (found.least.p_value < 0.05, found.most.p_value < 0.05) == rejected
