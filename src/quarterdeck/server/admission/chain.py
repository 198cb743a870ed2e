"""Is it allowed now: the third seam of the pipeline, between decoding and storing.

Plugins are asked in order, first all `admit` (which may change the object), later all `validate`.
The built-in one is the life cycle of namespaces: nothing is created where no namespace is.
Plugins that must wait (webhooks) implement `AsyncPlugin`; without any, a write never leaves the
loop between reading and writing an object, and so never meets a conflict of its own making.
"""

from collections.abc import Sequence

from quarterdeck.server.admission.attributes import AdmissionAttributes
from quarterdeck.server.admission.plugin import AsyncPlugin, Plugin


class Admission:
    """The chain of plugins of one server."""

    def __init__(
        self, plugins: Sequence[Plugin], async_plugins: Sequence[AsyncPlugin] = ()
    ) -> None:
        self._plugins = tuple(plugins)
        self._async_plugins = tuple(async_plugins)

    @property
    def has_async_plugins(self) -> bool:
        """Whether any plugin has to ask somebody."""
        return bool(self._async_plugins)

    def admit(self, attributes: AdmissionAttributes) -> None:
        """Ask everybody who can decide at once."""
        for plugin in self._plugins:
            plugin.admit(attributes)

    def validate(self, attributes: AdmissionAttributes) -> None:
        """Ask everybody who can decide at once, with the final object."""
        for plugin in self._plugins:
            plugin.validate(attributes)

    async def admit_async(self, attributes: AdmissionAttributes) -> None:
        """Ask those who have to ask somebody."""
        for plugin in self._async_plugins:
            await plugin.admit(attributes)

    async def validate_async(self, attributes: AdmissionAttributes) -> None:
        """Ask those who have to ask somebody, with the final object."""
        for plugin in self._async_plugins:
            await plugin.validate(attributes)
