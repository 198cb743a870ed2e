"""Attaches the applications operator, and its HTTP façade where it is wanted."""

from quarterdeck.app.host import Host
from quarterdeck.operators import applications

DEFAULT_PORT = 3000


async def attach(host: Host) -> None:
    """Register the controller; in `up` serve the façade, in `run` only with --http-port."""
    settings = host.settings
    namespaces = tuple(filter(None, settings.namespace.split(",")))
    applications.register(host.manager, namespaces=namespaces, workers=settings.workers)
