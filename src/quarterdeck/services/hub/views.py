"""Filters stored facts for one viewer. Pure.

A restricted viewer never sees a number that counts what they may not see: totals are computed again
from what is left.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from quarterdeck.inventory.access.filters import Item, TypeFilter
from quarterdeck.inventory.access.viewer import ClusterAccess

Row = Mapping[str, Any]


def filter_nodes(rows: Iterable[Row], filter_: TypeFilter) -> list[Row]:
    """Nodes that may be seen: by name and labels."""
    return [row for row in rows if filter_.allows(build_node_item(row))]


def filter_operators(rows: Iterable[Row], filter_: TypeFilter) -> list[Row]:
    """Operators that may be seen: by name and by any namespace they serve."""
    return [row for row in rows if filter_.allows(build_operator_item(row))]


def filter_objects(rows: Iterable[Row], filter_: TypeFilter) -> list[Row]:
    """Pods and the like that may be seen: by name, namespace and labels."""
    return [row for row in rows if filter_.allows(build_object_item(row))]


def filter_namespaces(names: Iterable[str], filter_: TypeFilter) -> list[str]:
    """Namespaces that may be seen: by name."""
    return [name for name in names if filter_.allows(Item(name=name))]


def build_node_item(row: Row) -> Item:
    """The parts of a node that filters use."""
    return Item(name=_to_text(row.get("name")), labels=_get_labels(row))


def build_operator_item(row: Row) -> Item:
    """The parts of an operator that filters use."""
    reach = row.get("all_available_namespaces") or row.get("available_in_namespaces") or ()
    return Item(name=_to_text(row.get("name")), namespaces=[_to_text(each) for each in reach])


def build_object_item(row: Row) -> Item:
    """The parts of a pod or a similar object that filters use."""
    namespace = _to_text(row.get("namespace"))
    return Item(
        name=_to_text(row.get("name")),
        namespaces=(namespace,) if namespace else (),
        labels=_get_labels(row),
    )


def allows_event(type_: str, access: ClusterAccess) -> bool:
    """Whether an event of a cluster may be seen: by its type."""
    is_allowed = access.get_filter("events").allows(Item(name=type_))
    return is_allowed and not tells_hidden_alerts(type_, access)


def tells_hidden_alerts(type_: str, access: ClusterAccess) -> bool:
    """Whether an event only says that alerts changed of which the viewer may see none."""
    return type_ == "cluster.alerts" and access.get_filter("alerts").is_hidden


def is_restricted(access: ClusterAccess) -> bool:
    """Whether the totals of a cluster may count hidden objects."""
    return not all(access.get_filter(type_).is_open for type_ in ("nodes", "namespaces", "pods"))


def filter_conditions(rows: Iterable[Row], access: ClusterAccess) -> list[Row]:
    """The conditions whose messages cannot name hidden objects."""
    return [
        row
        for row in rows
        if (type_ := _CONDITION_TYPES.get(_to_text(row.get("type")), "")) == ""
        or access.get_filter(type_).is_open
    ]


def hide_message(status: Row, access: ClusterAccess) -> Row:
    """Replace the message of a status that may name hidden nodes or operators."""
    is_open = all(access.get_filter(type_).is_open for type_ in _CONDITION_TYPES.values())
    if is_open or status.get("health") == "healthy":
        return status
    return {**status, "message": HIDDEN_MESSAGE}


def hide_version_messages(info: Row, access: ClusterAccess) -> Row:
    """Replace the messages of the version's conditions: they may name hidden operators."""
    conditions = info.get("conditions")
    if not isinstance(conditions, list) or access.get_filter("operators").is_open:
        return info
    kept = [each for each in conditions if isinstance(each, dict)]
    return {**info, "conditions": [{**each, "message": HIDDEN_MESSAGE} for each in kept]}


POD_COUNTS = ("pods_running", "pods_pending", "pods_failed", "pods_succeeded", "pods_total")
"""Fields and metrics of a node that count its pods."""
_CONDITION_TYPES = {"NodesReady": "nodes", "OperatorsHealthy": "operators"}
HIDDEN_MESSAGE = "Details are hidden by access policies"


def recount_metrics(
    metrics: Row,
    access: ClusterAccess,
    *,
    nodes: Sequence[Row],
    namespaces: Sequence[str],
    pods: Sequence[Row],
    deployments: Sequence[Row],
) -> dict[str, Any]:
    """Compute the totals of a cluster over visible objects; filters the given rows."""
    found = dict(metrics)
    if not access.get_filter("nodes").is_open:
        seen = filter_nodes(nodes, access.get_filter("nodes"))
        found["nodes"] = len(seen)
        found["nodes_ready"] = sum(row.get("status") == "Ready" for row in seen)
        found["cpu_capacity"] = sum(row.get("cpu_capacity") or 0 for row in seen)
        found["memory_capacity"] = sum(row.get("memory_capacity") or 0 for row in seen)
    spaces = access.get_filter("namespaces")
    visible = set(filter_namespaces(namespaces, spaces))
    if not spaces.is_open:
        found["namespaces"] = len(visible)
        found["deployments"] = sum(row.get("namespace") in visible for row in deployments)
    if hides_pods(access):
        left = filter_pods(pods, access, visible)
        found["pods"] = len(left)
        found["pods_running"] = sum(row.get("status") == "Running" for row in left)
    return found


def hides_pods(access: ClusterAccess) -> bool:
    """Whether pods may be hidden, by themselves or with their namespaces."""
    return not (access.get_filter("pods").is_open and access.get_filter("namespaces").is_open)


def recount_node_pods(nodes: Iterable[Row], pods: Iterable[Row]) -> list[Row]:
    """Count the pods of nodes over visible pods, of which none has finished."""
    found = Counter((_to_text(row.get("node")), _to_text(row.get("status"))) for row in pods)
    totals: Counter[str] = Counter()
    for (node, _), number in found.items():
        totals[node] += number
    return [
        {
            **row,
            **dict.fromkeys(POD_COUNTS, 0),
            "pods_running": found[_to_text(row.get("name")), "Running"],
            "pods_pending": found[_to_text(row.get("name")), "Pending"],
            "pods_total": totals[_to_text(row.get("name"))],
        }
        for row in nodes
    ]


def drop_pod_counts(points: Iterable[Any]) -> list[Row]:
    """Points of a node without numbers of pods, which cannot be computed again."""
    return [
        {name: value for name, value in point.items() if name not in POD_COUNTS}
        for point in points
        if isinstance(point, dict)
    ]


def filter_pods(rows: Iterable[Row], access: ClusterAccess, namespaces: set[str]) -> list[Row]:
    """Pods that may be seen, in namespaces that may be seen."""
    left = filter_objects(rows, access.get_filter("pods"))
    if access.get_filter("namespaces").is_open:
        return left
    return [row for row in left if row.get("namespace") in namespaces]


def count_by_namespace(rows: Iterable[Row]) -> Counter[str]:
    """Number of objects by namespace."""
    return Counter(_to_text(row.get("namespace")) for row in rows)


def _get_labels(row: Row) -> Mapping[str, str]:
    found = row.get("labels")
    return found if isinstance(found, Mapping) else {}


def _to_text(value: object) -> str:
    return value if isinstance(value, str) else ""
