"""Pictures of the answers of statistical tests, chosen by what an analysis holds: no test is known by name."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Any, Literal, NamedTuple

from service.errors import InvalidData
from service.kernels.numeric.t_distribution import t_quantile
from service.reports.charts.arms import arms
from service.reports.charts.cumulative import cumulative
from service.reports.charts.discordance import discordance
from service.reports.charts.error_rate import error_rate
from service.reports.charts.forest import Panel, forest, rows_of
from service.reports.charts.power import power_of_test
from service.reports.charts.ranking import ranking
from service.reports.charts.style import Spec
from service.reports.charts.units import Unit
from service.reports.charts.words import say
from service.words import Language

Picture = Literal["cumulative", "ranking", "power", "error_rate", "forest", "arms", "discordance"]


class ChartRequest(NamedTuple):
    """What a picture is made of."""

    name: str
    analysis: Mapping[str, Any]
    binary: bool
    language: Language


def _exploring(draw: Callable[..., Spec]) -> Callable[[ChartRequest], Spec]:
    """Return what draws an analysis as it is, and says that nothing was planned."""
    return lambda request: draw(
        request.analysis,
        binary=request.binary,
        subtitle=say("exploratory", request.language),
        language=request.language,
    )


def _power(request: ChartRequest) -> Spec:
    return power_of_test(request.analysis, language=request.language)


def _errors(request: ChartRequest) -> Spec:
    return error_rate(request.analysis, language=request.language)


def _forest(request: ChartRequest) -> Spec:
    rows = rows_of({request.name: request.analysis})
    if not rows:
        raise InvalidData("this answer has no interval of a difference, so there is nothing to draw")
    margin = request.analysis.get("margin")
    panel = Panel("", Unit(request.binary), margin if isinstance(margin, float) else None, rows)
    return forest([panel], subtitle=say("exploratory", request.language), language=request.language)


def _arms(request: ChartRequest) -> Spec:
    """Return both arms with the t intervals of their means, from their standard errors."""
    rows = []
    for arm in ("baseline", "candidate"):
        summary = request.analysis[arm]
        half = None if not summary["se"] else t_quantile(0.975, summary["n"] - 1) * summary["se"]
        rows.append(
            {
                "arm": say(arm, request.language), "n": summary["n"], "mean": summary["mean"],
                "low": None if half is None else summary["mean"] - half,
                "high": None if half is None else summary["mean"] + half,
            }
        )  # fmt: skip
    return arms(rows, binary=request.binary, subtitle="95% t", language=request.language)


def _table(request: ChartRequest) -> Spec:
    counts = request.analysis.get("counts")
    if counts is None:
        raise InvalidData("this answer has no counts of right and wrong items, so there is nothing to draw")
    return discordance(counts, subtitle=say("exploratory", request.language), language=request.language)


_PICTURES: Mapping[Picture, tuple[frozenset[str], Callable[[ChartRequest], Spec]]] = {
    "cumulative": (frozenset({"points", "band", "lines"}), _exploring(cumulative)),
    "ranking": (frozenset({"arms", "pairs", "tied_sets"}), _exploring(ranking)),
    "power": (frozenset({"points", "target_power"}), _power),
    "error_rate": (frozenset({"points", "alpha", "rate"}), _errors),
    "forest": (frozenset({"delta", "ci"}), _forest),
    "arms": (frozenset({"baseline", "candidate", "delta"}), _arms),
    "discordance": (frozenset({"counts", "delta"}), _table),
}
"""What an analysis must hold for a picture; the first that fits is drawn where none is named."""


def pictures_of(fields: Collection[str]) -> tuple[Picture, ...]:
    """Return the pictures of an analysis with these fields, the best first."""
    held = frozenset(fields)
    pictures = [name for name, (needs, _) in _PICTURES.items() if needs <= held]
    if "cumulative" in pictures:  # its interval is the last point of the curve
        pictures.remove("forest")
    return tuple(pictures)


def draw_answer(
    name: str, analysis: Mapping[str, Any], picture: Picture | None, *, binary: bool, language: Language
) -> Spec:
    """Return the picture of a test's analysis.

    Raises:
        InvalidData: the test has no picture, or not this one.
    """
    known = pictures_of(analysis.keys())
    if not known:
        raise InvalidData(f"there is no picture for answers of '{name}'", code="no_picture")
    wanted = picture or known[0]
    if wanted not in known:
        raise InvalidData.field(
            "query.picture", f"answers of '{name}' have no such picture", f"ask for one of {', '.join(known)}"
        )
    return _PICTURES[wanted][1](ChartRequest(name, analysis, binary, language))
