"""Simulated worlds: what is true, and data drawn from it as the body of a request."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from tests.simulation.boards import GRADED, Body, Draw, arms, preferences, skewed_arms, tied_arms, with_gaps
from tests.simulation.repeats import fixed_runs, judged_runs
from tests.simulation.unpaired import conversations, graded, rarely_lost, with_covariate


@dataclass(frozen=True)
class World:
    """A world: `draw(rng, effect)` gives one data set whose true difference is `effect`.

    `effects`: a difference worth finding there. `unit` of margins.
    """

    name: str
    title: str
    text: str
    draw: Draw
    effect: float
    unit: str = "score"
    margin: float = field(default=0.0)


def pairs(n: int, discordant: float) -> Draw:
    """Counts of n right/wrong pairs with that share of discordant items."""

    def draw(rng: np.random.Generator, effect: float) -> Body:
        b, c = (discordant + effect) / 2, (discordant - effect) / 2
        both, only_c, only_b, neither = rng.multinomial(n, [(1 - b - c) / 2, b, c, (1 - b - c) / 2])
        return {
            "both_correct": int(both),
            "only_candidate": int(only_c),
            "only_baseline": int(only_b),
            "both_wrong": int(neither),
        }

    return draw


def shuffled_pairs(n: int, discordant: float) -> Draw:
    """n right/wrong pairs as columns, in random order."""

    def draw(rng: np.random.Generator, effect: float) -> Body:
        b, c = (discordant + effect) / 2, (discordant - effect) / 2
        difference = rng.choice([1, -1, 0], n, p=[b, c, 1 - b - c])
        base = np.where(difference == 1, 0, np.where(difference == -1, 1, rng.integers(0, 2, n)))
        return {**columns(base.astype(float), (base + difference).astype(float)), "order": "locked_seed"}

    return draw


def amounts(n: int, n_clusters: int = 0) -> Draw:
    """Log-normal costs on `n` items (coefficient of variation 1, correlation .5); `effect` is the arms' ratio."""

    def draw(rng: np.random.Generator, effect: float) -> Body:
        sigma, codes = np.sqrt(np.log(2.0)), np.arange(n) % (n_clusters or n)
        shared, *own = (
            np.sqrt(0.3) * rng.normal(size=n_clusters)[codes] + np.sqrt(0.7) * rng.normal(size=n)
            if n_clusters
            else rng.normal(size=n)
            for _ in range(3)
        )
        before, after = (np.exp(sigma * (shared + each) / np.sqrt(2) - sigma**2 / 2) for each in own)
        body: Body = columns(before, effect * after)
        return {**body, "clusters": codes.tolist()} if n_clusters else body

    return draw


def labelled_pairs(n: int, others: int, per_cluster: int = 0) -> Draw:
    """Two arms right or wrong by people on `n` items, and by a judge with 15% errors that lean to "right" on all."""

    def draw(rng: np.random.Generator, effect: float) -> Body:
        total = n + others
        codes = np.arange(total) // (per_cluster or 1)
        suits = rng.normal(0, 0.15 if per_cluster else 0.0, codes[-1] + 1)[codes]
        body: Body = {}
        which = rng.permutation(total)
        for name, rate in (("baseline", 0.5), ("candidate", 0.5 + effect + suits)):
            right = rng.random(total) < np.clip(rate, 0, 1)
            said = np.where(rng.random(total) < 0.15, rng.random(total) < 0.7, right).astype(float)
            body[name] = {
                "people": right[which[:n]].astype(float).tolist(),
                "judge": said[which[:n]].tolist(),
                "unlabelled": said[which[n:]].tolist(),
            }
        if per_cluster:
            body |= {"clusters": codes[which[:n]].tolist(), "clusters_unlabelled": codes[which[n:]].tolist()}
        return body

    return draw


def rated(n: int, agree: float) -> Draw:
    """Three raters who say what is there, one of three kinds alike often, with chance `agree`, and guess otherwise."""

    def draw(rng: np.random.Generator, _effect: float) -> Body:
        there = rng.integers(0, 3, n)[:, None]
        said = np.where(rng.random((n, 3)) < agree, there, rng.integers(0, 3, (n, 3)))
        return {"ratings": said.astype(float).tolist()}

    return draw


