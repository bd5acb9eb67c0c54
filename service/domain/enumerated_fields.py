"""Fields of statistical tests on independent binary pairs, as lines over the cells of n items.

Only what the discordant counts decide is here; `line_of` gives None for every other field.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy import special

from service.domain.enumerated_bootstrap import BootstrapLines
from service.domain.enumerated_lines import EndLines, Line, Pattern, counted, exact_delta, stepped, valued
from service.domain.feeding import build_request, margin_for, parameter
from service.domain.fields import observe
from service.domain.lint_settings import Use
from service.domain.plan import Endpoint
from service.domain.rule_truth import TIE, Ends
from service.errors import ForelockError
from service.kernels.power import tango_scores
from service.kernels.rule_enumeration import Floats, Ints, mcnemar_p
from service.kernels.sparse_equivalence import sparse_p_below
from service.stats.common import Margin

SPARSE = 10
"""Below this many discordant items the equivalence test adds an exact p-value."""

Path = tuple[str, ...]


@dataclass(frozen=True)
class BinaryTest:
    """A test of a plan on n independent binary pairs."""

    use: Use
    endpoint: Endpoint
    n: int
    sesoi: Margin | None
    _answers: dict[tuple[int, int], dict[str, Any]] = field(default_factory=dict, repr=False)

    def parameter(self, name: str) -> Any:
        """As the test will see it."""
        return parameter(self.use.use, name)

    @property
    def margin(self) -> float | None:
        """The margin of an equivalence test, a proportion."""
        given = self.use.use.parameters.get("margin")
        margin = self.sesoi if given is None else Margin.model_validate(given)
        return None if margin is None else float(margin.exact())

    def line_of(self, path: Path) -> Line | EndLines | None:
        """The field as a line over the cells; None when the discordant counts do not decide it."""
        make = _TESTS.get(self.use.test.name)
        return None if make is None else make(self, path) or self._common(path)

    def asker(self, path: Path) -> Callable[[int, int], float | None]:
        """What the test itself answers for a cell."""

        def ask(b: int, m: int) -> float | None:
            observed = observe(self.answer(b, m), path).value
            return None if observed is None or isinstance(observed, Ends) else float(observed)

        return ask

    def answer(self, b: int, m: int) -> dict[str, Any]:
        """The test's answer as a verdict would read it: `observe` finds the fields."""
        if (b, m) not in self._answers:
            c, n = m - b, self.n
            request = build_request(
                self.use.test,
                self.use.use,
                baseline=[1.0] * c + [0.0] * (n - c),
                candidate=[0.0] * c + [1.0] * b + [0.0] * (n - m),
                clusters=None,
                margin=None if self.sesoi is None else margin_for(self.sesoi, self.endpoint, True),
            )
            try:
                analysis = self.use.test.compute(request).model_dump(mode="json")
            except ForelockError as refused:
                analysis, refusal = None, refused.detail
                self._answers[b, m] = {"analysis": analysis, "reason": refusal}
            else:
                self._answers[b, m] = {"analysis": analysis}
        return self._answers[b, m]

    def valued(self, path: Path, value: Callable[[Ints, Ints], Floats], pattern: Any, **how: Any) -> Line:
        """A float field of this test."""
        return valued(value, pattern, self.asker(path), **how)

    def _common(self, path: Path) -> Line | None:
        if path == ("delta",):
            return self.valued(path, lambda b, m: (2 * b - m) / self.n, "rising", tie=TIE, relative=0)
        if path in (("n_discordant",), ("n_swappable",)):
            return counted(lambda b, m: m, "row")
        if path == ("n",):
            return counted(lambda b, m: np.full_like(m, self.n), "row")
        if path == ("counts", "only_candidate"):
            return counted(lambda b, m: b, "rising")
        if path == ("counts", "only_baseline"):
            return counted(lambda b, m: m - b, "falling")
        return None

    def tango(self, path: Path, level: float) -> EndLines:
        """The score interval: an end lies above x just when the score at x is beyond the quantile."""
        z, n = float(special.ndtri(0.5 + level / 2)), self.n

        def score(b: Ints, m: Ints, x: float) -> Floats:
            if abs(x) > 1:
                return np.full(len(b), -np.inf if x > 0 else np.inf)
            return tango_scores(b, m - b, n, x)

        return EndLines(
            stepped(score, z, self.asker((*path, "low")), slack=1e-7),
            stepped(score, -z, self.asker((*path, "high")), slack=1e-7),
        )

    def wald(self, path: Path, level: float) -> EndLines:
        """Wald's interval."""
        z, n = float(special.ndtri(0.5 + level / 2)), self.n

        def end(side: int) -> Callable[[Ints, Ints], Floats]:
            def of(b: Ints, m: Ints) -> Floats:
                delta = (2 * b - m) / n
                half = z * np.sqrt(np.maximum(m / n - delta**2, 0.0) / n)
                return np.clip(delta + side * half, -1.0, 1.0)

            return of

        return EndLines(
            self.valued((*path, "low"), end(-1), "any", tie=TIE, relative=0),
            self.valued((*path, "high"), end(1), "any", tie=TIE, relative=0),
        )

    def interval(self, path: Path, method: str) -> Line | EndLines | None:
        """An interval of the difference by name, or one end of it."""
        end = path[-1] if path[-1] in ("low", "high") else None
        whole = path[:-1] if end else path
        makers = {"tango": self.tango, "wald": self.wald}
        if method not in makers:
            return None
        ends = makers[method](whole, self.parameter("level"))
        return ends if end is None else getattr(ends, end)


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
            path, lambda b, m: mcnemar_p(b, m - b, method, alternative), sides_pattern(alternative)
        )
    if path == ("min_attainable_p",):
        side = "two-sided" if alternative == "two-sided" else "greater"
        return test.valued(path, lambda b, m: mcnemar_p(m, 0 * m, method, side), "row")
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
        return test._common(path)
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
            path, lambda b, m: mcnemar_p(b, m - b, "exact", alternative), sides_pattern(alternative)
        )
    return None


