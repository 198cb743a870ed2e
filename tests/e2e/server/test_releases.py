"""A server that is the newest release of Kubernetes: kinds and fields that 1.32 does not have."""

import asyncio
import json
import sys
from collections.abc import Callable
from typing import Any

import newest
import pytest

from quarterdeck.kit import http

POD = {
    "metadata": {"name": "p"},
    "spec": {
        "resources": {"requests": {"cpu": "1"}},
        "hostnameOverride": "other",
        "containers": [{"name": "c", "image": "i"}],
    },
}
VOLUME_CLAIM: dict[str, Any] = {
    "metadata": {"name": "data"},
    "spec": {
        "accessModes": ["ReadWriteOnce"],
        "resources": {"requests": {"storage": "1Gi"}},
        "volumeAttributesClassName": "gold",
    },
}
REQUEST = {"requests": [{"name": "gpu", "exactly": {"deviceClassName": "gpu"}}]}


async def send(
    client: http.Client, url: str, body: Any = None, *, patches: bool = False
) -> tuple[int, Any]:
    data = None if body is None else json.dumps(body).encode()
    kind = "strategic-merge-patch+json" if patches else "json"
    headers = [("Content-Type", f"application/{kind}")]
    method = "GET" if body is None else "PATCH" if patches else "POST"
    response = await client.request(method, url, headers=headers, body=data)
    text = await response.read()
    return response.status, json.loads(text) if text.startswith(b"{") else text


async def test_the_newest_release_has_its_kinds_and_fields() -> None:
    async with newest.serving("1.37") as url, http.Client() as client:
        assert (await send(client, f"{url}/version"))[1]["minor"] == "37"
        strict = "fieldValidation=Strict"
        status, pod = await send(client, f"{url}/api/v1/namespaces/default/pods?{strict}", POD)
        assert (status, pod["spec"]["hostnameOverride"]) == (201, "other"), pod
        path = f"{url}/api/v1/namespaces/default/persistentvolumeclaims"
        assert (await send(client, path, VOLUME_CLAIM))[1]["spec"] == VOLUME_CLAIM["spec"] | {
            "volumeMode": "Filesystem"
        }
        dra = f"{url}/apis/resource.k8s.io/v1"
        status, _ = await send(
            client, f"{dra}/deviceclasses?{strict}", {"metadata": {"name": "gpu"}, "spec": {}}
        )
        assert status == 201
        claim = {"metadata": {"name": "one"}, "spec": {"devices": REQUEST}}
        path = f"{dra}/namespaces/default/resourceclaims?{strict}"
        status, made = await send(client, path, claim)
        assert (status, made["spec"]["devices"]["requests"][0]["name"]) == (201, "gpu"), made
        for path in (
            "apis/admissionregistration.k8s.io/v1/mutatingadmissionpolicies",
            "apis/certificates.k8s.io/v1/podcertificaterequests",
            "apis/networking.k8s.io/v1/servicecidrs",
            "apis/storage.k8s.io/v1/volumeattributesclasses",
        ):
            assert (await send(client, f"{url}/{path}"))[0] == 200, path
        document = (await send(client, f"{url}/openapi/v3/apis/resource.k8s.io/v1"))[1]
        assert "io.k8s.api.resource.v1.ResourceClaim" in document["components"]["schemas"]


async def test_the_default_release_refuses_them() -> None:
    async with newest.serving("1.32") as url, http.Client() as client:
        assert (await send(client, f"{url}/version"))[1]["minor"] == "32"
        path = f"{url}/api/v1/namespaces/default/pods?fieldValidation=Strict"
        status, answer = await send(client, path, POD)
        assert (status, 'unknown field "spec.hostnameOverride"' in answer["message"]) == (400, True)
        assert (await send(client, f"{url}/apis/resource.k8s.io/v1/deviceclasses"))[0] == 404


async def test_an_unknown_release_is_refused() -> None:
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "quarterdeck.cli", "server", "--kubernetes-version", "1.12"),
        stderr=asyncio.subprocess.PIPE,
    )
    _, text = await process.communicate()
    assert process.returncode and b"must be one of 1.32, 1.36, 1.37" in text


@pytest.mark.parametrize("release", ["1.32", "1.36", "1.37"])
async def test_discovery_names_what_is_served(release: str) -> None:
    async with newest.serving(release) as url, http.Client() as client:
        groups = (await send(client, f"{url}/apis"))[1]["groups"]
        for group in groups:
            for version in group["versions"]:
                found = (await send(client, f"{url}/apis/{version['groupVersion']}"))[1]
                for each in found["resources"]:
                    if "/" not in each["name"] and "list" in each["verbs"]:
                        path = f"{url}/apis/{version['groupVersion']}/{each['name']}?limit=1"
                        assert (await send(client, path))[0] == 200, path


