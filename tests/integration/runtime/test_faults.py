"""Faults between an operator and its server: nothing is lost, and how long recovery takes.

Each test reports `recovery_s`, from the end of the fault (or its only strike) to agreement, as a
property of the test: `pytest --junitxml` keeps it, `pytest -rP` shows it.
"""

import asyncio
import contextlib
import os
import random
import shutil
import sys
from collections.abc import AsyncIterator, Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from quarterdeck.apis.core import ConfigMap
from quarterdeck.app.cluster import Cluster
from quarterdeck.client import Client, ClusterConfig
from quarterdeck.client.config.cluster import ExecConfig
from quarterdeck.meta import crd
from quarterdeck.meta.identity import GVR, Key
from quarterdeck.meta.kinds import KindInfo
from quarterdeck.meta.objects import Object, ObjectMeta, Struct, replace
from quarterdeck.runtime import Context, Controller, Manager, WatchSettings
from quarterdeck.runtime.cache.event import Change, Event
from quarterdeck.server.authentication.bearer_token import BearerTokens
from quarterdeck.server.authentication.user import AUTHENTICATED_GROUP, MASTERS_GROUP, User
from quarterdeck.testing import server_faults as faults
from quarterdeck.testing.poll import eventually
from quarterdeck.testing.server_faults import ServerFaults, ServerRule
from quarterdeck.wire.status import NotFound

CRDS = GVR("apiextensions.k8s.io", "v1", "customresourcedefinitions")
QUICK = WatchSettings(
    backoff_initial_s=0.01,
    backoff_cap_s=0.05,
    short_stream_s=0.0,
    silence_s=0.5,
    initial_events_s=0.5,
    absent_cap_s=0.05,
)
AGENT = "operator"
OPERATOR: dict[str, Any] = {"user_agent": AGENT, "timeout_s": 2.0}
Report = Callable[[str, object], None]


async def mirror(config: ConfigMap, ctx: Context[ConfigMap]) -> None:
    """Copy the text of each source into a child."""
    if config.metadata.labels.get("role") != "source":
        return
    metadata = ObjectMeta(name=f"{config.metadata.name}-copy")
    await ctx.apply(ConfigMap(metadata=metadata, data=dict(config.data)))


class World:
    """An operator at work, and an eye on the server that no fault touches."""

    def __init__(self, eye: Client, manager: Manager) -> None:
        self.eye = eye
        self.manager = manager
        self.told: list[tuple[Change, Key, str]] = []
        manager.informers.ensure(ConfigMap).cache.add_handler(self._note)

    def _note(self, event: Event) -> None:
        self.told.append((event.change, event.key, event.new.uid))

    async def source(self, name: str, text: str) -> ConfigMap:
        metadata = ObjectMeta(name=name, namespace="default", labels={"role": "source"})
        return await self.eye.create(ConfigMap(metadata=metadata, data={"text": text}))

    async def rewrite(self, name: str, text: str) -> None:
        config = await self.eye.get(ConfigMap, name, "default")
        await self.eye.update(replace(config, data={"text": text}))

    async def copied(self, name: str, text: str) -> None:
        async def same() -> bool:
            copy = await self.eye.get(ConfigMap, f"{name}-copy", "default")
            return copy.data.get("text") == text

        await eventually(same)

    async def agrees(self) -> None:
        """Wait until the cache holds exactly what the server has, at its versions."""
        cache = self.manager.informers.ensure(ConfigMap).cache

        async def same() -> bool:
            server = {c.key: c.resource_version for c in await self.eye.list(ConfigMap)}
            held = {key: _version(cache.get(key)) for key in cache}
            return server == held

        await eventually(same)

    def deletions(self, name: str) -> list[str]:
        """The UIDs of the objects of a name whose deletion was told."""
        return [
            uid for change, key, uid in self.told if change is Change.DELETED and key.name == name
        ]


def _version(config: ConfigMap | None) -> str:
    return config.resource_version if config is not None else ""


