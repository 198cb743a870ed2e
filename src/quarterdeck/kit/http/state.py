"""What the connections of one server share."""

from collections.abc import Callable
from datetime import datetime
from typing import TYPE_CHECKING, Protocol

from quarterdeck.kit.clock import Clock
from quarterdeck.kit.http.limits import Limits
from quarterdeck.kit.http.message import Handler, Request

if TYPE_CHECKING:
    import asyncio

ErrorCallback = Callable[[Request, BaseException], None]

_DAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")


class OpenConnection(Protocol):
    """A connection as its server sees it: what ends it, and what it is doing."""

    @property
    def idle_deadline(self) -> float | None:
        """When the idle time-out strikes; None while the connection is in use."""

    @property
    def task(self) -> "asyncio.Task[None] | None":
        """What answers a request now."""

    @property
    def is_streaming(self) -> bool:
        """A streamed body is being written."""

    def tick(self, now: float) -> None:
        """Apply the time-outs."""

    def drain(self) -> None:
        """Close now if idle, else after the current response; streams are asked to end."""

    def evict(self) -> None:
        """Close an idle connection to make room for another one."""

    def abort(self) -> None:
        """Close at once, without sending what is buffered."""


class ServerState:
    """The handler, a clock that is read once a tick, open connections and counters.

    Without connections nothing ticks.
    """

    def __init__(
        self, handler: Handler, limits: Limits, *, clock: Clock, on_error: ErrorCallback
    ) -> None:
        self.handler = handler
        self.limits = limits
        self.on_error = on_error
        self.names: dict[bytes, str] = {}
        self.connections: set[OpenConnection] = set()
        self.running: set[OpenConnection] = set()
        self.draining = False
        self.on_change: Callable[[], None] = _do_nothing
        self.on_first: Callable[[], None] = _do_nothing
        self.connections_total = 0
        self.requests_total = 0
        self.responses_5xx_total = 0
        self.handler_errors_total = 0
        self.malformed_total = 0
        self.timeouts_total = 0
        self.handshake_failures_total = 0
        self.evicted_total = 0
        self.bytes_written_total = 0
        self._clock = clock
        self.now = 0.0
        self.date = ""
        self.read_clock()

    def add_connection(self, connection: OpenConnection) -> None:
        """Count a connection; the first one updates the time, which is stale until then."""
        if not self.connections:
            self.read_clock()
            self.on_first()
        self.connections.add(connection)
        self.connections_total += 1

    def read_clock(self) -> None:
        """Bring the coarse time and the Date field up to date."""
        self.now = self._clock.monotonic()
        self.date = f"date: {format_date(self._clock.now())}\r\n"


def format_date(moment: datetime) -> str:
    """A time as HTTP writes it, independent of the locale."""
    day, month = _DAYS[moment.weekday()], _MONTHS[moment.month - 1]
    return f"{day}, {moment.day:02} {month} {moment.year:04} {moment:%H:%M:%S} GMT"


def _do_nothing() -> None:
    """The default callback, until a server sets its own."""
