"""Power against simulated tests and published sizes, its inverses, and requests that do not fit."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from service.errors import InvalidData
from service.kernels.pairs import tango
from tests.stats.bodies import designs, flips
from tests.stats.cases import Cases
from tests.stats.oracle import analyse, ask, codes

COLAS = {"test": "welch", "delta": 1382.0, "sd_baseline": 1341.0, "sd_candidate": 990.0}
PAIRS = {"test": "mcnemar", "p_only_baseline": 0.05, "p_only_candidate": 0.07}
TANGO = {
    "test": "tango",
    "p_only_baseline": 0.05,
    "p_only_candidate": 0.05,
    "margin": {"value": 2.0, "unit": "pp"},
}
CLUSTERS = {
    "test": "sign-flip",
    "p_only_baseline": 0.05,
    "p_only_candidate": 0.15,
    "cluster_size": 15,
    "icc": 0.05,
}


def test_seed5_reads_power_off_a_one_tailed_shifted_central_t():
    five, ten = analyse("power", COLAS, n=[5, 10]).points
    assert (five.beta_colas, ten.beta_colas) == pytest.approx((0.5103051, 0.1958220), abs=1e-7)
    assert (five.beta_noncentral_t, ten.beta_noncentral_t) == pytest.approx((0.6349884, 0.3058090), abs=1e-7)
    # Monte Carlo of the two-tailed test: .6536 and .3096
    assert (five.beta, ten.beta) == pytest.approx((0.6539192, 0.3101468), abs=1e-6)
    assert "ONE_TAILED_SHORTCUT" in codes(ask("power", COLAS, n=5))
    assert "ONE_TAILED_SHORTCUT" not in codes(ask("power", COLAS, n=5, alternative="greater"))
    assert "ONE_TAILED_SHORTCUT" not in codes(ask("power", PAIRS, n=5))


def test_seed5_says_ten_runs_where_thirteen_are_needed():
    found = analyse("sample-size", COLAS)
    assert (found.n, found.n_colas, found.n_one_tailed) == (13, 10, 10)


def test_seed4_table_says_fifty_where_394_are_needed():
    # its rule: an effect of .2 to .5 SD needs 50 runs
    body = {"test": "student", "delta": 0.2, "sd_baseline": 1.0, "sd_candidate": 1.0}
    assert analyse("sample-size", body).n == 394


def test_seed1_has_a_fifth_of_the_power_it_needs_at_its_sesoi():
    assert analyse("power", PAIRS, n=500).power == pytest.approx(0.21475891700657765, abs=1e-9)
    assert analyse("sample-size", PAIRS).n == 2438


def test_welch_power_against_the_simulated_test():
    rng = np.random.default_rng(11)
    x, y = rng.normal(0, 1341, size=(4_000, 12)), rng.normal(1382, 990, size=(4_000, 12))
    rate = float(np.mean(stats.ttest_ind(x, y, axis=1, equal_var=False).pvalue < 0.05))
    power = analyse("power", COLAS, n=12).power
    assert abs(rate - power) < 4 * math.sqrt(rate * (1 - rate) / 4_000)


def test_paired_power_against_the_simulated_test():
    rng = np.random.default_rng(12)
    rate = float(np.mean(stats.ttest_1samp(rng.normal(0.5, 1.2, size=(4_000, 20)), 0, axis=1).pvalue < 0.05))
    power = analyse("power", {"test": "paired-t", "delta": 0.5, "sd_difference": 1.2}, n=20).power
    assert abs(rate - power) < 4 * math.sqrt(rate * (1 - rate) / 4_000)


def test_tango_power_against_the_simulated_test():
    rng = np.random.default_rng(13)
    found = analyse("power", TANGO, n=2_000).power
    counts = rng.multinomial(2_000, [0.05, 0.05, 0.9], size=4_000)
    b, c = counts[:, 0], counts[:, 1]
    z = stats.norm.isf(0.05)
    rate = np.mean((tango.scores(b, c, 2_000, -0.02) > z) & (tango.scores(b, c, 2_000, 0.02) < -z))
    assert abs(rate - found) < 4 * math.sqrt(rate * (1 - rate) / 4_000)


@pytest.mark.parametrize("body", [COLAS, PAIRS])
def test_power_grows_with_n_and_falls_with_alpha(body):
    powers = [point.power for point in analyse("power", body, n=[20, 100, 400, 1600]).points]
    assert min(np.diff(powers)) > -1e-12
    assert analyse("power", body, n=100, alpha=0.01).power < powers[1]


def test_direction_of_the_alternative_decides():
    up = analyse("power", PAIRS, n=800, alternative="greater").power
    down = analyse("power", PAIRS, n=800, alternative="less").power
    assert up > analyse("power", PAIRS, n=800).power > down
    assert down < 0.05


def test_detectable_difference_has_the_target_power():
    for body, field in ((COLAS, "delta"), (PAIRS, None)):
        detectable = analyse("power", body, n=300).points[0].detectable
        if field:
            again = analyse("power", {**body, field: detectable}, n=300).power
        else:
            low = (0.12 - detectable) / 2
            again = analyse(
                "power", {**body, "p_only_baseline": low, "p_only_candidate": 0.12 - low}, n=300
            ).power
        assert again == pytest.approx(0.8, abs=1e-3)


def test_no_share_of_discordant_items_may_be_enough():
    found = analyse("power", {**PAIRS, "p_only_baseline": 0.01, "p_only_candidate": 0.01}, n=20)
    assert found.points[0].detectable is None
    assert "no difference" in found.reasons["points.detectable"]


def test_no_discordant_items_have_no_power():
    found = analyse("power", {**PAIRS, "p_only_baseline": 0.0, "p_only_candidate": 0.0}, n=[1, 500])
    assert [point.power for point in found.points] == [0.0, 0.0]


def test_pilot_sds_lower_the_power_and_warn_when_small():
    answer = ask("power", COLAS, n=10, pilot_n=5)
    point = answer.analysis.points[0]
    assert point.power_at_upper_sd == pytest.approx(0.3505870, abs=1e-6)
    assert "PILOT_SD" in codes(answer)
    assert "PILOT_SD" not in codes(ask("power", COLAS, n=10, pilot_n=20))
    assert "PILOT_SD" not in codes(ask("power", COLAS, n=10))


def test_cluster_power_is_simulated_and_says_so():
    answer = ask("power", CLUSTERS, n=[5, 20], n_simulations=500, seed=3)
    five, twenty = answer.analysis.points
    assert five.power == 0.0  # the least p of five clusters is .0625
    assert twenty.power > 0.3
    assert twenty.standard_error == pytest.approx(math.sqrt(twenty.power * twenty.beta / 500))
    assert (answer.provenance.exact, answer.provenance.seed) == (False, 3)
    assert answer == ask("power", CLUSTERS, n=[5, 20], n_simulations=500, seed=3)


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"test": "welch", "delta": 1.0, "sd_baseline": 1.0}, "sd_candidate"),
        ({**PAIRS, "delta": 1.0}, "delta"),
        ({**COLAS, "method": "exact"}, "method"),
        ({**TANGO, "alternative": "greater"}, "alternative"),
        ({**PAIRS, "p_only_candidate": 0.96}, "p_only_candidate"),
        ({**COLAS, "target_power": 0.04}, "target_power"),
        ({**TANGO, "margin": {"value": 2.0, "unit": "score"}}, "margin"),
    ],
)
def test_fields_that_do_not_fit_are_refused_by_name(body, field):
    with pytest.raises(InvalidData) as caught:
        analyse("power", body, n=50)
    assert field in [fault.path for fault in caught.value.faults]


def test_means_need_two_runs():
    with pytest.raises(InvalidData, match="at least 2"):
        analyse("power", COLAS, n=1)
    assert 0.05 < analyse("power", COLAS, n=2).power < 0.2


@pytest.mark.slow
def test_equivalence_power_is_that_of_the_test_with_its_exact_p():
    # the score test alone would show equivalence from 133 items without a discordant one
    never = {**TANGO, "p_only_baseline": 0.0, "p_only_candidate": 0.0}
    assert [point.power for point in analyse("power", never, n=[133, 148, 149]).points] == [0, 0, 1]
    found = analyse("sample-size", never)
    assert (found.n, found.power) == (149, 1)


@pytest.mark.parametrize(
    "body", [COLAS, {**COLAS, "test": "student"}, PAIRS, {**PAIRS, "p_only_candidate": 0.15}]
)
def test_at_the_size_needed_the_effect_is_detectable_and_just_below_it_is_not(body):
    n = analyse("sample-size", body).n
    less, enough = analyse("power", body, n=[n - 1, n]).points
    effect = body.get("delta") or body["p_only_candidate"] - body["p_only_baseline"]
    assert enough.detectable <= effect + 1e-6 < less.detectable + 2e-6


def test_largest_true_difference_of_an_equivalence_claim_has_the_target_power():
    point = analyse("power", TANGO, n=2_500).points[0]
    low = (0.1 - point.detectable) / 2
    again = analyse("power", {**TANGO, "p_only_baseline": low, "p_only_candidate": 0.1 - low}, n=2_500).power
    assert again == pytest.approx(0.8, abs=1e-4)
    assert analyse("power", TANGO, n=500).points[0].detectable is None


def test_detectable_difference_of_clusters_is_simulated_on_request():
    answer = analyse("power", CLUSTERS, n=[5, 40], solve_effect=True)
    few, many = answer.points
    assert few.detectable is None
    low = (0.2 - many.detectable) / 2
    again = {**CLUSTERS, "p_only_baseline": low, "p_only_candidate": 0.2 - low, "seed": 9}
    assert analyse("power", again, n=40).power == pytest.approx(0.8, abs=0.05)
    plain = analyse("power", CLUSTERS, n=[5, 40])
    assert [point.power for point in plain.points] == [few.power, many.power]
    assert "solve_effect" in plain.reasons["points.detectable"]


def test_welch_sentence_and_error_speak_of_the_test_itself():
    answer = ask("power", {**COLAS, "delta": 10.0, "sd_baseline": 1.0, "sd_candidate": 1.0}, n=2)
    point = answer.analysis.points[0]
    assert (answer.provenance.exact, answer.provenance.error_bound) == (True, 1e-9)
    assert point.power == pytest.approx(0.782786, abs=1e-6)
    assert point.beta_noncentral_t == pytest.approx(1 - 0.992747, abs=1e-6)


CASES = Cases(
    degenerate=lambda: ({**each, "n": [1, 2, 30, 1000]} for each in designs()),
    growing=[
        lambda k: flips(n=20 * k),
        lambda k: flips(n=20, n_simulations=1000 * k),
        lambda k: {"test": "welch", "delta": 1, "sd_baseline": 1, "sd_candidate": 1, "n": [10] * (5 * k)},
    ],
)
