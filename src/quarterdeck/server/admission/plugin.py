"""The ports of admission plugins."""

from typing import Protocol

from quarterdeck.server.admission.attributes import Attempt


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


class Quiet:
    """A plugin with nothing to say about the final object."""

    def validate(self, attempt: Attempt) -> None:
        """Nothing more to say."""
