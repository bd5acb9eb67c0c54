"""What a rule can still turn out to be before any result is in.

Exact tests on few clusters or few items have a least p. A rule that asks for less can never pass,
and a clause that always holds or contradicts another says less than it seems to. Fields are
bounded, each clause is tried at every point where its truth can change, and Kleene's logic does
the rest; fields without known bounds stay unknown, so nothing possible is called impossible.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise

from service.domain.decision.members import asks_small_p
from service.domain.plans.findings import Finding, error, warning
from service.domain.plans.manifest import ManifestFacts
from service.domain.power.attainable.least_family import LeastFamily
from service.domain.power.attainable.least_p import Size, least_p, size_of
from service.domain.rules.rule import All, AnyOf, Clause, Comparison, Is, Not, Rule, Within, quantities
from service.domain.rules.settings import Setting
from service.domain.rules.truth import Truth, carry_up, holds
from service.words import say

SCALARS = ("delta", "p_value", "low", "high")
"""Fields that hold one number, whatever the test."""

COUNTS = (
    "n_discordant", "n_swappable", "n_nonzero", "n_clusters", "only_candidate", "only_baseline",
    "both_correct", "both_wrong",
)  # fmt: skip
"""Fields that count items or clusters of the plan."""

SEARCH = 64
"""How many more clusters or items are tried when looking for what a rule needs."""


@dataclass(frozen=True, slots=True)
class Bounds:
    """The least and greatest value a field can take, and why."""

    low: Fraction
    high: Fraction
    why: str = ""


def attainability_findings(
    setting: Setting, facts: Mapping[str, ManifestFacts], family: LeastFamily | None
) -> Iterator[Finding]:
    """Yield whether the rule can pass at all, and which of its clauses do no work; `family` adjusts its p-values."""
    if (
        setting.rule is None
        or setting.population is None
        or any(not setting.shape(c) for c in setting.clauses)
    ):
        return
    path, size = f"{setting.path}.rule", size_of(setting.population, facts)
    bounds = field_bounds(setting, size, family)
    if attainable(setting.rule, bounds) is False:
        yield error("RULE_NEVER_PASSES", path, _explain_never(setting, setting.rule, bounds, size, family))
        return
    for clause in setting.clauses:
        truth = clause_truth(clause, bounds)
        if truth is not None:
            code, says = ("REDUNDANT_CLAUSE", "always") if truth else ("CONTRADICTION", "never")
            yield warning(code, path, say(f"findings.clause_{says}_holds", clause=str(clause)))
    for group in _list_conjunctions(setting.rule):
        yield from _warn_of_redundant(group, bounds, path)


def field_bounds(setting: Setting, size: Size, family: LeastFamily | None = None) -> dict[str, Bounds]:
    """Return bounds of the rule's fields, by their text, for that much data; of p-values as `family` adjusts them."""
    bounds: dict[str, Bounds] = {}
    for clause in setting.clauses:
        use = setting.uses.get(clause.field.test or "")
        endpoint = setting.endpoint_of(use)
        binary = endpoint is not None and endpoint.kind == "binary"
        if setting.shape(clause) == "interval":
            continue
        if clause.field.path == ("delta",) and binary:
            bounds[str(clause.field)] = Bounds(Fraction(-1), Fraction(1), "proportions differ by at most 1")
        elif clause.field.path == ("p_value",) and use is not None:
            least, why = least_p(use, size, setting.population)
            same_field = [other for other in setting.clauses if other.field == clause.field]
            if family is not None and all(asks_small_p(other) for other in same_field):
                least, why = family.adjust(setting.hypothesis.id, least, why)
            bounds[str(clause.field)] = Bounds(least, Fraction(1), why)
        elif clause.field.path[-1] in COUNTS:
            most = size.n if clause.field.path != ("n_clusters",) else size.n_clusters
            if most is not None:
                why = f"it counts at most {most}"
                bounds[str(clause.field)] = Bounds(Fraction(0), Fraction(most), why)
    return bounds


def attainable(rule: Rule, bounds: Mapping[str, Bounds]) -> Truth:
    """Return the rule's truth whatever the results; None when it depends on them."""
    match rule:
        case All() if any(_contradict(group, bounds) for group in _by_field(rule.parts)):
            return False
        case All() | AnyOf() | Not():
            return carry_up(rule, lambda part: attainable(part, bounds))
        case _:
            return clause_truth(rule, bounds)


def clause_truth(clause: Clause, bounds: Mapping[str, Bounds]) -> Truth:
    """Return a clause's truth whatever the results; None when it depends on them or on a field without bounds."""
    if str(clause.field) not in bounds:
        return None
    truths = {holds(clause, point) for point in _points([clause], bounds)}
    return truths.pop() if len(truths) == 1 else None


