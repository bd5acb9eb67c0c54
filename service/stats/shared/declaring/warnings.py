"""Warnings: what a reader of a number has to know, each with a stable code and its citation.

Codes used by one family are defined beside it; those that several share are defined here. Their sentences stand in the
catalogue, in the room `warnings`, with a field for each number.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from service.stats.shared.declaring import registry
from service.stats.shared.declaring.common import StatWarning
from service.words import Value, read, speak, spoken
from service.words.catalogue import templates

_KINDS: dict[str, WarningKind] = {}


@dataclass(frozen=True, slots=True)
class WarningKind:
    """A warning before its numbers are filled in."""

    code: str
    severity: Literal["info", "caution", "serious"]
    citation: str | None = None

    @property
    def message(self) -> str:
        """The English sentence of the warning, with the names of its values in braces."""
        return templates("en", "warnings")[self.code].source

    def __call__(self, **values: Value) -> StatWarning:
        """The warning with `values` put into its sentence, in the language that is spoken."""
        return StatWarning(
            code=self.code,
            severity=self.severity,
            message=speak(
                f"warnings.{self.code}", **{name: _word_value(value) for name, value in values.items()}
            ),
            citation=self.citation,
        )


def _word_value(value: Value) -> Value:
    """Return a value that names a unit, or a phrase of it, as the catalogue has it; English is what it is."""
    if not isinstance(value, str) or spoken() == "en":
        return value
    known = read("units", value)
    return value if known is None else known


def define(
    code: str, severity: Literal["info", "caution", "serious"], citation: str | None = None
) -> WarningKind:
    """Register a warning kind; a code is defined once."""
    if code in _KINDS:
        raise ValueError(f"warning {code} is defined twice")
    kind = _KINDS[code] = WarningKind(code, severity, citation)
    return kind


def kinds() -> Mapping[str, WarningKind]:
    """Return every defined warning by code."""
    registry.load()
    return dict(_KINDS)


FEW_CLUSTERS = define("FEW_CLUSTERS", "serious", "Cameron, Gelbach & Miller (2008), Rev Econ Stat 90:414")
CAUTION = define("CAUTION", "caution", "Carter, Schnepel & Steigerwald (2017), Rev Econ Stat 99:698")
NOTHING_VARIES = define(
    "NOTHING_VARIES", "serious", "Davison & Hinkley (1997), Bootstrap Methods and their Application, 2.3"
)
BEYOND_ZERO = define(
    "BEYOND_ZERO", "serious", "Davison & Hinkley (1997), Bootstrap Methods and their Application, 4.4"
)
LOPSIDED_RESAMPLES = define(
    "LOPSIDED_RESAMPLES", "serious", "MacKinnon, Nielsen & Webb (2023), J Econometrics 232:272"
)
BEYOND_RESAMPLES = define(
    "BEYOND_RESAMPLES", "serious", "Davison & Hinkley (1997), Bootstrap Methods and their Application, 4.4"
)
FEW_SIGNS = define("FEW_SIGNS", "caution", "Fisher (1935), The Design of Experiments, 21")
DEGENERATE = define(
    "DEGENERATE", "serious", "Davison & Hinkley (1997), Bootstrap Methods and their Application, 2.3"
)
FLOOR_ABOVE_ALPHA = define(
    "FLOOR_ABOVE_ALPHA", "serious", "Noreen (1989), Computer-Intensive Methods for Testing Hypotheses"
)
MC_UNRESOLVED = define(
    "MC_UNRESOLVED", "caution", "Davison & Hinkley (1997), Bootstrap Methods and their Application, 4.2"
)
ERROR_UNRESOLVED = define("ERROR_UNRESOLVED", "caution", "Davies (1973), Biometrika 60:415")
NEGATIVE_COMPONENT = define(
    "NEGATIVE_COMPONENT", "info", "Searle, Casella & McCulloch (1992), Variance Components, 3.5"
)
LEAST_ERROR = 1e-9
"""Errors below this are rounding."""


def warn_if_unresolved(p: float | None, error: float | None, alpha: float) -> tuple[StatWarning, ...]:
    """Warn with ERROR_UNRESOLVED when alpha lies within the error that a computed p is known to."""
    if p is None or error is None or error < LEAST_ERROR or abs(p - alpha) > error:
        return ()
    return (ERROR_UNRESOLVED(p=p, error=error, alpha=alpha),)
