"""The manifests of examples/kubernetes: valid, closed, and each part with the secrets it needs and no other."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import kubernetes_validate
import pytest
import yaml

from service.config import Settings
from service.keyring.keyring import FILES

PLACE = Path(__file__).parents[1] / "examples" / "kubernetes"
README = (PLACE / "README.md").read_text("utf-8")
DOCUMENTS = [
    document
    for path in sorted(PLACE.glob("*.yaml"))
    for document in yaml.safe_load_all(path.read_text("utf-8"))
]
PODS = {
    document["metadata"]["name"]: document["spec"]["template"]
    for document in DOCUMENTS
    if "template" in document["spec"]
}


def named(document: dict[str, Any]) -> str:
    return f"{document['kind']}-{document['metadata']['name']}"


def secrets(pod: dict[str, Any]) -> set[tuple[str, str | None]]:
    """Name, and key where only one is taken."""
    (container,) = pod["spec"]["containers"]
    found = {(each["secret"]["secretName"], None) for each in pod["spec"]["volumes"] if "secret" in each}
    given = [each["valueFrom"]["secretKeyRef"] for each in container.get("env", ()) if "valueFrom" in each]
    return found | {(each["name"], each["key"]) for each in given}


@pytest.mark.parametrize("document", DOCUMENTS, ids=named)
def test_a_manifest_is_valid(document) -> None:
    kubernetes_validate.validate(document, "1.32", strict=True)


def test_an_invalid_manifest_is_seen() -> None:
    broken = yaml.safe_load((PLACE / "migrate.yaml").read_text("utf-8"))
    broken["spec"]["template"]["spec"]["containers"][0]["imagee"] = "x"
    with pytest.raises(kubernetes_validate.ValidationError):
        kubernetes_validate.validate(broken, "1.32", strict=True)


@pytest.mark.parametrize("name", PODS)
def test_a_pod_can_do_nothing_it_need_not(name) -> None:
    spec = PODS[name]["spec"]
    assert spec["securityContext"]["runAsNonRoot"] is True
    assert spec["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
    assert spec["automountServiceAccountToken"] is False
    (container,) = spec["containers"]
    assert container["securityContext"] == {
        "allowPrivilegeEscalation": False, "readOnlyRootFilesystem": True, "capabilities": {"drop": ["ALL"]},
    }  # fmt: skip
    assert "memory" in container["resources"]["limits"]
    assert ("livenessProbe" in container) == (name != "forelock-migrate")
    mounted = {each["name"] for each in container["volumeMounts"]}
    claimed = {"state"} if name == "forelock-api" else set()
    assert mounted == {each["name"] for each in spec["volumes"]} | claimed
    for each in container.get("env", ()):
        setting = each["name"].removeprefix("FORELOCK_").lower()
        assert setting in Settings.model_fields or each["name"].startswith("DASK_")


def test_each_part_has_its_own_secrets() -> None:
    assert {name.removeprefix("forelock-"): secrets(pod) for name, pod in PODS.items()} == {
        "migrate": {("forelock-database", "owner")},
        "api": {("forelock-database", "api"), ("forelock-api-keys", None)},
        "runner": {
            ("forelock-database", "runner"),
            ("forelock-runner-keys", None),
            ("forelock-pool-runner", None),
        },
        "scheduler": {("forelock-pool-scheduler", None)},
        "worker": {("forelock-pool-worker", None)},
    }
    made = dict(re.findall(r"secret generic (forelock-\w+-keys) (.*)", README))
    held = {name: set(re.findall(r"DIR/keys/(\S+)", files)) for name, files in made.items()}
    assert set(FILES) - held["forelock-api-keys"] == {"seal.key"}
    assert set(FILES) - held["forelock-runner-keys"] == {"signing.key"}


def test_policies_select_the_pods_and_the_ports_they_have() -> None:
    components = {pod["metadata"]["labels"]["app.kubernetes.io/component"]: pod for pod in PODS.values()}
    policies = {
        each["metadata"]["name"]: each["spec"] for each in DOCUMENTS if each["kind"] == "NetworkPolicy"
    }
    everything = policies.pop("forelock-nothing-else")
    assert everything.keys() == {"podSelector", "policyTypes"}
    assert {
        each["podSelector"]["matchLabels"]["app.kubernetes.io/component"] for each in policies.values()
    } == components.keys()
    allowed = set()
    for spec in policies.values():
        own = spec["podSelector"]["matchLabels"]["app.kubernetes.io/component"]
        for way, end in (("ingress", "from"), ("egress", "to")):
            for rule in spec.get(way, ()):
                for other in rule[end]:
                    if "podSelector" in other and "namespaceSelector" not in other:
                        name = other["podSelector"]["matchLabels"]["app.kubernetes.io/component"]
                        (port,) = (each["port"] for each in rule["ports"])
                        pair = (name, own) if way == "ingress" else (own, name)
                        allowed.add((way, *pair, port))
    opened = {each[1:] for each in allowed if each[0] == "egress"}
    assert opened == {each[1:] for each in allowed if each[0] == "ingress"}
    for _source, target, port in opened:
        (container,) = components[target]["spec"]["containers"]
        assert [each["containerPort"] for each in container["ports"]] == [port]


def test_services_lead_to_ports_that_are_there() -> None:
    for service in (each for each in DOCUMENTS if each["kind"] == "Service"):
        wanted = service["spec"]["selector"]
        (pod,) = (each for each in PODS.values() if each["metadata"]["labels"] == wanted)
        names = {port["name"] for port in pod["spec"]["containers"][0]["ports"]}
        assert {port["targetPort"] for port in service["spec"]["ports"]} <= names
