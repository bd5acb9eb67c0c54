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
from service.kernels.sequential.run_changes import Evidence, chances, likeliest_start, weigh
from service.kernels.sequential.run_levels import (
    MOST_FORETOLD,
    Levels,
    count_runs_until_shown,
    follow,
    levels_of,
    likeliest_swing,
)
from service.records import Record
from service.stats.shared.data.score_range import ScoreRange, lies_in_unit
from service.stats.shared.declaring.columns import is_binary
from service.stats.shared.declaring.common import Interval, Margin, StatWarning
from service.stats.shared.declaring.sentences import amount, difference_of, level_text
from service.stats.shared.declaring.warnings import define
from service.stats.shared.methods.one_mean import OneMean
from service.stats.shared.methods.scored import make_interval
from service.words import Language, Message, Value, list_values, message

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Outcome = Literal["no_drop_shown", "dropped"]
Nights = Literal["vary", "alike"]
NIGHTS = (
    "`vary`: runs may swing as a whole, and be noisier at times than at others; `alike`: nothing but chance tells runs "
    "apart, which shows drops sooner and alarms too often where it is not so."
)

LARGEST_LOG = 690.0
"""Evidence above exp(690) is told as that."""
MANY_MISSING = 0.05
"""The share of the reference's items that a run may lack before its answer says so."""
FORETOLD = (0.05, 0.10)
"""Drops of which a series says how many runs they take to show."""
ENOUGH_RUNS, CLEARLY = 20, 3.0
"""Runs, and the logarithm of a likelihood ratio, from which on swings are said to last longer than is allowed for."""
DIFFERENCES = ScoreRange(low=-1.0, high=1.0)
"""Of scores between 0 and 1."""


RUN_INCOMPLETE = define("RUN_INCOMPLETE", "serious")
BOUNDED_CHANCES = define("BOUNDED_CHANCES", "info", "Hoeffding (1963), JASA 58:13")
SWINGS_LAST = define("SWINGS_LAST", "serious", "Wasserman, Ramdas & Balakrishnan (2020), PNAS 117:16880")


class Foretold(Record):
    """A drop that begins with the next run."""

    drop: float = Field(description="Its size, a proportion.")
    runs: int | None = Field(
        description="After about how many runs it shows at the soonest, by their usual noise, a count; null: over 40."
    )


class Lasting(Record):
    """Swings of whole runs that last longer than evidence allows for."""

    deviation: float = Field(description="Their standard deviation, in the values' unit.")
    kept: float = Field(description="Share of a swing that the next run keeps.")


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
    of_levels: tuple[float, float] | None = Field(
        None,
        description="Evidence that levels of runs are lower since some run, whose swings may be any, and of the whole "
        "series: natural logarithms. Null for the reference, before a second run, and where nights are alike.",
    )
    foretold: tuple[Foretold, ...] = Field(
        (), description="Of the newest run of values from 0 to 1: how soon drops from here on would show."
    )
    lasting: Lasting | None = Field(
        None, description="Of the newest run: swings that last too long; null where runs do not tell of any."
    )


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
    nights: Nights = "alike"
    every: float = 1000.0

    def stand(self, first: int = 0) -> Iterator[RunStanding]:
        """Yield every run from number `first` on, from 0."""
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
        levels = levels_of(signed, codes) if self.nights == "vary" else None
        of_levels, newest = self._weigh_levels(levels)
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
                of_levels=of_levels[number],
                **(newest if number == len(self.values) - 1 else {}),
            )

    def _weigh_levels(self, levels: Levels | None) -> tuple[list[tuple[float, float] | None], dict[str, Any]]:
        """Evidence of levels after every run, and what the newest one tells of runs to come."""
        evidence_of_levels: list[tuple[float, float] | None] = [None] * len(self.values)
        newest: dict[str, Any] = {}
        if levels is None or len(self.values) <= self.n_reference:
            return evidence_of_levels, newest
        evidence, watcher = follow(levels, self.n_reference, self.margin)
        for number, (change, series) in enumerate(zip(*evidence, strict=True), self.n_reference):
            if math.isfinite(change):
                evidence_of_levels[number] = (float(change), float(series))
        if lies_in_unit(self.values[~np.isnan(self.values)]) and math.isfinite(evidence.change[-1]):
            newest["foretold"] = tuple(
                Foretold(drop=drop, runs=count_runs_until_shown(watcher, levels, drop, self.every))
                for drop in FORETOLD
                if drop > self.margin
            )
        return evidence_of_levels, newest | {"lasting": _lasting(levels)}

    def lasting(self, n_runs: int) -> Lasting | None:
        """Return swings of the first `n_runs` that last too long; None where nights are alike or runs tell of none."""
        if self.nights == "alike":
            return None
        codes = None if self.clusters is None else codes_of(self.clusters)
        return _lasting(levels_of(self.values[:n_runs], codes))

    def _interval(self, difference: Floats, codes: Ints | None) -> Interval | None:
        """The interval of a mean difference between a run and its reference; None where nothing varies."""
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
        return None if deciding is None else make_interval(deciding, self.level)


