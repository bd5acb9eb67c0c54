"""Bayes factors against other software, printed examples, their definitions, and one another."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pydantic import ValidationError
from scipy import integrate, special, stats

from service.errors import InvalidData
from service.kernels.effects import bayes_factors as kernel
from service.stats.bayes_factor import LABELS, BayesFactorRequest, bayes_factor, label_of
from service.stats.shared.declaring import registry
from tests.drawing import mostly_slow
from tests.stats.cases import Cases
from tests.stats.oracle import named

PATIENT = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])


def weigh(**evidence):
    return analyse({"evidence": evidence})


def analyse(body):
    return bayes_factor(BayesFactorRequest.model_validate_json(json.dumps(body)))


def oracle(*prefixes):
    return named("bayes_factor", *prefixes)


def test_against_r_bayesfactor_t():
    for case in oracle("bf-t-"):
        given_, expected = case["input"], case["expected"]
        found = weigh(kind="t", t=given_["t"], n1=given_["n1"], n2=given_["n2"])
        assert found.bf10 == pytest.approx(expected["bf10"], rel=1e-8)
        assert found.posterior == pytest.approx(expected["posterior_prior_odds_1"], abs=1e-10)


def test_against_r_bayesfactor_regression():
    for case in oracle("bf-anova-"):
        f = case["input"]
        found = weigh(kind="f", f=f["F"], df1=f["df1"], df2=f["df2"], n=f["n_total"], rscale=f["rscale"])
        assert found.bf10 == pytest.approx(case["expected"]["bf10"], rel=1e-8)
        assert "REGRESSION_PRIOR" in {warning.code for warning in found.warnings}


def test_against_pingouin_correlation():
    for case in oracle("bf-r-"):
        expected = case["expected"]
        exact = weigh(kind="correlation", **case["input"])
        wetzels = weigh(kind="correlation", method="wetzels_wagenmakers", **case["input"])
        assert exact.bf10 == pytest.approx(expected["ly_2016_kappa1"], rel=1e-8)
        assert wetzels.bf10 == pytest.approx(expected["wetzels_wagenmakers_2012"], rel=1e-8)


def test_against_closed_forms():
    for case in oracle("bf-chi2-"):
        sent = case["input"]
        found = weigh(kind="chi_square", chi_square=sent["chi2"], n=sent["n"], df=sent["df"])
        assert found.bf10 == pytest.approx(case["expected"]["bf10"], rel=1e-10)
    for case in oracle("bf-binom-"):
        found = weigh(kind="binomial", **{name: case["input"][name] for name in ("k", "n", "p0")})
        assert found.bf10 == pytest.approx(case["expected"]["bf10"], rel=1e-10)
        assert found.posterior == pytest.approx(case["expected"]["posterior_prior_odds_1"], abs=1e-10)
    for case in oracle("bf-vovk"):
        for p, expected in case["expected"].items():
            assert weigh(kind="p_value", p=float(p)).bf10 == pytest.approx(expected, rel=1e-10)


@pytest.mark.parametrize(("t", "bf01"), [(2.24, 1.02), (2.03, 1.56)])
def test_against_rouder_2009(t, bf01):
    # two experiments with 80 participants, reanalysed with a Cauchy of scale 1
    assert weigh(kind="t", t=t, n1=80, rscale=1.0).bf01 == pytest.approx(bf01, abs=0.005)


@pytest.mark.parametrize(
    ("t", "n1", "n2", "rscale"),
    [(2.1, 20, None, 0.707), (-1.0, 8, 30, 1.0), (4.5, 5, 5, 0.5), (0.0, 3, None, 2.0)],
)
def test_t_by_definition(t, n1, n2, rscale):
    # the marginal likelihood is the noncentral t density averaged over a Cauchy prior
    effective, df = (n1, n1 - 1) if n2 is None else (n1 * n2 / (n1 + n2), n1 + n2 - 2)

    def density(angle):
        effect = rscale * math.tan(angle)
        return stats.nct.pdf(t, df, effect * math.sqrt(effective)) / math.pi

    marginal = integrate.quad(density, -math.pi / 2, math.pi / 2, limit=400, epsabs=1e-13)[0]
    assert weigh(kind="t", t=t, n1=n1, n2=n2, rscale=rscale).bf10 == pytest.approx(
        marginal / stats.t.pdf(t, df), rel=1e-6
    )


@pytest.mark.parametrize(
    ("r", "n", "kappa"), [(0.42, 156, 1), (0.9, 10, 1), (0.0, 10, 1), (-0.5, 3, 2), (0.3, 50, 0.2)]
)
def test_correlation_by_definition(r, n, kappa):
    # Hotelling's density of r, averaged over a stretched beta prior of rho
    def ratio(rho):
        prior = (1 - rho * rho) ** (1 / kappa - 1) * 2 ** (1 - 2 / kappa) / special.beta(1 / kappa, 1 / kappa)
        hyper = special.hyp2f1(0.5, 0.5, n - 0.5, (1 + rho * r) / 2) / special.hyp2f1(0.5, 0.5, n - 0.5, 0.5)
        return prior * hyper * (1 - rho * rho) ** ((n - 1) / 2) * (1 - rho * r) ** -(n - 1.5)

    expected = integrate.quad(ratio, -1, 1, points=[r], epsabs=0, epsrel=1e-10, limit=400)[0]
    found = weigh(kind="correlation", r=r, n=n, kappa=float(kappa))
    assert found.bf10 == pytest.approx(expected, rel=1e-8)


@PATIENT
@given(st.floats(0, 60), st.integers(1, 12), st.integers(2, 400), st.floats(0.1, 2))
def test_regression_agrees_with_quad(f, df1, df2, rscale):
    """Zellner's g prior with g ~ inverse gamma (1/2, rscale^2 n / 2), integrated over g / (1 + g)."""
    n, r2 = df1 + df2 + 1, f * df1 / (f * df1 + df2)
    scale = rscale**2 * n / 2

    def log_integrand(g):
        likelihood = (df2 * math.log1p(g) - (n - 1) * math.log1p(g * (1 - r2))) / 2
        return likelihood + math.log(scale / math.pi) / 2 - 1.5 * math.log(g) - scale / g

    peak = max(log_integrand(math.exp(u / 10)) + u / 10 for u in range(-100, 300))
    found = integrate.quad(
        lambda u: math.exp(log_integrand(math.exp(u)) + u - peak), -15, 80, limit=2000, epsabs=0, epsrel=1e-10,
        points=[math.log(scale), 0, 5],
    )[0]  # fmt: skip
    log_bf = weigh(kind="f", f=f, df1=df1, df2=df2, rscale=rscale).log_bf10
    assert log_bf == pytest.approx(peak + math.log(found), abs=1e-7)


