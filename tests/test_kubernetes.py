"""The manifests of the chart: valid, closed, and each part with the secrets it needs and no other."""

from __future__ import annotations

import json
import re
import tomllib
from pathlib import Path
from typing import Any

import jsonschema
import kubernetes_validate
import pytest
import yaml

from service.config import Settings, read_settings
from service.keyring.keyring import FILES

PLACE = Path(__file__).parents[1] / "charts" / "forelock"
README = (PLACE / "README.md").read_text("utf-8")
VALUES = yaml.safe_load((PLACE / "values.yaml").read_text("utf-8"))
SCHEMA = json.loads((PLACE / "values.schema.json").read_text("utf-8"))
ACTION = re.compile(r"{{ \.Values((?:\.\w+)+)( \| quote)? }}")
"""All that the templates may do: any reader of them can render them, and so does this test."""


def rendered(values: dict[str, Any]) -> list[dict[str, Any]]:
    """Every manifest of the chart, as Helm renders it."""

    def value(action: re.Match[str]) -> str:
        found: Any = values
        for name in action[1].split(".")[1:]:
            found = found[name]
        return f'"{found}"' if action[2] else str(found)

    documents: list[dict[str, Any]] = []
    for path in sorted((PLACE / "templates").glob("*.yaml")):
        text = ACTION.sub(value, path.read_text("utf-8"))
        assert "{{" not in text, path.name
        documents += yaml.safe_load_all(text)
    return documents


DOCUMENTS = rendered(VALUES)
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
    whole = {(each["secretRef"]["name"], None) for each in container.get("envFrom", ())}
    return found | whole | {(each["name"], each["key"]) for each in given}


@pytest.mark.parametrize("document", DOCUMENTS, ids=named)
def test_a_manifest_is_valid(document) -> None:
    kubernetes_validate.validate(document, "1.32", strict=True)


def test_an_invalid_manifest_is_seen() -> None:
    (broken,) = (each for each in rendered(VALUES) if each["kind"] == "Job")
    broken["spec"]["template"]["spec"]["containers"][0]["imagee"] = "x"
    with pytest.raises(kubernetes_validate.ValidationError):
        kubernetes_validate.validate(broken, "1.32", strict=True)


def test_the_chart_says_what_it_is() -> None:
    chart = yaml.safe_load((PLACE / "Chart.yaml").read_text("utf-8"))
    project = tomllib.loads((PLACE.parents[1] / "pyproject.toml").read_text("utf-8"))["project"]
    assert (chart["apiVersion"], chart["name"], chart["type"]) == ("v2", "forelock", "application")
    assert chart["appVersion"] == project["version"]
    assert project["version"].startswith(chart["version"])


def test_every_value_is_used_and_has_its_schema() -> None:
    def leaves(of: Any, at: str = "") -> set[str]:
        return (
            {at} if not isinstance(of, dict) else {x for name in of for x in leaves(of[name], f"{at}.{name}")}
        )

    texts = "".join(path.read_text("utf-8") for path in (PLACE / "templates").glob("*.yaml"))
    assert {action[0] for action in ACTION.findall(texts)} == leaves(VALUES)
    jsonschema.Draft7Validator.check_schema(SCHEMA)
    jsonschema.validate(VALUES, SCHEMA)


@pytest.mark.parametrize(
    "wrong",
    [
        {"publicUrl": 'https://x", value: "y'},
        {"image": "x\n  hostNetwork: true"},
        {"postgres": {"cidr": "10.0.0.5", "port": 5432}},
        {"api": VALUES["api"] | {"replicas": 0}},
        {"workers": VALUES["workers"] | {"replica": 3}},
        {"secret": "x"},
        {"signIn": VALUES["signIn"] | {"issuer": "id.example.org"}},
        {"signIn": VALUES["signIn"] | {"clientId": 'x", value: "y'}},
        {"signIn": VALUES["signIn"] | {"scope": 'openid" "x'}},
        {"artefacts": VALUES["artefacts"] | {"place": "directory"}},
        {"api": VALUES["api"] | {"serviceAccount": "x\n  hostNetwork: true"}},
    ],
)
def test_a_value_that_would_make_other_manifests_is_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(VALUES | wrong, SCHEMA)


