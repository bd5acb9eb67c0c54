"""Lint of what rules assert: whether every state in which a rule holds bears out its hypothesis' claim."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

from service.domain.checks.margins import add_reasons, margin_findings
from service.domain.checks.mending import mend
from service.domain.plans.findings import Finding, error, warning
from service.domain.plans.plan import Plan
from service.domain.plans.sections.endpoint import Endpoint
from service.domain.rules.claims.about import effect_of
from service.domain.rules.claims.assertion import OPPOSITE, States, states
from service.domain.rules.claims.claim import WANTED, Gap, Target
from service.domain.rules.claims.clauses import Reader, denying, meaning_of
from service.domain.rules.claims.words import describe_claim, quantity
from service.domain.rules.rule import All, AnyOf, Clause, Comparison, Excludes, Is, Not, Rule
from service.domain.rules.settings import Setting
from service.stats.shared.declaring.shows import Covers, PValue
from service.stats.shared.declaring.shows import Finding as Found
from service.words import say


def claim_findings(plan: Plan, setting: Setting) -> Iterator[Finding]:
    """Yield an error where the rule can hold without the claim; advice where a size is observed and not tested."""
    if setting.rule is None or setting.endpoint is None or setting.endpoint.kind == "counts":
        return
    if any(setting.shape(clause) in (None, "other") for clause in setting.clauses):
        return
    margins = tuple(margin_findings(plan, setting))
    yield from margins
    if any(margin.severity == "error" for margin in margins):
        plan, setting = add_reasons(plan, setting)
    assert setting.rule is not None and setting.endpoint is not None  # noqa: S101, PT018 - looked at above
    target, held = Target.of(setting), states(setting.rule, Reader.of(setting))
    gap = first_gap(target, held)
    path = f"{setting.path}.rule"
    if gap == "bound" and any(margin.severity == "error" for margin in margins):
        return  # the margin is what it lacks
    if gap is not None:
        absent = absences(setting, setting.rule)
        why = _explain_gap(setting, target, gap)
        if absent and gap not in ("size", "opposite"):
            clauses = ", ".join(f"`{clause}`" for clause in absent)
            yield error(
                "ABSENCE_OF_EVIDENCE",
                path,
                say(
                    "findings.absence_of_evidence",
                    why=why,
                    clauses=clauses,
                    absence=say("findings.absence"),
                    way_out=_describe_way_out(plan, setting, gap),
                ),
            )
        else:
            yield error(
                "CLAIM_NOT_ASSERTED",
                path,
                say("findings.claim_not_asserted", why=why, way_out=_describe_way_out(plan, setting, gap)),
            )
    elif held and not all(target.shows_size(facts) for facts in held):
        size = quantity(setting.endpoint, target.good * (target.size or Fraction(0)))
        yield warning(
            "SIZE_NOT_TESTED",
            path,
            say("findings.size_not_tested", size=size, shown=_say_most(setting.endpoint, target, held)),
        )


def contradiction_findings(setting: Setting) -> Iterator[Finding]:
    """Yield findings of clauses that no difference satisfies together, as an interval above 0 with a difference below.

    A warning: an interval by resampling holds the observed difference but for odd data.
    """
    if setting.rule is None or any(setting.shape(clause) in (None, "other") for clause in setting.clauses):
        return
    if not states(setting.rule, Reader.of(setting)):
        yield warning("CONTRADICTION", f"{setting.path}.rule", say("findings.no_difference_left"))


def _say_most(endpoint: Endpoint, target: Target, held: States) -> str:
    """Describe what the rule shows of the true difference in every state in which it holds."""
    turned = [facts if target.good == 1 else facts.turn() for facts in held]
    most = [max((fact.at for fact in facts.shown if fact.side == 1), default=None) for facts in turned]
    if None in most or not most:
        return say("findings.shows_nothing")
    beyond = quantity(endpoint, target.good * min(margin for margin in most if margin is not None))
    return say("findings.shows_above" if target.good == 1 else "findings.shows_below", size=beyond)


def asserts_claim(setting: Setting) -> bool:
    """Tell whether the rule can hold, and only where its claim follows."""
    if setting.rule is None:
        return False
    held = states(setting.rule, Reader.of(setting))
    return bool(held) and first_gap(Target.of(setting), held) is None


def first_gap(target: Target, held: States) -> Gap | None:
    """Return what some state in which the rule holds lacks; None when the claim follows in all of them."""
    gaps = {target.gap(facts) for facts in held}
    return next((gap for gap in ("bound", "opposite", "direction", "size") if gap in gaps), None)


def absences(setting: Setting, rule: Rule, *, denied: bool = False) -> tuple[Clause, ...]:
    """Return the clauses that hold where a test finds nothing."""
    match rule:
        case All() | AnyOf():
            missing = [absence for part in rule.parts for absence in absences(setting, part, denied=denied)]
            return tuple(dict.fromkeys(missing))
        case Not():
            return absences(setting, rule.part, denied=not denied)
        case _:
            return (rule,) if _is_absence(setting, rule, denied=denied) else ()


def _without_absences(setting: Setting) -> Rule | None:
    """Return the parts of the rule that rest on no absence; None where all do."""
    rule = setting.rule
    parts = rule.parts if isinstance(rule, All) else () if rule is None else (rule,)
    present = tuple(part for part in parts if not absences(setting, part))
    if present == parts:
        return rule
    return All(parts=present) if len(present) > 1 else next(iter(present), None)


def _turn_round(setting: Setting, rule: Rule | None) -> Rule | None:
    """The rule with every clause that holds where a test finds nothing turned round; None where one cannot be."""
    match rule:
        case All() | AnyOf():
            parts = [_turn_round(setting, part) for part in rule.parts]
            turned = tuple(dict.fromkeys(part for part in parts if part is not None))
            if len(turned) == 1:
                return turned[0]
            return None if None in parts else type(rule)(parts=turned)
        case Not() if isinstance(rule.part, Comparison | Excludes | Is):
            if not _is_absence(setting, rule.part, denied=True):
                return rule
            return _ask_below(rule.part) if isinstance(rule.part, Comparison) else rule.part
        case Comparison() if _is_absence(setting, rule, denied=False):
            return _ask_below(rule)
        case Is() if _is_absence(setting, rule, denied=False):
            return rule.model_copy(update={"value": True})
        case _:
            return None if rule is not None and absences(setting, rule) else rule


def _ask_below(clause: Comparison) -> Rule:
    """Return the clause that asks for a p-value below the threshold of another clause."""
    return clause.model_copy(update={"operator": "<"})


def _is_absence(setting: Setting, clause: Clause, *, denied: bool) -> bool:
    """Tell whether a clause, or its denial, holds because a thing was not shown, as a p above a threshold does."""
    use = setting.uses.get(clause.field.test or "")
    meaning = None if use is None else meaning_of(use, clause.field.path)[0]
    match clause, meaning:
        case Comparison(), PValue():
            operator = OPPOSITE[clause.operator] if denied else clause.operator
            return operator in (">", ">=")
        case Excludes(), Covers():
            return denied
        case Is(), Found():
            return clause.value == denied
        case _:
            return False


def _explain_opposite(setting: Setting, target: Target) -> str:
    """Say which clauses let the rule hold on data that show the opposite, and why no other clause helps."""
    hypothesis, endpoint, reader = setting.hypothesis, setting.endpoint, Reader.of(setting)
    assert endpoint is not None  # noqa: S101 - callers have one
    blamed = denying(setting, target, reader)
    clauses = ", ".join(f"`{clause}`" for clause in blamed) or say("findings.a_test_in_it")
    says = describe_claim(target, hypothesis, endpoint)
    uses = [use for clause in blamed if (use := setting.use_of(clause)) is not None]
    if uses and not any(effect_of(use).of_means for use in uses):
        side = "greater" if target.good == 1 else "less"
        return say("findings.takes_either_side", claimed=says, clauses=clauses, side=side)
    return say("findings.opposite_shown", claimed=says, clauses=clauses)


def _explain_gap(setting: Setting, target: Target, gap: Gap) -> str:
    """Say what a rule that holds leaves open of the claim: its size, direction or bound, or even its opposite."""
    hypothesis, endpoint = setting.hypothesis, setting.endpoint
    assert endpoint is not None  # noqa: S101 - callers have one
    if gap == "size":
        size = quantity(endpoint, target.good * (target.size or Fraction(0)))
        return say("findings.size_unreached", size=size)
    if gap == "opposite":
        return _explain_opposite(setting, target)
    says = describe_claim(target, hypothesis, endpoint)
    if gap == "direction":
        side = "above" if target.good == 1 else "below"
        return say(f"findings.direction_{side}", claimed=says, baseline=str(hypothesis.baseline))
    return say("findings.bound_unshown", claimed=says)


def _list_kept(setting: Setting, gap: Gap) -> Iterator[tuple[Rule | None, str]]:
    """Yield what to keep of the rule beside a clause to add, and what that is called: best first."""
    if setting.rule is not None and absences(setting, setting.rule):
        turned = _turn_round(setting, setting.rule)
        if gap != "bound" and turned is not None:
            yield turned, "turn that round"
        yield _without_absences(setting), "leave that out"
    else:
        yield setting.rule, ""


def _describe_way_out(plan: Plan, setting: Setting, gap: Gap) -> str:
    """Describe the first change that would make the rule assert the claim, or what the claim needs in general."""
    for kept, how in _list_kept(setting, gap):
        way = mend(plan, setting, gap, kept)
        if way is not None:
            steps = [how] if how else []
            steps += [] if way.test is None else [f"add the test {way.test}"]
            steps += [] if way.clause is None else [f"add the clause `{way.clause}`"]
            steps_text = " and ".join([*([", ".join(steps[:-1])] if steps[:-1] else []), steps[-1]])
            return say("findings.mend", steps=steps_text, rule=str(way.rule))
    about = setting.hypothesis.about or "mean"
    if about != "mean":
        return say("findings.mend_about", what=say(f"verdicts.about_{about}"))
    if setting.reference is not None:
        return say("findings.mend_one_arm")
    if WANTED[setting.hypothesis.claim]:
        return say("findings.mend_equivalence")
    other = "lower" if Target.of(setting).good == 1 else "higher"
    return say("findings.mend_direction", better=other)
