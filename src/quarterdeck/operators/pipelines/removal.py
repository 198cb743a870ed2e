"""Confirms that what is missing from a list was really deleted on the server.

An incomplete list looks like a deletion of the rest. Deleting a discovered object would also delete
its pipeline or attributes, and a sync deletes what it does not name. So the server is first asked
for each missing id or name.
"""

from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import NamedTuple

from quarterdeck.operators.pipelines.ports import CallFailed, FleetApi, Remote, RemoteCollector
from quarterdeck.telemetry.fleet.codes import Code

MAX_ASKED = 5
"""How many missing pipelines are looked up before a sync; one that exists stops the sync."""


class Removal(NamedTuple):
    """How to treat an object whose pipeline or collector is no longer listed."""

    is_deletion: bool
    """Whether the object is deleted; it is marked stale otherwise."""
    is_gone: Callable[[str], Awaitable[bool]]
    """Returns whether an id no longer exists on the server."""


def confirm_pipelines(api: FleetApi, listed: Iterable[Remote], *, is_deletion: bool) -> Removal:
    """Build a Removal that confirms by id that a pipeline missing from a list is gone."""
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
    """Build a Removal that confirms by id that a collector missing from a list is gone."""
    ids = {each.id for each in listed}

    async def is_gone(identity: str) -> bool:
        return identity not in ids and await api.get_collector(identity) is None

    return Removal(is_deletion, is_gone)


async def find_left_out(
    api: FleetApi, listed: Iterable[Remote], source: Mapping[str, str]
) -> str | None:
    """The name of a pipeline of a source that the server has and its list leaves out, if any.

    A sync deletes what it does not name, and what to keep is known from the list alone. The list of
    revisions is used as a check: pipelines that only it contains are looked up by name.

    Raises:
        CallFailed, Paused: if the server cannot be read.
    """
    names = {each.name for each in listed}
    try:
        revisions = await api.list_all_revisions()
    except CallFailed as error:
        if error.code in (Code.UNIMPLEMENTED, Code.NOT_FOUND):
            return None  # a server without revisions
        raise
    newest = {each.snapshot.id or each.snapshot.name: each for each in revisions}
    absent = [
        each.snapshot.name
        for each in newest.values()
        if not each.operation.endswith("DELETE")
        and each.snapshot.has_source(source)
        and each.snapshot.name not in names
    ]
    for name in sorted(absent)[:MAX_ASKED]:
        if await api.find(name) is not None:
            return name
    return None
