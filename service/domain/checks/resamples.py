"""Lint of named numbers of resamples: whether a rule can tell a number that is drawn from its threshold.

A clause on a drawn number holds where everything that more draws could show holds it (`certainty`). Of few draws that
is nothing: the plan would be locked with a rule that no data make true unless their distribution happens to be exact.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

from service.domain.decision.members import asks_small_p
from service.domain.plans.findings import Finding, error, warning
from service.domain.rules.feeding import parameter
from service.domain.rules.rule import Clause, quantities
from service.domain.rules.settings import Setting, Use
from service.stats.shared.declaring.certainty import draws_below, draws_beyond, of_share
from service.words import say

ENDS = ("ci", "intervals")


def resample_findings(setting: Setting, use: Use) -> Iterator[Finding]:
    """Yield findings of a test whose resamples may have to be drawn, when the plan says how often."""
    endpoint, plan_use, asked = setting.endpoint_of(use), use.test.plan, partial(parameter, use.use)
    if endpoint is None or plan_use is None or endpoint.collapsed_kind == "binary":
        return
    draws = asked("n_resamples")
    # Where no number is named, a p near alpha is drawn ten times as often.
    if not isinstance(draws, int) or not plan_use.drawn(asked):
        return
    path = f"tests[{use.index}].parameters.n_resamples"
    clauses = [clause for clause in setting.clauses if clause.field.test == use.use.id]
    yield from _check_p(clauses, draws, path)
    if any(clause.field.path[0] in ENDS or setting.shape(clause) == "truth" for clause in clauses):
        # A test that says whether something is shown compares the ends of an interval at 1 - 2 alpha with its margin.
        level: Any = asked("level")
        alpha: Any = asked("alpha")
        tail = float(alpha) if level is None else (1 - float(level)) / 2
        enough = draws_beyond(tail)
        if draws < enough:
            values = {"draws": draws, "level": round(1 - 2 * tail, 9), "enough": enough}
            yield error("RESAMPLES", path, say("findings.no_end_known", **values))


def _check_p(clauses: list[Clause], draws: int, path: str) -> Iterator[Finding]:
    """Yield a finding if `draws` resamples cannot show a p below the clauses' smallest threshold, or seldom do."""
    small = [clause for clause in clauses if asks_small_p(clause)]
    alpha = min((float(quantity.exact()) for clause in small for quantity in quantities(clause)), default=0.0)
    if not 0 < alpha < 1:
        return
    most, enough = of_share(0.0, draws)[1], draws_below(alpha)
    values = {"draws": draws, "alpha": alpha, "enough": enough, "most": round(most, 4)}
    if most >= alpha:
        yield error("RESAMPLES", path, say("findings.no_p_below", **values))
    elif draws < enough:
        yield warning("RESAMPLES", path, say("findings.few_p_below", **values))
