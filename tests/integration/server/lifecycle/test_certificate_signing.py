"""Approved certificate requests are signed by the authority of the cluster."""

import base64
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding

from quarterdeck.app import certificates
from quarterdeck.app.cluster import Cluster
from quarterdeck.kit import http
from quarterdeck.kit import json as kit_json
from quarterdeck.kit.certificate import generate_key
from quarterdeck.server.options import ServerOptions

REQUESTS = "/apis/certificates.k8s.io/v1/certificatesigningrequests"
CLIENT = "kubernetes.io/kube-apiserver-client"
KUBELET = "kubernetes.io/kube-apiserver-client-kubelet"
SERVING = "kubernetes.io/kubelet-serving"
APPROVED = {"type": "Approved", "status": "True", "reason": "Test"}
Object = dict[str, Any]


def build_request(name: str, *groups: str, hosts: tuple[str, ...] = ()) -> str:
    parts = [x509.NameAttribute(x509.NameOID.ORGANIZATION_NAME, each) for each in groups]
    parts.append(x509.NameAttribute(x509.NameOID.COMMON_NAME, name))
    builder = x509.CertificateSigningRequestBuilder().subject_name(x509.Name(parts))
    if hosts:
        names = x509.SubjectAlternativeName([x509.DNSName(each) for each in hosts])
        builder = builder.add_extension(names, critical=False)
    pem = builder.sign(generate_key(), SHA256()).public_bytes(Encoding.PEM)
    return base64.b64encode(pem).decode()


async def ask(tmp_path: Path, spec: Object, *, condition: Object = APPROVED) -> Object:
    """The status of a request after it was approved and the life cycle rests."""
    own = certificates.ensure(tmp_path / "pki", datetime.now(UTC))
    files = (own.certificate("authority"), own.key("authority"))
    async with (
        Cluster(options=ServerOptions(cluster_signing=files)) as cluster,
        http.Client() as client,
    ):

        async def send(method: str, path: str, body: Object | None = None) -> Object:
            response = await client.request(
                method,
                cluster.url + path,
                headers=[("Content-Type", "application/json")],
                body=None if body is None else kit_json.encode(body),
            )
            answer: Object = kit_json.decode(await response.read())
            assert response.status < 300, answer
            return answer

        made = await send("POST", REQUESTS, {"metadata": {"name": "r"}, "spec": spec})
        made["status"] = {"conditions": [condition]}
        await send("PUT", f"{REQUESTS}/r/approval", made)
        assert cluster.api.lifecycle is not None
        await cluster.api.lifecycle.wait_until_idle()
        status: Object = (await send("GET", f"{REQUESTS}/r"))["status"]
        return status


async def test_client_certificate_names_whom_the_request_names(tmp_path: Path) -> None:
    status = await ask(
        tmp_path,
        {
            "request": build_request("alice", "devs"),
            "signerName": CLIENT,
            "usages": ["client auth", "digital signature"],
            "expirationSeconds": 3600,
        },
    )
    issued = x509.load_pem_x509_certificate(base64.b64decode(status["certificate"]))
    authority = x509.load_pem_x509_certificate((tmp_path / "pki" / "authority.crt").read_bytes())
    issued.verify_directly_issued_by(authority)
    assert issued.subject.rfc4514_string() == "CN=alice,O=devs"
    assert issued.not_valid_after_utc - issued.not_valid_before_utc == timedelta(hours=1)
    purposes = issued.extensions.get_extension_for_class(x509.ExtendedKeyUsage).value
    assert list(purposes) == [x509.oid.ExtendedKeyUsageOID.CLIENT_AUTH]
    assert not issued.extensions.get_extension_for_class(x509.BasicConstraints).value.ca


async def test_serving_certificate_keeps_its_hosts(tmp_path: Path) -> None:
    status = await ask(
        tmp_path,
        {
            "request": build_request("system:node:n1", "system:nodes", hosts=("n1.local",)),
            "signerName": SERVING,
            "usages": ["server auth"],
        },
    )
    issued = x509.load_pem_x509_certificate(base64.b64decode(status["certificate"]))
    hosts = issued.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    assert hosts.get_values_for_type(x509.DNSName) == ["n1.local"]


@pytest.mark.parametrize(
    ("signer", "request_for", "usages", "said"),
    [
        pytest.param(CLIENT, ("a",), ["server auth"], "invalid usages", id="usage"),
        pytest.param(
            CLIENT, ("a",), ["client auth", "cert sign"], "invalid usages", id="authority"
        ),
        pytest.param(
            SERVING, ("a", "system:masters"), ["server auth"], "system:masters", id="masters"
        ),
        pytest.param(KUBELET, ("a", "system:nodes"), ["client auth"], "system:node:", id="no node"),
        pytest.param(KUBELET, ("system:node:a",), ["client auth"], "system:nodes", id="no group"),
        pytest.param(
            SERVING, ("system:node:a", "system:nodes"), ["server auth"], "DNS name", id="no host"
        ),
    ],
)
async def test_what_a_signer_does_not_accept_fails(
    tmp_path: Path, signer: str, request_for: tuple[str, ...], usages: list[str], said: str
) -> None:
    spec = {"request": build_request(*request_for), "signerName": signer, "usages": usages}
    status = await ask(tmp_path, spec)
    assert "certificate" not in status
    (failed,) = [each for each in status["conditions"] if each["type"] == "Failed"]
    assert failed["reason"] == "SignerValidationFailure"
    assert said in failed["message"]


@pytest.mark.parametrize(
    ("signer", "kind"), [("example.com/other", "Approved"), (CLIENT, "Denied")]
)
async def test_requests_that_are_denied_or_for_others_are_left_alone(
    tmp_path: Path, signer: str, kind: str
) -> None:
    spec = {"request": build_request("a"), "signerName": signer, "usages": ["client auth"]}
    status = await ask(tmp_path, spec, condition={**APPROVED, "type": kind})
    assert "certificate" not in status
    assert [each["type"] for each in status["conditions"]] == [kind]
