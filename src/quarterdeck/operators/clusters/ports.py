"""What the operator needs of outside systems besides clusters: image registries."""

from typing import Protocol

import msgspec

from quarterdeck.hubstate.registry_writes import RegistryFacts
from quarterdeck.kit.redaction import Secret


class RegistryAddress(msgspec.Struct, frozen=True, kw_only=True):
    """Where a registry is, and who we are there."""

    url: str
    """With its scheme, without a slash at the end."""
    username: str = ""
    password: Secret[str] = Secret("")
    skip_tls_verify: bool = False
    certificate_authority: bytes = b""
    """PEM; empty means the system's store."""

    @property
    def has_credentials(self) -> bool:
        """Whether both halves are there."""
        return bool(self.username and self.password.reveal())


class RegistryCheck(msgspec.Struct, frozen=True, kw_only=True):
    """What to look at."""

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
    """What is to be known about the list of repositories."""


class Registry(Protocol):
    """Checks image registries."""

    async def check(self, address: RegistryAddress, wanted: RegistryCheck) -> RegistryReport:
        """Ask a registry how it fares; never raises for what the registry does."""
        ...
