"""Sequential designs: group-sequential boundaries and tests, the e-process, the confidence sequence."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal, Self

import numpy as np
from pydantic import Field, model_validator

from service.errors import InvalidData
from service.kernels.sequential.group_sequential import Boundary
from service.stats.sequential.anytime import EProcess, judge_e, judge_sequence
from service.stats.shared.data.clustering import NO_CLUSTERS
from service.stats.shared.data.orders import Ordered, OrderOptions, OrderUsed, arrange
from service.stats.shared.declaring import shows
from service.stats.shared.declaring.columns import require_equal_lengths
from service.stats.shared.declaring.common import (
    Alternative,
    Analysis,
    Column,
    Interval,
    Labels,
    Margin,
    StatWarning,
)
from service.stats.shared.declaring.plan_use import InOrder, Layout, PlanUse, Resort
from service.stats.shared.declaring.registry import stat_test
from service.stats.shared.declaring.sentences import ci_of, describe_sides, difference_of, p_text, within_of
from service.stats.shared.methods.looks import (
    MOST_LOOKS,
    Design,
    Look,
    judge_looks,
    plan_looks,
    require_looks,
)
from service.words import Value, list_values, message, speak

Method = Literal["boundaries", "group_sequential", "e_process", "confidence_sequence"]
Decision = Literal["reject", "do_not_reject", "continue"]

_COLUMNS = ("baseline", "candidate")
_DATA = (*_COLUMNS, "clusters", "order", "order_seed", "strata")
_USES: dict[Method, tuple[str, ...]] = {
    "boundaries": ("looks", "boundary", "alternative"),
    "group_sequential": ("looks", "boundary", "alternative", *_DATA),
    "e_process": ("alternative", "bound", "size_cap", *_DATA),
    "confidence_sequence": ("margin", "bound", "size_cap", *_DATA),
}
_NEEDS: dict[Method, tuple[str, ...]] = {
    "boundaries": ("looks",),
    "group_sequential": ("looks", *_COLUMNS),
    "e_process": _COLUMNS,
    "confidence_sequence": _COLUMNS,
}


class SequentialRequest(OrderOptions):
    """A design for looking more than once, and the data so far in the order in which they were collected.

    `method` says what is asked; fields that a method does not use are refused.
    """

    method: Method = Field(
        description="`boundaries`: critical values for planned looks, no data; `group_sequential`: judge data "
        "at planned looks; `e_process`: a test that may be read after every item; `confidence_sequence`: an "
        "interval that may be."
    )
    looks: Annotated[list[Annotated[int, Field(ge=1, le=10**9)]], Field(min_length=1, max_length=MOST_LOOKS)] | None = (
        Field(
            None,
            description="Items (or clusters) collected at each planned look, increasing; the last is the planned "
            "n. For boundaries only ratios matter: [1, 2, 3, 4] is four equal looks.",
        )
    )  # fmt: skip
    boundary: Boundary = Field(
        "obrien_fleming_spending",
        description="How the error is shared among looks: Lan-DeMets spending of O'Brien-Fleming or Pocock "
        "type, or the classic boundaries.",
    )
    alternative: Alternative = "two-sided"
    alpha: Annotated[float, Field(ge=1e-6, lt=0.5, allow_inf_nan=False)] = Field(
        0.05, description="Error over all looks together, a proportion; half on each side when two-sided."
    )
    baseline: Column | None = Field(None, description="Baseline arm, one value per item, in order.")
    candidate: Column | None = Field(None, description="Candidate arm, one value per item, same order.")
    clusters: Labels | None = Field(
        None, description="Cluster of each item; whole clusters then move, in order of completion."
    )
    bound: Annotated[float, Field(gt=0, le=1e100, allow_inf_nan=False)] | None = Field(
        None, description="Largest difference an item can have, score units; needed for scores."
    )
    size_cap: Annotated[int, Field(ge=1, le=10**9)] | None = Field(
        None, description="Largest size a cluster may have, fixed before the data; needed with clusters."
    )
    margin: Margin | None = Field(
        None, description="confidence_sequence: equivalence within plus or minus this."
    )

    @model_validator(mode="after")
    def _require_fields_of_method(self) -> Self:
        """Refuse fields that the method does not use, and ask for those it needs."""
        missing = [name for name in _NEEDS[self.method] if getattr(self, name) is None]
        if missing:
            raise InvalidData.field(missing[0], f"is needed by method '{self.method}'", "send it")
        used = {"method", "alpha", *_USES[self.method]}
        for name, field in type(self).model_fields.items():
            if name not in used and getattr(self, name) != field.default:
                raise InvalidData.field(name, f"is not used by method '{self.method}'", "leave it out")
        if self.looks is not None:
            require_looks(self.looks)
        if self.baseline is not None:
            require_equal_lengths({"baseline": self.baseline, "candidate": self.candidate or []})
        return self

    def arrange(self) -> Ordered:
        """Return the data in the order of analysis."""
        return arrange(self.baseline or [], self.candidate or [], self.clusters, self)


class SequentialAnalysis(Analysis):
    """What the design says; parts that belong to another method are null."""

    method: Method = Field(description="What was asked.")
    decision: Decision | None = Field(
        description="`reject`: a difference of 0 is rejected; `do_not_reject`: the design ended without; "
        "`continue`: collect more; null: no data, or differences without spread."
    )
    alternative: Alternative | None = Field(description="Direction of the test.")
    alpha: float = Field(description="Error over all looks together, a proportion.")
    stopped_at: int | None = Field(
        description="Items (or clusters) after which the boundary was first crossed, or 0 first excluded."
    )
    delta: float | None = Field(
        description="Naive candidate minus baseline where the design ended, else of all data, outcome units; "
        "biased away from zero after an early stop."
    )
    delta_median_unbiased: float | None = Field(
        description="Group sequential: the delta whose stage-wise tail is 1/2, outcome units."
    )
    ci: Interval | None = Field(description="Stage-wise interval, or the confidence sequence after all data.")
    p_value: float | None = Field(description="Stage-wise p, or the anytime-valid 1 / (largest e so far).")
    side: int | None = Field(
        None,
        exclude_if=lambda side: side is None,
        description="For whom the test of no difference speaks: 1 the candidate, -1 the baseline, 0 neither. Of an "
        "e-process at its largest e, whatever the difference is at the end; not present where there is no such test.",
    )
    looks: list[Look] | None = Field(description="Boundaries, and what was seen at each look.")
    e_process: EProcess | None = Field(description="The e-process after all data.")
    margin: float | None = Field(description="The margin of equivalence, outcome units.")
    equivalent: bool | None = Field(description="The sequence lies strictly inside the margin.")
    order_used: OrderUsed | None = Field(description="Where the order of analysis came from.")
    n: int | None = Field(description="Items sent, a count.")
    n_clusters: int | None = Field(description="Clusters sent, a count.")
    n_discordant: int | None = Field(description="Items whose outcomes differ between the arms, a count.")


def _estimate_cost(request: SequentialRequest) -> float:
    """Estimate the seconds an answer takes: next to none without looks."""
    n = len(request.baseline or ())
    if request.looks is None:
        return 0.003 + 2e-6 * n
    # The density between looks is a matrix of the nodes of one on those of the next, more of them for shorter steps
    # (`group_sequential.Walk`); a drift is searched for, which takes some forty passes.
    shares = np.diff([0, *request.looks]) / request.looks[-1]
    nodes = 96 / np.sqrt(np.minimum(shares, 1.0))
    passes = 40 if request.method == "group_sequential" else 4
    return 0.003 + 1e-6 * n + passes * float(5e-5 * len(nodes) + 2e-9 * (nodes[1:] * nodes[:-1]).sum())


def _one_side(parameter: shows.Parameter) -> float:
    """Half of alpha, but all of it where a planned design looks to one side."""
    alone = parameter("method") == "group_sequential" and parameter("alternative") != "two-sided"
    return float(parameter("alpha")) / (1 if alone else 2)


SHOWS: shows.Shows = {
    "delta": shows.Estimate(),
    "ci": shows.Covers(_one_side, around=False),
    # what was won stays won when the difference turns, and rows may follow the look that ends a design
    "p_value": shows.PValue(shows.against_zero, fixes=lambda _: False, lean=("side",)),
    "equivalent": shows.Finding((shows.INSIDE,), _one_side),
    **shows.no_meaning("alpha", "delta_median_unbiased", "margin", "side"),
    **shows.no_meaning(*(f"e_process.{name}" for name in ("e_value", "log_e", "log_e_max", "threshold"))),
}


def _of_plan(given: Mapping[str, Any], layout: Layout) -> dict[str, Any]:
    """Return the parameters that a plan's design sets: its looks, or the scale that bets need."""
    fields: dict[str, Any] = {"order": "locked_seed"}
    if given.get("method") == "group_sequential":
        if layout.looks is not None:
            fields["looks"] = list(layout.looks)
            fields["boundary"] = f"{layout.spending}_spending"
        return fields
    if layout.length is not None:
        fields["bound"] = layout.length
    if layout.largest_cluster is not None:
        fields["size_cap"] = layout.largest_cluster
    return fields


