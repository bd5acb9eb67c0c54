"""The level of a rule that asks a test whose error is known whatever the data are like: at most that error.

Some tests keep their level at every n and of every shape (`PlanUse.keeps_level`). A rule can hold only where one of its
states does, and a state of which such a test shows what is false comes about with at most the test's error: what else
the state asks can make it rarer alone. So nothing has to be drawn, and nothing assumed of the scores.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial

from service.domain.plans.manifest import ManifestFacts
from service.domain.power.answers.level_records import RuleLevel, exceeds, limit_of
from service.domain.rules.claims.assertion import Facts, States, states
from service.domain.rules.claims.clauses import Reader
from service.domain.rules.feeding import parameter
from service.domain.rules.rule import Clause
from service.domain.rules.settings import Setting, Use


def bound_level(
    base: RuleLevel, setting: Setting, known_facts: ManifestFacts | None, truths: tuple[float, ...]
) -> RuleLevel | None:
    """Return the greatest bound over the true differences at which the claim only just fails.

    None where it says less than the rule's alpha: the rule asks no such test, or has ways to hold without it. None too
    where clusters are of several sizes.
    """
    # of clusters of one size whole clusters are independent values alike; of others nothing is proven
    if setting.rule is None or (setting.clustered and not _of_one_size(setting, known_facts)):
        return None
    ways = _list_shown(setting, lambda use: _keeps(use, clustered=setting.clustered))
    level, truth = max((sum(_error(facts, truth) for facts in ways), truth) for truth in truths)
    if exceeds(level, None, limit_of(base.alpha)):
        return None
    return base.model_copy(update={"level": level, "method": "bound", "truth": truth, "reason": None})


def reckons_with_items(setting: Setting) -> bool:
    """Tell whether every way of a rule to hold shows something by bounds that know of single items unseen.

    In clusters such bounds leave out clusters that are lost as a whole, and say so.
    """
    ways = _list_shown(setting, lambda use: _takes_range(use) and not _keeps(use, clustered=True))
    return all(facts.shown for facts in ways)


def _list_shown(setting: Setting, counts: Callable[[Use], bool]) -> States:
    """Return the states in which the rule holds, of which what tests show stands only where the test counts."""
    assert setting.rule is not None  # noqa: S101 - callers have one
    read = Reader.of(setting)

    def known(clause: Clause) -> States:
        use, facts_of_clause = setting.use_of(clause), read(clause)
        if use is not None and counts(use):
            return facts_of_clause
        return tuple(replace(facts, shown=frozenset(), may=frozenset()) for facts in facts_of_clause)

    return states(setting.rule, known)


def _keeps(use: Use, *, clustered: bool) -> bool:
    return use.test.plan is not None and use.test.plan.keeps_level(partial(parameter, use.use), clustered)


def _takes_range(use: Use) -> bool:
    return use.test.plan is not None and use.test.plan.takes_range(partial(parameter, use.use))


def _error(facts: Facts, truth: float) -> float:
    """Return the chance at most of a state at this true difference: the least error of what it shows and is false."""
    return min((one.error for one in facts.shown if one.side * (truth - float(one.at)) <= 0), default=1.0)


def _of_one_size(setting: Setting, known_facts: ManifestFacts | None) -> bool:
    """Tell whether clusters have one size, by the manifest; before there is one by the planned numbers."""
    if known_facts is not None and known_facts.cluster_sizes:
        return len(set(known_facts.cluster_sizes)) == 1
    population = setting.population
    clusters = None if population is None else population.clusters
    return clusters is not None and population is not None and population.n % clusters.n == 0
