"""What the fields of a test's analysis say of the difference, for rules that ask for them.

A test that a plan may use declares the meaning of every number, interval and truth of its analysis
beside itself. Bounds are (side, k): the true effect lies above (1) or below (-1) k times the margin.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

TIE = 1e-9
"""A float interval end or difference this close to a threshold counts as equal to it."""

EXAMPLE_FIELD = "mcnemar.p_value"
"""How a rule names a field of a test, for messages that say what to write."""

Path = tuple[str, ...]
"""Of a field in an analysis, name by name."""
Side = Literal[1, -1]
Bound = tuple[Side, int]
Bounds = tuple[Bound, ...]
Parameter = Callable[[str], Any]
"""The value of a parameter as the test will see it."""

ABOVE_ZERO: Bounds = ((1, 0),)
BELOW_ZERO: Bounds = ((-1, 0),)
ABOVE_LOWER: Bounds = ((1, -1),)
"""The interval shows the difference to be above minus the margin."""
BELOW_UPPER: Bounds = ((-1, 1),)
INSIDE: Bounds = (*ABOVE_LOWER, *BELOW_UPPER)
ABOVE_UPPER: Bounds = ((1, 1),)


@dataclass(frozen=True, slots=True)
class Nothing:
    """Says nothing of the difference: a description, a count, a resolution, an effect of another kind."""


@dataclass(frozen=True, slots=True)
class Estimate:
    """The observed difference of means, candidate minus baseline, in outcome units."""


@dataclass(frozen=True, slots=True)
class Signed:
    """Above `origin` where the observed difference is above 0, and below it where that is below."""

    origin: int = 0


@dataclass(frozen=True, slots=True)
class Covers:
    """A confidence interval; `error` is the chance of a miss on one side.

    `around`: it holds the observed difference of means. `origin`: it is on a scale of its own, on
    which this value stands for no difference and others say no size. `effect`: what it covers, where that is not
    what the test's other numbers are about.
    """

    error: Callable[[Parameter], float]
    around: bool = True
    origin: int | None = None
    effect: Effect | None = None


@dataclass(frozen=True, slots=True)
class Bounded:
    """A number that what it is about lies above (1) or below (-1), but for the error."""

    side: Side
    error: Callable[[Parameter], float]
    effect: Effect


@dataclass(frozen=True, slots=True)
class PValue:
    """Small where the data reject that the effect lies outside these bounds: one of several ways.

    `fixes`: the observed difference then lies inside them too. `lean`: the field of the analysis whose sign tells
    which of several ways it is; without one it is that of the observed difference. `effect`: what it is about, where
    that is not what the test's other numbers are about.
    """

    ways: Callable[[Parameter], tuple[Bounds, ...]]
    fixes: Callable[[Parameter], bool] = lambda _: True
    lean: Path | None = None
    effect: Effect | None = None


@dataclass(frozen=True, slots=True)
class Share:
    """The share of resampled differences on one side of 0, with or without 0 itself."""

    side: Side
    with_zero: bool


@dataclass(frozen=True, slots=True)
class Finding:
    """True where the effect is shown to lie inside bounds: one of several ways."""

    ways: tuple[Bounds, ...]
    error: Callable[[Parameter], float]


EffectKind = Literal[
    "means",
    "cluster_means",
    "ranks",
    "shift",
    "quantiles",
    "quantile_of_differences",
    "pass_hat_k",
    "every_item",
    "every_task",
    "labelled_means",
]
"""What a test's numbers are about: means, the mean of the clusters' means, ranks of items' differences, the order of
two independent arms, quantiles of the arms, or a quantile of items' differences; of one arm how often all of k runs of
an item are right, or how often the least of the items is; of a suite each of its tasks; and the means as people's
labels have them, for which a judge stands in."""


@dataclass(frozen=True, slots=True)
class Effect:
    """The effect that a test's interval and p-value speak of. The means can say the opposite of any other."""

    kind: EffectKind = "means"
    q: float | None = None
    """Which quantile the effect is of, a proportion; None where it is of means."""

    @property
    def of_means(self) -> bool:
        """The difference of means, or a multiple of it."""
        return self.kind == "means"


def of_means(_parameter: Parameter) -> Effect:
    """Return the effect of most tests."""
    return Effect()


Meaning = Nothing | Estimate | Signed | Covers | Bounded | PValue | Share | Finding
Shows = Mapping[str, Meaning]
"""By dotted path; `intervals.*` stands for every name under `intervals`."""


def against_zero(parameter: Parameter) -> tuple[Bounds, ...]:
    """Return the ways of a test of no difference, by its alternative."""
    ways = {"greater": (ABOVE_ZERO,), "less": (BELOW_ZERO,)}
    return ways.get(parameter("alternative"), (ABOVE_ZERO, BELOW_ZERO))


def either_side(_parameter: Parameter) -> tuple[Bounds, ...]:
    """Return the ways of a test that is told no direction."""
    return ABOVE_ZERO, BELOW_ZERO


def by_level(parameter: Parameter) -> float:
    """Return the tail of a two-sided interval of the given level, which misses by half the rest on each side."""
    return (1 - float(parameter("level"))) / 2


def by_alpha(parameter: Parameter) -> float:
    """Return the tail of what belongs to one-sided tests at alpha; without one, to those that its level leaves."""
    alpha = parameter("alpha")
    return float(alpha) if alpha is not None else round(by_level(parameter), 12)


def no_meaning(*paths: str) -> dict[str, Meaning]:
    """Declare fields that say nothing of the difference."""
    return dict.fromkeys(paths, Nothing())


def meaning_at(shows: Shows, path: Iterable[str]) -> Meaning | None:
    """Return the declared meaning of a field; None when there is none."""
    dotted = ".".join(path)
    return shows.get(dotted) or shows.get(f"{dotted.rpartition('.')[0]}.*")
