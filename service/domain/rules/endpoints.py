"""A rule by endpoint: what it asks of its hypothesis' own endpoint, and of each other one.

A test of a plan may read another endpoint than its hypothesis': "no worse in quality and cheaper" is one rule. Joined
by `and`, such a rule is an intersection-union test: each part at the full level (Berger 1982, Technometrics 24:295).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from service.domain.rules.rule import All, Clause, Rule, clauses, sentence
from service.domain.rules.settings import Setting, settings


@dataclass(frozen=True, slots=True)
class Parts:
    """The conjuncts of a rule by the endpoint they speak of; `own` is None where none speaks of the hypothesis' own."""

    own: Rule | None
    others: Mapping[str, Rule]


def other_endpoints(setting: Setting) -> tuple[str, ...]:
    """The ids of the other endpoints that the rule speaks of, in order of mention."""
    named = (setting.use_of(clause) for clause in setting.clauses)
    endpoints = (each.use.endpoint for each in named if each is not None and each.beside)
    return tuple(dict.fromkeys(endpoint for endpoint in endpoints if endpoint is not None))


def parts_of(setting: Setting) -> Parts | None:
    """The rule by endpoint; None where it cannot be read, or one of its conjuncts speaks of several endpoints."""
    if setting.rule is None:
        return None
    parts: dict[str | None, list[Rule]] = {}
    for part in setting.rule.parts if isinstance(setting.rule, All) else (setting.rule,):
        about = {_endpoint(setting, clause) for clause in clauses(part)}
        if len(about) > 1:
            return None
        parts.setdefault(about.pop(), []).append(part)
    own = parts.pop(None, [])
    return Parts(_joined(own) if own else None, {str(name): _joined(each) for name, each in parts.items()})


def _endpoint(setting: Setting, clause: Clause) -> str | None:
    use = setting.use_of(clause)
    return use.use.endpoint if use is not None and use.beside else None


def _joined(parts: list[Rule]) -> Rule:
    return parts[0] if len(parts) == 1 else All(parts=tuple(parts))


def own_part(setting: Setting, rule: Rule) -> Setting:
    """The hypothesis with only this part of its rule, in a plan that has it so."""
    return _changed(setting, {"rule": sentence(rule)})


def on_endpoint(setting: Setting, endpoint: str) -> Setting:
    """The hypothesis as it stands on another endpoint, under what its rule asks there, in a plan that has it so.

    The rule is kept whole where it is no conjunction by endpoint: what it asks there cannot be told apart.
    """
    parts = parts_of(setting)
    rule = None if parts is None else parts.others.get(endpoint)
    return _changed(
        setting,
        {
            "endpoint": endpoint,
            "claim": "superiority",
            "equivalence": None,
            "statement": "what the rule asks of another endpoint",
            "rule": setting.hypothesis.rule if rule is None else sentence(rule),
        },
    )


def _changed(setting: Setting, update: Mapping[str, object]) -> Setting:
    plan, hypothesis = setting.plan, setting.hypothesis.model_copy(update=update)
    hypotheses = tuple(hypothesis if each.id == hypothesis.id else each for each in plan.hypotheses or ())
    return settings(plan.model_copy(update={"hypotheses": hypotheses}))[setting.index]
