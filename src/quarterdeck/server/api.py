"""The API server: one object that answers requests.

It owns no socket and no process: `app` binds `handle` to listeners, and keeps `run` running.
"""

import asyncio
import contextlib
import random
from collections.abc import Awaitable, Sequence
from typing import TYPE_CHECKING

from quarterdeck.kit import http
from quarterdeck.kit.clock import Clock
from quarterdeck.server import dispatch, router
from quarterdeck.server.admission.plugin import Plugin
from quarterdeck.server.assembly import Overrides, assemble
from quarterdeck.server.authentication.authenticator import Authenticator, NotReady, authenticate
from quarterdeck.server.authentication.refusal import CredentialsRefused, RefusalLog
from quarterdeck.server.authentication.user import ANONYMOUS_USER, MASTERS_GROUP, User
from quarterdeck.server.authorization.authorizer import Authorizer
from quarterdeck.server.bootstrap import bootstrap
from quarterdeck.server.core.metrics import NON_RESOURCE, UNRESOLVED
from quarterdeck.server.filters import audit_id as audit_id_filter
from quarterdeck.server.filters import cross_origin
from quarterdeck.server.filters.impersonation import HeaderError, impersonate
from quarterdeck.server.nonresource.health import Health
from quarterdeck.server.nonresource.router import NonResourceRouter
from quarterdeck.server.options import ServerOptions
from quarterdeck.server.registry.registry import Registry
from quarterdeck.server.response import responses
from quarterdeck.server.routes import Route, RouteCache
from quarterdeck.server.system_objects.kubernetes_service import publish_address
from quarterdeck.storage import StorageError, Store
from quarterdeck.storage.errors import Closed, CommitFailed, DiskFull, Overloaded
from quarterdeck.wire.status import (
    ApiError,
    BadRequest,
    InsufficientStorage,
    InternalError,
    RequestEntityTooLarge,
    ServiceUnavailable,
    TooManyRequests,
    Unauthorized,
)

if TYPE_CHECKING:
    from quarterdeck.server.audit.auditor import Auditor, Record
    from quarterdeck.server.lifecycle import Lifecycle

