"""How far raters agree beyond chance: people with a judge, or people among themselves."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Literal, Self

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, model_validator

from service.errors import InvalidData
from service.kernels.agreement import rater_agreement as kernel
from service.kernels.numeric.clusters import codes_of
from service.kernels.numeric.t_distribution import t_quantile
from service.records import Record
from service.stats.shared.data.clustering import NO_CLUSTERS
from service.stats.shared.declaring.columns import LARGEST, require_equal_lengths
from service.stats.shared.declaring.common import MAX_ITEMS, Analysis, Finite, Request, StatWarning
from service.stats.shared.declaring.fields import Clusters, LevelOfAll
from service.stats.shared.declaring.registry import stat_test
from service.stats.shared.declaring.sentences import level_text
from service.stats.shared.declaring.warnings import define
from service.words import Value, list_values, message, speak

MOST_RATERS, MOST_CATEGORIES = 100, 100
FEWEST, RARE = 20, 0.9
"""Units below which the error is hardly known, and the share of one category from which on chance agreement is high."""

FEW_RATED = define("FEW_RATED", "caution", "Efron & Tibshirani (1993), An Introduction to the Bootstrap, 11")
ONE_CATEGORY_RULES = define(
    "ONE_CATEGORY_RULES", "caution", "Feinstein & Cicchetti (1990), J Clin Epidemiol 43:543"
)

Floats = NDArray[np.float64]
Name = Annotated[str, Field(min_length=1, max_length=200)]
Numbers = Annotated[
    list[Annotated[list[Finite | None], Field(max_length=MOST_RATERS)]], Field(max_length=MAX_ITEMS)
]
Names = Annotated[
    list[Annotated[list[Name | None], Field(max_length=MOST_RATERS)]], Field(max_length=MAX_ITEMS)
]
Ratings = Annotated[Numbers | Names, Field(union_mode="left_to_right")]


class AgreementRequest(Request):
    """Ratings of items by raters; what a rater left out is null."""

    ratings: Ratings = Field(
        description="One list per item with one rating per rater, same order; numbers or names; null: not rated."
    )
    clusters: Clusters = None
    scale: Literal["nominal", "ordinal", "interval"] = Field(
        "nominal",
        description="`interval`: ratings are numbers, and a small difference is a small disagreement; `ordinal`: "
        "numbers of which the order alone counts, such as grades.",
    )
    level: LevelOfAll = 0.95

    @model_validator(mode="after")
    def _require_usable(self) -> Self:
        """Refuse rows of other lengths, ratings that nobody shares, and codes that the scale cannot have."""
        require_equal_lengths({"ratings": self.ratings})
        require_equal_lengths({"ratings": self.ratings, "clusters": self.clusters})
        rows: list[list[Any]] = [*self.ratings]
        raters = len(rows[0])
        for place, row in enumerate(rows):
            if len(row) != raters or raters < 2:
                raise InvalidData.field(
                    f"ratings[{place}]",
                    f"has {len(row)} ratings where the first item has {raters}",
                    "send one per rater, two raters or more, and null where a rater left the item out",
                )
        known = {rating for row in rows for rating in row if rating is not None}
        if not any(sum(rating is not None for rating in row) >= 2 for row in rows):
            raise InvalidData.field("ratings", "hold no item that two raters rated", "let raters share items")
        if self.scale == "interval" and any(isinstance(code, str) or abs(code) > LARGEST for code in known):
            raise InvalidData.field(
                "ratings", f"hold names, or numbers beyond {LARGEST:g}", "use the nominal scale"
            )
        if self.scale == "ordinal" and any(isinstance(code, str) for code in known):
            raise InvalidData.field(
                "ratings",
                "hold names, which have no order",
                "send numbers in that order, or the nominal scale",
            )
        if self.scale != "interval" and len(known) > MOST_CATEGORIES:
            raise InvalidData.field(
                "ratings",
                f"hold more than {MOST_CATEGORIES} categories",
                "use scale 'interval' for numbers, or fewer categories",
            )
        return self


class Coefficient(Record):
    """One coefficient of agreement: 1 always agree, 0 as chance would have it."""

    value: float | None = Field(description="At most 1.")
    se: float | None = Field(description="Jackknife standard error over items or clusters.")
    low: float | None = Field(description="Lower end of its interval.")
    high: float | None = Field(description="Upper end of its interval, at most 1.")


class AgreementAnalysis(Analysis):
    """Agreement by several coefficients, each with an interval."""

    agreement: float = Field(
        description="Share of pairs of ratings of one item that are equal, a proportion."
    )
    cohen_kappa: Coefficient = Field(description="Cohen's kappa; two raters, nominal.")
    fleiss_kappa: Coefficient = Field(description="Fleiss' kappa; nominal.")
    gwet_ac1: Coefficient = Field(description="Gwet's AC1; nominal; steady where one category rules.")
    krippendorff_alpha: Coefficient = Field(description="Krippendorff's alpha on the scale asked for.")
    n: int = Field(description="Items that two raters or more rated, a count.")
    n_raters: int = Field(description="Raters, a count.")
    n_ratings: int = Field(description="Ratings, a count.")
    n_categories: int = Field(
        description="Different ratings, a count; those of items of one rater among them."
    )
    n_clusters: int | None = Field(description="Clusters of those items, a count.")


def _estimate_cost(request: AgreementRequest) -> float:
    size = len(request.ratings) * (1 + len(request.ratings[0]))
    wide = 2 if request.scale == "interval" else 20
    return 0.002 + 2e-7 * wide * size


@stat_test(
    name="agreement",
    version=1,
    title="Agreement of raters (kappa, AC1, alpha)",
    asked="judges",
    example={
        "ratings": [
            [1, 1], [1, 1], [0, 0], [1, 0], [1, 1], [0, 0], [1, 1], [0, 1], [1, 1], [0, 0], [1, 1], [0, 0],
        ]
    },
    cost=_estimate_cost,
)  # fmt: skip
def agreement(request: AgreementRequest) -> AgreementAnalysis:
    """Measure how far raters agree beyond what chance would give: a judge with people, or people among themselves.

    (observed - chance)/(1 - chance); the coefficients differ in what they take chance to be. Items (or clusters) are
    the sample, raters are fixed. There is no H0.

    Returns:
        cohen_kappa: chance from each rater's own shares; items that both rated.
        fleiss_kappa: chance from the raters' common shares; missing ratings as in Gwet: each item weighted alike, and
            items of one rater count in the shares, for AC1 too.
        gwet_ac1: chance from shares (1 - share)/(q - 1).
        krippendorff_alpha: 1 - observed over expected disagreement of pairs, nominal, or squared differences
            of the numbers (interval) or of their mid-ranks among all ratings (ordinal).
        se, low, high: jackknife leaving out items or clusters, t with their number less one.

    Raises:
        InvalidData: items of different length, no item rated twice, names where numbers are needed, over 100
            categories.

    Edge cases:
        One category only: kappa and alpha are null, with their reason; AC1 is null as well.
        More than two raters: cohen_kappa null. Ordinal and interval scale: all but alpha null.
        Few items: FEW_RATED. 90% of ratings in one category: ONE_CATEGORY_RULES.

    Sources:
        Cohen (1960), Educ Psychol Meas 20:37. Fleiss (1971), Psychol Bull 76:378.
        Gwet (2008), Br J Math Stat Psychol 61:29. Krippendorff (2011), Computing Krippendorff's alpha-reliability.

    Example:
        Twelve answers, a judge and a person agree on ten, each finds seven right: kappa (10/12 - 74/144)/(1 - 74/144) =
        .657.
    """
    rated = np.array([sum(x is not None for x in rating) for rating in request.ratings])
    known = dict.fromkeys(x for rating in request.ratings for x in rating if x is not None)
    names = {name: place for place, name in enumerate(sorted(known) if request.scale == "ordinal" else known)}
    every = _Rated.of(request, np.flatnonzero(rated >= 1), names)
    shared = _Rated.of(request, np.flatnonzero(rated >= 2), names)
    rows, table, codes = shared.items, shared.table, shared.codes
    reasons: dict[str, str] = {}
    coefficients = {
        name: _coefficient(name, values, request.level, reasons)
        for name, values in _compute_coefficients(request, every, shared, len(names), reasons).items()
    }
    for name in ("cohen_kappa", "fleiss_kappa", "gwet_ac1"):
        coefficients.setdefault(name, Coefficient(value=None, se=None, low=None, high=None))
    n_clusters = None if request.clusters is None else int(codes.max()) + 1
    if n_clusters is None:
        reasons["n_clusters"] = NO_CLUSTERS
    warnings: list[StatWarning] = []
    units = len(rows) if n_clusters is None else n_clusters
    if units < FEWEST:
        warnings.append(FEW_RATED(n=units, unit="items" if n_clusters is None else "clusters with items"))
    # Share of the commonest category among all ratings given; at 1 the coefficients are undefined and say so already.
    ruling = float(np.unique(table[table >= 0], return_counts=True)[1].max() / np.count_nonzero(table >= 0))
    if request.scale == "nominal" and RARE <= ruling < 1:
        warnings.append(ONE_CATEGORY_RULES(share=ruling))
    plain = _plain(table)
    return AgreementAnalysis(
        agreement=plain,
        cohen_kappa=coefficients["cohen_kappa"],
        fleiss_kappa=coefficients["fleiss_kappa"],
        gwet_ac1=coefficients["gwet_ac1"],
        krippendorff_alpha=coefficients["krippendorff_alpha"],
        n=len(rows),
        n_raters=table.shape[1],
        n_ratings=int(np.count_nonzero(table >= 0)),
        n_categories=len(names),
        n_clusters=n_clusters,
        reasons=reasons,
        warnings=tuple(warnings),
        sentence=_describe(request, plain, coefficients, len(rows), table.shape[1]),
    )


@dataclass(frozen=True, slots=True)
class _Rated:
    """Items by their places, the category of each rating (n, raters), -1 where there is none, and cluster codes."""

    items: NDArray[np.intp]
    table: NDArray[np.int64]
    codes: NDArray[np.int64]

    @classmethod
    def of(cls, request: AgreementRequest, items: NDArray[np.intp], names: Mapping[Any, int]) -> Self:
        rows = [request.ratings[place] for place in items]
        labels = None if request.clusters is None else [str(request.clusters[place]) for place in items]
        codes = np.arange(len(rows)) if labels is None else codes_of(labels)
        return cls(items, np.array([[-1 if x is None else names[x] for x in row] for row in rows]), codes)


def _counts(table: NDArray[np.int64], q: int) -> Floats:
    """Raters of each item per category (n, q)."""
    # One bincount for all items: category c of item i is bin i q + c, and the last bin takes the ratings left out.
    flat = np.where(table >= 0, table + np.arange(len(table))[:, None] * q, len(table) * q)
    counts = np.bincount(flat.ravel(), minlength=len(table) * q + 1)[:-1]
    return counts.reshape(len(table), q).astype(np.float64)


def _plain(table: NDArray[np.int64]) -> float:
    """Share of agreeing pairs of ratings, mean over items; without a table of categories."""
    agree = np.zeros(len(table))
    raters = table.shape[1]
    for first in range(raters):
        later = table[:, first + 1 :]
        agree += ((later == table[:, [first]]) & (later >= 0)).sum(axis=1)
    rated = (table >= 0).sum(axis=1)
    return float((agree / (rated * (rated - 1) / 2)).mean())


def _compute_coefficients(
    request: AgreementRequest, every: _Rated, shared: _Rated, q: int, reasons: dict[str, str]
) -> dict[str, tuple[float, Floats]]:
    """Return each coefficient, and the same without each item or cluster (G,).

    `shared`: items that two raters rated; `every` has those of one rater beside them, of which Gwet takes the shares.
    """
    table, codes = shared.table, shared.codes

    def of_sums(
        amounts: Floats, coefficient: Callable[[Floats], Floats], codes: NDArray[np.int64] = codes
    ) -> tuple[float, Floats]:
        total, without = kernel.left_out(amounts, codes)
        return float(coefficient(total)), coefficient(without)

    if request.scale != "nominal":
        for name in ("cohen_kappa", "fleiss_kappa", "gwet_ac1"):
            reasons[name] = "it is of categories: ask for the nominal scale"
    if request.scale == "ordinal":
        return {"krippendorff_alpha": kernel.alpha_ordinal(_counts(table, q), codes)}
    if request.scale == "interval":
        numbers = np.array(
            [[np.nan if x is None else float(x) for x in request.ratings[place]] for place in shared.items]
        )
        known = numbers[np.isfinite(numbers)]
        # Alpha is a ratio of squared differences: moving and scaling cancel, and squares of large numbers stay
        # precise.
        scale = float(np.abs(known - known.mean()).max()) or 1.0
        spread = kernel.interval((numbers - known.mean()) / scale)
        return {"krippendorff_alpha": of_sums(spread, kernel.alpha_interval)}
    counts = _counts(table, q)
    # Items of one rater enter the shares of Fleiss and Gwet (Gwet 2008, missing ratings), no pair of ratings.
    pairs = kernel.pairwise(_counts(every.table, q))
    coefficients = {"fleiss_kappa": of_sums(pairs, kernel.fleiss, every.codes)}
    if q > 1:
        coefficients["gwet_ac1"] = of_sums(pairs, kernel.gwet, every.codes)
    else:
        reasons["gwet_ac1"] = "all ratings are alike: there is no second category to agree against"
    coefficients["krippendorff_alpha"] = of_sums(kernel.nominal(counts), kernel.alpha_nominal)
    if table.shape[1] == 2:
        coefficients["cohen_kappa"] = of_sums(kernel.of_two(table[:, 0], table[:, 1], q), kernel.cohen)
    else:
        reasons["cohen_kappa"] = "it is of two raters"
    return coefficients


def _coefficient(
    name: str, estimate: tuple[float, Floats], level: float, reasons: dict[str, str]
) -> Coefficient:
    """One coefficient with its jackknife interval; what cannot be given is null with its reason in `reasons`."""
    value, without = estimate
    if not np.isfinite(value):
        reasons[name] = "all ratings are alike, so chance alone agrees always"
        return Coefficient(value=None, se=None, low=None, high=None)
    se = kernel.jackknife_error(without)
    if se is None:
        for part in ("se", "low", "high"):
            reasons[f"{name}.{part}"] = "it rests on a single item or cluster"
        return Coefficient(value=value, se=None, low=None, high=None)
    # Jackknife t with G - 1 degrees of freedom; a coefficient is at most 1 by definition, the low end has no such
    # bound.
    half = t_quantile(0.5 + level / 2, len(without) - 1) * se
    return Coefficient(value=value, se=se, low=value - half, high=min(value + half, 1.0))


def _describe(
    request: AgreementRequest, plain: float, coefficients: dict[str, Coefficient], n: int, raters: int
) -> str:
    """Describe the share of equal ratings and every coefficient that is defined in one sentence."""
    parts = []
    for name in ("cohen_kappa", "fleiss_kappa", "gwet_ac1", "krippendorff_alpha"):
        coefficient = coefficients[name]
        if coefficient.value is None:
            continue
        values: dict[str, Value] = {"name": message(f"analyses.{name}"), "value": float(coefficient.value)}
        if coefficient.low is None or coefficient.high is None:
            parts.append(message("analyses.coefficient", **values))
        else:
            ends = {"low": float(coefficient.low), "high": float(coefficient.high)}
            parts.append(message("analyses.coefficient_ci", **values, **ends))
    opening: dict[str, Value] = {"raters": raters, "n": n, "share": float(plain)}
    if not parts:
        return speak("analyses.agreement_alike", **opening)
    level, shown_all = level_text(request.level), list_values(parts, "lists.comma")
    return speak("analyses.agreement", **opening, level=level, coefficients=shown_all)
