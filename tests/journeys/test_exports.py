"""Locks as in-toto statements and plans as PRML manifests, read by the tools whose formats they are."""

from __future__ import annotations

import base64
import hashlib
from typing import Any

import falsify_prml
import pytest
from in_toto_attestation.v1.resource_descriptor import ResourceDescriptor
from in_toto_attestation.v1.statement import Statement

from forelock.transparency.notes import VerifierKey
from service.reports.exports import intoto, prml

from .conftest import Service
from .plans import locked, small_plan

pytestmark = pytest.mark.any_database

N = 10


def test_the_statement_is_one_of_in_toto(service: Service) -> None:
    prereg_id = locked(service.client, small_plan(N))
    answer = service.read(f"{prereg_id}/lock.intoto.json")
    assert answer.headers["content-type"] == "application/vnd.in-toto+json"
    told = answer.json()
    (subject,) = told["subject"]
    descriptor = ResourceDescriptor(name=subject["name"], digest=subject["digest"])
    statement = Statement([descriptor.pb], told["predicateType"], told["predicate"])
    statement.validate()
    record = service.read(prereg_id).json()
    assert subject["digest"] == {"sha256": record["plan_sha256"]}
    assert told["predicate"]["ledger"]["checkpoint"] == record["receipt"]["checkpoint"]
    assert [each["id"] for each in told["predicate"]["hypotheses"]] == [
        each["id"] for each in record["plan"]["hypotheses"]
    ]
    assert service.read(f"{prereg_id}/lock.intoto.json").content == answer.content


def test_the_envelope_is_signed_by_the_ledger(service: Service) -> None:
    prereg_id = locked(service.client, small_plan(N))
    envelope = service.read(f"{prereg_id}/lock.dsse.json").json()
    payload = base64.b64decode(envelope["payload"], validate=True)
    assert payload == service.read(f"{prereg_id}/lock.intoto.json").content
    (signature,) = envelope["signatures"]
    vkey = service.client.get("/.well-known/forelock-keys.json").json()["vkey"]
    assert signature["keyid"] == vkey
    public = VerifierKey.parse(vkey).public
    sent = base64.b64decode(signature["sig"], validate=True)
    from cryptography.exceptions import InvalidSignature
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

    key = Ed25519PublicKey.from_public_bytes(public)
    key.verify(sent, intoto.pre_authentication(envelope["payloadType"], payload))
    with pytest.raises(InvalidSignature):
        key.verify(sent, payload)


def test_the_manifest_is_one_of_prml(service: Service, tmp_path: Any) -> None:
    """The reference tool accepts it, and its canonical bytes are the ones that were sent."""
    prereg_id = locked(service.client, small_plan(N))
    answer = service.read(f"{prereg_id}/prml")
    assert answer.headers["content-type"] == "application/vnd.prml+yaml"
    path = tmp_path / "claim.prml.yaml"
    path.write_bytes(answer.content)
    manifest = falsify_prml.load_manifest(str(path))
    assert falsify_prml.validate_manifest(manifest) == []
    assert falsify_prml.canonicalize(manifest).encode() == answer.content
    assert falsify_prml.manifest_hash(manifest) == hashlib.sha256(answer.content).hexdigest()
    record = service.read(prereg_id).json()
    assert manifest["metric_args"]["plan_sha256"] == record["plan_sha256"]
    assert manifest["metric_args"]["rule"] == record["plan"]["hypotheses"][0]["rule"]
    assert manifest["dataset"]["hash"] == record["plan"]["populations"][0]["items_sha256"]
    assert service.read(f"{prereg_id}/prml").content == answer.content
    assert falsify_prml.evaluate_predicate(1.0, manifest["comparator"], manifest["threshold"])
    assert not falsify_prml.evaluate_predicate(0.0, manifest["comparator"], manifest["threshold"])


def test_which_hypothesis_has_to_be_said(service: Service) -> None:
    plan = small_plan(N)
    plan["hypotheses"].append({**plan["hypotheses"][0], "id": "H2"})
    prereg_id = locked(service.client, plan)
    answer = service.client.get(f"/v1/preregistrations/{prereg_id}/prml")
    assert answer.status_code == 422
    assert "H2" in answer.text
    first, second = (
        falsify_prml_of(service.read(f"{prereg_id}/prml?hypothesis={name}").content)
        for name in (plan["hypotheses"][0]["id"], "H2")
    )
    assert first["claim_id"] != second["claim_id"]
    assert service.client.get(f"/v1/preregistrations/{prereg_id}/prml?hypothesis=H9").status_code == 422


def falsify_prml_of(content: bytes) -> dict[str, Any]:
    import yaml

    return yaml.safe_load(content)


@pytest.mark.parametrize("name", ["lock.intoto.json", "lock.dsse.json", "prml"])
def test_a_draft_is_not_exported(service: Service, name: str) -> None:
    draft = service.client.post("/v1/preregistrations", json={"title": "Draft"}).json()["id"]
    assert service.client.get(f"/v1/preregistrations/{draft}/{name}").status_code == 409


def test_against_figures_of_prml() -> None:
    """The minimal manifest of the specification's appendix A, and its hash."""
    manifest = {
        "version": "prml/0.1",
        "claim_id": "01900000-0000-7000-8000-000000000000",
        "created_at": "2026-05-01T12:00:00Z",
        "metric": "accuracy",
        "comparator": ">=",
        "threshold": 0.85,
        "dataset": {
            "id": "imagenet-val-2012",
            "hash": "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
        },
        "seed": 42,
        "producer": {"id": "falsify.dev"},
    }
    digest = hashlib.sha256(prml.canonical_bytes(manifest)).hexdigest()
    assert digest == "47f9956b3b9c495b3bf03b67398f54d0aa2133a2faf9b0522a9efa90bb109466"


def test_against_figures_of_dsse() -> None:
    """The example of the protocol's description."""
    sent = intoto.pre_authentication("http://example.com/HelloWorld", b"hello world")
    assert sent == b"DSSEv1 29 http://example.com/HelloWorld 11 hello world"
