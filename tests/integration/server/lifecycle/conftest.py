"""A server with its life cycle, and time in our hands: `async with world() as cluster`."""

import contextlib
import json
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager
from typing import Any

import pytest

from quarterdeck.app.cluster import Cluster
from quarterdeck.kit import http
from quarterdeck.kit.clock import VirtualClock
from quarterdeck.server.lifecycle import Lifecycle
from quarterdeck.server.options import ServerOptions

Object = dict[str, Any]

ROOTS = {
    "clusterroles": "/apis/rbac.authorization.k8s.io/v1",
    "controllerrevisions": "/apis/apps/v1",
    "cronjobs": "/apis/batch/v1",
    "customresourcedefinitions": "/apis/apiextensions.k8s.io/v1",
    "daemonsets": "/apis/apps/v1",
    "deployments": "/apis/apps/v1",
    "endpointslices": "/apis/discovery.k8s.io/v1",
    "horizontalpodautoscalers": "/apis/autoscaling/v2",
    "jobs": "/apis/batch/v1",
    "leases": "/apis/coordination.k8s.io/v1",
    "poddisruptionbudgets": "/apis/policy/v1",
    "replicasets": "/apis/apps/v1",
    "statefulsets": "/apis/apps/v1",
    "widgets": "/apis/stable.example.com/v1",
}
GLOBAL = {"clusterroles", "customresourcedefinitions", "namespaces", "nodes", "persistentvolumes"}


class World:
    """One cluster; every call returns after the life cycle has done all it could do now."""

    def __init__(self, cluster: Cluster, client: http.Client, clock: VirtualClock) -> None:
        self.cluster = cluster
        self.clock = clock
        self._client = client

    @property
    def lifecycle(self) -> Lifecycle:
        found = self.cluster.api.lifecycle
        assert found is not None
        return found

    async def wait_until_idle(self) -> None:
        await self.lifecycle.wait_until_idle()

    async def send(
        self, method: str, path: str, body: Any = None, media: str = "application/json"
    ) -> tuple[int, Object]:
        response = await self._client.request(
            method,
            self.cluster.url + path,
            headers=[("Content-Type", media)],
            body=None if body is None else json.dumps(body).encode(),
        )
        answer = json.loads(await response.read())
        await self.wait_until_idle()
        return response.status, answer

    def path(self, resource: str, name: str = "", namespace: str = "default") -> str:
        home = "" if resource in GLOBAL else f"/namespaces/{namespace}"
        tail = f"/{name}" if name else ""
        return f"{ROOTS.get(resource, '/api/v1')}{home}/{resource}{tail}"

    async def create(self, resource: str, value: Object, namespace: str = "default") -> Object:
        status, answer = await self.send("POST", self.path(resource, "", namespace), value)
        assert status == 201, answer
        return answer

    async def get(self, resource: str, name: str, namespace: str = "default") -> Object | None:
        status, answer = await self.send("GET", self.path(resource, name, namespace))
        return answer if status == 200 else None

    async def the(self, resource: str, name: str, namespace: str = "default") -> Object:
        found = await self.get(resource, name, namespace)
        assert found is not None, f"{resource}/{name} is not there"
        return found

    async def items(self, resource: str, namespace: str = "default") -> list[Object]:
        _, answer = await self.send("GET", self.path(resource, "", namespace))
        items: list[Object] = answer["items"]
        return items

    async def names(self, resource: str, namespace: str = "default") -> list[str]:
        return [each["metadata"]["name"] for each in await self.items(resource, namespace)]

    async def patch(
        self, resource: str, name: str, patch: Object, namespace: str = "default", part: str = ""
    ) -> Object:
        path = self.path(resource, name, namespace) + (f"/{part}" if part else "")
        status, answer = await self.send("PATCH", path, patch, "application/merge-patch+json")
        assert status == 200, answer
        return answer

    async def delete(
        self, resource: str, name: str, namespace: str = "default", **options: Any
    ) -> None:
        status, answer = await self.send("DELETE", self.path(resource, name, namespace), options)
        assert status in (200, 202), answer

    async def reasons(self, kind: str, namespace: str = "default") -> list[str]:
        """The reasons of all events about a kind."""
        events = await self.items("events", namespace)
        return [each["reason"] for each in events if each["involvedObject"]["kind"] == kind]

    async def pass_time(self, seconds: float) -> None:
        """Let time pass, and let the life cycle keep up with it."""
        end = self.clock.monotonic() + seconds
        await self.wait_until_idle()
        while (due := self.clock.next_deadline) is not None and due <= end:
            await self.clock.advance(max(0.0, due - self.clock.monotonic()))
            await self.wait_until_idle()
        await self.clock.advance(end - self.clock.monotonic())
        await self.wait_until_idle()


Begin = Callable[..., AbstractAsyncContextManager[World]]


@pytest.fixture
def world() -> Begin:
    """Starts a cluster; arguments are server options."""

    @contextlib.asynccontextmanager
    async def start(**options: Any) -> AsyncIterator[World]:
        clock = VirtualClock()
        settings = ServerOptions(**options)
        async with (
            Cluster(options=settings, clock=clock, seed=7) as cluster,
            http.Client() as client,
        ):
            made = World(cluster, client, clock)
            await made.wait_until_idle()
            yield made

    return start


@pytest.fixture
def simulation(world: Begin) -> Begin:
    """Starts a cluster that simulates workloads."""

    def start(**options: Any) -> AbstractAsyncContextManager[World]:
        return world(simulate_workloads=True, **options)

    return start


def pod_template(app: str, **annotations: str) -> Object:
    """A template with one container; annotations are behaviors, `_` for `-`."""
    notes = {
        f"simulate.quarterdeck.dev/{name.replace('_', '-')}": text
        for name, text in annotations.items()
    }
    return {
        "metadata": {"labels": {"app": app}, "annotations": notes},
        "spec": {"containers": [{"name": "main", "image": "example/app:1"}]},
    }


@pytest.fixture
def template() -> Callable[..., Object]:
    return pod_template


@pytest.fixture
def workload() -> Callable[..., Object]:
    """Makes a Deployment, StatefulSet or DaemonSet."""

    def make(kind: str, name: str, template: Object | None = None, **spec: Any) -> Object:
        return {
            "apiVersion": "apps/v1",
            "kind": kind,
            "metadata": {"name": name},
            "spec": {
                "selector": {"matchLabels": {"app": name}},
                "template": template or pod_template(name),
                **spec,
            },
        }

    return make
