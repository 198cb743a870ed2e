"""`quarterdeck clusters add`: connect a cluster of a kubeconfig to the hub."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NamedTuple

from quarterdeck.cli.command import Command
from quarterdeck.cli.connection import connect, find_config
from quarterdeck.cli.exit_codes import REFUSED, CommandError
from quarterdeck.cli.flags import Context, Json, Kubeconfig
from quarterdeck.cli.output import print_result
from quarterdeck.cli.parameters import Option

if TYPE_CHECKING:
    from quarterdeck.app.enrollment import Enrollment
    from quarterdeck.client.config.cluster import ClusterConfig


class HubFlags(NamedTuple):
    """Which hub gets the connection."""

    hub_kubeconfig: Annotated[
        str,
        Option(
            "--hub-kubeconfig", metavar="PATH", help="Kubeconfig of the hub (default: of `up`)."
        ),
    ] = ""
    hub_context: Annotated[
        str, Option("--hub-context", metavar="NAME", help="Context of the hub's kubeconfig.")
    ] = ""


class ClusterFlags(NamedTuple):
    """How the cluster is called on the hub, and how the hub reaches it."""

    name: Annotated[
        str, Option("--name", metavar="NAME", help="Name of the cluster (default: the context).")
    ] = ""
    display_name: Annotated[
        str, Option("--display-name", metavar="TEXT", help="Name shown to people.")
    ] = ""
    labels: Annotated[str, Option("--labels", metavar="A=B,C=D", help="Labels of the cluster.")] = (
        ""
    )
    namespace: Annotated[
        str, Option("--namespace", "-n", metavar="NAME", help="Namespace on the hub.")
    ] = "default"
    push: Annotated[
        str,
        Option(
            "--push",
            metavar="HOST:PORT",
            help="Deploy a collector that pushes to the hub's ingester at this address.",
        ),
    ] = ""
    insecure: Annotated[
        bool,
        Option("--insecure-skip-tls-verify", help="Do not verify the certificate of the cluster."),
    ] = False


async def add(
    hub: HubFlags,
    context: Context = "",
    kubeconfig: Kubeconfig = "",
    cluster: ClusterFlags = ClusterFlags(),  # noqa: B008  # a frozen tuple
    json: Json = False,
) -> None:
    """Make a service account on a cluster and a connection to it on the hub."""
    from quarterdeck.app.enrollment import connect_cluster, enroll
    from quarterdeck.client.client import Client
    from quarterdeck.inventory.push.address import find_address_problem

    if not context and not kubeconfig:
        raise CommandError("no cluster given: set --context or --kubeconfig", REFUSED)
    if cluster.push and (problem := find_address_problem(cluster.push)):
        raise CommandError(f"--push {problem}", REFUSED)
    source = _load(kubeconfig, context)
    hub_server = find_config(hub.hub_kubeconfig, hub.hub_context).server
    wanted = _build_enrollment(cluster, source, context)
    async with connect(hub.hub_kubeconfig, hub.hub_context) as hub_client, Client(source) as client:
        credentials = await enroll(client, hub_client, wanted)
        await connect_cluster(hub_client, wanted, source.server, credentials)
    result = {
        "name": wanted.name,
        "namespace": wanted.namespace,
        "server": source.server,
        "hub": hub_server,
        "tokenExpiresAt": credentials.expires_at or None,
    }
    print_result(result, _format_result(result), as_json=json)


COMMAND = Command(add)


def _load(kubeconfig: str, context: str) -> "ClusterConfig":
    from quarterdeck.client.config.locate import load_config

    return load_config(Path(kubeconfig).expanduser() if kubeconfig else None, context=context)


def _build_enrollment(flags: ClusterFlags, source: "ClusterConfig", context: str) -> "Enrollment":
    from quarterdeck.app.enrollment import Enrollment

    return Enrollment(
        name=_name(flags.name or context or source.name),
        namespace=flags.namespace,
        display_name=flags.display_name,
        labels=_parse_labels(flags.labels),
        insecure=flags.insecure or source.insecure_skip_tls_verify,
        ingester_address=flags.push,
    )


def _format_result(result: dict[str, str | None]) -> str:
    name, namespace = result["name"], result["namespace"]
    lines = [f"cluster {name} ({result['server']}) is connected to the hub {result['hub']}"]
    if expires_at := result["tokenExpiresAt"]:
        lines.append(
            f"the token expires at {expires_at}, because the cluster issues no tokens without "
            "expiry; run this command again before then"
        )
    lines.append(f"show its state: quarterdeck get clusterconnections {name} -n {namespace}")
    return "\n".join(lines)


def _name(text: str) -> str:
    """A name that an object may have, from the name of a context."""
    cleaned = "".join(each if each.isalnum() and each.isascii() else "-" for each in text.lower())
    cleaned = cleaned.strip("-")[:63].strip("-")
    if not cleaned:
        raise CommandError(f"invalid cluster name {text!r}: choose another with --name", REFUSED)
    return cleaned


def _parse_labels(text: str) -> dict[str, str]:
    found = {}
    for part in filter(None, text.split(",")):
        name, equals, value = part.partition("=")
        if not equals or not name.strip():
            raise CommandError(f"invalid --labels {part!r}: expected NAME=VALUE", REFUSED)
        found[name.strip()] = value.strip()
    return found
