"""Where the consoles of machines are, for the dashboard of `up`."""

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
from quarterdeck.operators.machines.errors import HypervisorError
from quarterdeck.operators.machines.ports import OpenProvider
from quarterdeck.operators.machines.providers import Providers, ProviderUnknown
from quarterdeck.operators.machines.references import parse_key
from quarterdeck.services.hub.web.consoles import ConsoleMissing
from quarterdeck.wire.status import ApiError

if TYPE_CHECKING:
    from quarterdeck.client.client import Client

_LOG = "console.log"
"""What a local VM wrote, beside the socket of its console."""


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
        """The file of a machine's console, or its address where it is not a file.

        Raises:
            ConsoleMissing: if there is none; says why.
        """
        try:
            claim = await self._client.get(MachineClaim, key.name, key.namespace)
            return parse_console(await self._ask(claim))
        except (ApiError, CredentialsMissing, ProviderUnknown, HypervisorError) as error:
            raise ConsoleMissing(str(error)) from error

    async def _ask(self, claim: MachineClaim) -> str:
        vm = claim.status.vm_ref
        if vm is None:
            phase = claim.status.phase
            raise ConsoleMissing(f"machine {claim.metadata.name} has no VM yet: it is {phase}")
        key = parse_key(vm.hypervisor_cluster)
        cluster = await self._client.get(HypervisorCluster, key.name, key.namespace)
        secrets = SecretReader(cluster.metadata.namespace, self._client.get)
        settings = await build_settings(cluster, secrets, clock=self._clock, folder=self._folder)
        hypervisor = await self._providers.find(cluster.spec.provider)(settings)
        try:
            owner = ownership.read_owner(await hypervisor.get_vm(vm.vm_id))
            # the status of a claim is what its author says; only the VM itself knows its owner
            if owner is None or owner.claim_uid != claim.metadata.uid:
                raise ConsoleMissing(
                    f"VM {vm.vm_id} does not belong to machine {claim.metadata.name}"
                )
            return await hypervisor.console_url(vm.vm_id, owner=owner)
        finally:
            await hypervisor.aclose()


def parse_console(url: str) -> Path | str:
    """The file behind an address of a console; other addresses stay as they are."""
    parts = urlsplit(url)
    match parts.scheme:
        case "file":
            return Path(unquote(parts.path))
        case "unix":
            return Path(unquote(parts.path)).with_name(_LOG)
        case _:
            return url
