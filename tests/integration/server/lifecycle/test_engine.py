"""The engine: restarts, conflicts, failures, refusals, rest."""

import asyncio
import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec
import pytest

from quarterdeck.app.cluster import Cluster
from quarterdeck.kit import http
from quarterdeck.kit.clock import VirtualClock
from quarterdeck.kit.tasks import Supervisor
from quarterdeck.server.admission.attributes import AdmissionAttributes
from quarterdeck.server.admission.chain import Admission
from quarterdeck.server.lifecycle.engine.actions import Action, Create
from quarterdeck.server.lifecycle.engine.engine import Engine
from quarterdeck.server.lifecycle.engine.index import Index
from quarterdeck.server.lifecycle.engine.view import View
from quarterdeck.server.lifecycle.workloads.replica_sets import ReplicaSets
from quarterdeck.server.options import ServerOptions
from quarterdeck.storage import CommitFailed, StoreEvent, StoreKey
from quarterdeck.storage.log import Done
from quarterdeck.storage.memory import MemoryLog
from quarterdeck.wire.status import Forbidden

Object = dict[str, Any]


async def send(cluster: Cluster, method: str, path: str, body: Any = None) -> Object:
    async with http.Client() as client:
        data = None if body is None else json.dumps(body).encode()
        headers = [("Content-Type", "application/json")]
        response = await client.request(method, cluster.url + path, headers=headers, body=data)
        answer: Object = json.loads(await response.read())
        return answer


MAPS = "/api/v1/namespaces/default/configmaps"


async def test_what_happened_while_it_was_away_is_made_up_for(tmp_path: Path) -> None:
    without = ServerOptions(lifecycle=False)
    async with Cluster(in_memory=False, data_dir=tmp_path, options=without) as bare:
        owner = await send(bare, "POST", MAPS, {"metadata": {"name": "owner"}})
        reference = {"apiVersion": "v1", "kind": "ConfigMap", "name": "owner"}
        reference["uid"] = owner["metadata"]["uid"]
        child = {"metadata": {"name": "child", "ownerReferences": [reference]}}
        await send(bare, "POST", MAPS, child)
        await send(bare, "DELETE", f"{MAPS}/owner")
        assert (await send(bare, "GET", f"{MAPS}/child"))["kind"] == "ConfigMap"
    async with Cluster(in_memory=False, data_dir=tmp_path) as living:
        assert living.api.lifecycle is not None
        await living.api.lifecycle.wait_until_idle()
        assert (await send(living, "GET", f"{MAPS}/child"))["reason"] == "NotFound"


async def test_simulation_goes_on_after_a_restart(
    tmp_path: Path, workload: Any, template: Any
) -> None:
    clock = VirtualClock()
    options = ServerOptions(simulate_workloads=True)
    path = "/apis/apps/v1/namespaces/default/deployments"
    slow = workload("Deployment", "web", template("web", start_delay="60s"), replicas=2)
    async with Cluster(in_memory=False, data_dir=tmp_path, options=options, clock=clock) as first:
        await send(first, "POST", path, slow)
        assert first.api.lifecycle is not None
        await first.api.lifecycle.wait_until_idle()
    await clock.advance(61)
    async with Cluster(in_memory=False, data_dir=tmp_path, options=options, clock=clock) as second:
        assert second.api.lifecycle is not None
        await second.api.lifecycle.wait_until_idle()
        found = await send(second, "GET", f"{path}/web")
        assert found["status"]["readyReplicas"] == 2
        pods = await send(second, "GET", "/api/v1/namespaces/default/pods")
        assert len({pod["status"]["podIP"] for pod in pods["items"]}) == 2


async def test_writers_in_between_do_not_disturb(simulation: Any, workload: Any) -> None:
    async with simulation() as cluster:
        await cluster.create("deployments", workload("Deployment", "web", replicas=5))

        async def meddle(number: int) -> None:
            patch = {
                "metadata": {"labels": {f"l{number}": "x"}},
                "spec": {"replicas": 3 + number % 5},
            }
            await cluster.patch("deployments", "web", patch)

        async with asyncio.TaskGroup() as group:
            for number in range(30):
                group.create_task(meddle(number))
        await cluster.patch("deployments", "web", {"spec": {"replicas": 6}})
        deployment = await cluster.the("deployments", "web")
        assert len(deployment["metadata"]["labels"]) == 30
        assert deployment["status"]["readyReplicas"] == 6
        assert len(await cluster.names("pods")) == 6


