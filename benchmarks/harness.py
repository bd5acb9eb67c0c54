"""What a benchmark row is, how both sides are timed, and where rows are gathered.

A module of this package declares rows; every module is found by itself, so a new file is enough:

    @row("the name", group="http", peer="bare FastAPI route", bar=0.75)
    def _mcnemar() -> Sides: ...  # setup; not timed

A row returns `Sides`, two tasks that the harness times on the same inputs, or `Measured`, two figures
that it measured itself (rates, bytes, latencies). Imports of servers and other heavy things belong
inside the function. A task returns the number that both sides compute (an interval's end, a p-value)
or None; where `error` is known, numbers further apart than six times it make the row fail.
"""

from __future__ import annotations

import importlib
import math
import pkgutil
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from statistics import NormalDist, median

Task = Callable[[], float | None]

LEAST_ROUNDS, MOST_ROUNDS = 3, 15
ROUND_SECONDS = 6.0
"""Rounds go on until the peer has been running this long, within the limits above."""

SHORT, SHORT_REPEATS = 0.02, 5
"""A task below this many seconds runs several times per round, and the round counts their median."""

APART = 6.0


@dataclass(frozen=True, slots=True)
class Sides:
    """Both sides of a comparison. `ours` and `peer` are timed; `peer` None leaves ours on its own.

    `error` is the standard deviation of the peer's number from one seed to the next (its Monte-Carlo
    error), in the number's own units; `scale` is what to print it as a share of (an interval's half
    width, say), with `of` naming that. `ours_error` is the same for ours, 0 where nothing is drawn.
    """

    ours: Task
    peer: Task | None = None
    error: float | None = None
    scale: float = 1.0
    of: str = ""
    ours_error: float = 0.0


@dataclass(frozen=True, slots=True)
class Measured:
    """Figures that the row measured itself; `ratio` is what the bar is about, however defined."""

    ours: float
    peer: float | None
    ratio: float
    unit: str = "s"
    peer_error: str = ""


@dataclass(frozen=True, slots=True)
class Declared:
    """A row before it runs. `at_most`: the ratio may not exceed the bar; otherwise it must reach it."""

    name: str
    group: str
    peer: str
    bar: float | None
    at_most: bool
    note: str
    setup: Callable[[], Sides | Measured]


@dataclass(frozen=True, slots=True)
class Row:
    """A row's outcome. Times are medians in seconds unless `unit` says otherwise."""

    name: str
    group: str
    peer_name: str
    ours: float
    peer: float | None
    unit: str
    ratio: float
    bar: float | None
    at_most: bool
    peer_error: str = ""
    rounds: int = 1
    note: str = ""
    faults: list[str] = field(default_factory=list)

    @property
    def met(self) -> bool:
        """The bar is met (a row without a bar is only shown) and both sides agree."""
        reached = self.bar is None or (self.ratio <= self.bar if self.at_most else self.ratio >= self.bar)
        return reached and not self.faults


DECLARED: list[Declared] = []


def row(
    name: str, *, group: str, peer: str, bar: float | None, at_most: bool = False, note: str = ""
) -> Callable[[Callable[[], Sides | Measured]], Callable[[], Sides | Measured]]:
    """Declare a row. The ratio of `Sides` is peer / ours (times faster); with `at_most` ours / peer,
    and without a peer ours in seconds."""

    def declare(setup: Callable[[], Sides | Measured]) -> Callable[[], Sides | Measured]:
        DECLARED.append(Declared(name, group, peer, bar, at_most, note, setup))
        return setup

    return declare


def gather() -> list[Declared]:
    """Every row of every module, in the order of the modules' names."""
    package = importlib.import_module("benchmarks")
    for module in sorted(pkgutil.iter_modules(package.__path__), key=lambda module: module.name):
        if module.name not in ("beside", "harness", "report", "__main__"):
            importlib.import_module(f"benchmarks.{module.name}")
    return list(DECLARED)


def measure(declared: Declared) -> Row:
    """Set up, run both sides in turns, and compare."""
    prepared = declared.setup()
    if isinstance(prepared, Measured):
        ours, peer, ratio, unit = prepared.ours, prepared.peer, prepared.ratio, prepared.unit
        return _row(declared, ours, peer, ratio, unit=unit, peer_error=prepared.peer_error)
    mine, theirs, numbers = _interleaved(prepared)
    ours = median(mine)
    peer = median(theirs) if theirs else None
    ratio = ours if peer is None else ours / peer if declared.at_most else peer / ours
    shown = (
        ""
        if prepared.error is None
        else f"{100 * prepared.error / prepared.scale:.2g} %{prepared.of and ' of ' + prepared.of}"
    )
    return _row(
        declared,
        ours,
        peer,
        ratio,
        peer_error=shown,
        rounds=len(mine),
        faults=_disagreement(prepared, numbers),
    )


def _row(declared: Declared, ours: float, peer: float | None, ratio: float, **more: object) -> Row:
    return Row(
        name=declared.name, group=declared.group, peer_name=declared.peer, ours=ours, peer=peer,
        ratio=ratio, bar=declared.bar, at_most=declared.at_most, note=declared.note,
        **{"unit": "s", **more},  # type: ignore[arg-type]
    )  # fmt: skip


def _interleaved(sides: Sides) -> tuple[list[float], list[float], tuple[float | None, float | None]]:
    """Times of both sides in turns; one run of each first, which warms caches and gives the numbers."""
    start = time.perf_counter()
    our_number = sides.ours()
    mine_warm = time.perf_counter() - start
    their_number, warm = None, mine_warm
    if sides.peer is not None:
        start = time.perf_counter()
        their_number = sides.peer()
        warm = max(time.perf_counter() - start, mine_warm)
    rounds = min(max(math.ceil(ROUND_SECONDS / max(warm, 1e-6)), LEAST_ROUNDS), MOST_ROUNDS)
    mine, theirs = [], []
    for _ in range(rounds):
        if sides.peer is not None:
            theirs.append(seconds(sides.peer))
        mine.append(seconds(sides.ours))
    return mine, theirs, (our_number, their_number)


def seconds(task: Callable[[], object]) -> float:
    """One run of a task, or the median of several when it is short."""
    times: Sequence[float] = [_once(task)]
    if times[0] < SHORT:
        times = [*times, *(_once(task) for _ in range(SHORT_REPEATS - 1))]
    return median(times)


def _once(task: Callable[[], object]) -> float:
    start = time.perf_counter()
    task()
    return time.perf_counter() - start


def _disagreement(sides: Sides, numbers: tuple[float | None, float | None]) -> list[str]:
    ours, peer = numbers
    if ours is None or peer is None or sides.error is None:
        return []
    error = math.hypot(sides.error, sides.ours_error)
    far = abs(ours - peer) > APART * error
    return [f"ours says {ours:.6g}, the peer {peer:.6g}, error {error:.2g}"] if far else []


def end_error(standard_error: float, draws: int, tail: float = 0.025) -> float:
    """Standard deviation of a percentile interval's end from `draws` resamples of a nearly normal estimate.

    sqrt(q (1 - q) / B) / f(x_q), the delta method for a quantile.
    """
    normal = NormalDist()
    return standard_error * math.sqrt(tail * (1 - tail) / draws) / normal.pdf(normal.inv_cdf(tail))


def share_error(p: float, draws: int) -> float:
    """Standard deviation of a share p among independent draws."""
    return math.sqrt(p * (1 - p) / draws)