_READ_METHODS = ("GET", "HEAD")
_UNKNOWN_USER = User(name="")
"""The user in the audit log of a request with invalid credentials."""


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
        parts = assemble(
            store,
            options or ServerOptions(),
            Overrides(
                clock=clock,
                rng=rng,
                registry=registry,
                authenticators=authenticators,
                authorizer=authorizer,
                plugins=plugins,
            ),
        )
        self.core = parts.core
        self._roles = parts.roles
        self._admission = parts.admission
        self._auditor = parts.auditor
        self._routes = RouteCache(self.core.registry)
        self._refusals = RefusalLog(self.core.clock)
        self._audit_ids = audit_id_filter.AuditIds(self.core.random)
        self.webhook_services = self._admission.caller.services
        """The addresses of the Services of webhooks; may be changed while the server runs."""
        self.fairness = parts.fairness
        """Bounds the requests that run at once."""
        self.lifecycle: Lifecycle | None = None
        """The controllers of the server; set by `start` unless `options.lifecycle` is off."""
        self._is_ready = False
        self._is_stopping = False
        health = Health(
            {"ping": lambda: None, "storage": self._check_storage, "start": self._check_start},
            only_ready=frozenset({"start"}),
        )
        self._nonresource = NonResourceRouter(self.core, health)

    async def start(self) -> None:
        """Register the resources and create the objects every cluster has."""
        await bootstrap(self.core)
        self._roles.start()
        self._admission.start()
        if self.core.options.lifecycle:
            from quarterdeck.server.lifecycle import Lifecycle

            self.lifecycle = Lifecycle(self.core)
        self._is_ready = True

    async def publish_address(self, host: str, port: int) -> None:
        """Write the address of this server to the endpoints of the Service `kubernetes`."""
        if self.core.options.has_system_objects:
            await publish_address(self.core, host, port)

    async def run(self) -> None:
        """Run timers and life cycle until cancelled, then close the audit log and connections."""
        try:
            async with asyncio.TaskGroup() as group:
                group.create_task(self.core.timers.run(), name="server-timers")
                if self.lifecycle is not None:
                    group.create_task(self.lifecycle.run(), name="server-lifecycle")
        finally:
            if self._auditor is not None:
                self._auditor.close()
            self.core.worker.close()
            await self._admission.aclose()

    def stop(self) -> None:
        """End all watches cleanly and report not ready; running requests continue."""
        self._is_stopping = True
        self._is_ready = False
        for stream in tuple(self.core.streams):
            stream.close()

    async def handle(self, request: http.Request) -> responses.Response:
        """Answer one request; no error that a client can cause is raised."""
        audit_id = self._audit_ids.get(request)
        if self._auditor is None:
            response = await self._answer(request, {})
        else:
            response = await self._answer_audited(request, self._auditor, audit_id)
        response.headers = [(audit_id_filter.HEADER, audit_id), *response.headers]
        return response

    async def _answer_audited(
        self, request: http.Request, auditor: "Auditor", audit_id: str
    ) -> responses.Response:
        """Answer one request, and write the audit events that the policy requires."""
        try:
            caller = await self._find_caller(request)
        except ApiError:
            caller = _UNKNOWN_USER
        record = auditor.begin(request, caller, audit_id=audit_id)
        if record is None:
            return await self._answer(request, {})
        annotations: dict[str, str] = {}
        try:
            answer = await self._answer_recorded(request, auditor, record, caller, annotations)
        except BaseException:
            auditor.abandon(record, request.refusal or 500, annotations)
            raise
        await auditor.end(record, answer, annotations=annotations)
        return answer

    async def _answer_recorded(
        self,
        request: http.Request,
        auditor: "Auditor",
        record: "Record",
        caller: User,
        annotations: dict[str, str],
    ) -> responses.Response:
        """Answer a request whose end is written to the audit log by the caller."""
        core = self.core
        if record.needs_body:
            limit = core.options.max_body_bytes
            try:
                record.body = await request.read(limit)
            except http.BodyTooLarge:
                text = f"Request entity too large: limit is {limit}"
                return _refuse(request, RequestEntityTooLarge(text))
            request = http.Request.of(
                request.method,
                request.target,
                headers=request.headers.items(),
                body=record.body,
                peer=request.peer,
            )
        if caller is not _UNKNOWN_USER:
            with contextlib.suppress(ApiError, HeaderError):  # refused before it is authorized
                acting = impersonate(request, caller, core.authorizer)
                auditor.add_decision(record, acting, core.authorizer)
        return await self._answer(request, annotations)

    async def _answer(
        self, request: http.Request, annotations: dict[str, str]
    ) -> responses.Response:
        """Answer one request; `annotations` receives those of admission."""
        started = self.core.clock.monotonic()
        labels = UNRESOLVED
        try:
            user = self._authenticate_at_once(request) or await self._authenticate(request)
            route = router.resolve(self.core, request, user, routes=self._routes)
            if route is None:
                labels = NON_RESOURCE if request.method in _READ_METHODS else UNRESOLVED
                response: responses.Response = await self._nonresource.handle(request, user)
            else:
                labels = route.labels
                response = await self._run(request, route, user, annotations)
        except HeaderError as error:
            response = responses.build_plain_error(request, str(error))
        except ApiError as error:
            response = _refuse(request, error)
        except StorageError as error:
            response = _refuse(request, _translate_storage_error(error))
        except (http.HttpError, asyncio.CancelledError):
            raise
        except RecursionError:
            response = _refuse(request, BadRequest("the object is nested too deeply"))
        except Exception as error:
            self._report(request, error)
            response = _refuse(
                request,
                InternalError.of(
                    "internal error: the request failed unexpectedly; see the log of the server"
                ),
            )
        duration = self.core.clock.monotonic() - started
        self.core.metrics.observe(labels, response.status, duration)
        return response

    def _run(
        self, request: http.Request, route: Route, user: User, annotations: dict[str, str]
    ) -> Awaitable[responses.Response]:
        """Run the verb of a request; watches and `system:masters` are exempt from `fairness`."""
        if route.verb == "watch" or MASTERS_GROUP in user.groups:
            return dispatch.handle(
                self.core, request, route, user=user, audit_annotations=annotations
            )
        return self._run_in_turn(request, route, user, annotations)

    async def _run_in_turn(
        self, request: http.Request, route: Route, user: User, annotations: dict[str, str]
    ) -> responses.Response:
        async with self.fairness.admit(user):
            return await dispatch.handle(
                self.core, request, route, user=user, audit_annotations=annotations
            )

    def _authenticate_at_once(self, request: http.Request) -> User | None:
        """Authenticate a request without waiting; None if it is refused or needs a fetch first."""
        try:
            caller = self._check_caller(request)
        except CredentialsRefused:
            return None
        return impersonate(request, caller, self.core.authorizer)

    async def _authenticate(self, request: http.Request) -> User:
        """Find the user that a request acts as: the caller, or the one it impersonates."""
        try:
            caller = await self._find_caller(request)
        except CredentialsRefused as error:
            self._refusals.add(request, error)
            raise
        return impersonate(request, caller, self.core.authorizer)

    async def _find_caller(self, request: http.Request) -> User:
        """Authenticate the sender of a request; keys of a token issuer are fetched if needed."""
        try:
            return self._check_caller(request)
        except NotReady as error:
            await error.fetch()
            return self._check_caller(request)

    def _check_caller(self, request: http.Request) -> User:
        """Authenticate the sender of a request; refuses cross-origin requests to the plain port."""
        core = self.core
        if not request.peer.secure:
            cross_origin.check_same_origin(request)
        user = authenticate(request, core.authenticators)
        if user is ANONYMOUS_USER and not core.options.has_anonymous:
            raise Unauthorized
        return user

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
        """Report an unexpected error to the exception handler of the loop."""
        message = f"{request.method} {request.path} failed"
        context = {"message": message, "exception": error}
        asyncio.get_running_loop().call_exception_handler(context)


def _refuse(request: http.Request, error: ApiError) -> http.Response:
    return responses.build_error(error, accept=request.headers.get("accept"))


def _translate_storage_error(error: StorageError) -> ApiError:
    match error:
        case DiskFull():
            return InsufficientStorage(
                "cannot store the object: the disk is full; free space and try again"
            )
        case Overloaded():
            return TooManyRequests(
                "too many writes are waiting for the disk; try again later", retry_after_s=1
            )
        case Closed():
            return ServiceUnavailable("the server is shutting down")
        case CommitFailed():
            return InternalError.of(
                "cannot store the object: writing to disk failed; see the log of the server"
            )
        case _:
            return InternalError.of(str(error))
