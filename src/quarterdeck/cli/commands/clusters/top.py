"""`quarterdeck clusters top`: load and capacity of every cluster, read now."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

from quarterdeck.cli.command import Command
from quarterdeck.cli.connection import connect, with_progress
from quarterdeck.cli.flags import AllNamespaces, Context, Json, Kubeconfig, Namespace
from quarterdeck.cli.output import format_columns, format_pretty
from quarterdeck.cli.parameters import Option

if TYPE_CHECKING:
    from quarterdeck.app.cluster_usage import Usage

_HEAD = (
    *("CLUSTER", "NODES", "PODS", "CPU", "CPU REQUESTED", "CPU USED"),
    *("MEMORY", "MEMORY REQUESTED", "MEMORY USED"),
)
_GIB = 1024**3


async def top(
    timeout: Annotated[
        int,
        Option(
            "--timeout",
            metavar="N",
            help="Time limit for reading one cluster, in seconds.",
            minimum=1,
        ),
    ] = 10,
    namespace: Namespace = "",
    all_namespaces: AllNamespaces = False,
    json: Json = False,
    kubeconfig: Kubeconfig = "",
    context: Context = "",
) -> None:
    """Show load and capacity of every cluster, and their totals.

    What is used comes from metrics.k8s.io, where a cluster serves it; what is requested from pods.
    """
    from quarterdeck.app.cluster_usage import read_usage

    async with connect(kubeconfig, context) as client:
        where = "" if all_namespaces else namespace or client.namespace
        found = await with_progress(
            read_usage(client, where, timeout_s=float(timeout)), "reading clusters"
        )
    if json:
        print(format_pretty(found))
        return
    if not found:
        print("no clusters; connect one: quarterdeck clusters add --context NAME")
        return
    read = [each for each in found if not each.problem]
    rows = [_build_row(each) for each in read]
    if len(read) > 1:
        rows.append(build_total(read))
    if rows:
        print(format_columns([_HEAD, *rows]))
    for each in found:
        if each.problem:
            print(f"{each.name}: {each.problem}")


COMMAND = Command(top)


def build_total(found: "Sequence[Usage]") -> tuple[str, ...]:
    """The row of totals: what is used is a share of the clusters that serve metrics.k8s.io."""
    measured = [each for each in found if each.cpu_used is not None]
    return _build_row(_sum(found), _sum(measured) if measured else None)


def _build_row(each: "Usage", measured: "Usage | None" = None) -> tuple[str, ...]:
    """One row; `measured` has the capacity of which a part is used, if that is another one."""
    capacity = measured or each
    return (
        each.name,
        str(each.nodes),
        str(each.pods),
        f"{each.cpu:.1f}",
        _share(each.cpu_requested, each.cpu),
        "-" if each.cpu_used is None else _share(each.cpu_used, capacity.cpu),
        f"{each.memory / _GIB:.1f}Gi",
        _share(each.memory_requested / _GIB, each.memory / _GIB, "Gi"),
        "-"
        if each.memory_used is None
        else _share(each.memory_used / _GIB, capacity.memory / _GIB, "Gi"),
    )


def _share(part: float, total: float, unit: str = "") -> str:
    percent = part / total * 100 if total else 0.0
    return f"{part:.1f}{unit} ({percent:.0f}%)"


def _sum(found: "Sequence[Usage]") -> "Usage":
    from quarterdeck.app.cluster_usage import Usage

    measured = [each for each in found if each.cpu_used is not None]
    return Usage(
        name="TOTAL",
        nodes=sum(each.nodes for each in found),
        pods=sum(each.pods for each in found),
        cpu=sum(each.cpu for each in found),
        memory=sum(each.memory for each in found),
        cpu_requested=sum(each.cpu_requested for each in found),
        memory_requested=sum(each.memory_requested for each in found),
        cpu_used=sum(each.cpu_used or 0 for each in measured) if measured else None,
        memory_used=sum(each.memory_used or 0 for each in measured) if measured else None,
    )
