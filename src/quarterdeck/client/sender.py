"""What sends requests: a port, so that the verbs need not know whether there is an event loop."""

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
        """The lines of an answer that goes on."""
        ...

    async def open(self, request: ApiRequest, /) -> "ClientResponse":
        """The answer itself, for whoever passes it on; the caller closes it."""
        ...

    async def aclose(self) -> None:
        """Close every connection."""
        ...
