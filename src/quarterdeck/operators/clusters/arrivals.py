"""Reconciles clusters at once when their collectors begin to push, not after the interval."""

from collections.abc import AsyncIterator, Callable

import msgspec

from quarterdeck.hubstate import keys
from quarterdeck.hubstate.errors import HubStateError
from quarterdeck.hubstate.ports import Message
from quarterdeck.meta.identity import Key
from quarterdeck.operators.clusters.hub import Hub

_PUSHED = b"collector-push"
_RETRY_S = 10.0


class _Notice(msgspec.Struct):
    cluster: str = ""


async def enqueue_pushed(hub: Hub, enqueue: Callable[[Key], None]) -> None:
    """Enqueue clusters whose first push the ingester announces, until cancelled.

    Nothing is subscribed to before a cluster is in push mode.
    """
    await hub.push_wanted.wait()
    while True:
        try:
            async with hub.state.subscribe(keys.CLUSTER_EVENTS) as messages:
                await _follow(hub, messages, enqueue)
        except HubStateError:  # the interval still holds
            await hub.clock.sleep(_RETRY_S)


async def _follow(
    hub: Hub, messages: AsyncIterator[Message], enqueue: Callable[[Key], None]
) -> None:
    async for message in messages:
        if _PUSHED in message.data:
            key = _find_waiting(hub, _read_cluster(message.data))
            if key is not None:
                enqueue(key)


def _find_waiting(hub: Hub, name: str) -> Key | None:
    """The key of a cluster's connection, if the hub still reads the cluster itself."""
    for seen in hub.seen.values():
        if seen.name == name and not seen.is_pushed:
            return seen.key
    return None


def _read_cluster(data: bytes) -> str:
    try:
        return msgspec.json.decode(data, type=_Notice).cluster
    except msgspec.DecodeError:
        return ""
