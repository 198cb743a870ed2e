"""Waits for the store: until a write is durable, or until a revision is published."""

import asyncio

from quarterdeck.server.core import Core
from quarterdeck.storage import Entry
from quarterdeck.wire.status import Timeout


async def wait_until_durable(core: Core, entry: Entry) -> None:
    """Wait until an entry is durable, so that a response may contain it.

    Raises:
        Timeout: if it is not durable within the request timeout.
    """
    if core.store.revision < entry.revision and not await wait_for_revision(
        core, entry.revision, timeout_s=core.options.request_timeout_s
    ):
        raise Timeout(
            "the write was not committed within the request timeout; its outcome is unknown"
        )


async def wait_for_revision(core: Core, revision: int, *, timeout_s: float) -> bool:
    """Wait until a revision is published; False if it is not within `timeout_s`."""
    if core.store.revision >= revision:
        return True
    done: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def finish(_events: object = None) -> None:
        if not done.done() and core.store.revision >= revision:
            done.set_result(None)

    def give_up() -> None:
        if not done.done():
            done.set_result(None)

    stop = core.store.subscribe(finish)
    timer = core.timers.call_later(timeout_s, give_up)
    try:
        await done
        return core.store.revision >= revision
    finally:
        timer.cancel()
        stop()
