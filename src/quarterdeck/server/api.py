"""The API server: one object that answers requests.

It owns no socket and no process: `app` binds `handle` to listeners, and keeps `run` running.
"""

import asyncio
import random
from collections.abc import Sequence
from typing import TYPE_CHECKING

from quarterdeck.kit import http
from quarterdeck.kit.clock import Clock, SystemClock
from quarterdeck.server import router
from quarterdeck.server.admission.chain import Admission
from quarterdeck.server.admission.plugin import Plugin
from quarterdeck.server.admission.plugins.defaults import default_plugins
from quarterdeck.server.admission.plugins.namespace_lifecycle import NamespaceLifecycle
from quarterdeck.server.admission.plugins.service_account import ServiceAccounts
from quarterdeck.server.admission.quota.plugin import ResourceQuotas
from quarterdeck.server.authentication.authenticator import Authenticator, authenticate
from quarterdeck.server.authentication.bearer_token import Tokens, with_accounts
from quarterdeck.server.authentication.plain_port import PlainPort
from quarterdeck.server.authentication.service_accounts.signing_key import SigningKey
from quarterdeck.server.authentication.service_accounts.tokens import AccountTokens
from quarterdeck.server.authentication.x509 import Certificates
from quarterdeck.server.authorization.administrators import AdministratorsOnly
from quarterdeck.server.authorization.authorizer import Authorizer
from quarterdeck.server.bootstrap import bootstrap
from quarterdeck.server.core import Core
from quarterdeck.server.core.metrics import Metrics
from quarterdeck.server.core.timers import Timers
from quarterdeck.server.filters import cross_origin
from quarterdeck.server.filters.impersonation import impersonate
from quarterdeck.server.nonresource.health import Health
from quarterdeck.server.nonresource.router import NonResourceRouter
from quarterdeck.server.options import ServerOptions
from quarterdeck.server.registry.registry import Registry
from quarterdeck.server.response import responses
from quarterdeck.server.response.frames import FrameCache
from quarterdeck.server.write.field_managers import FieldManagers
from quarterdeck.storage import StorageError, Store
from quarterdeck.storage.errors import Closed, CommitFailed, DiskFull, Overloaded
from quarterdeck.wire import path as paths
from quarterdeck.wire.status import (
    ApiError,
    InsufficientStorage,
    InternalError,
    ServiceUnavailable,
    TooManyRequests,
)

if TYPE_CHECKING:
    from quarterdeck.server.lifecycle import Lifecycle

_NO_RESOURCE = ("", "", "", "", "")


