"""A plan that locks as it is, and outcomes for it: tests change what they are about."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any
from unittest.mock import patch

import numpy as np
from hypothesis import strategies as st

from service.domain.lint import lint as service_lint
from service.domain.plans.findings import Finding
from service.domain.plans.manifest import Manifest, ManifestFacts
from service.domain.plans.plan import Plan
from service.domain.power import hypothesis_numbers, rule_power
from service.domain.recent import Recent
from service.domain.rules.settings import resolve
from service.domain.verdicts.judge import Inputs, judge
from service.domain.verdicts.outcomes import Cell, Outcomes, Rows
from service.domain.verdicts.records import Verdict
from service.domain.verdicts.validity import Mark

NOW = datetime(2027, 1, 1, tzinfo=UTC)

VALUE: dict[str, Any] = {
    "title": "Caching",
    "populations": [{"id": "one", "dataset": "D", "n": 500, "independence": "drawn one by one"}],
    "hypotheses": [
        {
            "id": "H1",
            "claim": "superiority",
            "statement": "C2 improves accuracy over C1 by at least 2 pp",
            "population": "one",
            "baseline": "C1",
            "candidate": "C2",
            "endpoint": "accuracy",
            "rule": "delta >= 2.0 pp and m.p_value < 0.05 and m.ci excludes 0",
        }
    ],
    "endpoints": [{"id": "accuracy", "kind": "binary", "role": "primary"}],
    "tests": [{"id": "m", "test": "mcnemar", "version": 1, "parameters": {"method": "exact"}}],
    "sesoi": {"accuracy": {"value": 2, "unit": "pp"}},
    "thresholds": [],
    "stopping": {"kind": "fixed_n"},
    "missing": "exclude_pair",
    "multiplicity": {"policy": "none", "family": ["H1"]},
}


def changed(changes: Mapping[str, Any]) -> dict[str, Any]:
    """The sample with fields changed by dotted path, e.g. `hypotheses.0.rule`; None removes."""
    value = copy.deepcopy(VALUE)
    for path, new in copy.deepcopy(dict(changes)).items():
        *parents, last = path.split(".")
        target: Any = value
        for name in parents:
            target = target[int(name)] if isinstance(target, list) else target[name]
        if isinstance(target, list):
            target.append(new) if int(last) == len(target) else target.__setitem__(int(last), new)
        elif new is None:
            del target[last]
        else:
            target[last] = new
    return value


def plan(changes: Mapping[str, Any] | None = None) -> Plan:
    """The sample plan with changes."""
    return Plan.from_dict(changed(changes or {}))


def manifest(n: int, n_clusters: int | None = None) -> Manifest:
    """n items, in clusters of nearly equal size if wanted."""
    ids = [f"item {position}" for position in range(n)]
    return Manifest.create(
        ids, None if n_clusters is None else [f"c{each % n_clusters}" for each in range(n)]
    )


def manifests(plan: Plan) -> dict[str, Manifest]:
    """A fitting manifest for every population of a plan."""
    return {
        each.id: manifest(each.n, None if each.clusters is None else each.clusters.n)
        for each in plan.populations or ()
    }


OF_THE_WHOLE_RULE = {
    "ABSENCE_OF_EVIDENCE", "CLAIM_NOT_ASSERTED", "FAMILY_LEVEL", "LEVEL_EXCEEDED", "LEVEL_UNKNOWN",
    "LOW_POWER", "SIZE_NOT_TESTED",
}  # fmt: skip
"""What lint says of power, level and claim of a whole rule, which tests of their own cover."""


WITHOUT_NUMBERS: Recent[bytes, tuple[Any]] = Recent(hypothesis_numbers.REMEMBERED)
"""What is worked out meanwhile: nobody else may find it."""


def facts_of(plan: Plan) -> dict[str, ManifestFacts]:
    """What lint reads of the manifests that `manifests` makes."""
    return {name: manifest.facts() for name, manifest in manifests(plan).items()}


@contextmanager
def without_numbers() -> Iterator[None]:
    """Lint tells neither power nor level, which take most of its time: whether a rule can pass is still worked out."""
    with (
        patch.object(service_lint, "level_findings", lambda *_: ()),
        patch.object(rule_power, "compute_table", lambda *_, **__: {}),
        patch.object(hypothesis_numbers, "_known", WITHOUT_NUMBERS),
    ):
        yield


def lint(plan: Plan, facts: Mapping[str, ManifestFacts]) -> tuple[Finding, ...]:
    """What lint says of everything else, for tests of clauses and plans that bear out no claim."""
    with without_numbers():
        found = service_lint.lint(plan, facts)
    return tuple(each for each in found if each.code not in OF_THE_WHOLE_RULE)


def findings(changes: Mapping[str, Any] | None = None) -> tuple[Finding, ...]:
    """What lint says of the changed sample with fitting manifests."""
    changed_plan = plan(changes)
    return lint(changed_plan, facts_of(changed_plan))


def codes(changes: Mapping[str, Any] | None = None) -> list[tuple[str, str]]:
    """Codes and paths of `findings`."""
    return [(finding.code, finding.path) for finding in findings(changes)]


def cell(values: Any, statuses: Any = None) -> Cell:
    """A cell from one value per item, or one row of replicates per item; NaN is missing."""
    array = np.asarray(values, dtype=np.float64)
    array = array.reshape(len(array), -1)
    default = np.where(np.isnan(array), 2, 0)
    return Cell(
        array, np.asarray(default if statuses is None else statuses, dtype=np.uint8).reshape(array.shape)
    )


def outcomes(baseline: Any, candidate: Any, endpoint: str = "accuracy") -> Outcomes:
    """Both arms of the sample's hypothesis: arrays or cells."""
    arms = {"C1": baseline, "C2": candidate}
    return Outcomes(
        {("one", arm, endpoint): each if isinstance(each, Cell) else cell(each) for arm, each in arms.items()}
    )


