"""Operators under measurement; each a process of its own that works on the cluster of a kubeconfig.

All of them do the same: `status.seen = spec.size`, once for each object. They print `ready` when
everything is imported, wait for a line, run, and end with their input.
"""

import asyncio
import cProfile
import os
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace
from typing import Any

from bench import profiling
from bench.peers.api_load import GROUP, PLURAL, VERSION

WORKERS = 20


def main() -> None:
    role, *rest = sys.argv[1:]
    {"quarterdeck": _ours, "kopf": _kopf, "informer": _informer}[role](*rest)


def _ready() -> None:
    print("ready", flush=True)
    sys.stdin.readline()

    profile = cProfile.Profile() if profiling.is_wanted() else None

    def watch() -> None:
        sys.stdin.read()
        if profile is not None:
            profile.disable()
            profiling.show(profile)
        os._exit(0)

    if profile is not None:
        profile.enable()

    threading.Thread(target=watch, daemon=True).start()


def _run(main: Any) -> None:
    try:
        import uvloop
    except ImportError:
        asyncio.run(main)
    else:
        uvloop.run(main)


def _ours(kubeconfig: str) -> None:
    """Our runtime with its defaults."""
    from quarterdeck.client import Client, load_config
    from quarterdeck.meta.conditions import Conditions
    from quarterdeck.meta.kinds import KindInfo
    from quarterdeck.meta.objects import Object, Struct
    from quarterdeck.runtime import Context, Controller, Manager

    class WidgetSpec(Struct, frozen=True, kw_only=True):
        size: int = 0
        text: str = ""
        mode: str = ""

    class WidgetStatus(Struct, frozen=True, kw_only=True):
        seen: int = 0
        observed_generation: int = 0
        conditions: Conditions = ()

    globals().update(WidgetSpec=WidgetSpec, WidgetStatus=WidgetStatus)

    class Widget(Object, frozen=True, kw_only=True):
        KIND = KindInfo(group=GROUP, version=VERSION, kind="Widget", plural=PLURAL)
        spec: WidgetSpec = WidgetSpec()
        status: WidgetStatus = WidgetStatus()

    async def reconcile(widget: Widget, ctx: Context[Widget]) -> None:
        ctx.status.set(seen=widget.spec.size)

    async def run() -> None:
        async with Client(load_config(kubeconfig)) as client:
            manager = Manager(client, name="bench")
            manager.add(Controller(reconcile=reconcile, for_=Widget, workers=WORKERS))
            await manager.run()

    _ready()
    _run(run())


def _kopf(kubeconfig: str) -> None:
    """kopf as its documentation shows it, without the posting of events."""
    import logging

    import kopf

    from quarterdeck.kit import yaml

    logging.getLogger().setLevel(logging.WARNING)
    with open(kubeconfig) as file:
        config: Any = yaml.load(file.read())
    cluster, user = config["clusters"][0]["cluster"], config["users"][0]["user"]

    @kopf.on.startup()
    def configure(settings: Any, **_: Any) -> None:
        settings.posting.enabled = False

    @kopf.on.login()
    def login(**_: Any) -> Any:
        return kopf.ConnectionInfo(
            server=cluster["server"],
            insecure=cluster.get("insecure-skip-tls-verify"),
            ca_data=cluster.get("certificate-authority-data"),
            certificate_data=user.get("client-certificate-data"),
            private_key_data=user.get("client-key-data"),
            token=user.get("token"),
        )

    @kopf.on.create(GROUP, VERSION, PLURAL)
    @kopf.on.update(GROUP, VERSION, PLURAL, field="spec.size")
    def reconcile(spec: Any, patch: Any, **_: Any) -> None:
        patch.status["seen"] = spec["size"]

    _ready()
    _run(kopf.operator(clusterwide=True, standalone=True))


def _informer(kubeconfig: str) -> None:
    """The official client's informer with a pool of threads: no queue, no retries."""
    import logging

    from kubernetes import client, config
    from kubernetes.informer import SharedInformer

    logging.getLogger().setLevel(logging.ERROR)
    config.load_kube_config(kubeconfig)
    api = client.CustomObjectsApi()
    api.api_client.configuration.connection_pool_maxsize = WORKERS
    pool = ThreadPoolExecutor(WORKERS)

    def listed(**options: Any) -> Any:
        """:return: object"""
        answer = api.list_cluster_custom_object(GROUP, VERSION, PLURAL, **options)
        if options.get("watch"):
            return answer
        version = answer["metadata"]["resourceVersion"]
        return SimpleNamespace(
            items=answer["items"], metadata=SimpleNamespace(resource_version=version)
        )

    def write(name: str, namespace: str, size: int) -> None:
        body = {"status": {"seen": size}}
        api.patch_namespaced_custom_object_status(GROUP, VERSION, namespace, PLURAL, name, body)

    def changed(item: Any) -> None:
        metadata, size = item["metadata"], item["spec"]["size"]
        if item.get("status", {}).get("seen") != size:
            pool.submit(write, metadata["name"], metadata["namespace"], size)

    informer = SharedInformer(listed)
    for event in ("ADDED", "MODIFIED"):
        informer.add_event_handler(event, changed)
    _ready()
    informer.start()
    threading.Event().wait()


if __name__ == "__main__":
    main()
