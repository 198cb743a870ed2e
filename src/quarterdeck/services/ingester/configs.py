"""The configuration that every collector gets: the enabled MetricSources.

It is read again after a message of the store that a source was compiled or deleted, and
periodically, because messages can get lost.
"""

import asyncio
from collections.abc import AsyncIterator, Callable

import msgspec

from quarterdeck.hubstate import keys
from quarterdeck.hubstate.errors import HubStateError
from quarterdeck.hubstate.ports import Message, StateStore
from quarterdeck.hubstate.push.sources import hash_sources, read_sources
from quarterdeck.inventory.push.codec import encode_response
from quarterdeck.inventory.push.messages import ConfigUpdate, ConnectResponse
from quarterdeck.kit.clock import Clock
from quarterdeck.kit.deadline import run_within
from quarterdeck.runtime.observability.logging import get_logger

POLL_S = 30.0
_CHANGES = ("compiled", "deleted")
_log = get_logger("services.ingester.configs")


class _Notice(msgspec.Struct):
    type: str = ""


class Configs:
    """The current configuration, encoded once for all streams."""

    def __init__(self, state: StateStore, *, clock: Clock) -> None:
        self._state = state
        self._clock = clock
        self.version = ""
        """Changes with the configuration; empty until it was read."""
        self.message = b""
        self.intervals: dict[str, int] = {}
        """Seconds between two collections of each source, by its identity."""
        self.on_change: Callable[[], None] = lambda: None
        self._changed = asyncio.Event()

    async def wait_changed(self, version: str) -> str:
        """Wait until the configuration differs from a version; returns the new version."""
        while self.version in ("", version):
            await self._changed.wait()
        return self.version

    async def run(self) -> None:
        """Keep the configuration up to date, until cancelled."""
        while True:
            try:
                await self.refresh()
                async with self._state.subscribe(keys.SOURCE_EVENTS) as messages:
                    await self.refresh()  # what changed before the subscription began
                    await run_within(self._clock, POLL_S, self._follow(messages))
            except TimeoutError:
                continue
            except HubStateError as error:
                _log.warning("cannot read the configuration of collectors", reason=str(error))
                await self._clock.sleep(POLL_S / 6)

    async def refresh(self) -> None:
        """Read the configuration now.

        Raises:
            HubStateError: if the store cannot be asked.
        """
        sources = await read_sources(self._state)
        version = hash_sources(sources)
        if version == self.version:
            return
        self.intervals = dict(map(_read_interval, sources))
        update = ConfigUpdate(metric_sources_json=sources)
        self.version, self.message = version, encode_response(ConnectResponse(config=update))
        self.on_change()
        changed, self._changed = self._changed, asyncio.Event()
        changed.set()

    async def _follow(self, messages: AsyncIterator[Message]) -> None:
        async for message in messages:
            if _read_type(message.data) in _CHANGES:
                await self.refresh()


class _Collection(msgspec.Struct, frozen=True, rename="camel"):
    interval_seconds: int = 60


class _SourceSpec(msgspec.Struct, frozen=True):
    collection: _Collection = _Collection()


class _Source(msgspec.Struct, frozen=True):
    name: str = ""
    namespace: str = ""
    spec: _SourceSpec = _SourceSpec()


def _read_interval(document: bytes) -> tuple[str, int]:
    source = msgspec.json.decode(document, type=_Source)
    identity = keys.source_id(source.namespace, source.name)
    return identity, source.spec.collection.interval_seconds


def _read_type(data: bytes) -> str:
    try:
        return msgspec.json.decode(data, type=_Notice).type
    except msgspec.DecodeError:
        return ""
