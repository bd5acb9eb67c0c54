"""Lint of levels: rules, and families of them, that hold more often where they should not than they say."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from functools import partial

from service.domain.decision.members import asks_small_p, members, p_clauses
from service.domain.lint.one_arm import explain_one_arm_excess, format_error
from service.domain.plans.findings import Finding, warning
from service.domain.plans.manifest import ManifestFacts
from service.domain.plans.plan import Plan
from service.domain.power.answers.level_records import SLACK, SURE, RuleLevel, exceeds, limit_of
from service.domain.power.distributions.shapes import name_shape
from service.domain.power.hypothesis_numbers import NOT_READY
from service.domain.power.levels.level import level_of
from service.domain.rules.claims.clauses import meaning_of
from service.domain.rules.feeding import of_these_items, parameter
from service.domain.rules.rule import Clause, Comparison
from service.domain.rules.settings import Setting
from service.stats.shared.declaring import registry
from service.stats.shared.declaring.shows import PValue, by_alpha
from service.words import list_values, message, say


def level_findings(
    plan: Plan, facts: Mapping[str, ManifestFacts], looked_up: tuple[Setting, ...]
) -> Iterator[Finding]:
    """Yield a warning for every rule above its alpha, and for a family that nothing corrects."""
    level_by_hypothesis = {setting.hypothesis.id: level_of(plan, facts, setting) for setting in looked_up}
    for setting in looked_up:
        level = level_by_hypothesis[setting.hypothesis.id]
        if level.level is not None and exceeds(level.level, level.standard_error, limit_of(level.alpha)):
            text = (
                _explain_excess(level, level.level, _say_way_out(setting, level))
                if setting.reference is None
                else explain_one_arm_excess(setting.hypothesis.id, level, _say_limit(level))
            )
            yield warning("LEVEL_EXCEEDED", f"{setting.path}.rule", text)
        elif (unknown := _explain_unknown(level)) is not None:
            above = [
                warning(
                    "LEVEL_EXCEEDED",
                    f"{setting.path}.rule",
                    say(
                        "findings.level_of_threshold", clause=str(clause), alpha=f"{alpha:g}", unknown=unknown
                    ),
                )
                for clause, alpha in _list_above_alpha(setting)
            ]
            yield from above
            if not above and level.reason != NOT_READY:
                yield warning(
                    "LEVEL_UNKNOWN", f"{setting.path}.rule", say("findings.level_unknown", why=unknown)
                )
    family = [setting for setting in looked_up if setting.hypothesis.id in members(plan)]
    levels = [level_by_hypothesis[setting.hypothesis.id] for setting in family]
    yield from _check_family(plan, levels)
    yield from _check_correction(plan, family, levels)


def _explain_unknown(level: RuleLevel) -> str | None:
    """Say why the level cannot be compared with alpha; None where it can."""
    if level.level is None:
        return level.reason
    error = SURE * (level.standard_error or 0.0)
    return None if error <= level.alpha else say("power.simulated_within", error=f"{error:.2g}")


def _list_above_alpha(setting: Setting) -> Iterator[tuple[Clause, float]]:
    """List clauses that are content with a p-value above the alpha of their test, with that alpha."""
    for clause in dict.fromkeys(setting.clauses):
        use = setting.uses.get(clause.field.test or "")
        if use is None or not isinstance(clause, Comparison) or not asks_small_p(clause):
            continue
        if isinstance(meaning_of(use, clause.field.path)[0], PValue):
            alpha = by_alpha(partial(parameter, use.use))
            if clause.value.exact() > SLACK * alpha:
                yield clause, alpha


def _say_way_out(setting: Setting, level: RuleLevel) -> str:
    """Return what to do about a level that is too large, which an acknowledgement alone does not mend."""
    if level.world is None:
        return say("findings.way_stricter")
    if setting.endpoint is not None and setting.endpoint.bounds is not None and not setting.clustered:
        if setting.endpoint.estimand == "these_items":
            ask = next(test for test in registry.latest().values() if of_these_items(test))
            return say("findings.way_unseen_losses", version=ask.version, test=ask.name)
        return say("findings.way_bounded", test=registry.serving("bounded").name)
    return say("findings.way_more_items")


def _explain_excess(level: RuleLevel, chance: float, way_out: str) -> str:
    """Explain in which world a rule holds more often than alpha though its claim is false, and the way out."""
    if level.ratio is not None:
        return say(
            "findings.level_ratio",
            endpoint=str(level.endpoint),
            ratio=f"{level.ratio:g}",
            chance=f"{chance:.2g}",
            error=f"{level.standard_error or 0.0:.2g}",
            alpha=f"{level.alpha:g}",
            cv=f"{level.cv:g}",
        )
    where = (
        message("findings.at_discordance", share=f"{level.discordance:.3g}")
        if level.discordance is not None
        else message("findings.at_sd", sd=f"{level.spread:.3g}")
    )
    if level.icc is not None:
        where = message("findings.at_correlation", world=where, icc=f"{level.icc:g}")
    at = message("findings.no_true_difference")
    if level.truth:
        at = message("findings.true_difference_alone", size=_format_truth(level))
    world = [at, where, *([] if level.world is None else [name_shape(level.world)])]
    normal = (level.worlds or {}).get("normal")
    beside = "" if normal is None or level.world == "normal" else "_beside"
    return say(
        f"findings.level_exceeded{beside}",
        chance=f"{chance:.2g}",
        error=format_error(level.standard_error),
        limit=_say_limit(level),
        world=list_values(world, "lists.comma"),
        normal=f"{normal or 0.0:.2g}",
        way_out=way_out,
    )


def _say_limit(level: RuleLevel) -> str:
    """Say the chance of a false claim above which a rule is reported: alpha, or a little more for rounding."""
    limit = limit_of(level.alpha)
    if limit == level.alpha:
        return say("findings.limit_alpha", alpha=f"{level.alpha:g}")
    return say("findings.limit_above", limit=f"{limit:g}", alpha=f"{level.alpha:g}")


def _format_truth(level: RuleLevel) -> str:
    """Format the true difference of the world in which a rule is at its worst, in the endpoint's unit."""
    assert level.truth is not None  # noqa: S101 - callers have one
    return f"{level.truth:g}" if level.discordance is None else f"{100 * level.truth:g} pp"