@pytest.mark.parametrize(
    ("f", "df1", "df2", "rscale"),
    mostly_slow(
        [
            (73922.0, 55143, 22463, 94816.0),
            (1.02, 900_000, 10**6, 0.5),
            (1.5, 200_000, 50_000, 1.0),
            (1.0, 1, 9, 0.5),
        ],
        2,
    ),
)
def test_regression_of_very_many_effects_keeps_the_whole_of_its_integral(f, df1, df2, rscale):
    """The peak in g moves below the prior's as effects are added; from about 44,000 on it was cut off."""
    n = df1 + df2 + 1
    unexplained, scale = df2 / (f * df1 + df2), rscale**2 * n / 2
    u = np.linspace(-40, 120, 4_000_001)
    log_integrand = (
        math.log(scale / math.pi) / 2 - u / 2 - scale * np.exp(-u)
        + (df2 * np.logaddexp(0, u) - (n - 1) * np.logaddexp(0, u + math.log(unexplained))) / 2
    )  # fmt: skip
    expected = special.logsumexp(log_integrand) + math.log(u[1] - u[0])
    found = kernel.jzs_regression(f, df1, df2, n, rscale)
    assert found.value == pytest.approx(expected, abs=1e-6)
    assert found.error < 1e-6


@pytest.mark.parametrize(("chi_square", "n"), [(3.84, 50), (0.1, 400), (25.0, 10_000)])
def test_chi_square_approaches_the_unit_information_prior(chi_square, n):
    """With one degree of freedom: z is a standard normal under H0, N(sqrt(n) d, 1) with d ~ N(0, 1) under H1."""
    z, root = math.sqrt(chi_square), math.sqrt(n)
    marginal = integrate.quad(
        lambda d: stats.norm.pdf(z, root * d) * stats.norm.pdf(d), -2, 2, points=[z / root], epsabs=0
    )[0]
    exact = math.log(marginal / stats.norm.pdf(z))
    found = weigh(kind="chi_square", chi_square=chi_square, n=n).log_bf10
    # what the approximation leaves out is of the order of 1/n
    assert found - exact == pytest.approx((chi_square + 1) / (2 * n), rel=0.05)


