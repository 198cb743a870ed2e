"""`quarterdeck clusters list`: the clusters the hub watches, and their totals."""

from typing import TYPE_CHECKING, Any

from quarterdeck.cli.command import Command
from quarterdeck.cli.connection import connect, with_progress
from quarterdeck.cli.flags import AllNamespaces, Context, Json, Kubeconfig, Namespace
from quarterdeck.cli.output import format_columns, format_pretty

if TYPE_CHECKING:
    from quarterdeck.apis.clusterpulse.v1alpha1 import ClusterConnection

_HEAD = ("NAME", "DISPLAY NAME", "STATUS", "HEALTH", "NODES", "NAMESPACES", "VERSION", "MESSAGE")


async def list_(
    namespace: Namespace = "",
    all_namespaces: AllNamespaces = False,
    json: Json = False,
    kubeconfig: Kubeconfig = "",
    context: Context = "",
) -> None:
    """Show the clusters the hub watches, and their totals."""
    from quarterdeck.apis.clusterpulse.v1alpha1 import ClusterConnection

    async with connect(kubeconfig, context) as client:
        where = "" if all_namespaces else namespace or client.namespace
        found = await with_progress(
            client.list(ClusterConnection, where), f"reading clusters of {client.config.server}"
        )
    if json:
        print(format_pretty([_build_document(each) for each in found]))
        return
    if not found:
        print("no clusters; connect one: quarterdeck clusters add --context NAME")
        return
    print(format_columns([_HEAD, *(_build_row(each) for each in found), _build_total(found)]))


COMMAND = Command(list_)


def _build_document(each: "ClusterConnection") -> dict[str, Any]:
    status = each.status
    return {
        "name": each.metadata.name,
        "namespace": each.metadata.namespace,
        "displayName": each.spec.display_name,
        "status": status.phase,
        "health": status.health,
        "nodes": status.nodes,
        "namespaces": status.namespaces,
        "version": status.version,
        "message": status.message,
    }


def _build_row(each: "ClusterConnection") -> tuple[str, ...]:
    status = each.status
    return (
        each.metadata.name,
        each.spec.display_name or "-",
        status.phase or "-",
        status.health or "unknown",
        str(status.nodes),
        str(status.namespaces),
        status.version or "-",
        status.message,
    )


def _build_total(found: "list[ClusterConnection]") -> tuple[str, ...]:
    healthy = sum(each.status.health == "healthy" for each in found)
    connected = sum(each.status.phase == "Connected" for each in found)
    return (
        "TOTAL",
        f"{len(found)} cluster{'' if len(found) == 1 else 's'}",
        f"{connected} connected",
        f"{healthy} healthy",
        str(sum(each.status.nodes for each in found)),
        str(sum(each.status.namespaces for each in found)),
        "",
        "",
    )
