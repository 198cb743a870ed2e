"""The chain of admission plugins of one server.

Plugins are called in order: first every `admit`, which may change the object, later every
`validate`, which sees the final object. Plugins that wait for others (webhooks) are `AsyncPlugin`s.
Without any, and without policies that take long, no other write happens between reading and writing
an object, so a write without a resourceVersion never meets a conflict.
"""

from collections.abc import Sequence

from quarterdeck.server.admission.attributes import AdmissionAttributes
from quarterdeck.server.admission.plugin import AsyncPlugin, LastPlugin, Plugin


class Admission:
    """The chain of plugins of one server."""

    def __init__(
        self,
        plugins: Sequence[Plugin],
        async_plugins: Sequence[AsyncPlugin] = (),
        last_plugins: Sequence[LastPlugin] = (),
    ) -> None:
        self._plugins = tuple(plugins)
        self._async_plugins = tuple(async_plugins)
        self._last_plugins = tuple(last_plugins)

    @property
    def has_async_plugins(self) -> bool:
        """Whether any asynchronous plugin has something to do at the moment."""
        # a generator costs as much as all plugins, and every write asks four times
        for plugin in self._async_plugins:  # noqa: SIM110
            if plugin.is_active:
                return True
        return False

    async def admit(self, attributes: AdmissionAttributes) -> None:
        """Call `admit` of all synchronous plugins; the object may be another one afterwards.

        Where asynchronous plugins follow, `admit_async` decides about the second round.
        """
        await self._admit(attributes)
        if not self.has_async_plugins and attributes.reinvocation.begin_second():
            await self._admit(attributes)

    async def _admit(self, attributes: AdmissionAttributes) -> None:
        for plugin in self._plugins:
            if (pending := plugin.admit(attributes)) is not None:
                await pending
        for last in self._last_plugins:
            last.admit(attributes)

    async def validate(self, attributes: AdmissionAttributes) -> None:
        """Call `validate` of the synchronous plugins, with the final object."""
        for plugin in self._plugins:
            if (pending := plugin.validate(attributes)) is not None:
                await pending

    def charge(self, attributes: AdmissionAttributes) -> None:
        """Call `validate` of the plugins that count what is stored; nobody may refuse after it."""
        for plugin in self._last_plugins:
            plugin.validate(attributes)

    async def admit_async(self, attributes: AdmissionAttributes) -> None:
        """Call `admit` of all asynchronous plugins, after `admit`.

        If somebody changed the object, all plugins see it once more.
        """
        await self._admit_async(attributes)
        if attributes.reinvocation.begin_second():
            await self._admit(attributes)
            await self._admit_async(attributes)

    async def _admit_async(self, attributes: AdmissionAttributes) -> None:
        for plugin in self._async_plugins:
            await plugin.admit(attributes)

    async def validate_async(self, attributes: AdmissionAttributes) -> None:
        """Call `validate` of all asynchronous plugins, with the final object."""
        for plugin in self._async_plugins:
            await plugin.validate(attributes)
