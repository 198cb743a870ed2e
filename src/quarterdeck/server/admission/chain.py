"""Is it allowed now: the third seam of the pipeline, between decoding and storing.

Plugins are asked in order, first all `admit` (which may change the object), later all `validate`.
The built-in one is the life cycle of namespaces: nothing is created where no namespace is.
Plugins that must wait (webhooks) implement `AsyncPlugin`; without any, a write never leaves the
loop between reading and writing an object, and so never meets a conflict of its own making.
"""

from collections.abc import Sequence
from typing import Any, Protocol

import msgspec

from quarterdeck.server.authentication.user import User
from quarterdeck.server.registry.object_meta import facts_of
from quarterdeck.server.registry.resource import Object, Resource
from quarterdeck.storage import Store, StoreKey
from quarterdeck.wire.status import Cause, Details, Forbidden, NotFound

IMMORTAL_NAMESPACES = frozenset({"default", "kube-system", "kube-public", "kube-node-lease"})


class Attempt(msgspec.Struct, kw_only=True, eq=False):
    """A write that is about to happen."""

    verb: str
    resource: Resource
    namespace: str
    name: str
    user: User
    subresource: str = ""
    value: Object | None = None
    old: Object | None = None
    options: dict[str, Any] = {}
    is_dry_run: bool = False
    warnings: list[str] = []


class Plugin(Protocol):
    """One rule about writes that can decide at once."""

    def admit(self, attempt: Attempt) -> None:
        """Change or refuse the write.

        Raises:
            ApiError: to refuse it.
        """
        ...

    def validate(self, attempt: Attempt) -> None:
        """Refuse the write as it will be stored.

        Raises:
            ApiError: to refuse it.
        """
        ...


class AsyncPlugin(Protocol):
    """One rule about writes that has to ask somebody."""

    async def admit(self, attempt: Attempt) -> None:
        """As `Plugin.admit`."""
        ...

    async def validate(self, attempt: Attempt) -> None:
        """As `Plugin.validate`."""
        ...


class Admission:
    """The chain of plugins of one server."""

    def __init__(
        self, plugins: Sequence[Plugin], async_plugins: Sequence[AsyncPlugin] = ()
    ) -> None:
        self._plugins = tuple(plugins)
        self._async_plugins = tuple(async_plugins)

    @property
    def waits(self) -> bool:
        """Whether any plugin has to ask somebody."""
        return bool(self._async_plugins)

    def admit(self, attempt: Attempt) -> None:
        """Ask everybody who can decide at once."""
        for plugin in self._plugins:
            plugin.admit(attempt)

    def validate(self, attempt: Attempt) -> None:
        """Ask everybody who can decide at once, with the final object."""
        for plugin in self._plugins:
            plugin.validate(attempt)

    async def admit_waiting(self, attempt: Attempt) -> None:
        """Ask those who have to ask somebody."""
        for plugin in self._async_plugins:
            await plugin.admit(attempt)

    async def validate_waiting(self, attempt: Attempt) -> None:
        """Ask those who have to ask somebody, with the final object."""
        for plugin in self._async_plugins:
            await plugin.validate(attempt)


class NamespaceLifecycle:
    """Objects are created in namespaces that exist and stay; four of them stay for ever."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def admit(self, attempt: Attempt) -> None:
        """Check the namespace of a new object, or that a namespace may go."""
        if attempt.verb == "create" and attempt.resource.namespaced:
            self._check_home(attempt)
        elif (
            attempt.verb == "delete"
            and attempt.resource.gvr.group_resource == "namespaces"
            and attempt.name in IMMORTAL_NAMESPACES
        ):
            raise Forbidden.of("namespaces", attempt.name, "this namespace may not be deleted")

    def validate(self, attempt: Attempt) -> None:
        """Nothing more to say."""

    def _check_home(self, attempt: Attempt) -> None:
        home = self._store.get_pending(StoreKey("namespaces", "", attempt.namespace))
        if home is None:
            raise NotFound.of("namespaces", attempt.namespace)
        if facts_of(home).deletion_timestamp is None:
            return
        gvr = attempt.resource.gvr
        why = (
            f"unable to create new content in namespace {attempt.namespace} because it is being"
            " terminated"
        )
        refusal = Forbidden.of(gvr.resource, attempt.name, why, group=gvr.group)
        cause = Cause(
            reason="NamespaceTerminating",
            message=f"namespace {attempt.namespace} is being terminated",
            field="metadata.namespace",
        )
        details = refusal.details or Details()
        refusal.details = msgspec.structs.replace(details, causes=(cause,))
        raise refusal
