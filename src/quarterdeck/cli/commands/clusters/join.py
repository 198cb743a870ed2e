"""`quarterdeck clusters join`: print the manifest of a collector for a cluster."""

from pathlib import Path
from typing import Annotated, NamedTuple

from quarterdeck.cli.command import Command
from quarterdeck.cli.connection import connect
from quarterdeck.cli.exit_codes import REFUSED, CommandError
from quarterdeck.cli.flags import Context, Form, Kubeconfig, ManifestForm, ManifestOutput
from quarterdeck.cli.parameters import Argument, Option


class IngesterFlags(NamedTuple):
    """How the collector reaches the hub's ingester."""

    ingester_address: Annotated[
        str,
        Option(
            "--ingester-address",
            metavar="HOST:PORT",
            help=(
                "Address of the ingester as seen from the cluster (default: spec.ingesterAddress)."
            ),
        ),
    ] = ""
    ca_file: Annotated[
        str, Option("--ca-file", metavar="PATH", help="CA certificates that verify the ingester.")
    ] = ""
    server_name: Annotated[
        str, Option("--server-name", metavar="NAME", help="Name in the ingester's certificate.")
    ] = ""
    tls_secret: Annotated[
        str,
        Option(
            "--tls-secret",
            metavar="NAME",
            help="Secret on the cluster with the collector's certificate, if the hub requires one.",
        ),
    ] = ""


async def join(
    name: Annotated[str, Argument(metavar="NAME", help="Name of the ClusterConnection.")],
    image: Annotated[
        str, Option("--image", metavar="IMAGE", help="Image of the collector (COLLECTOR_IMAGE).")
    ] = "",
    ingester: IngesterFlags = IngesterFlags(),  # noqa: B008  # a frozen tuple
    namespace: Annotated[
        str, Option("--namespace", "-n", metavar="NAME", help="Namespace on the hub.")
    ] = "default",
    output: ManifestOutput = ManifestForm.YAML,
    kubeconfig: Kubeconfig = "",
    context: Context = "",
) -> None:
    """Issue a token and print what runs a collector: pipe it to `kubectl apply -f -` there.

    The token that was issued before stops working. The connection is set to push mode.
    """
    import os

    from quarterdeck.app.collector_manifest import JoinOptions
    from quarterdeck.app.collector_manifest import join as join_cluster
    from quarterdeck.cli.output import format_documents
    from quarterdeck.inventory.push.address import find_address_problem

    image = image or os.environ.get("COLLECTOR_IMAGE", "")
    if not image:
        raise CommandError("no collector image given: set --image or COLLECTOR_IMAGE", REFUSED)
    address = ingester.ingester_address
    if address and (problem := find_address_problem(address)):
        raise CommandError(f"--ingester-address {problem}", REFUSED)
    wanted = JoinOptions(
        name=name,
        namespace=namespace,
        image=image,
        ingester_address=address,
        authority=_read_authority(ingester.ca_file),
        server_name=ingester.server_name,
        client_secret=ingester.tls_secret,
    )
    async with connect(kubeconfig, context) as hub:
        manifests = await join_cluster(hub, wanted)
    print(format_documents(manifests, Form(output)))


COMMAND = Command(join)


def _read_authority(path: str) -> str:
    """The certificates of a file; a collector with others would never connect."""
    if not path:
        return ""
    import ssl

    try:
        found = Path(path).expanduser().read_text(encoding="ascii")
        ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT).load_verify_locations(cadata=found)
    except (ssl.SSLError, ValueError) as error:
        raise CommandError(f"{path} (--ca-file) has no certificates in PEM", REFUSED) from error
    except OSError as error:
        cause = error.strerror or str(error)
        raise CommandError(f"cannot read {path} (--ca-file): {cause}", REFUSED) from error
    return found
