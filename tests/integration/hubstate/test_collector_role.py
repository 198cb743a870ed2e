"""The role of collectors under our RBAC: enough for everything, and nothing too much."""

import contextlib
from collections.abc import AsyncIterator
from typing import Any

import msgspec
import pytest

from quarterdeck.apis.clusterpulse.metric_source import MetricSourceSpec
from quarterdeck.app import definitions
from quarterdeck.app.cluster_factory import EmbeddedClusters
from quarterdeck.client.client import Client
from quarterdeck.client.config.cluster import ClusterConfig
from quarterdeck.engine.source import compile_source
from quarterdeck.hubstate.collect.cluster import ClusterCollector
from quarterdeck.hubstate.collect.collected import Collected, CollectionRequest
from quarterdeck.hubstate.collect.permissions import build_rules
from quarterdeck.hubstate.collect.source import SourceCollector
from quarterdeck.kit import json
from quarterdeck.kit.clock import SystemClock
from quarterdeck.kit.redaction import Secret
from quarterdeck.meta.identity import GVR
from quarterdeck.operators.clusters.collector_objects import (
    NAME,
    NAMESPACE,
    CollectorPlan,
    build_objects,
    build_role,
)
from quarterdeck.operators.clusters.simulators.contents import Profile
from quarterdeck.operators.clusters.simulators.populate import populate
from quarterdeck.testing.poll import eventually
from quarterdeck.wire.path import ResourcePath
from quarterdeck.wire.query import ListOptions
from quarterdeck.wire.status import ApiError, Forbidden

CLOCK = SystemClock()
BUDGETS = GVR("policy", "v1", "poddisruptionbudgets")
PLAN = CollectorPlan(
    cluster="east",
    image="collector:1",
    ingester_address="hub:9443",
    token=Secret("qdc_t"),
    sources=(BUDGETS,),
)
SOURCE = msgspec.convert(
    {
        "source": {"apiVersion": "policy/v1", "kind": "PodDisruptionBudget"},
        "fields": [{"name": "name", "path": ".metadata.name"}],
        "rbac": {"resourceTypeName": "pdb"},
    },
    MetricSourceSpec,
)
USAGE = [
    {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {
            "name": "nodes.metrics.k8s.io",
            "annotations": {"api-approved.kubernetes.io": "unapproved, a stand-in for tests"},
        },
        "spec": {
            "group": "metrics.k8s.io",
            "scope": "Cluster",
            "names": {"plural": "nodes", "singular": "node", "kind": "NodeMetrics"},
            "versions": [
                {
                    "name": "v1beta1",
                    "served": True,
                    "storage": True,
                    "schema": {
                        "openAPIV3Schema": {
                            "type": "object",
                            "x-kubernetes-preserve-unknown-fields": True,
                        }
                    },
                }
            ],
        },
    },
    *(
        {
            "apiVersion": "metrics.k8s.io/v1beta1",
            "kind": "NodeMetrics",
            "metadata": {"name": f"node-{number}"},
            "usage": {"cpu": "250m", "memory": "1Gi"},
        }
        for number in range(2)
    ),
]
"""What metrics-server serves, as custom objects."""


async def open_token(admin: Client) -> str:
    path = ResourcePath("", "v1", "serviceaccounts", NAMESPACE, NAME, "token")
    request = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}}
    return str(json.decode(await admin.raw.create(path, json.encode(request)))["status"]["token"])


async def apply_usage(admin: Client) -> bool:
    """Fails until the definition is served."""
    await definitions.apply(admin.raw, USAGE[1:])
    return True


@contextlib.asynccontextmanager
async def as_collector() -> AsyncIterator[tuple[Client, Client]]:
    """An administrator and a collector of one OpenShift cluster."""
    async with EmbeddedClusters(clock=CLOCK) as factory:
        config = await factory.create("east")
        async with Client(config, clock=CLOCK) as admin:
            profile = Profile(nodes=2, pods=4, is_openshift=True, has_olm=True)
            await populate(admin, profile, clock=CLOCK)
            await definitions.apply(admin.raw, USAGE[:1])
            await eventually(lambda: apply_usage(admin))
            await definitions.apply(admin.raw, build_objects(PLAN))
            own = ClusterConfig(
                server=config.server,
                certificate_authority=config.certificate_authority,
                token=Secret(await open_token(admin)),
            )
            async with Client(own, clock=CLOCK) as client:
                yield admin, client


async def collect(client: Client) -> tuple[Any, ...]:
    """Everything that a collector reads, without what changes from one reading to the next."""
    cluster = await ClusterCollector(client, clock=CLOCK).collect(CollectionRequest(endpoint="x"))
    source = SourceCollector(client.raw, compile_source(SOURCE), clock=CLOCK)
    return strip(cluster, (await source.collect()).errors)


def strip(collected: Collected, errors: tuple[str, ...]) -> tuple[Any, ...]:
    return (
        len(collected.nodes),
        sorted(each.cpu_used for each in collected.nodes if isinstance(each.cpu_used, float)),
        errors,
        collected.totals.pods,
        collected.namespaces,
        {**collected.info},
        len(collected.operators or ()),
        len(collected.cluster_operators or ()),
        sorted(collected.problems),
    )


def without(rules: list[dict[str, Any]], number: int, resource: str) -> list[dict[str, Any]]:
    changed = [dict(rule) for rule in rules]
    changed[number]["resources"] = [r for r in changed[number]["resources"] if r != resource]
    return [rule for rule in changed if rule["resources"]]


async def test_the_role_is_enough_and_every_part_of_it_is_needed() -> None:
    async with as_collector() as (admin, client):
        whole = await collect(client)
        assert whole[-1] == []
        assert whole[1] == [0.25, 0.25]
        assert whole == await collect(admin)
        rules = build_rules([BUDGETS])
        for number, rule in enumerate(rules):
            for resource in rule["resources"]:
                role = build_role(()) | {"rules": without(rules, number, resource)}
                await definitions.apply(admin.raw, [role])
                try:
                    found = await collect(client)
                except ApiError:
                    continue
                assert found != whole, f"{rule['apiGroups']} {resource} is not needed"


async def test_secrets_and_writes_are_forbidden() -> None:
    async with as_collector() as (_, client):
        with pytest.raises(Forbidden):
            await client.raw.list(ResourcePath("", "v1", "secrets"), ListOptions())
        with pytest.raises(Forbidden):
            await client.raw.delete(ResourcePath("", "v1", "pods", "default", "any"))


def test_sources_add_their_resources_and_never_secrets() -> None:
    wanted = [GVR("", "v1", "secrets"), GVR("", "v1", "persistentvolumeclaims")]
    rules = build_rules([*wanted, GVR("batch", "v1", "jobs")])
    everything = {
        (group, r) for rule in rules for group in rule["apiGroups"] for r in rule["resources"]
    }
    assert ("", "persistentvolumeclaims") in everything
    assert ("batch", "jobs") in everything
    assert all(resource not in ("secrets", "*") for _, resource in everything)
    assert {verb for rule in rules for verb in rule["verbs"]} == {"get", "list"}
