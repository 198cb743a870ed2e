"""The chain of admission plugins of one server.

Plugins are called in order: first every `admit`, which may change the object, later every
`validate`, which sees the final object. Plugins that wait for others (webhooks) are `AsyncPlugin`s.
Without any, and without policies that take long, no other write happens between reading and writing
an object, so a write without a resourceVersion never gets a conflict.

Most plugins apply to a few built-in kinds only. The plugins of a resource are selected at its first
write and cached, so that later writes do not call a dozen plugins that do nothing.
"""

from collections.abc import Awaitable, Callable, Sequence
from typing import NamedTuple

from quarterdeck.meta.identity import GVR
from quarterdeck.server.admission.attributes import AdmissionAttributes
from quarterdeck.server.admission.plugin import (
    AsyncPlugin,
    LastPlugin,
    MutatingPlugin,
    Plugin,
    ScopedPlugin,
    ValidatingPlugin,
)

_MOST_RESOURCES = 4096
"""Resources whose calls are cached; bounded, because definitions can be created without end."""

_Call = Callable[[AdmissionAttributes], Awaitable[None] | None]


class _Calls(NamedTuple):
    """The plugin methods that are called for writes of one resource, in order."""

    admit: tuple[_Call, ...]
    validate: tuple[_Call, ...]


class Admission:
    """The chain of plugins of one server."""

    def __init__(
        self,
        plugins: Sequence[Plugin],
        async_plugins: Sequence[AsyncPlugin] = (),
        last_plugins: Sequence[LastPlugin] = (),
        rechecks: Sequence[LastPlugin] = (),
    ) -> None:
        """`rechecks` are called before `last_plugins`, for writes that waited for something."""
        self._plugins = tuple(plugins)
        self._async_plugins = tuple(async_plugins)
        self._last_plugins = tuple(last_plugins)
        self._rechecks = tuple(rechecks)
        self._calls: dict[GVR, _Calls] = {}

    @property
    def has_async_plugins(self) -> bool:
        """Whether any asynchronous plugin has something to do at the moment."""
        # not any(): a generator costs as much as all plugins, and each write reads this four times
        for plugin in self._async_plugins:  # noqa: SIM110
            if plugin.is_active:
                return True
        return False

    def admit_all(self, attributes: AdmissionAttributes) -> Awaitable[None] | None:
        """Call `admit` of all plugins, in both rounds; returns an awaitable if not all is done.

        For most writes all plugins decide at once, and there is nothing to await.
        """
        if self.has_async_plugins:
            return self._admit_in_rounds(attributes)
        for number, admit in enumerate(self._find_calls(attributes).admit, start=1):
            if (pending := admit(attributes)) is not None:
                return self._admit_in_rounds(attributes, pending, number)
        for last in self._last_plugins:
            last.admit(attributes)
        return self._admit(attributes) if attributes.reinvocation.start_second_round() else None

    async def _admit_in_rounds(
        self,
        attributes: AdmissionAttributes,
        pending: Awaitable[None] | None = None,
        done: int = 0,
    ) -> None:
        """Await `pending`, which plugin number `done` returned, and continue with the next."""
        if pending is not None:
            await pending
        await self._admit(attributes, done)
        if self.has_async_plugins:
            await self.admit_async(attributes)
        elif attributes.reinvocation.start_second_round():
            await self._admit(attributes)

    async def admit(self, attributes: AdmissionAttributes) -> None:
        """Call `admit` of all synchronous plugins, which may replace `attributes.value`.

        If asynchronous plugins follow, `admit_async` starts the second round.
        """
        await self._admit(attributes)
        if not self.has_async_plugins and attributes.reinvocation.start_second_round():
            await self._admit(attributes)

    async def _admit(self, attributes: AdmissionAttributes, first: int = 0) -> None:
        for admit in self._find_calls(attributes).admit[first:]:
            if (pending := admit(attributes)) is not None:
                await pending
        for last in self._last_plugins:
            last.admit(attributes)

    def validate_all(self, attributes: AdmissionAttributes) -> Awaitable[None] | None:
        """Call `validate` of all but the last plugins; returns an awaitable if not all is done."""
        for number, validate in enumerate(self._find_calls(attributes).validate, start=1):
            if (pending := validate(attributes)) is not None:
                return self._validate_rest(attributes, pending, number)
        return self.validate_async(attributes) if self.has_async_plugins else None

    async def _validate_rest(
        self, attributes: AdmissionAttributes, pending: Awaitable[None], done: int
    ) -> None:
        await pending
        await self.validate(attributes, done)
        if self.has_async_plugins:
            await self.validate_async(attributes)

    async def validate(self, attributes: AdmissionAttributes, first: int = 0) -> None:
        """Call `validate` of the synchronous plugins, with the final object."""
        for validate in self._find_calls(attributes).validate[first:]:
            if (pending := validate(attributes)) is not None:
                await pending

    def charge(self, attributes: AdmissionAttributes) -> None:
        """Call `validate` of the last plugins, which count stored objects (quotas).

        They come last because a refusal after them would charge a quota for a write that failed.
        """
        if attributes.has_waited:
            for plugin in self._rechecks:
                plugin.validate(attributes)
        for plugin in self._last_plugins:
            plugin.validate(attributes)

    async def admit_async(self, attributes: AdmissionAttributes) -> None:
        """Call `admit` of all asynchronous plugins, after `admit`.

        If a webhook or policy changed the object, a second round follows; see `reinvocation`.
        """
        await self._admit_async(attributes)
        if attributes.reinvocation.start_second_round():
            await self._admit(attributes)
            await self._admit_async(attributes)

    async def _admit_async(self, attributes: AdmissionAttributes) -> None:
        for plugin in self._async_plugins:
            await plugin.admit(attributes)

    async def validate_async(self, attributes: AdmissionAttributes) -> None:
        """Call `validate` of all asynchronous plugins, with the final object."""
        for plugin in self._async_plugins:
            await plugin.validate(attributes)

    def _find_calls(self, attributes: AdmissionAttributes) -> _Calls:
        gvr = attributes.resource.gvr
        return self._calls.get(gvr) or self._choose_calls(gvr)

    def _choose_calls(self, gvr: GVR) -> _Calls:
        """Select the methods to call for writes of a resource, and cache them."""
        name = gvr.group_resource
        met = [
            plugin
            for plugin in self._plugins
            if not isinstance(plugin, ScopedPlugin) or name in plugin.resources
        ]
        calls = _Calls(
            tuple(each.admit for each in met if _overrides(each, "admit", ValidatingPlugin)),
            tuple(each.validate for each in met if _overrides(each, "validate", MutatingPlugin)),
        )
        if len(self._calls) >= _MOST_RESOURCES:
            self._calls.clear()
        self._calls[gvr] = calls
        return calls


def _overrides(plugin: Plugin, method: str, idle: type) -> bool:
    """Whether a plugin overrides a method that does nothing in `idle`."""
    return getattr(type(plugin), method) is not getattr(idle, method)