def attempts(n: int, k: int) -> Draw:
    """Right answers in k attempts at each of n items, whose own chances average one half."""
    return lambda rng, _effect: {"correct": rng.binomial(k, rng.beta(1, 1, n)).tolist(), "attempts": k}


def scores(n: int, noise: Callable[[np.random.Generator, int], np.ndarray]) -> Draw:
    """n items with a score per arm: an item's own level plus noise of mean 0 on the candidate."""

    def draw(rng: np.random.Generator, effect: float) -> Body:
        level = np.round(rng.exponential(2, n), 2)
        return columns(level, np.round(level + effect + noise(rng, n), 2))

    return draw


def runs(
    n: int,
    noise: Callable[[np.random.Generator, int], np.ndarray],
    spread: float = 1.0,
    more: int | None = None,
) -> Draw:
    """n baseline runs and n (or `more`) candidate runs, the candidate's noise `spread` times as wide."""

    def draw(rng: np.random.Generator, effect: float) -> Body:
        return columns(np.round(noise(rng, n), 2), np.round(effect + spread * noise(rng, more or n), 2))

    return draw


def clusters(sizes: np.ndarray, discordant: float, icc: float) -> Draw:
    """Right/wrong pairs in clusters; two items of a cluster have intraclass correlation `icc`."""
    labels = [f"c{i}" for i, size in enumerate(sizes) for _ in range(size)]

    def draw(rng: np.random.Generator, effect: float) -> Body:
        p = np.array([(discordant + effect) / 2, (discordant - effect) / 2, 1 - discordant])
        weights = rng.standard_gamma(p * (1 - icc) / icc, size=(len(sizes), 3))
        cells = rng.multinomial(sizes, weights / weights.sum(axis=1, keepdims=True))
        difference = np.concatenate([np.repeat([1, -1, 0], counts) for counts in cells])
        base = np.where(difference == 1, 0, np.where(difference == -1, 1, rng.integers(0, 2, len(labels))))
        return {**columns(base.astype(float), (base + difference).astype(float)), "clusters": labels}

    return draw


def one_column(n: int) -> Draw:
    """n normal values of SD 1 around the effect."""
    return lambda rng, effect: {"values": np.round(effect + rng.standard_normal(n), 2).tolist()}


def profiles(n: int) -> Draw:
    """Two profiles of n effects, standard normal with correlation (and so concordance) `effect`."""

    def draw(rng: np.random.Generator, effect: float) -> Body:
        human, other = rng.standard_normal((2, n))
        return {"human": human.tolist(), "agent": (effect * human + (1 - effect**2) ** 0.5 * other).tolist()}

    return draw


def tables(n: int) -> Draw:
    """Two groups of n with the log odds ratio `effect`; the first succeeds half of the time or more."""

    def draw(rng: np.random.Generator, effect: float) -> Body:
        a, c = rng.binomial(n, 1 / (1 + np.exp(-effect))), rng.binomial(n, 0.5)
        return {"effect": {"kind": "chi_square", "table": [[int(a), int(n - a)], [int(c), int(n - c)]]}}

    return draw


def p_values(m: int) -> Draw:
    """m independent hypotheses, all of them true."""
    return lambda rng, _effect: {"p_values": rng.random(m).tolist()}


def documents(n: int) -> Draw:
    """n documents with true positives, false positives and misses; the candidate finds a little more."""

    def draw(rng: np.random.Generator, effect: float) -> Body:
        gold = rng.integers(1, 8, n)
        hard = rng.beta(4, 2, n)
        arms = {}
        for name, gain in (("baseline", 0.0), ("candidate", effect)):
            tp = rng.binomial(gold, np.minimum(hard + gain, 1))
            arms[name] = {"tp": tp.tolist(), "fp": rng.poisson(1, n).tolist(), "fn": (gold - tp).tolist()}
        return dict(arms)

    return draw


def columns(baseline: np.ndarray, candidate: np.ndarray) -> Body:
    """Two columns as JSON has them."""
    return {"baseline": baseline.tolist(), "candidate": candidate.tolist()}


def normal(rng: np.random.Generator, n: int) -> np.ndarray:
    """Bell-shaped noise of SD 1."""
    return rng.standard_normal(n)


def exponential(rng: np.random.Generator, n: int) -> np.ndarray:
    """Noise of SD 1 with a long right tail (skewness 2)."""
    return rng.exponential(1, n) - 1


