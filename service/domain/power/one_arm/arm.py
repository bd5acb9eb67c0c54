"""One arm as a plan describes it, and data sets of it: items whose chance of being right, or whose score, varies.

Right and wrong: an item's chance follows a beta distribution with the true mean; of one run per item a cluster has one
chance, so that two of its items correlate by `icc`. Of several runs items differ by half of all variance (`BETWEEN`),
and their normal scores correlate within clusters. Scores follow a beta distribution between the ends of their range.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy import special

from service.domain.plans.manifest import ManifestFacts
from service.domain.plans.sections.endpoint import Endpoint
from service.domain.plans.sections.hypothesis import About
from service.domain.power.attainable.least_p import size_of
from service.domain.power.procedure.labelled_sets import AGREEMENTS, label_budget
from service.domain.rules.claims.claim import good_direction
from service.domain.rules.feeding import parameter
from service.domain.rules.settings import Setting
from service.domain.verdicts.mean_difference import collapse
from service.domain.verdicts.worst_case import extremes
from service.kernels.planning.labelled_pairs import draw_answers
from service.kernels.repeats.draws_of_k import worst_and_best
from service.stats.shared.data.score_range import ScoreRange
from service.stats.shared.declaring.one_arm import OneArmSets
from service.stats.shared.declaring.shows import Side

Floats = NDArray[np.float64]

BETWEEN = 0.5
"""Share of the variance of a run that is between items, where items have several."""
SPREADS = {"low": 0.9, "reference": 0.5, "high": 0.25}
"""SD of the items' scores in units of the largest that their mean leaves room for."""
QUANTILES = np.concatenate(
    [[1e-9, 1e-6, 1e-4], np.linspace(0.001, 0.999, 999), [1 - 1e-4, 1 - 1e-6, 1 - 1e-9]]
)
HALVINGS = 30
"""Of the bracket of a mean chance, to a billionth."""


def counts_runs(setting: Setting) -> bool:
    """The claim is about the mean of these very items: its units are runs, whose right ones are at most as spread as
    a binomial number (Hoeffding 1956)."""
    about = setting.hypothesis.about or "mean"
    return setting.endpoint is not None and setting.endpoint.counts_runs and about == "mean"