async def test_the_engine_comes_to_rest(simulation: Any, workload: Any) -> None:
    async with simulation() as cluster:
        await cluster.create("deployments", workload("Deployment", "web", replicas=3))
        store = cluster.cluster.api.core.store
        before, rounds = store.revision, cluster.lifecycle.engine.statistics()["rounds"]
        await cluster.wait_until_idle()
        await cluster.the("deployments", "web")
        assert store.revision == before
        assert cluster.lifecycle.engine.statistics()["rounds"] == rounds
        # then only the heartbeat of the node is left, one write each time
        await cluster.pass_time(60)
        assert store.revision - before == 6


class Clumsy:
    """A controller that fails the first two times."""

    name = "clumsy"
    manager = "clumsy"
    resources: frozenset[str] | None = frozenset({"secrets"})
    initial: Sequence[StoreKey] = ()

    def __init__(self) -> None:
        self.tries = 0

    def find_keys(self, event: StoreEvent, index: Index) -> Iterator[StoreKey]:
        if event.after is not None:
            yield event.key

    def plan(self, view: View, key: StoreKey) -> Sequence[Action]:
        self.tries += 1
        if self.tries < 3:
            raise RuntimeError("not yet")
        metadata = {"name": "made", "namespace": "default"}
        return [
            Create("configmaps", {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata})
        ]


async def test_plan_that_fails_is_reported_and_tried_again() -> None:
    clock, clumsy = VirtualClock(), Clumsy()
    reported: list[str] = []
    loop = asyncio.get_running_loop()
    loop.set_exception_handler(lambda _, context: reported.append(context["message"]))
    options = ServerOptions(lifecycle=False)
    async with Cluster(options=options, clock=clock) as cluster, Supervisor() as tasks:
        engine = Engine(cluster.api.core, [clumsy])
        tasks.spawn(engine.run(), name="engine")
        secrets = "/api/v1/namespaces/default/secrets"
        await send(cluster, "POST", secrets, {"metadata": {"name": "s"}})
        await engine.wait_until_idle()
        assert clumsy.tries == 1
        assert engine.statistics()["failing"] == 1
        await clock.advance(0.1)
        await engine.wait_until_idle()
        await clock.advance(0.2)
        await engine.wait_until_idle()
        assert clumsy.tries == 3
        assert engine.statistics()["failing"] == 0
        assert reported == ["controller clumsy: reconcile of secrets/default/s failed"] * 2
        assert (await send(cluster, "GET", f"{MAPS}/made"))["kind"] == "ConfigMap"


class Refused(Clumsy):
    """A controller whose writes are refused for days, as those over a quota are."""

    def plan(self, view: View, key: StoreKey) -> Sequence[Action]:
        self.tries += 1
        raise Forbidden("exceeded quota")


async def test_an_entry_may_fail_for_days() -> None:
    clock, refused = VirtualClock(), Refused()
    options = ServerOptions(lifecycle=False)
    async with Cluster(options=options, clock=clock) as cluster, Supervisor() as tasks:
        engine = Engine(cluster.api.core, [refused])
        running = tasks.spawn(engine.run(), name="engine")
        secrets = "/api/v1/namespaces/default/secrets"
        await send(cluster, "POST", secrets, {"metadata": {"name": "s"}})
        for _ in range(1100):
            idle = asyncio.create_task(engine.wait_until_idle())
            await asyncio.wait({running, idle}, return_when=asyncio.FIRST_COMPLETED)
            assert idle.done()
            await clock.advance(60)
        assert refused.tries > 1100


