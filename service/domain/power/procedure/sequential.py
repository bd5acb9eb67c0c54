"""What sequential tests show on many simulated data sets along their locked order, and when they end."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from service.domain.decision.evidence import Bools, Fallback, Floats, Sides
from service.domain.decision.stopping import end_of_hypothesis, end_of_test
from service.domain.power.procedure.data import Block, Side
from service.domain.power.procedure.simulated_evidence import side_of
from service.domain.rules.feeding import parameter
from service.domain.rules.rule import Clause, Comparison, Excludes, Is
from service.domain.rules.settings import Setting, Use
from service.domain.rules.truth import FALSE, TRUE, UNKNOWN, Sets, clause_truths
from service.kernels.planning import simulated_sequences as kernel
from service.kernels.sequential.e_process import log_e
from service.stats.shared.declaring.common import Margin
from service.stats.shared.methods.looks import Design

Ints = NDArray[np.int64]


@dataclass(frozen=True)
class Order:
    """Units along the order, and the places at which the plan is read: looks, or every unit."""

    sizes: Ints
    """Items per unit."""
    looks: Ints
    """Units at each reading, the last being all."""
    design: tuple[int, ...]
    """Units at each look as the tests count them: items where units are segments of items."""
    spending: str | None
    """None for a plan that is valid at any time."""
    bound: float
    """The largest difference an item can have."""
    clustered: bool
    binary: bool

    @property
    def items(self) -> Ints:
        """How many items are in at every reading, (readings,)."""
        return np.asarray(np.cumsum(self.sizes)[self.looks - 1])

    @property
    def counted(self) -> bool:
        """True when a test sees wins and losses of single items."""
        return self.binary and not self.clustered


@dataclass
class Path:
    """One sequential test along the order."""

    use: Use
    order: Order
    side: Side
    sesoi: Margin | None

    @property
    def method(self) -> str:
        """The method, as the test names it."""
        return str(parameter(self.use.use, "method"))

    @property
    def alpha(self) -> float:
        """The error rate over all looks together."""
        return float(parameter(self.use.use, "alpha"))  # type: ignore[arg-type]

    @cached_property
    def rejected(self) -> Ints:
        """The first reading, from 0, at which a difference of 0 is rejected; as many as there are if never."""
        never = len(self.order.looks)
        if self.method == "group_sequential":
            low, high = self._limits
            with np.errstate(invalid="ignore"):
                return kernel.first((self._z >= np.array(high)) | (self._z <= np.array(low)), never)
        if self.method == "e_process":
            return kernel.first(self._best >= -math.log(self.alpha), never)
        return np.minimum(self.excludes(0.0, 1), self.excludes(0.0, -1))

    @cached_property
    def inside(self) -> Ints:
        """The first reading (D,) at which the sequence lies inside the margin; as many as there are if never."""
        margin = self._margin
        if margin is None:
            return np.full(len(self.side.sums), len(self.order.looks))
        return np.maximum(self.excludes(-margin, 1), self.excludes(margin, -1))

    def p_value(self, stop: Ints) -> Floats | None:
        """Return the p (D,) at the end of the test or of the collection, whichever is first; NaN while it goes on."""
        rows = np.arange(len(stop))
        if self.method == "e_process":
            # Ville's inequality: where nothing differs e ever reaches 1 / p with a chance of p at most.
            return np.asarray(np.exp(-np.maximum(self._best[rows, stop], 0.0)))
        if self.method != "group_sequential":
            return None
        above, below = self._tails
        at = np.minimum(self.rejected, stop)
        side = str(parameter(self.use.use, "alternative"))
        p = {"greater": above, "less": below}.get(side, np.minimum(1.0, 2 * np.minimum(above, below)))
        goes_on = (self.rejected > stop) & (stop < len(self.order.looks) - 1)
        return np.where(goes_on, np.nan, p[rows, at])

    def delta(self, stop: Ints) -> Floats:
        """Return the naive difference (D,) that the test states, score units."""
        at = np.minimum(self.rejected, stop) if self.method == "group_sequential" else stop
        return naive(self.side, self.order, at)

    def winner(self, stop: Ints) -> Ints | None:
        """Say for whom the test of no difference speaks at the end: 1 the candidate, -1 the baseline, 0 neither."""
        if self.method == "group_sequential":
            return np.sign(self.delta(stop)).astype(np.int64)
        if self.method != "e_process":
            return None
        path, lead = self._log_e
        rows = np.arange(len(stop))
        ahead, behind = (
            np.maximum.accumulate(np.where(towards > 0, path, 0.0), axis=1)[rows, stop]
            for towards in (lead, -lead)
        )
        both = np.minimum(ahead, behind) >= -math.log(self.alpha)
        return np.where(both, 0, np.sign(ahead - behind)).astype(np.int64)

    def excludes(self, difference: float, side: int) -> Ints:
        """Return the first reading at which the interval lies above (1) or below (-1) a difference, score units."""
        scaled, sizes, bets = self._bets
        return kernel.find_exclusion(scaled, sizes, bets, self.alpha, difference / self.order.bound, side)

    def lies(self, difference: float, side: int, stop: Ints) -> Bools | None:
        """Tell whether the interval lies above (1) or below (-1) a difference at the end."""
        if self.method == "confidence_sequence":
            return self.excludes(difference, side) <= stop
        if self.method != "group_sequential" or difference != 0:
            return None
        at, rows = np.minimum(self.rejected, stop), np.arange(len(stop))
        tails = self._tails[0] if side > 0 else self._tails[1]
        return np.asarray(tails[rows, at] < self._design.side_alpha)

    @property
    def _margin(self) -> float | None:
        given = self.use.use.parameters.get("margin")
        if self.method != "confidence_sequence":
            return None
        margin = self.sesoi if given is None else Margin.model_validate(given)
        return None if margin is None else float(margin.exact())

    @cached_property
    def _design(self) -> Design:
        boundary = f"{self.order.spending}_spending"
        return Design(self.order.design, boundary, str(parameter(self.use.use, "alternative")), self.alpha)  # type: ignore[arg-type]

    @cached_property
    def _limits(self) -> tuple[list[float], list[float]]:
        return self._design.limits()

    @cached_property
    def _z(self) -> Floats:
        if self.order.counted and self.side.won is not None:
            won, lost = (np.cumsum(wins, axis=1)[:, self.order.looks - 1] for wins in self.side.won)
            return kernel.z_of_counts(won, lost)
        return kernel.looks_z(self.side.sums, self.order.sizes, self.order.looks.tolist())

    @cached_property
    def _tails(self) -> tuple[Floats, Floats]:
        return kernel.stagewise(self._design.information, *self._limits, self._z)

    @cached_property
    def _best(self) -> Floats:
        """The largest log e so far, (T, n)."""
        path, lead = self._log_e
        alternative = str(parameter(self.use.use, "alternative"))
        if self.order.counted and alternative != "two-sided":
            # a coin's evidence is the same whoever leads; a bet is on one of them
            path = np.where(lead > 0 if alternative == "greater" else lead < 0, path, -np.inf)
        return np.asarray(np.maximum.accumulate(path, axis=1))

    @cached_property
    def _log_e(self) -> tuple[Floats, Floats]:
        """Log e after every unit (T, n), and whose evidence it is: above 0 the candidate's."""
        if self.order.counted and self.side.won is not None:
            won, lost = (np.cumsum(counts, axis=1) for counts in self.side.won)
            return log_e(won.astype(np.float64), lost.astype(np.float64)), (won - lost).astype(np.float64)
        scaled, _, bets = self._bets
        up, down = kernel.both_bets(scaled, bets)
        alternative = str(parameter(self.use.use, "alternative"))
        # Two-sided the mean of both e-values, which is one as well: log((e^up + e^down) / 2).
        one_sided = {"greater": up, "less": down}
        return one_sided.get(alternative, np.logaddexp(up, down) - math.log(2)), up - down

    @cached_property
    def _bets(self) -> tuple[Floats, Floats, Floats]:
        # The bets are on numbers within -1 and 1: a unit's sum over the most that the largest unit can have.
        cap = int(self.order.sizes.max())
        scaled = np.clip(self.side.sums / (self.order.bound * cap), -1.0, 1.0)
        return scaled, self.order.sizes / cap, kernel.plug_in_bets(scaled, self.alpha)


