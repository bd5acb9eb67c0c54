"""The candidate that was chosen on the very items that judge it: what its estimate is at least, whichever was chosen.

Of n variants the best by chance looks better than it is. What the others did, no record knows, so that neither their
simultaneous interval nor how alike they are can be computed. Bonferroni needs neither: the chance that any of n bounds,
each of error alpha / n, lies beyond its own truth is at most alpha, and so is that of the one that was chosen, by
whatever it was chosen. (Sidak's bound is hardly nearer, and holds of variants that are independent: on the same items
none are.) The bound is that of the interval which the verdict reads, at alpha / n on the side of the claim.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any

from service.domain.plans.plan import TestUse
from service.domain.rules.answers import Answer, JsonObject
from service.domain.rules.claims.claim import good_direction
from service.domain.rules.feeding import order_of
from service.domain.rules.settings import Setting
from service.domain.rules.truth import Ends
from service.domain.verdicts.analyses import request_for
from service.domain.verdicts.pairs import Paired
from service.domain.verdicts.parts import Selection
from service.domain.verdicts.reading import read_interval
from service.errors import ForelockError
from service.stats.shared.declaring import registry
from service.stats.shared.methods.resampling import MOST_DRAWS
from service.words import say

BEYOND_BOUND = 20
"""Draws that have to lie beyond a bound for it to be given."""


def bound_selection(setting: Setting, paired: Paired, answers: Mapping[str, JsonObject]) -> Selection | None:
    """Return what a choice on these items leaves of the estimate; None where the plan names none on them."""
    plan, tried = setting.plan, setting.plan.tried
    own = {population.id for population in plan.tried_on_own()}
    if tried is None or own.isdisjoint(plan.tasks(setting.hypothesis.population)):
        return None
    none = Selection(tried=tried.n, on=tried.on, bound=None, confidence=None, of=None)

    def without(why: str) -> Selection:
        return none.model_copy(update={"reason": say(f"reasons.{why}")})

    if setting.hypothesis.claim == "equivalence":
        return without("selected_equivalence")
    read = read_interval(setting, answers, filled=paired.excluded.filled > 0)
    name, _, path = ("" if read is None else read.of).partition(".")
    use = setting.plan.test(name)
    if read is None or read.level is None or use is None:
        return without("selected_no_interval")
    # Bonferroni: the one-sided error of the interval that the rule reads, shared among the variants
    tail = (1 - read.level) / 2 / tried.n
    answer = _answer_at(setting, use, paired, 1 - 2 * tail)
    ends = None if answer is None else answer.observe(*path.split(".")).value
    if answer is None or not isinstance(ends, Ends):
        return without("selected_other_level")
    if not _has_draws_beyond(answer, tail):
        return without("selected_few_draws")
    bound = ends.low if good_direction(setting.endpoint) > 0 else ends.high
    if bound is None or not math.isfinite(bound):
        return without("selected_no_interval")
    confidence = 1 - (1 - read.level) / 2
    return none.model_copy(update={"bound": float(bound), "confidence": confidence, "of": read.of})


def _answer_at(setting: Setting, use: TestUse, paired: Paired, level: float) -> Answer | None:
    """Return the same test on the same data, its interval at another level; None where it has none at that."""
    try:
        test = registry.find(use.test, use.version)
        # at another level a sequential design would have stopped elsewhere
        if "level" not in test.request.model_fields or order_of(test) is not None:
            return None
        parameters: dict[str, Any] = {**use.parameters, "level": level}
        if "n_resamples" in test.request.model_fields:
            parameters["n_resamples"] = MOST_DRAWS
        request = request_for(setting.plan, test, use.model_copy(update={"parameters": parameters}), paired)
        if test.cost(request) > registry.MOST_SECONDS:
            return None
        return Answer(json.loads(test.answer(request).model_dump_json()))
    except (ForelockError, ValueError, ArithmeticError):
        # a request that the test refuses, or data that it cannot compute at this level (linear algebra fails with a
        # ValueError): a bound that cannot be had must not keep a plan from its verdict, and a fault of ours must show
        return None


def _has_draws_beyond(answer: Answer, tail: float) -> bool:
    """Enough draws lie beyond the bound, where there are draws."""
    provenance = answer.stored.get("provenance")
    drawn = provenance.get("n_resamples") if isinstance(provenance, dict) else None
    return not isinstance(drawn, int) or drawn * tail >= BEYOND_BOUND