def make_resize(amount: str | None) -> dict[str, Any]:
    resources = {"requests": {"cpu": amount}}
    return {"spec": {"containers": [{"name": "c", "resources": resources}]}}


async def test_a_running_pod_is_resized() -> None:
    async with newest.serving("1.37", "--simulate-workloads") as url, http.Client() as client:
        pods = f"{url}/api/v1/namespaces/default/pods"
        container = {"name": "c", "image": "i", "resources": {"requests": {"cpu": "100m"}}}
        await send(client, pods, {"metadata": {"name": "p"}, "spec": {"containers": [container]}})
        await follow(client, pods, lambda pod: get_amount(pod) == "100m")
        status, pod = await send(client, f"{pods}/p/resize", make_resize("200m"), patches=True)
        assert (status, pod["metadata"]["generation"]) == (200, 2), pod
        pod = await follow(client, pods, lambda pod: get_amount(pod) == "200m")
        assert pod["status"]["observedGeneration"] == 2
        status, answer = await send(client, f"{pods}/p/resize", make_resize(None), patches=True)
        assert (status, "resource requests cannot be removed" in answer["message"]) == (422, True)
        status, answer = await send(client, f"{pods}/p", make_resize("300m"), patches=True)
        assert (status, "pod updates may not change" in answer["message"]) == (422, True)


async def follow(
    client: http.Client, url: str, accepts: Callable[[dict[str, Any]], bool]
) -> dict[str, Any]:
    """Watch until an object is accepted."""
    async with await client.request("GET", f"{url}?watch=true") as response:
        async for line in response.lines():
            found: dict[str, Any] = json.loads(line)["object"]
            if accepts(found):
                return found
    raise AssertionError("the watch ended")


def get_amount(pod: dict[str, Any]) -> str | None:
    [status] = pod["status"].get("containerStatuses") or [{}]
    amount: str | None = (status.get("allocatedResources") or {}).get("cpu")
    return amount


@pytest.mark.parametrize(
    ("flags", "status"),
    [((), 404), (("--feature-gates", "InPlacePodVerticalScaling=true"), 200)],
    ids=["off", "on"],
)
async def test_a_gate_serves_resize_in_the_default_release(
    flags: tuple[str, ...], status: int
) -> None:
    async with newest.serving("1.32", *flags) as url, http.Client() as client:
        pods = f"{url}/api/v1/namespaces/default/pods"
        container = {"name": "c", "image": "i", "resources": {"requests": {"cpu": "100m"}}}
        await send(client, pods, {"metadata": {"name": "p"}, "spec": {"containers": [container]}})
        found, _ = await send(client, f"{pods}/p/resize", make_resize("200m"), patches=True)
        assert found == status


@pytest.mark.parametrize(
    ("flags", "version"),
    [
        (("1.37",), "v1"),
        (("1.32", "--feature-gates", "MutatingAdmissionPolicy=true"), "v1alpha1"),
    ],
    ids=["newest release", "gate of 1.32"],
)
async def test_mutating_policies_change_writes(flags: tuple[str, ...], version: str) -> None:
    expression = 'Object{metadata: Object.metadata{labels: {"team": "blue"}}}'
    rule = {
        "apiGroups": [""],
        "apiVersions": ["v1"],
        "operations": ["CREATE"],
        "resources": ["configmaps"],
    }
    policy: dict[str, Any] = {
        "metadata": {"name": "label"},
        "spec": {
            "matchConstraints": {"resourceRules": [rule]},
            "reinvocationPolicy": "Never",
            "mutations": [
                {
                    "patchType": "ApplyConfiguration",
                    "applyConfiguration": {"expression": expression},
                }
            ],
        },
    }
    binding = {"metadata": {"name": "label"}, "spec": {"policyName": "label"}}
    async with newest.serving(*flags) as url, http.Client() as client:
        group = f"{url}/apis/admissionregistration.k8s.io/{version}/mutatingadmissionpolic"
        for path, body in ((f"{group}ies", policy), (f"{group}ybindings", binding)):
            status, made = await send(client, path, body)
            assert status == 201, made
        path = f"{url}/api/v1/namespaces/default/configmaps"
        status, made = await send(client, path, {"metadata": {"name": "a"}})
        assert (status, made["metadata"]["labels"]) == (201, {"team": "blue"}), made
        wrong = {**policy, "spec": {**policy["spec"], "mutations": []}}
        assert (await send(client, f"{group}ies", wrong))[0] == 422
