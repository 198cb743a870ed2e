"""What rights cost: a GET decided by 1,000 roles and bindings, and many servers in one process."""

import asyncio
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from bench.suite import OURS, Contenders

ROLES = 1_000
_PATH = "/api/v1/namespaces/default/configmaps/kube-root-ca.crt"
_GROUP = "rbac.authorization.k8s.io"
_REQUESTS = 3_000


@contextmanager
def open_roles(count: int) -> Iterator[Contenders]:
    """The same GET by a user who holds one role of many, and where everybody may do everything."""
    yield {
        OURS: lambda: asyncio.run(_measure_get(roles=count)),
        f"{OURS}, everybody allowed": lambda: asyncio.run(_measure_get(roles=None)),
    }


async def _measure_get(*, roles: int | None) -> float:
    """Processor time of a GET, in microseconds, without the network; the best of five."""
    from quarterdeck.app.cluster import Cluster
    from quarterdeck.kit import http
    from quarterdeck.server.authentication.bearer_token import BearerTokens
    from quarterdeck.server.authentication.user import AUTHENTICATED_GROUP, User
    from quarterdeck.server.options import ServerOptions

    users = {"t": User(name="alice", groups=("devs", AUTHENTICATED_GROUP))}
    options = ServerOptions(has_roles=roles is not None)
    async with Cluster(options=options, authenticators=(BearerTokens(users),)) as cluster:
        store, lifecycle = cluster.api.core.store, cluster.api.lifecycle
        assert lifecycle is not None
        for name, value in _list_documents(roles or 0):
            await store.put(name, _encoder(value), expected=0)
        await lifecycle.wait_until_idle()
        headers = [("Authorization", "Bearer t")]
        best = float("inf")
        for _ in range(5):
            started = time.process_time()
            for _ in range(_REQUESTS // 5):
                request = http.Request.of("GET", _PATH, headers=headers)
                response = await cluster.api.handle(request)
            best = min(best, (time.process_time() - started) / (_REQUESTS // 5))
            assert response.status == 200, response.status
        return best * 1e6


def _list_documents(count: int) -> Iterator[tuple[Any, dict[str, Any]]]:
    """Roles with a binding each, of which only one is of the user's group."""
    from quarterdeck.storage import StoreKey

    for number in range(count):
        name, group = f"r{number}", "devs" if number == count - 1 else f"g{number}"
        rule = {"apiGroups": [""], "resources": ["configmaps"], "verbs": ["get", "list"]}
        role = {"kind": "ClusterRole", "metadata": {"name": name}, "rules": [rule]}
        binding = {
            "kind": "ClusterRoleBinding",
            "metadata": {"name": name},
            "roleRef": {"apiGroup": _GROUP, "kind": "ClusterRole", "name": name},
            "subjects": [{"apiGroup": _GROUP, "kind": "Group", "name": group}],
        }
        yield StoreKey(f"clusterroles.{_GROUP}", "", name), role
        yield StoreKey(f"clusterrolebindings.{_GROUP}", "", name), binding


def _encoder(value: dict[str, Any]) -> Callable[[int], bytes]:
    from quarterdeck.server.registry.codec import build_encoder

    value["metadata"] |= {"uid": value["metadata"]["name"], "resourceVersion": ""}
    return build_encoder(value)


@contextmanager
def open_servers(count: int) -> Iterator[Contenders]:
    """Servers with roles, started and stopped one after the other."""
    yield {OURS: lambda: asyncio.run(_start_and_stop(count))}


async def _start_and_stop(count: int) -> float:
    from quarterdeck.app.cluster import Cluster

    started = time.perf_counter()
    for _ in range(count):
        async with Cluster():
            pass
    return time.perf_counter() - started
