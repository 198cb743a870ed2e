"""Whether something that a list leaves out has left the server.

A list that answers half looks like a deletion of the other half. Objects that were discovered take
pipelines and attributes along when they are deleted, so the server is asked for each one first.
"""

from collections.abc import Awaitable, Callable, Iterable
from typing import NamedTuple

from quarterdeck.operators.pipelines.ports import CallFailed, FleetApi, Remote, RemoteCollector
from quarterdeck.telemetry.fleet.codes import Code


class Removal(NamedTuple):
    """What becomes of an object whose origin is not found any more."""

    is_deletion: bool
    """Whether the object is deleted; it is marked stale otherwise."""
    is_gone: Callable[[str], Awaitable[bool]]
    """Whether the server says of an id that it does not know it."""


def confirm_pipelines(api: FleetApi, listed: Iterable[Remote], *, is_deletion: bool) -> Removal:
    """Asks for pipelines that a list does not have."""
    ids = {each.id for each in listed}

    async def is_gone(identity: str) -> bool:
        if identity in ids:
            return False  # it is there, and no longer selected
        try:
            await api.get(identity)
        except CallFailed as error:
            if error.code is Code.NOT_FOUND:
                return True
            raise
        return False

    return Removal(is_deletion, is_gone)


def confirm_collectors(
    api: FleetApi, listed: Iterable[RemoteCollector], *, is_deletion: bool
) -> Removal:
    """Asks for collectors that a list does not have."""
    ids = {each.id for each in listed}

    async def is_gone(identity: str) -> bool:
        return identity not in ids and await api.get_collector(identity) is None

    return Removal(is_deletion, is_gone)