def _equivalence(test: BinaryTest, path: Path) -> Line | EndLines | None:
    method, alpha, margin = test.parameter("method"), test.parameter("alpha"), test.margin
    if test.parameter("design") != "paired" or margin is None:
        return None
    whole = whole_interval(path)
    if method == "bootstrap_ci":
        lines = BootstrapLines(test.n, test.asker, strict=False, degenerate=True)
        if whole == ("ci",):
            return lines.interval(path, "percentile", 1 - 2 * alpha)
        return lines.margins(path, margin, touch=test.parameter("bounds") == "seed")
    if method == "t":
        return None
    if whole == ("ci",):
        ends = test.tango(whole, 1 - 2 * alpha)
        return ends if path == whole else getattr(ends, path[-1])

    def upper(b: Ints, m: Ints) -> Floats:
        p: Floats = special.ndtr(tango_scores(b, m - b, test.n, margin))
        for cell in np.flatnonzero(m < SPARSE).tolist():
            exact = sparse_p_below(int(b[cell]), int((m - b)[cell]), test.n, margin)
            p[cell] = max(float(p[cell]), exact)
        return p

    def lower(b: Ints, m: Ints) -> Floats:
        return upper(m - b, m)

    values: dict[Path, tuple[Callable[[Ints, Ints], Floats], Pattern]] = {
        ("p_upper",): (upper, "rising"),
        ("p_lower",): (lower, "falling"),
        ("p_value",): (lambda b, m: np.maximum(upper(b, m), lower(b, m)), "valley"),
    }
    if path not in values:
        return None
    value, pattern = values[path]
    return test.valued(path, value, pattern, relative=1e-8, costly=True)


_TESTS: dict[str, Callable[[BinaryTest, Path], Line | EndLines | None]] = {
    "mcnemar": _mcnemar,
    "paired-difference": _paired_difference,
    "paired-bootstrap": _paired_bootstrap,
    "randomization": _randomization,
    "equivalence": _equivalence,
}

__all__ = ["BinaryTest", "exact_delta"]
