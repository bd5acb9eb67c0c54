"""Lint of what rules can show: an error where no outcome makes one true, a warning where few would."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from service.domain.lint.one_arm import one_arm_findings
from service.domain.plans.findings import Finding, error, warning
from service.domain.plans.manifest import ManifestFacts
from service.domain.plans.plan import Plan
from service.domain.power.answers.lead import chance_of, misses_half, name_effect, size_of
from service.domain.power.answers.records import LeadPower, PowerAt, RulePower
from service.domain.power.distributions.shapes import name_shape
from service.domain.power.enumerated.enumerated_rule import MOST_ROWS
from service.domain.power.hypothesis_numbers import NOT_READY
from service.domain.power.rule_power import REFUSED, build_enumerated_rule, power_at_reference
from service.domain.power.two_arms.effects import TARGETS
from service.domain.rules.settings import Setting
from service.words import Listed, Value, list_values, message, say

CHEAP = 120
"""Items up to which another size is looked at in milliseconds."""


def power_findings(plan: Plan, facts: Mapping[str, ManifestFacts], setting: Setting) -> Iterator[Finding]:
    """Yield an error where no outcome makes the rule true, a warning where it would seldom be made true."""
    power = power_at_reference(plan, facts, setting)
    path = f"{setting.path}.rule"
    if setting.suite is not None and power.can_pass is False:
        yield error("RULE_NEVER_PASSES", path, say("findings.suite_never_passes"))
        return
    if (
        setting.suite is not None
        and power.reference is None
        and power.reason not in (None, NOT_READY, REFUSED)
    ):
        yield warning("POWER_UNKNOWN", path, say("findings.suite_power_unknown", why=str(power.reason)))
    if setting.reference is not None:
        yield from one_arm_findings(setting, facts, power)
        return
    if power.can_pass is False:
        yield error("RULE_NEVER_PASSES", path, _never(plan, setting, power))
        return
    for reach in power.equivalence:
        if reach.most_discordant is None and reach.test == setting.hypothesis.equivalence:
            yield warning(
                "EQUIVALENCE_OUT_OF_REACH",
                f"{setting.path}.equivalence",
                say(
                    "findings.equivalence_out_of_reach",
                    test=reach.test,
                    margin=f"{reach.margin:g}",
                    n=str(power.n),
                ),
            )
    lead = power.lead
    if lead is not None and lead.least.power is not None and lead.least.power < TARGETS[0]:
        yield warning("LOW_POWER", path, _low(lead, lead.least.power))


def _low(lead: LeadPower, least: float) -> str:
    """Return the sentence on power below the target: at which true difference, and how far it may range."""
    low, high, key = lead.least, lead.high, "findings.low_power"
    truth = say("findings.no_true_difference")
    if low.ratio is not None:
        truth = say("findings.true_ratio", ratio=size_of(low))
    elif low.truth != 0:
        truth = say("findings.true_difference", size=size_of(low), name=name_effect(lead.effect))
    values: dict[str, Value] = {
        "truth": truth,
        "low": chance_of(low, least),
        "where": _where(low),
        "target": f"{TARGETS[0]:g}",
        "elsewhere": _elsewhere(lead),
    }
    if lead.low is not None and high is not None and high.power is not None:
        values |= {"high": chance_of(high, high.power), "where_high": _where(high)}
        key += "_range" if high.power < TARGETS[0] else "_span"
    return say(key if lead.asks_observed is None else f"{key}_half", **values, **misses_half(lead))


def _elsewhere(lead: LeadPower) -> str:
    """Describe the power at larger differences than the reference."""
    parts = [
        say("findings.chance_at", chance=chance_of(point, point.power), size=size_of(point))
        for point in lead.curve
        if point.power is not None and abs(point.truth) > abs(lead.reference.truth)
    ]
    if not parts:
        return ""
    reference = lead.reference
    listed = ", ".join(parts)
    if lead.low is None:
        return say("findings.chances_elsewhere", listed=listed)
    own = chance_of(reference, reference.power or 0.0)
    return say("findings.chances_elsewhere_from", where=_where(reference), own=own, listed=listed)


def _where(at: PowerAt) -> Listed:
    """Describe what is true beside the difference where a power is told."""
    parts = [
        message("findings.at_discordance", share=f"{at.discordance:.0%}")
        if at.discordance is not None
        else message("findings.at_cv", cv=f"{at.cv:g}")
        if at.cv is not None
        else message("findings.at_sd", sd=f"{at.spread:g}")
    ]
    if at.icc is not None:
        parts.append(message("findings.at_icc", icc=f"{at.icc:g}"))
    if at.shape is not None:
        parts.append(name_shape(at.shape))
    if at.agreement is not None:
        parts.append(message("findings.at_agreement", agreement=f"{at.agreement:g}"))
    if at.missing is not None:
        parts.append(message("findings.at_missing", share=f"{at.missing:.0%}"))
    if at.others == "not_true":
        parts.append(message("findings.at_others_not_true"))
    if at.others == "at_goal":
        parts.append(message("findings.at_others_true"))
    return list_values(parts, "lists.comma")


def _never(plan: Plan, setting: Setting, power: RulePower) -> str:
    rule = build_enumerated_rule(plan, setting)
    n = power.n or 0
    needed = next(
        (more for more in _larger(n) if rule is not None and rule.reach(more, ())[0] is not False), None
    )
    if needed is None:
        return say("findings.never_passes", n=n)
    return say("findings.never_passes_below", n=n, needed=needed)


def _larger(n: int) -> Iterator[int]:
    """Yield a few sizes above n: growing by a quarter while that is cheap, else twice n."""
    size = n
    while size < CHEAP:
        size += max(1, size // 4)
        yield size
    if size == n and 2 * n <= MOST_ROWS:
        yield 2 * n