def _lasting(levels: Levels) -> Lasting | None:
    """Swings that last too long, where enough runs clearly say so."""
    if int((~np.isnan(levels.level)).sum()) < ENOUGH_RUNS:
        return None
    swing = likeliest_swing(levels)
    return Lasting(deviation=swing.deviation, kept=swing.kept) if swing.gain >= CLEARLY else None


def compute_accepted_drop(margin: Margin | None, values: Floats, path: str = "margin") -> float:
    """Return the drop that is accepted in the values' unit; shares and means of 0 and 1 take percentage points."""
    if margin is None:
        return 0.0
    there = values[~np.isnan(values)]
    if margin.unit != "score" and lies_in_unit(there) and margin.exact() < 1:
        return float(margin.exact())
    return float(margin.for_endpoint(binary=is_binary(there), path=path))


def incomplete(name: str, standing: RunStanding) -> tuple[StatWarning, ...]:
    """Warn with RUN_INCOMPLETE where more of the reference's items are missing than are easily overlooked."""
    n = standing.n + standing.n_missing
    if standing.n_missing <= MANY_MISSING * n:
        return ()
    return (RUN_INCOMPLETE(run=name, n_missing=standing.n_missing, n=n),)


def too_lasting(swings: Lasting | None, *, binary: bool) -> tuple[StatWarning, ...]:
    """Warn with SWINGS_LAST where the runs tell of swings that outlast what evidence allows for."""
    if swings is None:
        return ()
    sizes = {"deviation": swings.deviation, "margin": 3 * swings.deviation}
    shown = {name: difference_of(size, binary=binary, signed=False) for name, size in sizes.items()}
    return (SWINGS_LAST(kept=f"{swings.kept:.0%}", **shown),)


def evidence_of(standings: Sequence[RunStanding], nights: Nights) -> Evidence:
    """Logarithms of evidence after every run that is none of the reference (T,).

    A run's chance among its own past holds where nothing but chance tells runs apart; what its level tells, where runs
    swing as a whole. Where nights vary it is the smaller of the two, and so at most either.
    """
    by_chance = weigh(np.array([run.p_value for run in standings if run.p_value is not None]))
    if nights == "alike":
        return by_chance
    none = (-math.inf, 0.0)
    levels = np.array([run.of_levels or none for run in standings if run.p_value is not None])
    return Evidence(
        *(np.minimum(one, other) for one, other in zip(by_chance, levels.reshape(-1, 2).T, strict=True))
    )


def watch(standings: Sequence[RunStanding], every: float, nights: Nights) -> Watch:
    """Return what the runs show: a drop where evidence reaches `every`.

    Runs until a false alarm: at least `every` on average.
    """
    known = np.array([run.p_value for run in standings if run.p_value is not None], dtype=np.float64)
    before = len(standings) - len(known)
    evidence = evidence_of(standings, nights)
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
        """Return the texts in a language, by their names in an answer; `open` is empty where nothing is left."""
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
    """Return the answer in words: what is shown, and how far the latest run is from the reference."""
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
        _open_after(standings[-1], kind, binary=binary, lower_is_better=lower_is_better),
        message(f"series.{kind}", **values),
    )


def _open_after(latest: RunStanding, kind: str, *, binary: bool, lower_is_better: bool) -> Message:
    """Return what was not shown: where no drop was, also how soon one that begins now would be."""
    if kind != "no_drop_shown":
        return message(f"series.open_{kind}")
    alone: Value = ""
    if _is_worse_alone(latest, lower_is_better=lower_is_better):
        alone = message("series.open_worse_alone")
    if not latest.foretold:
        return message("series.open_no_drop_shown", alone=alone)
    shown = [
        message(
            "series.shows_late" if foretold.runs is None else "series.shows_after",
            drop=difference_of(foretold.drop, binary=binary, signed=False),
            runs=MOST_FORETOLD if foretold.runs is None else foretold.runs,
        )
        for foretold in latest.foretold
    ]
    return message("series.open_with_foretold", alone=alone, shown=list_values(shown, "lists.pause"))


def _is_worse_alone(latest: RunStanding, *, lower_is_better: bool) -> bool:
    """Tell whether the run's own interval, which is not for looking at many runs, lies on the worse side of 0."""
    if latest.ci is None:
        return False
    end = latest.ci.low if lower_is_better else latest.ci.high
    return end is not None and (end > 0 if lower_is_better else end < 0)


def _is_ahead(standings: Sequence[RunStanding], *, lower_is_better: bool) -> bool:
    """Tell whether runs are better than the reference: lower than runs before that had improved is no drop from it."""
    sign = -1 if lower_is_better else 1
    return sum(sign * standing.delta for standing in standings if standing.delta is not None) > 0


def _tell_latest(latest: RunStanding, *, binary: bool) -> Message:
    """Return the newest run against its reference, as a sentence."""
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
