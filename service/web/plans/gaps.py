"""What a plan lacks and what its rules can show, for people: from the plan alone, so nothing follows from results."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from service.domain.lint.lint import lint
from service.domain.plans.findings import Finding
from service.domain.plans.manifest import ManifestFacts
from service.domain.plans.plan import Plan
from service.domain.power.answers.lead import half_at_most, name_effect, size_of
from service.domain.power.answers.records import PowerAt, RulePower
from service.domain.power.rule_power import power_at_reference
from service.domain.rules.settings import resolve
from service.web.html.speech import Say
from service.web.preregistrations.findings_view import FindingView, merge_findings
from service.web.preregistrations.hypothesis_view import canonical

MOST_SHOWN = 8
"""Hypotheses whose power a page waits for."""


@dataclass(frozen=True, slots=True)
class RuleView:
    """One hypothesis' rule, and what it can show."""

    id: str
    statement: str
    rule: str
    sentences: tuple[str, ...]
    reason: str
    """Why power is not known, in English, as lint has it."""
    known: bool
    """Its power is."""


@dataclass(frozen=True, slots=True)
class Gaps:
    """What stands between a plan and its lock, and what it can show."""

    errors: tuple[FindingView, ...]
    asked: tuple[FindingView, ...]
    """Warnings that the lock must acknowledge."""
    advice: tuple[FindingView, ...]
    rules: tuple[RuleView, ...]

    @property
    def codes(self) -> tuple[str, ...]:
        """Of the warnings to acknowledge, each once."""
        return tuple(dict.fromkeys(finding.code for finding in self.asked))


def gaps_of(
    plan: Plan, facts: Mapping[str, ManifestFacts], say: Say, findings: Sequence[Finding] | None = None
) -> Gaps:
    """Lint and power of a plan; `findings` are what lint said at its lock. It may take seconds."""
    findings = lint(plan, facts) if findings is None else findings
    warnings = [finding for finding in findings if finding.severity == "warning"]
    return Gaps(
        errors=merge_findings(plan, (finding for finding in findings if finding.severity == "error")),
        asked=merge_findings(plan, (finding for finding in warnings if finding.asks)),
        advice=merge_findings(plan, (finding for finding in warnings if not finding.asks)),
        rules=tuple(_view_rules(plan, facts, say)),
    )


def _view_rules(plan: Plan, facts: Mapping[str, ManifestFacts], say: Say) -> Iterator[RuleView]:
    """Yield what the page shows of each rule and its power, up to `MOST_SHOWN` hypotheses."""
    for setting in resolve(plan).settings[:MOST_SHOWN]:
        power = power_at_reference(plan, facts, setting)
        known = power.lead is not None and power.lead.reference.power is not None
        yield RuleView(
            id=setting.hypothesis.id,
            statement=setting.hypothesis.statement,
            rule=canonical(setting.hypothesis.rule),
            sentences=tuple(power_sentences(power, say)),
            reason="" if known or power.can_pass is False else power.reason or "",
            known=known,
        )


def power_sentences(power: RulePower, say: Say) -> Iterator[str]:
    """Yield how often the rule would hold, and what that rests on."""
    if power.n_clusters is not None:
        yield say("pages.n_items_in_n_clusters_clusters", n=power.n, n_clusters=power.n_clusters)
    elif power.n is not None:
        yield say("pages.n_items_are_planned", n=power.n)
    if power.can_pass is False:
        yield say("pages.no_outcome_makes_this_rule")
    lead = power.lead
    if lead is None or lead.reference.power is None:
        return
    share = _describe_share(lead.reference.power, say)
    one_arm = lead.reference.mean is not None
    if one_arm:
        yield say(
            "pages.if_the_true_mean_is",
            truth=difference(lead.reference, say),
            name=name_effect(lead.effect).text(say.language),
            share=share,
        )
    elif lead.effect == "no_difference":
        yield say("pages.if_there_is_no_true", share=share)
    else:
        yield say(
            "pages.if_the_true_difference_is",
            truth=difference(lead.reference, say),
            name=name_effect(lead.effect).text(say.language),
            share=share,
        )
    low, high = (None if point is None else point.power for point in (lead.low, lead.high))
    if low is not None and high is not None and _share(low) != _share(high):
        yield say("pages.by_what_is_not_known", low=_share(low), high=_share(high))
    half = half_at_most(lead)
    if half is not None:
        yield say("pages.more_items_do_not_help", half=half.text(say.language))
    for point in lead.curve:
        if point.power is not None and abs(point.truth) > abs(lead.reference.truth):
            yield say(
                "pages.with_a_true_mean_of" if one_arm else "pages.with_a_true_difference_of",
                truth=difference(point, say),
                share=_describe_share(point.power, say),
            )


def difference(at: PowerAt, say: Say) -> str:
    """Return a true difference in its unit, or the true mean of one arm."""
    if at.mean is not None:
        return size_of(at)
    if at.discordance is None:
        return f"{at.truth:+.4g}"
    return say("units.points", value=f"{100 * at.truth:+.2f}")


def _share(power: float) -> str:
    """Of a hundred studies; never rounded to none or all, which no number of simulated studies shows either."""
    return "<1" if power < 0.005 else ">99" if power >= 0.995 else f"{100 * power:.0f}"


def _describe_share(power: float, say: Say) -> str:
    """Of how many in a hundred studies, in words."""
    share = _share(power)
    codes = {"<1": "pages.share_fewer", ">99": "pages.share_more"}
    return say(codes[share]) if share in codes else say("pages.share_about", share=share)
