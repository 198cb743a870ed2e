"""The ports of admission plugins."""

from collections.abc import Awaitable
from typing import Protocol, runtime_checkable

from quarterdeck.server.admission.attributes import AdmissionAttributes


class Plugin(Protocol):
    """An admission plugin that decides without asking others.

    What it has not decided when its method returns, because that takes long, it returns for the
    chain to await.
    """

    def admit(self, attributes: AdmissionAttributes) -> Awaitable[None] | None:
        """Change or refuse the write.

        Raises:
            ApiError: to refuse it.
        """
        ...

    def validate(self, attributes: AdmissionAttributes) -> Awaitable[None] | None:
        """Refuse the write as it will be stored.

        Raises:
            ApiError: to refuse it.
        """
        ...


@runtime_checkable
class ScopedPlugin(Protocol):
    """What a plugin has besides that concerns some resources only: it is called for no other."""

    resources: frozenset[str]
    """Their names with their group: `pods`, `deployments.apps`."""


class LastPlugin(Protocol):
    """A plugin that counts what is stored: nothing may happen between its word and the write."""

    def admit(self, attributes: AdmissionAttributes) -> None:
        """As `Plugin.admit`, at once."""
        ...

    def validate(self, attributes: AdmissionAttributes) -> None:
        """As `Plugin.validate`, at once."""
        ...


class AsyncPlugin(Protocol):
    """An admission plugin that waits for others, such as a webhook."""

    @property
    def is_active(self) -> bool:
        """Whether there is anything to do at the moment; where nothing is, no write waits."""
        ...

    async def admit(self, attributes: AdmissionAttributes) -> None:
        """As `Plugin.admit`."""
        ...

    async def validate(self, attributes: AdmissionAttributes) -> None:
        """As `Plugin.validate`."""
        ...


class ValidatingPlugin:
    """A plugin that changes nothing and may refuse the final object."""

    def admit(self, attributes: AdmissionAttributes) -> None:
        """Change nothing."""


class MutatingPlugin:
    """A plugin that may change objects and accepts every final object."""

    def validate(self, attributes: AdmissionAttributes) -> None:
        """Accept every object."""