@PATIENT
@given(st.floats(-30, 30), st.integers(2, 5000), st.floats(0.05, 5))
def test_two_equal_groups_are_a_regression_of_half_the_scale(t, n, rscale):
    by_t = weigh(kind="t", t=t, n1=n, n2=n, rscale=rscale)
    by_f = weigh(kind="f", f=t * t, df1=1, df2=2 * n - 2, rscale=rscale / 2)
    assert by_t.log_bf10 == pytest.approx(by_f.log_bf10, rel=1e-9, abs=1e-9)


def test_bic_is_the_log_likelihood_ratio_with_its_penalty():
    # F of a regression is n/2 ln(1 / (1 - R^2)) in log likelihood
    rng = np.random.default_rng(5)
    x, noise = rng.normal(size=50), rng.normal(size=50)
    y = 0.4 * x + noise
    r2 = float(np.corrcoef(x, y)[0, 1] ** 2)
    expected = math.exp((-50 * math.log(1 - r2) - math.log(50)) / 2)
    found = weigh(kind="f", f=48 * r2 / (1 - r2), df1=1, df2=48, method="bic")
    assert found.bf10 == pytest.approx(expected, rel=1e-10)
    assert [warning.code for warning in found.warnings] == ["BIC_APPROXIMATION"]


def test_binomial_by_definition():
    likelihood = stats.binom.pmf(7, 10, 0.3)
    marginal = integrate.quad(lambda p: stats.binom.pmf(7, 10, p) * stats.beta.pdf(p, 2, 3), 0, 1)[0]
    found = weigh(kind="binomial", k=7, n=10, p0=0.3, prior_a=2.0, prior_b=3.0)
    assert found.bf10 == pytest.approx(marginal / likelihood, rel=1e-9)
    assert weigh(kind="binomial", k=0, n=0).bf10 == 1


@PATIENT
@given(
    st.floats(0, 50), st.floats(0.01, 5), st.integers(2, 10**6), st.one_of(st.none(), st.integers(2, 10**6))
)
def test_evidence_grows_with_t_whatever_its_sign(t, step, n1, n2):
    low, high = (weigh(kind="t", t=value, n1=n1, n2=n2).log_bf10 for value in (t, t + step))
    assert high > low
    assert weigh(kind="t", t=-t, n1=n1, n2=n2).log_bf10 == low


@PATIENT
@given(
    st.one_of(
        st.builds(
            lambda t, n1, n2, r: {"kind": "t", "t": t, "n1": n1, "n2": n2, "rscale": r},
            st.floats(-1e100, 1e100),
            st.integers(2, 10**9),
            st.none() | st.integers(1, 10**9),
            st.floats(1e-6, 1e6),
        ),
        st.builds(
            lambda f, df1, df2, r: {"kind": "f", "f": f, "df1": df1, "df2": df2, "rscale": r},
            st.floats(0, 1e100),
            st.integers(1, 10**6),
            st.integers(1, 10**9 - 10**6 - 1),
            st.floats(1e-6, 1e6),
        ),
        st.builds(
            lambda r, n, kappa, method: {
                "kind": "correlation",
                "r": r,
                "n": n,
                "kappa": kappa,
                "method": method,
            },
            st.floats(-1, 1),
            st.integers(3, 10**9),
            st.floats(0.001, 2),
            st.sampled_from(["ly", "wetzels_wagenmakers"]),
        ),
        st.builds(
            lambda x, df, n: {"kind": "chi_square", "chi_square": x, "df": df, "n": n},
            st.floats(0, 1e100),
            st.integers(1, 10**6),
            st.integers(1, 10**9),
        ),
        st.builds(
            lambda k, rest, p0: {"kind": "binomial", "k": k, "n": k + rest, "p0": p0},
            st.integers(0, 5 * 10**8),
            st.integers(0, 5 * 10**8),
            st.floats(1e-12, 1 - 1e-12),
        ),
        st.builds(lambda p: {"kind": "p_value", "p": p}, st.floats(5e-324, 1)),
    )
)
def test_extremes_give_numbers(evidence):
    found = weigh(**evidence)
    if found.log_bf10 is None:
        assert abs(evidence["r"]) == 1
        return
    for value in (found.bf10, found.bf01, found.log_bf10, found.posterior, found.log_bf10_error):
        assert math.isfinite(value)
    assert found.bf10 > 0
    assert 0 <= found.posterior <= 1
    assert (
        found.log_bf10_error
        <= 1e-8 * (abs(found.log_bf10) + abs(evidence.get("chi_square", 0)) + 1000) + 1e-3
    )