@contextlib.asynccontextmanager
async def operating(
    cluster: Cluster, config: ClusterConfig | None = None, **options: Any
) -> AsyncIterator[World]:
    """A mirror that works on the cluster through `config`, or as everybody else."""
    async with Client(config or ClusterConfig(server=cluster.url, **OPERATOR)) as client:
        manager = Manager(
            client,
            watch=QUICK,
            events="off",
            rng=random.Random(1),
            graceful_shutdown_timeout_s=1,
            **options,
        )
        controller = Controller(
            reconcile=mirror,
            for_=ConfigMap,
            owns=[ConfigMap],
            rate_limiter=None,
            reconcile_timeout_s=5,
        )
        manager.add(controller)
        world = World(cluster.client, manager)
        async with manager.running():
            yield world


@contextlib.contextmanager
def recovery(record: Report) -> Any:
    """Measure how long the block takes, and tell."""
    loop = asyncio.get_running_loop()
    started = loop.time()
    yield
    took = round(loop.time() - started, 3)
    record("recovery_s", took)
    print(f"recovered within {took} s")


def end_watches(cluster: Cluster) -> None:
    """Let the server end its watches now, so that rules meet the next ones."""
    for stream in tuple(cluster.api.core.streams):
        stream.close()


# --- at the socket


@pytest.mark.parametrize(
    "rules",
    [
        pytest.param(lambda: [faults.cut_watch(2)], id="each watch cut in its third line"),
        pytest.param(lambda: [faults.freeze_watch(2, times=3)], id="frozen watches"),
        pytest.param(lambda: [faults.expire_watch(after_lines=2, times=8)], id="410 storm"),
        pytest.param(lambda: [faults.fail("watch", 410, times=8)], id="410 answers"),
        pytest.param(
            lambda: [faults.fail("patch", 429, times=3, retry_after_s=1)], id="429 Retry-After"
        ),
        pytest.param(lambda: [faults.fail("", 500, times=12)], id="500 to everybody"),
        pytest.param(lambda: [faults.fail("patch", 409, times=4)], id="409"),
        pytest.param(lambda: [faults.lose_reply("patch", times=4)], id="lost replies"),
        pytest.param(lambda: [faults.delay("patch", 0.1, times=8)], id="latency"),
        pytest.param(lambda: [faults.chaos(11, 0.3)], id="chaos"),
    ],
)
async def test_faults_at_the_server_lose_nothing(
    rules: Callable[[], Sequence[ServerRule]], record_property: Report
) -> None:
    injected = ServerFaults(agent=AGENT)
    async with Cluster(faults=injected) as cluster, operating(cluster) as at:
        for name in ("a", "b", "c", "d"):
            await at.source(name, "one")
            await at.copied(name, "one")
        doomed = await at.eye.get(ConfigMap, "a", "default")
        for rule in rules():
            injected.add(rule)
        end_watches(cluster)
        for name in ("b", "c", "d"):
            await at.rewrite(name, "two")
        await at.eye.delete(doomed)
        await at.source("e", "two")
        with recovery(record_property):
            for name in ("b", "c", "d", "e"):
                await at.copied(name, "two")
            await at.agrees()
        assert at.deletions("a") == [doomed.metadata.uid], "told exactly once"


async def test_an_object_replaced_unseen_is_a_deletion_and_a_creation(
    record_property: Report,
) -> None:
    injected = ServerFaults(agent=AGENT)
    async with Cluster(faults=injected) as cluster, operating(cluster) as at:
        first = await at.source("a", "one")
        await at.copied("a", "one")
        injected.add(faults.fail("watch", 503, times=5))
        end_watches(cluster)
        await at.eye.delete(first)
        second = await at.source("a", "two")
        with recovery(record_property):
            await at.copied("a", "two")
            await at.agrees()
        mine = [(change, uid) for change, key, uid in at.told if key.name == "a"]
        created = mine.index((Change.ADDED, second.metadata.uid))
        assert mine[created - 1] == (Change.DELETED, first.metadata.uid)
        assert at.deletions("a") == [first.metadata.uid]


# --- definitions that go and come


class GadgetSpec(Struct, frozen=True, kw_only=True):
    size: int = 0


class GadgetStatus(Struct, frozen=True, kw_only=True):
    seen: int = 0


