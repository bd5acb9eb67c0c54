"""Two arms on the same items for any metric: scores, replicates of scores, or counts that are summed."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, Literal, Self

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, model_validator

from service.errors import InvalidData
from service.kernels.numeric.clusters import cluster_sums, codes_of
from service.kernels.numeric.metrics import METRICS, ORDERS, PairedSums
from service.kernels.numeric.moments import difference_noise, paired_differences, sum_noise
from service.stats.shared.data.clustering import warn_if_lopsided
from service.stats.shared.data.pairs import FourCounts, PairedCounts, tabulate
from service.stats.shared.data.replicates import Replicates, item_means
from service.stats.shared.data.skewness import warn_if_skewed
from service.stats.shared.declaring.columns import is_binary, require_equal_lengths
from service.stats.shared.declaring.common import MAX_ITEMS, Column, Labels, Request, StatWarning
from service.stats.shared.declaring.sentences import amount, difference_of
from service.stats.shared.declaring.warnings import define
from service.words import Value, message

MetricName = Literal["mean", "accuracy", "precision", "recall", "f1", "bleu"]

METRIC_UNDEFINED = define(
    "METRIC_UNDEFINED", "caution", "Davison & Hinkley (1997), Bootstrap Methods and their Application, 2.6"
)

Tally = Annotated[int, Field(ge=0, le=10**9)]
Tallies = Annotated[list[Tally], Field(max_length=MAX_ITEMS, fail_fast=True)]
Grams = Annotated[list[Tally], Field(min_length=ORDERS, max_length=ORDERS)]
GramTable = Annotated[list[Grams], Field(max_length=MAX_ITEMS, fail_fast=True)]


class DecisionCounts(Request):
    """True and false decisions of one arm per item, for precision, recall and F1."""

    tp: Tallies = Field(description="True positives per item, counts.")
    fp: Tallies = Field(description="False positives per item, counts.")
    fn: Tallies = Field(description="False negatives per item, counts.")

    def rows(self, path: str) -> NDArray[np.float64]:
        """Return true positives, false positives and false negatives per item, shape (n, 3)."""
        columns = {f"{path}.tp": self.tp, f"{path}.fp": self.fp, f"{path}.fn": self.fn}
        require_equal_lengths(dict(columns))
        return np.array([self.tp, self.fp, self.fn], dtype=np.float64).T


class BleuCounts(Request):
    """N-gram statistics of one arm per segment, as sacrebleu keeps them, for corpus BLEU."""

    matches: GramTable = Field(description="Matched n-grams of order 1 to 4 per segment, four counts each.")
    totals: GramTable = Field(description="N-grams of order 1 to 4 in the output, four counts per segment.")
    sys_len: Tallies = Field(description="Words of the output per segment, counts.")
    ref_len: Tallies = Field(description="Words of the (closest) reference per segment, counts.")

    def rows(self, path: str) -> NDArray[np.float64]:
        """Return matches and totals of order 1 to 4 and both lengths per segment, shape (n, 10)."""
        names = ("matches", "totals", "sys_len", "ref_len")
        require_equal_lengths({f"{path}.{name}": getattr(self, name) for name in names})
        matches, totals = np.array(self.matches, dtype=np.float64), np.array(self.totals, dtype=np.float64)
        if np.any(matches > totals):
            segment = int(np.argmax((matches > totals).any(axis=1)))
            raise InvalidData.field(
                f"{path}.matches[{segment}]", "has more matches than n-grams", "totals come from the output"
            )
        lengths = np.array([self.sys_len, self.ref_len], dtype=np.float64).T
        return np.hstack([matches, totals, lengths])


_NEEDS = {
    **dict.fromkeys(("precision", "recall", "f1"), "send {tp, fp, fn}, one count per item in each"),
    "bleu": "send {matches, totals, sys_len, ref_len}, one entry per segment in each",
}

Arm = Annotated[Column | Replicates | DecisionCounts | BleuCounts, Field(union_mode="left_to_right")]


@dataclass(frozen=True, eq=False)
class Arms:
    """Statistics per item, the units that are resampled, and the columns where there are any."""

    metric: MetricName
    items: PairedSums
    units: PairedSums
    columns: tuple[NDArray[np.float64], NDArray[np.float64]] | None
    codes: NDArray[np.int64] | None
    counts: PairedCounts | None
    n: int

    @property
    def n_discordant(self) -> int:
        """Items whose statistics differ between the arms."""
        if self.counts is not None:
            return self.counts.n_discordant
        if self.columns is not None:
            return int(np.count_nonzero(self.difference))
        return int(np.count_nonzero((self.items.baseline != self.items.candidate).any(axis=1)))

    @property
    def delta(self) -> float:
        """The observed difference of the metric, candidate minus baseline."""
        if self.counts is not None:
            return self.counts.delta
        if self.columns is None:
            return self.items.delta
        total = float(self.difference_sums.sum())
        return 0.0 if abs(total) <= sum_noise(*self.columns) else total / self.n

    @property
    def sizes(self) -> NDArray[np.float64]:
        """Items per cluster (G,); empty without clusters."""
        return np.zeros(0) if self.codes is None else np.bincount(self.codes).astype(np.float64)

    @property
    def difference(self) -> NDArray[np.float64]:
        """Item differences (n,) of two columns."""
        if self.columns is None:
            raise ValueError("the arms are no columns")
        return paired_differences(*self.columns)

    @property
    def noise(self) -> float:
        """What rounding can make of a difference of two columns; 0 for counts."""
        return 0.0 if self.columns is None else difference_noise(*self.columns)

    @property
    def difference_sums(self) -> NDArray[np.float64]:
        """Differences of two columns summed by unit (G,)."""
        if self.codes is None:
            return self.difference
        return cluster_sums(self.difference, self.codes, self.noise).sums

    @property
    def n_differing(self) -> int:
        """Units that tell the arms apart."""
        if self.columns is not None:
            return int(np.count_nonzero(self.difference_sums))
        apart = (self.units.baseline != self.units.candidate).any(axis=1)
        return int(self.units.copies[apart].sum())

    @property
    def largest_share(self) -> float:
        """Share of the items in the largest cluster; 0 without clusters."""
        return float(self.sizes.max(initial=0.0)) / self.n

    @property
    def reach(self) -> float:
        """The largest difference that two arms can have; infinite where scores have no bounds."""
        if self.metric == "bleu":
            return 100.0
        return math.inf if self.metric == "mean" and self.counts is None else 1.0

    def show(self, x: float) -> Value:
        """Return a difference as prose prints it."""
        if self.metric == "bleu":
            return message("analyses.bleu", value=amount(x, binary=False))
        as_share = self.counts is not None or self.metric in ("accuracy", "precision", "recall", "f1")
        return difference_of(x, binary=as_share)

    @property
    def named(self) -> Value:
        """The metric as prose names it after a difference."""
        if self.metric in ("mean", "bleu"):
            return ""
        return message("analyses.in_metric", metric=self.metric)

    def warn_if_skewed(self) -> tuple[StatWarning, ...]:
        """Warn with SKEWED, of what items or clusters add to the estimate; of right/wrong items the counts speak."""
        if (self.counts is not None and self.codes is None) or not self.units.standard_error():
            return ()
        parts = self.units.linearize()
        if self.codes is not None:
            return warn_if_lopsided(parts, self.sizes)
        return warn_if_skewed(parts, "items", self.units.copies)

    def warn_if_undefined(self, share: float, where: str) -> tuple[StatWarning, ...]:
        """Warn with METRIC_UNDEFINED of the data themselves, or of a share of resamples."""
        why = {
            "precision": "nothing was predicted positive",
            "recall": "nothing was to be found",
            "f1": "there is nothing to find and nothing found",
            "bleu": "an order of n-grams has no match",
        }.get(self.metric)
        if why is None:
            return ()
        if self.items.undefined:
            return (METRIC_UNDEFINED(metric=self.metric, where="in the data", why=why),)
        if share > 0:
            return (METRIC_UNDEFINED(metric=self.metric, where=f"in {share:.2%} of {where}", why=why),)
        return ()


class ArmsRequest(FourCounts):
    """Two arms on the same items: columns, replicates, additive counts, or the four counts of right/wrong."""

    baseline: Arm | None = Field(
        None,
        description="Baseline arm, one entry per item: a list of values; a list of lists (replicates, "
        "averaged within the item); {tp, fp, fn}; or {matches, totals, sys_len, ref_len}.",
    )
    candidate: Arm | None = Field(
        None, description="Candidate arm in the same form, same items in the same order."
    )
    clusters: Labels | None = Field(
        None,
        description="Cluster of each item, a label per item, same order; whole clusters are resampled then.",
    )
    metric: MetricName = Field(
        "mean",
        description="`mean` of values (of per-item F1, say); `accuracy` of 0 and 1; `precision`, `recall`, "
        "`f1` of summed counts (micro); `bleu` of the corpus, 0-100. Sums are taken anew in every resample.",
    )

    @model_validator(mode="after")
    def _require_usable(self) -> Self:
        self._require_one_form(self.baseline, self.candidate)
        _ = self.pair
        return self

    @property
    def scores(self) -> bool:
        """True for columns of values or the four counts: the metric is a mean."""
        return self.metric in ("mean", "accuracy")

    @cached_property
    def pair(self) -> Arms:
        """The arms, checked against the metric and each other."""
        clusters = self.clusters
        if self.baseline is None:
            return self._from_counts(clusters)
        baseline, candidate = self._rows(self.baseline, "baseline"), self._rows(self.candidate, "candidate")
        n = len(baseline)
        require_equal_lengths({"baseline": range(n), "candidate": range(len(candidate))})
        items = PairedSums(METRICS[self.metric], baseline, candidate, np.ones(n))
        columns = (baseline[:, 0], candidate[:, 0]) if self.scores else None
        if self.metric == "accuracy" and columns and not is_binary(*columns):
            raise InvalidData.field("metric", "accuracy is of outcomes 0 and 1", "use metric 'mean'")
        codes = None
        if clusters is not None:
            require_equal_lengths({"baseline": range(n), "clusters": clusters})
            codes = codes_of(clusters)
            if codes.max() == 0:
                raise InvalidData.field(
                    "clusters",
                    "hold a single cluster, whose items say nothing about other clusters",
                    "send at least two clusters, or leave them out",
                )
        return Arms(
            metric=self.metric,
            items=items,
            units=items if codes is None else items.by_cluster(codes),
            columns=columns,
            codes=codes,
            counts=tabulate(*columns) if columns and is_binary(*columns) else None,
            n=n,
        )

    def _from_counts(self, clusters: Labels | None) -> Arms:
        """Return the arms of a fourfold table: four kinds of items, each as often as it was counted."""
        if not self.scores:
            raise InvalidData.field("metric", f"{self.metric} needs counts per item", _NEEDS[self.metric])
        if clusters is not None:
            raise InvalidData.field("clusters", "belong to items", "send the two columns")
        table = self.four
        arms = np.array([[1, 1], [1, 0], [0, 1], [0, 0]], dtype=np.float64)
        copies = [table.both_correct, table.only_baseline, table.only_candidate, table.both_wrong]
        baseline, candidate = (np.stack([arm, np.ones(4)], axis=1) for arm in arms.T)
        items = PairedSums(METRICS[self.metric], baseline, candidate, np.array(copies, dtype=np.float64))
        return Arms(
            metric=self.metric, items=items, units=items, columns=None, codes=None, counts=table, n=table.n
        )

    def _rows(self, arm: object, path: str) -> NDArray[np.float64]:
        """Statistics per item (n, width) of one arm; refuses a form that does not go with the metric."""
        if not self.scores:
            if isinstance(arm, BleuCounts if self.metric == "bleu" else DecisionCounts):
                return arm.rows(path)
            raise InvalidData.field(
                "metric", f"{self.metric} needs counts per item in {path}", _NEEDS[self.metric]
            )
        if not isinstance(arm, list):
            raise InvalidData.field(
                "metric", f"{self.metric} needs one value per item in {path}", "send a list"
            )
        require_equal_lengths({path: arm})
        values = item_means(arm, path)
        return np.stack([values, np.ones(len(values))], axis=1)
