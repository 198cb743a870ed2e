"""Corners where built-in kinds differ from custom ones, found by comparison with Kubernetes."""

import base64
from pathlib import Path
from typing import Any

from cryptography import x509
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding

from quarterdeck.app.cluster import Cluster
from quarterdeck.kit import http
from quarterdeck.kit import json as kit_json
from quarterdeck.kit.certificate import generate_key

MAPS = "/api/v1/namespaces/default/configmaps"
REQUESTS = "/apis/certificates.k8s.io/v1/certificatesigningrequests"
RULES = "/apis/authorization.k8s.io/v1/selfsubjectrulesreviews"
MERGE = "application/merge-patch+json"


async def test_finalizers_of_built_in_kinds_need_a_domain(serving: Any) -> None:
    async with serving() as api:
        text = "name is neither a standard finalizer name nor is it fully qualified"
        metadata = {"name": "a", "finalizers": ["bad"]}
        refused = await api("POST", MAPS, {"metadata": metadata})
        assert refused.status == 422
        assert f'metadata.finalizers[0]: Invalid value: "bad": {text}' in refused.message
        await api.make("a", metadata={"finalizers": ["orphan", "example.com/x"]})
        refused = await api("PATCH", f"{MAPS}/a", {"metadata": metadata}, media=MERGE)
        assert refused.status == 422


async def test_patch_may_not_change_the_uid(serving: Any) -> None:
    async with serving() as api:
        await api.make("a")
        refused = await api("PATCH", f"{MAPS}/a", {"metadata": {"uid": "x"}}, media=MERGE)
        assert refused.status == 422
        assert 'metadata.uid: Invalid value: "x": field is immutable' in refused.message


def _build_request() -> str:
    """A certificate signing request as objects carry it."""
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "someone")])
    builder = x509.CertificateSigningRequestBuilder().subject_name(name)
    pem = builder.sign(generate_key(), SHA256()).public_bytes(Encoding.PEM)
    return base64.b64encode(pem).decode()


async def test_approval_changes_the_status_of_a_request_only(serving: Any) -> None:
    async with serving() as api:
        spec = {
            "request": _build_request(),
            "signerName": "example.com/x",
            "usages": ["client auth"],
        }
        made = await api("POST", REQUESTS, {"metadata": {"name": "r"}, "spec": spec})
        assert made.body["spec"]["username"] == "quarterdeck:local"
        changed = made.body | {
            "spec": spec | {"signerName": "example.com/other"},
            "status": {"conditions": [{"type": "Approved", "status": "True"}]},
        }
        approved = await api("PUT", f"{REQUESTS}/r/approval", changed)
        assert approved.status == 200
        assert approved.body["spec"]["signerName"] == "example.com/x"
        assert approved.body["status"]["conditions"][0]["type"] == "Approved"


async def test_annotations_of_deployments_are_counted(serving: Any) -> None:
    async with serving() as api:
        path = "/apis/apps/v1/namespaces/default/deployments"
        template = {
            "metadata": {"labels": {"a": "b"}},
            "spec": {"containers": [{"name": "c", "image": "i"}]},
        }
        spec = {"selector": {"matchLabels": {"a": "b"}}, "template": template}
        await api.make("d", path, spec=spec)
        patch = {"metadata": {"annotations": {"x": "y"}}}
        noted = await api("PATCH", f"{path}/d", patch, media=MERGE)
        assert noted.body["metadata"]["generation"] == 2
        patch = {"metadata": {"labels": {"x": "y"}}}
        labeled = await api("PATCH", f"{path}/d", patch, media=MERGE)
        assert labeled.body["metadata"]["generation"] == 2


async def test_rules_of_oneself_are_complete(serving: Any) -> None:
    async with serving() as api:
        body = {"spec": {"namespace": "default"}}
        mine = (await api("POST", RULES, body)).body["status"]
        assert mine["resourceRules"][0] == {
            "verbs": ["*"],
            "apiGroups": ["*"],
            "resources": ["*"],
        }
        theirs = (await api("POST", RULES, body, impersonate_user="bob")).body["status"]
        assert [each["verbs"] for each in theirs["resourceRules"]] == [["create"], ["create"]]
        assert theirs["incomplete"] is False


async def test_tokens_outlive_the_server_where_objects_do(tmp_path: Path) -> None:
    accounts = "/api/v1/namespaces/default/serviceaccounts"
    async with Cluster(data_dir=tmp_path) as cluster, http.Client() as client:
        body = kit_json.encode({"metadata": {"name": "robot"}})
        await (await client.request("POST", cluster.url + accounts, body=body)).read()
        url = f"{cluster.url}{accounts}/robot/token"
        answer = await client.request("POST", url, body=b"{}")
        token = kit_json.decode(await answer.read())["status"]["token"]
    async with Cluster(data_dir=tmp_path) as cluster, http.Client() as client:
        headers = [("Authorization", f"Bearer {token}")]
        answer = await client.request("GET", f"{cluster.url}/api", headers=headers)
        await answer.read()
        assert answer.status == 200
