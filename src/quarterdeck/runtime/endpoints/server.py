"""The HTTP endpoints of an operator: its health page, and its metrics page with authorization."""

import contextlib
import random
import ssl
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

import msgspec

from quarterdeck.client.interfaces import Api
from quarterdeck.kit import http
from quarterdeck.kit.clock import Clock
from quarterdeck.kit.metrics import CONTENT_TYPE, Registry
from quarterdeck.kit.tasks import Supervisor
from quarterdeck.runtime.endpoints.health import HealthEndpoints
from quarterdeck.runtime.observability.logging import Logger

if TYPE_CHECKING:
    from quarterdeck.runtime.endpoints.certificate import CertificateFiles, EndpointCertificate

_LOOPBACK = ("127.0.0.1", "::1", "localhost")


class BindAddress(msgspec.Struct, frozen=True):
    """Where a page listens; port 0 is any free one."""

    host: str = "127.0.0.1"
    port: int = 0
    tls: ssl.SSLContext | None = None


class MetricsEndpoint(msgspec.Struct, frozen=True):
    """How metrics are served: over TLS to callers that are checked, or insecure on loopback.

    Without `certificate`, and without `bind.tls`, a certificate is made.
    """

    bind: BindAddress = BindAddress()  # frozen
    is_insecure: bool = False
    certificate: "CertificateFiles | None" = None


class Endpoints:
    """The pages of one manager; a page that is None is not served."""

    def __init__(
        self,
        *,
        health: BindAddress | None,
        metrics: MetricsEndpoint | None,
        pages: HealthEndpoints,
        registry: Registry,
    ) -> None:
        self.health_url = ""
        self.metrics_url = ""
        self._health = health
        self._metrics = metrics
        self._pages = pages
        self._registry = registry
        self._servers: list[http.Server] = []
        self.certificate: EndpointCertificate | None = None
        """The certificate of the metrics page, if this object renews it."""

    async def open(self, api: Api, *, clock: Clock, rng: random.Random, log: Logger) -> None:
        """Listen; `api` authorizes requests for metrics."""
        if self._health is not None:
            self.health_url = await self._serve(self._pages.handle, self._health)
        page = self._metrics
        if page is None:
            return
        if page.is_insecure:
            self._require_loopback(page.bind)
            self.metrics_url = await self._serve(self._show_metrics, page.bind)
            return
        # few operators serve metrics to others
        from quarterdeck.runtime.endpoints.authorization import DelegatingAuthorizer

        bind = page.bind
        if bind.tls is None:
            from quarterdeck.runtime.endpoints.certificate import EndpointCertificate

            self.certificate = EndpointCertificate(page.certificate, clock=clock, log=log)
            bind = msgspec.structs.replace(bind, tls=self.certificate.context)
        authorizer = DelegatingAuthorizer(api, clock, rng)
        self.metrics_url = await self._serve(authorizer.protect(self._show_guarded), bind)

    def start(self, tasks: Supervisor) -> None:
        """Start to renew a generated certificate, or to reload given files when they change."""
        if self.certificate is not None:
            tasks.spawn(self.certificate.run(), name="metrics-certificate")

    async def close(self) -> None:
        """Finish requests under way, and stop every server, also if the caller is cancelled."""
        async with contextlib.AsyncExitStack() as stack:
            for server in self._servers:
                stack.push_async_callback(server.drain, 1.0)

    async def _serve(
        self, handler: Callable[[http.Request], Awaitable[http.Response]], bind: BindAddress
    ) -> str:
        server = http.Server(handler)
        self._servers.append(server)
        listener = await server.listen(bind.host, bind.port, tls=bind.tls)
        return listener.url

    async def _show_guarded(self, request: http.Request) -> http.Response:
        """Serve metrics, and `/explain` for a hub in another process."""
        if request.path == "/explain" or request.path.startswith("/explain/"):
            return self._pages.explain(request.path.rstrip("/"))
        return await self._show_metrics(request)

    async def _show_metrics(self, request: http.Request) -> http.Response:
        if request.path.rstrip("/") != "/metrics":
            return http.Response(
                404, [("content-type", "text/plain")], b"not found: use /metrics\n"
            )
        headers = [("content-type", CONTENT_TYPE)]
        return http.Response(200, headers, self._registry.render())

    @staticmethod
    def _require_loopback(bind: BindAddress) -> None:
        if bind.host not in _LOOPBACK:
            raise ValueError(
                f"cannot serve metrics without access control on {bind.host}: "
                "only loopback is allowed; remove is_insecure, or bind 127.0.0.1"
            )