def test_other_values_arrive_where_they_belong() -> None:
    other = VALUES | {
        "workers": {"replicas": 7, "memory": "3Gi"},
        "postgres": {"cidr": "fd00::5/128", "port": 6432},
    }
    jsonschema.validate(other, SCHEMA)
    documents = rendered(other)
    for document in documents:
        kubernetes_validate.validate(document, "1.32", strict=True)
    named_ = {named(each): each for each in documents}
    assert named_["Deployment-forelock-worker"]["spec"]["replicas"] == 7
    (runner,) = named_["Deployment-forelock-runner"]["spec"]["template"]["spec"]["containers"]
    assert {"name": "FORELOCK_POOL_WORKERS", "value": "7"} in runner["env"]
    policies = [each for each in documents if each["kind"] == "NetworkPolicy"]
    assert str(policies).count("fd00::5/128") == 3


def environment(values: dict[str, Any]) -> dict[str, str]:
    """What the API's settings are made of, as the chart gives it in the open."""
    named_ = {named(each): each for each in rendered(values)}
    (api,) = named_["StatefulSet-forelock-api"]["spec"]["template"]["spec"]["containers"]
    return {each["name"]: each["value"] for each in api["env"] if "value" in each}


def settings_of(values: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> Settings:
    for name, value in environment(values).items():
        monkeypatch.setenv(name, value)
    return read_settings({}, pytest.fail)


def test_without_values_nobody_signs_in_by_a_provider_and_no_file_is_kept(monkeypatch) -> None:
    settings = settings_of(VALUES, monkeypatch)
    assert (settings.oidc_issuer, settings.oidc_client_secret_file, settings.outgoing_allow) == (
        None,
        None,
        None,
    )
    assert (settings.artefacts, settings.artefact_days) == ("off", None)


def test_values_of_signing_in_and_of_files_are_what_the_service_reads(monkeypatch) -> None:
    shown = [yaml.safe_load(block) for block in re.findall(r"```yaml\n(.*?)```", README, re.DOTALL)]
    (more,) = (block for block in shown if "signIn" in block)
    values = VALUES | more
    jsonschema.validate(values, SCHEMA)
    settings = settings_of(values, monkeypatch)
    assert (settings.oidc_issuer, settings.oidc_client_id) == ("https://id.example.org", "forelock")
    assert str(settings.oidc_client_secret_file) == "/sign-in/client-secret"
    assert str(settings.oidc_grants_file) == "/sign-in/grants.toml"
    assert settings.artefacts == "s3://evidence/forelock"
    assert (
        str(next(each for each in rendered(values) if named(each) == "NetworkPolicy-forelock-api")).count(
            "203.0.113."
        )
        == 2
    )
    (made,) = re.findall(r"secret generic forelock-sign-in (.*)", README)
    assert re.findall(r"--from-file=(\S+)", made) == ["grants.toml", "client-secret"]


def test_helm_lints_and_renders_the_same() -> None:
    """Helm itself, where somebody installed it as a package: it is larger than all that the tests need otherwise."""
    helm = pytest.importorskip("helm_python.chart", reason="helm-python-sdk (244 MB) is not installed")
    from helm_python import errors as helm_errors

    report = helm.lint(str(PLACE), VALUES, strict=True, kube_version="v1.32.0")
    assert report["errors"] == []
    assert [each for each in report["messages"] if each["severity"] > 1] == []
    texts = helm.Chart.load(str(PLACE)).render(VALUES, name="forelock", namespace="default")
    theirs = [document for path in sorted(texts) for document in yaml.safe_load_all(texts[path]) if document]
    assert theirs == DOCUMENTS
    with pytest.raises(helm_errors.HelmValuesError, match="replicas"):
        helm.Chart.load(str(PLACE)).validate_schema(VALUES | {"workers": {"replicas": 0, "memory": "2Gi"}})


def test_the_schema_is_migrated_before_anything_starts() -> None:
    (job,) = (each for each in DOCUMENTS if each["kind"] == "Job")
    assert job["metadata"]["annotations"]["helm.sh/hook"] == "pre-install,pre-upgrade"


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
        "api": {
            ("forelock-database", "api"),
            ("forelock-api-keys", None),
            ("forelock-sign-in", None),
            ("forelock-artefacts", None),
        },
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