def _check_family(plan: Plan, levels: list[RuleLevel]) -> Iterator[Finding]:
    """Yield the warning of a family without a policy, whose levels add up to more than alpha."""
    if plan.multiplicity is None or plan.multiplicity.policy != "none" or len(levels) < 2:
        return
    known = [level.level for level in levels if level.level is not None]
    most, alpha = min(sum(known), 1.0), max(level.alpha for level in levels)
    error = math.hypot(*(level.standard_error or 0.0 for level in levels))
    if not exceeds(most, error, alpha):
        return
    alone = 1 - math.prod(1 - level for level in known)
    left_out = len(levels) - len(known)
    key = "findings.family_uncorrected_in_part" if left_out else "findings.family_uncorrected"
    yield warning(
        "FAMILY_LEVEL",
        "multiplicity.policy",
        say(key, n=len(levels), most=f"{most:.2g}", alone=f"{alone:.2g}", count=left_out, alpha=f"{alpha:g}"),
    )


def _check_correction(plan: Plan, family: list[Setting], levels: list[RuleLevel]) -> Iterator[Finding]:
    """A policy keeps the family at the p-values that rules ask for, and only where these lie below alpha at alpha.

    The rest of a rule, such as an interval, is not corrected: its levels add up as without a policy.
    """
    if plan.multiplicity is None or plan.multiplicity.policy == "none" or len(levels) < 2:
        return
    alpha = max(level.alpha for level in levels)
    most = max((_least_threshold(level) for level in family), default=0.0)
    known = [level.level for level in levels if level.level is not None]
    error = 0.0
    if len(known) == len(levels) and sum(known) < most:
        most, error = sum(known), math.hypot(*(level.standard_error or 0.0 for level in levels))
    if not exceeds(most, error, alpha):
        return
    yield warning(
        "FAMILY_LEVEL",
        "multiplicity.policy",
        say(
            "findings.family_without_p",
            policy=plan.multiplicity.policy,
            n=len(levels),
            most=f"{min(most, 1.0):.2g}",
            alpha=f"{alpha:g}",
        ),
    )


def _least_threshold(setting: Setting) -> float:
    """The chance of a false claim that a policy leaves to a rule: its strictest threshold, by the way it claims."""
    shares = [1.0]
    for clause in p_clauses(setting):
        use = setting.uses.get(clause.field.test or "")
        if use is None or not isinstance(clause, Comparison):
            continue
        meaning = meaning_of(use, clause.field.path)[0]
        if isinstance(meaning, PValue):
            ways = len(meaning.ways(partial(parameter, use.use)))
            shares.append(float(clause.value.exact()) / ways)
    return min(shares)
