"""Prints activity of the store, one line per write, at a readable rate.

It receives committed writes. It prints the creation and deletion of objects of our own kinds,
Events about them, and every Warning.
"""

import asyncio
from collections import deque
from collections.abc import Callable, Sequence
from typing import NamedTuple

import msgspec

from quarterdeck.kit.clock import Clock
from quarterdeck.kit.terminal import escape_controls
from quarterdeck.storage import StoreEvent

EVENTS = "events"
_LINES_PER_PERIOD = 25
_PERIOD_S = 1.0


class Line(NamedTuple):
    """One line of activity."""

    text: str
    is_warning: bool = False


PrintLine = Callable[[str, bool], None]
"""Prints a line; the second argument is true for a warning."""


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


def format_write(event: StoreEvent, kinds: dict[str, str]) -> Line | None:
    """The line for one write; None if it is not shown. `kinds` maps our resources to kinds."""
    key = event.key
    if key.resource == EVENTS:
        return _format_event(event.after.value, kinds) if event.after is not None else None
    kind = kinds.get(key.resource)
    if kind is None:
        return None
    where = f"{key.namespace}/{key.name}" if key.namespace else key.name
    if event.before is None:
        return Line(f"{kind} {where} created")
    if event.after is None:
        return Line(f"{kind} {where} deleted")
    return None


def _format_event(value: bytes, kinds: dict[str, str]) -> Line | None:
    event = _decode_event(value)
    about = event.involved_object
    if event.type != "Warning" and about.kind not in kinds.values():
        return None
    where = f"{about.namespace}/{about.name}" if about.namespace else about.name
    text = f"{about.kind} {where} {event.reason}: {event.message}"
    return Line(text, is_warning=event.type == "Warning")


class ActivityPrinter:
    """Prints a stream of writes, at most 25 lines per second; the rest is counted."""

    def __init__(self, *, kinds: dict[str, str], clock: Clock, print_line: PrintLine) -> None:
        self._kinds = kinds
        self._clock = clock
        self._print_line = print_line
        self._times: deque[float] = deque(maxlen=_LINES_PER_PERIOD)
        self._omitted = 0
        self._has_omitted = asyncio.Event()

    def on_writes(self, events: Sequence[StoreEvent]) -> None:
        """Print writes, or count them."""
        for event in events:
            line = format_write(event, self._kinds)
            if line is None:
                continue
            now = self._clock.monotonic()
            if len(self._times) == _LINES_PER_PERIOD and now - self._times[0] < _PERIOD_S:
                self._omitted += 1
                self._has_omitted.set()
            else:
                self._times.append(now)
                self._print(line)

    async def run(self) -> None:
        """Print how many lines were omitted, once per second; until cancelled."""
        while True:
            await self._has_omitted.wait()
            await self._clock.sleep(_PERIOD_S)
            self._has_omitted.clear()
            omitted, self._omitted = self._omitted, 0
            self._print(Line(f"… and {omitted} more"))

    def _print(self, line: Line) -> None:
        text = " ".join(escape_controls(line.text).split("\n"))
        self._print_line(f"  {self._clock.now():%H:%M:%S}  {text}", line.is_warning)
