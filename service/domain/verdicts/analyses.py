"""The statistical tests of a plan on its outcomes. Pure and picklable: a worker process runs it."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import compress
from typing import Any

import numpy as np
from pydantic import ValidationError

from service.domain.decision.family import Family, policy_of
from service.domain.plans.items.unit_order import ranks
from service.domain.plans.manifest import Manifest
from service.domain.plans.plan import Plan, TestUse
from service.domain.rules.answers import Answer, JsonObject
from service.domain.rules.feeding import (
    build_request,
    design_of,
    margin_for,
    order_of,
    reads_runs,
    runs_of,
    suite_design,
    takes_clusters,
)
from service.domain.rules.settings import Setting, on_endpoint, other_endpoints
from service.domain.rules.truth import holds_throughout
from service.domain.verdicts.joint import JointFamily, joint_family
from service.domain.verdicts.observed_evidence import Filling, ObservedEvidence
from service.domain.verdicts.outcomes import PlanViolatedError, Rows
from service.domain.verdicts.pairs import Paired, pair_up
from service.domain.verdicts.worst_case import WAYS
from service.errors import ForelockError
from service.stats.shared.declaring import registry
from service.stats.shared.declaring.certainty import BEYOND, DRAWN, SO_FEW
from service.stats.shared.declaring.columns import is_binary
from service.stats.shared.declaring.common import Request
from service.stats.shared.declaring.registry import StatTest
from service.stats.shared.methods.resampling import MOST_DRAWS
from service.words import say


@dataclass(frozen=True, eq=False)
class Analyses:
    """What the tests of a plan show."""

    plan: Plan
    evidence: Mapping[str, ObservedEvidence]
    """By hypothesis, in the plan's order."""
    versions: dict[str, str]
    """Of the libraries the numbers depend on."""
    joint: JointFamily | None = None
    """Under `max_t`: the family's p-values by the signs its members share."""

    @cached_property
    def holm(self) -> Family:
        """The family under Holm's method, of which every verdict tells."""
        return Family.of(self.plan, self.evidence, policy="holm")

    @cached_property
    def family(self) -> Family:
        """The same p-values under the plan's own policy."""
        joint = None if self.joint is None else self.joint.adjusted
        return replace(self.holm, policy=policy_of(self.plan), joint=joint)


def analyse(rows: Rows) -> Analyses:
    """Run every test that a rule or an equivalence clause names. Odd data end in reasons, not errors.

    Results that break the plan are not analysed at all.
    """
    return Analyses(
        rows.plan,
        {setting.hypothesis.id: _observe(setting, rows) for setting in rows.resolved.settings},
        registry.library_versions(),
        joint_family(rows) if policy_of(rows.plan) == "max_t" else None,
    )


def _observe(setting: Setting, rows: Rows) -> ObservedEvidence:
    """Return a hypothesis' pairs and the answers of its tests on them, by every filling that has to be stood."""
    try:
        paired = pair_up(setting, rows)
        # Each under the plan's missing policy, and what the rule asks there.
        others = {name: pair_up(on_endpoint(setting, name), rows) for name in other_endpoints(setting)}
    except PlanViolatedError as violated:
        return ObservedEvidence(setting, (Filling({}),), violation=str(violated))
    hypothesis = setting.hypothesis
    uses = {name: use for name in setting.tests if (use := setting.plan.test(name)) is not None}
    answers = {name: _answer(setting, use, paired, others) for name, use in uses.items()}
    whole = Filling(answers, paired.delta, paired)
    fillings = [whole]
    both = hypothesis.claim == "equivalence"
    claims = tuple(uses) if both else tuple(filter(uses.get, [hypothesis.equivalence or ""]))
    # Also where a rule names no test: `delta` has to stand both fillings, and the verdict names the one it is of.
    if paired.excluded.filled and (both or claims):
        fillings = []
        for way in WAYS:
            pairs = pair_up(setting, rows, way)
            of_way = answers
            # Where nothing is filled in that differs from how the rows are read anyway, the answers are the same, and
            # some are dear.
            columns = (paired.baseline, pairs.baseline), (paired.candidate, pairs.candidate)
            if not all(np.array_equal(one, other) for one, other in columns):
                of_way = {name: _answer(setting, uses[name], pairs, others) for name in claims}
            fillings.append(Filling(of_way, pairs.delta, pairs, way))
    return ObservedEvidence(
        setting,
        # An equivalence test that is only asked where the rule is false stands both fillings; the rule itself has one.
        fillings=tuple(fillings) if both else (whole,),
        by_policy=answers,
        beside=tuple(
            (filling.way, filling.answers[test])
            for filling in fillings
            if (test := hypothesis.equivalence) is not None and test in filling.answers
        ),
        others=others,
    )