class Gadget(Object, frozen=True, kw_only=True):
    KIND = KindInfo(group="example.com", version="v1", kind="Gadget", plural="gadgets")
    spec: GadgetSpec = GadgetSpec()
    status: GadgetStatus = GadgetStatus()


async def test_a_definition_deleted_and_created_again_brings_new_objects(
    record_property: Report,
) -> None:
    seen: list[tuple[str, str]] = []
    gone: list[Key] = []

    async def reconcile(gadget: Gadget, ctx: Context[Gadget]) -> None:
        seen.append((gadget.metadata.name, gadget.metadata.uid))
        ctx.status.set(seen=gadget.spec.size)

    async def forget(key: Key) -> None:
        gone.append(key)

    async def create(size: int) -> Gadget:
        metadata = ObjectMeta(name="g", namespace="default")
        found: list[Gadget] = []

        async def created() -> bool:
            new = Gadget(metadata=metadata, spec=GadgetSpec(size=size))
            found.append(await client.create(new))
            return True

        await eventually(created)
        return found[0]

    async def is_seen(size: int) -> bool:
        return (await client.get(Gadget, "g", "default")).status.seen == size

    async with Cluster() as cluster:
        client = cluster.client
        definitions = client.resource(CRDS)
        await definitions.create(crd.build_manifest([Gadget]))
        manager = Manager(client, watch=QUICK, events="off", graceful_shutdown_timeout_s=1)
        manager.add(Controller(reconcile=reconcile, for_=Gadget, on_deleted=forget))
        async with manager.running():
            first = await create(1)
            await eventually(lambda: is_seen(1))
            await definitions.delete("gadgets.example.com")
            await eventually(lambda: gone == [Key("default", "g")])
            await definitions.create(crd.build_manifest([Gadget]))
            second = await create(2)
            with recovery(record_property):
                await eventually(lambda: is_seen(2))
            assert first.metadata.uid != second.metadata.uid
            assert seen[-1] == ("g", second.metadata.uid)


async def test_a_quick_successor_of_one_name_is_told_as_gone_first() -> None:
    told: list[str] = []
    busy, may_end = asyncio.Event(), asyncio.Event()

    async def reconcile(config: ConfigMap, ctx: Context[ConfigMap]) -> None:
        if config.metadata.name != "a":
            return
        told.append(config.data["text"])
        if not busy.is_set():
            busy.set()
            await may_end.wait()

    async def forget(key: Key) -> None:
        if key.name == "a":
            told.append("gone")

    async with Cluster() as cluster:
        client = cluster.client
        manager = Manager(client, watch=QUICK, events="off", graceful_shutdown_timeout_s=1)
        manager.add(Controller(reconcile=reconcile, for_=ConfigMap, on_deleted=forget))
        async with manager.running():
            at = World(client, manager)
            first = await at.source("a", "one")
            await busy.wait()
            await client.delete(first)  # both happen while the first is still worked on
            await at.source("a", "two")
            await at.agrees()
            may_end.set()
            await eventually(lambda: told == ["one", "gone", "two"])


# --- a server that forgot


async def test_caches_follow_a_server_restored_from_a_backup(
    tmp_path: Path, record_property: Report
) -> None:
    data, backup = tmp_path / "data", tmp_path / "backup"
    async with contextlib.AsyncExitStack() as stack:
        first = Cluster(in_memory=False, data_dir=data)
        await first.__aenter__()
        port = int(first.url.rsplit(":", 1)[1])
        config = ClusterConfig(server=first.url, **OPERATOR)
        at = await stack.enter_async_context(operating(first, config))
        at.eye = await stack.enter_async_context(Client(config))
        kept = await at.source("kept", "old")
        await at.copied("kept", "old")
        await first.stop()
        shutil.copytree(data, backup)
        second = Cluster(in_memory=False, data_dir=data, port=port)
        await second.__aenter__()
        await at.rewrite("kept", "new")
        later = await at.source("later", "new")
        for number in range(20):
            await at.rewrite("later", str(number))
        await at.copied("later", "19")
        await at.copied("kept", "new")
        await second.stop()
        await stack.enter_async_context(Cluster(in_memory=False, data_dir=backup, port=port))
        with recovery(record_property):
            await at.agrees()
        cache = at.manager.informers.ensure(ConfigMap).cache
        held = cache.get(kept.key)
        assert held is not None
        assert held.data == {"text": "old"}
        assert later.key not in set(cache)
        await at.rewrite("kept", "newer")
        await at.copied("kept", "newer")


