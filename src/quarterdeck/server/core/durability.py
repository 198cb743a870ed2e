"""Waits for the store: until a write is durable, or until a revision is published."""

import asyncio

from quarterdeck.server.core import Core
from quarterdeck.storage import Entry, RevisionConflict, Ticket
from quarterdeck.wire.status import Timeout


async def wait_until_durable(core: Core, entry: Entry) -> None:
    """Wait until an entry is durable, so that a response may contain it.

    Raises:
        RevisionConflict: if its write was undone, or there is a newer entry already.
        Timeout: if it is not durable within the request timeout.
    """
    ticket = core.store.find_waiting(entry.revision)
    if ticket is not None and not await _wait_for_ticket(core, ticket):
        raise Timeout(
            "the write was not committed within the request timeout; its outcome is unknown"
        )
    # a higher revision of the store is no proof: those of writes that were undone are left out
    present = core.store.get(entry.key)
    current = 0 if present is None else present.revision
    if current != entry.revision:
        raise RevisionConflict(entry.key, entry.revision, current)


async def _wait_for_ticket(core: Core, ticket: Ticket) -> bool:
    """Wait until a write is durable or undone; False if it is neither within the time limit."""
    done: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def finish(_error: object = None) -> None:
        if not done.done():
            done.set_result(None)

    ticket.call_when_done(finish)
    timer = core.timers.call_later(core.options.request_timeout_s, finish)
    try:
        await done
        return ticket.is_done
    finally:
        timer.cancel()


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
