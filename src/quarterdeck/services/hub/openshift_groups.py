"""Groups of users as OpenShift keeps them, for users that an OAuth proxy names without groups.

The User is found by name, then by e-mail address; policies apply to its name. The groups are those
that the User lists; if it lists none, the Groups that list the user. On a cluster without
OpenShift's API, users have no such groups.
"""

import asyncio
import contextlib
from collections import OrderedDict
from typing import Any

import msgspec

from quarterdeck.client.errors import ClientError
from quarterdeck.client.interfaces import Reader
from quarterdeck.inventory.access.principal import Principal
from quarterdeck.kit import json
from quarterdeck.kit.clock import Clock
from quarterdeck.meta.names import check_path_segment
from quarterdeck.runtime.observability.logging import get_logger
from quarterdeck.services.hub.errors import Unavailable
from quarterdeck.services.hub.identity import remove_masters
from quarterdeck.wire.path import ResourcePath
from quarterdeck.wire.query import GetOptions, ListOptions
from quarterdeck.wire.status import ApiError, Forbidden, NotFound

MAX_KEPT = 4096
_TIMEOUT_S = 10.0
_PAGE = 500
_API = ("user.openshift.io", "v1")
_log = get_logger("services.hub.groups")


class OpenShiftGroups:
    """Looks users up, and caches the results for `ttl_s` seconds, also for unknown users."""

    def __init__(self, api: Reader, *, clock: Clock, ttl_s: float) -> None:
        self._api = api
        self._clock = clock
        self._ttl_s = ttl_s
        self._known: OrderedDict[tuple[str, str], tuple[float, Principal]] = OrderedDict()
        self._is_warned = False

    async def resolve(self, principal: Principal) -> Principal:
        """The principal with its name and groups in OpenShift.

        Service accounts, and principals that have groups already, are returned as they are.

        Raises:
            Unavailable: if the API server does not answer.
        """
        if principal.is_service_account or principal.groups:
            return principal
        key, now = (principal.username, principal.email), self._clock.monotonic()
        known = self._known.get(key)
        if known is not None and known[0] > now:
            return known[1]
        found = await self._look_up(principal)
        if self._ttl_s > 0:
            self._known[key] = (now + self._ttl_s, found)
            self._known.move_to_end(key)
            if len(self._known) > MAX_KEPT:
                self._known.popitem(last=False)
        return found

    def forget(self) -> None:
        """Clear the cache, so that every user is looked up again."""
        self._known.clear()

    async def _look_up(self, principal: Principal) -> Principal:
        try:
            async with asyncio.timeout(_TIMEOUT_S):
                return await self._read(principal)
        except Forbidden as error:
            if not self._is_warned:
                self._is_warned = True
                _log.warning(
                    "groups of OpenShift cannot be read; allow get of users and list of groups "
                    "in user.openshift.io",
                    reason=error.message,
                )
            return principal
        except (ApiError, ClientError, OSError, TimeoutError) as error:
            raise Unavailable(
                "groups of the user cannot be read: the API server does not answer"
            ) from error

    async def _read(self, principal: Principal) -> Principal:
        user = await self._find_user(principal.username) or await self._find_user(principal.email)
        name = principal.username
        groups: tuple[str, ...] = ()
        if user is not None:
            metadata = user.get("metadata")
            name = str(metadata.get("name") or name) if isinstance(metadata, dict) else name
            groups = _list_texts(user.get("groups"))
        if not groups:
            groups = tuple(await self._find_groups(name))
        return msgspec.structs.replace(principal, username=name, groups=remove_masters(groups))

    async def _find_user(self, name: str) -> dict[str, Any] | None:
        if not name or check_path_segment(name):
            return None
        path = ResourcePath(*_API, "users", "", name)
        with contextlib.suppress(NotFound):
            found = json.decode(await self._api.get(path, GetOptions()))
            return found if isinstance(found, dict) else None
        return None

    async def _find_groups(self, name: str) -> list[str]:
        """The Groups that list a user."""
        found, token = [], ""
        while True:
            try:
                options = ListOptions(limit=_PAGE, continue_=token)
                page = await self._api.list(ResourcePath(*_API, "groups"), options)
            except NotFound:
                return []  # not an OpenShift cluster
            for data in page.items:
                group = json.decode(data)
                if name in _list_texts(group.get("users")):
                    found.append(str(group["metadata"]["name"]))
            token = page.continue_
            if not token:
                return sorted(found)


def _list_texts(value: object) -> tuple[str, ...]:
    return tuple(each for each in value if isinstance(each, str)) if isinstance(value, list) else ()
