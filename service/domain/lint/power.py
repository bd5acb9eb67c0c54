"""Lint of what rules can show: an error where no outcome makes one true, a warning where few would."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from service.domain.plans.findings import Finding, error, warning
from service.domain.plans.plan import Plan
from service.domain.plans.population import ManifestFacts
from service.domain.power.effects import TARGETS
from service.domain.power.enumerated.rule import MOST_ROWS
from service.domain.power.lead import NAMES, half_at_most, size_of
from service.domain.power.records import LeadPower, PowerAt, RulePower
from service.domain.power.rule import enumerated, power_at_reference
from service.domain.power.shapes import WORDS
from service.domain.rules.settings import Setting

CHEAP = 120
"""Items up to which another size is looked at in milliseconds."""


def power_findings(plan: Plan, facts: Mapping[str, ManifestFacts], setting: Setting) -> Iterator[Finding]:
    """An error where no outcome makes the rule true, a warning where it would seldom be made true."""
    power = power_at_reference(plan, facts, setting)
    path = f"{setting.path}.rule"
    if power.can_pass is False:
        yield error("RULE_NEVER_PASSES", path, _never(plan, setting, power))
        return
    for reach in power.equivalence:
        if reach.most_discordant is None and reach.test == setting.hypothesis.equivalence:
            yield warning(
                "EQUIVALENCE_OUT_OF_REACH",
                f"{setting.path}.equivalence",
                f"`{reach.test}` cannot show equivalence within ±{reach.margin:g} with {power.n} items, whatever "
                "they turn out to be: plan more items, or leave `equivalence` out",
            )
    lead = power.lead
    if lead is not None and lead.least.power is not None and lead.least.power < TARGETS[0]:
        yield warning("LOW_POWER", path, _low(lead, lead.least.power))


def _low(lead: LeadPower, least: float) -> str:
    low, high, half = lead.least, lead.high, half_at_most(lead)
    truth = "no true difference" if low.ratio is None else f"a true ratio of {size_of(low)}"
    if low.ratio is None and low.truth != 0:
        truth = f"a true difference of {size_of(low)} ({NAMES[lead.effect][0]})"
    if lead.low is None or high is None or high.power is None:
        said = f"with {truth} and {_where(low)} the rule would hold with a chance of {_chance(low, least)}, below"
        narrow = ""
    else:
        below = "below" if high.power < TARGETS[0] else "not everywhere at"
        said = (
            f"with {truth} the rule would hold with a chance from {_chance(low, least)} ({_where(low)}) to "
            f"{_chance(high, high.power)} ({_where(high)}), {below}"
        )
        narrow = "state `assumptions` to narrow this; "
    said = f"{said} {TARGETS[0]:g}{_elsewhere(lead)}"
    if half is None:
        return f"{said}: {narrow}plan more items, or accept that the rule will often miss it"
    return (
        f"{said}. {half[0][0].upper()}{half[0][1:]}: ask for a smaller one and plan more items, or accept it"
    )


def _elsewhere(lead: LeadPower) -> str:
    """The chance at larger differences, under the reference."""
    said = [
        f"{_chance(each, each.power)} with {size_of(each)}"
        for each in lead.curve
        if each.power is not None and abs(each.truth) > abs(lead.reference.truth)
    ]
    if not said:
        return ""
    reference = lead.reference
    own = _chance(reference, reference.power or 0.0)
    at = "" if lead.low is None else f"at {_where(reference)} it is {own}, and "
    return f" ({at}{', '.join(said)})"


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
    if at.shape is not None:
        said.append(WORDS[at.shape][0])
    if at.missing is not None:
        said.append(f"{at.missing:.0%} of results not ok")
    if at.others == "not_true":
        said.append("no other hypothesis true")
    if at.others == "at_goal":
        said.append("the others true as well")
    return ", ".join(said)


def _never(plan: Plan, setting: Setting, power: RulePower) -> str:
    rule = enumerated(plan, setting)
    n = power.n or 0
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
