"""Group-sequential looks at paired data: boundaries, the look that decides, stage-wise p and interval."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from pydantic import Field
from scipy import special

from service.errors import InvalidData
from service.kernels.numeric.clusters import robust_errors
from service.kernels.numeric.t_distribution import t_tail
from service.kernels.sequential.e_process import running_counts
from service.kernels.sequential.group_sequential import (
    Boundary,
    boundaries,
    exits,
    stagewise_drift,
    stagewise_tail,
)
from service.records import Record
from service.stats.shared.data.clustering import LEAST_DF, LOW_DF
from service.stats.shared.data.orders import Ordered
from service.stats.shared.data.pairs import apply_floor
from service.stats.shared.declaring.common import Alternative, Interval, StatWarning
from service.stats.shared.declaring.warnings import DEGENERATE, define

RESOLUTION = 1e-12
"""Probabilities are integrated to about this."""

MOST_LOOKS, LEAST_SPACING = 30, 0.005
"""Planned looks, and the least part of the planned n between two: the density between them is integrated."""

EARLY_STOP_BIAS = define(
    "EARLY_STOP_BIAS", "caution", "Jennison & Turnbull (2000), Group Sequential Methods, 8"
)
OVERRUN = define("OVERRUN", "caution", "Jennison & Turnbull (2000), Group Sequential Methods, 8")

CONTINUES = "the design continues: stage-wise inference belongs to the look at which it ends"
UNVARIED = "the differences do not vary, so their spread measures nothing"


class Look(Record):
    """One planned look at the data: when it is, where it stops, and what was seen there."""

    n_units: int = Field(description="Items (or clusters) collected by then, a count.")
    information: float = Field(description="n_units over the planned n, a proportion.")
    spent: float = Field(description="Error spent on each side by then, a probability.")
    upper: float | None = Field(description="Critical z for a better candidate.")
    lower: float | None = Field(description="Critical z for a better baseline; null when one-sided.")
    exit_under_h0: float = Field(description="Probability under H0 of stopping at just this look.")
    z: float | None = Field(description="Observed z; null for a look not reached, or without spread.")
    delta: float | None = Field(description="Observed naive delta at the look, outcome units.")
    crossed: bool | None = Field(description="Whether z reached a boundary; null for a look not reached.")


@dataclass(frozen=True, slots=True)
class Design:
    """The looks in units, the boundary, and where the error goes."""

    looks: Sequence[int]
    boundary: Boundary
    alternative: Alternative
    alpha: float

    @property
    def side_alpha(self) -> float:
        """Error on each side that can reject."""
        return self.alpha / 2 if self.alternative == "two-sided" else self.alpha

    @property
    def information(self) -> list[float]:
        """The information fraction of every look: its units over the planned n."""
        return [n / self.looks[-1] for n in self.looks]

    def limits(self) -> tuple[list[float], list[float]]:
        """Lower and upper critical values of z; infinite where nothing stops."""
        sides = boundaries(
            self.boundary, self.information, self.side_alpha, both=self.alternative == "two-sided"
        )
        none = [math.inf] * len(sides)
        upper = none if self.alternative == "less" else sides
        lower = none if self.alternative == "greater" else sides
        return [-x for x in lower], upper


def require_looks(looks: Sequence[int]) -> None:
    """Refuse looks that do not increase, or that lie closer than the integration resolves."""
    gaps = np.diff([0, *looks])
    if np.any(gaps <= 0):
        raise InvalidData.field("looks", "do not increase", "send counts such as [125, 250, 375, 500]")
    if gaps.min() < LEAST_SPACING * looks[-1]:
        raise InvalidData.field(
            "looks", f"lie closer than {LEAST_SPACING:.1%} of the planned n",
            "plan fewer looks, or use e_process to look after every item",
        )  # fmt: skip


@dataclass(frozen=True, slots=True)
class Seen:
    """What a look sees: delta, z, the standard error z belongs to, and degrees of freedom of clusters.

    z is None for a difference that does not vary: then it is neither small nor large.
    """

    delta: float
    z: float | None
    se: float
    df: float | None


def observe(data: Ordered, units: int) -> Seen:
    """Return z of the first units: (b - c) / sqrt(b + c) for binary items, else a CR2 t carried to z by its tail."""
    if data.binary and not data.clustered:
        b, c = (int(counts[-1]) for counts in running_counts(data.sums[:units]))
        return Seen(
            (b - c) / units, (b - c) / math.sqrt(b + c) if b + c else 0.0, math.sqrt(b + c) / units, None
        )
    groups = data.first(units)
    delta = groups.item_weighted
    error = robust_errors(groups)["cr2"] if units > 1 else None
    if error is None or error.se <= 1e-12 * abs(delta) or error.se == 0:
        return Seen(delta, None if delta else 0.0, 0.0, None)
    # by the smaller tail, which keeps its digits far out; the standard error is the one that gives this z
    tail = max(t_tail(abs(delta / error.se), error.df, "greater"), 1e-300)
    z = math.copysign(float(special.ndtri(tail)), delta) if delta else 0.0
    return Seen(delta, z, abs(delta / z) if abs(z) > 1e-9 else error.se, error.df)


def plan_looks(design: Design, reasons: dict[str, str], seen: Sequence[Seen] = ()) -> list[Look]:
    """Return the table of looks, with what was observed at those that were reached."""
    low, high = design.limits()
    leave = exits(design.information, low, high)
    looks, total = [], 0.0
    for k, n in enumerate(design.looks):
        one_side = max(leave.up[k], leave.down[k])
        total += one_side
        at = seen[k] if k < len(seen) else None
        if at is not None and at.z is None:
            reasons[f"looks.{k}.z"] = UNVARIED
        looks.append(
            Look(
                n_units=n,
                information=design.information[k],
                spent=min(total, design.side_alpha),
                upper=_finite(high[k], "looks.upper", design, reasons),
                lower=_finite(low[k], "looks.lower", design, reasons),
                exit_under_h0=min(leave.up[k] + leave.down[k], 1.0),
                z=at.z if at else None,
                delta=at.delta if at else None,
                crossed=None if at is None else at.z is not None and not low[k] < at.z < high[k],
            )
        )
    if len(seen) < len(design.looks):
        for name in ("z", "delta", "crossed"):
            reasons[f"looks.{name}"] = "the look has not been reached"
    return looks


def _finite(x: float, path: str, design: Design, reasons: dict[str, str]) -> float | None:
    if math.isfinite(x):
        return x
    if design.alternative == "two-sided" or (design.alternative == "greater") == path.endswith("upper"):
        reasons[path] = "infinite: less than 1e-30 may be spent, so this look cannot stop"
    else:
        reasons[path] = f"the alternative is '{design.alternative}'"
    return None


def judge_looks(
    design: Design, data: Ordered, reasons: dict[str, str], bounds: dict[str, str]
) -> dict[str, Any]:
    """Return the answer's fields from data in order: the first crossing decides, else the last look."""
    n_units = len(data.sums)
    if n_units > design.looks[-1]:
        raise InvalidData.field(
            "baseline", f"holds {n_units} {data.unit}, more than the planned n of {design.looks[-1]}",
            "send the planned ones alone",
        )  # fmt: skip
    seen = [observe(data, n) for n in design.looks if n <= n_units]
    table = plan_looks(design, reasons, seen)
    crossed = [k for k, look in enumerate(table) if look.crossed]
    ended = bool(crossed) or len(seen) == len(table)
    warnings: list[StatWarning] = [*data.pairs.warnings()] if data.pairs else []
    dfs = [look.df for look in seen if look.df is not None]
    if dfs and min(dfs) < LEAST_DF:
        warnings.append(LOW_DF(df=min(dfs)))
    fields: dict[str, Any] = {"looks": table, "delta": seen[-1].delta if seen else None}
    if not seen:
        reasons["delta"] = "no look has been reached"
    if not ended:
        for name in ("p_value", "ci", "delta_median_unbiased", "stopped_at"):
            reasons[name] = CONTINUES
        return {**fields, "decision": "continue", "warnings": warnings}
    k = crossed[0] if crossed else len(table) - 1
    at, look = seen[k], table[k]
    if crossed and k + 1 < len(table):
        warnings.append(EARLY_STOP_BIAS(look=k + 1, n_looks=len(table)))
    if crossed and n_units > look.n_units:
        extra = n_units - look.n_units
        warnings.append(OVERRUN(n_units=look.n_units, unit=data.unit, extra=extra))
    if not crossed:
        reasons["stopped_at"] = "no boundary was crossed"
    decision: Literal["reject", "do_not_reject"] | None = "reject" if crossed else "do_not_reject"
    if at.z is None:
        decision = None
        reasons["decision"] = UNVARIED
        warnings.append(DEGENERATE(instead="use the e_process, which needs no spread"))
    return {
        **fields,
        **_stagewise(design, at, k, data.binary, reasons, bounds),
        "delta": at.delta,
        "stopped_at": look.n_units if crossed else None,
        "decision": decision,
        "warnings": warnings,
    }