@pytest.mark.parametrize(
    "evidence",
    [
        {"kind": "t", "t": 8.0, "n1": 51, "n2": 53},
        {"kind": "f", "f": 49.1, "df1": 1, "df2": 312},
        {"kind": "correlation", "r": 0.42, "n": 156},
        {"kind": "binomial", "k": 61, "n": 100},
    ],
)
def test_ordinary_evidence_has_a_small_error(evidence):
    assert weigh(**evidence).log_bf10_error < 1e-11


@PATIENT
@given(st.floats(-40, 40), st.integers(2, 10**5))
def test_stated_error_covers_a_finer_grid(t, n):
    found = kernel.jzs_t(t, n, n - 1, 0.707)
    points = kernel._POINTS
    try:
        kernel._POINTS = 20_001
        finer = kernel.jzs_t(t, n, n - 1, 0.707)
    finally:
        kernel._POINTS = points
    assert abs(found.value - finer.value) <= found.error + finer.error


def test_large_t_keeps_its_logarithm():
    found = weigh(kind="t", t=1e6, n1=10**6)
    assert found.bf10 == 1e300
    assert found.bounds == {"bf10": "> 1e+300", "bf01": "< 1e-300"}
    assert found.log_bf10 > 1e6
    assert found.posterior == 1


def test_a_perfect_correlation_is_infinite_and_flagged():
    found = weigh(kind="correlation", r=-1, n=5)
    assert (found.bf10, found.log_bf10, found.posterior) == (None, None, 1.0)
    assert found.reasons["bf10"] == "infinite"
    assert [warning.code for warning in found.warnings] == ["INFINITE_BAYES_FACTOR"]
    assert weigh(kind="correlation", r=-0.999, n=5).warnings == ()


def test_prior_odds_move_the_posterior():
    found = analyse({"evidence": {"kind": "chi_square", "chi_square": 5, "n": 100}, "prior_odds": 10})
    odds = 10 * found.bf10
    assert found.posterior == pytest.approx(odds / (1 + odds), rel=1e-12)


def test_an_effect_against_the_claim_has_posterior_zero():
    found = analyse({"evidence": {"kind": "t", "t": -9, "n1": 50}, "direction_match": False})
    assert found.posterior == 0
    assert found.bf10 > 1e6
    assert "DIRECTION_MISMATCH" in {warning.code for warning in found.warnings}


def test_a_p_value_gives_a_bound_and_says_so():
    assert [warning.code for warning in weigh(kind="p_value", p=0.01).warnings] == ["BAYES_FACTOR_BOUND"]
    assert weigh(kind="p_value", p=1 / math.e).bf10 == pytest.approx(1, abs=1e-12)
    assert weigh(kind="p_value", p=0.9).favours == "neither"


@pytest.mark.parametrize(("p", "says"), [
    (0.01, "at most 7.988 times likelier with an effect than without: moderate evidence at most"),
    (0.6, "at most as likely with an effect as without"),
    (1e-320, "at most 10^317 times likelier"),
])  # fmt: skip
def test_the_sentence_of_a_p_value_says_at_most(p, says):
    """It said that the data were 7.988 times likelier with an effect, which is the most that any prior makes of .01."""
    told = analyse({"evidence": {"kind": "p_value", "p": p}}).sentence
    assert says in told
    assert "the probability of an effect is at most" in told


def test_the_sentence_of_a_mismatch_calls_no_effect_impossible():
    body = {"evidence": {"kind": "t", "t": -3.0, "n1": 20}, "direction_match": False}
    told = analyse(body).sentence
    assert "probability of an effect" not in told
    assert "against the stated direction" in told


@pytest.mark.parametrize(("limit", "word"), LABELS)
def test_a_factor_on_the_limit_of_two_words_has_the_weaker(limit, word):
    assert label_of(math.log(limit)) == label_of(-math.log(limit)) == word


