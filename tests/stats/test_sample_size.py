"""Sample sizes against statsmodels, and that power holds from there on and fails just below."""

from __future__ import annotations

import pytest
from statsmodels.stats.power import TTestIndPower

from tests.drawing import mostly_slow
from tests.stats.bodies import designs, flips
from tests.stats.cases import Cases
from tests.stats.oracle import analyse, ask, codes

PAIRS = {"test": "mcnemar", "p_only_baseline": 0.05, "p_only_candidate": 0.15}
COLAS = {"test": "welch", "delta": 1382.0, "sd_baseline": 1341.0, "sd_candidate": 990.0}
TANGO = {
    "test": "tango",
    "p_only_baseline": 0.02,
    "p_only_candidate": 0.02,
    "margin": {"value": 8.0, "unit": "pp"},
}


@pytest.mark.parametrize("d", [0.2, 0.5, 1.0, 3.0])
@pytest.mark.parametrize("target", [0.8, 0.95])
def test_agrees_with_statsmodels(d, target):
    body = {"test": "student", "delta": d, "sd_baseline": 1.0, "sd_candidate": 1.0, "target_power": target}
    found = analyse("sample-size", body)
    assert found.n_continuous == pytest.approx(
        TTestIndPower().solve_power(d, power=target, alpha=0.05), abs=1e-3
    )
    assert found.n == int(found.n_continuous) + 1


@pytest.mark.parametrize("body", mostly_slow([PAIRS, TANGO]))
def test_power_holds_from_n_on_and_fails_just_below(body):
    answer = ask("sample-size", body)
    found = answer.analysis
    around = list(range(found.n - 1, found.n + 20))
    powers = [point.power for point in analyse("power", body, n=around).points]
    assert powers[0] < 0.8
    assert min(powers[1:]) >= 0.8
    assert found.power == pytest.approx(powers[1])
    assert "SAW_TOOTH" in codes(answer)
    assert found.searched_to > found.n


def test_smooth_power_has_no_saw_tooth():
    assert "SAW_TOOTH" not in codes(ask("sample-size", COLAS))


@pytest.mark.parametrize(
    "body",
    [
        {**COLAS, "delta": 0.0},
        {**PAIRS, "p_only_candidate": 0.05},
        {**PAIRS, "alternative": "less"},
        {**TANGO, "p_only_candidate": 0.11},
    ],
)
def test_a_difference_that_can_not_be_shown_has_no_size(body):
    found = analyse("sample-size", body)
    assert (found.n, found.power) == (None, None)
    assert found.reasons["n"] == "power against this difference does not grow with n"
    assert found.sentence.startswith("No size")


def test_search_ends_at_max_n():
    found = analyse("sample-size", PAIRS, max_n=50)
    assert found.n is None
    assert "up to 50 items" in found.reasons["n"]


def test_pilot_of_five_runs_needs_many_more():
    answer = ask("sample-size", COLAS, pilot_n=5)
    assert answer.analysis.n_at_upper_sd == 29
    assert "PLAN_WITH_UPPER_SD" in codes(answer)
    assert "PLAN_WITH_UPPER_SD" not in codes(ask("sample-size", COLAS))


def test_one_sided_needs_fewer():
    assert analyse("sample-size", COLAS, alternative="greater").n == 10
    assert analyse("sample-size", PAIRS, alternative="greater").n < analyse("sample-size", PAIRS).n


def test_clusters_needed_grow_with_their_correlation():
    body = {
        "test": "sign-flip",
        "p_only_baseline": 0.05,
        "p_only_candidate": 0.2,
        "cluster_size": 10,
        "n_simulations": 500,
    }
    few, many = (analyse("sample-size", body, icc=icc).n for icc in (0.0, 0.3))
    assert 6 <= few < many


CASES = Cases(
    degenerate=lambda: ({**each, "max_n": 40} for each in designs()),
    growing=[
        lambda k: flips(n_simulations=1000 * k),
        lambda k: {
            "test": "tango",
            "p_only_baseline": 0.2,
            "p_only_candidate": 0.2,
            "margin": {"value": 10 / k**0.5, "unit": "pp"},
        },
    ],
)