def naive(side: Side, order: Order, at: Ints) -> Floats:
    """Return the difference (D,) of all items up to a reading, score units."""
    units = order.looks[at]
    sums = np.take_along_axis(np.cumsum(side.sums, axis=1), units[:, None] - 1, axis=1)[:, 0]
    return np.asarray(sums / order.items[at])


@dataclass
class SequentialEvidence:
    """A hypothesis whose tests are sequential. `stop` is the reading at which the collection ends."""

    setting: Setting
    block: Block
    sides: tuple[Side, ...]
    """The fillings that the rule is read from: against the claim, and both for a claim of equivalence."""
    order: Order
    stop: Ints = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    _paths: dict[tuple[str, int], Path] = field(default_factory=dict, repr=False)

    @property
    def ways(self) -> int:
        """Fillings that the rule is read from."""
        return len(self.sides)

    @property
    def ended(self) -> Ints:
        """The reading (D,) at which every sequential test of the hypothesis has ended."""
        never = np.full(len(self.sides[0].sums), len(self.order.looks))
        return end_of_hypothesis([self._ended(name) for name in self.setting.uses], never)

    def _ended(self, name: str) -> Ints:
        """The look at which every data set ends, whichever way it is filled in; a fallback looks at both sides."""
        shows = self.block.both if name == self.setting.hypothesis.equivalence else self.sides
        return end_of_test(
            [self._path(name, side).rejected for side in self.sides],
            [self._path(name, show).inside for show in shows],
        )

    def truths(self, clause: Clause, way: int, adjusted: Floats | None = None) -> Sets | None:
        """Return in which data sets a clause holds at the end of the collection; None where it is not simulated."""
        if adjusted is not None:
            return clause_truths(clause, adjusted[0])
        if clause.field.test is None:
            return clause_truths(clause, self.observed(way))
        path, name = self._path(clause.field.test, self.sides[way]), clause.field.path
        if name == ("delta",):
            return clause_truths(clause, path.delta(self.stop))
        if name == ("side",):
            speaks_for = path.winner(self.stop)
            return None if speaks_for is None else clause_truths(clause, speaks_for.astype(np.float64))
        if name == ("p_value",):
            p = path.p_value(self.stop)
            return None if p is None else clause_truths(clause, p)
        if name == ("equivalent",) and isinstance(clause, Is):
            return _sets((path.inside <= self.stop) == clause.value)
        return self._interval(path, clause)

    def p_value(self, clause: Clause, way: int) -> Floats | None:
        """Return the stage-wise or anytime-valid p at the end of the collection, shape (1, D)."""
        if self.setting.beside(clause):
            return None
        p = self._path(clause.field.test or "", self.sides[way]).p_value(self.stop)
        return None if p is None else p[None]

    def observed(self, way: int, *, clusters_alike: bool = False) -> Floats:  # noqa: ARG002
        """Return the difference (D,) at the end of the collection; no sequential test weighs clusters alike."""
        return naive(self.sides[way], self.order, self.stop)

    def side(self, clause: Clause, way: int) -> Sides | None:
        """Return the sides that a clause shows, as far as the fields that tell them are simulated."""
        return side_of(clause, self.setting, lambda part: self.truths(part, way))

    @property
    def fallback(self) -> Fallback | None:
        """A confidence sequence inside the margin; it has no p-value of its own."""
        name = self.setting.hypothesis.equivalence
        if name is None or name not in self.setting.uses:
            return None
        paths = [self._path(name, side) for side in self.block.both]
        holds = np.logical_and.reduce([path.inside <= self.stop for path in paths])
        return Fallback(holds, np.ones((1, len(holds))), paths[0].alpha)

    def _interval(self, path: Path, clause: Clause) -> Sets | None:
        """In which sets a clause on the interval holds where the collection ended; None where it is not simulated."""
        name = clause.field.path
        if name[0] != "ci" or name[-1] not in ("ci", "low", "high"):
            return None
        if isinstance(clause, Excludes):
            limit = float(clause.value.exact())
            above, below = (path.lies(limit, side, self.stop) for side in (1, -1))
            decided = None if above is None or below is None else above | below
        elif isinstance(clause, Comparison):
            up = clause.operator in (">", ">=")
            if name[-1] == "ci" or up != (name[-1] == "low") or clause.operator in ("==", "!="):
                return None
            decided = path.lies(float(clause.value.exact()), 1 if up else -1, self.stop)
        elif isinstance(clause, Is):
            return None
        else:
            above = path.lies(float(clause.low.exact()), 1, self.stop)
            below = path.lies(float(clause.high.exact()), -1, self.stop)
            decided = None if above is None or below is None else above & below
        if decided is None:
            return None
        # The interval of a group-sequential design stands at its end: where it is read before, nobody knows it yet.
        goes_on = self.order.spending is not None and path.method == "group_sequential"
        known = np.ones(len(decided), dtype=np.bool_)
        if goes_on:
            known = (path.rejected <= self.stop) | (self.stop == len(self.order.looks) - 1)
        return np.where(known, _sets(decided), UNKNOWN).astype(np.uint8)

    def _path(self, name: str, side: Side) -> Path:
        key = (name, id(side))
        if key not in self._paths:
            self._paths[key] = Path(self.setting.uses[name], self.order, side, self.setting.sesoi)
        return self._paths[key]


def _sets(holds: Bools) -> Sets:
    return np.where(holds, TRUE, FALSE).astype(np.uint8)
