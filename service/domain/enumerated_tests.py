"""A statistical test of a plan on n independent binary pairs: its parameters, its answers, its intervals."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np
from scipy import special

from service.domain.enumerated_lines import Asker, EndLines, Line, Pattern, stepped, valued
from service.domain.feeding import build_request, margin_for, parameter
from service.domain.fields import observe
from service.domain.lint_settings import Use
from service.domain.plan import Endpoint
from service.domain.rule_truth import TIE, Ends
from service.errors import ForelockError
from service.kernels import tango
from service.kernels.rule_enumeration import Floats, Ints
from service.stats.common import Margin

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
    def margin_limit(self) -> Fraction | None:
        """The margin of an equivalence test, a proportion."""
        given = self.use.use.parameters.get("margin")
        margin = self.sesoi if given is None else Margin.model_validate(given)
        return None if margin is None else margin.exact()

    @property
    def margin(self) -> float | None:
        """The same as the test computes with it."""
        limit = self.margin_limit
        return None if limit is None else float(limit)

    def asker(self, path: Path) -> Asker:
        """What the test itself answers for a cell; nothing where it gives a bound above the threshold."""

        def ask(b: int, m: int, threshold: float) -> float | None:
            seen = observe(self.answer(b, m), path)
            observed = seen.value
            if seen.bound is not None and isinstance(observed, float) and threshold < observed:
                return None
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

    def valued(self, path: Path, value: Callable[[Ints, Ints], Floats], pattern: Pattern, **how: Any) -> Line:
        """A float field of this test."""
        return valued(value, pattern, self.asker(path), **how)

    def tango(self, path: Path, level: float) -> EndLines:
        """The score interval: an end lies above x just when the score at x is beyond the quantile."""
        z, n = float(special.ndtri(0.5 + level / 2)), self.n

        def score(b: Ints, m: Ints, x: float) -> Floats:
            if abs(x) > 1:
                return np.full(len(b), -np.inf if x > 0 else np.inf)
            return tango.scores(b, m - b, n, x)

        return EndLines(
            stepped(score, z, self.asker((*path, "low")), slack=1e-7),
            stepped(score, -z, self.asker((*path, "high")), slack=1e-7),
        )

    def wald(self, path: Path, level: float) -> EndLines:
        """Wald's interval; undecided where it is a single point."""
        z, n = float(special.ndtri(0.5 + level / 2)), self.n

        def end(side: int) -> Callable[[Ints, Ints], Floats]:
            def of(b: Ints, m: Ints) -> Floats:
                delta = (2 * b - m) / n
                half = z * np.sqrt(np.maximum(m / n - delta**2, 0.0) / n)
                end = np.clip(delta + side * half, -1.0, 1.0)
                return np.where((m == 0) | (np.abs(2 * b - m) == n), np.nan, end)

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