def _points(clauses: Iterable[Clause], bounds: Mapping[str, Bounds]) -> list[Fraction] | list[bool]:
    """Values of one field between and at which the truth of these clauses can change."""
    clauses = list(clauses)
    if isinstance(clauses[0], Is):
        return [False, True]
    turns = {quantity.exact() for clause in clauses for quantity in quantities(clause)}
    known = bounds.get(str(clauses[0].field))
    low, high = (known.low, known.high) if known else (min(turns) - 1, max(turns) + 1)
    ends = sorted({low, high, *(turn for turn in turns if low <= turn <= high)})
    return sorted({*ends, *((a + b) / 2 for a, b in pairwise(ends))})


def _by_field(parts: Sequence[Rule]) -> list[list[Clause]]:
    """Clauses of a conjunction that ask for one and the same number or truth."""
    groups: dict[str, list[Clause]] = {}
    for part in parts:
        if isinstance(part, (Comparison, Within)) and part.field.path[-1] in SCALARS:
            groups.setdefault(str(part.field), []).append(part)
        elif isinstance(part, Is):
            groups.setdefault(f"{part.field} is", []).append(part)
    return [group for group in groups.values() if len(group) > 1]


def _contradict(group: list[Clause], bounds: Mapping[str, Bounds]) -> bool:
    return not any(all(holds(clause, point) for clause in group) for point in _points(group, bounds))


def _warn_of_redundant(group: list[Clause], bounds: Mapping[str, Bounds], path: str) -> Iterator[Finding]:
    """Yield warnings for clauses on one field that contradict each other, or of which one follows from another."""
    if _contradict(group, bounds):
        names = " and ".join(f"`{clause}`" for clause in group)
        yield warning("CONTRADICTION", path, say("findings.contradiction", names=names))
        return
    points = _points(group, bounds)
    for index, clause in enumerate(group):
        for other_index, other in enumerate(group):
            implied = all(holds(clause, point) for point in points if holds(other, point))
            mutual = implied and all(holds(other, point) for point in points if holds(clause, point))
            if index != other_index and implied and (not mutual or index > other_index):
                yield warning(
                    "REDUNDANT_CLAUSE",
                    path,
                    say("findings.redundant_clause", clause=str(clause), other=str(other)),
                )
                break


def _list_conjunctions(rule: Rule) -> Iterator[list[Clause]]:
    """Yield the clauses that a rule joins by `and`, field by field, at every depth."""
    match rule:
        case All():
            yield from _by_field(rule.parts)
            for part in rule.parts:
                yield from _list_conjunctions(part)
        case AnyOf():
            for part in rule.parts:
                yield from _list_conjunctions(part)
        case Not():
            yield from _list_conjunctions(rule.part)
        case _:
            return


def _explain_never(
    setting: Setting, rule: Rule, bounds: Mapping[str, Bounds], size: Size, family: LeastFamily | None
) -> str:
    """Return the sentence of a rule that no outcome makes true: why, and what would let it hold."""
    why = []
    for clause in setting.clauses:
        truth = clause_truth(clause, bounds)
        if truth is not None:
            because = f", because {reason}" if (reason := bounds[str(clause.field)].why) else ""
            why.append(f"`{clause}` {'always holds' if truth else 'can never hold'}{because}")
    if not why:
        groups = [group for group in _list_conjunctions(rule) if _contradict(group, bounds)]
        why = [" and ".join(f"`{clause}`" for clause in group) + " contradict each other" for group in groups]

    def passes(more: int, by: LeastFamily | None) -> bool:
        return attainable(rule, field_bounds(setting, size.grow(more), by)) is not False

    needed = next(
        (more for more in range(1, SEARCH) if passes(more, None if family is None else family.grow(more))),
        None,
    )
    if needed is None:
        ways_out = ["mend the thresholds"]
    elif size.n_clusters is not None:
        least = size.n_clusters + needed
        ways_out = [f"plan at least {least} clusters", "a test that can reach the threshold"]
    else:
        ways_out = [f"plan at least {size.n + needed} items"]
    if family is not None and passes(0, None):
        others = [
            other_policy for other_policy in family.other_policies if passes(0, family.under(other_policy))
        ]
        ways_out += ["fewer hypotheses in the family"]
        ways_out += [f"the policy {' or '.join(f'`{other}`' for other in others)}"] if others else []
    *before, last = ways_out
    way_out = f"{', '.join(before)}, or {last}" if before else last
    reasons = "; ".join(why) or "its clauses exclude each other"
    return say("findings.unattainable", reasons=reasons, ways_out=way_out)
