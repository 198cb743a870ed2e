"""Serves webhooks over HTTPS: paths, certificate, metrics, and errors for bad requests.

Every replica serves them, whether or not it is the leader, and before its caches have synced: the
API server may call a conversion webhook in order to answer the lists that fill the caches.
"""

from collections.abc import Sequence
from typing import Any, TypeVar

from quarterdeck.client.errors import ClientError
from quarterdeck.client.interfaces import Api
from quarterdeck.kit import http
from quarterdeck.kit.clock import Clock
from quarterdeck.kit.tasks import Supervisor
from quarterdeck.meta.objects import Object
from quarterdeck.runtime.endpoints.certificate import POLL_S, CertificateFiles, EndpointCertificate
from quarterdeck.runtime.endpoints.server import BindAddress
from quarterdeck.runtime.observability.logging import Logger
from quarterdeck.runtime.observability.metrics import Metrics
from quarterdeck.runtime.webhooks.conversion import (
    PATH,
    Conversion,
    ConversionHook,
    MalformedConversionError,
    Spoke,
)
from quarterdeck.runtime.webhooks.hooks import (
    DEFAULT_OPERATIONS,
    Hook,
    Mutation,
    Mutator,
    Validation,
    Validator,
    build_path,
)
from quarterdeck.runtime.webhooks.registration import (
    RegisteredConversion,
    RegisteredHook,
    Registrar,
    Registration,
)
from quarterdeck.runtime.webhooks.route import Route
from quarterdeck.runtime.webhooks.shared_certificate import SharedCertificate
from quarterdeck.wire.status import ApiError

T = TypeVar("T", bound=Object)

MAX_CONVERSION_BYTES = 64 * 1024 * 1024
"""A page of a list comes in one review."""
_JSON = [("content-type", "application/json")]
_TEXT = [("content-type", "text/plain; charset=utf-8")]
_DRAIN_S = 10.0
"""The default time-out of an API server for webhooks."""


