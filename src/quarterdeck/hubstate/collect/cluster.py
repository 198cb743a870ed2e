"""Reads all parts of a cluster concurrently; only nodes and pods must succeed.

Pods are listed once and counted while streaming: nodes, totals and the short list share them. What
a cluster does not serve (OpenShift's kinds, OLM, metrics.k8s.io) is requested again only when
operators are scanned.
"""

import asyncio
import contextlib
import functools
from collections.abc import Awaitable, Callable, Iterator, Mapping
from typing import Any, TypeVar

import msgspec

from quarterdeck.client.client import Client
from quarterdeck.client.errors import ClientError, InvalidResponse
from quarterdeck.hubstate.collect.collected import Collected, CollectionRequest
from quarterdeck.hubstate.collect.kinds import (
    CLUSTER_OPERATORS,
    CLUSTER_VERSIONS,
    CONFIG_MAPS,
    DAEMON_SETS,
    DEPLOYMENTS,
    INGRESSES,
    NAMESPACES,
    NODE_USAGE,
    NODES,
    PODS,
    ROUTES,
    SERVICE_VERSIONS,
    SERVICES,
    STATEFUL_SETS,
    SUBSCRIPTIONS,
)
from quarterdeck.hubstate.collect.pages import count_all, read_all, read_pages
from quarterdeck.inventory import cluster, cluster_operators, forms, nodes, operators, resources
from quarterdeck.inventory.cluster_operators import ClusterOperatorFacts
from quarterdeck.inventory.nodes import PodTally
from quarterdeck.inventory.operators import OperatorFacts
from quarterdeck.inventory.resources import Limits, PodSelection, ResourceLists
from quarterdeck.kit import json, rfc3339
from quarterdeck.kit.clock import Clock
from quarterdeck.meta.identity import GVR
from quarterdeck.wire.path import ResourcePath
from quarterdeck.wire.query import ListOptions
from quarterdeck.wire.status import ApiError, Forbidden, NotFound

_CONSOLE = ("openshift-console", "console")

T = TypeVar("T")
Document = dict[str, Any]


async def ping(client: Client) -> None:
    """Test the connection by listing one namespace, which every reader may do.

    Raises:
        InvalidResponse: if the server has no namespaces, so it is not an API server.
        ApiError, ClientError: if the request fails.
    """
    try:
        await client.raw.list(ResourcePath(*NAMESPACES), ListOptions(limit=1))
    except NotFound as error:
        raise InvalidResponse(
            f"{client.config.server} does not have /api/v1/namespaces (HTTP 404), so it is not a "
            "Kubernetes API server; check the address"
        ) from error


class ClusterCollector:
    """Reads one cluster repeatedly, and remembers which optional APIs it does not serve."""

    def __init__(self, client: Client, *, clock: Clock) -> None:
        self._client = client
        self._clock = clock
        self._absent: set[GVR] = set()
        self._version: Document | None = None

    async def collect(self, wanted: CollectionRequest) -> Collected:
        """Read everything once.

        Raises:
            ApiError, ClientError: if nodes or pods cannot be read.
        """
        if wanted.scans_operators:
            self._absent.clear()
            self._version = None
        reading = _Reading(self._client, self._absent, wanted, self._clock)
        reading.version = self._version
        collected = await reading.run()
        self._version = reading.version
        return collected


def _list_other_kinds(limits: Limits) -> Iterator[tuple[str, GVR, Any, int, Callable[[Any], Any]]]:
    """Short lists other than pods and deployments: name, resource, form, limit, summary."""
    yield "services", SERVICES, forms.Service, limits.services, resources.summarize_service
    yield (
        *("statefulsets", STATEFUL_SETS, forms.Workload, limits.stateful_sets),
        resources.summarize_workload,
    )
    yield (
        *("daemonsets", DAEMON_SETS, forms.DaemonSet, limits.daemon_sets),
        resources.summarize_daemon_set,
    )
    yield (
        *("configmaps", CONFIG_MAPS, forms.ConfigMap, limits.config_maps),
        resources.summarize_config_map,
    )
    yield "ingresses", INGRESSES, forms.Ingress, limits.ingresses, resources.summarize_ingress


