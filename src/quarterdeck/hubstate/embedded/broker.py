"""Channels inside one process; a subscriber that is too slow loses the oldest messages."""

import asyncio
import contextlib
from collections import deque
from collections.abc import AsyncGenerator, AsyncIterator

from quarterdeck.hubstate.ports import Message

BUFFER = 1000
"""Messages kept for one subscriber."""


class Subscription:
    """Buffers the messages of some channels for one reader."""

    def __init__(self, channels: frozenset[str]) -> None:
        self.channels = channels
        self._waiting: deque[Message] = deque(maxlen=BUFFER)
        self._news = asyncio.Event()
        self._is_closed = False

    def put(self, message: Message) -> None:
        """Buffer a message; a full buffer drops the oldest."""
        self._waiting.append(message)
        self._news.set()

    def close(self) -> None:
        """End the stream once the waiting messages are read."""
        self._is_closed = True
        self._news.set()

    async def messages(self) -> AsyncGenerator[Message, None]:
        """Iterate over the messages until the subscription is closed."""
        while True:
            while self._waiting:
                yield self._waiting.popleft()
            if self._is_closed:
                return
            self._news.clear()
            await self._news.wait()


class Broker:
    """Delivers each message to the subscriptions of its channel."""

    def __init__(self) -> None:
        self._subscriptions: set[Subscription] = set()

    def publish(self, message: Message) -> None:
        """Deliver a message."""
        for each in self._subscriptions:
            if message.channel in each.channels:
                each.put(message)

    @contextlib.asynccontextmanager
    async def subscribe(self, *channels: str) -> AsyncIterator[AsyncIterator[Message]]:
        """Subscribe to messages of the channels from now on."""
        subscription = Subscription(frozenset(channels))
        self._subscriptions.add(subscription)
        try:
            async with contextlib.aclosing(subscription.messages()) as messages:
                yield messages
        finally:
            self._subscriptions.discard(subscription)

    def close(self) -> None:
        """End every stream."""
        for each in self._subscriptions:
            each.close()