def laplace(rng: np.random.Generator, n: int) -> np.ndarray:
    """The difference of two exponentials: symmetric, heavy tails, SD 1."""
    return rng.laplace(0, 0.5**0.5, n)


def uneven_sizes(n_clusters: int) -> np.ndarray:
    """Fixed sizes, a few of them large: lognormal quantiles."""
    from scipy.special import ndtri

    places = (np.arange(n_clusters) + 0.5) / n_clusters
    return np.maximum(1, np.rint(np.exp(2.1 + 0.8 * ndtri(places)))).astype(int)


UNEVEN = uneven_sizes(30)

WORLDS = {
    world.name: world
    for world in (
        World(
            "binary-low", "Right or wrong, few discordant items",
            "500 items, 4% of them discordant; with an effect the candidate gains 2 points.",
            pairs(500, 0.04), 0.02, "pp", 0.02,
        ),
        World(
            "binary-high", "Right or wrong, many discordant items",
            "500 items, 30% of them discordant; with an effect the candidate gains 5 points.",
            pairs(500, 0.30), 0.05, "pp", 0.05,
        ),
        World(
            "small-n", "Right or wrong, 15 items",
            "15 items, 40% of them discordant; with an effect the candidate gains 30 points.",
            pairs(15, 0.40), 0.30, "pp", 0.30,
        ),
        World(
            "small-n-scores", "Scores, 15 items",
            "15 items, normal differences of SD 1; with an effect their mean is 0.5.",
            scores(15, normal), 0.5, margin=0.5,
        ),
        World(
            "skewed", "Skewed scores, 40 items",
            "40 items whose levels and errors are exponential, so that differences are symmetric with heavy tails, "
            "SD 1; with an effect their mean is 0.4.",
            scores(40, laplace), 0.4, margin=0.4,
        ),
        World(
            "lopsided", "Lopsided differences, 40 items",
            "40 items whose differences are exponential (skewness 2, SD 1): many small losses, a few large gains; "
            "with an effect their mean is 0.4.",
            scores(40, exponential), 0.4, margin=0.4,
        ),
        World(
            "five-runs", "Five runs per arm",
            "Five normal runs of SD 1 in each arm; with an effect the candidate is 1.5 higher.",
            runs(5, normal), 1.5, margin=1.5,
        ),
        World(
            "twenty-runs", "Twenty runs per arm",
            "Twenty normal runs of SD 1 in each arm; with an effect the candidate is 0.8 higher.",
            runs(20, normal), 0.8, margin=0.8,
        ),
        World(
            "skewed-runs", "Twenty skewed runs per arm",
            "Twenty exponential runs in each arm (skewness 2, SD 1); with an effect the candidate is 0.8 higher.",
            runs(20, exponential), 0.8, margin=0.8,
        ),
        World(
            "few-clusters", "Six clusters",
            "Six clusters of 20 items, 30% discordant, intraclass correlation 0.2; with an effect the candidate gains "
            "10 points.",
            clusters(np.full(6, 20), 0.30, 0.2), 0.10, "pp", 0.10,
        ),
        World(
            "unequal-clusters", "Thirty unequal clusters",
            f"30 clusters of {UNEVEN.min()} to {UNEVEN.max()} items (coefficient of variation "
            f"{UNEVEN.std() / UNEVEN.mean():.2f}), 30% discordant, intraclass correlation 0.2; with an effect the "
            "candidate gains 10 points.",
            clusters(UNEVEN, 0.30, 0.2), 0.10, "pp", 0.10,
        ),
        World(
            "many-clusters", "Sixty equal clusters",
            "60 clusters of 10 items, 30% discordant, intraclass correlation 0.2; with an effect the candidate gains "
            "10 points.",
            clusters(np.full(60, 10), 0.30, 0.2), 0.10, "pp", 0.10,
        ),
        World(
            "peeking", "Looking while items come in",
            "200 items in random order, 30% of them discordant; with an effect the candidate gains 10 points.",
            shuffled_pairs(200, 0.30), 0.10,
        ),
        World(
            "attempts", "Ten attempts at forty items",
            "40 items with chances spread evenly between 0 and 1, ten attempts each.",
            attempts(40, 10), 0.5,
        ),
        World(
            "documents", "F1 over thirty documents",
            "30 documents with counts of true positives, false positives and misses; both arms find alike.",
            documents(30), 0.0,
        ),
        World(
            "one-column", "One column of twenty values", "Twenty normal values of SD 1 around 0.5.",
            one_column(20), 0.5,
        ),
        World(
            "tables", "Two groups of forty", "Two groups of 40; the log odds ratio is 1.", tables(40), 1.0,
        ),
        World(
            "profiles", "Profiles of thirty effects",
            "30 pairs of standard normal effects with concordance 0.6.", profiles(30), 0.6,
        ),
        World(
            "ten-nulls", "Ten true hypotheses",
            "Ten independent p-values, every hypothesis true; an error is any rejection.",
            p_values(10), 0.0,
        ),
        World(
            "five-arms", "Five arms, 200 right/wrong items",
            "Items of different difficulty; five arms with the same chance on each. An error is any pair told apart.",
            arms([0.0] * 5, 200), 0.0,
        ),
        World(
            "five-arms-10-clusters", "Five arms, 10 conversations of 10 to 40 items",
            "The same in 10 conversations that suit each arm more or less.",
            arms([0.0] * 5, 10, 25), 0.0,
        ),
        World(
            "five-arms-20-clusters", "Five arms, 20 conversations of 10 to 40 items",
            "The same in 20 conversations.",
            arms([0.0] * 5, 20, 25), 0.0,
        ),
        World(
            "twenty-arms", "Twenty arms, 20 conversations of 10 to 40 items",
            "Twenty arms with the same chance on each item, in 20 conversations that suit each arm more or less.",
            arms([0.0] * 20, 20, 25), 0.0,
        ),
        World(
            "eight-arms", "Eight arms, 200 right/wrong items",
            "Eight arms with the same chance on each item. An error is anything said of them that is not so: a pair "
            "told apart, an arm left out of the best set, a rank excluded, a difference outside of its interval.",
            arms([0.0] * 8, 200), 0.0,
        ),
        World(
            "eight-arms-uneven-clusters", "Eight arms, skewed scores in 20 clusters of very unequal sizes",
            "Lognormal scores of eight equal arms, in 20 clusters of lognormal sizes (sigma 1.2) that suit each arm "
            "more or less.",
            skewed_arms(8, 20), 0.0,
        ),
        World(
            "graded-arms", "Five arms that differ, 200 right/wrong items",
            f"Five arms with log odds {', '.join(f'{each:g}' for each in GRADED)} above an item's own. An error is a "
            "pair of like arms told apart; ranks are right when all true ones lie in their intervals.",
            arms(GRADED, 200), 0.0,
        ),
        World(
            "graded-arms-20-clusters", "Five arms that differ, 20 conversations of 10 to 40 items",
            "The same in 20 conversations that suit each arm more or less.",
            arms(GRADED, 20, 25), 0.0,
        ),
        World(
            "preferences", "Preferences between five arms",
            "200 comparisons of two of five arms of the same strength, about a fifth of them ties. An error is any "
            "pair told apart.",
            preferences([0.0] * 5, 200, prompts=False), 0.0,
        ),
        World(
            "preferences-30-prompts", "Preferences between five arms on 30 prompts",
            "All ten pairs on each of 30 prompts, which suit some arms (log strength, SD 1).",
            preferences([0.0] * 5, 30, prompts=True), 0.0,
        ),
        World(
            "graded-preferences", "Preferences between five arms that differ, on 30 prompts",
            f"Log strengths {', '.join(f'{each:g}' for each in GRADED)}, else the same.",
            preferences(GRADED, 30, prompts=True), 0.0,
        ),
        World(
            "judged-runs", "Three runs judged twice on 40 items",
            "40 items, three runs in each arm, two judgements of each: normal effects of items (SD 1), items by arm "
            "(0.5), runs (0.7) and judgements (0.4); with an effect the candidate is 0.4 higher.",
            judged_runs(40, 3, 2, (1.0, 0.5, 0.7, 0.4)), 0.4,
        ),
        World(
            "judged-runs-clusters", "Three runs judged twice on 120 items in 30 clusters",
            "The same with 120 items in clusters of four that suit the candidate more or less (SD 0.5).",
            judged_runs(120, 3, 2, (1.0, 0.5, 0.7, 0.4), 4), 0.4,
        ),
        World(
            "fixed-rare", "Four runs of 50 fixed items that rarely fail",
            "50 items, four runs in each arm: every item fails in 6% of its runs; with an effect the candidate in 2%.",
            fixed_runs(50, 4, 0.06, 1.0), 0.04,
        ),
        World(
            "fixed-mixed", "Three runs of 60 fixed items, most of which always end alike",
            "60 items, three runs in each arm: a third is right in half of its runs, of the others two thirds always "
            "and the rest never; with an effect the candidate is right in 80% of the runs of that third.",
            fixed_runs(60, 3, 0.5, 1 / 3), 0.1,
        ),
        World(
            "labelled-pairs", "Sixty labelled items of 400",
            "Two arms right on half of 400 items; people labelled 60 of them, the judge scored all, with 15% errors "
            "that lean to right.",
            labelled_pairs(60, 340), 0.0,
        ),
        World(
            "labelled-pairs-clusters", "120 labelled items of 600 in 60 clusters",
            "The same with 120 of 600 items, in clusters of ten that suit the candidate more or less.",
            labelled_pairs(120, 480, 10), 0.0,
        ),
        World(
            "three-raters", "Three raters of sixty items",
            "60 items of three kinds; each of three raters sees the kind with chance 0.8 and guesses otherwise, so "
            "that agreement beyond chance is 0.64.",
            rated(60, 0.8), 0.64,
        ),
        World(
            "costs", "Costs of 200 items",
            "Log-normal costs of two arms on 200 items, coefficient of variation 1, correlation 0.5; the effect is the "
            "ratio of the means.",
            amounts(200), 0.7,
        ),
        World(
            "costs-20-clusters", "Costs of 200 items in 20 clusters",
            "The same in 20 clusters, to which 0.3 of the variance on the log scale belongs.",
            amounts(200, 20), 0.7,
        ),
        World(
            "eight-arms-gaps", "Eight arms, 200 right/wrong items, a third missing",
            "Eight arms with the same chance on each item; each lacks a third of the items, at random. An error is "
            "anything said of them that is not so.",
            with_gaps(arms([0.0] * 8, 200), 1 / 3), 0.0,
        ),
        World(
            "eight-arms-tied-gaps", "Eight arms, grades of 60 items, a third missing",
            "Grades 0, 0.5 and 1 of eight equal arms, often alike; each lacks a third of the items, at random.",
            with_gaps(tied_arms(8, 60), 1 / 3), 0.0,
        ),
        World(
            "eight-arms-10-clusters-gaps", "Eight arms, 10 conversations of 10 to 40 items, a third missing",
            "Right and wrong by eight equal arms in 10 conversations that suit each arm more or less; each lacks a "
            "third of the items, at random.",
            with_gaps(arms([0.0] * 8, 10, 25), 1 / 3), 0.0,
        ),
        World(
            "eight-arms-uneven-clusters-gaps",
            "Eight arms, skewed scores in 20 clusters of very unequal sizes, a third missing",
            "Lognormal scores of eight equal arms, in 20 clusters of lognormal sizes (sigma 1.2) that suit each arm "
            "more or less; each lacks a third of the items, at random.",
            with_gaps(skewed_arms(8, 20), 1 / 3), 0.0,
        ),
        World(
            "graded-arms-gaps", "Five arms that differ, 200 right/wrong items, a third missing",
            "The arms that differ; each lacks a third of the items, at random.",
            with_gaps(arms(GRADED, 200), 1 / 3), 0.0,
        ),
        World(
            "unpaired-scores", "Unpaired arms, 50 and 70 scores",
            "Scores between 0 and 1, beta(4, 1), of different items in either arm.", graded(50, 70), 0.0,
        ),
        World(
            "unpaired-rare-losses", "Unpaired arms, 60 scores each, rare losses",
            "Scores between .9 and 1, but 0 for three items in a hundred, of different items in either arm.",
            rarely_lost(60, 60), 0.0,
        ),
        World(
            "unpaired-clusters", "Unpaired arms, 12 and 15 conversations",
            "Right and wrong in conversations of 3 to 12 questions with an intraclass correlation of .2.",
            conversations(12, 15), 0.0,
        ),
        World(
            "unpaired-few-clusters", "Unpaired arms, 5 and 6 conversations", "The same in 5 and 6 conversations.",
            conversations(5, 6), 0.0,
        ),
        World(
            "unpaired-covariate", "Unpaired arms, 60 scores each, and what was known before",
            "Scores of which a number known before explains half; the difference is adjusted by it.",
            with_covariate(60, 60), 0.0,
        ),
    )
}  # fmt: skip
