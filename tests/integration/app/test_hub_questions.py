"""What the hub's objects say about access and enrollment, asked without a hub."""

import base64
import contextlib
from typing import Any

import msgspec

from quarterdeck.apis.clusterpulse.cluster_connection import ClusterConnection
from quarterdeck.apis.clusterpulse.metric_source import MetricSource
from quarterdeck.apis.clusterpulse.v1alpha1 import KINDS
from quarterdeck.app import definitions
from quarterdeck.app.access import explain_access, find_unknown
from quarterdeck.app.cluster import Cluster
from quarterdeck.app.enrollment import Credentials, Enrollment, build_rules, connect_cluster
from quarterdeck.app.host import Host
from quarterdeck.app.machines import find_operator_uid
from quarterdeck.app.settings import Settings
from quarterdeck.client import Client
from quarterdeck.kit.clock import SystemClock
from quarterdeck.meta.identity import GVR
from quarterdeck.runtime import Manager


def _build_source(kind: str, api_version: str, type_: str) -> dict[str, Any]:
    return {
        "apiVersion": MetricSource.KIND.api_version,
        "kind": "MetricSource",
        "metadata": {"name": type_, "namespace": "default"},
        "spec": {
            "source": {"apiVersion": api_version, "kind": kind},
            "fields": [{"name": "phase", "path": "$.status.phase"}],
            "rbac": {"resourceTypeName": type_},
        },
    }


async def _read_connection(client: Client, name: str) -> tuple[dict[str, Any], dict[str, str]]:
    found = await client.resource(ClusterConnection.KIND.gvr).get(name, "default")
    reference = found["spec"]["credentialsRef"]["name"]
    secret = await client.resource(GVR("", "v1", "secrets")).get(reference, "default")
    data = {key: base64.b64decode(value).decode() for key, value in secret["data"].items()}
    return found["spec"], data


async def test_a_cluster_is_connected_as_it_was_wanted() -> None:
    credentials = Credentials("t0ken", "AUTHORITY")
    async with Cluster() as hub:
        await definitions.install(hub.client.raw, KINDS)
        plain = Enrollment(name="east")
        await connect_cluster(hub.client, plain, "https://east:6443", credentials)
        spec, data = await _read_connection(hub.client, "east")
        assert (spec["displayName"], spec["endpoint"]) == ("east", "https://east:6443")
        assert "insecureSkipTLSVerify" not in spec or spec["insecureSkipTLSVerify"] is False
        assert data == {"token": "t0ken", "ca.crt": "AUTHORITY"}
        wanted = Enrollment(
            name="west",
            display_name="West",
            labels={"env": "prod"},
            insecure=True,
            ingester_address="hub:9443",
        )
        await connect_cluster(hub.client, wanted, "https://west:6443", credentials)
        spec, data = await _read_connection(hub.client, "west")
        assert (spec["displayName"], spec["labels"]) == ("West", {"env": "prod"})
        assert spec["insecureSkipTLSVerify"] is True
        assert (spec["collectionMode"], spec["ingesterAddress"]) == ("push", "hub:9443")
        assert data == {"token": "t0ken"}, "an authority that is not checked is not stored"


async def test_names_that_the_hub_does_not_have_are_told() -> None:
    async with Cluster() as hub:
        await definitions.install(hub.client.raw, KINDS)
        unknown = await find_unknown(hub.client, "east", "certificates")
        assert ["'east'" in unknown[0], "'certificates'" in unknown[1]] == [True, True]
        await definitions.apply(
            hub.client.raw, [_build_source("Certificate", "cert-manager.io/v1", "certificates")]
        )
        credentials = Credentials("t0ken", "")
        await connect_cluster(hub.client, Enrollment(name="east"), "https://east:6443", credentials)
        assert await find_unknown(hub.client, "east", "certificates") == []
        assert await find_unknown(hub.client, "east", "nodes") == []
        assert await find_unknown(hub.client, "east", "") == []
        [other] = await find_unknown(hub.client, "east", "issuers")
        assert "'issuers'" in other
        explanation = await explain_access(hub.client, "ann@example.org", "east")
        assert explanation.cluster == "east"


def test_a_hub_may_read_the_kinds_of_its_sources() -> None:
    sources = [
        msgspec.convert(_build_source(kind, version, kind.lower()), MetricSource)
        for kind, version in (
            ("Certificate", "cert-manager.io/v1"),
            ("Issuer", "cert-manager.io/v1"),
            ("Endpoints", "v1"),
        )
    ]
    found = {rule["apiGroups"][0]: rule for rule in build_rules(sources)}
    assert found["cert-manager.io"]["resources"] == ["certificates", "issuers"]
    assert found["cert-manager.io"]["verbs"] == ["get", "list", "watch"]
    assert "endpoints" in found[""]["resources"]
    without = {rule["apiGroups"][0]: rule for rule in build_rules([])}
    assert "cert-manager.io" not in without
    assert "endpoints" not in without[""]["resources"]


async def test_operators_of_other_namespaces_have_another_identity() -> None:
    clock = SystemClock()
    async with Cluster() as cluster, contextlib.AsyncExitStack() as stack:
        client = cluster.client
        host = Host(
            settings=Settings(),
            client=client,
            manager=Manager(client, name="test", clock=clock),
            clock=clock,
            stack=stack,
        )
        everywhere = await find_operator_uid(host, ())
        one = await find_operator_uid(host, ("a", "b"))
        assert one == await find_operator_uid(host, ("b", "a"))
        assert len({everywhere, one, await find_operator_uid(host, ("a",))}) == 3