ORDERED = InOrder(
    methods={
        "group_sequential": ("group_sequential",),
        "anytime_valid": ("e_process", "confidence_sequence"),
    },
    fills=frozenset({"looks", "boundary", "order", "order_seed", "strata", "bound", "size_cap"}),
    design=_of_plan,
    takes_margin=lambda given: given.get("method") == "confidence_sequence",
)


@stat_test(
    name="sequential",
    version=1,
    title="Sequential designs and anytime-valid tests",
    asked="looks",
    example={"method": "boundaries", "looks": [125, 250, 375, 500], "boundary": "obrien_fleming_spending"},
    cost=_estimate_cost,
    plan=PlanUse(
        endpoints=frozenset({"binary", "continuous"}),
        clusters="when_planned",
        shows=SHOWS,
        ordered=ORDERED,
        resort=Resort("e_process", frozenset({"binary", "continuous"}), frozenset({False, True})),
        example={"method": "group_sequential"},
    ),
)
def sequential(request: SequentialRequest) -> SequentialAnalysis:
    """Look at data more than once without losing the error rate.

    H0 is a difference of zero between two arms on the same items. A design with planned looks compares
    z = (b - c) / sqrt(b + c) (clusters and scores: a CR2 t carried to z) with critical values that share
    alpha among the looks; an e-process is a bet against H0 whose winnings exceed 1/alpha with
    probability at most alpha, ever; a confidence sequence holds the true difference at every n at once.
    All of them need an order that was random before the data, and one item (or cluster) after another.

    Returns:
        decision: reject, do_not_reject or continue.
        looks: critical values of z, error spent, and what was seen at each look.
        p_value, ci: by stage-wise ordering once a planned design has ended; anytime-valid else.
        delta: the naive difference, biased away from zero after an early stop.
        side: for whom the test speaks. An e-process that was won for one arm stays won when the difference turns; one
            that either arm has won speaks for neither.
        equivalent: the confidence sequence lies strictly inside the margin.

    Raises:
        InvalidData: a field the method needs is missing, or one it does not use was sent; looks that do
            not increase or lie closer than 0.5 % of the planned n; more data than planned; an order that
            follows the strata; scores without bound, clusters without size_cap, or data beyond either.

    Edge cases:
        No discordant items: z 0 and e-value 1; group_sequential has no interval (null).
        One and the same difference everywhere (scores, clusters): z, p, interval and decision of
            group_sequential are null, warning DEGENERATE.
        A look that may spend less than 1e-30 cannot stop: its critical value is null, reason infinite.
        Data after the first crossing: they do not count, warning OVERRUN.
        An empty confidence sequence: the difference changed along the order, warning SEQUENCE_EMPTY.
        The classic boundaries hold for exactly the looks planned; spending needs only those so far.

    Sources:
        Armitage, McPherson & Rowe (1969), J R Stat Soc A 132:235 (integration).
        Pocock (1977), Biometrika 64:191. O'Brien & Fleming (1979), Biometrics 35:549.
        Lan & DeMets (1983), Biometrika 70:659 (spending).
        Tsiatis, Rosner & Mehta (1984), Biometrics 40:797 (stage-wise ordering).
        Krichevsky & Trofimov (1981), IEEE Trans Inf Theory 27:199 (mixture of the e-process).
        Waudby-Smith & Ramdas (2024), J R Stat Soc B 86:1 (confidence sequence, theorem 3).

    Example:
        Four equal looks, O'Brien-Fleming spending, .025 on each side: 4.3326, 2.9631, 2.3590, 2.0141.
    """
    reasons: dict[str, str] = {}
    bounds: dict[str, str] = {}
    warnings: list[StatWarning] = []
    fields: dict[str, Any] = {}
    design = None
    if request.looks is not None:
        design = Design(request.looks, request.boundary, request.alternative, request.alpha)
    data = None if request.baseline is None else request.arrange()
    if data is None:
        if design is not None:
            fields["looks"] = plan_looks(design, reasons)
    else:
        warnings += data.warnings
        bounded = (request.bound, request.size_cap)
        if design is not None:
            fields = judge_looks(design, data, reasons, bounds)
        elif request.method == "e_process":
            fields = judge_e(data, request.alternative, request.alpha, bounded, reasons, bounds)
        else:
            margin = None
            if request.margin is not None:
                margin = float(request.margin.for_endpoint(binary=data.binary))
            fields = judge_sequence(data, request.alpha, bounded, margin, reasons)
        fields |= {
            "order_used": data.used,
            "n": len(data.difference),
            "n_clusters": len(data.sums) if data.clustered else None,
            "n_discordant": int(np.count_nonzero(data.difference)),
        }
    warnings += fields.pop("warnings", [])
    every: dict[str, Any] = {name: fields.get(name) for name in _FIELDS}
    every["alternative"] = None if request.method == "confidence_sequence" else request.alternative
    if request.method == "group_sequential" and every["delta"] is not None:
        every["side"] = (every["delta"] > 0) - (every["delta"] < 0)
    for name, value in every.items():
        if value is None and name != "side":
            reasons.setdefault(name, _reason(name, request))
    return SequentialAnalysis(
        **every,
        method=request.method,
        alpha=request.alpha,
        reasons=reasons,
        bounds=bounds,
        warnings=tuple(warnings),
        sentence=_describe(request, every, data, bounds.get("p_value")),
    )


