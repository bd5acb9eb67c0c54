"""What stays Monte Carlo, ours and peers' drawing the same number of resamples; one thread each."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sacrebleu import significance
from sacrebleu.metrics.bleu import BLEU
from scipy import stats

from benchmarks.bootstrap import BATCH, HALF_WIDTH, SCIPY, Z, continuous
from benchmarks.harness import Sides, end_error, row, share_error
from benchmarks.ours import computed
from service.kernels.bootstrap.bootstrap_draws import Draws, ratio_blocks
from service.kernels.numeric.streams import block_count
from service.kernels.randomization.type_one_error import Splits

Floats = NDArray[np.float64]

GROUP = "monte carlo"
SEGMENTS = 2_000
SACREBLEU = "sacrebleu.significance"


class Prepared(BLEU):
    """sacrebleu's metric on statistics that are there already, so that its tests alone are timed."""

    rows: list[list[int]]

    def _extract_corpus_statistics(self, hypotheses: Any, references: Any) -> Any:  # noqa: ARG002
        return self.rows


def translations(share: float, seed: int) -> NDArray[np.int64]:
    """Statistics per segment as sacrebleu keeps them: sys_len, ref_len, four matches, four totals."""
    rng = np.random.default_rng(seed)
    reference = np.random.default_rng(0).integers(8, 40, SEGMENTS)
    length = np.maximum(reference + rng.integers(-2, 3, SEGMENTS), 1)
    totals = np.maximum(length[:, None] - np.arange(4), 0)
    matches = rng.binomial(totals, share ** np.arange(1, 5))
    return np.column_stack([length, reference, matches, totals])


def as_request(rows: NDArray[np.int64]) -> dict[str, Any]:
    """The same statistics as our request carries them."""
    return {
        "sys_len": rows[:, 0].tolist(),
        "ref_len": rows[:, 1].tolist(),
        "matches": rows[:, 2:6].tolist(),
        "totals": rows[:, 6:].tolist(),
    }


def against_sacrebleu(name: str, peer_test: Callable[..., Any], draws: int, *, same_p: bool) -> Sides:
    """The whole analysis against the peer's function; p-values are compared where they mean the same."""
    baseline, candidate = translations(0.6, 1), translations(0.607, 2)
    scorer = Prepared()
    scorer.rows = candidate.tolist()
    prepared = baseline.tolist()
    info = {"BLEU": (prepared, significance.Result(scorer._aggregate_and_compute(prepared).score))}
    ours = computed(
        name, metric="bleu", baseline=as_request(baseline), candidate=as_request(candidate), n_resamples=draws
    )

    def peer() -> float | None:
        _, scores = peer_test(info, "candidate", [""] * SEGMENTS, None, {"BLEU": scorer}, draws, -1, 1)
        return float(scores["BLEU"].p_value) if same_p else None

    def mine() -> float | None:
        p = float(ours().p_value)
        return p if same_p else None

    if not same_p:
        return Sides(mine, peer)
    p = float(ours().p_value)
    error = share_error(p, draws)
    return Sides(mine, peer, error, scale=p, of="p", ours_error=error)


def f1_of_decisions() -> Sides:
    """Micro F1 of two systems' yes and no on the same items; the number is the interval's lower end."""
    rng, draws = np.random.default_rng(3), 10_000
    gold = rng.random(SEGMENTS) < 0.3
    arms = []
    for error in (0.15, 0.13):
        said = np.where(rng.random(SEGMENTS) < error, ~gold, gold)
        arms.append(np.stack([said & gold, said & ~gold, ~said & gold]).astype(np.int64))
    rows = np.concatenate(arms).T.copy()
    names = ("tp", "fp", "fn")
    baseline, candidate = (dict(zip(names, arm.tolist(), strict=True)) for arm in arms)
    ours = computed(
        "paired-bootstrap", metric="f1", baseline=baseline, candidate=candidate, n_resamples=draws
    )

    def f1(tp: float, fp: float, fn: float) -> float:
        return 2 * tp / (2 * tp + fp + fn)

    def peer() -> float:
        drawn = np.random.default_rng(1)
        differences = np.empty(draws)
        for replicate in range(draws):
            sums = rows[drawn.integers(0, SEGMENTS, SEGMENTS)].sum(axis=0)
            differences[replicate] = f1(*sums[3:]) - f1(*sums[:3])
        return float(np.percentile(differences, 2.5))

    se = float(ours().bootstrap_se)
    error = end_error(se, draws)
    return Sides(lambda: ours().ci.low, peer, error, scale=Z * se, of=HALF_WIDTH, ours_error=error)