@pytest.mark.parametrize(
    ("bf", "label"),
    [
        (1.0, "anecdotal"),
        (2.9, "anecdotal"),
        (1 / 3.1, "moderate"),
        (29, "strong"),
        (1 / 99, "very strong"),
        (101, "extreme"),
    ],
)
def test_labels_hold_in_both_directions(bf, label):
    found = weigh(kind="chi_square", chi_square=max(0.0, 2 * math.log(bf) + math.log(10**6)), n=10**6)
    assert found.bf10 == pytest.approx(bf)
    assert found.label == label


@pytest.mark.parametrize(
    "evidence",
    [
        {"kind": "t", "t": 2, "n1": 1},
        {"kind": "t", "t": 2, "n1": 1, "n2": 1},
        {"kind": "binomial", "k": 5, "n": 4},
        {"kind": "correlation", "r": 0.5, "n": 2},
        {"kind": "correlation", "r": 1.1, "n": 20},
        {"kind": "p_value", "p": 0},
        {"kind": "f", "f": -1, "df1": 1, "df2": 5},
        {"kind": "t", "t": True, "n1": 10},
        {"kind": "t", "t": 2, "n1": 10, "f": 3},
        {"kind": "sign", "k": 2},
    ],
)
def test_unusable_evidence_is_refused(evidence):
    with pytest.raises((InvalidData, ValidationError)):
        weigh(**evidence)


SLEEP = [
    [0.7, -1.6, -0.2, -1.2, -0.1, 3.4, 3.7, 0.8, 0.0, 2.0],
    [1.9, 0.8, 1.1, 0.1, -0.1, 4.4, 5.5, 1.6, 4.6, 3.4],
]


def test_the_registered_example_is_the_printed_one():
    """R 4: BayesFactor::ttestBF(sleep$extra[sleep$group == 1], .. == 2, paired = TRUE) prints 17.25888."""
    test = registry.find("bayes-factor")
    found = test.answer(test.request.model_validate(test.example)).analysis
    assert found.bf10 == pytest.approx(17.25888, abs=1e-5)
    assert test.example["evidence"]["t"] == pytest.approx(stats.ttest_rel(*SLEEP).statistic, abs=5e-7)
    assert test.example["evidence"]["rscale"] == pytest.approx(math.sqrt(0.5), abs=5e-9)
    assert "with an effect" in found.sentence


def test_against_bayesfactor_for_two_samples():
    """bayesplay's vignette on default t-tests prints 0.9709424 for means 25, 35 and SDs 15, 16 of 15 and 16."""
    t = (25 - 35) / math.sqrt((14 * 15**2 + 15 * 16**2) / 29 * (1 / 15 + 1 / 16))
    assert weigh(kind="t", t=t, n1=15, n2=16, rscale=1.0).bf10 == pytest.approx(0.9709424, abs=1e-7)


def evidence():
    """Summary statistics at their ends."""
    for t in (0.0, 1e-300, 40.0, -1e100):
        for n1, n2 in ((2, None), (10**9, None), (1, 2), (1, 1), (10**9, 10**9)):
            yield {"kind": "t", "t": t, "n1": n1, "n2": n2}
    for f in (0.0, 1e-300, 1e100):
        for df1, df2 in ((1, 1), (10**6, 1), (1, 10**9 - 2)):
            for method in ("jzs_regression", "bic"):
                yield {"kind": "f", "f": f, "df1": df1, "df2": df2, "method": method}
    for r in (0.0, 1.0, -1.0, 1 - 1e-16, 1e-300):
        for n in (2, 3, 10**9):
            for method in ("ly", "wetzels_wagenmakers"):
                yield {"kind": "correlation", "r": r, "n": n, "method": method}
    for chi_square in (0.0, 1e100):
        yield {"kind": "chi_square", "chi_square": chi_square, "n": 1}
        yield {"kind": "chi_square", "chi_square": chi_square, "n": 10**9, "df": 10**6}
    for k, n in ((0, 0), (0, 1), (1, 1), (10**9, 10**9), (5, 4)):
        for p0 in (1e-12, 0.5, 1 - 1e-9):
            yield {"kind": "binomial", "k": k, "n": n, "p0": p0}
    for p in (5e-324, 1e-300, 1.0, 0.0):
        yield {"kind": "p_value", "p": p}


CASES = Cases(
    degenerate=lambda: ({"evidence": each} for each in evidence()),
    growing="a number: what its example costs is what it costs",
)
