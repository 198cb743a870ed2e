"""Webhooks of the operators with a certificate of somebody else, such as cert-manager's."""

import base64
from pathlib import Path

from quarterdeck.apis.core import ConfigMap, Secret
from quarterdeck.app.cluster import Cluster
from quarterdeck.app.option import Port
from quarterdeck.app.parts import PARTS
from quarterdeck.app.settings import Settings
from quarterdeck.app.webhooks import REGISTRATION, SECRET, SERVICE, build_in_cluster
from quarterdeck.kit import json
from quarterdeck.kit.clock import SystemClock
from quarterdeck.runtime import Manager, Review
from quarterdeck.runtime.endpoints.certificate import generate_self_signed
from quarterdeck.wire.path import ResourcePath

NAMESPACE = "quarterdeck-system"
KIND = "validatingwebhookconfigurations"


def allow(review: Review[ConfigMap]) -> None:
    """Nothing is wrong with it."""


async def test_api_server_trusts_the_authority_beside_the_certificate(tmp_path: Path) -> None:
    hosts = (f"{SERVICE}.{NAMESPACE}.svc",)
    certificate, key = generate_self_signed(SystemClock().now(), hosts)
    (tmp_path / "tls.crt").write_bytes(certificate)
    (tmp_path / "tls.key").write_bytes(key)
    (tmp_path / "ca.crt").write_bytes(certificate)
    webhooks = build_in_cluster(
        Settings(webhook_cert_path=tmp_path, webhook_port=Port(0)), [*PARTS]
    )
    assert webhooks is not None
    webhooks.validate(ConfigMap, allow)
    async with Cluster() as cluster:
        manager = Manager(
            cluster.client,
            name="test",
            events="off",
            webhooks=webhooks,
            graceful_shutdown_timeout_s=1,
        )
        async with manager.running():
            path = ResourcePath("admissionregistration.k8s.io", "v1", KIND, name=REGISTRATION)
            stored = json.decode(await cluster.client.raw.get(path))
            kept = await cluster.client.list(Secret)
    (hook,) = stored["webhooks"]
    assert base64.b64decode(hook["clientConfig"]["caBundle"]) == certificate
    assert hook["clientConfig"]["service"]["name"] == SERVICE
    assert SECRET not in [each.metadata.name for each in kept], "no certificate was made here"
