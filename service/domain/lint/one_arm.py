"""Lint of rules about one arm: what they can show at all, how often, and at which level."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from service.domain.plans.findings import Finding, error, warning
from service.domain.plans.manifest import ManifestFacts
from service.domain.power.answers.lead import chance_of, size_of
from service.domain.power.answers.level_records import RuleLevel
from service.domain.power.answers.records import RulePower
from service.domain.power.one_arm.arm import Arm, counts_runs
from service.domain.power.one_arm.attainability import Best, least_units
from service.domain.power.two_arms.effects import TARGETS
from service.domain.rules.claims.clauses import meaning_of
from service.domain.rules.feeding import parameter
from service.domain.rules.settings import Setting
from service.domain.rules.truth import Ends
from service.stats.shared.declaring.shows import Bounded
from service.stats.shared.methods.item_standing import runs_of_perfect_items
from service.words import say


def one_arm_findings(
    setting: Setting, facts: Mapping[str, ManifestFacts], power: RulePower
) -> Iterator[Finding]:
    """Find an error where the best data do not make the rule true, a warning where it would seldom hold."""
    path, arm = f"{setting.path}.rule", Arm.of(setting, facts)
    if power.can_pass is False and arm is not None:
        yield error("RULE_NEVER_PASSES", path, _explain_never(setting, arm))
        return
    lead = power.lead
    if lead is None or lead.least.power is None or lead.least.power >= TARGETS[0]:
        return
    further = [at for at in lead.curve if at.power is not None and abs(at.truth) > abs(lead.reference.truth)]
    listed = ", ".join(say("findings.chance_at", chance=chance_of(at), size=size_of(at)) for at in further)
    yield warning(
        "LOW_POWER",
        path,
        say(
            "findings.one_arm_low_power",
            power=chance_of(lead.least),
            truth=say("findings.true_mean", mean=size_of(lead.least)),
            target=f"{TARGETS[0]:g}",
            elsewhere=say("findings.also_at", listed=listed) if listed else "",
        ),
    )


def explain_one_arm_excess(name: str, level: RuleLevel, limit: str) -> str:
    """Explain that a rule about one arm holds too often where its claim is false."""
    mean = f"{100 * (level.mean or 0.0):.4g}%" if level.spread is None else f"{level.mean:.4g}"
    world = say("findings.true_mean", mean=mean)
    if level.icc is not None:
        world = say("findings.level_at_icc", mean=mean, icc=f"{level.icc:g}")
    return say(
        "findings.one_arm_level",
        name=name,
        chance=f"{level.level or 0.0:.2g}",
        error=format_error(level.standard_error),
        limit=limit,
        world=world,
    )


def format_error(error: float | None) -> str:
    """Return the standard error of a simulated chance, behind the chance; empty where it is exact."""
    return "" if error is None else say("findings.simulated_error", error=f"{error:.2g}")


def _count_runs(setting: Setting, arm: Arm) -> int | None:
    """Runs of every item that would show all of them reliable, where the rule asks that of each."""
    for clause in setting.clauses:
        use = setting.use_of(clause)
        meaning = None if use is None else meaning_of(use, clause.field.path)[0]
        if use is not None and isinstance(meaning, Bounded) and arm.right_or_wrong and 0 < arm.reference < 1:
            tail = meaning.error(lambda name, use=use: parameter(use.use, name))  # type: ignore[misc]
            return runs_of_perfect_items(arm.n, arm.reference, tail)
    return None


def _explain_never(setting: Setting, arm: Arm) -> str:
    """Say why the rule does not hold even where every result is the best there is, and from how many on it can."""
    best = Best(setting, arm)
    score = "" if arm.right_or_wrong else "_score"
    kind = "labels" if arm.labels is not None else "runs" if counts_runs(setting) else "items"
    units = say(f"findings.{kind}")
    reasons = []
    for clause in best.fails(arm.units):
        value = best.observe(clause, arm.units).value
        if isinstance(value, Ends):
            value = value.low if arm.good > 0 else value.high
        if not isinstance(value, float | int):
            continue
        mean = arm.right_or_wrong and clause.field.path[-1] not in ("p_meets", "p_falls_short")
        least_text = f"{100 * value:.3g}%" if mean else f"{float(value):.3g}"
        reasons.append(
            say(
                f"findings.best_bound{score}",
                units=arm.units,
                unit=units,
                field=str(clause.field),
                value=least_text,
            )
        )
    least = least_units(best)
    key = "findings.no_least" if least is None else f"findings.least_units{score}"
    reason = say(key) if least is None else say(key, least=least, unit=units)
    runs = _count_runs(setting, arm)
    if least is None and runs is not None:
        reason = say("findings.least_runs", least=runs)
    return say("findings.one_arm_never_passes", reasons="; ".join(reasons), least=reason)
