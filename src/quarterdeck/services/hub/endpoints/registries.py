"""Endpoints of registries, and of the health of the hub itself."""

import asyncio
from typing import Any

import msgspec

from quarterdeck.hubstate.errors import HubStateError
from quarterdeck.hubstate.ports import StateStore
from quarterdeck.services.hub.call import Call, Page
from quarterdeck.services.hub.paging import Paging, slice_page
from quarterdeck.services.hub.reading import HubReader

PING_S = 2.0


class Health(msgspec.Struct, frozen=True, kw_only=True):
    """The result of a health check."""

    status: str
    error: str | msgspec.UnsetType = msgspec.UNSET


class NotReady(Exception):
    """Raised when the store does not answer."""


class RegistryItem(msgspec.Struct, frozen=True, kw_only=True):
    """A registry."""

    name: str
    spec: dict[str, Any] | None
    status: dict[str, Any] | None


class HealthEndpoints:
    """Endpoints /healthz and /readyz."""

    def __init__(self, state: StateStore) -> None:
        self._state = state

    async def healthz(self, _: Call) -> Health:
        """Liveness: always ok."""
        return Health(status="ok")

    async def readyz(self, _: Call) -> Health:
        """Readiness: ok if the store answers.

        Raises:
            NotReady: if the store does not answer.
        """
        try:
            async with asyncio.timeout(PING_S):
                await self._state.ping()
        except (HubStateError, TimeoutError) as error:
            raise NotReady from error
        return Health(status="ready")


class RegistryEndpoints:
    """Endpoint /registries/status."""

    def __init__(self, reader: HubReader) -> None:
        self._reader = reader

    async def status(self, call: Call) -> Page:
        """Registries, without names of Secrets; empty for viewers who may see no cluster."""
        viewer = call.viewer
        names = await self._reader.list_clusters()
        labels = await self._reader.get_labels(names)
        if not viewer.principal.is_master and not any(
            viewer.decide_cluster(name, labels[name]).is_visible for name in names
        ):
            return slice_page([], call.parameters(Paging))
        found = await self._reader.list_registries()
        items = [
            RegistryItem(
                name=each["name"],
                spec=_drop_credentials(each["spec"]),
                status=_to_mapping(each["status"]),
            )
            for each in found
        ]
        return slice_page(items, call.parameters(Paging))


def _drop_credentials(spec: Any) -> dict[str, Any] | None:
    if not isinstance(spec, dict):
        return None
    return {name: value for name, value in spec.items() if name != "credentials_ref"}


def _to_mapping(value: Any) -> dict[str, Any] | None:
    return value if isinstance(value, dict) else None
