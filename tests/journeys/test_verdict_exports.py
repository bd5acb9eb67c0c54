"""Verdicts in the formats of others, each read by the package whose format it is."""

from __future__ import annotations

import base64
import json

import pytest
import yaml
from google.protobuf import json_format
from in_toto_attestation.predicates.test_result.v0.test_result_pb2 import TestResult as Result
from in_toto_attestation.v1.resource_descriptor import ResourceDescriptor
from in_toto_attestation.v1.statement import Statement
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest

from forelock.transparency.notes import VerifierKey
from service.reports.exports import intoto

from .conftest import Service, only_sqlite
from .plans import items, locked, post, small_plan

pytestmark = pytest.mark.any_database

N = 40
HUB = "dataset=snap-research/locomo&task=default"
EXPORTS = (
    "verdict.intoto.json",
    "verdict.dsse.json",
    "verdict.otlp.json",
    f"verdict.eval-results.yaml?{HUB}",
    f"verdict.model-index.yaml?{HUB}&model=cache",
)


def judged(service: Service, gained: int = 12) -> str:
    prereg_id = locked(service.client, small_plan(N))
    for arm, right in (("A", 20), ("B", 20 + gained)):
        posted = post(service.client, prereg_id, arm, items(N), [int(i < right) for i in range(N)])
        assert posted.status_code == 201
    service.run_jobs()
    return prereg_id


def test_the_statement_is_a_test_result_of_in_toto(service: Service) -> None:
    object.__setattr__(service.settings, "public_url", "https://forelock.example")
    prereg_id = judged(service)
    answer = service.read(f"{prereg_id}/verdict.intoto.json")
    assert answer.headers["content-type"] == "application/vnd.in-toto+json"
    told = answer.json()
    (subject,) = told["subject"]
    descriptor = ResourceDescriptor(
        subject["name"], digest=subject["digest"], annotations=subject["annotations"]
    )
    Statement([descriptor.pb], told["predicateType"], told["predicate"]).validate()
    result = json_format.ParseDict(told["predicate"], Result())
    verdict = service.read(f"{prereg_id}/verdict")
    outcome = verdict.json()["hypotheses"][0]["outcome"]
    assert outcome == "supported"
    assert (result.result, list(result.passed_tests), list(result.failed_tests)) == ("PASSED", ["H1a"], [])
    assert f'"{subject["digest"]["sha256"]}"' == verdict.headers["etag"]
    assert result.configuration[0].digest["sha256"] == verdict.json()["plan_sha256"]
    assert len(result.configuration) == 2, "the plan, and its one list of items"
    assert result.url == f"https://forelock.example/preregistrations/{prereg_id}"
    assert subject["annotations"]["ledger"]["checkpoint"]


@only_sqlite
def test_what_is_not_supported_fails(service: Service) -> None:
    told = service.read(f"{judged(service, gained=0)}/verdict.intoto.json").json()["predicate"]
    assert (told["result"], told["passedTests"], told["failedTests"]) == ("FAILED", [], ["H1a"])


def test_the_envelope_is_signed_by_the_ledger(service: Service) -> None:
    prereg_id = judged(service)
    envelope = service.read(f"{prereg_id}/verdict.dsse.json").json()
    payload = base64.b64decode(envelope["payload"], validate=True)
    assert payload == service.read(f"{prereg_id}/verdict.intoto.json").content
    (signature,) = envelope["signatures"]
    vkey = service.client.get("/.well-known/forelock-keys.json").json()["vkey"]
    assert signature["keyid"] == vkey
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

    key = Ed25519PublicKey.from_public_bytes(VerifierKey.parse(vkey).public)
    key.verify(
        base64.b64decode(signature["sig"]), intoto.pre_authentication(envelope["payloadType"], payload)
    )