def binary(n: int, both: int, only_candidate: int, only_baseline: int) -> tuple[np.ndarray, np.ndarray]:
    """Two arms with that fourfold table."""
    baseline, candidate = np.zeros(n), np.zeros(n)
    baseline[: both + only_baseline] = 1
    candidate[:both] = 1
    candidate[both + only_baseline : both + only_baseline + only_candidate] = 1
    return baseline, candidate


def verdict_of(changes: Mapping[str, Any], results: Outcomes, n: int | None = None, **extra: Any) -> Verdict:
    """The verdict on the changed sample, whose population has as many items as the results."""
    size = n or len(next(iter(results.cells.values())).values)
    changed_plan = plan({"populations.0.n": size, **changes})
    items = extra.pop("manifests", None) or manifests(changed_plan)
    return judged(changed_plan, items, results, **extra)


def judged(
    plan: Plan,
    items: Mapping[str, Manifest],
    results: Outcomes,
    **extra: Any,
) -> Verdict:
    """The verdict on these results."""
    return judge(inputs_of(plan, items, results, **extra))


def inputs_of(
    plan: Plan, items: Mapping[str, Manifest], results: Outcomes, marks: tuple[Mark, ...] = (), **extra: Any
) -> Inputs:
    """What a verdict on these results is computed from."""
    return Inputs(**{
        "preregistration_id": "p1", "plan_sha256": plan.sha256(), "rows": Rows(resolve(plan), items, results, marks),
        "voided": (), "judged_at": NOW, **extra,
    })  # fmt: skip


def some_missing(data: st.DataObject, baseline: np.ndarray, candidate: np.ndarray) -> list[int]:
    """Take one to three results away: the candidate's, and of some items the baseline's as well. Which they are."""
    item = st.integers(0, len(baseline) - 1)
    positions = data.draw(st.lists(item, min_size=1, max_size=3, unique=True))
    for position in positions:
        candidate[position] = np.nan
        if data.draw(st.booleans()):
            baseline[position] = np.nan
    return positions
