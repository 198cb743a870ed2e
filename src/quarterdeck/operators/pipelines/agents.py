"""The collectors of a server, cached for some seconds and shared by all reconcilers.

A list of ten thousand collectors is ten megabytes, and the server allows a few calls a second, so
reconciles within some seconds share one response.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Generic, NamedTuple, TypeVar

from quarterdeck.kit.clock import Clock
from quarterdeck.operators.pipelines.ports import (
    CallFailed,
    CollectorState,
    Deliveries,
    FleetApi,
    PipelineDelivery,
    RemoteCollector,
)
from quarterdeck.telemetry.fleet.codes import Code

T = TypeVar("T")
LIST_AGE_S = 30.0
"""How old the list of collectors may be for a preview or a policy."""
REPORT_AGE_S = 5.0
"""How old reports of collectors may be; short, because rollouts wait for them."""
ABSENT_S = 600.0
"""How long a server is taken as one without reports of collectors before it is asked again."""
_ABSENT = (Code.UNIMPLEMENTED, Code.NOT_FOUND)


class _Shared(Generic[T]):
    """Caches the result of a call; concurrent readers wait for one call."""

    def __init__(self, read: Callable[[], Awaitable[T]], clock: Clock) -> None:
        self._read = read
        self._clock = clock
        self._turn = asyncio.Lock()
        self._found: tuple[float, T] | None = None
        self._changes = 0

    async def get(self, max_age_s: float) -> T:
        async with self._turn:
            now = self._clock.monotonic()
            if self._found is not None and now - self._found[0] < max_age_s:
                return self._found[1]
            changes = self._changes
            found = await self._read()
            is_current = changes == self._changes  # else it may be from before the change
            self._found = (now, found) if is_current else None
            return found

    def forget(self) -> None:
        """Drop the result, and that of a call under way."""
        self._found = None
        self._changes += 1


class _Listing(NamedTuple):
    """Every collector, in order and by its id."""

    collectors: Sequence[RemoteCollector]
    by_id: Mapping[str, RemoteCollector]


class Agents:
    """The collectors of one server, and what they report."""

    def __init__(self, api: FleetApi, clock: Clock) -> None:
        self._clock = clock
        self._has_reports = False
        self._absent_until = 0.0
        self._known: Deliveries | None = None
        self._compared: Mapping[str, PipelineDelivery] = {}
        """What the last `refresh` compared with; other reads do not report what they find."""
        self._api = api
        self._collectors: _Shared[_Listing] = _Shared(self._list, clock)
        self._deliveries: _Shared[Deliveries] = _Shared(lambda: api.get_deliveries(), clock)
        self._states: _Shared[Mapping[str, CollectorState]] = _Shared(
            lambda: api.get_collector_states(), clock
        )

    async def list(self, max_age_s: float = LIST_AGE_S) -> Sequence[RemoteCollector]:
        """Every collector.

        Raises:
            CallFailed, Paused: if the server cannot be read.
        """
        return (await self._collectors.get(max_age_s)).collectors

    async def find(self, identity: str) -> RemoteCollector | None:
        """One collector; None if it has not registered.

        Raises:
            CallFailed, Paused: if the server cannot be read.
        """
        return (await self._collectors.get(LIST_AGE_S)).by_id.get(identity)

    async def _list(self) -> _Listing:
        listed = await self._api.list_collectors()
        return _Listing(listed, {each.id: each for each in listed})

    def forget(self) -> None:
        """Drop the list after a change; the next call reads it again."""
        self._collectors.forget()

    async def get_deliveries(self, max_age_s: float = REPORT_AGE_S) -> Deliveries | None:
        """What collectors report about pipelines; None if the server does not support it."""
        found = await self._read_reports(self._deliveries, max_age_s)
        self._known = found if found is not None else self._known
        return found

    def get_known(self, identity: str) -> PipelineDelivery | None:
        """What was last read about one pipeline, without a call."""
        return self._known.pipelines.get(identity) if self._known is not None else None

    async def refresh(self) -> frozenset[str]:
        """Read the reports again; returns the ids of pipelines about which they changed."""
        found = await self.get_deliveries(0.0)
        after = found.pipelines if found is not None else {}
        before, self._compared = self._compared, after
        ids = before.keys() | after.keys()
        return frozenset(each for each in ids if before.get(each) != after.get(each))

    async def get_states(self, max_age_s: float = LIST_AGE_S) -> Mapping[str, CollectorState]:
        """The state that each collector reports; empty if the server does not support it."""
        return await self._read_reports(self._states, max_age_s) or {}

    async def _read_reports(self, shared: "_Shared[T]", max_age_s: float) -> T | None:
        if self._clock.monotonic() < self._absent_until:
            return None
        try:
            found = await shared.get(max_age_s)
        except CallFailed as error:
            if error.code not in _ABSENT or self._has_reports:
                raise  # the server served reports before: something else answered
            self._absent_until = self._clock.monotonic() + ABSENT_S
            return None
        self._has_reports = True
        return found
