"""How a locked plan uses a statistical test: all that lint, power, verdicts and the parsers ask of it.

A test says this beside itself, so that nothing outside `stats` knows a test by name. Only `endpoints` has
to be said. What a test leaves out is unknown: no least p, no power, no words in prose.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Literal

from scipy import special

from service.stats.shared.declaring.shows import Effect, Parameter, Path, Shows, Side, of_means

if TYPE_CHECKING:
    from service.kernels.repeats.fixed_items import RunSets
    from service.stats.shared.declaring.cells import CellFields
    from service.stats.shared.declaring.one_arm import Floats, OneArmSets
    from service.stats.shared.declaring.simulated import Simulated
    from service.stats.shared.declaring.suite_sets import SuiteSets


@dataclass(frozen=True, slots=True)
class Extent:
    """How much data a plan has for a hypothesis."""

    n: int
    n_clusters: int | None
    """None where there are none, or nobody has said how many."""
    clustered: bool
    """The test is given the clusters."""


@dataclass(frozen=True, slots=True)
class Least:
    """The least p-value that so much data can give, and what sets it."""

    p: Fraction
    count: int
    unit: str
    """What is counted: `items`, `clusters`."""
    by: str
    """What gives no less, as a sentence names it."""

    @property
    def why(self) -> str:
        """What sets the least p, as a sentence."""
        return f"with {self.count} {self.unit} the least p of {self.by} is {float(self.p):.4g}"


def sides_of(parameter: Parameter) -> int:
    """Return 2 for a two-sided alternative, else 1."""
    return 2 if (parameter("alternative") or "two-sided") == "two-sided" else 1


def least_of_signs(parameter: Parameter, count: int, unit: str, by: str) -> Least:
    """Return the least p of a test that gives every unit either sign: all of them on one side."""
    return Least(min(Fraction(sides_of(parameter), 2**count), Fraction(1)), count, unit, by)


def least_of_normal(parameter: Parameter, z: float, count: int, unit: str, by: str) -> Least:
    """Return the least p of a test by the normal distribution whose statistic is never further out than `z`."""
    # a hair below, for the rounding of the test's own arithmetic
    tail = min(sides_of(parameter) * float(special.ndtr(-z)), 1.0)
    return Least(Fraction(tail * (1 - 1e-9)), count, unit, by)


def furthest_mean(n: int) -> float:
    """Return the z of n differences of one size and sign, which none exceeds."""
    return math.sqrt(n)


@dataclass(frozen=True, slots=True)
class Layout:
    """What a plan says of its order to a test that reads along it."""

    looks: tuple[int, ...] | None
    """Units at every planned look; None without planned looks."""
    spending: str
    """How planned looks share alpha."""
    length: float | None
    """Of the scale of the outcomes: the largest difference an item can have."""
    largest_cluster: int | None


@dataclass(frozen=True, slots=True)
class InOrder:
    """How plans use a test that reads outcomes along their order and may end before the last.

    `methods`: what its parameter `method` may be under each kind of stopping rule. `fills`: request fields
    that other parts of the plan fill. `design`: their values, from the parameters
    that the plan gives the test. `takes_margin`: with these parameters the SESOI is its margin.
    """

    methods: Mapping[str, tuple[str, ...]]
    fills: frozenset[str]
    design: Callable[[Mapping[str, Any], Layout], dict[str, Any]]
    takes_margin: Callable[[Mapping[str, Any]], bool]


@dataclass(frozen=True, slots=True)
class Spoken:
    """How prose calls a test, so that a plan in Markdown may name it in a sentence.

    Tests with the same `family` are one word in prose, and clusters tell which of them is meant.
    """

    family: str
    words: str
    """A pattern of what the folded, lower-case text says."""
    id: str
    """The id that a plan's test gets."""
    clustered: frozenset[bool]
    """Whether it is meant with clusters, without, or either way."""
    rank: int
    """Where a sentence names several, the least is meant."""
    parameters: Callable[[str], dict[str, Any]] = lambda _text: {}
    """Parameters that the same line states."""
    intervals: bool = False
    """Meant by an interval whose sentence names no test."""
    beside: bool = False
    """A line that says it is clustered means this test beside the one without clusters."""


@dataclass(frozen=True, slots=True)
class Resort:
    """On which data the test is defined whatever the outcomes, so that it can be named where another was not."""

    method: str | None
    """Asked with this `method`; None where it has none."""
    endpoints: frozenset[Literal["binary", "continuous"]]
    clustered: frozenset[bool]

    def serves(self, endpoint: str, *, clustered: bool) -> bool:
        """Tell whether it serves data of this kind."""
        return endpoint in self.endpoints and clustered in self.clustered


