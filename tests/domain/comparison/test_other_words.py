"""Rank, noise, resolve and slices: no sentence says more than the numbers beside it."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from service.domain.comparison.compare import compare
from service.domain.comparison.request import ComparisonRequest
from service.domain.resolution.records import ResolutionRequest
from service.domain.resolution.resolve import resolve
from service.domain.wording.wording import Support, lint_wording
from service.errors import InvalidData
from tests.domain.comparison.worlds import body
from tests.drawing import draws
from tests.simulation.worlds import WORLDS
from tests.stats.oracle import analyse

CELLS = st.integers(0, 1)


def unexaggerated(sentence: str, *, no_worse: bool = False) -> None:
    assert not [each.code for each in lint_wording(sentence, Support(no_worse=no_worse))], sentence


def check_board(arms: dict[str, list[float]], clusters: list[str] | None) -> None:
    more = {} if clusters is None else {"clusters": clusters}
    found = analyse("leaderboard", {"arms": arms, "n_resamples": 200, **more})
    unexaggerated(found.sentence)
    possible = [each for each in found.arms if each.may_be_best]
    assert ("it is the best at" in found.sentence) == (len(possible) == 1)
    if len(possible) == 1:
        assert possible[0].gap.low is not None
        assert possible[0].gap.low > 0
        assert all(each.gap.high is not None and each.gap.high < 0 for each in found.arms[1:])
    assert f"{found.n_apart} of {len(found.pairs)} pairs are told apart" in found.sentence
    assert ("does not show equality" in found.sentence) == (found.n_apart < len(found.pairs))
    apart = {(each.first, each.second) for each in found.pairs if each.apart}
    assert len(apart) == found.n_apart
    for names in found.tied_sets:
        assert not any(one in names and other in names for one, other in apart)
    surely = {each.name: [0, 0] for each in found.arms}  # better than it, worse than it
    for each in found.pairs:
        if each.ci.low is not None and each.ci.low > 0:
            assert each.apart
            surely[each.second][0] += 1
            surely[each.first][1] += 1
    for each in found.arms:
        assert each.rank_low <= 1 + surely[each.name][0]
        assert each.rank_high >= len(found.arms) - surely[each.name][1]


@settings(max_examples=draws(25))
@given(st.lists(st.tuples(CELLS, CELLS, CELLS), min_size=2, max_size=40), st.booleans())
def test_a_ranking_claims_no_more_than_its_intervals(rows, clustered):
    arms = {
        f"arm {at}": [float(each) for each in column] for at, column in enumerate(zip(*rows, strict=True))
    }
    check_board(arms, [f"c{at // 2}" for at in range(len(rows))] if clustered and len(rows) > 2 else None)


@pytest.mark.parametrize("gap", [0.0, 0.15, 0.4])
def test_a_ranking_of_arms_that_are_apart(gap):
    rng = np.random.default_rng(4)
    check_board({f"{k}": (rng.random(80) < 0.3 + gap * k / 2).astype(float).tolist() for k in range(3)}, None)


PRINTED = re.compile(r"CI ([+-][\d.e+-]+)(?: pp)? to ([+-][\d.e+-]+)(?: pp)?,")


@settings(max_examples=draws(25))
@given(st.lists(st.tuples(*[CELLS] * 4), min_size=3, max_size=30), st.booleans())
def test_noise_claims_no_more_than_its_interval(rows, clustered):
    more = {"clusters": [f"c{at // 2}" for at in range(len(rows))]} if clustered and len(rows) > 4 else {}
    request: dict[str, Any] = {
        "baseline": [[float(a), float(b)] for a, b, *_ in rows],
        "candidate": [[float(a), float(b)] for *_, a, b in rows],
    }
    try:
        found = analyse("repeated", {**request, **more})
    except InvalidData:
        return
    unexaggerated(found.sentence)
    rejected = re.search(r"equal means are rejected", found.sentence) is not None
    assert rejected == (found.p_value is not None and found.p_value < 0.05)
    low, high = found.ci.low, found.ci.high
    if found.p_value is not None and low is not None and high is not None:
        assert rejected == (low > 0 or high < 0)
        printed = PRINTED.search(found.sentence)
        assert printed is not None, found.sentence
        for text, end in zip(printed.groups(), (low, high), strict=True):
            assert min(abs(float(text) - 100 * end), abs(float(text) - end)) <= max(0.006, 1e-3 * abs(end))
    if not rejected and found.p_value is not None:
        assert "does not show equality" in found.sentence


def test_a_least_p_that_is_cut_off_is_called_a_bound():
    found = resolve(ResolutionRequest(baseline=[0, 1] * 400, candidate=[1, 0] * 400))
    assert found.reach[0].least_p < 1e-99
    assert found.sentence.endswith("the least p that as many discordant as here can give is below 1e-99.")


@settings(max_examples=8)
@given(st.lists(st.tuples(CELLS, CELLS), min_size=2, max_size=30), st.booleans())
def test_a_resolution_promises_no_more_than_its_power(rows, clustered):
    base, other = zip(*rows, strict=True)
    labels = [f"c{at // 3}" for at in range(len(rows))] if clustered and len(rows) > 3 else None
    request = ResolutionRequest(baseline=list(base), candidate=list(other), clusters=labels)
    try:
        found = resolve(request)
    except InvalidData:
        return
    unexaggerated(f"{found.sentence} {found.next}")
    for each in found.reach:
        ends = [end for end in (each.detectable_80, each.detectable_90) if end is not None]
        nothing = f"{each.units} {each.unit} tell no difference reliably"
        assert (nothing in found.sentence) == (not ends)
        assert ends == sorted(ends)
        if each.unit == "items" and 2.0 ** (1 - each.units) >= request.alpha:  # no table at all could tell
            assert not ends
        of = "that as many discordant as here can give" if each.unit == "items" else "of sign flips"
        least = f"{each.least_p:.2g}" if each.least_p >= 1e-99 else "below 1e-99"
        assert f"the least p {of} is {least}." in found.sentence
        for against in each.power:
            assert not any(abs(against.effect) < end and against.power > 0.9 for end in ends[1:])


def check_slices(request: dict[str, Any]) -> None:
    found = compare(ComparisonRequest.model_validate(request)).slices
    assert found is not None
    margin = request.get("margin", {}).get("value", 0) / 100
    for each in found.results:
        low = -np.inf if each.ci.low is None else each.ci.low
        high = np.inf if each.ci.high is None else each.ci.high
        assert not each.shown_worse or high < 0
        assert each.outcome != "better" or low > 0
        assert each.standing != "pass" or low > -margin
        assert each.standing != "fail" or high < -margin
    whole = [each.standing for each in found.results]
    assert found.none_worse is not True or (set(whole) == {"pass"} and not found.left_out)
    assert found.outcome != "fail" or "fail" in whole


@settings(max_examples=draws(30))
@given(
    st.lists(st.tuples(CELLS, CELLS, st.integers(0, 2), st.integers(0, 7)), min_size=2, max_size=80),
    st.booleans(),
    st.sampled_from([1, 10, 40]),
)
def test_slices_claim_no_more_than_their_intervals(rows, clustered, margin):
    base, other, names, groups = zip(*rows, strict=True)
    labels = [f"c{name}{group}" for name, group in zip(names, groups, strict=True)] if clustered else None
    check_slices(
        body(base, other, labels, [f"s{each}" for each in names], margin={"value": margin, "unit": "pp"})
    )


@pytest.mark.parametrize("name", ["binary-low", "binary-high", "few-clusters"])
def test_words_on_worlds_of_docs_simulations(name):
    """Two thirds of a world's items as one slice, the rest as another; the arms as a ranking."""
    world = WORLDS[name]
    for seed, effect in enumerate((0.0, world.effect)):
        drawn = world.draw(np.random.default_rng([seed, 9]), effect)
        if "baseline" not in drawn:
            cells = np.repeat(
                [[1, 1], [1, 0], [0, 1], [0, 0]],
                [drawn[k] for k in ("both_correct", "only_baseline", "only_candidate", "both_wrong")],
                axis=0,
            )
            drawn = {"baseline": cells[:, 0].tolist(), "candidate": cells[:, 1].tolist()}
        arms = {each: [float(x) for x in drawn[each]] for each in ("baseline", "candidate")}
        labels = drawn.get("clusters")
        check_board(arms, None if labels is None else [str(each) for each in labels])
        order = np.random.default_rng(seed).permutation(len(arms["baseline"]))
        names = np.where(order < 2 * len(order) // 3, "most", "rest").tolist()
        request = body(arms["baseline"], arms["candidate"], None, names, margin={"value": 5, "unit": "pp"})
        check_slices(request)
