"""Operators under measurement, and the API server they work on; each a process of its own.

All of them do the same: `status.seen = spec.size`, once for each object.
"""

import asyncio
import os
import sys
import threading
from typing import Any

GROUP, VERSION, PLURAL = "bench.example.com", "v1", "widgets"


def main() -> None:
    role, *rest = sys.argv[1:]
    {"server": _server, "quarterdeck": _ours, "kopf": _kopf}[role](*rest)


def _end_with_input() -> None:
    """Leave as soon as whoever started us is gone."""

    def watch() -> None:
        sys.stdin.read()
        os._exit(0)

    threading.Thread(target=watch, daemon=True).start()


def _ready() -> None:
    print("ready", flush=True)
    sys.stdin.readline()
    _end_with_input()


def _run(main: Any) -> None:
    try:
        import uvloop
    except ImportError:
        asyncio.run(main)
    else:
        uvloop.run(main)


def _widget() -> Any:
    from quarterdeck.meta.conditions import Conditions
    from quarterdeck.meta.kinds import KindInfo
    from quarterdeck.meta.objects import Object, Struct

    class WidgetSpec(Struct, frozen=True, kw_only=True):
        size: int = 0
        text: str = ""

    class WidgetStatus(Struct, frozen=True, kw_only=True):
        seen: int = 0
        observed_generation: int = 0
        conditions: Conditions = ()

    globals().update(WidgetSpec=WidgetSpec, WidgetStatus=WidgetStatus)

    class Widget(Object, frozen=True, kw_only=True):
        KIND = KindInfo(group=GROUP, version=VERSION, kind="Widget", plural=PLURAL)
        spec: WidgetSpec = WidgetSpec()
        status: WidgetStatus = WidgetStatus()

    return Widget


def _server() -> None:
    _run(_serve())


async def _serve() -> None:
    from quarterdeck.app.cluster import Cluster
    from quarterdeck.client import Client, load_config
    from quarterdeck.kit.tasks import fan_out
    from quarterdeck.meta import crd
    from quarterdeck.meta.identity import GVR

    loop = asyncio.get_running_loop()
    async with Cluster() as cluster, Client(load_config(cluster.kubeconfig)) as client:
        manifest = crd.manifest([_widget()])
        crds = GVR("apiextensions.k8s.io", "v1", "customresourcedefinitions")
        await client.resource(crds).create(manifest)
        widgets = client.resource(GVR(GROUP, VERSION, PLURAL))

        async def create(number: int) -> None:
            await widgets.create(
                {
                    "apiVersion": f"{GROUP}/{VERSION}",
                    "kind": "Widget",
                    "metadata": {"name": f"w{number}", "namespace": "default"},
                    "spec": {"size": number + 1, "text": "x" * 600},
                }
            )

        print(cluster.kubeconfig, flush=True)
        while words := (await loop.run_in_executor(None, sys.stdin.readline)).split():
            found = await widgets.list("default")
            if words[0] == "fill":
                for each in found:
                    await widgets.delete(each["metadata"]["name"], "default")
                await fan_out(range(int(words[1])), create, limit=16)
                print("filled", flush=True)
            else:
                print(sum(1 for each in found if each.get("status", {}).get("seen")), flush=True)


def _ours(kubeconfig: str) -> None:
    from quarterdeck.client import Client, load_config
    from quarterdeck.runtime import Context, Controller, Manager

    Widget = _widget()

    async def reconcile(widget: Any, ctx: Context[Any]) -> None:
        ctx.status.set(seen=widget.spec.size)

    async def run() -> None:
        async with Client(load_config(kubeconfig)) as client:
            manager = Manager(client, name="bench")
            manager.add(Controller(reconcile=reconcile, for_=Widget, workers=20))
            await manager.run()

    _ready()
    _run(run())


def _kopf(kubeconfig: str) -> None:
    import logging

    import kopf

    from quarterdeck.client import load_config

    server = load_config(kubeconfig).server
    logging.getLogger().setLevel(logging.WARNING)

    @kopf.on.startup()
    def configure(settings: Any, **_: Any) -> None:
        settings.posting.enabled = False

    @kopf.on.login()
    def login(**_: Any) -> Any:
        return kopf.ConnectionInfo(server=server)

    @kopf.on.resume(GROUP, VERSION, PLURAL)
    @kopf.on.create(GROUP, VERSION, PLURAL)
    @kopf.on.update(GROUP, VERSION, PLURAL, field="spec.size")
    def reconcile(spec: Any, patch: Any, **_: Any) -> None:
        patch.status["seen"] = spec["size"]

    _ready()
    _run(kopf.operator(clusterwide=True, standalone=True))


if __name__ == "__main__":
    main()
