"""`quarterdeck bootstrap`: the bootstrap service alone."""

from typing import Annotated, NamedTuple

from quarterdeck.cli.command import Command
from quarterdeck.cli.flags import port_option
from quarterdeck.cli.loop import run_loop
from quarterdeck.cli.output import print_line
from quarterdeck.cli.parameters import Option


class AddressFlags(NamedTuple):
    """Where the service listens, and where others reach it."""

    host: Annotated[str, Option("--host", metavar="ADDRESS", help="Address to listen on.")] = (
        "127.0.0.1"
    )
    port: Annotated[int, port_option("--port", "Port to listen on, 0 for any free port.")] = 8445
    name: Annotated[
        str,
        Option(
            "--name",
            metavar="NAMES",
            help="Host names and addresses by which machines reach the service, with commas.",
        ),
    ] = ""
    url: Annotated[
        str,
        Option(
            "--url",
            metavar="URL",
            help="Where the operator reaches the service; where it listens if left out.",
        ),
    ] = ""
    machine_url: Annotated[
        str,
        Option(
            "--machine-url",
            metavar="URL",
            help="Where machines reach the service; the same as --url if left out.",
        ),
    ] = ""


def bootstrap(
    addresses: AddressFlags,
    kubeconfig: Annotated[
        str, Option("--kubeconfig", metavar="FILE", help="Kubeconfig of the cluster.")
    ] = "",
    context: Annotated[
        str, Option("--context", metavar="NAME", help="Context in the kubeconfig.")
    ] = "",
    namespace: Annotated[
        str,
        Option(
            "--namespace",
            metavar="NAME",
            help="Namespace of join tokens and of the certificate authority.",
        ),
    ] = "quarterdeck-system",
    certificate_seconds: Annotated[
        int,
        Option(
            "--certificate-seconds",
            metavar="N",
            help="Lifetime of machine certificates; they are renewed after half of it.",
            minimum=30,
            maximum=3600,
        ),
    ] = 3600,
) -> None:
    """Attest machines and give them short-lived certificates.

    Certificate authority and join tokens are Secrets in --namespace, shared by all replicas.
    """
    from quarterdeck.app.bootstrap import BootstrapSettings, serve_bootstrap

    names = tuple(each.strip() for each in addresses.name.split(",") if each.strip())
    settings = BootstrapSettings(
        kubeconfig=kubeconfig,
        context=context,
        namespace=namespace,
        host=addresses.host,
        port=addresses.port,
        names=names,
        url=addresses.url,
        machine_url=addresses.machine_url,
        certificate_s=certificate_seconds,
    )
    run_loop(serve_bootstrap(settings, print_line=print_line))


COMMAND = Command(bootstrap)
