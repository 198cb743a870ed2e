"""Tells what happens in the store, one line each, and never more than a person can read.

It hears of committed writes. Creation and deletion of our own kinds are told, Events about them,
and every warning; the rest is silent.
"""

import asyncio
from collections import deque
from collections.abc import Callable, Sequence
from typing import NamedTuple

import msgspec

from quarterdeck.kit.clock import Clock
from quarterdeck.storage import StoreEvent

EVENTS = "events"
_PER_SECOND = 25
_PAUSE_S = 1.0


class Line(NamedTuple):
    """Something worth telling."""

    text: str
    is_warning: bool = False


Tell = Callable[[str, bool], None]
"""Shows a line; the second argument says whether it is a warning."""


class _Reference(msgspec.Struct, frozen=True, gc=False):
    kind: str = ""
    namespace: str = ""
    name: str = ""


class _Event(msgspec.Struct, frozen=True, rename="camel", gc=False):
    involved_object: _Reference = _Reference()
    reason: str = ""
    message: str = ""
    type: str = ""


_decode_event = msgspec.json.Decoder(_Event).decode


def line_for(event: StoreEvent, kinds: dict[str, str]) -> Line | None:
    """What one write means to people; `kinds` maps our resources to their kinds."""
    key = event.key
    if key.resource == EVENTS:
        return _tell_event(event.after.value, kinds) if event.after is not None else None
    kind = kinds.get(key.resource)
    if kind is None:
        return None
    where = f"{key.namespace}/{key.name}" if key.namespace else key.name
    if event.before is None:
        return Line(f"{kind} {where} created")
    if event.after is None:
        return Line(f"{kind} {where} deleted")
    return None


def _tell_event(value: bytes, kinds: dict[str, str]) -> Line | None:
    event = _decode_event(value)
    about = event.involved_object
    if event.type != "Warning" and about.kind not in kinds.values():
        return None
    where = f"{about.namespace}/{about.name}" if about.namespace else about.name
    text = f"{about.kind} {where} {event.reason}: {event.message}"
    return Line(text, is_warning=event.type == "Warning")


class Narrator:
    """Tells a stream of writes at a pace people can follow; what is too much is counted."""

    def __init__(self, *, kinds: dict[str, str], clock: Clock, tell: Tell) -> None:
        self._kinds = kinds
        self._clock = clock
        self._tell = tell
        self._times: deque[float] = deque(maxlen=_PER_SECOND)
        self._untold = 0
        self._is_behind = asyncio.Event()

    def hear(self, events: Sequence[StoreEvent]) -> None:
        """Tell some writes, or count them."""
        for event in events:
            line = line_for(event, self._kinds)
            if line is None:
                continue
            now = self._clock.monotonic()
            if len(self._times) == _PER_SECOND and now - self._times[0] < _PAUSE_S:
                self._untold += 1
                self._is_behind.set()
            else:
                self._times.append(now)
                self._say(line)

    async def run(self) -> None:
        """After a flood, say how much was left out; until cancelled."""
        while True:
            await self._is_behind.wait()
            await self._clock.sleep(_PAUSE_S)
            self._is_behind.clear()
            untold, self._untold = self._untold, 0
            self._say(Line(f"… and {untold} more"))

    def _say(self, line: Line) -> None:
        self._tell(f"  {self._clock.now():%H:%M:%S}  {line.text}", line.is_warning)
