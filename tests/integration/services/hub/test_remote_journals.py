"""Why an object was reconciled, asked by a hub of operators in another process."""

import contextlib
import ssl
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from quarterdeck.apis.core import ConfigMap
from quarterdeck.app import definitions, hub_manifests
from quarterdeck.app.cluster import Cluster
from quarterdeck.app.clusters_settings import Settings
from quarterdeck.app.component_manifests import build_components
from quarterdeck.app.dashboard import explain_remotely
from quarterdeck.app.errors import SettingError
from quarterdeck.app.installation import DEFAULT_INSTALLATION
from quarterdeck.app.manifests import build_namespace
from quarterdeck.client import Client, ClusterConfig
from quarterdeck.kit.clock import SystemClock
from quarterdeck.kit.pem import load_identity
from quarterdeck.kit.redaction import Secret
from quarterdeck.meta.identity import Key
from quarterdeck.runtime import BindAddress, Context, Controller, Manager, MetricsEndpoint
from quarterdeck.runtime.endpoints.certificate import generate_self_signed
from quarterdeck.server.authentication.bearer_token import BearerTokens
from quarterdeck.server.authentication.plain_port import PlainPort
from quarterdeck.server.authentication.user import AUTHENTICATED_GROUP, MASTERS_GROUP, User
from quarterdeck.services.hub.web.explanations import Explain
from quarterdeck.services.hub.web.remote_journals import JournalsUnreachable, merge_controllers
from quarterdeck.testing.poll import eventually

ACCOUNT = f"system:serviceaccount:{DEFAULT_INSTALLATION.namespace}:{hub_manifests.NAME}"
TOKENS = {
    "operator": User(name="operator", groups=(MASTERS_GROUP, AUTHENTICATED_GROUP)),
    "hub": User(name=ACCOUNT, groups=("system:serviceaccounts", AUTHENTICATED_GROUP)),
    "stranger": User(name="stranger", groups=(AUTHENTICATED_GROUP,)),
}


async def reconcile(config: ConfigMap, ctx: Context[ConfigMap]) -> None:
    pass


@contextlib.asynccontextmanager
async def running_operators(folder: Path) -> AsyncIterator[tuple[Manager, Cluster, Path]]:
    """An operator whose guarded page shows a certificate that the hub can verify."""
    certificate, key = generate_self_signed(SystemClock().now())
    ca_file = folder / "ca.crt"
    ca_file.write_bytes(certificate)
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    load_identity(tls, certificate, key)
    async with Cluster(authenticators=(BearerTokens(TOKENS), PlainPort())) as cluster:
        role = [
            build_components(DEFAULT_INSTALLATION)["hub"][name] for name in ("role", "role_binding")
        ]
        await definitions.apply(cluster.client.raw, [build_namespace(DEFAULT_INSTALLATION), *role])
        config = ClusterConfig(server=cluster.url, token=Secret("operator"))
        async with Client(config) as client:
            page = MetricsEndpoint(BindAddress(tls=tls))
            manager = Manager(
                client, name="m", metrics=page, events="off", graceful_shutdown_timeout_s=1
            )
            manager.add(Controller(reconcile=reconcile, for_=ConfigMap))
            async with manager.running():
                yield manager, cluster, ca_file


def build_explain(manager: Manager, cluster: Cluster, ca_file: Path, token: str) -> Explain:
    url = manager.metrics_url.replace("127.0.0.1", "localhost")
    settings = Settings(operators_url=url, operators_ca_file=str(ca_file))
    config = ClusterConfig(server=cluster.url, token=Secret(token))
    explain = explain_remotely(settings, config, clock=SystemClock())
    assert explain is not None
    return explain


async def test_the_hub_reads_reconciles_of_operators_elsewhere(tmp_path: Path) -> None:
    async with running_operators(tmp_path) as (manager, cluster, ca_file):
        body: dict[str, Any] = {"metadata": {"name": "a", "namespace": "default"}}
        gvr = ConfigMap.KIND.gvr
        await cluster.client.resource(gvr).create({"apiVersion": "v1", "kind": "ConfigMap", **body})
        explain = build_explain(manager, cluster, ca_file, "hub")

        async def is_there() -> bool:
            found = await explain("ConfigMap", Key("default", "a"))
            return bool(found[0]["reconciles"])

        await eventually(is_there)
        (found,) = await explain("ConfigMap", Key("default", "a"))
        assert found["controller"] == "configmap"
        assert found["reconciles"][0]["object"] == "default/a"
        assert await explain("Unknown", Key("default", "a")) == []


async def test_only_those_with_the_right_are_answered(tmp_path: Path) -> None:
    async with running_operators(tmp_path) as (manager, cluster, ca_file):
        explain = build_explain(manager, cluster, ca_file, "stranger")
        with pytest.raises(JournalsUnreachable, match="status 403"):
            await explain("ConfigMap", Key("default", "a"))


async def test_operators_with_another_certificate_get_no_token(tmp_path: Path) -> None:
    async with running_operators(tmp_path) as (manager, cluster, ca_file):
        ca_file.write_bytes(generate_self_signed(SystemClock().now())[0])
        explain = build_explain(manager, cluster, ca_file, "hub")
        with pytest.raises(JournalsUnreachable, match="certificate"):
            await explain("ConfigMap", Key("default", "a"))


def test_reconciles_of_replicas_are_merged_newest_first() -> None:
    def entry(name: str, *times: str) -> dict[str, Any]:
        return {"controller": name, "reconciles": [{"startedAt": each} for each in times]}

    merged = merge_controllers([entry("a", "2026-01-02"), entry("b"), entry("a", "2026-01-03")])
    assert merged == [entry("a", "2026-01-03", "2026-01-02"), entry("b")]


@pytest.mark.parametrize(
    ("settings", "name"),
    [
        (Settings(operators_url="http://plain.example.com"), "OPERATORS_URL"),
        (Settings(operators_url="https://a", operators_ca_file="/none"), "OPERATORS_CA_FILE"),
    ],
)
def test_wrong_settings_are_refused_at_the_start(settings: Settings, name: str) -> None:
    with pytest.raises(SettingError, match=name):
        explain_remotely(settings, ClusterConfig(server="https://a"), clock=SystemClock())
