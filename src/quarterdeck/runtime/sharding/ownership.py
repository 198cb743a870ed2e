"""Sharding for controllers: which objects are ours, and blocks that end when one is not."""

import contextlib
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager
from typing import Protocol


class ShardLost(Exception):
    """Raised inside `guard` when another replica may work on the object now."""


class Ownership(Protocol):
    """Which objects this process works on, by name."""

    def owns(self, name: str) -> bool:
        """Whether this process may work on an object now."""
        ...

    def guard(self, name: str) -> AbstractAsyncContextManager[None]:
        """Cancel the block when the object becomes another replica's.

        Raises:
            ShardLost: at the start or inside the block.
        """
        ...


class OwnsAll:
    """Ownership of a process that does not share: it owns every object."""

    def owns(self, name: str) -> bool:
        """Every object is ours."""
        del name
        return True

    @contextlib.asynccontextmanager
    async def guard(self, name: str) -> AsyncIterator[None]:
        """Run the block; it is never cancelled."""
        del name
        yield
