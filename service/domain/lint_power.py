"""Lint of what rules can show: an error where no outcome makes one true, a warning where few would."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from service.domain.enumerated_rule import MOST_ROWS
from service.domain.exact_power import TARGET
from service.domain.findings import Finding, error, warning
from service.domain.lint_settings import Setting
from service.domain.plan import Plan
from service.domain.population import ManifestFacts
from service.domain.rule_power import enumerated, power_at_reference
from service.domain.rule_power_records import PowerAt, RulePower

CHEAP = 120
"""Items up to which another size is looked at in milliseconds."""


def power_findings(plan: Plan, facts: Mapping[str, ManifestFacts], setting: Setting) -> Iterator[Finding]:
    """An error where no outcome makes the rule true, a warning where it would seldom be made true."""
    found = power_at_reference(plan, facts, setting)
    path = f"{setting.path}.rule"
    if found.can_pass is False:
        yield error("RULE_NEVER_PASSES", path, _never(plan, setting, found))
        return
    for reach in found.equivalence:
        if reach.most_discordant is None and reach.test == setting.hypothesis.equivalence:
            yield warning(
                "EQUIVALENCE_OUT_OF_REACH",
                f"{setting.path}.equivalence",
                f"`{reach.test}` cannot show equivalence within +-{reach.margin:g} with {found.n} items, whatever "
                "they turn out to be: plan more items, or leave `equivalence` out",
            )
    at = found.reference
    if at is not None and at.power is not None and at.power < TARGET:
        yield warning("LOW_POWER", path, _low(at))


def _low(at: PowerAt) -> str:
    binary = at.discordance is not None
    scale = f"{at.discordance:.0%} of items discordant" if binary else f"an SD of {at.spread:g}"
    size = f"{100 * at.truth:g} pp" if binary else f"{at.truth:g}"
    truth = "no true difference" if at.truth == 0 else f"a true difference of {size} (2 x SESOI)"
    error = "" if at.standard_error is None else f" (simulated, SE {at.standard_error:.2g})"
    return (
        f"with {truth} and {scale} the rule would hold with a chance of {at.power:.2g}{error}, below "
        f"{TARGET:g}: plan more items, or accept that the rule will often miss it"
    )


def _never(plan: Plan, setting: Setting, found: RulePower) -> str:
    rule = enumerated(plan, setting)
    n = found.n or 0
    needed = next(
        (more for more in _larger(n) if rule is not None and rule.reach(more, ())[0] is not False), None
    )
    way_out = "mend the thresholds" if needed is None else f"plan more items ({needed} would do)"
    return (
        f"the rule can never be true: of all outcomes that {n} items can have, none makes it true, though each "
        f"clause could be met. To mend it, {way_out}"
    )


def _larger(n: int) -> Iterator[int]:
    """A few sizes above n: growing by a quarter while that is cheap, else twice n."""
    size = n
    while size < CHEAP:
        size += max(1, size // 4)
        yield size
    if size == n and 2 * n <= MOST_ROWS:
        yield 2 * n