@dataclass(frozen=True, slots=True)
class PlanUse:
    """How a locked plan feeds the test, and what is known of it before and after.

    `endpoints`: what it can judge. `clusters`: `never` (items are taken as independent), `required`, or
    `when_planned` (used when the population has them). `shows`: what every field says of the difference,
    for rules that ask. The rest is optional, and unknown where it is left out.
    """

    endpoints: frozenset[Literal["binary", "continuous"]]
    clusters: Literal["never", "required", "when_planned"] = "never"
    shows: Shows = field(default_factory=dict)
    effect: Callable[[Parameter], Effect] = of_means
    """What its interval and p-value are about."""
    least_p: Callable[[Extent, Parameter], Least | None] | None = None
    """The least p that so much data can give: the test's own p on data as extreme as can be."""
    cells: CellFields | None = None
    """Fields on independent binary pairs, for exact power."""
    simulated: Simulated | None = None
    """Fields on many simulated data sets, for power of all else."""
    ordered: InOrder | None = None
    """Fields of a sequential test on units in their order, for simulated power."""
    spoken: Spoken | None = None
    pairs: Callable[[Parameter], bool] = lambda _parameter: True
    """Whether it compares the arms item by item."""
    purpose: Literal["difference", "equivalence"] = "difference"
    """What it is there to show."""
    resort: Resort | None = None
    flips_signs: Callable[[Parameter], bool] = lambda _parameter: False
    """Its p-value is that of a mean difference under random signs, one for every item, or cluster it is given."""
    differences_alone: bool = False
    """Its answer depends on the differences of items alone: items equal in both arms are alike to it."""
    takes: Literal["values", "runs", "either"] = "values"
    """What it is given of an item: one value, into which replicates collapse, or its runs, each with its judgements.
    `either`: the runs where their mean is the item's value."""
    arms: Literal[1, 2, "either"] = 2
    """How many it is given; of one the plan's `reference` is what it is held against. `either`: as many as the claim is
    about."""
    tasks: bool = False
    """It is given the task of every item, with the weights and scales of the plan's suite: it judges suites alone."""
    of_tasks: Callable[[SuiteSets, Parameter, Path, float], Floats | None] | None = None
    """Fields on many data sets of a suite, as `of_sets` has them of one arm."""
    of_two_arms: frozenset[str] = frozenset()
    """First names of the fields that it tells of two arms alone, where it takes either number."""
    labels: bool = False
    """It is given people's labels of the items that the plan draws, beside what a judge says of all."""
    fills: frozenset[str] = frozenset()
    """Fields of its request that other parts of the plan fill."""
    of_reference: Callable[[float, Side, bool], dict[str, Any]] = lambda _value, _good, _binary: {}
    """What the reference of a claim on one arm makes of these fields, from its number, the good direction, and whether
    outcomes are right or wrong."""
    of_runs: Mapping[str, Any] = field(default_factory=dict)
    """Fields of its request by which it speaks of these very items, of which every run is counted; empty: it cannot."""
    of_fixed: Callable[[RunSets, Parameter, Path], Floats | tuple[Floats, Floats] | None] | None = None
    """Of a test that speaks of these very items whatever it is asked: its fields on many data sets, an interval whole;
    None for a field that is not known so. It judges endpoints that say `these_items`, and no others."""
    of_sets: Callable[[OneArmSets, Parameter, Path, float], Floats | None] | None = None
    """Fields on many data sets of one arm, for power and level: (T,) numbers that lie on the field's side of a limit.
    None for a field that is not known so."""
    drawn: Callable[[Parameter], bool] = lambda _parameter: False
    """Its p-value and ends of scores may have to be drawn, by as many resamples as are named (`n_resamples`)."""
    takes_range: Callable[[Parameter], bool] = lambda _parameter: False
    """Asked with these parameters it needs the range of the scores: the endpoint's bounds."""
    keeps_level: Callable[[Parameter, bool], bool] = lambda _parameter, _clustered: False
    """Asked with these parameters of independent items, or of clusters of one size, its interval and p-value err at
    most as often as they say, at every n and whatever the scores are like: it is proven."""
    positive: bool = False
    """It judges endpoints of amounts: those that a plan says are positive."""
    clause: str = "p_value < 0.05"
    """What a rule may ask of it, as its page shows."""
    example: Mapping[str, Any] = field(default_factory=dict)
    """Parameters of a plan's test on its page, where those of the request's example have no meaning there."""
