"""Attaches the applications operator and its HTTP API."""

from collections.abc import Mapping, Sequence
from typing import Any

from quarterdeck.apis.applications.v1 import GROUP, Application
from quarterdeck.app.host import Host
from quarterdeck.client.raw import RawApi
from quarterdeck.kit import http
from quarterdeck.operators import applications
from quarterdeck.runtime.controller.controller import Controller

_API = f"{GROUP}/v1"
SAMPLES: tuple[Mapping[str, Any], ...] = (
    {
        "apiVersion": _API,
        "kind": "Application",
        "metadata": {"name": "my-app", "namespace": "default"},
        "spec": {
            "replicas": 3,
            "image": "nginx:1.27",
            "strategy": "RollingUpdate",
            "config": {"GREETING": "hello"},
            "ports": [{"name": "http", "port": 80}],
            "resources": {
                "requests": {"cpu": "50m", "memory": "64Mi"},
                "limits": {"memory": "128Mi"},
            },
        },
    },
    {
        "apiVersion": _API,
        "kind": "Application",
        "metadata": {"name": "report", "namespace": "default"},
        "spec": {"replicas": 1, "image": "busybox:1.37", "runPolicy": "Once"},
    },
)
"""What `up --demo` applies and `config/samples` holds."""


async def attach(host: Host) -> None:
    """Register the controller and serve the HTTP API: always in `up`, in `run` with --http-port."""
    settings = host.settings
    namespaces = tuple(filter(None, settings.namespace.split(",")))
    applications.register(host.manager, namespaces=namespaces, workers=settings.workers)
    if settings.http_port is not None:
        await _serve(host, settings.http_port)


def declare_controllers() -> Sequence[Controller[Any]]:
    """The declarations of its controllers."""
    return (applications.build_controller(),)


async def _serve(host: Host, port: int) -> None:
    from quarterdeck.kit.http.local_user import OwnerGuard
    from quarterdeck.services.applications import Facade

    facade = Facade(
        api=host.admin.raw,  # clients of the plain port act for the owner of the machine
        cache=host.manager.informers.ensure(Application).cache,
        others=host.api or _build_proxy(host),
        clock=host.clock,
        history=host.settings.event_history,
        is_leader=lambda: host.manager.is_leader,
    )
    await host.serve(
        OwnerGuard(facade.handle).handle,
        port=port,
        flag="--http-port",
        name="applications",
        purpose="applications API on plain HTTP: /, /watch, /events, and the Kubernetes API",
    )


def _build_proxy(host: Host) -> http.Handler:
    from quarterdeck.services.applications.proxy import Proxy

    api = host.client.raw
    if not isinstance(api, RawApi):
        raise TypeError("cannot forward requests: the client is not a RawApi")
    return Proxy(api.transport).handle
