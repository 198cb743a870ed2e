"""How many functions of the runtime and the client one change of an object calls.

Two thirds of what a change costs an operator are the interpreter's, and these numbers do not depend
on how busy a machine is. Raise the limit only for something that is worth it to every change.
"""

import sys
from pathlib import Path
from types import FrameType

import quarterdeck
from quarterdeck.app.cluster import Cluster
from quarterdeck.client import Client, ClusterConfig
from quarterdeck.kit import http
from quarterdeck.meta import crd
from quarterdeck.meta.identity import GVR
from quarterdeck.meta.kinds import KindInfo
from quarterdeck.meta.objects import Object, ObjectMeta, Struct
from quarterdeck.runtime import Context, Controller, Manager
from quarterdeck.testing.poll import eventually
from quarterdeck.wire.path import ResourcePath, build

_FOLDER = Path(quarterdeck.__file__).parent
_COUNTED = (f"{_FOLDER / 'runtime'}/", f"{_FOLDER / 'client'}/")
_WARM, _MEASURED = 5, 10
_LIMIT = 149


CRDS = GVR("apiextensions.k8s.io", "v1", "customresourcedefinitions")


class GadgetSpec(Struct, frozen=True, kw_only=True):
    size: int = 0


class GadgetStatus(Struct, frozen=True, kw_only=True):
    seen: int = 0


class Gadget(Object, frozen=True, kw_only=True):
    KIND = KindInfo(group="example.com", version="v1", kind="Gadget", plural="gadgets")
    spec: GadgetSpec = GadgetSpec()
    status: GadgetStatus = GadgetStatus()


async def reconcile(gadget: Gadget, ctx: Context[Gadget]) -> None:
    ctx.status.set(seen=gadget.spec.size)


class CallCounter:
    """Counts calls of functions of the runtime and the client while it is entered."""

    def __init__(self) -> None:
        self.calls = 0

    def __enter__(self) -> None:
        self._before = sys.getprofile()
        sys.setprofile(self._note)

    def __exit__(self, *_: object) -> None:
        sys.setprofile(self._before)

    def _note(self, frame: FrameType, event: str, _: object) -> None:
        self.calls += event == "call" and frame.f_code.co_filename.startswith(_COUNTED)


async def change(cluster: Cluster, size: int) -> None:
    path = build(ResourcePath("example.com", "v1", "gadgets", "default", "a"))
    headers = [("content-type", "application/merge-patch+json")]
    body = b'{"spec":{"size":%d}}' % size
    request = http.Request.of("PATCH", path, headers=headers, body=body)
    assert (await cluster.api.handle(request)).status == 200


async def _is_served(client: Client) -> bool:
    await client.list(Gadget, "default")
    return True


async def test_a_change_calls_no_more_functions_than_it_did() -> None:
    async with Cluster() as cluster, Client(ClusterConfig(server=cluster.url)) as client:
        await client.resource(CRDS).create(crd.build_manifest([Gadget]))
        await eventually(lambda: _is_served(client))
        manager = Manager(client, name="test")
        manager.add(Controller(reconcile=reconcile, for_=Gadget))
        value = manager.metrics.registry.get_value

        async def change_and_wait(number: int) -> None:
            await change(cluster, number)
            await eventually(
                lambda: value("quarterdeck_own_events_total", "gadget") >= number, every_s=0.001
            )

        counts = []
        async with manager.running():
            await client.create(Gadget(metadata=ObjectMeta(name="a", namespace="default")))
            for number in range(1, _WARM + _MEASURED + 1):
                counter = CallCounter()
                with counter:
                    await change_and_wait(number)
                counts.append(counter.calls)
    assert min(counts[_WARM:]) <= _LIMIT, counts
