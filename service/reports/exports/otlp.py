"""A verdict as events of OpenTelemetry (`gen_ai.evaluation.result`): the JSON that a collector takes at `/v1/logs`."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from service.domain.verdicts.records import HypothesisVerdict, Verdict

EVENT = "gen_ai.evaluation.result"
MEDIA_TYPE = "application/json"
_INFO, _WARN = 9, 13
"""Severity numbers."""


def events(verdict: Verdict, headlines: Mapping[str, str]) -> bytes:
    """Return an ExportLogsServiceRequest with an event for every hypothesis.

    The score is the difference from the baseline, or of one arm its mean, and the label is the outcome; an invalid one
    has no score. `headlines` say each outcome in a line.
    """
    records = [
        {
            "timeUnixNano": str(int(verdict.judged_at.timestamp() * 1_000_000) * 1_000),
            "severityNumber": _WARN if hypothesis.outcome == "invalid" else _INFO,
            "eventName": EVENT,
            "attributes": [
                {"key": name, "value": value}
                for name, value in _make_attributes(verdict, hypothesis, headlines).items()
            ],
        }
        for hypothesis in verdict.hypotheses
    ]
    resource = {"attributes": [{"key": "service.name", "value": {"stringValue": "forelock"}}]}
    scope = {"scope": {"name": "forelock"}, "logRecords": records}
    return json.dumps(
        {"resourceLogs": [{"resource": resource, "scopeLogs": [scope]}]}, ensure_ascii=False
    ).encode()


def _make_attributes(
    verdict: Verdict, hypothesis: HypothesisVerdict, headlines: Mapping[str, str]
) -> dict[str, Any]:
    """Make the attributes of a hypothesis' evaluation event; those without a value are left out."""
    texts = {
        "gen_ai.evaluation.name": hypothesis.endpoint,
        "gen_ai.evaluation.score.label": hypothesis.outcome,
        "gen_ai.evaluation.explanation": headlines.get(hypothesis.id) or hypothesis.sentence,
        "forelock.preregistration": verdict.preregistration_id,
        "forelock.hypothesis": hypothesis.id,
        "forelock.candidate": hypothesis.candidate,
        "forelock.plan_sha256": verdict.plan_sha256,
    }
    attributes: dict[str, Any] = {name: {"stringValue": value} for name, value in texts.items()}
    if hypothesis.baseline is not None:
        attributes["forelock.baseline"] = {"stringValue": hypothesis.baseline}
    score = hypothesis.mean if hypothesis.baseline is None else hypothesis.delta
    if hypothesis.outcome == "invalid":
        attributes["error.type"] = {"stringValue": "invalid"}
    elif score is not None:
        attributes["gen_ai.evaluation.score.value"] = {"doubleValue": score}
    return attributes
