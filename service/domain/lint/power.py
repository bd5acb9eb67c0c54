"""Lint of what rules can show: an error where no outcome makes one true, a warning where few would."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from service.domain.plans.findings import Finding, error, warning
from service.domain.plans.plan import Plan
from service.domain.plans.population import ManifestFacts
from service.domain.power.effects import TARGETS
from service.domain.power.enumerated.rule import MOST_ROWS
from service.domain.power.records import PowerAt, RulePower
from service.domain.power.rule import enumerated, power_at_reference
from service.domain.rules.settings import Setting

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
                f"`{reach.test}` cannot show equivalence within ±{reach.margin:g} with {found.n} items, whatever "
                "they turn out to be: plan more items, or leave `equivalence` out",
            )
    low = found.low or found.reference
    if low is not None and low.power is not None and low.power < TARGETS[0]:
        yield warning("LOW_POWER", path, _low(found, low, low.power))


def _low(found: RulePower, low: PowerAt, least: float) -> str:
    truth = "no true difference" if low.ratio is None else f"a true ratio of {low.ratio:.3g}"
    if low.ratio is None and low.truth != 0:
        size = f"{100 * low.truth:g} pp" if low.discordance is not None else f"{low.truth:g}"
        usual = found.sesoi is not None and abs(abs(low.truth) - 2 * found.sesoi) < 1e-12
        truth = f"a true difference of {size}{' (2 x SESOI)' if usual else ''}"
    more = "plan more items, or accept that the rule will often miss it"
    high = found.high
    if found.low is None or high is None or high.power is None:
        within = f"{_where(low)} the rule would hold with a chance of {_chance(low, least)}"
        return f"with {truth} and {within}, below {TARGETS[0]:g}: {more}"
    below = "below" if high.power < TARGETS[0] else "not everywhere at"
    return (
        f"with {truth} the rule would hold with a chance from {_chance(low, least)} ({_where(low)}) to "
        f"{_chance(high, high.power)} ({_where(high)}), {below} {TARGETS[0]:g}: state `assumptions` to narrow this; "
        f"{more}"
    )


def _chance(at: PowerAt, power: float) -> str:
    error = "" if at.standard_error is None else f" ± {at.standard_error:.2g}"
    return f"{power:.2g}{error}"


def _where(at: PowerAt) -> str:
    """What is true there, beside the difference."""
    said = [
        f"{at.discordance:.0%} of items discordant"
        if at.discordance is not None
        else f"a coefficient of variation of {at.cv:g}"
        if at.cv is not None
        else f"an SD of {at.spread:g}"
    ]
    if at.icc is not None:
        said.append(f"an ICC of {at.icc:g}")
    if at.missing is not None:
        said.append(f"{at.missing:.0%} of results not ok")
    if at.others == "not_true":
        said.append("no other hypothesis true")
    if at.others == "at_goal":
        said.append("the others true as well")
    return ", ".join(said)


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
