"""Runs of one system on the same items, one after another: where each stands, and whether a drop is shown."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from service.kernels.numeric.clusters import codes_of
from service.kernels.sequential.run_changes import chances, likeliest_start, weigh
from service.records import Record
from service.stats.shared.data.score_range import ScoreRange, lies_in_unit
from service.stats.shared.declaring.columns import is_binary
from service.stats.shared.declaring.common import Interval, Margin, StatWarning
from service.stats.shared.declaring.sentences import amount, difference_of, level_text
from service.stats.shared.declaring.warnings import define
from service.stats.shared.methods.one_mean import OneMean
from service.stats.shared.methods.scored import named_interval
from service.words import Language, Message, Value, message

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Outcome = Literal["no_drop_shown", "dropped"]

LARGEST_LOG = 690.0
"""Evidence above exp(690) is told as that."""
MANY_MISSING = 0.05
"""The share of the reference's items that a run may lack before its answer says so."""
DIFFERENCES = ScoreRange(low=-1.0, high=1.0)
"""Of scores between 0 and 1."""


RUN_INCOMPLETE = define(
    "RUN_INCOMPLETE",
    "serious",
)
BOUNDED_CHANCES = define(
    "BOUNDED_CHANCES",
    "info",
    "Hoeffding (1963), JASA 58:13",
)


class RunStanding(Record):
    """One run against those before it, and against the reference."""

    mean: float | None = Field(
        description="Mean of the run's values, a proportion or score units; null without any."
    )
    n: int = Field(description="Items that the run and the reference have, a count.")
    n_missing: int = Field(description="Items of the reference that the run lacks, a count.")
    delta: float | None = Field(
        description="Run minus the mean of the reference runs over these items, in their unit; null without any."
    )
    ci: Interval | None = Field(
        description="Interval of delta for items like these, for this run alone: not for looking at many. Null where "
        "nothing varies or it cannot be told."
    )
    p_value: float | None = Field(
        description="Chance of a run so low among those before it, where nothing has changed; null for the reference."
    )
    binary: bool = Field(description="Every value of the run is 0 or 1.")
    exact: bool = Field(description="The chance is computed and not bounded from above.")


class Watch(Record):
    """What runs in their order show."""

    outcome: Outcome = Field(
        description="`dropped`: runs are lower than those before; it stays so until another reference is named."
    )
    alarm: int | None = Field(description="The run that showed it, a number from 1; null where none did.")
    since: int | None = Field(
        description="Since about which run, a number from 1: the start that evidence at the alarm speaks for most."
    )
    evidence: list[float | None] = Field(
        description="Shiryaev and Roberts's evidence for a drop after every run, a ratio; null for the reference."
    )
    e_value: float | None = Field(
        description="Evidence of the whole series after all runs, a ratio; its mean is at most 1 while nothing "
        "changes. Null before the first run after the reference."
    )
    e_value_max: float | None = Field(description="The largest so far, a ratio.")


@dataclass(frozen=True, eq=False)
class Runs:
    """Values (T, n) of runs on items, NaN where there is none; the first `n_reference` are the reference."""

    values: Floats
    clusters: Sequence[str] | Sequence[int] | None
    n_reference: int
    margin: float
    lower_is_better: bool = False
    level: float = 0.95

    def stand(self, first: int = 0) -> Iterator[RunStanding]:
        """Every run from number `first` on, from 0."""
        codes = None if self.clusters is None else codes_of(self.clusters)
        signed = -self.values if self.lower_is_better else self.values
        after = max(first, self.n_reference)
        lows = chances(signed, codes, after, self.margin)
        # an item that no reference run has is none of the reference's
        known = ~np.isnan(self.values[: self.n_reference])
        shared = known.any(axis=0)
        reference = np.where(known, self.values[: self.n_reference], 0.0).sum(axis=0) / np.maximum(
            known.sum(axis=0), 1
        )
        for number in range(first, len(self.values)):
            row = self.values[number]
            there = ~np.isnan(row)
            both = there & shared
            difference = (row - reference)[both]
            beyond = number >= self.n_reference
            low = next(lows).chance if beyond else None
            yield RunStanding(
                mean=float(row[there].mean()) if there.any() else None,
                n=int(both.sum()),
                n_missing=int((shared & ~there).sum()),
                delta=float(difference.mean()) if both.any() and beyond else None,
                ci=self._interval(difference, None if codes is None else codes[both]) if beyond else None,
                p_value=None if low is None else low.p,
                binary=is_binary(row[there]),
                exact=low is None or low.exact,
            )

    def _interval(self, difference: Floats, codes: Ints | None) -> Interval | None:
        if len(difference) < 2 or np.ptp(difference) == 0:
            return None
        if codes is not None:
            codes = np.unique(codes, return_inverse=True)[1]
            if int(codes.max()) == 0:
                return None
        there = self.values[~np.isnan(self.values)]
        scale = DIFFERENCES if lies_in_unit(there) else None
        apart = float(np.ptp(there))  # what was seen of scores tells how far two of them can lie apart
        deciding = OneMean(difference, codes, scale, seen=(-apart, apart)).deciding
        return None if deciding is None else named_interval(deciding, self.level)