@dataclass(frozen=True)
class Arm:
    """The arm of a hypothesis: its items, how they are measured, and what is asked of it."""

    endpoint: Endpoint
    n: int
    sizes: NDArray[np.int64] | None
    """Items of each cluster, (G,); None where items are independent."""
    scale: ScoreRange
    reference: float
    good: Side
    about: About
    k: int
    """Runs that are all to be right, where the claim is about that."""
    labels: int | None = None
    """Items that people label, where the claim is about what they say."""

    @classmethod
    def of(cls, setting: Setting, facts: Mapping[str, ManifestFacts]) -> Arm | None:
        """Return the arm of a hypothesis; None where its endpoint has no known ends, or names do not resolve."""
        population, endpoint, reference = setting.population, setting.endpoint, setting.reference
        ends = None if endpoint is None else extremes(endpoint)
        if population is None or endpoint is None or reference is None or ends is None:
            return None
        size, known = size_of(population, facts), facts.get(population.id)
        sizes = None
        if population.clusters is not None:
            g = max(size.n_clusters or 1, 1)
            equal = np.full(g, size.n // g) + (np.arange(g) < size.n % g)
            sizes = np.array(known.cluster_sizes if known and known.cluster_sizes else equal, dtype=np.int64)
        n = size.n
        if counts_runs(setting):  # every run counts by itself, wherever its item comes from
            n, sizes = n * endpoint.replicates, None
            endpoint = endpoint.model_copy(update={"replicates": 1, "collapse": None, "estimand": None})
        counts_of_uses = (parameter(use.use, "k") for use in setting.uses.values())
        ks = [
            k for counts in counts_of_uses if isinstance(counts, list) for k in counts if isinstance(k, int)
        ]
        return cls(
            endpoint,
            n,
            sizes,
            ScoreRange(low=ends.low, high=ends.high),
            float(reference),
            good_direction(endpoint),
            setting.hypothesis.about or "mean",
            max(ks, default=min(endpoint.runs, 10)),
            label_budget(setting.plan, setting) if setting.hypothesis.about == "labels" else None,
        )

    @property
    def right_or_wrong(self) -> bool:
        """Runs are right or wrong."""
        return self.endpoint.kind == "binary"

    @property
    def counted(self) -> bool:
        """A data set is told by how many items are right: they are independent, and each is right or wrong."""
        return self.sizes is None and self.endpoint.collapsed_kind == "binary" and self.about == "mean"

    @property
    def units(self) -> int:
        """What a rule that only the best data make true needs enough of: items, or labels where people's are asked."""
        return self.n if self.labels is None else self.labels

    @property
    def best(self) -> float:
        """The good end of the range."""
        return self.scale.high if self.good > 0 else self.scale.low

    def of_counts(self, n: int) -> OneArmSets:
        """Return every data set that n items can give: 0 to n of them right, (n + 1,)."""
        right = np.arange(n + 1, dtype=np.float64)
        return OneArmSets(
            None, None, None, self.scale.low, self.scale.high, self.reference, self.good, right=right, n=n
        )

    def draw(
        self,
        generator: np.random.Generator,
        n_sets: int,
        mean: float,
        icc: float,
        spread: float,
        agreement: float = AGREEMENTS["reference"],
    ) -> OneArmSets:
        """Draw data sets whose true value is `mean`, of what the claim is about.

        Args:
            icc: of two items of one cluster.
            spread: SD of the items' scores in units of the largest there can be; right and wrong have none.
            agreement: how often a judge says what people say of an answer, where people label some.
        """
        if self.labels is not None:
            others = max(self.n - self.labels, 2)
            labelled = draw_answers(generator, n_sets, self.labels, others, mean, agreement)
            return OneArmSets(
                None,
                None,
                None,
                self.scale.low,
                self.scale.high,
                self.reference,
                self.good,
                labelled=labelled,
            )
        if not self.right_or_wrong:
            values = self._scores(generator, n_sets, mean, icc, spread)
            return OneArmSets(
                values, None, self.sizes, self.scale.low, self.scale.high, self.reference, self.good
            )
        runs = self._runs(generator, n_sets, mean, icc)
        flat = runs.reshape(-1, runs.shape[2])
        values = collapse(flat, self.endpoint).reshape(n_sets, self.n)
        return OneArmSets(
            values, runs, self.sizes, self.scale.low, self.scale.high, self.reference, self.good
        )

    def _runs(self, generator: np.random.Generator, n_sets: int, mean: float, icc: float) -> Floats:
        """Runs, 0 or 1, of shape (n_sets, n, replicates), with this true mean and correlation within clusters."""
        replicates = self.endpoint.replicates
        if mean <= 0 or mean >= 1:  # nothing varies
            chance = np.full((n_sets, self.n), float(mean >= 1))
        elif self.about == "every_item":
            chance = np.full((n_sets, self.n), mean)
            if self.good > 0 and mean <= self.reference:
                # The claim is only just false: one item alone has this chance, and the others never fail.
                chance[:, 1:] = 1.0
        elif replicates == 1:
            chance = np.full((n_sets, self.n), mean)
            if self.sizes is not None and icc > 0:
                shape = (n_sets, len(self.sizes))
                # Beta-binomial: a + b = (1 - icc) / icc gives items of a cluster the correlation 1 / (a + b + 1) = icc.
                of_cluster = generator.beta(mean * (1 - icc) / icc, (1 - mean) * (1 - icc) / icc, shape)
                chance = np.repeat(of_cluster, self.sizes, axis=1)
        else:
            # The same law for the items' chances: 1 / (a + b + 1) of the variance of a run is between items. Chances
            # that correlate by icc / BETWEEN within clusters give runs the correlation icc.
            centre = self._centre(mean)
            a, b = centre * (1 - BETWEEN) / BETWEEN, (1 - centre) * (1 - BETWEEN) / BETWEEN
            uniform = self._uniform(generator, n_sets, min(icc / BETWEEN, 0.99))
            chance = _beta(generator, a, b, uniform, (n_sets, self.n))
        drawn = generator.random((n_sets, self.n, replicates)) < chance[:, :, None]
        return drawn.astype(np.float64)

    def _scores(
        self, generator: np.random.Generator, n_sets: int, mean: float, icc: float, spread: float
    ) -> Floats:
        """Scores of items (n_sets, n) with this mean, beta within the bounds of the endpoint."""
        place = (mean - self.scale.low) / self.scale.length
        if not 0 < place < 1:
            return np.full((n_sets, self.n), mean)
        # A beta law has the variance p (1 - p) / (a + b + 1), so that a + b = 1 / spread^2 - 1 gives the SD `spread` in
        # units of the largest that the mean allows, sqrt(p (1 - p)).
        total = 1 / spread**2 - 1
        uniform = self._uniform(generator, n_sets, icc)
        values = _beta(generator, place * total, (1 - place) * total, uniform, (n_sets, self.n))
        return np.asarray(self.scale.low + self.scale.length * values)

    def _uniform(self, generator: np.random.Generator, n_sets: int, correlation: float) -> Floats | None:
        """Uniform numbers of items (T, n), whose normal scores correlate so within clusters; None: they need not."""
        if self.sizes is None or correlation <= 0:
            return None
        # A Gaussian copula: normal scores with a part that is shared by the cluster, made uniform.
        scores = generator.standard_normal((n_sets, self.n))
        shared = np.repeat(generator.standard_normal((n_sets, len(self.sizes))), self.sizes, axis=1)
        return np.asarray(special.ndtr(np.sqrt(correlation) * shared + np.sqrt(1 - correlation) * scores))

    def _centre(self, mean: float) -> float:
        """Return the mean chance of an item at which what the claim is about has this true value."""
        if self.about == "mean" and self.endpoint.collapse in (None, "mean", "first"):
            return mean
        low, high = 1e-9, 1 - 1e-9
        for _ in range(HALVINGS):
            middle = (low + high) / 2
            low, high = (middle, high) if self._value_at(middle) < mean else (low, middle)
        return (low + high) / 2

    def _value_at(self, centre: float) -> float:
        """Return what the claim is about, where items' chances are spread around this one."""
        from scipy import stats

        a, b = centre * (1 - BETWEEN) / BETWEEN, (1 - centre) * (1 - BETWEEN) / BETWEEN
        replicates = self.endpoint.replicates
        return float(self._by_right @ stats.betabinom.pmf(np.arange(replicates + 1), replicates, a, b))

    @cached_property
    def _by_right(self) -> Floats:
        """The value of an item by how many of its runs are right, (r + 1,)."""
        replicates = self.endpoint.replicates
        runs = np.array([[1.0] * right + [0.0] * (replicates - right) for right in range(replicates + 1)])
        if self.about == "pass_hat_k":
            return np.asarray(worst_and_best(runs, self.k)[0])
        return collapse(runs, self.endpoint)


def _beta(
    generator: np.random.Generator, a: float, b: float, uniform: Floats | None, shape: tuple[int, int]
) -> Floats:
    """Beta numbers of this shape: drawn, or read off a table of quantiles where uniform numbers are given."""
    if uniform is None:
        return generator.beta(a, b, shape)
    return np.asarray(np.interp(uniform, QUANTILES, special.betaincinv(a, b, QUANTILES)))