async def test_retries_wait_longer_while_writes_fail(monkeypatch: pytest.MonkeyPatch) -> None:
    clock, clumsy = VirtualClock(), Clumsy()
    clumsy.tries = 2  # its plans succeed, but what they write is not stored
    options = ServerOptions(lifecycle=False)
    async with Cluster(options=options, clock=clock) as cluster, Supervisor() as tasks:
        secrets = "/api/v1/namespaces/default/secrets"
        await send(cluster, "POST", secrets, {"metadata": {"name": "s"}})
        commit = MemoryLog.commit

        def refuse(log: MemoryLog, events: Sequence[StoreEvent], done: Done) -> None:
            asyncio.get_running_loop().call_soon(done, CommitFailed("the disk is full"))

        monkeypatch.setattr(MemoryLog, "commit", refuse)
        engine = Engine(cluster.api.core, [clumsy])
        tasks.spawn(engine.run(), name="engine")
        await engine.wait_until_idle()
        for seconds in (0.1, 0.2, 0.4):
            tries = clumsy.tries
            await clock.advance(seconds - 0.01)
            await engine.wait_until_idle()
            assert clumsy.tries == tries
            await clock.advance(0.01)
            await engine.wait_until_idle()
            assert clumsy.tries == tries + 1
        monkeypatch.setattr(MemoryLog, "commit", commit)
        await clock.advance(0.8)
        await engine.wait_until_idle()
        assert engine.statistics()["failing"] == 0
        assert (await send(cluster, "GET", f"{MAPS}/made"))["kind"] == "ConfigMap"


class Late(Clumsy):
    """A controller that fails once, and then writes to a namespace that is gone."""

    def plan(self, view: View, key: StoreKey) -> Sequence[Action]:
        self.tries += 1
        if self.tries == 1:
            raise Forbidden("not yet")
        metadata = {"name": "made", "namespace": "gone"}
        return [
            Create("configmaps", {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata})
        ]


async def test_an_entry_that_is_given_up_does_not_count_as_failing() -> None:
    clock, late = VirtualClock(), Late()
    options = ServerOptions(lifecycle=False)
    async with Cluster(options=options, clock=clock) as cluster, Supervisor() as tasks:
        engine = Engine(cluster.api.core, [late])
        tasks.spawn(engine.run(), name="engine")
        secrets = "/api/v1/namespaces/default/secrets"
        await send(cluster, "POST", secrets, {"metadata": {"name": "s"}})
        await engine.wait_until_idle()
        assert engine.statistics()["failing"] == 1
        await clock.advance(0.1)
        await engine.wait_until_idle()
        assert late.tries == 2
        assert engine.statistics() | {"rounds": 0} == {
            "queued": 0,
            "waiting": 0,
            "failing": 0,
            "rounds": 0,
        }


class Veto:
    """An admission plugin that has to think before it refuses pods."""

    is_active = True

    async def admit(self, attributes: AdmissionAttributes) -> None:
        await asyncio.sleep(0)

    async def validate(self, attributes: AdmissionAttributes) -> None:
        if attributes.resource.kind == "Pod":
            raise Forbidden.of("pods", attributes.name, "no pods today")


async def test_owner_tells_of_pods_that_were_refused(workload: Any) -> None:
    clock = VirtualClock()
    options = ServerOptions(lifecycle=False)
    async with Cluster(options=options, clock=clock) as cluster, Supervisor() as tasks:
        core = msgspec.structs.replace(cluster.api.core, admission=Admission((), (Veto(),)))
        engine = Engine(core, [ReplicaSets()])
        tasks.spawn(engine.run(), name="engine")
        path = "/apis/apps/v1/namespaces/default/replicasets"
        await send(cluster, "POST", path, workload("ReplicaSet", "web"))
        await engine.wait_until_idle()
        events = await send(cluster, "GET", "/api/v1/namespaces/default/events")
        (event,) = events["items"]
        assert event["reason"] == "FailedCreate"
        assert "no pods today" in event["message"]
        assert engine.statistics()["failing"] == 1


@pytest.mark.slow
async def test_three_hundred_deployments_become_available(workload: Any) -> None:
    options = ServerOptions(simulate_workloads=True)
    async with Cluster(options=options) as cluster, http.Client() as client:
        assert cluster.api.lifecycle is not None
        path = cluster.url + "/apis/apps/v1/namespaces/default/deployments"
        for number in range(300):
            body = json.dumps(workload("Deployment", f"d{number}")).encode()
            headers = [("Content-Type", "application/json")]
            response = await client.request("POST", path, headers=headers, body=body)
            await response.read()
        await cluster.api.lifecycle.wait_until_idle()
        pods = await send(cluster, "GET", "/api/v1/namespaces/default/pods")
        assert [pod["status"]["phase"] for pod in pods["items"]] == ["Running"] * 300
