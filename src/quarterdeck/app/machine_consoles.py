"""Finds the consoles of machines, for the dashboard of `up`."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import unquote, urlsplit

from quarterdeck.apis.hypervisor.claim import MachineClaim
from quarterdeck.apis.hypervisor.cluster import HypervisorCluster
from quarterdeck.kit.clock import Clock
from quarterdeck.meta.identity import Key
from quarterdeck.operators.machines import ownership
from quarterdeck.operators.machines.connections import (
    CredentialsMissing,
    SecretReader,
    build_settings,
)
from quarterdeck.operators.machines.errors import Code, HypervisorError
from quarterdeck.operators.machines.ports import OpenProvider
from quarterdeck.operators.machines.providers import Providers, ProviderUnknown
from quarterdeck.operators.machines.references import parse_key
from quarterdeck.services.hub.web.consoles import ConsoleMissing
from quarterdeck.wire.status import ApiError

if TYPE_CHECKING:
    from quarterdeck.client.client import Client

_LOG = "console.log"
"""The log file of a local VM's console, beside the console's socket."""
_EARLY_PHASES = (None, "Pending", "Provisioning")
_UNFINISHED = (Code.NOT_FOUND, Code.OWNERSHIP_MISMATCH, Code.LOCKED)
"""Errors about a VM that is being cloned: it does not exist, has no tags, or is locked."""


class ConsoleLocator:
    """Asks hypervisors where consoles are, with the rights of the operators."""

    def __init__(
        self,
        client: "Client",
        *,
        clock: Clock,
        folder: Path | None,
        providers: Mapping[str, OpenProvider],
    ) -> None:
        self._client = client
        self._clock = clock
        self._folder = folder
        self._providers = Providers(providers)

    async def locate(self, key: Key) -> Path | str:
        """The file of a machine's console, or its URL if it is not a file.

        Raises:
            ConsoleMissing: if there is no console; the message has the cause.
        """
        try:
            claim = await self._client.get(MachineClaim, key.name, key.namespace)
            try:
                return parse_console(await self._read_url(claim))
            except HypervisorError as error:
                if claim.status.phase in _EARLY_PHASES and error.code in _UNFINISHED:
                    raise _build_missing(claim) from error
                raise
        except (ApiError, CredentialsMissing, ProviderUnknown, HypervisorError) as error:
            raise ConsoleMissing(str(error)) from error

    async def _read_url(self, claim: MachineClaim) -> str:
        vm = claim.status.vm_ref
        if vm is None:
            raise _build_missing(claim)
        key = parse_key(vm.hypervisor_cluster)
        cluster = await self._client.get(HypervisorCluster, key.name, key.namespace)
        secrets = SecretReader(cluster.metadata.namespace, self._client.get)
        settings = await build_settings(cluster, secrets, clock=self._clock, folder=self._folder)
        hypervisor = await self._providers.find(cluster.spec.provider)(settings)
        try:
            owner = ownership.read_owner(await hypervisor.get_vm(vm.vm_id))
            # the author of a claim could have set its status; only the VM proves its owner
            if owner is None or owner.claim_uid != claim.metadata.uid:
                raise ConsoleMissing(
                    f"VM {vm.vm_id} does not belong to machine {claim.metadata.name}"
                )
            return await hypervisor.console_url(vm.vm_id, owner=owner)
        finally:
            await hypervisor.aclose()


def _build_missing(claim: MachineClaim) -> ConsoleMissing:
    phase = claim.status.phase or "Pending"
    return ConsoleMissing(f"machine {claim.metadata.name} has no console yet: it is {phase}")


def parse_console(url: str) -> Path | str:
    """The file of a console URL; other URLs are returned unchanged."""
    parts = urlsplit(url)
    match parts.scheme:
        case "file":
            return Path(unquote(parts.path))
        case "unix":
            return Path(unquote(parts.path)).with_name(_LOG)
        case _:
            return url