def _stagewise(
    design: Design, at: Seen, k: int, binary: bool, reasons: dict[str, str], bounds: dict[str, str]
) -> dict[str, Any]:
    """p, interval and median-unbiased delta at the look that ended the design."""
    if at.z is None:
        for name in ("p_value", "ci", "delta_median_unbiased"):
            reasons[name] = UNVARIED
        return {}
    low, high = design.limits()
    information = design.information[: k + 1]
    above, below = stagewise_tail(information, low, high, at.z, 0.0)
    p = {"two-sided": min(1.0, 2 * min(above, below)), "greater": above, "less": below}[design.alternative]
    fields: dict[str, Any] = {"p_value": apply_floor(min(p, 1.0), "p_value", bounds, RESOLUTION)}
    if at.se == 0:
        for name in ("ci", "delta_median_unbiased"):
            reasons[name] = UNVARIED
        return fields
    # a drift of 1 is a z of 1 at the planned n
    unit = at.se * math.sqrt(information[-1])
    most = 1.0 if binary else math.inf  # no difference of proportions lies beyond 1
    ends = [
        min(max(unit * stagewise_drift(information, low, high, at.z, tail), -most), most)
        for tail in (design.side_alpha, 0.5, 1 - design.side_alpha)
    ]
    level = 1 - 2 * design.side_alpha
    ci = Interval(low=ends[0], high=ends[2], level=level, method="stage-wise ordering", closed=False)
    return {**fields, "ci": ci, "delta_median_unbiased": ends[1]}