# --- credentials


class Keys:
    """A token source of the server whose one good token changes."""

    def __init__(self) -> None:
        self.good = "first"
        self.refused = 0

    def authenticate_token(self, token: str, audiences: Sequence[str] | None = None) -> User | None:
        if token == self.good:
            return User(name="operator", groups=(MASTERS_GROUP, AUTHENTICATED_GROUP))
        self.refused += 1
        return None


class Eye:
    """Lets the test's own client in without a token."""

    def authenticate(self, request: Any) -> User | None:
        if request.headers.get("user-agent") == AGENT:
            return None
        return User(name="test", groups=(MASTERS_GROUP, AUTHENTICATED_GROUP))


PLUGIN = """
import json, pathlib, sys
token = pathlib.Path(sys.argv[1]).read_text().strip()
with open(sys.argv[1] + ".calls", "a") as calls:
    calls.write("x")
status = {"token": token, "expirationTimestamp": "2099-01-01T00:00:00Z"}
print(json.dumps({"kind": "ExecCredential", "apiVersion": "client.authentication.k8s.io/v1",
                  "status": status}))
"""


def credentials_in(file: Path, how: str) -> dict[str, Any]:
    if how == "token file":
        return {"token_file": file}
    return {"exec": ExecConfig(command=sys.executable, args=("-c", PLUGIN, str(file)))}


@pytest.mark.parametrize("first", ["the file", "the server"])
@pytest.mark.parametrize("how", ["token file", "exec plugin"])
async def test_rotated_credentials_need_no_restart(
    how: str, first: str, tmp_path: Path, record_property: Report
) -> None:
    file, keys = tmp_path / "token", Keys()
    file.write_text("first")

    def rotate(where: str) -> None:
        if where == "the file":
            fresh = tmp_path / "fresh"
            fresh.write_text("second")
            os.replace(fresh, file)
        else:
            keys.good = "second"

    authenticators = (Eye(), BearerTokens(sources=[keys]))
    async with Cluster(authenticators=authenticators) as cluster:
        config = ClusterConfig(server=cluster.url, **OPERATOR, **credentials_in(file, how))
        async with operating(cluster, config) as at:
            await at.source("a", "one")
            await at.copied("a", "one")
            rotate(first)
            if first == "the server":  # for a while nothing works, the open watch aside
                await at.source("b", "early")
                end_watches(cluster)
                await eventually(lambda: keys.refused > 2)
            rotate("the server" if first == "the file" else "the file")
            end_watches(cluster)
            await at.rewrite("a", "two")
            with recovery(record_property):
                await at.copied("a", "two")
                await at.agrees()
    if how == "exec plugin":
        calls = len(Path(f"{file}.calls").read_text())
        assert calls <= keys.refused + 1, "many refusals at once ask the plugin once"


async def test_an_object_gone_while_credentials_were_bad_is_told_once(tmp_path: Path) -> None:
    file, keys = tmp_path / "token", Keys()
    file.write_text("first")
    async with Cluster(authenticators=(Eye(), BearerTokens(sources=[keys]))) as cluster:
        config = ClusterConfig(server=cluster.url, **OPERATOR, token_file=file)
        async with operating(cluster, config) as at:
            doomed = await at.source("a", "one")
            await at.copied("a", "one")
            keys.good = "second"
            end_watches(cluster)
            await eventually(lambda: keys.refused > 0)
            await at.eye.delete(doomed)
            with contextlib.suppress(NotFound):
                await at.eye.delete(ConfigMap, "a-copy", "default")
            file.write_text("second")
            await at.agrees()
            assert at.deletions("a") == [doomed.metadata.uid]
