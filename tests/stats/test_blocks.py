"""Drawing in blocks: any cut into shards, in any order, gives the bytes that one computation gives."""

from __future__ import annotations

import itertools
import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from service.stats.shared.declaring import registry
from service.stats.shared.declaring.registry import join_blocks
from tests.drawing import one_in

RNG = np.random.default_rng(5)
HEAVY = np.where(np.arange(60) < 58, 0.0, 1.0) * RNG.normal(3, 1, 60) + np.r_[1e4, np.zeros(59)]
GOLD = RNG.random(80) < 0.4


def arm(share):
    found = np.where(RNG.random(80) < share, ~GOLD, GOLD)
    return {
        "tp": (found & GOLD).astype(int).tolist(),
        "fp": (found & ~GOLD).astype(int).tolist(),
        "fn": (~found & GOLD).astype(int).tolist(),
    }


def bleu_arm(share):
    totals = np.maximum(RNG.integers(5, 30, 40)[:, None] - np.arange(4), 1)
    matches = RNG.binomial(totals, share ** np.arange(1, 5))
    return {
        "matches": matches.tolist(),
        "totals": totals.tolist(),
        "sys_len": totals[:, 0].tolist(),
        "ref_len": (totals[:, 0] + 1).tolist(),
    }


F1 = {"metric": "f1", "baseline": arm(0.25), "candidate": arm(0.15)}
BLEU = {"metric": "bleu", "baseline": bleu_arm(0.7), "candidate": bleu_arm(0.75)}
SCORES = {"baseline": [0.0] * 60, "candidate": HEAVY.tolist()}
CLUSTERS = (np.arange(60) // 4).tolist()
ROOTS = (np.arange(1, 31) ** 0.5).tolist()

DRAWN = {
    "paired-bootstrap": [
        {**F1, "n_resamples": 1130},
        {**BLEU, "n_resamples": 700, "method": "bca"},
        {**SCORES, "n_resamples": 1130},
        {**F1, "n_resamples": 640, "method": "studentized", "clusters": (np.arange(80) // 5).tolist()},
        {**F1, "alpha": 0.071},  # p is near: the draws are raised
    ],
    "cluster-bootstrap": [
        {**SCORES, "clusters": CLUSTERS, "n_resamples": 1130},
        {
            "baseline": ROOTS,
            "candidate": ROOTS[::-1],
            "clusters": [i // 2 for i in range(30)],
            "method": "studentized",
            "n_resamples": 900,
        },
    ],
    "equivalence": [
        {**SCORES, "method": "bootstrap_ci", "margin": {"value": 500, "unit": "score"}, "n_resamples": 870},
    ],
    "randomization": [
        {**F1, "n_resamples": 1130},
        {**BLEU, "n_resamples": 900},
        {**BLEU, "n_resamples": 900, "convention": "seed", "clusters": (np.arange(40) // 2).tolist()},
    ],
    "bootstrap-difference": [
        {"baseline": ROOTS, "candidate": [x + 0.15 for x in ROOTS], "n_resamples": 900},
        {
            "baseline": ROOTS,
            "candidate": [x + 0.68 for x in ROOTS[1:]],
            "n_resamples": 300,
            "method": "bca",
            "alpha": 0.01,
        },
    ],
    "describe": [{"values": ROOTS, "method": "basic", "n_resamples": 777}],
    "type-one-error": [
        {"test": "welch", "values": ROOTS, "sizes": [2, 5, 15], "n_splits": 1100},
        {"test": "mann-whitney", "values": ROOTS[:12], "sizes": [3], "n_splits": 100},
        {"test": "bootstrap-basic", "values": ROOTS, "sizes": [3, 4], "n_splits": 600, "n_resamples": 700},
        {"test": "paired-t", "baseline": ROOTS, "candidate": ROOTS[::-1], "n_splits": 990},
    ],
    "power": [
        {
            "test": "sign-flip",
            "p_only_baseline": 0.05,
            "p_only_candidate": 0.2,
            "cluster_size": 8,
            "icc": 0.2,
            "n": [8, 12],
            "n_simulations": 620,
        },
        {
            "test": "sign-flip",
            "p_only_baseline": 0.05,
            "p_only_candidate": 0.2,
            "cluster_size": 3,
            "icc": 0.0,
            "n": 9,
            "n_simulations": 300,
        },
    ],
}
CASES = [
    pytest.param(registry.find(name), body, id=f"{name}-{place}")
    for name, bodies in DRAWN.items()
    for place, body in enumerate(bodies)
]


def request_of(test, body):
    return test.request.model_validate_json(json.dumps(body))


def answer_in_shards(test, body, cut):
    """As workers do it: each with a request of its own; `cut` picks the shards of the blocks asked for."""
    parts, done, raised = [], 0, -1
    drawn = None
    while (needed := test.block_count(request_of(test, body), drawn)) > done:
        shards = cut(range(done, needed))
        made = {shard.start: test.draw(request_of(test, body), shard) for shard in reversed(shards)}
        parts += [made[start] for start in sorted(made)]
        drawn, done, raised = join_blocks(parts), needed, raised + 1
    return test.answer(request_of(test, body), drawn), raised


@pytest.mark.parametrize(("test", "body"), one_in(3, CASES))
@settings(deadline=None, max_examples=4)
@given(data=st.data())
def test_any_cut_gives_the_same_bytes(test, body, data):
    def cut(blocks):
        inside = st.lists(st.integers(blocks.start, blocks.stop), max_size=6)
        edges = sorted({blocks.start, blocks.stop, *data.draw(inside)})
        return [range(a, b) for a, b in itertools.pairwise(edges)]

    shards, _ = answer_in_shards(test, body, cut)
    assert shards.model_dump_json() == test.answer(request_of(test, body)).model_dump_json()


@pytest.mark.parametrize(("test", "body"), CASES)
def test_what_is_drawn_can_be_stored(test, body):
    request = request_of(test, body)
    drawn = test.draw(request, range(1))
    assert drawn
    for numbers in drawn.values():
        assert numbers.dtype.kind in "biuf"
        assert numbers.ndim == 1
        assert 0 < numbers.nbytes <= 8 * 250


def test_draws_are_raised_block_by_block():
    for name, place in (("paired-bootstrap", 4), ("bootstrap-difference", 1)):
        test, body = registry.find(name), DRAWN[name][place]
        answer, raised = answer_in_shards(test, body, lambda blocks: [blocks])
        assert raised > 0
        assert answer.provenance.n_resamples > (body.get("n_resamples") or 10_000)


def test_every_drawing_test_can_be_cut():
    """The tests whose request has a seed of draws.

    But for the size search, where each n decides the next; for several arms, where a draw is two numbers for
    every arm, too much to be stored; for suites, likewise for every task; for repeated runs, whose draws are few
    fits; and for ratios and quantiles, which are computed whole.
    """
    seeded = {
        name
        for name, test in registry.latest().items()
        if {"seed", "n_resamples"} <= set(test.request.model_fields)
        or {"seed", "n_simulations"} <= set(test.request.model_fields)
    }
    assert seeded - {
        "sample-size",
        "leaderboard",
        "suite",
        "preference",
        "repeated",
        "ratio-of-means",
        "quantile-difference",
    } == set(DRAWN)


@pytest.mark.parametrize("name", ["mcnemar", "paired-bootstrap", "equivalence", "describe", "power"])
def test_what_is_exact_has_no_blocks(name):
    test = registry.find(name)
    assert test.block_count(request_of(test, dict(test.example))) == 0
