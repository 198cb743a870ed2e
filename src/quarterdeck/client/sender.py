"""Sends requests: a port, so that the verbs do not depend on an event loop."""

from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager
from typing import TYPE_CHECKING, Protocol

from quarterdeck.client.config.cluster import ClusterConfig
from quarterdeck.client.interfaces import Observer
from quarterdeck.client.requests import ApiRequest

if TYPE_CHECKING:
    from quarterdeck.kit.http import ClientResponse


class Sender(Protocol):
    """Sends requests to one server: `Transport` on a loop, `BlockingTransport` without one."""

    config: ClusterConfig

    def observe(self, observer: Observer, /) -> None:
        """Add an observer of all later requests."""
        ...

    async def send(self, request: ApiRequest, /) -> bytes:
        """The body of a successful answer."""
        ...

    def stream(self, request: ApiRequest, /) -> AbstractAsyncContextManager[AsyncIterator[bytes]]:
        """Stream the lines of an answer."""
        ...

    async def open(self, request: ApiRequest, /) -> "ClientResponse":
        """Open the answer itself, for a proxy; the caller closes it."""
        ...

    async def aclose(self) -> None:
        """Close every connection."""
        ...
