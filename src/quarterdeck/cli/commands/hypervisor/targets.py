"""Nodes and machines that actions apply to, as the API server lists them.

The simulator runs in another process and carries out actions later: it could report an unknown
name only by an event, which users of the command do not see.
"""

from quarterdeck.cli.connection import connect
from quarterdeck.cli.exit_codes import REFUSED, CommandError

NODE_ACTIONS = frozenset({"kill-node", "revive-node"})
MACHINE_ACTIONS = frozenset({"power-off", "delete", "rename", "retag"})
_MOCK = "mock"
_SHOWN = 20


async def check_target(action: str, target: str, *, kubeconfig: str, context: str) -> None:
    """Refuse a node or machine that does not exist.

    Raises:
        CommandError: naming those that do.
    """
    if action not in NODE_ACTIONS | MACHINE_ACTIONS:
        return
    kind = "node" if action in NODE_ACTIONS else "machine"
    if not target:
        raise CommandError(f"{action} requires the name of a {kind}: {action} NAME", REFUSED)
    if kind == "node":
        known = await _list_nodes(kubeconfig, context)
    else:
        known = await _list_machines(kubeconfig, context)
    if target not in known:
        raise CommandError(f"{kind} {target!r} not found; {_describe(kind, list(known.values()))}")


async def _list_nodes(kubeconfig: str, context: str) -> dict[str, str]:
    """Nodes of simulated hypervisors, by name."""
    from quarterdeck.apis.hypervisor.cluster import HypervisorCluster

    async with connect(kubeconfig, context) as client:
        found = await client.list(HypervisorCluster)
    simulated = [each for each in found if each.spec.provider == _MOCK]
    return {name: name for each in simulated for name in each.spec.nodes}


async def _list_machines(kubeconfig: str, context: str) -> dict[str, str]:
    """Machines that have a VM, by its name and by its id; both stand for the name."""
    from quarterdeck.apis.hypervisor.claim import MachineClaim

    async with connect(kubeconfig, context) as client:
        found = await client.list(MachineClaim)
    known: dict[str, str] = {}
    for claim in found:
        reference = claim.status.vm_ref
        if reference is not None:
            name = reference.name or claim.metadata.name
            known |= {name: name, str(reference.vm_id): name}
    return known


def _describe(kind: str, names: list[str]) -> str:
    unique = sorted(set(names))
    if not unique:
        hint = "HypervisorCluster of provider mock" if kind == "node" else "MachineClaim"
        return f"none exists; apply a {hint} first"
    more = f" and {len(unique) - _SHOWN} more" if len(unique) > _SHOWN else ""
    return f"available: {', '.join(unique[:_SHOWN])}{more}"
