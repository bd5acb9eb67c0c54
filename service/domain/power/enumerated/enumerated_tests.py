"""A statistical test of a plan on n independent binary pairs: its parameters, its answers, its fields."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from typing_extensions import override

from service.domain.plans.sections.endpoint import Endpoint
from service.domain.rules.answers import Answer
from service.domain.rules.feeding import build_request, margin_for, parameter
from service.domain.rules.settings import Use
from service.domain.rules.truth import Ends
from service.errors import ForelockError
from service.stats.shared.declaring.cell_lines import Asker, EndLines, Line
from service.stats.shared.declaring.cells import Cells
from service.stats.shared.declaring.common import Margin
from service.stats.shared.declaring.shows import Path


@dataclass(frozen=True)
class BinaryTest(Cells):
    """A test of a plan on n independent binary pairs."""

    use: Use
    endpoint: Endpoint
    n: int
    sesoi: Margin | None
    _answers: dict[tuple[int, int], dict[str, Any]] = field(default_factory=dict, repr=False)

    def line_of(self, path: Path) -> Line | EndLines | None:
        """Return a field as a line over the cells; None when the discordant counts do not decide it."""
        plan = self.use.test.plan
        if plan is None or plan.cells is None:
            return None
        return plan.cells(self, path) or self.common(path)

    @override
    def parameter(self, name: str) -> Any:
        """Return a parameter as the test will see it."""
        return parameter(self.use.use, name)

    @property
    @override
    def margin_limit(self) -> Fraction | None:
        """The margin of an equivalence test, a proportion."""
        given = self.use.use.parameters.get("margin")
        margin = self.sesoi if given is None else Margin.model_validate(given)
        return None if margin is None else margin.exact()

    @override
    def asker(self, path: Path) -> Asker:
        """Return what the test itself answers for a cell; nothing where it gives a bound above the threshold."""

        def ask(b: int, m: int, threshold: float) -> float | None:
            seen = Answer(self.answer(b, m)).observe(*path)
            observed = seen.value
            if seen.bound is not None and isinstance(observed, float) and threshold < observed:
                return None
            return None if observed is None or isinstance(observed, Ends) else float(observed)

        return ask

    def answer(self, b: int, m: int) -> dict[str, Any]:
        """Return the test's answer as a verdict would read it: fields are observed in it."""
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
