"""The servers in use: one client, one limiter and one view for each, made when first needed.

The server of a pipeline: the connection it names, else the default of its namespace, else the
environment. Credentials are read again when the Secret changes; limiter and view are kept, because
the server keeps its limits and pipelines when a token rotates.
"""

import asyncio
from collections.abc import Callable
from typing import Any

from quarterdeck.apis.fleetmanagement.v1alpha1 import FleetConnection
from quarterdeck.kit import http
from quarterdeck.kit.clock import Clock
from quarterdeck.meta.identity import Key
from quarterdeck.operators.pipelines.address import (
    DEFAULT,
    VARIABLES,
    Address,
    InvalidAddress,
    build_address,
)
from quarterdeck.operators.pipelines.conditions import Reason
from quarterdeck.operators.pipelines.drivers.connect import ConnectClient
from quarterdeck.operators.pipelines.drivers.http_client import create_http_client
from quarterdeck.operators.pipelines.drivers.limiter import Limiter
from quarterdeck.operators.pipelines.fleet_server import Fleet
from quarterdeck.operators.pipelines.metrics import FleetMetrics
from quarterdeck.operators.pipelines.references import SecretHead, read_secret_values
from quarterdeck.operators.pipelines.view import View
from quarterdeck.runtime import Context, Stalled, Waiting

MakeClient = Callable[[Address], http.Client]
UNUSABLE_RETRY_S = 300.0
"""Retry interval of a deletion whose connection cannot be used."""


