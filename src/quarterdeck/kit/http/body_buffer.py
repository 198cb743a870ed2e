"""A body on its way in: bytes from the parser to one reader, with back-pressure."""

import asyncio
from collections import deque
from collections.abc import Callable

from quarterdeck.kit.http.errors import BodyTooLarge, HttpError

_PIECE = 32 * 1024


class BodyBuffer:
    """Holds body bytes between the protocol, which feeds, and one coroutine, which takes.

    Beyond `high` bytes it asks its owner to stop reading the socket (`on_full`), and below that to
    go on (`on_room`). The end is a state, not an item: data first, then the end or the failure.
    """

    __slots__ = ("_chunks", "_done", "_error", "_high", "_on_full", "_on_room", "_waiter", "size")

    def __init__(self, high: int, on_full: Callable[[], None], on_room: Callable[[], None]) -> None:
        self.size = 0
        self._chunks: deque[bytes] = deque()
        self._high = high
        self._on_full = on_full
        self._on_room = on_room
        self._done = False
        self._error: HttpError | None = None
        self._waiter: asyncio.Future[None] | None = None

    @classmethod
    def of(cls, data: bytes) -> "BodyBuffer":
        """A complete body."""
        body_buffer = cls(len(data), _do_nothing, _do_nothing)
        body_buffer.feed(data)
        body_buffer.finish()
        return body_buffer

    @property
    def is_ended(self) -> bool:
        """Nothing more will be fed."""
        return self._done or self._error is not None

    @property
    def is_failed(self) -> bool:
        """The body broke off."""
        return self._error is not None

    @property
    def is_full(self) -> bool:
        """Whether the buffer holds more than its limit."""
        return self.size > self._high

    def feed(self, data: bytes) -> None:
        """Add bytes; wakes the reader."""
        self._chunks.append(data)
        self.size += len(data)
        if self.size > self._high:
            self._on_full()
        if self._waiter is not None:
            self._wake(self._waiter)

    def finish(self) -> None:
        """No more bytes will come."""
        self._done = True
        if self._waiter is not None:
            self._wake(self._waiter)

    def fail(self, error: HttpError) -> None:
        """The reader gets what is held, then the error."""
        if not self.is_ended:
            self._error = error
            if self._waiter is not None:
                self._wake(self._waiter)

    async def take(self) -> bytes:
        """The next bytes; empty at the end.

        Raises:
            HttpError: what the body failed with, after everything that arrived was taken.
        """
        chunks = self._chunks
        if not chunks and not await self._wait_for_data():
            return b""
        data = chunks.popleft()
        was_full = self.size > self._high
        self.size -= len(data)
        if was_full and self.size <= self._high:
            self._on_room()
        return data

    async def take_held(self) -> bytes:
        """Take buffered bytes, about `_PIECE` at most; empty at the end.

        It is copied when it is joined and again when it is split, so a piece is kept small.

        Raises:
            HttpError: what the body failed with, after everything that arrived was taken.
        """
        chunks = self._chunks
        if not chunks and not await self._wait_for_data():
            return b""
        was_full = self.size > self._high
        data = chunks.popleft()
        if chunks:
            parts, size = [data], len(data)
            while chunks and size < _PIECE:
                parts.append(chunks.popleft())
                size += len(parts[-1])
            data = b"".join(parts)
        self.size -= len(data)
        if was_full and self.size <= self._high:
            self._on_room()
        return data

    async def take_all(self, limit: int) -> bytes:
        """Everything up to the end.

        Raises:
            BodyTooLarge: the body is longer than `limit`.
        """
        if (complete := self.take_all_nowait(limit)) is not None:
            return complete
        parts: list[bytes] = []
        total = 0
        while data := await self.take():
            total += len(data)
            if total > limit:
                raise BodyTooLarge(limit)
            parts.append(data)
        return parts[0] if len(parts) == 1 else b"".join(parts)

    def take_all_nowait(self, limit: int) -> bytes | None:
        """A complete body that arrived in one piece, the common case; None for any other."""
        if not self._done or len(self._chunks) > 1 or self.size > limit:
            return None
        was_full = self.size > self._high
        self.size = 0
        data = self._chunks.popleft() if self._chunks else b""
        if was_full:
            self._on_room()
        return data

    async def _wait_for_data(self) -> bool:
        """Wait until something is held; False at the end."""
        while not self._chunks:
            if self._done:
                return False
            if self._error is not None:
                raise self._error
            if self._waiter is not None:
                raise RuntimeError("the body is already being read by another coroutine")
            self._waiter = asyncio.get_running_loop().create_future()
            try:
                await self._waiter
            finally:
                self._waiter = None
        return True

    def _wake(self, waiter: "asyncio.Future[None]") -> None:
        if not waiter.done():
            waiter.set_result(None)


def _do_nothing() -> None:
    """Do nothing: a complete body has no sender to pause or resume."""
