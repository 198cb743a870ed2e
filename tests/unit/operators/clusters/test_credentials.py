"""From a Secret to a client's configuration."""

from typing import Any

import msgspec
import pytest

from quarterdeck.apis.clusterpulse.v1alpha1 import ClusterConnection
from quarterdeck.client.errors import ConnectionFailed, RequestTimeout, UntrustedServer
from quarterdeck.operators.clusters.conditions import Reason
from quarterdeck.operators.clusters.credentials import (
    Limits,
    build_config,
    describe_tls,
    hash_identity,
)
from quarterdeck.operators.clusters.failures import CredentialsUnavailable, describe, find_reason
from quarterdeck.wire.status import Forbidden, Unauthorized


def connection(**spec: Any) -> ClusterConnection:
    document = {
        "apiVersion": "clusterpulse.io/v1alpha1",
        "kind": "ClusterConnection",
        "metadata": {"name": "c", "namespace": "default"},
        "spec": {"endpoint": "https://c:6443/", "credentialsRef": {"name": "s"}, **spec},
    }
    return msgspec.convert(document, ClusterConnection)


def build(values: dict[str, bytes], **spec: Any) -> Any:
    return build_config(connection(**spec), values, origin="Secret s", limits=Limits())


def test_a_token_is_read_with_and_without_an_authority() -> None:
    config = build({"token": b" t \n", "ca.crt": b"PEM"})
    assert (config.server, config.token.reveal()) == ("https://c:6443", "t")
    assert config.certificate_authority.read() == b"PEM"
    assert (config.requests_per_s, config.burst) == (100.0, 200)
    assert describe_tls(config)[1] is Reason.VERIFIED
    assert describe_tls(build({"token": b"t"}))[1] is Reason.SYSTEM_TRUST
    insecure = build({"token": b"t", "ca.crt": b"PEM"}, insecureSkipTLSVerify=True)
    assert insecure.insecure_skip_tls_verify and not insecure.certificate_authority
    assert describe_tls(insecure)[:2] == ("False", Reason.INSECURE)
    assert describe_tls(build({"token": b"t"}, endpoint="http://c"))[1] is Reason.PLAIN_HTTP


@pytest.mark.parametrize(
    ("values", "spec", "text"),
    [
        ({}, {}, "no key 'token'"),
        ({"token": b"two words"}, {}, "contains a space or a control character"),
        ({"kubeconfig": b"{"}, {}, "not YAML"),
        ({"kubeconfig": b"[]"}, {}, "not a mapping"),
        ({"kubeconfig": b"clusters: [{name: a, cluster: x}]"}, {}, "no mapping"),
        ({"kubeconfig": b"users: [{name: u, user: {tokenFile: /etc/passwd}}]"}, {}, "tokenFile"),
    ],
)
def test_what_cannot_be_used_is_named(
    values: dict[str, bytes], spec: dict[str, Any], text: str
) -> None:
    with pytest.raises(CredentialsUnavailable, match=text):
        build(values, **spec)


def test_an_identity_changes_with_address_and_credentials_and_shows_neither() -> None:
    first = hash_identity(build({"token": b"hunter2"}))
    assert first == hash_identity(build({"token": b"hunter2"}))
    assert "hunter2" not in first
    others = [
        build({"token": b"other"}),
        build({"token": b"hunter2", "ca.crt": b"PEM"}),
        build({"token": b"hunter2"}, endpoint="https://d:6443"),
        build({"token": b"hunter2"}, insecureSkipTLSVerify=True),
    ]
    assert len({first, *map(hash_identity, others)}) == 5


@pytest.mark.parametrize(
    ("error", "reason", "text"),
    [
        (UntrustedServer("self-signed certificate"), Reason.UNTRUSTED, "ca.crt of the Secret"),
        (UntrustedServer("certificate has expired"), Reason.UNTRUSTED, "renew the certificate"),
        (
            UntrustedServer("IP address mismatch, certificate is not valid for '127.0.0.1'"),
            Reason.UNTRUSTED,
            "set spec.endpoint to a host name",
        ),
        (ConnectionFailed("refused"), Reason.UNREACHABLE, "refused"),
        (Unauthorized(), Reason.UNAUTHORIZED, "renew it"),
        (Forbidden("no"), Reason.FORBIDDEN, "no; grant this permission to the service account"),
        (TimeoutError(), Reason.TIMEOUT, "within 10 s"),
        (RequestTimeout("GET /x: no answer within 3 s"), Reason.TIMEOUT, "within 3 s"),
        (ConnectionFailed("token=abc123 refused"), Reason.UNREACHABLE, "***"),
    ],
)
def test_failures_become_reasons_and_advice(error: Exception, reason: Reason, text: str) -> None:
    assert find_reason(error) is reason
    assert text in describe(error, time_limit_s=10.0)
