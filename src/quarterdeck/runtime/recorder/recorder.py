"""The event recorder: queues events without waiting, correlates them, writes them in order.

A bounded queue and one writer: when the API server is slow, new events are dropped and counted,
and no reconcile ever waits for an event.
"""

import asyncio
import random
import re
from collections import deque
from datetime import datetime, timedelta
from typing import Any, Literal

import msgspec

from quarterdeck.client.errors import ClientError
from quarterdeck.client.interfaces import PatchType, Writer
from quarterdeck.kit import rfc3339
from quarterdeck.kit.clock import Clock
from quarterdeck.kit.redaction import redact
from quarterdeck.meta.objects import Object
from quarterdeck.runtime.observability.logging import Logger
from quarterdeck.runtime.recorder.correlator import (
    Correlator,
    EventRecord,
    Send,
    SeriesSend,
    SeriesTracker,
)
from quarterdeck.wire.path import ResourcePath
from quarterdeck.wire.query import CreateOptions, PatchOptions
from quarterdeck.wire.status import ApiError, NotFound

EventApi = Literal["v1", "events.k8s.io/v1"]

_QUEUE = 1000
_TRIES = 12
_TRY_EVERY_S = 10.0
_TICK_S = 60.0
_NAME = re.compile(r"[a-z0-9]([-a-z0-9.]*[a-z0-9])?")
_MAX_MESSAGE_BYTES = 1024
"""The limit of `note` in events.k8s.io."""


