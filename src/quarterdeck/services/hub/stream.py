"""Server-sent events: changes of clusters, registries and MetricSources.

Events say that something changed; the new state is read from the other endpoints. Policies are
evaluated for every event, so a viewer whose access is revoked gets no more events. At every
heartbeat the viewer is authenticated again: a stream ends when its token is no longer valid.
"""

import asyncio
import contextlib
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable
from typing import Any

from quarterdeck.hubstate import keys
from quarterdeck.hubstate.errors import HubStateError
from quarterdeck.hubstate.ports import Message, StateStore
from quarterdeck.inventory.access.viewer import Viewer
from quarterdeck.kit import json
from quarterdeck.kit.clock import Clock
from quarterdeck.kit.http import BodyWriter, ConnectionClosed, Request, StreamResponse
from quarterdeck.kit.tasks import Supervisor
from quarterdeck.services.hub import views
from quarterdeck.services.hub.catalog import Catalog
from quarterdeck.services.hub.reading import HubReader, decode

HEARTBEAT_S = 15.0
CHANNELS = (keys.CLUSTER_EVENTS, keys.SOURCE_EVENTS, keys.POLICY_CHANGES)
CHANGED = "cluster.changed"
"""Sent in place of an event that policies hide, so that pages read the cluster again."""
_HEADERS = [("Content-Type", "text/event-stream"), ("Cache-Control", "no-store")]
_RETRY = b"retry: 2000\n\n"
_HEARTBEAT = b": heartbeat\n\n"

Look = Callable[[], Awaitable[Viewer]]
"""Returns the viewer with the current policies."""
IsValid = Callable[[], Awaitable[bool]]
"""Returns whether the credentials of the viewer are still valid."""
Labels = dict[str, dict[str, str]]
"""The labels of all clusters by name, as a listener last saw them."""


class Streams:
    """Serves the store's channels to listeners."""

    def __init__(
        self,
        state: StateStore,
        reader: HubReader,
        catalog: Catalog,
        *,
        clock: Clock,
        heartbeat_s: float = HEARTBEAT_S,
    ) -> None:
        self._state = state
        self._reader = reader
        self._catalog = catalog
        self._clock = clock
        self._heartbeat_s = heartbeat_s

    def open(
        self,
        request: Request,
        look: Look,
        *,
        is_valid: IsValid,
        count: Callable[[int], None] = lambda _: None,
    ) -> StreamResponse:
        """Open the stream of one request; `count` is called when a listener joins or leaves."""

        async def run(writer: BodyWriter) -> None:
            count(1)
            try:
                with contextlib.suppress(ConnectionClosed, HubStateError):
                    async with self._state.subscribe(*CHANNELS) as messages:
                        await self._run(request, writer, messages, look=look, is_valid=is_valid)
            finally:
                count(-1)

        return StreamResponse(200, list(_HEADERS), run)

    async def _run(
        self,
        request: Request,
        writer: BodyWriter,
        messages: AsyncIterator[Message],
        *,
        look: Look,
        is_valid: IsValid,
    ) -> None:
        labels = await self._reader.get_labels(await self._reader.list_clusters())
        await writer.write(_RETRY)
        over = asyncio.Event()
        async with Supervisor("hub-listener") as tasks:
            tasks.spawn(_set_after(request.wait_disconnect(), over), name="listener-peer")
            tasks.spawn(_set_after(writer.closing.wait(), over), name="listener-closing")
            tasks.spawn(self._send_heartbeats(writer, is_valid, over), name="listener-heartbeat")
            events = self._list_events(messages, look, labels)
            tasks.spawn(_send_events(writer, events, over), name="listener-events")
            await over.wait()

    async def _send_heartbeats(
        self, writer: BodyWriter, is_valid: IsValid, over: asyncio.Event
    ) -> None:
        with contextlib.suppress(ConnectionClosed, HubStateError):
            await self._clock.sleep(self._heartbeat_s)
            while await is_valid():
                await writer.write(_HEARTBEAT)
                await self._clock.sleep(self._heartbeat_s)
        over.set()

    async def _list_events(
        self, messages: AsyncIterator[Message], look: Look, labels: Labels
    ) -> AsyncGenerator[tuple[str, bytes], None]:
        """Type and data of each event that the viewer may see."""
        async for message in messages:
            shown = await self._show(message, await look(), labels)
            if shown is not None:
                yield shown

    async def _show(
        self, message: Message, viewer: Viewer, labels: Labels
    ) -> tuple[str, bytes] | None:
        """Type and data of an event for a viewer; None if the viewer may not see it."""
        body = decode(message.data)
        if not isinstance(body, dict):
            return None
        type_ = "".join(each for each in str(body.get("type", "")) if each.isprintable())
        match message.channel:
            case keys.POLICY_CHANGES:
                return "policies.changed", b"{}"  # which ones is in /auth/policies
            case keys.SOURCE_EVENTS:
                return await self._show_source(type_, body, viewer)
            case _ if type_.startswith("registry."):
                return (type_, json.encode(body)) if _may_see_any(viewer, labels) else None
            case _:
                return await self._show_cluster(type_, body, viewer, labels)

    async def _show_cluster(
        self, type_: str, body: dict[str, Any], viewer: Viewer, labels: Labels
    ) -> tuple[str, bytes] | None:
        """Show an event of a cluster; that of its deletion by the labels that it had."""
        name = str(body.get("cluster", ""))
        found = await self._reader.get_cluster_labels(name)
        if found is not None:
            labels[name] = found
        elif (found := labels.pop(name, None)) is None and not viewer.principal.is_master:
            return None
        access = viewer.decide_cluster(name, found or {})
        if not access.is_visible or views.tells_hidden_alerts(type_, access):
            return None
        if not views.allows_event(type_, access):
            type_, body = CHANGED, {"type": CHANGED, "cluster": name}
        return type_, json.encode(body)

    async def _show_source(
        self, type_: str, body: dict[str, Any], viewer: Viewer
    ) -> tuple[str, bytes] | None:
        """Show an event of a source without numbers, as these may count hidden objects."""
        identity = str(body.get("sourceId", ""))
        source = await self._catalog.find(identity) if "/" in identity else None
        if not viewer.principal.is_master and (source is None or not _names(viewer, source.type)):
            return None
        told = {"type": type_, "sourceId": identity, "timestamp": body.get("timestamp")}
        return f"metricsource.{type_}", json.encode(told)


async def _send_events(
    writer: BodyWriter, events: AsyncGenerator[tuple[str, bytes], None], over: asyncio.Event
) -> None:
    with contextlib.suppress(ConnectionClosed, HubStateError):
        async with contextlib.aclosing(events):
            async for type_, body in events:
                await writer.write(b"event: %s\ndata: %s\n\n" % (type_.encode(), body))
    over.set()


def _may_see_any(viewer: Viewer, labels: Labels) -> bool:
    """Whether a viewer may see any cluster, and therefore the registries."""
    return viewer.principal.is_master or any(
        viewer.decide_cluster(name, each).is_visible for name, each in labels.items()
    )


def _names(viewer: Viewer, type_: str) -> bool:
    """Whether a policy that allows something lists a type."""
    return any(
        type_ in rule.filters and not rule.filters[type_].is_hidden
        for program in viewer.policies
        if program.policy.effect == "Allow" and program.find_reason_to_skip(viewer.now) is None
        for rule in program.rules
    )


async def _set_after(work: Awaitable[object], event: asyncio.Event) -> None:
    await work
    event.set()
