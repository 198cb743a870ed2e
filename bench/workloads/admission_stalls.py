"""Requests whose work is done by policies, selectors, workloads and the audit log.

Each is legal. The policies are about objects with the label `asks` only: the reader's tiny object
and the other cases have nothing to do with them.
"""

import json
import time
from collections.abc import Mapping
from pathlib import Path

from bench.workloads import large_answers
from bench.workloads.stalls import DEPLOYMENTS, MAPS, PAUSE_S, TIMEOUT_S, Api, Attack

GROUP = "/apis/admissionregistration.k8s.io/v1"
PODS = large_answers.PODS
AUDIT_POLICY = """
apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
rules:
- {level: RequestResponse, resources: [{group: "", resources: [pods]}]}
- {level: None}
"""
_NUMBERS = "[" + ",".join(map(str, range(20))) + "]"
_EXPENSIVE = f"{_NUMBERS}.all(a, {_NUMBERS}.all(b, {_NUMBERS}.all(c, a + b + c >= 0)))"


def list_attacks(share: float) -> list[Attack]:
    """List every case; `share` is how much of the full size each has."""
    return [
        _expensive_policies(40),
        _policies_on_large_object(20, int(80_000 * share)),
        _parameters(int(3_000 * share)),
        _field_selector(8, int(34_000 * share)),
        _containers(int(8_000 * share)),
        _large_template(int(20_000 * share)),
    ]


def build_audit_attack(share: float) -> Attack:
    """A large pod at level RequestResponse; needs a server with `AUDIT_POLICY`."""
    count = int(34_000 * share)
    value = large_answers.build_pod("audited", count)
    body = json.dumps(value, separators=(",", ":")).encode()
    return Attack(
        f"audit of a pod of {count:,} variables",
        lambda api: max(api.send("POST", PODS, body), api.send("GET", f"{PODS}/audited")),
    )


def write_audit_policy(folder: Path) -> Path:
    """Write `AUDIT_POLICY` to a file."""
    path = folder / "audit-policy.yaml"
    path.write_text(AUDIT_POLICY)
    return path


def _expensive_policies(count: int) -> Attack:
    """Policies that each come near the most that an expression may cost, on a tiny object."""

    def prepare(api: Api) -> None:
        for number in range(count):
            _create_policy(api, f"expensive-{number}", "expensive", [_EXPENSIVE] * 4)

    body = json.dumps(_build_map("expensive", {})).encode()
    return Attack(
        f"{count} expensive policies",
        lambda api: api.send("POST", MAPS, body),
        prepare=prepare,
        expected=(201, 422),
    )


def _policies_on_large_object(count: int, members: int) -> Attack:
    def prepare(api: Api) -> None:
        for number in range(count):
            expression = "object.data.all(k, k != 'absent')"
            _create_policy(api, f"large-{number}", "large", [expression])

    data = {f"key-{number}": "v" for number in range(members)}
    body = json.dumps(_build_map("large", data), separators=(",", ":")).encode()
    return Attack(
        f"{count} policies on {members:,} members",
        lambda api: api.send("POST", MAPS, body),
        prepare=prepare,
        expected=(201, 422),
    )


def _parameters(count: int) -> Attack:
    """A binding that selects many objects as parameters."""

    def prepare(api: Api) -> None:
        api.create("/api/v1/namespaces", {"metadata": {"name": "params"}})
        path = MAPS.replace("/default/", "/params/")
        for number in range(count):
            value = _build_map(f"p{number}", {"a": "b"})
            api.create(path, value)
        reference = {
            "namespace": "params",
            "selector": {"matchExpressions": [{"key": "asks", "operator": "Exists"}]},
            "parameterNotFoundAction": "Deny",
        }
        expressions = ["params.data.a != object.metadata.name"]
        _create_policy(api, "parameters", "parameters", expressions, params=reference)

    body = json.dumps(_build_map("parameters", {})).encode()
    return Attack(
        f"policy with {count:,} parameters",
        lambda api: api.send("POST", MAPS, body),
        prepare=prepare,
    )


def _field_selector(count: int, env: int) -> Attack:
    path = PODS.replace("/default/", "/fields/")

    def prepare(api: Api) -> None:
        api.create("/api/v1/namespaces", {"metadata": {"name": "fields"}})
        for number in range(count):
            api.create(path, large_answers.build_pod(f"large-{number}", env))

    return Attack(
        f"field selector over {count} pods of {env:,} variables",
        lambda api: api.send("GET", f"{path}?fieldSelector=spec.nodeName=absent"),
        prepare=prepare,
    )


def _containers(count: int) -> Attack:
    containers = [{"name": f"c{number}", "image": "nginx"} for number in range(count)]
    value = {"metadata": {"name": "many-containers"}, "spec": {"containers": containers}}
    body = json.dumps(value, separators=(",", ":")).encode()
    return Attack(
        f"pod of {count:,} containers",
        lambda api: api.send("POST", PODS, body),
        expected=(201, 413, 422),
    )


def _large_template(env: int) -> Attack:
    """The life cycle copies a large template into a ReplicaSet and into pods."""
    labels = {"app": "large-template"}
    pod = large_answers.build_pod("unused", env)
    value = {
        "metadata": {"name": "large-template"},
        "spec": {
            "replicas": 3,
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": pod["spec"]},
        },
    }
    body = json.dumps(value, separators=(",", ":")).encode()

    def run(api: Api) -> int:
        status = api.send("POST", DEPLOYMENTS, body)
        until = time.monotonic() + TIMEOUT_S
        path = f"{DEPLOYMENTS}/large-template"
        while b'"observedGeneration"' not in api.read(path):
            if time.monotonic() > until:
                raise RuntimeError("the life cycle did not write a status")
            time.sleep(PAUSE_S)
        return status

    return Attack(f"Deployment of {env:,} variables", run, expected=(201, 413))


def _create_policy(
    api: Api,
    name: str,
    asks: str,
    expressions: list[str],
    *,
    params: Mapping[str, object] | None = None,
) -> None:
    rule = {
        "apiGroups": [""],
        "apiVersions": ["v1"],
        "operations": ["CREATE"],
        "resources": ["configmaps"],
    }
    selector = {"matchLabels": {"asks": asks}}
    spec: dict[str, object] = {
        "matchConstraints": {"resourceRules": [rule], "objectSelector": selector},
        "validations": [{"expression": each} for each in expressions],
    }
    if params is not None:
        spec["paramKind"] = {"apiVersion": "v1", "kind": "ConfigMap"}
    binding = {"policyName": name, "validationActions": ["Deny"], "paramRef": params}
    api.create(f"{GROUP}/validatingadmissionpolicies", {"metadata": {"name": name}, "spec": spec})
    api.create(
        f"{GROUP}/validatingadmissionpolicybindings", {"metadata": {"name": name}, "spec": binding}
    )


def _build_map(name: str, data: dict[str, str]) -> dict[str, object]:
    return {"metadata": {"name": name, "labels": {"asks": name}}, "data": data}