def accepted(margin: Margin | None, values: Floats, path: str = "margin") -> float:
    """The drop that is accepted in the values' unit; shares and means of 0 and 1 take percentage points."""
    if margin is None:
        return 0.0
    there = values[~np.isnan(values)]
    if margin.unit != "score" and lies_in_unit(there) and margin.exact() < 1:
        return float(margin.exact())
    return float(margin.for_endpoint(binary=is_binary(there), path=path))


def incomplete(name: str, standing: RunStanding) -> tuple[StatWarning, ...]:
    """RUN_INCOMPLETE where more of the reference's items are missing than are easily overlooked."""
    n = standing.n + standing.n_missing
    if standing.n_missing <= MANY_MISSING * n:
        return ()
    return (RUN_INCOMPLETE(run=name, n_missing=standing.n_missing, n=n),)


def watch(p_values: Sequence[float | None], every: float) -> Watch:
    """What the runs' chances show, those of the reference null: a drop where evidence reaches `every`.

    Runs until a false alarm: at least `every` on average.
    """
    known = np.array([p for p in p_values if p is not None], dtype=np.float64)
    before = len(p_values) - len(known)
    evidence = weigh(known)
    crossed = np.flatnonzero(evidence.change >= math.log(every))
    alarm = None if len(crossed) == 0 else int(crossed[0])
    paths = np.exp(np.minimum(np.array(evidence), LARGEST_LOG))
    return Watch(
        outcome="no_drop_shown" if alarm is None else "dropped",
        alarm=None if alarm is None else before + alarm + 1,
        since=None if alarm is None else before + likeliest_start(known[: alarm + 1]) + 1,
        evidence=[None] * before + paths[0].tolist(),
        e_value=float(paths[1, -1]) if len(known) else None,
        e_value_max=float(paths[1].max()) if len(known) else None,
    )


class SeriesLines(NamedTuple):
    """What a series says: its first line, what was not shown, and all of it in a sentence."""

    headline: Message
    open: Message | None
    sentence: Message

    def texts(self, language: Language) -> dict[str, Any]:
        """The texts in a language, by the names that an answer has for them; `open` is empty where nothing is left."""
        return {
            "headline": self.headline.text(language),
            "open": "" if self.open is None else self.open.text(language),
            "sentence": self.sentence.text(language),
        }


def tell(
    watched: Watch,
    names: Sequence[str],
    standings: Sequence[RunStanding],
    *,
    every: float,
    binary: bool,
    lower_is_better: bool,
) -> SeriesLines:
    """The answer in words: what is shown, and how far the latest run is from the reference."""
    references = sum(value is None for value in watched.evidence)
    after = len(names) - references
    if after == 0:
        line = message("series.line_nothing_shown", references=references)
        sentence = message("series.nothing_shown", references=references)
        return SeriesLines(line, None, sentence)
    values: dict[str, Value] = {
        "after": after,
        "every": f"{every:.10g}",
        "latest": _tell_latest(standings[-1], binary=binary),
    }
    kind = "no_drop_shown"
    if watched.alarm is not None and watched.since is not None:
        between = standings[watched.since - 1 : watched.alarm]
        kind = "fell_back" if _is_ahead(between, lower_is_better=lower_is_better) else "dropped"
        values |= {"since": names[watched.since - 1], "alarm": names[watched.alarm - 1]}
    return SeriesLines(
        message(f"series.line_{kind}", **values),
        message(f"series.open_{kind}"),
        message(f"series.{kind}", **values),
    )


def _is_ahead(standings: Sequence[RunStanding], *, lower_is_better: bool) -> bool:
    """Whether runs are better than the reference: lower than runs before that had improved is no drop from it."""
    sign = -1 if lower_is_better else 1
    return sum(sign * standing.delta for standing in standings if standing.delta is not None) > 0


def _tell_latest(latest: RunStanding, *, binary: bool) -> Message:
    if latest.delta is None or latest.mean is None:
        return message("series.latest_has_no_item")
    mean = f"{latest.mean:.2%}" if binary else f"{latest.mean:.4g}"
    delta = difference_of(latest.delta, binary=binary)
    if latest.ci is None or latest.ci.low is None or latest.ci.high is None:
        return message("series.latest", mean=mean, delta=delta)
    # the unit of a difference stands behind its last number
    low = amount(latest.ci.low, binary=binary).removesuffix(" pp")
    return message(
        "series.latest_with_interval",
        mean=mean,
        delta=delta,
        level=level_text(latest.ci.level),
        low=low,
        high=difference_of(latest.ci.high, binary=binary),
    )