@only_sqlite
def test_a_collector_reads_the_events(service: Service) -> None:
    prereg_id = judged(service)
    answer = service.read(f"{prereg_id}/verdict.otlp.json")
    request = json_format.Parse(answer.content, ExportLogsServiceRequest())
    (event,) = request.resource_logs[0].scope_logs[0].log_records
    said = {each.key: each.value for each in event.attributes}
    assert event.event_name == "gen_ai.evaluation.result"
    assert event.time_unix_nano
    assert said["gen_ai.evaluation.name"].string_value == "accuracy"
    assert said["gen_ai.evaluation.score.label"].string_value == "supported"
    assert said["gen_ai.evaluation.score.value"].double_value == 12 / N
    assert said["gen_ai.evaluation.explanation"].string_value
    assert said["forelock.preregistration"].string_value == prereg_id


@only_sqlite
def test_the_hub_reads_the_score(service: Service) -> None:
    hub = pytest.importorskip("huggingface_hub", reason="the package huggingface_hub is not installed")
    from huggingface_hub.repocard_data import model_index_to_eval_results

    object.__setattr__(service.settings, "public_url", "https://forelock.example")
    prereg_id = judged(service)
    content = service.read(f"{prereg_id}/verdict.eval-results.yaml?{HUB}").content
    document = yaml.safe_load(content)
    (entry,) = hub.parse_eval_result_entries(document)
    assert (entry.dataset_id, entry.task_id) == ("snap-research/locomo", "default")
    assert entry.value == 32 / N
    assert entry.source_url == f"https://forelock.example/preregistrations/{prereg_id}"
    assert "H1a is supported" in entry.notes
    assert "95% interval" in entry.notes
    assert hub.eval_result_entries_to_yaml([entry]) == document
    card = service.read(f"{prereg_id}/verdict.model-index.yaml?{HUB}&model=cache").content.decode()
    name, (result,) = model_index_to_eval_results(yaml.safe_load(card)["model-index"])
    assert (name, result.metric_type, result.metric_value) == ("cache", "accuracy", 32 / N)
    assert hub.ModelCard(f"---\n{card}---\n# Cache\n").data.eval_results == [result]


@only_sqlite
def test_without_the_hubs_package_the_files_are_its_shape(service: Service) -> None:
    (entry,) = yaml.safe_load(service.read(f"{judged(service)}/verdict.eval-results.yaml?{HUB}").content)
    assert set(entry) == {"dataset", "value", "date", "notes"}, "no address is known of the record's page"
    assert entry["dataset"] == {"id": "snap-research/locomo", "task_id": "default"}


def test_before_the_verdict_nothing_is_exported(service: Service) -> None:
    prereg_id = locked(service.client, small_plan(N))
    for name in EXPORTS:
        refused = service.client.get(f"/v1/preregistrations/{prereg_id}/{name}")
        assert (refused.status_code, refused.json()["code"]) == (409, "blinded"), name


@only_sqlite
@pytest.mark.parametrize(
    ("query", "at"),
    [
        ("task=default", "query.dataset"),
        ("dataset=a/b/c&task=default", "query.dataset"),
        (f"{HUB}&hypothesis=H9", "query.hypothesis"),
    ],
)
def test_what_a_file_of_the_hub_lacks_is_named(service: Service, query: str, at: str) -> None:
    refused = service.client.get(f"/v1/preregistrations/{judged(service)}/verdict.eval-results.yaml?{query}")
    assert refused.status_code == 422
    assert json.loads(refused.content)["errors"][0]["path"] == at


@only_sqlite
def test_no_score_follows_from_an_invalid_outcome(service: Service) -> None:
    prereg_id = locked(service.client, small_plan(N))
    assert post(service.client, prereg_id, "A", items(N), [1] * N).status_code == 201
    opened = service.client.post(f"/v1/preregistrations/{prereg_id}/unblinding", json={"reason": "a fire"})
    assert opened.status_code in (200, 201, 202), opened.text
    service.run_jobs()
    assert post(service.client, prereg_id, "B", items(N), [1] * N).status_code == 201
    service.run_jobs()
    refused = service.client.get(f"/v1/preregistrations/{prereg_id}/verdict.eval-results.yaml?{HUB}")
    assert refused.json()["code"] == "verdict_invalid"
    (event,) = service.read(f"{prereg_id}/verdict.otlp.json").json()["resourceLogs"][0]["scopeLogs"][0][
        "logRecords"
    ]
    said = {each["key"] for each in event["attributes"]}
    assert "error.type" in said
    assert "gen_ai.evaluation.score.value" not in said