class Webhooks:
    """The webhooks of one operator, each on a path of its own.

    `Manager(webhooks=…)` serves them. Without `certificate` and `bind.tls` a certificate for this
    host is generated; API servers must then trust `ca_bundle`.
    """

    def __init__(
        self,
        bind: BindAddress | None = None,
        *,
        certificate: CertificateFiles | None = None,
        registration: Registration | None = None,
    ) -> None:
        """Create them; with `registration` the manager registers them with its API server."""
        self._bind = bind if bind is not None else BindAddress()
        self._files = certificate
        self._registration = registration
        self._registrar: Registrar | None = None
        self._registered: bytes | None = None
        self._problem = ""
        self._log: Logger | None = None
        self._clock: Clock | None = None
        self._conversion = ConversionHook()
        self._hooks: dict[str, Hook[Any]] = {}
        self._routes: dict[str, Route] = {}
        self._server: http.Server | None = None
        self._certificate: EndpointCertificate | SharedCertificate | None = None
        self.url = ""
        """The URL at which they are served; empty while they are not."""

    # --- what to serve

    def validate(
        self,
        kind: type[T],
        check: Validator[T],
        *,
        path: str = "",
        operations: Sequence[str] = DEFAULT_OPERATIONS,
    ) -> str:
        """Add a handler that allows or denies writes of a kind; returns its path.

        `operations` are those the manager registers it for.

        Raises:
            ValueError: if the path is taken.
        """
        hook = Validation(kind, check)
        hook.operations = tuple(str(each) for each in operations)
        return self._add(path or build_path("validate", kind.KIND), hook)

    def convert(self, hub: type[T], *spokes: Spoke[Any, T]) -> str:
        """Add functions that convert between the versions of a kind; returns the path.

        Raises:
            ValueError: if the kind was added before, or the versions do not fit together.
        """
        if self._server is not None:
            raise ValueError(
                f"webhook path {PATH!r}: cannot add a webhook while webhooks are served"
            )
        self._conversion.add(Conversion(hub, spokes))
        return PATH

    def mutate(
        self, kind: type[T], change: Mutator[T], *, path: str = "", leave_malformed: bool = False
    ) -> str:
        """Add a handler that changes objects of a kind before they are stored; returns its path.

        An object that does not fit the type is denied. With `leave_malformed` it is allowed
        unchanged, and the API server denies it by the schema, with a better message. Use it for
        handlers that only set defaults.

        Raises:
            ValueError: if the path is taken.
        """
        hook = Mutation(kind, change)
        hook.leaves_malformed = leave_malformed
        return self._add(path or build_path("mutate", kind.KIND), hook)

    def _add(self, path: str, hook: Hook[Any]) -> str:
        if not path.startswith("/"):
            raise ValueError(f"webhook path {path!r}: a path must start with /")
        if path in self._hooks:
            raise ValueError(
                f"webhook path {path!r}: used by two webhooks: pass another `path` to one of them"
            )
        if self._server is not None:
            raise ValueError(
                f"webhook path {path!r}: cannot add a webhook while webhooks are served"
            )
        self._hooks[path] = hook
        return path

    @property
    def paths(self) -> tuple[str, ...]:
        """All paths, in the order in which they were added."""
        return (*self._hooks, *((PATH,) if self._conversion.conversions else ()))

    @property
    def ca_bundle(self) -> bytes:
        """The certificates that API servers must trust, in PEM; empty if files were given."""
        return self._certificate.ca_bundle if self._certificate is not None else b""

    def _read_authority(self) -> bytes:
        """Read what an API server must trust: the generated certificate, or the file of the CA."""
        if self._files is None:
            return self.ca_bundle
        named = self._registration.ca_file if self._registration is not None else None
        path = named or self._files.certificate.with_name("ca.crt")
        if named is None and not path.exists():
            path = self._files.certificate
        return path.read_bytes()

    # --- serving

    async def open(
        self, metrics: Metrics, *, clock: Clock, log: Logger, api: Api | None = None
    ) -> None:
        """Listen; a certificate shared by replicas is stored by `api`.

        Raises:
            CertificateError: if files or a Secret were named and cannot be used.
        """
        self._routes = {path: Route(path, hook, metrics, log) for path, hook in self._hooks.items()}
        self._log, self._clock = log, clock
        tls = self._bind.tls
        if tls is None:
            self._certificate = await self._load_certificate(clock, log, api)
            tls = self._certificate.context
        self._server = http.Server(self.handle)
        listener = await self._server.listen(self._bind.host, self._bind.port, tls=tls)
        self.url = listener.url
        log.info("serving webhooks", url=self.url, paths=list(self.paths))

    async def _load_certificate(
        self, clock: Clock, log: Logger, api: Api | None
    ) -> EndpointCertificate | SharedCertificate:
        secret = self._registration.secret if self._registration is not None else None
        hosts = self._list_hosts()
        if secret is None or api is None or self._files is not None:
            return EndpointCertificate(self._files, clock=clock, log=log, hosts=hosts)
        shared = SharedCertificate(api, secret, clock=clock, log=log, hosts=hosts)
        await shared.refresh()
        return shared

    def _list_hosts(self) -> tuple[str, ...]:
        """List the names that a generated certificate needs besides those of the host."""
        service = self._registration.service if self._registration is not None else None
        if service is None:
            return (self._bind.host,) if self._bind.host not in ("", "0.0.0.0", "::") else ()
        name = f"{service.name}.{service.namespace}"
        return (f"{name}.svc", f"{name}.svc.cluster.local")

    async def register(self, api: Api, manager: str) -> None:
        """Register the webhooks with an API server; failures are retried in the background."""
        if self._registration is not None:
            self._registrar = Registrar(api, self._registration, manager)
            await self._register_once()

    async def _register_once(self) -> None:
        """Apply the configurations if the authority has changed since the last time."""
        assert self._registrar is not None and self._log is not None
        try:
            authority = self._read_authority()
            if authority == self._registered:
                return
            await self._registrar.register(
                [
                    RegisteredHook(path, hook.info, hook.operations, isinstance(hook, Mutation))
                    for path, hook in self._hooks.items()
                ],
                [
                    RegisteredConversion(PATH, conversion.hub.KIND)
                    for conversion in self._conversion.conversions.values()
                ],
                url=self.url,
                ca_bundle=authority,
            )
        except (ApiError, ClientError, OSError) as error:
            self._problem = f"webhooks are not registered: {error}"
            self._log.warning("cannot register webhooks; trying again", reason=str(error))
            return
        self._registered, self._problem = authority, ""
        self._log.info("registered webhooks", paths=list(self.paths))

    async def _keep_registered(self) -> None:
        assert self._clock is not None
        while True:
            await self._clock.sleep(POLL_S)
            await self._register_once()

    def start(self, tasks: Supervisor) -> None:
        """Start renewing or reloading the certificate, and keep the registration up to date."""
        if self._certificate is not None:
            tasks.spawn(self._certificate.run(), name="webhook-certificate")
        if self._registrar is not None:
            tasks.spawn(self._keep_registered(), name="webhook-registration")

    async def close(self) -> None:
        """Finish requests in flight, and stop serving."""
        if self._server is not None:
            await self._server.drain(_DRAIN_S)
            await self._server.close()
            self._server, self.url = None, ""

    def check(self) -> str:
        """Check readiness: return the problem, or an empty string."""
        return self._problem if self._server is not None else "webhooks are not served yet"

    async def handle(self, request: http.Request) -> http.Response:
        """Handle one request; the status is 200 whether the write is allowed or denied."""
        if request.path == PATH and self._conversion.conversions:
            return await self._convert(request)
        route = self._routes.get(request.path)
        if route is None:
            return http.Response(404, _TEXT, b"404 page not found\n")
        return await route.handle(request)

    async def _convert(self, request: http.Request) -> http.Response:
        try:
            body = await request.read(MAX_CONVERSION_BYTES)
            return http.Response(200, _JSON, self._conversion.handle(body))
        except http.BodyTooLarge:
            text = f"request entity is too large; limit is {MAX_CONVERSION_BYTES} bytes"
            return http.Response(413, _TEXT, text.encode())
        except MalformedConversionError as error:
            return http.Response(400, _TEXT, str(error).encode())
        except Exception as error:  # a broken function must not look like an unreachable one
            if self._log is not None:
                self._log.error("conversion failed", error=error)
            text = f"conversion failed with {type(error).__name__}: see the log of the operator"
            return http.Response(500, _TEXT, text.encode())
