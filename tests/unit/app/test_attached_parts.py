"""What operators find out of the process that they are attached to."""

import asyncio
import contextlib
import io
from collections.abc import AsyncIterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import msgspec
import pytest

from quarterdeck.app import clusters_settings, machines_settings
from quarterdeck.app.cluster import Cluster
from quarterdeck.app.clusters import find_shared
from quarterdeck.app.console import Console
from quarterdeck.app.embedded import Embedded
from quarterdeck.app.host import Endpoint, Host
from quarterdeck.app.ingester import IngesterAddress, add_ingester, build_options, serve_ingester
from quarterdeck.app.parts import choose
from quarterdeck.app.settings import Settings
from quarterdeck.app.start_summary import print_summary
from quarterdeck.app.webhooks import build_in_cluster
from quarterdeck.client import Client, ClusterConfig
from quarterdeck.kit.clock import VirtualClock
from quarterdeck.operators.clusters import Hub
from quarterdeck.runtime import Manager
from quarterdeck.services.ingester.server import Ingester, ListenFailed

_CONFIG = ClusterConfig(server="http://127.0.0.1:1", namespace="fleet")


@contextlib.asynccontextmanager
async def open_host(*part_settings: msgspec.Struct, **settings: Any) -> AsyncIterator[Host]:
    clock = VirtualClock()
    async with Client(_CONFIG, clock=clock) as client, contextlib.AsyncExitStack() as stack:
        yield Host(
            settings=Settings(**settings),
            client=client,
            manager=Manager(client, name="test", clock=clock),
            clock=clock,
            stack=stack,
            part_settings=part_settings,
        )


async def test_settings_of_a_part_are_those_given_or_the_defaults() -> None:
    given = clusters_settings.Settings(cache_ttl=77)
    async with open_host(machines_settings.Settings(), given) as host:
        assert host.get_settings(clusters_settings.Settings) is given
    async with open_host() as host:
        found = host.get_settings(clusters_settings.Settings)
        assert found == clusters_settings.Settings()


async def test_replicas_share_clusters_with_a_redis_and_elections() -> None:
    redis = clusters_settings.Settings(cluster_sharding=True, redis_url="redis://redis:6379")
    async with open_host(leader_elect=True, lease_name="hub", identity="pod-1") as host:
        shared = find_shared(host, redis)
        assert shared is not None
        group, identity = shared
        assert (group.name, group.namespace) == ("hub-clusters", "fleet")
        name, _, mark = identity.partition("_")
        assert name == "pod-1"
        assert host.manager.identity.endswith(f"_{mark}")
        assert find_shared(host, msgspec.structs.replace(redis, redis_url="")) is None
    async with open_host(leader_elect=True, lease_namespace="leases") as host:
        shared = find_shared(host, redis)
        assert shared is not None
        assert (shared[0].namespace, shared[1]) == ("leases", host.manager.identity)
    async with open_host(leader_elect=False) as host:
        assert find_shared(host, redis) is None


@pytest.mark.parametrize(
    ("settings", "problem"),
    [
        ({"ingester_external": True},
         "an external ingester requires a shared Redis; set REDIS_URL"),
        ({"ingester_external": True, "redis_host": "redis"}, ""),
        ({"ingester_enabled": False}, "the ingester is disabled; set INGESTER_ENABLED=true"),
        ({"ingester_enabled": True}, ""),
    ],
)  # fmt: skip
async def test_an_ingester_that_cannot_be_reached_says_why(
    settings: dict[str, Any], problem: str
) -> None:
    hub = cast("Hub", SimpleNamespace(ingester_problem="", is_shared=False))
    stores = cast("Any", None)
    async with open_host() as host:
        given = clusters_settings.Settings(**settings)
        address = add_ingester(host, given, hub, state=stores, history=stores)
    assert hub.ingester_problem == problem
    assert not address.listening.is_set()


class BusyIngester:
    """Cannot listen twice, then it can."""

    port = 9443

    def __init__(self) -> None:
        self.tries = 0
        self.tried = asyncio.Event()

    @contextlib.asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        self.tries += 1
        self.tried.set()
        if self.tries <= 2:
            raise ListenFailed("port 9443 is in use")
        yield


async def test_listening_is_tried_again_until_it_works() -> None:
    clock, ingester, address = VirtualClock(), BusyIngester(), IngesterAddress()
    hub = cast("Hub", SimpleNamespace(ingester_problem=""))
    serving = asyncio.ensure_future(
        serve_ingester(cast("Ingester", ingester), hub, address, clock=clock)
    )
    for _ in range(2):
        await ingester.tried.wait()
        ingester.tried.clear()
        assert hub.ingester_problem.startswith("port 9443 is in use; check --ingester-port")
        await clock.advance(30.0)
    await address.listening.wait()
    serving.cancel()
    await asyncio.gather(serving, return_exceptions=True)
    assert (hub.ingester_problem, address.port, ingester.tries) == ("", 9443, 3)


def test_the_ingester_of_up_shows_the_certificate_of_the_api_server() -> None:
    settings = clusters_settings.Settings(ingester_tls_cert="a.crt", ingester_tls_key="a.key")
    own = build_options(settings, port=1).tls
    assert own is not None
    assert (own.certificate, own.key) == (Path("a.crt"), Path("a.key"))
    files = (Path("api.crt"), Path("api.key"))
    embedded = build_options(settings, port=1, serving_files=files).tls
    assert embedded is not None
    assert (embedded.certificate, embedded.key) == files


def test_operators_without_webhooks_serve_none() -> None:
    assert build_in_cluster(Settings(), choose(["experiments"])) is None
    assert build_in_cluster(Settings(), choose(["pipelines"])) is not None


@pytest.mark.parametrize(
    ("operators", "suggested"),
    [
        ("machines", "kubectl get hyperfleet"),
        ("applications,machines", "kubectl get applications,deployments,pods"),
    ],
)
async def test_the_summary_suggests_what_the_operators_work_on(
    operators: str, suggested: str, tmp_path: Path
) -> None:
    stream = io.StringIO()
    server = cast("Embedded", SimpleNamespace(kubeconfig=tmp_path / "kubeconfig"))
    async with open_host(in_memory=True, demo=True) as host:
        host.endpoints.append(Endpoint("applications", "http://127.0.0.1:8080", "plain HTTP"))
        print_summary(
            host, server, choose(operators.split(",")), console=Console(stream), took_s=1.0
        )
    text = stream.getvalue()
    assert suggested in text
    assert "curl -N http://127.0.0.1:8080/watch" in text
    assert "manifests --samples" not in text, "a demo has applied them"
    assert "/explain" not in text, "no page of health is served"


def test_a_cluster_has_no_address_before_it_runs() -> None:
    cluster = Cluster()
    with pytest.raises(RuntimeError, match="the cluster is not running"):
        _ = cluster.url
    with pytest.raises(RuntimeError, match="the cluster is not running"):
        _ = cluster.api
