"""`quarterdeck machines console`: where the console of a machine is."""

from typing import TYPE_CHECKING, Annotated

from quarterdeck.cli.command import Command
from quarterdeck.cli.connection import connect
from quarterdeck.cli.exit_codes import CommandError
from quarterdeck.cli.flags import Context, Kubeconfig, Namespace
from quarterdeck.cli.parameters import Argument, Option

if TYPE_CHECKING:
    from quarterdeck.apis.hypervisor.claim import MachineClaim
    from quarterdeck.apis.hypervisor.cluster import HypervisorCluster
    from quarterdeck.client.client import Client
    from quarterdeck.operators.machines.ports import ProviderSettings


async def console(
    name: Annotated[str, Argument(metavar="NAME", help="Name of the MachineClaim.")],
    data_dir: Annotated[
        str, Option("--data-dir", metavar="DIR", help="Folder of `up`, for local VMs.")
    ] = ".quarterdeck",
    namespace: Namespace = "",
    kubeconfig: Kubeconfig = "",
    context: Context = "",
) -> None:
    """Ask the hypervisor for the address of a machine's console, and print it.

    Of a simulated machine, what it has written to its console is printed.
    """
    from quarterdeck.apis.hypervisor.claim import MachineClaim
    from quarterdeck.apis.hypervisor.cluster import HypervisorCluster
    from quarterdeck.operators.machines.providers import normalize_name
    from quarterdeck.operators.machines.references import parse_key

    async with connect(kubeconfig, context) as client:
        claim = await client.get(MachineClaim, name, namespace or client.namespace)
        if claim.status.vm_ref is None:
            raise CommandError(f"machine {name} has no VM yet: it is {claim.status.phase}")
        key = parse_key(claim.status.vm_ref.hypervisor_cluster)
        cluster = await client.get(HypervisorCluster, key.name, key.namespace)
        settings = await _read_settings(client, cluster, data_dir)
    if normalize_name(cluster.spec.provider) == "mock":
        print(_read_simulated(claim, settings), end="")
        return
    print(await _find_console(claim, cluster, settings))


COMMAND = Command(console)


async def _read_settings(
    client: "Client", cluster: "HypervisorCluster", data_dir: str
) -> "ProviderSettings":
    from pathlib import Path

    from quarterdeck.kit.clock import SystemClock
    from quarterdeck.operators.machines.connections import (
        CredentialsMissing,
        SecretReader,
        build_settings,
    )

    secrets = SecretReader(cluster.metadata.namespace, client.get)
    try:
        return await build_settings(cluster, secrets, clock=SystemClock(), folder=Path(data_dir))
    except CredentialsMissing as error:
        raise CommandError(str(error)) from error


def _read_simulated(claim: "MachineClaim", settings: "ProviderSettings") -> str:
    """The console of a simulated machine, which `up` writes to its data folder."""
    from pathlib import Path

    from quarterdeck.operators.machines.drivers.simulator.consoles import Consoles

    consoles = Consoles(settings.folder or Path(), settings.endpoint)
    path = consoles.path(claim.status.provider_id.partition("://")[2] or "none")
    try:
        return path.read_text()
    except FileNotFoundError:
        raise CommandError(
            f"{path} not found: give the folder of `up` with --data-dir; "
            "consoles of `up --in-memory` are shown in the dashboard"
        ) from None


async def _find_console(
    claim: "MachineClaim", cluster: "HypervisorCluster", settings: "ProviderSettings"
) -> str:
    from quarterdeck.operators.machines import ownership
    from quarterdeck.operators.machines.errors import HypervisorError
    from quarterdeck.operators.machines.providers import Providers, ProviderUnknown

    assert claim.status.vm_ref is not None
    try:
        hypervisor = await Providers().find(cluster.spec.provider)(settings)
    except ProviderUnknown as error:
        raise CommandError(str(error)) from error
    try:
        vm = await hypervisor.get_vm(claim.status.vm_ref.vm_id)
        owner = ownership.read_owner(vm)
        if owner is None or owner.claim_uid != claim.metadata.uid:
            raise CommandError(f"VM {vm.id} does not belong to machine {claim.metadata.name}")
        return await hypervisor.console_url(vm.id, owner=owner)
    except HypervisorError as error:
        raise CommandError(str(error)) from error
    finally:
        await hypervisor.aclose()
