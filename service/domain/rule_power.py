"""What the rule of each hypothesis can show with the planned data.

Independent binary pairs are enumerated, every possible outcome weighed; clusters and other endpoints are
simulated with a fixed seed. What cannot be worked out is null beside its reason.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping

import numpy as np

from service.domain.attainability import attainable, field_bounds, size_of
from service.domain.enumerated_rule import EnumeratedRule
from service.domain.enumerated_tests import BinaryTest
from service.domain.equivalence_reach import equivalence_reach
from service.domain.exact_power import ExactPower, plausible
from service.domain.feeding import parameter, takes_clusters
from service.domain.least_p import Size, least_p
from service.domain.lint_rules import rule_findings
from service.domain.lint_settings import Setting, settings
from service.domain.lint_tests import parameter_findings, use_findings
from service.domain.plan import Plan
from service.domain.population import ManifestFacts
from service.domain.recent import Recent
from service.domain.rule_power_records import EquivalenceReach, LeastP, RulePower
from service.domain.simulated_power import ICC, SimulatedPower
from service.errors import InvalidData

SWITCHED = ("equivalence", "non_inferiority")
"""Claims that should come out where the arms do not differ."""

REMEMBERED = 256

MOST_HYPOTHESES = 20
"""A lock waits for the power of so many rules and not for more."""

TOO_MANY = f"power is worked out for the first {MOST_HYPOTHESES} hypotheses of a plan"

MOST_ITEMS = 20_000
"""Independent items up to which every outcome is weighed."""


def rule_powers(plan: Plan, facts: Mapping[str, ManifestFacts]) -> tuple[RulePower, ...]:
    """The whole table, one entry per hypothesis."""
    return tuple(
        _remembered(*_key(plan, facts, index), whole=True)
        if index < MOST_HYPOTHESES
        else RulePower(hypothesis=each.id, method=None, reason=TOO_MANY)
        for index, each in enumerate(plan.hypotheses or ())
    )


def power_at_reference(plan: Plan, facts: Mapping[str, ManifestFacts], setting: Setting) -> RulePower:
    """What a lock needs to know: whether the rule can pass, and its power where the claim should come out."""
    if setting.index >= MOST_HYPOTHESES:
        return RulePower(hypothesis=setting.hypothesis.id, method=None, reason=TOO_MANY)
    return _remembered(*_key(plan, facts, setting.index), whole=False)


def _key(plan: Plan, facts: Mapping[str, ManifestFacts], index: int) -> tuple[str, str]:
    """All that power depends on, as text."""
    hypothesis = (plan.hypotheses or ())[index]
    manifest = facts.get(hypothesis.population)
    slim = plan.model_copy(
        update={
            "hypotheses": (hypothesis,),
            "populations": tuple(each for each in plan.populations or () if each.id == hypothesis.population),
            "thresholds": None,
            "title": None,
        }
    )
    return slim.canonical_text(), "" if manifest is None else manifest.model_dump_json()


def _remembered(plan_text: str, facts_text: str, *, whole: bool) -> RulePower:
    """Of the only hypothesis of a plan. The same text has the same numbers; its hash is kept, not the text."""
    key = hashlib.sha256(f"{whole}{len(plan_text)}{plan_text}{facts_text}".encode()).digest()
    found = _known.get(key)
    if found is None:
        found = _computed(plan_text, facts_text, whole=whole)
        _known.add(key, found, 1)
    return found


_known: Recent[bytes, RulePower] = Recent(REMEMBERED)


def _computed(plan_text: str, facts_text: str, *, whole: bool) -> RulePower:
    plan = Plan.from_json(plan_text)
    setting = settings(plan)[0]
    manifest = ManifestFacts.model_validate_json(facts_text) if facts_text else None
    return _of(plan, setting, manifest, whole=whole)


def _of(plan: Plan, setting: Setting, manifest: ManifestFacts | None, *, whole: bool) -> RulePower:
    hypothesis, population, endpoint = setting.hypothesis, setting.population, setting.endpoint
    sesoi = (plan.sesoi or {}).get(hypothesis.endpoint)
    if (
        setting.rule is None
        or population is None
        or endpoint is None
        or endpoint.kind == "counts"
        or not _ready(plan, setting)
    ):
        return RulePower(hypothesis=hypothesis.id, method=None, reason="the plan is not complete here")
    size = size_of(population, {population.id: manifest} if manifest else {})
    base = RulePower(
        hypothesis=hypothesis.id,
        method=None,
        n=size.n,
        n_clusters=size.n_clusters,
        sesoi=None if sesoi is None else float(sesoi.exact()),
        least_p=tuple(_least(setting, size)) if whole else (),
    )
    binary = endpoint.collapsed_kind == "binary"
    changes: dict[str, object] = {}
    rule: EnumeratedRule | None = None
    if binary:
        rule = EnumeratedRule(setting, sesoi)
        changes |= _reached(plan, setting, rule, size.n)
    if attainable(setting.rule, field_bounds(setting, size)) is False:
        changes["can_pass"] = False
    if changes.get("can_pass") is False:
        why = "no outcome makes the rule true"
        return base.model_copy(update={**changes, "reason": why})
    if sesoi is None:
        return base.model_copy(update={**changes, "reason": "power needs a SESOI: give the endpoint one"})
    if rule is not None and not _sees_clusters(setting) and size.n > MOST_ITEMS:
        changes["reason"] = f"power is worked out up to {MOST_ITEMS} items"
    elif rule is not None and not _sees_clusters(setting):
        changes |= _exact(rule, float(sesoi.exact()), size.n, whole=whole)
    elif endpoint.replicates > 1 and endpoint.kind == "binary" and not binary:
        changes["reason"] = "a mean of replicates is neither right or wrong nor a free score: not simulated"
    else:
        changes |= _simulated(plan, setting, size, manifest, binary=binary, whole=whole)
    return base.model_copy(update=changes)


def _ready(plan: Plan, setting: Setting) -> bool:
    """True when the rule and its tests have no error of their own."""
    named = {clause.field.test for clause in setting.clauses} - {None}
    if not named <= set(setting.uses):
        return False
    found = (*rule_findings(setting), *parameter_findings(plan), *use_findings(plan, setting))
    if any(each.severity == "error" for each in found):
        return False
    sesoi, endpoint = (plan.sesoi or {}).get(setting.hypothesis.endpoint), setting.endpoint
    if sesoi is not None and endpoint is not None:
        try:
            sesoi.for_endpoint(binary=endpoint.kind == "binary")
        except InvalidData:
            return False
    return True


def _sees_clusters(setting: Setting) -> bool:
    """True when items are drawn in clusters, whether or not the tests know."""
    return setting.population is not None and setting.population.clusters is not None


def _reached(plan: Plan, setting: Setting, rule: EnumeratedRule, n: int) -> dict[str, object]:
    """Whether some outcome passes, by the counts alone, and with how many discordant items."""
    likely = plausible(None if rule.sesoi is None else float(rule.sesoi.exact()))
    can_pass, least = rule.reach(n, likely if n <= MOST_ITEMS else ())
    return {
        "can_pass": can_pass,
        "least_discordant": least,
        "equivalence": tuple(_reach(plan, setting, n)),
    }


def _exact(rule: EnumeratedRule, sesoi: float, n: int, *, whole: bool) -> dict[str, object]:
    power = ExactPower(rule, n, sesoi, rule.setting.hypothesis.claim)
    reference = power.at(power.reference, power.goal)
    reasons = "; ".join(dict.fromkeys(rule.unknown.values()))
    changes: dict[str, object] = {
        "method": "exact" if reference.power is not None else None,
        "reason": reasons or None,
        "reference": reference,
    }
    if whole:
        known = not rule.unknown
        changes |= {
            "assumptions": "items are independent and all of them are in",
            "power": tuple(power.table()),
            "detectable": tuple(power.detectable()) if known else (),
            "required": tuple(power.required()) if known else (),
        }
    return changes


def _simulated(
    plan: Plan,
    setting: Setting,
    size: Size,
    manifest: ManifestFacts | None,
    *,
    binary: bool,
    whole: bool,
) -> dict[str, object]:
    sesoi = (plan.sesoi or {}).get(setting.hypothesis.endpoint)
    if sesoi is None:
        return {}
    clustered = _sees_clusters(setting)
    sizes = np.ones(size.n, dtype=np.int64)
    if clustered:
        g = size.n_clusters or 1
        equal = np.full(g, size.n // g) + (np.arange(g) < size.n % g)
        sizes = np.array(manifest.cluster_sizes) if manifest and manifest.cluster_sizes else equal
        if len(sizes) < 2 or sizes.min() < 1:
            return {"reason": "fewer than two clusters with items"}
    times = 0 if setting.hypothesis.claim in SWITCHED else 2
    power = SimulatedPower(setting, sesoi, sizes, clustered, binary, times)
    reference = power.at(power.reference, times * power.direction)
    changes: dict[str, object] = {
        "method": "simulated" if reference.power is not None else None,
        "reason": reference.reason,
        "reference": reference,
    }
    if whole and reference.power is not None:
        within = f"items of a cluster correlate by {ICC:g}" if clustered else "items are independent"
        shape = "" if binary else "differences are normal; "
        changes |= {
            "assumptions": f"{shape}{within}; {power.n_sets} data sets per entry, intervals and p-values of "
            "bootstraps and of swapped scores from 800 shared resamples where not listed",
            "power": tuple(power.table()),
        }
    return changes


def enumerated(plan: Plan, setting: Setting) -> EnumeratedRule | None:
    """The rule over every outcome; None for an endpoint that is not right or wrong."""
    if setting.endpoint is None or setting.endpoint.collapsed_kind != "binary":
        return None
    sesoi = (plan.sesoi or {}).get(setting.hypothesis.endpoint)
    return EnumeratedRule(setting, sesoi)


def _least(setting: Setting, size: Size) -> Iterator[LeastP]:
    for test_id, use in setting.uses.items():
        least, why = least_p(use, size, setting.population)
        if least > 0:
            yield LeastP(test=test_id, p_value=float(least), reason=why)
        elif "p_value" in use.test.analysis.model_fields:
            yield LeastP(test=test_id, p_value=None, reason="the design sets no least p that is known here")


def _reach(plan: Plan, setting: Setting, n: int) -> Iterator[EquivalenceReach]:
    sesoi = (plan.sesoi or {}).get(setting.hypothesis.endpoint)
    for use in setting.uses.values():
        if (
            setting.endpoint is None
            or setting.population is None
            or takes_clusters(use.test, setting.population)
        ):
            continue
        if use.test.name == "equivalence" and parameter(use.use, "design") == "paired":
            found = equivalence_reach(BinaryTest(use, setting.endpoint, n, sesoi))
            if found is not None:
                yield found
