"""Warnings: what a reader of a number has to know, each with a stable code and its citation.

Codes used by one family are defined beside it; those that several share are defined here.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from service.stats.shared.declaring import registry
from service.stats.shared.declaring.common import StatWarning

_KINDS: dict[str, WarningKind] = {}


@dataclass(frozen=True, slots=True)
class WarningKind:
    """A warning before its numbers are filled in. `message` is a format string."""

    code: str
    severity: Literal["info", "caution", "serious"]
    message: str
    citation: str | None

    def __call__(self, **values: object) -> StatWarning:
        """The warning with `values` put into its sentence."""
        return StatWarning(
            code=self.code,
            severity=self.severity,
            message=self.message.format(**values),
            citation=self.citation,
        )


def define(
    code: str, severity: Literal["info", "caution", "serious"], message: str, citation: str | None = None
) -> WarningKind:
    """Register a warning kind; a code is defined once."""
    if code in _KINDS:
        raise ValueError(f"warning {code} is defined twice")
    kind = _KINDS[code] = WarningKind(code, severity, message, citation)
    return kind


def kinds() -> Mapping[str, WarningKind]:
    """Every defined warning by code."""
    registry.load()
    return dict(_KINDS)


FEW_CLUSTERS = define(
    "FEW_CLUSTERS",
    "serious",
    "Only {n_clusters} clusters: the percentile cluster bootstrap is far too liberal here and "
    "large-sample clustered tests are unreliable; prefer sign_flip or cr2_t and plan more clusters.",
    "Cameron, Gelbach & Miller (2008), Rev Econ Stat 90:414",
)
CAUTION = define(
    "CAUTION",
    "caution",
    "{n_clusters} clusters with a size coefficient of variation of {size_cv:.2f}: below 30 clusters, or "
    "above .5, cluster intervals tend to be too short.",
    "Carter, Schnepel & Steigerwald (2017), Rev Econ Stat 99:698",
)
NOTHING_VARIES = define(
    "NOTHING_VARIES",
    "serious",
    "Every {unit} shows the same difference, so resampling shows no uncertainty at all: the interval is a single "
    "point, and p is only a bound. No rule may rest on either: read an exact test of the counts instead.",
    "Davison & Hinkley (1997), Bootstrap Methods and their Application, 2.3",
)
BEYOND_ZERO = define(
    "BEYOND_ZERO",
    "serious",
    "No resample is on the other side of 0, so p says how seldom one could be, far below what so few items, clusters "
    "or runs can show. A rule takes it for no smaller than the chance of such signs or ranks alone (`within`): read an "
    "exact test beside it.",
    "Davison & Hinkley (1997), Bootstrap Methods and their Application, 4.4",
)
LOPSIDED_RESAMPLES = define(
    "LOPSIDED_RESAMPLES",
    "serious",
    "One cluster holds {share:.0%} of the items. Resamples have it twice or not at all, so the bootstrap's p is too "
    "small: without a difference a one-sided p below .05 came .08 to .10 of the time where one cluster held a fifth, "
    "and .17 to .28 where it held two fifths; 95% intervals missed up to .11. A rule takes p for no smaller than that "
    "of the clusters' signs (`within`).",
    "MacKinnon, Nielsen & Webb (2023), J Econometrics 232:272",
)
BEYOND_RESAMPLES = define(
    "BEYOND_RESAMPLES",
    "serious",
    "No resample reaches twice the difference, so p is a bound on the resamples, far below what so few differing items "
    "or clusters can show. A rule takes it for no smaller than the chance of such signs alone (`within`): read an "
    "exact test beside it.",
    "Davison & Hinkley (1997), Bootstrap Methods and their Application, 4.4",
)
DEGENERATE = define(
    "DEGENERATE",
    "serious",
    "The differences do not vary, or there is a single item, so their spread measures nothing and this "
    "method decides nothing; {instead}.",
    "Davison & Hinkley (1997), Bootstrap Methods and their Application, 2.3",
)
FLOOR_ABOVE_ALPHA = define(
    "FLOOR_ABOVE_ALPHA",
    "serious",
    "The least p that {what} can give is {least:.3g}, not below alpha {alpha:g}: nothing can be rejected here, "
    "whatever the difference; plan more {more}.",
    "Noreen (1989), Computer-Intensive Methods for Testing Hypotheses",
)
MC_UNRESOLVED = define(
    "MC_UNRESOLVED",
    "caution",
    "The Monte-Carlo p {p:.4g} lies within three standard errors ({se:.2g}) of alpha {alpha:g}: "
    "raise n_resamples before reading it as above or below.",
    "Davison & Hinkley (1997), Bootstrap Methods and their Application, 4.2",
)
ERROR_UNRESOLVED = define(
    "ERROR_UNRESOLVED",
    "caution",
    "The computed p {p:.4g} is known to within {error:.2g}, and alpha {alpha:g} lies in that range: it can be read "
    "as neither above nor below. More clusters or items make it sharper.",
    "Davies (1973), Biometrika 60:415",
)
NEGATIVE_COMPONENT = define(
    "NEGATIVE_COMPONENT",
    "info",
    "The estimate of {name} is below 0: the data show no more spread there than what lies beneath explains; "
    "read it as close to 0.",
    "Searle, Casella & McCulloch (1992), Variance Components, 3.5",
)
LEAST_ERROR = 1e-9
"""Errors below this are rounding."""


def unresolved(p: float | None, error: float | None, alpha: float) -> tuple[StatWarning, ...]:
    """ERROR_UNRESOLVED when alpha lies within the error that a computed p is known to."""
    if p is None or error is None or error < LEAST_ERROR or abs(p - alpha) > error:
        return ()
    return (ERROR_UNRESOLVED(p=p, error=error, alpha=alpha),)
