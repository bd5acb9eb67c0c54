"""Lint of what claims are about: the means, or the medians, quantiles and ranks that a plan declares."""

from __future__ import annotations

from collections.abc import Iterator

from service.domain.plans.findings import Finding, warning
from service.domain.plans.sections.hypothesis import About
from service.domain.rules.claims.about import about_of, effect_of, find_named
from service.domain.rules.claims.assertion import states
from service.domain.rules.claims.clauses import Reader, meaning_of
from service.domain.rules.settings import Setting
from service.stats.shared.declaring.shows import Bounded, Covers, PValue
from service.words import say


def about_findings(setting: Setting) -> Iterator[Finding]:
    """Yield a warning where the rule shows another effect than the claim is about, or the statement names another."""
    hypothesis = setting.hypothesis
    about: About = hypothesis.about or "mean"
    stated, lone = find_named(hypothesis.statement), _find_lone(setting)
    path = f"{setting.path}.about"
    if lone is not None and lone[0] != about and about == "mean":
        other, tests = lone
        yield warning(
            "ABOUT_DIFFERS",
            path,
            say(
                "findings.about_shown",
                what=say(f"verdicts.about_{about}"),
                shown=say(f"verdicts.about_{other}"),
                tests=", ".join(f"`{test}`" for test in tests),
                about=other,
            ),
        )
    elif stated is not None and stated != about and {stated, about} != {"median", "quantile"}:
        yield warning(
            "ABOUT_DIFFERS",
            path,
            say(
                "findings.about_named",
                what=say(f"verdicts.about_{about}"),
                named=say(f"verdicts.about_{stated}"),
                about=stated,
            ),
        )


def _about(setting: Setting, name: str) -> About:
    """Return what a test, or one of its fields, bears out."""
    test, _, path = name.partition(".")
    meaning = meaning_of(setting.uses[test], tuple(path.split(".")))[0] if path else None
    own = meaning.effect if isinstance(meaning, Covers | Bounded | PValue) else None
    return about_of(own or effect_of(setting.uses[test]))


def _find_lone(setting: Setting) -> tuple[About, list[str]] | None:
    """Return what a rule shows some way by tests of other effects alone, and these tests; None where it shows means."""
    if setting.rule is None or any(setting.shape(clause) in (None, "other") for clause in setting.clauses):
        return None
    for way in states(setting.rule, Reader.of(setting)):
        tests = sorted({fact.of for fact in way.shown if fact.of is not None})
        if tests and len(tests) == len({fact.of for fact in way.shown}):
            return _about(setting, tests[0]), tests
    return None