class ApiServer:
    """Answers the requests of the Kubernetes API from a store.

    Call `start` once before the first request and `run` as a task for as long as it serves.
    """

    def __init__(
        self,
        store: Store,
        options: ServerOptions | None = None,
        *,
        clock: Clock | None = None,
        rng: random.Random | None = None,
        registry: Registry | None = None,
        authenticators: Sequence[Authenticator] | None = None,
        authorizer: Authorizer | None = None,
        plugins: Sequence[Plugin] = (),
    ) -> None:
        clock = clock or SystemClock()
        rng = rng or random.Random()
        options = options or ServerOptions()
        accounts = AccountTokens(store, SigningKey(options.signing_key), clock=clock, rng=rng)
        if authenticators is None:
            authenticators = (
                Certificates(),
                Tokens(),
                PlainPort(),
            )
        own = [
            plugin
            for plugin in default_plugins(store, rng)
            if options.service_accounts or not isinstance(plugin, ServiceAccounts)
        ]
        self.core = Core(
            store=store,
            registry=registry or Registry(),
            options=options,
            clock=clock,
            random=rng,
            timers=Timers(clock),
            authenticators=with_accounts(authenticators, accounts),
            accounts=accounts,
            authorizer=authorizer or AdministratorsOnly(),
            admission=Admission((NamespaceLifecycle(store), *own, *plugins, ResourceQuotas(store))),
            metrics=Metrics(),
            frames=FrameCache(),
            field_managers=FieldManagers(),
            streams=set(),
        )
        self.lifecycle: Lifecycle | None = None
        """What happens by itself; there once the server has started, unless switched off."""
        self._is_ready = False
        self._is_stopping = False
        health = Health(
            {"ping": lambda: None, "storage": self._check_storage, "start": self._check_start},
            only_ready=frozenset({"start"}),
        )
        self._nonresource = NonResourceRouter(self.core, health, self._metrics_text)

    async def start(self) -> None:
        """Register what is served and make the objects every cluster has."""
        await bootstrap(self.core)
        if self.core.options.lifecycle:
            from quarterdeck.server.lifecycle import Lifecycle

            self.lifecycle = Lifecycle(self.core)
        self._is_ready = True

    async def run(self) -> None:
        """Keep deadlines, and do what a cluster does by itself, until cancelled."""
        async with asyncio.TaskGroup() as group:
            group.create_task(self.core.timers.run(), name="server-timers")
            if self.lifecycle is not None:
                group.create_task(self.lifecycle.run(), name="server-lifecycle")

    def stop(self) -> None:
        """End all watches cleanly and refuse new ones; requests that run are not touched."""
        self._is_stopping = True
        self._is_ready = False
        for stream in tuple(self.core.streams):
            stream.close()

    async def handle(self, request: http.Request) -> responses.Answer:
        """Answer one request; never raises what a client could cause."""
        started = self.core.clock.monotonic()
        verb, resource = request.method.lower(), _NO_RESOURCE
        try:
            path = paths.parse(request.path)
            if path is not None:
                resource = (path.group, path.version, path.resource, path.subresource, "")
            response, verb = await self._answer(request, path)
        except ApiError as error:
            response = responses.failure(error)
        except StorageError as error:
            response = responses.failure(_translated(error))
        except (http.HttpError, asyncio.CancelledError):
            raise
        except Exception as error:
            self._report(request, error)
            response = responses.failure(InternalError.of("the server failed; see its log"))
        duration = self.core.clock.monotonic() - started
        self.core.metrics.observe((verb, *resource), response.status, duration)
        return response

    async def _answer(
        self, request: http.Request, path: paths.ResourcePath | None
    ) -> tuple[responses.Answer, str]:
        core = self.core
        if not request.peer.secure:
            cross_origin.check(request)
        user = authenticate(request, core.authenticators)
        user = impersonate(request, user, core.authorizer)
        if path is not None:
            resource = router.find_resource(core, path)
            if resource is not None:
                return await router.answer(core, request, path, user=user, resource=resource)
        return self._nonresource.handle(request, user), request.method.lower()

    def _metrics_text(self) -> bytes:
        store = self.core.store.statistics()
        return self.core.metrics.text(
            {
                "apiserver_longrunning_requests": ("Open watches.", len(self.core.streams)),
                "apiserver_terminated_watchers_total": (
                    "Watches ended because the client was too slow.",
                    store.watchers_dropped,
                ),
                "apiserver_storage_watchers": ("Watchers of the store.", store.watchers),
                "apiserver_storage_revision": ("The newest revision.", store.revision),
                "apiserver_storage_writes_waiting": (
                    "Writes that wait for the disk.",
                    store.writes_waiting,
                ),
            }
        )

    def _check_storage(self) -> str | None:
        try:
            self.core.store.snapshot()
        except StorageError as error:
            return str(error)
        return None

    def _check_start(self) -> str | None:
        if self._is_stopping:
            return "the server is shutting down"
        return None if self._is_ready else "the server is starting"

    def _report(self, request: http.Request, error: Exception) -> None:
        """Tell the owner of the loop; the client gets no more than that it happened."""
        message = f"{request.method} {request.path} failed"
        context = {"message": message, "exception": error}
        asyncio.get_running_loop().call_exception_handler(context)


def _translated(error: StorageError) -> ApiError:
    match error:
        case DiskFull():
            return InsufficientStorage("the disk is full; nothing was written")
        case Overloaded():
            return TooManyRequests("too many writes wait for the disk", retry_after_s=1)
        case Closed():
            return ServiceUnavailable("the server is shutting down")
        case CommitFailed():
            return InternalError.of("the disk refused the write; nothing was written")
        case _:
            return InternalError.of(str(error))
