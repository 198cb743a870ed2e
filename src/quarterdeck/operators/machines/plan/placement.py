"""Chooses the node of a machine. Pure."""

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from quarterdeck.operators.machines.machine import Node


class Request(NamedTuple):
    """The resources that a machine needs."""

    cpu: int
    memory_bytes: int
    disk_bytes: int


class Room(NamedTuple):
    """Free resources of a node, less reservations that the hypervisor does not report yet."""

    node: Node
    cpu: int
    memory_bytes: int
    storage_bytes: int


class Choice(NamedTuple):
    """The chosen node, or why there is none."""

    node: str = ""
    problem: str = ""


class NodeRules(NamedTuple):
    """The nodes that a machine may run on, and which are preferred."""

    allowed: frozenset[str]
    """Nodes of the cluster that have the template."""
    pinned: str = ""
    siblings: Mapping[str, int] = {}
    """Machines of the same fleet by node: fewer are better. Empty disables spreading."""
    memory_adjustment: int = 100
    """Percentage of memory that may be allocated; 0 disables the checks of memory and CPU."""


def compute_rooms(nodes: Iterable[Node], reserved: Mapping[str, Sequence[Request]]) -> list[Room]:
    """Compute the free resources of each node."""
    found = []
    for node in nodes:
        cpu, memory, storage = node.cpu_free, node.memory_free, node.storage_free
        for each in reserved.get(node.name, ()):
            cpu -= each.cpu
            memory -= each.memory_bytes
            storage -= each.disk_bytes
        found.append(Room(node, cpu, memory, storage))
    return found


def choose_node(candidates: Sequence[Room], request: Request, desired: NodeRules) -> Choice:
    """Choose the node with the fewest siblings, then the most free memory, then by name."""
    usable = [
        room
        for room in candidates
        if room.node.is_online
        and room.node.name in desired.allowed
        and desired.pinned in ("", room.node.name)
    ]
    if not usable:
        return Choice(problem=_explain_unusable(desired))
    fitting = [room for room in usable if fits(room, request, desired.memory_adjustment)]
    if not fitting:
        return Choice(
            problem=(
                f"none of {len(usable)} nodes has {request.cpu} processors, "
                f"{request.memory_bytes >> 20} MiB memory and "
                f"{request.disk_bytes >> 30} GiB storage left"
            )
        )
    best = min(
        fitting,
        key=lambda room: (
            desired.siblings.get(room.node.name, 0),
            -room.memory_bytes,
            room.node.name,
        ),
    )
    return Choice(best.node.name)


def _explain_unusable(desired: NodeRules) -> str:
    names = ", ".join(sorted(desired.allowed)) or "none"
    if desired.pinned and desired.pinned not in desired.allowed:
        return f"spec.nodeName is {desired.pinned!r}, but nodes with the template are: {names}"
    if desired.pinned:
        return f"node {desired.pinned} of spec.nodeName is offline"
    return f"no node with the template is online: {names}"


def fits(room: Room, request: Request, memory_adjustment: int = 100) -> bool:
    """Whether a machine fits on a node; above 100 % memory and CPU may be overcommitted."""
    if request.disk_bytes > room.storage_bytes:
        return False
    if memory_adjustment == 0:
        return True
    extra = room.node.memory_total * (memory_adjustment - 100) // 100
    has_memory = request.memory_bytes <= room.memory_bytes + extra
    return has_memory and (request.cpu <= room.cpu or memory_adjustment > 100)