class _Reading:
    """The state of one collection."""

    def __init__(
        self, client: Client, absent: set[GVR], wanted: CollectionRequest, clock: Clock
    ) -> None:
        self._client = client
        self._api = client.raw
        self._absent = absent
        self._wanted = wanted
        self._clock = clock
        self.version: Document | None = None
        """The version of the server; read only while it is unknown."""
        self._problems: dict[str, str] = {}
        self._tally = PodTally()
        self._pods = PodSelection(wanted.limits or Limits())

    async def run(self) -> Collected:
        began = self._clock.monotonic()
        try:
            async with asyncio.TaskGroup() as group:
                listed = group.create_task(self._read_nodes(), name="nodes")
                spaces = group.create_task(self._read_optional("namespaces", self._read_namespaces))
                info = group.create_task(self._read_info(), name="info")
                lists = group.create_task(self._read_optional("resources", self._read_lists))
                subscribed = group.create_task(
                    self._read_optional("operators", self._read_operators)
                )
                openshift = group.create_task(
                    self._read_optional("cluster operators", self._read_cluster_operators)
                )
        except BaseExceptionGroup as errors:
            raise errors.exceptions[0] from errors
        found, usage = listed.result()
        at = self._clock.now()
        now = rfc3339.format_time(at)
        facts = tuple(
            nodes.read_node(each, self._tally, now=now, usage=usage.get(each.metadata.name))
            for each in found
        )
        namespaces, resource_lists = spaces.result(), lists.result()
        if resource_lists is not None:
            took_ms = int((self._clock.monotonic() - began) * 1000)
            resource_lists = msgspec.structs.replace(
                resource_lists,
                pods=self._pods.kept,
                truncated=resource_lists.truncated or self._pods.is_truncated,
                collection_time_ms=took_ms,
            )
        totals = cluster.sum_nodes(
            facts,
            self._tally,
            namespaces=len(namespaces or ()),
            deployments=self._deployments,
            now=now,
        )
        return Collected(
            at=at,
            nodes=tuple(sorted(facts, key=lambda each: each.name)),
            totals=totals,
            info=info.result(),
            namespaces=tuple(namespaces) if namespaces is not None else None,
            resources=resource_lists,
            operators=self._join(subscribed.result(), len(namespaces or ())),
            cluster_operators=openshift.result(),
            problems=self._problems,
        )

    _deployments = 0

    # --- the parts

    async def _read_nodes(self) -> tuple[list[forms.Node], Mapping[str, forms.NodeUsage]]:
        found, _ = await read_all(self._api, NODES, forms.Node)
        async with contextlib.aclosing(read_pages(self._api, PODS, forms.Pod)) as pages:
            async for page in pages:
                for pod in page:
                    self._tally.add(pod)
                    if self._includes(pod.metadata.namespace):
                        self._pods.add(pod)
        return found, await self._read_usage()

    async def _read_usage(self) -> Mapping[str, forms.NodeUsage]:
        async def read() -> Mapping[str, forms.NodeUsage]:
            found, _ = await read_all(self._api, NODE_USAGE, forms.NodeUsage)
            return {each.metadata.name: each for each in found}

        return await self._read_if_served(NODE_USAGE, "node usage", read, absent={}) or {}

    async def _read_namespaces(self) -> list[str]:
        found, _ = await read_all(self._api, NAMESPACES, forms.Named)
        return [each.metadata.name for each in found]

    async def _read_info(self) -> Mapping[str, Any]:
        if self.version is None:
            self.version = await self._read_optional("version", self._client.get_server_version)
        clusters = await self._read_if_served(
            CLUSTER_VERSIONS,
            "cluster version",
            lambda: self._get(CLUSTER_VERSIONS, "", "version"),
            absent=None,
        )
        console = None
        if clusters is not None:
            console = await self._read_if_served(
                ROUTES, "console", lambda: self._get(ROUTES, *_CONSOLE), absent=None
            )
        return cluster.read_info(
            endpoint=self._wanted.endpoint,
            server_version=self.version,
            cluster_version=clusters,
            console_route=console,
        )

    async def _read_lists(self) -> ResourceLists | None:
        limits = self._wanted.limits
        if limits is None:
            self._deployments = await count_all(self._api, DEPLOYMENTS)
            return None
        workloads, cut = await read_all(
            self._api, DEPLOYMENTS, forms.Workload, limit=limits.deployments
        )
        self._deployments = len(workloads)
        if cut:
            self._deployments = await count_all(self._api, DEPLOYMENTS)
        found: dict[str, Any] = {}
        for kind, gvr, form, limit, summarize in _list_other_kinds(limits):
            reading = functools.partial(read_all, self._api, gvr, form, limit=limit)
            read = await self._read_optional(kind, reading)
            listed, more = read if read is not None else ([], False)
            cut = cut or more
            kept = (each for each in listed if self._includes(each.metadata.namespace))
            found[kind] = tuple(summarize(each) for each in kept)
        deployments = tuple(
            resources.summarize_workload(each, with_labels=limits.with_labels)
            for each in workloads
            if self._includes(each.metadata.namespace)
        )
        return ResourceLists(deployments=deployments, truncated=cut, **found)

    async def _read_operators(
        self,
    ) -> tuple[list[Document], dict[tuple[str, str], Document]] | None:
        if not self._wanted.scans_operators:
            return None

        async def read() -> tuple[list[Document], dict[tuple[str, str], Document]]:
            subscriptions, _ = await read_all(self._api, SUBSCRIPTIONS, Document)
            versions: dict[tuple[str, str], Document] = {}
            for each in subscriptions:
                installed = operators.find_installed_version(each)
                if installed is not None and installed not in versions:
                    with contextlib.suppress(NotFound):  # it is being replaced
                        versions[installed] = await self._get(SERVICE_VERSIONS, *installed)
            return subscriptions, versions

        return await self._read_if_served(SUBSCRIPTIONS, "operators", read, absent=([], {}))

    def _join(
        self, found: tuple[list[Document], dict[tuple[str, str], Document]] | None, namespaces: int
    ) -> tuple[OperatorFacts, ...] | None:
        if found is None:
            return None
        return tuple(operators.read_operators(*found, namespaces=namespaces))

    async def _read_cluster_operators(self) -> tuple[ClusterOperatorFacts, ...] | None:
        async def read() -> tuple[ClusterOperatorFacts, ...]:
            found, _ = await read_all(self._api, CLUSTER_OPERATORS, Document)
            return tuple(cluster_operators.read_cluster_operators(found))

        part = "cluster operators"
        return await self._read_if_served(CLUSTER_OPERATORS, part, read, absent=())

    # --- what may fail

    async def _read_optional(self, part: str, read: Callable[[], Awaitable[T]]) -> T | None:
        """Read a part that may fail without failing the rest."""
        try:
            return await read()
        except (ApiError, ClientError) as error:
            self._problems[part] = str(error)
            return None

    async def _read_if_served(
        self, gvr: GVR, part: str, read: Callable[[], Awaitable[T]], *, absent: T | None
    ) -> T | None:
        """Read a part that many clusters do not serve or allow; its absence is not a problem.

        `absent` is the value of a part that is not served; None is that of one that failed.
        """
        if gvr in self._absent:
            return absent
        try:
            return await read()
        except (NotFound, Forbidden):
            self._absent.add(gvr)
            return absent
        except (ApiError, ClientError) as error:
            self._problems[part] = str(error)
        return None

    async def _get(self, gvr: GVR, namespace: str, name: str) -> Document:
        document: Document = json.decode(await self._api.get(ResourcePath(*gvr, namespace, name)))
        return document

    def _includes(self, namespace: str) -> bool:
        return self._wanted.keeps_namespace is None or self._wanted.keeps_namespace(namespace)
