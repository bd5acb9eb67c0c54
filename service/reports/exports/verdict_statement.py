"""A verdict as an in-toto Statement with the framework's own predicate `test-result`: a test for every hypothesis."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from service.domain.canonical import canonical
from service.domain.ledger import Receipt
from service.domain.plans.plan import Plan
from service.domain.verdicts.records import Verdict
from service.reports.exports.intoto import STATEMENT_TYPE

PREDICATE_TYPE = "https://in-toto.io/attestation/test-result/v0.1"


def statement(
    plan: Plan, verdict: Verdict, *, sha256: str, receipt: Receipt, version: int, page: str | None
) -> bytes:
    """Return the statement of what the locked rules said: canonical JSON (RFC 8785).

    A hypothesis passes where it is supported, with a warning where something stands against the verdict, and fails with
    every other outcome: as in JUnit. The subject is the verdict's stored text, whose hash the ledger has; the
    configuration is what was locked, the plan and its items.
    """
    passed = [hypothesis.id for hypothesis in verdict.hypotheses if hypothesis.outcome == "supported"]
    # An arm that was named as its plan asks stands against nothing.
    against = [mark for mark in verdict.marks if mark.code != "arm_named"]
    warned = [name for name in passed if any(mark.concerns(name) for mark in against)]
    failed = [hypothesis.id for hypothesis in verdict.hypotheses if hypothesis.outcome != "supported"]
    predicate: dict[str, Any] = {
        "result": "FAILED" if failed else "WARNED" if warned else "PASSED",
        "configuration": [
            _describe(f"{verdict.preregistration_id}/plan.json", verdict.plan_sha256, {"version": version}),
            *(
                _describe(f"{verdict.preregistration_id}/items/{population.id}.json", population.items_sha256)
                for population in plan.populations or ()
                if population.items_sha256 is not None
            ),
        ],
        "passedTests": [name for name in passed if name not in warned],
        "warnedTests": warned,
        "failedTests": failed,
    }
    annotations = {
        "outcomes": {hypothesis.id: hypothesis.outcome for hypothesis in verdict.hypotheses},
        "judgedAt": verdict.judged_at.isoformat(),
        "ledger": {
            "sequence": receipt.sequence,
            "leafSha256": receipt.leaf_sha256,
            "checkpoint": receipt.checkpoint,
            "proof": receipt.proof,
        },
    }
    return canonical(
        {
            "_type": STATEMENT_TYPE,
            "subject": [_describe(f"{verdict.preregistration_id}/verdict.json", sha256, annotations)],
            "predicateType": PREDICATE_TYPE,
            "predicate": predicate | ({} if page is None else {"url": page}),
        }
    )


def _describe(name: str, sha256: str | None, annotations: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """Return a ResourceDescriptor of in-toto, with its digest if there is one."""
    described: dict[str, Any] = {"name": name, "digest": {"sha256": sha256}}
    return described | ({"annotations": dict(annotations)} if annotations else {})
