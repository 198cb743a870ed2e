"""`quarterdeck machines ssh`: log in to a machine."""

import os
from typing import Annotated

from quarterdeck.cli.command import Command
from quarterdeck.cli.connection import connect
from quarterdeck.cli.exit_codes import CommandError
from quarterdeck.cli.flags import Context, Kubeconfig, Namespace
from quarterdeck.cli.parameters import Argument, Option


async def ssh(
    name: Annotated[str, Argument(metavar="NAME", help="Name of the MachineClaim.")],
    user: Annotated[
        str, Option("--user", "-u", metavar="NAME", help="User (default: the template's).")
    ] = "",
    identity: Annotated[
        str, Option("--identity", "-i", metavar="PATH", help="Private key to use.")
    ] = "",
    print_only: Annotated[bool, Option("--print", help="Print the command only.")] = False,
    namespace: Namespace = "",
    kubeconfig: Kubeconfig = "",
    context: Context = "",
) -> None:
    """Log in to a machine with the ssh program."""
    from quarterdeck.apis.hypervisor.claim import MachineClaim
    from quarterdeck.apis.hypervisor.template import HypervisorMachineTemplate
    from quarterdeck.wire.status import NotFound

    async with connect(kubeconfig, context) as client:
        where = namespace or client.namespace
        claim = await client.get(MachineClaim, name, where)
        if not user:
            reference = claim.spec.template_ref
            try:
                template = await client.get(
                    HypervisorMachineTemplate, reference.name, reference.namespace or where
                )
                user = template.spec.cloud_init.user if template.spec.cloud_init else ""
            except NotFound:
                pass  # the image's default user it is
    if claim.status.provider_id.startswith("mock://"):
        raise CommandError(
            f"machine {name} is simulated and has no SSH server; show its console: quarterdeck "
            f"machines console {name}"
        )
    info = claim.status.network_info
    if info is None or not info.ip_address:
        raise CommandError(f"machine {name} has no address yet: it is {claim.status.phase}")
    command = build_command(info.ssh_address or info.ip_address, user, identity)
    if print_only:
        print(" ".join(command))
        return
    try:
        os.execvp(command[0], command)
    except FileNotFoundError:
        raise CommandError("ssh not found on the PATH; install openssh-client") from None


COMMAND = Command(ssh)


def build_command(address: str, user: str, identity: str) -> list[str]:
    """The ssh command.

    An address may have a port, as that of a local VM, or the prefix length of a static one.
    """
    host, port = address.partition("/")[0], ""
    if host.startswith("["):
        host, _, port = host[1:].partition("]")
        port = port.removeprefix(":")
    elif host.count(":") == 1:
        host, _, port = host.partition(":")
    command = ["ssh"]
    if port:
        command += ["-p", port]
    if identity:
        command += ["-i", identity]
    return [*command, f"{user}@{host}" if user else host]