def means(n: int) -> Sides:
    """The percentile interval of a mean difference, drawn on both sides; the number is its lower end."""
    arms, draws = continuous(n), 10_000
    difference = arms[1] - arms[0]
    rng = np.random.default_rng(1)

    def peer() -> float:
        result = stats.bootstrap(
            (difference,), np.mean, n_resamples=draws, vectorized=True, method="percentile", rng=rng,
            batch=max(1, BATCH // n),
        )  # fmt: skip
        return float(result.confidence_interval.low)

    def ours() -> float:
        drawn = Draws(np.sort(ratio_blocks(difference, np.ones(n), 1, range(block_count(draws)))[:draws]))
        _, low = drawn.quantile(0.975), drawn.quantile(0.025)
        return low

    se = float(difference.std()) / math.sqrt(n)
    error = end_error(se, draws)
    return Sides(ours, peer, error, scale=Z * se, of=HALF_WIDTH, ours_error=error)


def empirical_type_one() -> Sides:
    """Null splits of 60 runs into halves of 20, each tested by a percentile bootstrap; the number is the rate."""
    n, splits, draws, alpha = 20, 2_000, 1_000, 0.05
    values = np.random.default_rng(1).gamma(2, 1, 3 * n)
    rng = np.random.default_rng(2)

    def difference(first: Floats, second: Floats, axis: int = -1) -> Floats:
        return np.asarray(second.mean(axis=axis) - first.mean(axis=axis))

    def peer() -> float:
        order = np.argsort(rng.random((splits, values.size)), axis=1)
        result = stats.bootstrap(
            (values[order[:, :n]], values[order[:, n : 2 * n]]), difference, n_resamples=draws, axis=1,
            vectorized=True, method="percentile", rng=rng, batch=max(1, BATCH // (splits * n)),
        )  # fmt: skip
        ends = result.confidence_interval
        return float(np.mean((ends.low > 0) | (ends.high < 0)))

    def ours() -> float:
        null = Splits(values, n, "bootstrap-percentile", alpha, splits, draws, 1)
        return null.rejections(*null.blocks(range(block_count(null.looked_at)))).rate

    # both sides share their resamples among the splits, which adds to the error of the rate
    error = 2 * share_error(ours(), splits)
    return Sides(ours, peer, error, scale=alpha, of="alpha", ours_error=error)


row(f"BLEU paired bootstrap, {SEGMENTS:,} segments, B 1,000", group=GROUP, peer=SACREBLEU, bar=8)(
    partial(against_sacrebleu, "paired-bootstrap", significance._paired_bs_test, 1_000, same_p=False)
)
row(f"BLEU randomization, {SEGMENTS:,} segments, B 10,000", group=GROUP, peer=SACREBLEU, bar=25)(
    partial(against_sacrebleu, "randomization", significance._paired_ar_test, 10_000, same_p=True)
)
row("F1 difference, n 2,000, B 10,000", group=GROUP, peer="numpy, a loop over resamples", bar=30)(
    f1_of_decisions
)
for _n in (500, 10_000):
    row(f"paired CI, continuous, n {_n:,}, B 10,000, drawn by both", group=GROUP, peer=SCIPY, bar=2)(
        partial(means, _n)
    )
row("type I error by splits, n 20, B 1,000, 2,000 splits", group=GROUP, peer=f"{SCIPY}, vectorised", bar=5)(
    empirical_type_one
)
