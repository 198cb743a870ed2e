"""Attaches the applications operator, and its HTTP façade where it is wanted."""

from quarterdeck.apis.applications.v1 import Application
from quarterdeck.app.host import Host
from quarterdeck.app.settings import DEFAULT_HTTP_PORT
from quarterdeck.client.raw import RawApi
from quarterdeck.kit import http
from quarterdeck.operators import applications


async def attach(host: Host) -> None:
    """Register the controller; in `up` serve the façade, in `run` only with --http-port."""
    settings = host.settings
    namespaces = tuple(filter(None, settings.namespace.split(",")))
    applications.register(host.manager, namespaces=namespaces, workers=settings.workers)
    port = settings.http_port
    if port is None and host.is_embedded:
        port = DEFAULT_HTTP_PORT
    if port is not None:
        await _serve(host, port)


async def _serve(host: Host, port: int) -> None:
    from quarterdeck.services.applications import Facade

    facade = Facade(
        api=host.client.raw,
        cache=host.manager.informers.ensure(Application).cache,
        others=host.api or _proxy(host),
        clock=host.clock,
        history=host.settings.event_history,
        is_leader=lambda: host.manager.is_leader,
    )
    await host.serve(
        facade.handle,
        port=port,
        flag="--http-port",
        name="applications",
        what="applications over plain HTTP: /, /watch, /events, and the API",
    )


def _proxy(host: Host) -> http.Handler:
    from quarterdeck.services.applications.proxy import Proxy

    api = host.client.raw
    if not isinstance(api, RawApi):
        raise TypeError("only a client that talks to a server can be passed through")
    return Proxy(api.transport).handle
