"""Fields of statistical tests on independent binary pairs, as lines over the cells of n items.

Only what the discordant counts decide is here; `line_of` gives None for every other field.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from scipy import special

from service.domain.enumerated_bootstrap import BootstrapLines
from service.domain.enumerated_equivalence import EquivalenceLines
from service.domain.enumerated_lines import EndLines, Line, Pattern, counted
from service.domain.enumerated_tests import BinaryTest
from service.domain.rule_truth import TIE
from service.kernels import mcnemar
from service.kernels.rule_enumeration import Floats, Ints
from service.stats.common import Alternative

Path = tuple[str, ...]


def line_of(test: BinaryTest, path: Path) -> Line | EndLines | None:
    """A field of a test as a line over the cells; None when the discordant counts do not decide it."""
    make = _TESTS.get(test.use.test.name)
    return None if make is None else make(test, path) or _common(test, path)


def _common(test: BinaryTest, path: Path) -> Line | None:
    if path == ("delta",):
        return test.valued(path, lambda b, m: (2 * b - m) / test.n, "rising", tie=TIE, relative=0)
    if path in (("n_discordant",), ("n_swappable",)):
        return counted(lambda _b, m: m, "row")
    if path == ("n",):
        return counted(lambda _b, m: np.full_like(m, test.n), "row")
    if path == ("counts", "only_candidate"):
        return counted(lambda b, _m: b, "rising")
    if path == ("counts", "only_baseline"):
        return counted(lambda b, m: m - b, "falling")
    return None


def whole_interval(path: Path) -> Path:
    """The path of the interval that a path names, or names an end of."""
    return path[:-1] if path[-1] in ("low", "high") else path


def sides_pattern(alternative: str) -> Pattern:
    """How a p-value moves along a row."""
    patterns: dict[str, Pattern] = {"greater": "falling", "less": "rising", "two-sided": "peak"}
    return patterns[alternative]


def _mcnemar(test: BinaryTest, path: Path) -> Line | EndLines | None:
    method, alternative = test.parameter("method"), test.parameter("alternative")
    whole = whole_interval(path)
    if path == ("p_value",):
        return test.valued(
            path, lambda b, m: mcnemar.p_values(b, m - b, method, alternative), sides_pattern(alternative)
        )
    if path == ("min_attainable_p",):
        side: Alternative = "two-sided" if alternative == "two-sided" else "greater"
        return test.valued(path, lambda _b, m: mcnemar.p_values(m, 0 * m, method, side), "row")
    if whole == ("ci",):
        return test.interval(path, "tango")
    if whole[0] == "intervals":
        return test.interval(path, whole[1])
    if path == ("cohens_g",):
        return test.valued(path, lambda b, m: _ratio(b, m) - 0.5, "any")
    if path == ("odds_ratio", "estimate"):
        return test.valued(path, lambda b, m: np.where(m > 0, _ratio(b, m - b, np.inf), np.nan), "any")
    return None


def _ratio(above: Ints, below: Ints, otherwise: float = np.nan) -> Floats:
    return np.where(below > 0, above / np.maximum(below, 1), otherwise)


def _paired_difference(test: BinaryTest, path: Path) -> Line | EndLines | None:
    alternative = test.parameter("alternative")
    whole = whole_interval(path)

    def z(b: Ints, m: Ints) -> Floats:
        return np.where(m > 0, (2 * b - m) / np.sqrt(np.maximum(m, 1)), 0.0)

    def p(b: Ints, m: Ints) -> Floats:
        if alternative == "two-sided":
            found = special.erfc(np.abs(z(b, m)) / math.sqrt(2))
        else:
            found = special.ndtr(-z(b, m) if alternative == "greater" else z(b, m))
        return np.where(m > 0, found, 1.0)

    if path == ("z",):
        return test.valued(path, z, "rising")
    if path == ("p_value",):
        return test.valued(path, p, sides_pattern(alternative))
    if whole == ("ci",):
        return test.interval(path, test.parameter("method"))
    if whole[0] == "intervals":
        return test.interval(path, whole[1])
    return None


def _paired_bootstrap(test: BinaryTest, path: Path) -> Line | EndLines | None:
    method = test.parameter("method")
    if test.parameter("convention") != "standard" or test.parameter("metric") not in ("mean", "accuracy"):
        return None
    if method == "studentized":  # every field is drawn then
        return _common(test, path)
    lines = BootstrapLines(test.n, test.asker, test.parameter("comparison") == "strict")
    whole = whole_interval(path)
    name = method if whole == ("ci",) else whole[1] if whole[0] == "intervals" else None
    if name is not None:
        return lines.interval(path, name, test.parameter("level"))
    if path == ("p_value",):
        return lines.p_value(path, test.parameter("alternative"))
    if path == ("bootstrap_mean",):
        return test.valued(path, lambda b, m: (2 * b - m) / test.n, "rising", relative=0, tie=0.0)
    return lines.fraction(path)


def _randomization(test: BinaryTest, path: Path) -> Line | EndLines | None:
    if test.parameter("convention") != "standard" or test.parameter("metric") not in ("mean", "accuracy"):
        return None
    alternative = test.parameter("alternative")
    if path == ("p_value",):
        return test.valued(
            path, lambda b, m: mcnemar.p_values(b, m - b, "exact", alternative), sides_pattern(alternative)
        )
    return None


def _equivalence(test: BinaryTest, path: Path) -> Line | EndLines | None:
    return EquivalenceLines(test).line_of(path) if test.margin is not None else None


_TESTS: dict[str, Callable[[BinaryTest, Path], Line | EndLines | None]] = {
    "mcnemar": _mcnemar,
    "paired-difference": _paired_difference,
    "paired-bootstrap": _paired_bootstrap,
    "randomization": _randomization,
    "equivalence": _equivalence,
}