class EventRecorder:
    """Records events about objects as one component."""

    def __init__(
        self,
        api: Writer,
        *,
        component: str,
        instance: str,
        clock: Clock,
        rng: random.Random,
        log: Logger,
        event_api: EventApi = "v1",
    ) -> None:
        self._api = api
        self._component = component
        self._instance = instance
        self._clock = clock
        self._random = rng
        self._log = log
        self._event_api = event_api
        self._correlator = Correlator(self._generate_name, rng)
        self._series = SeriesTracker(self._generate_name)
        self._queue: deque[EventRecord] = deque()
        self._arrived = asyncio.Event()
        self._writing = asyncio.Lock()
        self.dropped = 0
        self.sent = 0

    def record(
        self, regarding: Object, *, type_: str, reason: str, message: str, action: str = ""
    ) -> None:
        """Queue an event; it is dropped when the queue is full."""
        if type_ not in ("Normal", "Warning"):
            raise ValueError(f"event type must be Normal or Warning, got {type_!r}")
        if len(self._queue) >= _QUEUE:
            self.dropped += 1
            return
        metadata = regarding.metadata
        self._queue.append(
            EventRecord(
                regarding.KIND.api_version,
                regarding.KIND.kind,
                metadata.namespace,
                metadata.name,
                metadata.uid,
                type_,
                reason,
                _cut(redact(message)),
                action,
                metadata.resource_version,
            )
        )
        self._arrived.set()

    async def run(self) -> None:
        """Write events until cancelled."""
        while True:
            await self._arrived.wait()
            self._arrived.clear()
            await self.flush()

    async def run_series(self) -> None:
        """Write updates of series that are due, until cancelled."""
        while True:
            await self._clock.sleep(_TICK_S)
            for send in self._series.tick(self._clock.monotonic()):
                await self._deliver(self._patch_series, send)

    async def flush(self) -> None:
        """Write everything recorded so far, and wait for the event that is being written."""
        async with self._writing:
            while self._queue:
                await self._write(self._queue.popleft())

    async def _write(self, record: EventRecord) -> None:
        now = self._clock.monotonic()
        if self._event_api == "v1":
            send = self._correlator.correlate(record, now)
            if send is not None:
                await self._deliver(self._send_core, record, send)
        else:
            series = self._series.observe(record, now)
            if series is not None:
                await self._deliver(self._send_series, series)

    async def _deliver(self, send: Any, *arguments: Any) -> None:
        """Retry what got no answer; drop what the server refused."""
        for attempt in range(_TRIES):
            try:
                await send(*arguments)
                self.sent += 1
                return
            except ApiError as error:
                self._log.debug("event rejected by the server", reason=error.message)
                return
            except (ClientError, OSError) as error:
                self._log.debug("event not delivered; trying again", reason=str(error))
                first = attempt == 0
                pause_s = _TRY_EVERY_S * (self._random.random() if first else 1.0)
                await self._clock.sleep(pause_s)
        self.dropped += 1

    # --- core/v1

    async def _send_core(self, record: EventRecord, send: Send) -> None:
        path = _build_path("", record, send.name)
        last = rfc3339.format_time(self._clock.now())
        if send.is_update:
            patch = {"count": send.times, "message": send.message, "lastTimestamp": last}
            try:
                await self._patch(path, patch)
                return
            except NotFound:
                pass  # it has expired: create it again
        first = rfc3339.format_time(self._to_wall_time(send.first_at))
        await self._create(
            path,
            {
                "apiVersion": "v1",
                "kind": "Event",
                "metadata": {"name": send.name, "namespace": path.namespace},
                "involvedObject": _build_reference(record),
                "reason": record.reason,
                "message": send.message,
                "source": {"component": self._component},
                "firstTimestamp": first,
                "lastTimestamp": last,
                "count": send.times,
                "type": record.type,
                "action": record.action,
                "reportingComponent": self._component,
                "reportingInstance": self._instance,
            },
        )

    # --- events.k8s.io/v1

    async def _send_series(self, send: SeriesSend) -> None:
        if send.times > 1:
            await self._patch_series(send)
            return
        record = send.record
        path = _build_path("events.k8s.io", record, send.name)
        await self._create(
            path,
            {
                "apiVersion": "events.k8s.io/v1",
                "kind": "Event",
                "metadata": {"name": send.name, "namespace": path.namespace},
                "eventTime": rfc3339.format_micro(self._to_wall_time(send.first_at)),
                "reportingController": self._component,
                "reportingInstance": self._instance,
                "action": record.action or "Reconcile",
                "reason": record.reason,
                "regarding": _build_reference(record),
                "note": record.message,
                "type": record.type,
            },
        )

    async def _patch_series(self, send: SeriesSend) -> None:
        last = rfc3339.format_micro(self._to_wall_time(send.last_at))
        patch = {"series": {"count": send.times, "lastObservedTime": last}}
        await self._patch(_build_path("events.k8s.io", send.record, send.name), patch)

    # --- both

    async def _create(self, path: ResourcePath, body: dict[str, Any]) -> None:
        collection = path._replace(name="")
        await self._api.create(collection, msgspec.json.encode(body), CreateOptions())

    async def _patch(self, path: ResourcePath, patch: dict[str, Any]) -> None:
        body = msgspec.json.encode(patch)
        await self._api.patch(path, body, PatchType.STRATEGIC, PatchOptions())

    def _generate_name(self, record: EventRecord) -> str:
        suffix = f"{self._random.getrandbits(64):016x}"
        name = f"{record.name}.{suffix}"
        return name if len(name) <= 253 and _NAME.fullmatch(name) else f"event-{suffix}"

    def _to_wall_time(self, monotonic: float) -> datetime:
        ago = self._clock.monotonic() - monotonic
        return self._clock.now() - timedelta(seconds=ago)


def _cut(message: str) -> str:
    """Cut a message at the limit; halves of surrogate pairs, which JSON cannot hold, become `?`."""
    return message.encode(errors="replace")[:_MAX_MESSAGE_BYTES].decode(errors="ignore")


def _build_path(group: str, record: EventRecord, name: str) -> ResourcePath:
    return ResourcePath(group, "v1", "events", record.namespace or "default", name)


def _build_reference(record: EventRecord) -> dict[str, str]:
    reference = {
        "apiVersion": record.api_version,
        "kind": record.kind,
        "namespace": record.namespace,
        "name": record.name,
        "uid": record.uid,
        "resourceVersion": record.resource_version,
    }
    return {name: value for name, value in reference.items() if value}


class DiscardingRecorder:
    """An event sink that drops everything, for tests and for operators that want none."""

    def record(
        self, regarding: Object, *, type_: str, reason: str, message: str, action: str = ""
    ) -> None:
        """Drop it."""
