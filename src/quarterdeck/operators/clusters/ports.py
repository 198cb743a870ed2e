"""What the operator needs of outside systems besides clusters: image registries."""

from typing import Protocol

import msgspec

from quarterdeck.hubstate.registry_writes import RegistryFacts
from quarterdeck.kit.redaction import Secret


class RegistryAddress(msgspec.Struct, frozen=True, kw_only=True):
    """The address of a registry and the credentials for it."""

    url: str
    """With its scheme, without a slash at the end."""
    username: str = ""
    password: Secret[str] = Secret("")
    skip_tls_verify: bool = False
    certificate_authority: bytes = b""
    """PEM; empty means the system's store."""

    @property
    def has_credentials(self) -> bool:
        """Whether both user name and password are set."""
        return bool(self.username and self.password.reveal())


class RegistryCheck(msgspec.Struct, frozen=True, kw_only=True):
    """What a check requests, and its time limit."""

    paths: tuple[str, ...] = ("/v2/",)
    timeout_s: float = 10.0
    catalog_limit: int | None = None
    """How many repositories to list; None does not ask."""


class RegistryReport(msgspec.Struct, frozen=True, kw_only=True):
    """What a check found."""

    facts: RegistryFacts
    authenticated: bool = True
    """False when the registry refuses the credentials we have."""
    note: str = ""
    """A remark about the list of repositories, for the condition's message; may be empty."""


class Registry(Protocol):
    """Checks image registries."""

    async def check(self, address: RegistryAddress, wanted: RegistryCheck) -> RegistryReport:
        """Check a registry; failures are in the report and never raised."""
        ...