class Fleets:
    """Every server in use."""

    def __init__(
        self,
        *,
        clock: Clock,
        metrics: FleetMetrics,
        default: Address | None = None,
        make_client: MakeClient | None = None,
    ) -> None:
        self._clock = clock
        self.metrics = metrics
        self._make_client = make_client or create_http_client
        self._limiters: dict[tuple[str, str], Limiter] = {}
        self._views: dict[tuple[str, str], View] = {}
        self._fleets: dict[str, tuple[tuple[Any, ...], Fleet]] = {}
        self._turns: dict[str, asyncio.Lock] = {}
        self.default = self._make(default) if default is not None else None

    async def get_fleet(self, obj: Any, ctx: Context[Any]) -> Fleet:
        """The server of an object, which names a connection or uses its namespace's default.

        Raises:
            Stalled: if there is none, or its connection cannot be used as it is.
        """
        connection = await self.find_connection(obj, ctx)
        if connection is not None:
            return await self.open(connection, ctx)
        if self.default is None:
            raise Stalled(
                Reason.NO_CONNECTION,
                "no fleet server is configured: create a FleetConnection with default: true in "
                "this namespace, set spec.connectionRef, or start the operator with "
                f"{', '.join(VARIABLES)}",
            )
        return self.default

    async def find_connection(self, obj: Any, ctx: Context[Any]) -> FleetConnection | None:
        """The FleetConnection an object uses; None for that of the environment.

        Raises:
            Stalled: if it names one that is not there, or the namespace has two defaults.
        """
        namespace, reference = obj.metadata.namespace, obj.spec.connection_ref
        if reference is not None and reference.name:
            found = await ctx.find(FleetConnection, reference.name)
            if found is None:
                raise Stalled(
                    Reason.NO_CONNECTION,
                    f"spec.connectionRef: FleetConnection {namespace}/{reference.name} not found",
                )
            return found
        listed = await ctx.list(FleetConnection, namespace=namespace)
        defaults = sorted((c for c in listed if c.spec.default), key=lambda c: c.metadata.name)
        if len(defaults) > 1:
            names = ", ".join(each.metadata.name for each in defaults)
            raise Stalled(
                Reason.NO_CONNECTION,
                f"namespace {namespace} has several default FleetConnections: {names}; "
                "keep one, or set spec.connectionRef",
            )
        return defaults[0] if defaults else None

    async def open(self, connection: FleetConnection, ctx: Context[Any]) -> Fleet:
        """The server of a FleetConnection; a new client if the connection or its Secret changed.

        Raises:
            Stalled: if the connection is invalid; its change enqueues the objects that use it.
        """
        name = str(connection.key)
        async with self._turns.setdefault(name, asyncio.Lock()):
            version = await self._read_version(connection, ctx)
            known = self._fleets.get(name)
            if known is not None and known[0] == version:
                return known[1]
            try:
                address = build_address(connection, await self._read_secret(connection, ctx))
                fleet = self._make(address)
            except InvalidAddress as error:
                raise Stalled(
                    Reason.CONNECTION_INVALID, f"FleetConnection {name}: {error}"
                ) from error
            self._fleets[name] = (version, fleet)
        if known is not None:
            await _close(known[1])
        return fleet

    async def find_last_known(self, obj: Any, ctx: Context[Any]) -> Fleet | None:
        """The server an object was sent to, also if its connection is being deleted or is gone.

        When a namespace is deleted, the Secret may go first; the existing client still works.
        """
        try:
            return await self.get_fleet(obj, ctx)
        except Stalled:
            return self.find_by_name(obj.status.connection)

    async def find_sent_to(self, obj: Any, ctx: Context[Any]) -> Fleet | None:
        """The server of `status.connection`, where a deletion has to clean up; None if unknown.

        If that connection is gone, the object's current server may be another one, where the same
        ids and sources belong to others.

        Raises:
            Waiting: if the connection exists, and cannot be used now.
        """
        if not obj.status.connection:
            return await self.find_last_known(obj, ctx)
        try:
            return await self.find_named(obj.status.connection, ctx)
        except Stalled as error:
            text = f"cannot clean up: {error.message}"
            raise Waiting(error.reason, text, after_s=UNUSABLE_RETRY_S) from error

    async def find_named(self, name: str, ctx: Context[Any]) -> Fleet | None:
        """The server of a connection by its name in `status.connection`; None if it is gone.

        It is opened if this process has not used it yet.

        Raises:
            Stalled: if the connection exists, cannot be used, and was not used before.
        """
        namespace, _, short = name.rpartition("/")
        connection = await ctx.find(FleetConnection, short, namespace) if namespace else None
        known = self.find_by_name(name)
        if connection is None:
            return known
        try:
            return await self.open(connection, ctx)
        except Stalled:
            if known is None:
                raise
            return known  # the existing client may still work

    def find_by_name(self, name: str) -> Fleet | None:
        """The server of a connection by its name in `status.connection`."""
        if name == DEFAULT:
            return self.default
        return self._fleets[name][1] if name in self._fleets else None

    def list_names(self, tenant: tuple[str, str]) -> frozenset[str]:
        """The names of the connections to one tenant of a server, which share what was read."""
        return frozenset(each.name for each in self._list_all() if each.address.tenant == tenant)

    async def is_tenant_of(self, obj: Any, fleet: Fleet, ctx: Context[Any]) -> bool:
        """Whether an object uses the same tenant of a server; not if it can use none."""
        try:
            return (await self.get_fleet(obj, ctx)).address.tenant == fleet.address.tenant
        except Stalled:
            return False

    async def aclose(self) -> None:
        """Close every client."""
        for fleet in self._list_all():
            await _close(fleet)

    def _list_all(self) -> list[Fleet]:
        fleets = [fleet for _, fleet in self._fleets.values()]
        return [*fleets, self.default] if self.default is not None else fleets

    def _make(self, address: Address) -> Fleet:
        limiter = self._limiters.get(address.tenant)
        if limiter is None:
            limiter = self._limiters[address.tenant] = Limiter(
                address.rate, address.burst, clock=self._clock
            )
        limiter.configure(address.rate, address.burst)
        api = ConnectClient(
            address.url,
            username=address.username,
            password=address.password,
            client=self._make_client(address),
            limiter=limiter,
            clock=self._clock,
            timeout_s=address.timeout_s,
            metrics=self.metrics,
        )
        view = self._views.setdefault(address.tenant, View())
        return Fleet(address, api, view, limiter=limiter, clock=self._clock)

    async def _read_version(
        self, connection: FleetConnection, ctx: Context[Any]
    ) -> tuple[Any, ...]:
        """The version of a connection: changes with its spec and its Secret."""
        secret, reference = "", connection.spec.secret_ref
        if reference is not None:
            head = await ctx.find(SecretHead, reference.name, connection.metadata.namespace)
            secret = f"{head.metadata.uid}/{head.metadata.resource_version}" if head else "absent"
        return (connection.metadata.uid, connection.metadata.generation, secret)

    async def _read_secret(
        self, connection: FleetConnection, ctx: Context[Any]
    ) -> dict[str, bytes] | None:
        reference = connection.spec.secret_ref
        if reference is None:
            return {}
        try:
            return await read_secret_values(Key(connection.metadata.namespace, reference.name), ctx)
        except ValueError as error:  # a value that is not base64
            raise InvalidAddress(f"Secret {reference.name!r}: {error}") from error


async def _close(fleet: Fleet) -> None:
    if isinstance(fleet.api, ConnectClient):
        await fleet.api.aclose()
