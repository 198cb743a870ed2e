"""The ports of admission plugins."""

from typing import Protocol

from quarterdeck.server.admission.attributes import AdmissionAttributes


class Plugin(Protocol):
    """One rule about writes that can decide at once."""

    def admit(self, attributes: AdmissionAttributes) -> None:
        """Change or refuse the write.

        Raises:
            ApiError: to refuse it.
        """
        ...

    def validate(self, attributes: AdmissionAttributes) -> None:
        """Refuse the write as it will be stored.

        Raises:
            ApiError: to refuse it.
        """
        ...


class AsyncPlugin(Protocol):
    """One rule about writes that has to ask somebody."""

    async def admit(self, attributes: AdmissionAttributes) -> None:
        """As `Plugin.admit`."""
        ...

    async def validate(self, attributes: AdmissionAttributes) -> None:
        """As `Plugin.validate`."""
        ...


class MutatingPlugin:
    """A plugin with nothing to say about the final object."""

    def validate(self, attributes: AdmissionAttributes) -> None:
        """Nothing more to say."""