_FIELDS = tuple(
    name for name in SequentialAnalysis.model_fields
    if name not in {"method", "alpha", *Analysis.model_fields}
)  # fmt: skip


def _reason(name: str, request: SequentialRequest) -> str:
    if request.method == "boundaries":
        return "no data were sent"
    if name == "n_clusters":
        return NO_CLUSTERS
    if name in ("margin", "equivalent") and request.method == "confidence_sequence":
        return "no margin was sent"
    return f"not a part of method '{request.method}'"


def _describe(
    request: SequentialRequest, fields: dict[str, Any], data: Ordered | None, bound: str | None
) -> str:
    """Describe the boundaries of planned looks, or what data in order show so far, in one sentence."""
    alpha = f"{request.alpha:.10g}"
    if data is None:
        sides = (look.lower if request.alternative == "less" else look.upper for look in fields["looks"])
        ends = (message("analyses.none") if side is None else f"{abs(side):.4f}" for side in sides)
        return speak(
            "analyses.boundaries",
            looks=len(fields["looks"]),
            boundary=message(f"analyses.by_{request.boundary}"),
            alternative=describe_sides(request.alternative),
            alpha=alpha,
            ends=list_values(ends, "lists.comma"),
        )

    unit, ci, p = message(f"units.{data.unit}"), fields["ci"], fields["p_value"]
    unknown = message("analyses.not_yet_known")
    decided = {
        "reject": "zero_rejected_after" if fields["stopped_at"] else "zero_rejected",
        "do_not_reject": "zero_not_rejected",
        "continue": "zero_not_yet",
        None: "zero_undecided",
    }[fields["decision"]]
    inside: Value = ""
    if fields["equivalent"] is not None:
        margin = within_of(request.margin.exact(), binary=data.binary) if request.margin else ""
        inside = message(f"analyses.{'inside' if fields['equivalent'] else 'not_inside'}", margin=margin)
    return speak(
        "analyses.sequential",
        method=message(f"analyses.by_{request.method}"),
        units=message(
            "analyses.in_order", n=len(data.sums), unit=unit, order=message(f"analyses.{data.used}")
        ),
        delta=unknown if fields["delta"] is None else difference_of(fields["delta"], binary=data.binary),
        interval=message("analyses.no_interval") if ci is None else ci_of(ci, binary=data.binary),
        p="" if p is None else message("analyses.sequential_p", p=p_text(p, bound, request.alpha)),
        decision=message(f"analyses.{decided}", alpha=alpha, n=fields["stopped_at"] or 0, unit=unit),
        inside=inside,
    )
