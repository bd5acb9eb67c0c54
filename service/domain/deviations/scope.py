"""What a change touches, and whether it fits the plan it says it departs from."""

from __future__ import annotations

from collections.abc import Mapping

from service.domain.deviations import changes
from service.domain.faults import SHOWN
from service.domain.plans.manifest import Manifest
from service.domain.plans.plan import Plan
from service.domain.plans.sections.hypothesis import Hypothesis
from service.domain.rules.grammar import parse
from service.domain.rules.rule import sentence
from service.domain.rules.settings import resolve
from service.errors import Fault, InvalidData


def find_touched(plan: Plan, change: changes.Change) -> tuple[Hypothesis, ...]:
    """Return the hypotheses a change bears on; all of them where it does not say."""
    every = tuple(plan.hypotheses or ())
    match change:
        case (
            changes.SampleSize()
            | changes.ExcludedItems()
            | changes.ExcludedClusters()
            | changes.DisputedItems()
        ):
            return tuple(
                hypothesis for hypothesis in every if change.population in plan.tasks(hypothesis.population)
            )
        case changes.ThresholdChange():
            return tuple(
                hypothesis
                for hypothesis in every
                if change.population in (None, *plan.tasks(hypothesis.population))
            )
        case changes.EndpointChange() | changes.RuleChange() | changes.HypothesisChange():
            return tuple(hypothesis for hypothesis in every if hypothesis.id == change.hypothesis)
        case changes.SesoiChange() | changes.JudgeChange():
            return tuple(
                hypothesis for hypothesis in every if change.endpoint in plan.endpoints_asked(hypothesis)
            )
        case changes.TestChange():
            return tuple(
                setting.hypothesis for setting in resolve(plan).settings if change.test in setting.tests
            )
        case _:  # an arm that is dropped leaves the others selected
            return every


def check(plan: Plan, change: changes.Change, manifests: Mapping[str, Manifest]) -> None:
    """Refuse a change that names what the plan does not have, or that changes nothing.

    Raises:
        InvalidData: naming the field and what the plan has.
    """
    match change:
        case changes.SampleSize():
            _require_known(
                "population", change.population, [population.id for population in plan.populations or ()]
            )
            population = plan.population(change.population)
            _require_change("n", change.n != (population.n if population else None))
        case changes.ExcludedItems() | changes.DisputedItems():
            _require_known("population", change.population, list(manifests))
            _require_all_known("item_ids", change.item_ids, manifests[change.population].positions)
        case changes.ExcludedClusters():
            _require_known("population", change.population, list(manifests))
            clusters = manifests[change.population].clusters or ()
            _require_all_known("clusters", change.clusters, dict.fromkeys(clusters, 0))
        case changes.MissingPolicyChange():
            _require_change("missing", change.missing != plan.missing)
        case changes.ThresholdChange():
            _threshold(plan, change)
        case changes.EndpointChange():
            _hypothesis(plan, change.hypothesis)
            hypothesis = plan.hypothesis(change.hypothesis)
            _require_change("endpoint", hypothesis is None or hypothesis.endpoint != change.endpoint)
        case changes.HypothesisChange():
            if change.how != "added":
                _hypothesis(plan, change.hypothesis)
        case changes.RuleChange():
            _rule(plan, change)
        case changes.SesoiChange():
            _require_known("endpoint", change.endpoint, [endpoint.id for endpoint in plan.endpoints or ()])
            planned = (plan.sesoi or {}).get(change.endpoint)
            _require_change("margin", planned is None or planned.exact() != change.margin.exact())
        case changes.JudgeChange():
            _require_known("endpoint", change.endpoint, [endpoint.id for endpoint in plan.endpoints or ()])
        case changes.TestChange():
            _require_known("test", change.test, [test.id for test in plan.tests or ()])
        case changes.ArmRemoved():
            arms = {arm for population in plan.populations or () for arm in plan.arms(population.id)}
            _require_known("arm", change.arm, sorted(arms))
        case changes.MultiplicityChange():
            _require_change("policy", plan.multiplicity is None or plan.multiplicity.policy != change.policy)
        case _:
            return


def _threshold(plan: Plan, change: changes.ThresholdChange) -> None:
    """A threshold the plan has, at another value; on a population it does not have, any value is new."""
    _require_known("name", change.name, sorted({threshold.name for threshold in plan.thresholds or ()}))
    if change.population is not None:
        _require_known(
            "population", change.population, [population.id for population in plan.populations or ()]
        )
    planned = {
        threshold.value
        for threshold in plan.thresholds or ()
        if threshold.name == change.name and threshold.population == change.population
    }
    _require_change("value", planned != {change.value})


def _rule(plan: Plan, change: changes.RuleChange) -> None:
    """Refuse a rule that cannot be read, or that is the planned one."""
    _hypothesis(plan, change.hypothesis)
    try:
        actual = parse(change.rule)
    except InvalidData as invalid:
        raise InvalidData(
            invalid.detail, [Fault("change.rule", fault.message, fault.fix) for fault in invalid.faults]
        ) from None
    hypothesis = plan.hypothesis(change.hypothesis)
    _require_change("rule", hypothesis is None or sentence(parse(hypothesis.rule)) != sentence(actual))


def _hypothesis(plan: Plan, name: str) -> None:
    _require_known("hypothesis", name, [hypothesis.id for hypothesis in plan.hypotheses or ()])


def _require_known(field: str, name: str, known: list[str]) -> None:
    if name not in known:
        has = ", ".join(known[:SHOWN]) or "none"
        raise InvalidData.field(f"change.{field}", "is not one of the plan's", f"the plan has {has}")


def _require_all_known(field: str, names: tuple[str, ...], known: Mapping[str, int]) -> None:
    unknown = [index for index, name in enumerate(names) if name not in known]
    if unknown:
        faults = [
            Fault(f"change.{field}[{index}]", "is not in the manifest", "name what the manifest has")
            for index in unknown[:SHOWN]
        ]
        raise InvalidData(f"{len(unknown)} of change.{field} are not in the population's manifest", faults)


def _require_change(field: str, differs: bool) -> None:
    if not differs:
        raise InvalidData.field(
            f"change.{field}", "is what the plan says: nothing deviates", "say what was done instead"
        )
