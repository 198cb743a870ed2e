"""Whether something that a list leaves out has left the server.

A list that answers half looks like a deletion of the other half. Objects that were discovered take
pipelines and attributes along when they are deleted, and a sync deletes what it does not name: the
server is asked for what is missing first.
"""

from collections.abc import Awaitable, Callable, Iterable
from typing import NamedTuple

from quarterdeck.operators.pipelines.ports import CallFailed, FleetApi, Remote, RemoteCollector
from quarterdeck.telemetry.fleet.codes import Code

MAX_ASKED = 5
"""How many pipelines are asked for before a sync: the first one that exists decides."""


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


async def find_left_out(
    api: FleetApi, listed: Iterable[Remote], source: tuple[str, ...]
) -> str | None:
    """The name of a pipeline of a source that the server has and its list leaves out, if any.

    A sync deletes what it does not name, and what is to be kept is known from the list alone. The
    revisions are another witness; what they tell and the list does not is asked for by its name.

    Raises:
        CallFailed, Paused: if the server cannot be read.
    """
    names = {each.name for each in listed}
    try:
        revisions = await api.revisions()
    except CallFailed as error:
        if error.code in (Code.UNIMPLEMENTED, Code.NOT_FOUND):
            return None  # a server without revisions
        raise
    newest = {each.snapshot.id or each.snapshot.name: each for each in revisions}
    absent = [
        each.snapshot.name
        for each in newest.values()
        if not each.operation.endswith("DELETE")
        and (each.snapshot.source_type, each.snapshot.source_namespace) == source
        and each.snapshot.name not in names
    ]
    for name in sorted(absent)[:MAX_ASKED]:
        if await api.find(name) is not None:
            return name
    return None
