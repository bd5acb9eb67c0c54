"""Example answers of exports for OpenAPI."""

from __future__ import annotations

from typing import Any

_SHA = "b1946ac92492d2347c6235b4d2611184b1946ac92492d2347c6235b4d2611184"
_ID = "5f0c2d9be1a44e0792d3c1a05b7e6f48"
_ORIGIN = "forelock/5f0c2d9be1a44e07"
_NOTE = f"{_ORIGIN}\n42\nsZRqySSS0jR8YjW00mERhLGUaskkktI0fGI1tNJhEYQ=\n\n— {_ORIGIN} pKWhii4uLg==\n"
_PROOF = f"c2sp.org/tlog-proof@v1\nindex 41\n\n{_NOTE}"

STAMPS: dict[str, Any] = {
    "items": [
        {
            "of": "plan_locked",
            "sequence": 41,
            "leaf_sha256": _SHA,
            "kind": "rfc3161",
            "obtained_at": "2026-11-02T09:15:04Z",
            "waiting": False,
            "checkpoint": _NOTE,
            "proof": _PROOF,
            "stamp": "MIIDrjADAgEA",
        }
    ]
}
STATEMENT: dict[str, Any] = {
    "_type": "https://in-toto.io/Statement/v1",
    "subject": [{"name": f"{_ID}/plan.json", "digest": {"sha256": _SHA}}],
    "predicateType": "urn:forelock:predicate:lock:1",
    "predicate": {
        "preregistration": _ID,
        "version": 1,
        "title": "Persistent caching",
        "lockedAt": "2026-11-02T09:15:00+00:00",
        "hypotheses": [{"id": "H1", "rule": "delta >= 2 pp and mcnemar.p_value < 0.05"}],
        "ledger": {"sequence": 41, "leafSha256": _SHA, "checkpoint": _NOTE, "proof": _PROOF},
    },
}
ENVELOPE: dict[str, Any] = {
    "payload": "eyJfdHlwZSI6Imh0dHBzOi8vaW4tdG90by5pby9TdGF0ZW1lbnQvdjEifQ==",
    "payloadType": "application/vnd.in-toto+json",
    "signatures": [{"keyid": f"{_ORIGIN}+a4a5a18a+ASFk5Vb2l5K", "sig": "pKWhii4uLg=="}],
}
PRML = f"""\
claim_id: 019a40bd-3a10-7f3c-9d21-5b7e6f48a1c2
comparator: ==
created_at: '2026-11-02T09:15:00Z'
dataset:
  hash: {_SHA}
  id: LoCoMo
metric: forelock_rule_holds
metric_args:
  baseline: C1
  candidate: C3
  endpoint: accuracy
  hypothesis: H1
  plan_sha256: {_SHA}
  preregistration: {_ID}
  rule: delta >= 2 pp and mcnemar.p_value < 0.05
producer:
  id: {_ORIGIN}
seed: 0
threshold: 1.0
version: prml/0.1
"""
_NOTES = f"500 items, 95% interval 0.80624 to 0.871136; preregistered: H1 is supported; plan SHA-256 {_SHA}"
VERDICT_STATEMENT: dict[str, Any] = {
    "_type": "https://in-toto.io/Statement/v1",
    "subject": [
        {
            "name": f"{_ID}/verdict.json",
            "digest": {"sha256": _SHA},
            "annotations": {
                "outcomes": {"H1": "supported"},
                "judgedAt": "2026-11-09T16:02:11+00:00",
                "ledger": {"sequence": 57, "leafSha256": _SHA, "checkpoint": _NOTE, "proof": _PROOF},
            },
        }
    ],
    "predicateType": "https://in-toto.io/attestation/test-result/v0.1",
    "predicate": {
        "result": "PASSED",
        "configuration": [
            {"name": f"{_ID}/plan.json", "digest": {"sha256": _SHA}, "annotations": {"version": 1}},
            {"name": f"{_ID}/items/locomo.json", "digest": {"sha256": _SHA}},
        ],
        "passedTests": ["H1"],
        "warnedTests": [],
        "failedTests": [],
    },
}
EVENTS: dict[str, Any] = {
    "resourceLogs": [
        {
            "resource": {"attributes": [{"key": "service.name", "value": {"stringValue": "forelock"}}]},
            "scopeLogs": [
                {
                    "scope": {"name": "forelock"},
                    "logRecords": [
                        {
                            "timeUnixNano": "1794240131000000000",
                            "severityNumber": 9,
                            "eventName": "gen_ai.evaluation.result",
                            "attributes": [
                                {"key": "gen_ai.evaluation.name", "value": {"stringValue": "accuracy"}},
                                {
                                    "key": "gen_ai.evaluation.score.label",
                                    "value": {"stringValue": "supported"},
                                },
                                {"key": "forelock.preregistration", "value": {"stringValue": _ID}},
                                {"key": "gen_ai.evaluation.score.value", "value": {"doubleValue": 0.042}},
                            ],
                        }
                    ],
                }
            ],
        }
    ]
}
EVAL_RESULTS = f"""\
- dataset:
    id: snap-research/locomo
    task_id: default
  value: 0.841
  date: '2026-11-09'
  notes: '{_NOTES}'
"""
MODEL_INDEX = f"""\
model-index:
- name: persistent-cache
  results:
  - task:
      type: question-answering
    dataset:
      type: snap-research/locomo
      name: LoCoMo
    metrics:
    - type: accuracy
      name: 'accuracy ({_NOTES})'
      value: 0.841
"""
CFF = """\
cff-version: 1.2.0
message: If you rely on this preregistered record, please cite it as below.
type: dataset
title: Failure-triggered synthesis with caches (preregistration)
authors:
- name: Ada Lovelace
  orcid: https://orcid.org/0000-0002-1825-0097
version: '1'
date-released: '2027-01-04'
identifiers:
- type: other
  value: sha256:b1946ac92492d2347c6235b4d2611184b1946ac92492d2347c6235b4d2611184
  description: SHA-256 of the locked plan
- type: other
  value: forelock.example/log 12 4355a46b19d348dc2f57c046f8ef63d4538ebb936000f3c9ee954a27460dd865
  description: Checkpoint of the ledger that holds leaf 7
"""
BIBTEX = """\
@misc{forelock-7a1c9e3b5d2f,
  title = {{Failure-triggered synthesis with caches (preregistration)}},
  author = {{Ada Lovelace}},
  year = {2027},
  month = {01},
  version = {1},
}
"""
