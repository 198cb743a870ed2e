"""The ports of admission plugins."""

from collections.abc import Awaitable
from typing import Protocol, runtime_checkable

from quarterdeck.server.admission.attributes import AdmissionAttributes


class Plugin(Protocol):
    """An admission plugin that calls no other system.

    A method whose decision takes long returns an awaitable, which the chain awaits.
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
    """A plugin that is called only for writes of some resources; it also implements `Plugin`."""

    resources: frozenset[str]
    """The resources with their group: `pods`, `deployments.apps`."""


class LastPlugin(Protocol):
    """A plugin that checks what other writes change: nothing may run between it and the write."""

    def admit(self, attributes: AdmissionAttributes) -> None:
        """As `Plugin.admit`, without waiting."""
        ...

    def validate(self, attributes: AdmissionAttributes) -> None:
        """As `Plugin.validate`, without waiting."""
        ...


class AsyncPlugin(Protocol):
    """An admission plugin that waits for another system, such as a webhook."""

    @property
    def is_active(self) -> bool:
        """Whether there is anything to call now, such as a webhook; otherwise no write waits."""
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