def _answer(setting: Setting, use: TestUse, paired: Paired, others: Mapping[str, Paired]) -> JsonObject:
    """The test's answer as JSON, or the reason why there is none. More is drawn where a clause hangs on draws."""
    # A test that names another endpoint reads the pairs on that one.
    paired = others.get(use.endpoint or "", paired)
    if paired.n == 0:
        return _no_answer(use, say("reasons.no_item_left"))
    if paired.tasks is not None and paired.tasks.lacking:
        return _no_answer(use, say("reasons.task_lacking", names=", ".join(paired.tasks.lacking)))
    try:
        test = registry.find(use.test, use.version)
        request = request_for(setting.plan, test, use, paired)
        answer: JsonObject = json.loads(test.answer(request).model_dump_json())
        more = _with_more_draws(request)
        if (
            more is not None
            and _hangs_on_draws(answer, use, setting)
            and test.cost(more) <= registry.MOST_SECONDS
        ):
            answer = json.loads(test.answer(more).model_dump_json())
    except ForelockError as refused:
        return _no_answer(use, refused.detail)
    except ValidationError as refused:
        first = refused.errors(include_input=False, include_url=False)[0]
        return _no_answer(use, f"{'.'.join(map(str, first['loc']))}: {first['msg']}")
    except Exception as failed:  # noqa: BLE001 - a test that cannot cope must not keep a plan from its verdict
        return _no_answer(use, say("reasons.not_computed", error=type(failed).__name__))
    return answer


def _with_more_draws(request: Request) -> Request | None:
    """Return the same request with the most draws a test makes by itself; None where the plan names their number."""
    fields = type(request).model_fields
    if "n_resamples" not in fields or "n_resamples" in request.model_fields_set:
        return None
    if getattr(request, "convention", "standard") != "standard":
        return None
    return request.model_copy(update={"n_resamples": MOST_DRAWS})


def _hangs_on_draws(answer: JsonObject, use: TestUse, setting: Setting) -> bool:
    """Tell whether a clause on this test, or the equivalence it is named for, is open for want of draws."""
    if use.id == setting.hypothesis.equivalence and Answer(answer).observe("equivalent").reason == DRAWN:
        return True
    clauses = [clause for clause in setting.clauses if clause.field.test == use.id]
    seen = [(clause, Answer(answer).observe(*clause.field.path)) for clause in clauses]
    return any(
        value.reason == DRAWN
        or (
            value.reason not in (BEYOND, SO_FEW)
            and holds_throughout(clause, value.value, value.corners) is None
        )
        for clause, value in seen
    )


def _no_answer(use: TestUse, reason: str) -> JsonObject:
    return {
        "test": use.test,
        "version": use.version,
        "analysis": None,
        "warnings": [],
        "provenance": None,
        "reason": reason,
    }


def request_for(plan: Plan, test: StatTest[Any, Any], use: TestUse, paired: Paired) -> Request:
    """Return the request for one test of a hypothesis: clusters where it takes them, the SESOI as its margin."""
    sesoi = (plan.sesoi or {}).get(paired.endpoint.id)
    clusters = paired.manifest.clusters if takes_clusters(test, paired.population) else None
    labels = None if clusters is None else list(compress(clusters, paired.kept.tolist()))
    baseline, candidate = paired.baseline, paired.candidate
    if order_of(test) is not None:
        # Sequential tests read items in the order that was locked; `kept` is by manifest position, and so are ranks.
        order = np.argsort(ranks(paired.population, paired.manifest)[paired.kept], kind="stable")
        baseline, candidate = baseline[order], candidate[order]
        labels = None if labels is None else [labels[item] for item in order.tolist()]
    columns = [baseline.tolist(), candidate.tolist()]
    if reads_runs(test, paired.endpoint):
        columns = [runs_of(test, rows, paired.endpoint) for rows in paired.rows]
    design = design_of(
        plan, test, use, paired.endpoint, paired.population, _largest(paired.manifest), paired.reference
    )
    if paired.tasks is not None:
        tasks = paired.tasks
        design |= suite_design(test, tasks.suite, tasks.sizes, tasks.labels, paired.reference)
    return build_request(
        test,
        use,
        baseline=columns[0],
        candidate=columns[1],
        clusters=labels,
        one_arm=paired.reference is not None,
        design=design,
        margin=None if sesoi is None else margin_for(sesoi, paired.endpoint, _reads_shares(paired)),
        labels=None if paired.labels is None else (paired.labels[0].tolist(), paired.labels[1].tolist()),
    )


def _reads_shares(paired: Paired) -> bool:
    """Tell whether a test takes the values for right and wrong; what is rescaled is a score to it."""
    rescaled = paired.tasks is not None and paired.tasks.suite.rescale is not None
    return not rescaled and is_binary(paired.baseline, paired.candidate)


def _largest(manifest: Manifest) -> int | None:
    return None if manifest.clusters is None else max(Counter(manifest.clusters).values())
