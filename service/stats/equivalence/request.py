"""What the tests of a margin are asked: two arms, a margin, and how the interval is made."""

from __future__ import annotations

from functools import cached_property
from typing import Annotated, Literal, Self

import numpy as np
from pydantic import Field, model_validator
from typing_extensions import override

from service.errors import InvalidData
from service.kernels.numeric.distributions import BootstrapDistribution
from service.stats.shared.data.clustering import ClusteredPairs, group_by_cluster
from service.stats.shared.data.pairs import PairedCounts, PairsRequest
from service.stats.shared.data.score_range import RangeField, require_range
from service.stats.shared.declaring.columns import is_binary
from service.stats.shared.declaring.common import Labels, Margin
from service.stats.shared.declaring.fields import DrawCount
from service.stats.shared.methods.drawing import Drawing, of_ratio
from service.stats.shared.methods.resampling import exact_ratio, find_exact_paired, first_seed

Method = Literal["tango", "bootstrap_ci", "t", "bounded"]


class EquivalenceRequest(PairsRequest):
    """Two arms and a margin: two columns, or the four counts of binary pairs."""

    margin: Margin = Field(
        description="Smallest effect of interest, with its unit; the bounds are -+ margin."
    )
    method: Method = Field(
        "tango",
        description="`tango`: score tests for binary pairs; `bounded`: scores with a range, losses too rare to be seen "
        "included; `t`: any outcome; `bootstrap_ci`.",
    )
    range: RangeField = Field(
        None,
        exclude_if=lambda declared: declared is None,
        description="Of bounded: least and greatest score there can be; null: 0 and 1 where every score lies between "
        "them. In a plan the endpoint's bounds.",
    )
    clusters: Labels | None = Field(
        None, description="Cluster of each item, a label per item; the interval is then clustered."
    )
    design: Literal["paired", "independent"] = Field(
        "paired", description="`independent`: the arms saw different items; method `t` only."
    )
    variance: Literal["welch", "student"] = Field(
        "welch", description="Of the independent design: separate or pooled variances."
    )
    cluster_variance: Literal["cr2", "cv3"] = Field(
        "cr2", description="Cluster-robust variance where clusters are given."
    )
    bounds: Literal["strict", "seed"] = Field(
        "strict", description="Of bootstrap_ci: the interval must lie inside; `seed` lets it touch."
    )
    alpha: Annotated[float, Field(gt=0, lt=0.5, allow_inf_nan=False)] = Field(
        0.05, description="Level of each one-sided test, a proportion; the interval's level is 1 - 2 alpha."
    )
    n_resamples: DrawCount | None = Field(
        None, description="Draws, a count; used only where nothing exact is at hand."
    )
    seed: int | None = Field(
        None, ge=0, le=2**53, description="Seed of the draws; used only where something is drawn."
    )

    @model_validator(mode="after")
    def _require_fit(self) -> Self:
        """Refuse columns, clusters and ranges that the design and the method do not take."""
        if self.design == "independent":
            for name, refused in (
                ("method", self.method != "t"),
                ("clusters", self.clusters is not None),
                ("baseline", self.baseline is None),
            ):
                if refused:
                    raise InvalidData.field(
                        name, "does not go with design 'independent'", "send two columns and method 't'"
                    )
        if self.clusters is not None and self.baseline is None:
            raise InvalidData.field("clusters", "need items, and counts have none", "send columns")
        if self.method == "tango":
            # Asked for its refusal: tango needs binary pairs, and the request is where a caller hears of it.
            _ = self.table
        if self.method == "bounded":
            require_range(
                self.range, *((np.array([0.0, 1.0]),) * 2 if self.baseline is None else self.arrays)
            )
        elif self.range is not None:
            raise InvalidData.field(
                "range", f"does not go with method '{self.method}'", "ask for method bounded"
            )
        return self

    @override
    def _check_columns(self) -> None:
        if self.design == "paired":
            super()._check_columns()
        for name in ("baseline", "candidate"):
            if not getattr(self, name):
                raise InvalidData.field(name, "is empty", "send at least one item")

    @property
    def binary(self) -> bool:
        """True for outcomes 0 and 1."""
        return is_binary(*self.arrays)

    @property
    def seed_bounds(self) -> bool:
        """True where an end of a drawn interval that touches the margin counts as inside it."""
        return self.method == "bootstrap_ci" and self.bounds == "seed"

    @property
    def guarded(self) -> bool:
        """True of methods that keep their level where what matters is too rare to be seen."""
        return self.method == "bounded" or (self.method == "tango" and self.clusters is None)

    @property
    def counts(self) -> PairedCounts | None:
        """The fourfold table of binary pairs."""
        return self.table if self.design == "paired" and self.binary else None

    @cached_property
    def groups(self) -> ClusteredPairs | None:
        """The paired differences by cluster; None where no clusters were sent."""
        return None if self.clusters is None else group_by_cluster(*self.arrays, self.clusters)

    @cached_property
    def exact(self) -> BootstrapDistribution | None:
        """The bootstrap distribution without drawing; None where blocks are drawn."""
        if self.groups is not None:
            return exact_ratio(self.groups.groups.sums, self.groups.groups.sizes)
        return find_exact_paired(self.counts, self.arrays[1] - self.arrays[0])

    @property
    def drawing(self) -> Drawing:
        """What is drawn where nothing is exact."""
        seed = first_seed(self.seed)
        if self.groups is not None:
            return of_ratio(self.groups.groups.sums, self.groups.groups.sizes, seed)
        difference = self.arrays[1] - self.arrays[0]
        return of_ratio(difference, np.ones(len(difference)), seed)
